/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/export.h - writes the rows of a lake's runs, a run at a time.
 */
#ifndef SKEP_CLI_LAKE_EXPORT_H
#define SKEP_CLI_LAKE_EXPORT_H

#include "cli/lake/export_write.h"

struct export_question {
	struct lake_runs_query runs;
	const char *run; /* this run alone, as lake_report() finds it; NULL: those of `runs` */
};

/*
 * Writes the rows of these runs, the oldest run first; e: with its first members.  A run whose rows are damaged is left
 * out: say() gets a message, and *ret_skipped counts it.  0; else -errno, of the lake with its message in why, or of
 * memory or of the file, and why is "".
 */
int export_runs(struct lake *, const struct export_question *, struct export_writer *e,
		void (*say)(const char *run, const char *why), size_t *ret_skipped, char *why, size_t why_size);

#endif
