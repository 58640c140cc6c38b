/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/diff.h - what changed from one run (A) to another (B), or from the earlier runs of a pipeline (A, a history)
 * to a run. A pure library: reports of a lake in, figures of both sides and their verdicts out. Any thread.
 *
 * The reports are borrowed until diff_free().
 */
#ifndef SKEP_ANALYSIS_DIFF_H
#define SKEP_ANALYSIS_DIFF_H

#include "analysis/analysis.h"

struct diff;

enum diff_metric {
	DIFF_CPU, /* first: it is quieter than wall time */
	DIFF_WALL,
	DIFF_MEMORY,
	DIFF_READ,
	DIFF_WRITTEN,
	DIFF_RCHAR,
	DIFF_WCHAR,
	DIFF_NETWORK,
	DIFF_PROCESSES,
	DIFF_QUEUE,
	DIFF_BLOCK,
	DIFF_REST,
	DIFF_METRICS
};

enum diff_unit { DIFF_SECONDS, DIFF_BYTES, DIFF_COUNT };

struct diff_measure {
	const char *name; /* "run queue" */
	const char *id;   /* "run_queue_s" */
	enum diff_unit unit;
	double least; /* a smaller difference is not worth a line; seconds: summed over the executions of a task */
	bool tested;
};
extern const struct diff_measure diff_measures[DIFF_METRICS];

#define DIFF_P     0.05 /* significant below */
#define DIFF_SHARE 0.05 /* a smaller change is not worth a line */
#define DIFF_TEST  4    /* executions a side, or earlier runs, that a test needs at least */
#define DIFF_SIGMA 3    /* the usual range of a history: the median and so many robust standard deviations */

enum diff_verdict {
	DIFF_OBSERVED, /* not tested: too few values */
	DIFF_SAME,     /* tested: not significant, or too small */
	DIFF_MORE,     /* tested: B has more, significantly and worth a line */
	DIFF_LESS,
};

/* Two runs: a value is one of each execution of a task, and one of a run or a tool. A history: one of each run. */
struct diff_figure {
	size_t n_a, n_b; /* values; 0: this side has none */
	double a, b;     /* medians */
	double change;   /* b - a; of a tested task: the median of all differences (Hodges and Lehmann) */
	bool large;      /* at least DIFF_SHARE, and the measure's `least` */
	enum diff_verdict verdict;
	/* Of a test of two runs: the p of Mann and Whitney, adjusted over all tasks (Holm); else 1. */
	double p;
	/* Of such a test: the 95 % interval of `change`. Of a history: its usual range. */
	bool bounded; /* both ends are known */
	double low, high;
};

/*
 * Where a difference in wall time comes from. Wall time is the lifetime of the processes without children, divided by
 * how many of them ran at once. So a change has five parts, which add up to total_s.
 */
struct diff_split {
	bool known;
	double total_s; /* of a task: of the average execution */
	double cpu_s, queue_s, block_s, rest_s, parallel_s;
};

enum diff_presence { DIFF_BOTH, DIFF_NEW, DIFF_GONE };

struct diff_row {
	enum finding_subject of;
	const char *name; /* "": the run */
	/* History: new is what no earlier run has, gone what the newest earlier run has. */
	enum diff_presence presence;
	/* Of a history those of its newest run. */
	size_t executions_a, executions_b, failed_a, failed_b;
	struct diff_figure figures[DIFF_METRICS];
	struct diff_split split;
	bool differs;    /* new, gone, other executions or failures, or a figure is large */
	bool marked;     /* a verdict is DIFF_MORE or DIFF_LESS */
	double weight_s; /* the larger of the changes in CPU time and in wall time, over all executions */
};

enum diff_what {
	DIFF_HOST, DIFF_KERNEL, DIFF_CPUS, DIFF_VERSION, DIFF_PIPELINE, DIFF_COMMAND, /* of the run */
	DIFF_REQUEST,                          /* of a task: cores, memory, time asked for */
	/* of a tool: path of the program, the file at that path, image of the container, option */
	DIFF_BINARY, DIFF_FILE, DIFF_IMAGE, DIFF_OPTION,
};
const char *diff_what_text(enum diff_what); /* "binary" */

/* Something that may explain a difference. Of a history: since its newest run. */
struct diff_change {
	enum finding_subject of;
	const char *name; /* of the task or tool; "": the run */
	enum diff_what what;
	char *a, *b; /* NULL: this side has none */
};

/*
 * Compares. before: one run, or with `history` the earlier runs, the newest first; n > 0. The names in the result are
 * those of the reports. 0 or -ENOMEM.
 */
int diff_new(const struct lake_report *const *before, size_t n, bool history, const struct lake_report *after,
	     struct diff **ret);
struct diff *diff_free(struct diff *);

bool diff_is_history(const struct diff *);
const struct diff_row *diff_run(const struct diff *);
/* Of the tasks' names or the tools: those with a marked increase first, then by weight_s. */
size_t diff_rows(const struct diff *, enum finding_subject, const struct diff_row **ret);
size_t diff_changes(const struct diff *, const struct diff_change **ret);

/* analysis/diff_changes.c, internal: appends what two reports' run, binaries, images and options differ in. */
struct diff_change_list {
	struct diff_change *changes;
	size_t n, room;
};
/* Owns both texts, on failure too; NULL for both: memory had run out. 0 or -ENOMEM. */
int diff_change_take(struct diff_change_list *, enum finding_subject, const char *name, enum diff_what, char *a,
		     char *b);
int diff_changes_find(struct diff_change_list *, const struct lake_report *a, const struct lake_report *b);

#endif
