/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/question.h - chooses and opens the lake, for every command that queries it, or reports why it cannot.
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
 * path: of --lake; NULL: the default.  SKEP_EXIT_OK; or another exit status after a message on stderr with the cause
 * and the remedy.
 */
int question_open(const char *command, const char *path, struct lake **ret);

#endif
