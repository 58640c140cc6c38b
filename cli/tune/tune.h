/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/tune/tune.h - prints an analysis of a run as text and as JSON.
 */
#ifndef SKEP_CLI_TUNE_H
#define SKEP_CLI_TUNE_H

#include <stdbool.h>
#include <stdio.h>

#include "analysis/analysis.h"
#include "analysis/price.h"
#include "cli/base/paint.h"
#include "cli/report/engine_names.h"

struct html_answer; /* cli/web/html.h */

/* The earlier runs of a run's pipeline. */
struct tune_history {
	struct analysis_history *runs; /* the caller frees it */
	size_t n;
	size_t left_out; /* older runs beyond the limits, and runs that skep could not read */
	bool more;       /* there are yet older runs, which skep did not count */
};
/*
 * names: of the run's tasks, or NULL; they name the earlier runs' tasks as well. 0; -ENOMEM or an error of the lake,
 * with the reason in why.
 */
int tune_history_read(struct lake *, const struct lake_report *, struct engine_names *names, struct tune_history *ret,
		      char *why, size_t why_size);

/* The price of the run's host when the run began. price NULL: there is none. */
struct tune_price {
	struct price_table *table; /* the caller frees it */
	const struct price *price;
	struct price_capacity has;
};
/* What a saving is worth, in billionths; -1: there is no price, or it needs the host's capacity, which is not known. */
int64_t tune_worth(const struct tune_price *, const struct finding_saving *);

/* 0, -ENOMEM or the -errno of a write. */
int tune_text(const struct lake_report *, const struct analysis *, const struct tune_history *,
	      const struct tune_price *, FILE *, const struct paint_style *);
int tune_json(const struct lake_report *, const struct analysis *, const struct tune_history *,
	      const struct tune_price *, FILE *);
/* Prints what `skep tune --json` prints of this run, read from this lake. As tune_history_read(). */
int tune_report_json(struct lake *, const struct lake_report *, struct engine_names *, FILE *, char *why,
		     size_t why_size);
/*
 * Writes the page of the run, with the answers of `skep show` and `skep tune`.  tab: what it opens, "" or "/tune";
 * tuned: writes the answer of tune (its path is not used), NULL: computed here.  0; -errno with the reason in why.
 */
int tune_report_html(struct lake *, const struct lake_report *, struct engine_names *, const char *tab,
		     const struct html_answer *tuned, FILE *, char *why, size_t why_size);
/*
 * Writes what to ask for as a file of an engine or a scheduler. *ret_n: the tasks' names in it, 0: nothing is known.
 * format: one that tune_emit_known() knows.
 */
bool tune_emit_known(const char *format);
int tune_emit(const struct lake_report *, const struct analysis *, const struct tune_history *, const char *format,
	      FILE *, size_t *ret_n);
/* "high" */
const char *tune_confidence(enum finding_confidence);
const char *tune_severity(enum finding_severity);
/* "task align", "tool samtools", "run" */
const char *tune_subject(enum finding_subject);

#endif
