/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/question.h - what every question to the lake begins with: which lake, opened, or
 * said why not.
 */
#ifndef SKEP_CLI_QUESTION_H
#define SKEP_CLI_QUESTION_H

#include "cli/base/command.h"
#include "lake/lake.h"

/* The row of --lake in a table of options. */
#define QUESTION_LAKE(options, member) \
	{ \
		"lake", .value = "PATH", \
			.help = "the lake to ask (default: $SKEP_LAKE, as root /var/lib/skep/lake, else " \
				"~/.local/share/skep/lake, and where that does not exist: " \
				"/var/lib/skep/lake, which group skep may read)", \
			COMMAND_AT(options, member) \
	}

/*
 * path: as given by --lake, NULL: the default.  SKEP_EXIT_OK, or another exit status
 * after saying on stderr why and what to do.
 */
int question_open(const char *command, const char *path, struct lake **ret);

#endif
