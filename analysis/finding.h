/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/finding.h - what the files of the findings share. Internal to analysis/.
 */
#ifndef SKEP_ANALYSIS_FINDING_H
#define SKEP_ANALYSIS_FINDING_H

#include "analysis/analysis.h"
#include "analysis/family.h"
#include "lake/order.h"

#define MIB 1048576.0
#define GIB 1073741824.0

/* A run as a regression sees it. */
struct analysis_past {
	char *id, *host, *kernel;
	uint64_t start_ns, cpus;
	size_t n_tasks;
	struct analysis_group *whole;   /* the run itself, as one execution without a name */
	struct analysis_group **groups; /* by name */
	size_t n_groups;
};

struct analysis_history {
	struct analysis_past *runs; /* newest first */
	size_t n, room;
};

struct analysis {
	const struct lake_report *report;
	const struct analysis_history *history; /* NULL: none */
	uint64_t end_ns;  /* the run's end, or the last time that the report has */
	double wall_s;    /* of the run */
	double reserved_core_s; /* what its tasks asked for; without requests the run's CPU time */
	struct analysis_group **groups; /* by the CPU time of their tasks, most first */
	size_t n_groups;
	struct analysis_group *whole;
	const struct family *family; /* NULL until analysis_leaves_find(), unless the caller has it */
	struct family *own_family; /* NULL: the caller has it */
	bool *leaf; /* of each of report->processes: an image without children of its own */
	struct finding *findings;
	size_t n_findings, room;
	double gate_wall_s, gate_core_s, gate_share;
};

/* The value of a threshold of the kind, or of a gate (k NULL): what the user has set, else its default. */
double finding_threshold_value(const struct finding_kind *k, const struct finding_threshold *,
			       const struct analysis_setting *, size_t n);
/* Whether one of the kinds, or of the gates (NULL: none), has a threshold of that name; as analysis_setting_known(). */
bool finding_threshold_known(const struct finding_kind *const *kinds, const struct finding_threshold *gates,
			     const char *asked, char ret_near[ANALYSIS_SETTING_NAME]);

/* The duration of a task, until the report's end if it runs. */
double analysis_task_wall_s(const struct analysis *, const struct lake_task *);
/* Groups the report's tasks by name. 0 or -ENOMEM. */
int analysis_group_all(struct analysis *);
/* As strcmp(), of jobs of tasks: "41", "41.0" and "41.1" are one job, a script and steps of it. */
int analysis_job_order(const char *job, const char *other);
void analysis_group_free(struct analysis_group *);
/*
 * Finds the images without children of their own: a shell that has run its helpers and then executes a program is a
 * leaf from then on. 0 or -ENOMEM.
 */
int analysis_leaves_find(struct analysis *);
/* Sets end_ns and wall_s. */
void analysis_set_times(struct analysis *);
/* The run's tasks of that name; NULL: none. */
const struct analysis_group *analysis_past_group(const struct analysis_past *, const char *name);
/* Computes what to ask for, from this run and the history. 0 or -ENOMEM. */
int analysis_size_group(const struct analysis *, struct analysis_group *);

/* Adds the times of a process without children; end_ns: the end of one that runs. */
void analysis_waits_add(struct analysis_waits *, const struct lake_process *, uint64_t end_ns);
/* Adds what stalled the cgroup of the process while it lived; after analysis_waits_add() of the process. */
void analysis_stalls_add(struct analysis_waits *, const struct lake_report *, const struct lake_process *,
			 uint64_t end_ns);
/* Sets what the group is bound by, from its waits; net_bytes: what its tasks received and sent. */
void analysis_bound(struct analysis_group *, double net_bytes);
/* Then for the groups that kept a GPU busy: a program that waits for one may use a CPU meanwhile. 0 or -ENOMEM. */
int analysis_bound_gpus(struct analysis *);
/* The waits of a tool's processes without children. */
void analysis_tool_waits(const struct analysis *, const struct lake_tool *, struct analysis_waits *ret);
/* The process with the most children that lived for less than so many seconds; NULL: no such children. */
const struct lake_process *analysis_busiest_parent(const struct analysis *, double seconds);

/* A number that another probe reported of the process, such as "net.accepts"; 0: none did. */
double analysis_facet(const struct lake_process *, const char *name);
/* The samples of that image (its index in the report), by time; returns how many. */
size_t analysis_progress(const struct lake_report *, size_t process, const struct lake_progress **ret);

/* What the processes of a task's name or of a tool made of their GPUs in an interval. */
struct analysis_gpu {
	double seconds, devices;
	double use;         /* share of the time in which a kernel ran on a device, of all their devices */
	bool is_cpu;        /* a process used a whole core, or all of them the cores that were asked for */
	bool is_io;         /* half of the samples of threads were waits for storage */
};
/* Whose: those of one name of tasks, or of a tool. */
struct analysis_gpu_user {
	enum finding_subject of;
	const char *name;
	size_t n;     /* executions */
	double cores; /* asked for; 0: not known */
	const struct lake_task *const *tasks;
	size_t n_tasks;
	const struct lake_tool *tool;
};
struct analysis_gpu_user analysis_gpu_group(const struct analysis_group *);
/* Lists the intervals in which they held one, but the first after_s. The caller frees the list. 0 or -ENOMEM. */
int analysis_gpu(const struct analysis *, const struct analysis_gpu_user *, double after_s, struct analysis_gpu **ret,
		 size_t *ret_n);
bool analysis_gpu_is_used(const struct lake_report *); /* a process of the run held one */
/* Calls judge for each name of tasks, without tasks for each tool, if a process of the run held a GPU. */
int analysis_gpu_each(struct analysis *, const struct finding_kind *, const double *thresholds,
		      int (*judge)(struct analysis *, const struct finding_kind *, const double *thresholds,
				   const struct analysis_gpu_user *));
/* For more than that share of these intervals a GPU was less busy than `gpu` beside a busy CPU or storage. */
bool finding_is_starved(const struct analysis_gpu *, size_t n, double gpu, double share, double *ret_starved_s,
			double *ret_io_s, double *ret_all_s);

/* Guards that findings share. */
#define FINDING_SERIAL_LEAST 0.85
#define FINDING_SERIAL_MOST  1.01
bool finding_is_serial(const struct analysis_group *); /* it used one core, and never more */
/* Jobs of a scheduler that ask for 85 % of the machine's cores (jobstats): many sites hand out machines as a whole. */
bool finding_whole_machine(const struct analysis *, const struct analysis_group *);
bool finding_wants_gpu(const struct analysis_group *);
/* Jobs of a scheduler that ask for no memory: the site gives them some, usually so much a core. */
bool finding_memory_is_default(const struct analysis_group *);
/* The cores that such a job has to keep for its memory; 0: any number is enough. */
double finding_cores_for_memory(const struct analysis_group *);

/* A saving that is worth a line: gate.core_hours or gate.share of the run. */
bool analysis_worth(const struct analysis *, double core_s);
/* As text_format of a sentence: the caller owns it, NULL: no memory. */
char *finding_text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Adds a copy and owns its two texts, on failure too. 0 or -ENOMEM, also if one of the texts is NULL. */
int finding_add_take(struct analysis *, const struct finding *);
/* "threads: 2" for Snakemake, "cpus = 2" for Nextflow, ...: the line in which its engine is asked for cores, memory,
 * time. The caller owns it. value: cores, bytes, seconds. */
enum finding_ask { ASK_CPUS, ASK_MEMORY, ASK_TIME };
char *finding_ask(const char *engine, enum finding_ask, double value);
/* Of the executions that asked for cores, each with its own request: an engine may ask for more at each attempt. */
struct finding_cores {
	size_t n;
	double wall_s, cpu_s, core_s, spare_s; /* spare: beyond so many cores */
};
struct finding_cores finding_cores_asked(const struct analysis_group *, double cores);
/*
 * The execution that ended well and used the largest share of the memory or the time (what) that it asked for itself:
 * an engine may ask for more at each attempt.  NULL: none asked.
 */
const struct analysis_execution *finding_tightest(const struct analysis_group *, enum finding_ask what);
/*
 * Adds the finding with the advice to ask for this size; then: how the sentence ends, such as ": short jobs start earlier".
 * Owns the evidence, as finding_add_take().
 */
int finding_add_ask(struct analysis *, struct finding *, const struct analysis_group *, enum finding_ask,
		    const struct analysis_size *, const char *then);
/* "812 MiB"; buf has FINDING_NUMBER. */
#define FINDING_NUMBER 32
const char *finding_bytes(double bytes, char *buf);
const char *finding_seconds(double seconds, char *buf);

extern const struct finding_kind finding_cpu_over_request, finding_serial, finding_oversubscribed,
	finding_cpu_quota,
	finding_memory_over_request, finding_memory_at_risk, finding_io_bound, finding_tiny_io, finding_exec_storm,
	finding_short_tasks, finding_straggler, finding_serial_path, finding_retries, finding_walltime_over_request,
	finding_regression, finding_thrashing, finding_network_bound, finding_re_read, finding_stall,
	finding_gpu_starved, finding_gpu_low;

#endif
