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
			.help = "the lake to read: a folder, or clickhouse://[USER@]HOST[:PORT]/DATABASE (default: " \
				"$SKEP_LAKE, the lake of ~/.config/skep/skep.conf, as root /var/lib/skep/lake, else " \
				"~/.local/share/skep/lake, and if this does not exist " \
				"/var/lib/skep/lake: all of it for group skep, else your own runs)", \
			COMMAND_AT(options, member) \
	}

/*
 * Finds the lake that a question reads.  option: of --lake; NULL: $SKEP_LAKE, else the lake of skep.conf, else
 * lake_reading_path().  *ret: a folder or an address, which the caller frees.  *ret_named: the user or skep.conf names
 * it; *ret_both: as lake_reading_path() has it.  SKEP_EXIT_OK; or another exit status after a message on stderr.
 */
int question_path(const char *command, const char *option, char **ret, bool *ret_named, bool *ret_both);
/*
 * option: of --lake; NULL: the default.  A user who may not read skepd's lake gets a copy with the user's own runs
 * (own_runs.h): run, or all that began at since_ns or later if run is NULL.  SKEP_EXIT_OK; or another exit status after
 * a message on stderr with the cause and the remedy.
 */
int question_open(const char *command, const char *option, const char *run, uint64_t since_ns, struct lake **ret);
/* The lake has no such host, or none in the time asked: sets why, with the nearest name. -ENOENT, or another -errno. */
int question_no_host(struct lake *, const char *host, char *why, size_t why_size);
/*
 * Call it after the answer is printed: says on stderr which files the answer lacks because they cannot be read, and
 * whether the times of a report are those of a clock that was wrong or was set.  report: NULL: none.  SKEP_EXIT_OK;
 * SKEP_EXIT_RUNTIME when the answer lacks a file, so that a script sees that it is not whole.
 */
int question_partial(const char *command, const struct lake *, const struct lake_report *);

#endif
