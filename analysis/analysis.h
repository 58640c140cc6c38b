/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/analysis.h - derives findings from the records of a run: each has its evidence, its advice and its saving.
 * A pure library: a lake's report in, findings out; it reads no file and no clock. Any thread.
 *
 * The caller keeps the input until analysis_free(). Findings borrow their strings from the input, except where a
 * comment says "its own".
 */
#ifndef SKEP_ANALYSIS_H
#define SKEP_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lake/lake.h"

struct family;
struct analysis;
struct sweep;

/* How skep knows a figure. A finding has the weakest source of its figures. */
enum analysis_source {
	ANALYSIS_EXACT,     /* counted by the kernel: CPU time, run-queue delay, bytes, peaks, times of processes */
	ANALYSIS_DELAYACCT, /* counted by the kernel where kernel.task_delayacct is on: waits for block devices */
	ANALYSIS_SAMPLED,   /* one look per interval */
	ANALYSIS_INFERRED,  /* the remainder: the time that no counter explains */
};
const char *analysis_source_text(enum analysis_source); /* "exact" */

enum finding_severity { FINDING_NOTE, FINDING_WARN };
enum finding_confidence { FINDING_LOW, FINDING_MEDIUM, FINDING_HIGH }; /* a step lower if records were lost */
enum finding_subject { FINDING_OF_RUN, FINDING_OF_TASK, FINDING_OF_TOOL };

/* Resources of a run that a change would leave to others, or time that it would take off. 0: none. */
struct finding_saving {
	double core_s, byte_s; /* reserved and not used */
	double cpu_s;          /* burnt for nothing */
	double wall_s;         /* off the run's duration: an upper bound */
	double gpu_s;          /* held and idle */
};

struct finding_threshold {
	const char *name;
	double value; /* the default */
	const char *unit; /* UCUM; "1": a ratio */
	const char *why;  /* where the value comes from */
};

#define FINDING_THRESHOLDS 6

/* The descriptor of a kind of finding: `skep tune --list` and the page of the documentation print it. */
struct finding_kind {
	const char *id;       /* "cpu-over-request" */
	const char *title;    /* "More cores asked than used" */
	const char *measures; /* what the value is, and its unit */
	const char *unit;     /* UCUM */
	const char *guards;   /* when it says nothing although the value is over the threshold */
	const char *advice;   /* what helps; a finding's own advice names the figures */
	const char *saving;   /* how the saving is computed; NULL: none is */
	enum analysis_source source;
	struct finding_threshold thresholds[FINDING_THRESHOLDS]; /* up to the first without a name */
	int (*find)(struct analysis *, const struct finding_kind *, const double *thresholds); /* 0 or -ENOMEM */
	/* the same of hosts instead of a run: analysis/sweep.h */
	int (*sweep)(struct sweep *, const struct finding_kind *, const double *thresholds);
};

struct finding {
	const struct finding_kind *kind;
	enum finding_severity severity;
	enum finding_confidence confidence;
	enum finding_subject of;
	const char *name; /* of the task or tool; "" of the run */
	size_t n;         /* so many tasks, or processes of a tool, show it */
	double value, threshold;
	char *evidence; /* its own: a sentence with the figures */
	char *advice;   /* its own: what to change */
	struct finding_saving saving;
	const struct lake_process *process; /* the one to look at first; NULL: none stands out */
};

/* NULL-terminated, in the order in which `skep tune --list` prints them. */
extern const struct finding_kind *const analysis_kinds[];
/* These hold for all kinds; their names begin with "gate.". Up to the first without a name. */
extern const struct finding_threshold analysis_gates[];

/* A threshold that a user has set. */
struct analysis_setting {
	const char *name; /* "cpu-over-request.warn", "gate.wall" */
	double value;
};
/* Whether there is such a threshold. If not: ret_near is the most similar name, "" if none is. */
#define ANALYSIS_SETTING_NAME 64
bool analysis_setting_known(const char *name, char ret_near[ANALYSIS_SETTING_NAME]);

/* Earlier runs of the same pipeline. Sizes rest on their executions too, and a regression is one against them. */
struct analysis_history;
struct analysis_history *analysis_history_new(void); /* NULL: no memory */
/* Adds a run that began before every run in the history. The history keeps a copy. 0 or -ENOMEM. */
int analysis_history_add(struct analysis_history *, const struct lake_report *);
struct analysis_history *analysis_history_free(struct analysis_history *);

/*
 * Runs every kind of finding on the report: warnings first, then the largest share of the run. report: not NULL.
 * settings: the thresholds that the user has changed. 0 or -ENOMEM.
 */
int analysis_new(const struct lake_report *, const struct analysis_setting *settings, size_t n_settings,
		 struct analysis **ret);
/*
 * The same, with what the caller has, borrowed until analysis_free(): the report's family, NULL: analysis_new_with()
 * makes one; and the earlier runs, NULL: none.
 */
int analysis_new_with(const struct lake_report *, const struct family *, const struct analysis_history *,
		      const struct analysis_setting *settings, size_t n_settings, struct analysis **ret);
struct analysis *analysis_free(struct analysis *);
/* The run is shorter than the default of gate.wall: without settings analysis_new() would find nothing. */
bool analysis_is_short(const struct lake_report *);
/* The run is shorter than gate.wall, whose value *ret_shortest_s gets: nothing was looked for. */
bool analysis_too_short(const struct analysis *, double *ret_shortest_s);
size_t analysis_findings(const struct analysis *, const struct finding **ret);

/* ---- tasks of one name ----------------------------------------------------- */

/* Where the time of a task's processes went, in seconds; of those processes that have no children. */
struct analysis_waits {
	double lifetime_s;
	double cpu_s, queue_s; /* exact */
	double block_s;        /* with kernel.task_delayacct */
	double rest_s;         /* inferred: asleep */
	/*
	 * Exact, of their cgroups; a task's and not a run's: part of queue_s, for a CPU quota; part of block_s and
	 * rest_s, for memory that the kernel took.
	 */
	double quota_s, memory_s;
};

enum analysis_bound {
	BOUND_UNKNOWN, BOUND_CPU, BOUND_QUEUE, BOUND_QUOTA, BOUND_MEMORY, BOUND_DISK, BOUND_NETWORK, BOUND_GPU,
	BOUND_WAITING
};
const char *analysis_bound_text(enum analysis_bound); /* "run queue" */

/* One execution that has ended. */
struct analysis_execution {
	uint64_t start_ns;
	bool ok;      /* it ended well */
	bool killed;  /* the kernel killed a process of it for its memory */
	/*
	 * A run that began in it, or tasks of its job that ran beside it, used a part of its request: its own use is no
	 * ground for another request.
	 */
	bool shares;
	double wall_s, cpu_s, busy_cores, memory;
	double input; /* bytes read */
	double asked_cpus, asked_memory, asked_walltime_s; /* as requested_cpus below, of this execution */
	double largest; /* bytes, of its largest process */
	double limit; /* bytes of memory: granted, else asked for, else at which it was killed; 0: not known */
};

/* What the next execution should ask for. */
struct analysis_size {
	double value; /* cores, bytes or seconds; 0: nothing can be said */
	enum finding_confidence confidence;
	size_t n, runs;   /* executions that it rests on, and the runs that they are of */
	const char *rule; /* "the largest seen and 20 % more" */
};

struct analysis_group {
	char *name; /* its own */
	const char *engine;
	size_t n, n_ok, n_failed, n_oom, n_running, n_shares;
	const struct lake_task **tasks; /* by start */
	struct analysis_execution *executions; /* n - n_running, by start */
	size_t n_executions;
	/* Of the n_ok tasks that have ended well, each ascending. */
	double *wall_s;
	double *cores;      /* on average */
	double *busy_cores; /* in all but the busiest twentieth of the time */
	double *memory;     /* the largest sum of peaks of processes that ran at once */
	const struct lake_process *killed; /* the first that the kernel killed for its memory; NULL: none */
	bool java; /* one of its processes is Java */
	bool retried; /* its engine tries again: a second attempt was seen */
	/* the largest that its tasks asked for, else were granted; 0: not known */
	double requested_cpus, requested_memory, requested_walltime_s;
	double reserved_core_s; /* what each asked for, or used if that is more, of all */
	double wall_sum_s, cpu_sum_s, queue_sum_s, block_sum_s; /* of all, the failed ones as well */
	struct analysis_waits waits;
	enum analysis_bound bound;
	enum analysis_source bound_source;
	char *exe, *command; /* its own: of the process with the most CPU time; NULL: none is known */
	struct analysis_size ask_cpus, ask_memory, ask_walltime; /* cores and memory: none if one of its tasks shares */
	/*
	 * Bytes for a first attempt, with ask_memory for the second, and the share of the memory reserved that this
	 * spares; 0: no such pair is cheaper.
	 */
	double first_memory, first_saves;
};
size_t analysis_groups(const struct analysis *, const struct analysis_group *const **ret);

/* It waited for CPUs for more than a tenth of its CPU time, and noticeably: its use is too small to size from. */
bool analysis_starved(const struct analysis_group *);

/* Of this run and of its history. */
struct analysis_size analysis_size_memory(const struct analysis_group *);
struct analysis_size analysis_size_cpus(const struct analysis_group *); /* 0 if all executions were starved */
struct analysis_size analysis_size_walltime(const struct analysis_group *);

/* ---- the observed path -------------------------------------------------------- */

/* Why a step of the path begins when the one before it has ended. */
enum analysis_link {
	ANALYSIS_LINK_START, /* the first one */
	ANALYSIS_LINK_DATA,  /* it opened a file that the one before it wrote; needs the detail opens */
	ANALYSIS_LINK_SLOT,  /* as many tasks as ever ran at once: it waited for one of them to end */
	ANALYSIS_LINK_ORDER, /* it began next: nothing else is known */
};
const char *analysis_link_text(enum analysis_link); /* "data" */

/* A chain of tasks that ends with the last task. Each task began after the end of the task before it in the chain. */
struct analysis_path {
	size_t n_steps;
	struct analysis_step {
		const struct lake_task *task;
		double gap_s; /* from the end of the task before it: the engine, or a queue */
		enum analysis_link link;
	} *steps; /* the first one first; none in a run without tasks */
	double gaps_s;
	size_t n_parts;
	/* The path by the names of its tasks, in a run without tasks by its processes' tools; the longest first. */
	struct analysis_part {
		const char *name;
		size_t n;
		double seconds;
		double saving_s; /* the run is shorter by that if these take no time: an upper bound; 0: not computed */
	} *parts;
};
/* 0 or -ENOMEM. The strings are the report's. */
int analysis_path_new(const struct analysis *, struct analysis_path **ret);
struct analysis_path *analysis_path_free(struct analysis_path *);

#endif
