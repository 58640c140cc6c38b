/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/sweep/sweep_print.h - reads the records for a sweep from a lake, and prints its findings as text and as JSON.
 */
#ifndef SKEP_CLI_SWEEP_PRINT_H
#define SKEP_CLI_SWEEP_PRINT_H

#include <stdio.h>

#include "analysis/sweep.h"
#include "cli/base/paint.h"

/* Everything of one look at a lake. */
struct sweep_look {
	uint64_t since_ns, until_ns; /* that was asked for */
	const struct price_table *prices; /* NULL: none */
	const char *unit;                 /* of a worth: the prices' currency, or SWEEP_UNIT */
	struct lake_usage *usage;
	struct lake_pulses *pulses;
	struct lake_claims *claims; /* of a moment, for the machines; NULL: without prices */
	struct sweep *sweep;
	struct sweep_doubts doubts;
};

/*
 * host: NULL: all. settings: thresholds. 0 or -errno, with the reason in why.  The caller frees the look by
 * sweep_look_free(), on failure too.
 */
int sweep_look_at(struct lake *, const char *host, const struct analysis_setting *settings, size_t n_settings,
		  struct sweep_look *, char *why, size_t why_size);
void sweep_look_free(struct sweep_look *);

/* limit: so many findings at most; 0: all. 0, -ENOMEM or the -errno of a write. */
int sweep_text(const struct sweep_look *, size_t limit, FILE *, const struct paint_style *);
int sweep_json(const struct sweep_look *, FILE *);
/* Prints the findings that only one of the two looks has; equal ones have the same kind, host, subject and run. */
int sweep_changes(const struct sweep_look *before, const struct sweep_look *now, FILE *, const struct paint_style *);
/* Says on stderr what makes the answer partial, and what to do. */
void sweep_say_doubts(const struct sweep_look *);

#endif
