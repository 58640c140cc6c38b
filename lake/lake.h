/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/lake.h - the questions that commands and pages ask.  A lake is a folder of SQLite files, one a month,
 * that the sink `lake` writes; the file of the month in which a run began has the whole run.  Readers open the files
 * read-only and never block the writer.  Or a lake is a database of a ClickHouse server, which the sink `clickhouse`
 * writes: the same questions have the same answers.  Any thread, one lake per thread.
 *
 * All times are CLOCK_REALTIME ns since 1970, 0 = not known / not ended.
 * The caller owns returned objects and frees them by the _free function of their type; their strings are freed with
 * them.  Strings are never NULL ("" when unknown).
 */
#ifndef SKEP_LAKE_H
#define SKEP_LAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lake;

/*
 * path: a folder, or an address: clickhouse://[USER@]HOST[:PORT][/DATABASE][?secure=1&password_file=FILE&ca_file=FILE&
 * timeout=SECONDS], clickhouses:// for secure=1; without password_file, $SKEP_CLICKHOUSE_PASSWORD is the password.
 * 0; -ENOENT: no such folder or no lake in it; else -errno. why: a message, never empty on failure.
 */
int lake_open(const char *path, struct lake **ret, char *why, size_t why_size);
struct lake *lake_close(struct lake *);
bool lake_is_address(const char *path);

/*
 * The files that a question could not read since lake_open(): of each a message with the cause and what to do.  An
 * answer that was given nevertheless lacks what these files hold.  The texts live until lake_close().
 */
size_t lake_unread(const struct lake *, const char *const **ret);

struct lake_report;

/*
 * Does a number of an answer stand at 2^63 - 1?  A sum stops there: a record has a value that no process can have.
 * report: NULL, or an answer whose sums count too.
 */
bool lake_is_saturated(const struct lake *, const struct lake_report *);

enum lake_state { LAKE_RUNNING, LAKE_RUNNABLE, LAKE_IOWAIT, LAKE_BLOCKED, LAKE_SLEEPING, LAKE_STATES };

struct lake_totals {
	uint64_t processes; /* tgids */
	uint64_t images;    /* begun by exec, plus forks that never exec */
	uint64_t threads;   /* largest number of threads of any one process; 0 = not known */
	uint64_t cpu_ns, user_ns, system_ns, run_delay_ns;
	uint64_t voluntary_switches, involuntary_switches, minor_faults, major_faults;
	uint64_t rss_peak_bytes;
	uint64_t rchar_bytes, wchar_bytes, read_bytes, write_bytes, cancelled_write_bytes;
	bool net_known; /* a probe counted network traffic: then 0 bytes means none */
	uint64_t net_rx_bytes, net_tx_bytes; /* payload, loopback included: TCP; UDP if net counted calls */
	uint64_t block_delay_ns; /* threads waited for block devices; 0 also when the kernel does not account it */
	uint64_t states[LAKE_STATES]; /* samples of threads, by their scheduler state */
};

/* Where a run's or a task's processes ran. */
struct lake_contained {
	const char *container, *container_name, *container_image, *pod, *name_space, *unit;
};

struct lake_run {
	const char *id, *name, *pipeline, *host, *boot_id, *kernel, *version, *state, *cwd;
	const char *const *argv; /* NULL-terminated */
	const char *root_upid;
	const char *engine;     /* "snakemake" "make" ... */
	const char *parent_run; /* id of the run in which it began */
	const char *origin;     /* "command" (skep run began it), "session", "shell", or the class of its engine */
	const char *job;        /* id of the scheduler's job that it is, or runs in */
	struct lake_contained in; /* of its root */
	uint64_t uid;
	uint64_t start_ns, end_ns;
	int64_t exit_code; /* -1: none */
	uint64_t signal;
	uint64_t cpus, interval_ns, processes_seen, rusage_cpu_ns;
	uint64_t memory_peak_bytes; /* most that its processes held together, as far as skep knows */
	const char *memory_source;  /* "process": its largest one; "pss", "rss": the largest sum at a sample */
	uint64_t lost_kernel, lost_queue, lost_spool, lost_sink;
	struct lake_totals totals; /* lake_runs fills in processes, images, cpu_ns, read/write bytes at least */
	uint64_t failures; /* images with a non-zero exit or a signal */
};

static inline uint64_t lake_run_lost(const struct lake_run *r)
{
	return r->lost_kernel + r->lost_queue + r->lost_spool + r->lost_sink;
}

struct lake_tool {
	const char *tool;
	/* images begun by exec that are not wrappers; for a tool without execs, forks that never exec */
	uint64_t calls;
	uint64_t failures; /* without wrappers: a wrapper fails with the command that it runs */
	uint64_t first_start_ns, last_end_ns;
	uint64_t wall_ns;  /* union of its images' times: the time with at least one image */
	uint64_t wall_sum_ns; /* sum over its images, wrappers left out */
	double cores_avg;  /* cpu / wall */
	double cores_peak; /* largest sample; at least cores_avg */
	uint64_t longest_ns;
	struct lake_totals totals; /* rss_peak_bytes: the largest image */
	size_t n_images;
	const uint32_t *images; /* as of a task */
};

/* One execution of a step.  A task without a record of its own (it runs) has state "". */
struct lake_task {
	const char *task, *task_id, *state, *engine, *sample, *job, *name_source, *traceparent, *step;
	const char *scopes; /* engines around its root when it began, the outermost first: "cron > make" */
	struct lake_contained in; /* of its root, else of its other processes if they have one */
	uint64_t attempt; /* 0: not known */
	uint64_t start_ns, end_ns;
	int64_t exit_code; /* -1: none */
	uint64_t signal;
	uint64_t failures; /* images with a non-zero exit or a signal */
	double requested_cpus; /* what its engine or scheduler was asked for; 0: not known */
	uint64_t requested_memory_bytes, requested_walltime_ns, requested_gpus;
	const char *requested_source;
	double granted_cpus; /* of the scheduler's job around it, or its cgroup's limits; 0: not known */
	uint64_t granted_memory_bytes, granted_gpus;
	const char *granted_source;
	uint64_t inner_runs; /* that its processes began or joined: what these do is not in the task's figures */
	double cores_peak; /* largest sum, at one moment, of what its processes used on average; 0: not known */
	struct lake_totals totals; /* rss_peak_bytes: the largest process; images 0: the lake has no rows of it */
	size_t n_images;
	const uint32_t *images; /* indices into the report's processes, rising: by start */
};

/* What a task asked for, else what it was granted: a task in a container with limits alone has those.  0: not known. */
static inline double lake_task_cpus(const struct lake_task *t)
{
	return t->requested_cpus > 0 ? t->requested_cpus : t->granted_cpus;
}

static inline uint64_t lake_task_memory(const struct lake_task *t)
{
	return t->requested_memory_bytes ? t->requested_memory_bytes : t->granted_memory_bytes;
}

/* Of lake_process.approx: the peak of memory is an upper bound, inherited from an earlier image. */
#define LAKE_APPROX_RSS_PEAK UINT64_C(8) /* APPROX_RSS_PEAK of core/process/records.h */

/* What many processes of a run have in common: a run of a million processes has few kinds, and fits into memory. */
struct lake_kind {
	const char *task_id, *step, *scopes, *unit, *tool, *container, *state, *comm, *exe, *filename, *cwd, *cgroup;
	bool wrapper, execed, last, core_dumped, oom_killed;
	uint64_t uid, gid, session;
	int64_t exit_code;
	uint64_t signal, approx;
	const char *oom_cgroup;
	uint64_t oom_limit_bytes, oom_usage_bytes, oom_peak_bytes;
	uint64_t exe_size_bytes, exe_modified_ns; /* of the file `exe` when it was executed; 0: not known */
};

/* What the engine of a process's container says about the container. */
struct lake_container {
	const char *container_name, *container_image, *pod, *name_space; /* NULL: not known */
	const char *const *labels; /* "name=value", NULL-terminated; NULL: none */
};

struct lake_process { /* one per image */
	const struct lake_kind *kind;
	const struct lake_container *in; /* without a container: its members are NULL */
	const char *upid, *parent_upid;
	uint64_t image, pid, ppid;
	const char *task;
	const char *const *argv; /* NULL-terminated */
	bool argv_cut;
	bool outlived; /* it ran after the end of its task, such as a daemon that the task left behind */
	uint32_t n_facets;
	uint64_t start_ns, end_ns;
	uint64_t maxrss_bytes, read_calls, write_calls, run_count;
	struct lake_totals totals;
	const struct lake_facet { const char *name; double value; } *facets;
};

struct lake_sample {
	const char *tool;
	uint64_t start_ns, interval_ns, cpu_ns, run_delay_ns, read_bytes, write_bytes, rss_bytes, processes, started;
};

/* A line of the host's ledger during the run: see skep/record.h, struct skep_ledger_post. */
struct lake_ledger {
	const char *account, *item, *kind; /* kind: "reference" "part" "memo" "unattributed" */
	int64_t amount;
	uint64_t interval_ns; /* from the run's first sample to its last */
};

struct lake_loss {
	const char *instance, *stream, *where;
	uint64_t count;
	uint64_t time_ns; /* lake_audit: when skepd counted it; 0: the sum over the run's time */
};

/* What a process did in an interval. A process that lived for less than a second has none. */
struct lake_progress {
	size_t process; /* index into the report's processes */
	uint64_t end_ns, interval_ns;
	uint64_t quiet_ns; /* just before the interval: it did nothing */
	uint64_t cpu_ns, run_delay_ns, major_faults, read_bytes, write_bytes;
	uint64_t rss_bytes; /* at its end */
	uint64_t file_bytes; /* of read and write calls: pipes and the page cache included */
	uint64_t net_bytes; /* received and sent, loopback left out */
	uint64_t reclaims;  /* times that it had to free memory itself */
	uint64_t samples, iowait_samples;
	uint64_t gpu_busy_ns, gpu_known_ns, gpu_devices;
};

/* A cgroup of the run's processes in an interval of the run; other processes of that cgroup count as well. */
struct lake_pressure {
	const char *cgroup;
	uint64_t end_ns, interval_ns, memory_full_ns, memory_bytes, memory_limit_bytes;
	uint64_t cpu_ns;
	double cpu_limit; /* its lowest quota, in CPUs; 0: none */
	/* of its own quota: periods, those in which it was used up, the time without it, summed over CPUs */
	uint64_t periods, throttled_periods, throttled_ns;
};

/* A network interface of the host in an interval of the run, if packets leave the host by it and its speed is known. */
struct lake_link {
	const char *name;
	uint64_t end_ns, interval_ns, bytes_per_s, rx_bytes, tx_bytes;
};

/* A file that a process opened, of the detail opens. */
struct lake_open {
	size_t process; /* index into the report's processes: the last image; lake_audit: SIZE_MAX: it has no row */
	const char *upid, *path;
	uint64_t opens, writes; /* that succeeded; of these, for writing */
	uint64_t size_bytes;    /* largest size at an open; 0: not known */
	uint64_t created;       /* part of opens that made the file */
	uint64_t first_ns;      /* first open while the detail was attached */
};

/* A record of a TCP connection: net reports one when the connection ends, and each interval while it lives. */
struct lake_connection {
	size_t process; /* index into the report's processes: the last image; SIZE_MAX: it has no row */
	const char *upid, *local, *peer, *direction, *state, *error;
	uint64_t local_port, peer_port, netns;
	uint64_t start_ns, time_ns;   /* of the connection; of this record */
	uint64_t rx_bytes, tx_bytes; /* since the last record */
};

struct lake_runs { size_t n; struct lake_run *runs; };
/*
 * Which runs to list. A zeroed query: all of them but sessions in which another run began, and of a shell's jobs those
 * that began another job, or used less than a second of CPU time. Jobs that have run for 10 seconds are listed.
 */
struct lake_runs_query {
	size_t limit;                        /* the newest so many of those that match; 0: all */
	const char *engine, *pipeline, *host; /* NULL: any */
	const char *job;                     /* NULL: any; its own, or of one of its tasks */
	const char *within;                  /* the id of the run in which it began; NULL: any */
	const uint64_t *uid;                 /* NULL: any */
	enum lake_outcome { LAKE_ANY, LAKE_RUNS, LAKE_FAILED, LAKE_OK } outcome;
	uint64_t since_ns, until_ns; /* began then or later; began before; 0: any time */
	uint64_t alive_ns;           /* had not ended before then; 0: any */
	bool sessions;               /* these sessions and jobs too */
};
/*
 * Lists runs, newest first. query: NULL for a zeroed one. 0, also when some files cannot be read (lake_unread); -errno
 * when none can.
 */
int lake_runs(struct lake *, const struct lake_runs_query *, struct lake_runs **ret, char *why, size_t why_size);
struct lake_runs *lake_runs_free(struct lake_runs *);

struct lake_report {
	struct lake_run run;
	size_t n_tasks;
	struct lake_task *tasks;          /* by start, then id */
	size_t n_tools;
	struct lake_tool *tools;          /* most CPU first */
	size_t n_processes;
	struct lake_process *processes;   /* by start, then image */
	size_t n_samples;
	struct lake_sample *samples;      /* by time, then tool */
	size_t n_ledger;
	struct lake_ledger *ledger;       /* by account, then item */
	size_t n_losses;
	struct lake_loss *losses;
	size_t n_progress;
	struct lake_progress *progress;   /* by process, then time */
	size_t n_pressure;
	struct lake_pressure *pressure;   /* by cgroup, then time */
	size_t n_links;
	struct lake_link *links;          /* by name, then time */
	size_t n_opens;
	struct lake_open *opens;          /* by path, then process */
	size_t n_connections;
	struct lake_connection *connections; /* lake_audit; in no order */
};
/*
 * Reads one run.  which: a run id, a unique beginning of an id, a run's name (its newest run), or "last".  A whole id
 * has precedence over a name, a name over the beginning of an id.  A file that cannot be read stops only a search whose
 * result may be in it.
 * 0; -ENOENT: no such run; -EEXIST: several ids have that beginning (why lists them); else -errno.
 */
int lake_report(struct lake *, const char *which, struct lake_report **ret, char *why, size_t why_size);
struct lake_report *lake_report_free(struct lake_report *);
/*
 * Reads runs of a list for comparisons.  A report has the run, its tasks, tools, samples and processes; of a process
 * what a comparison needs: identity, task, task_id, tool, image, state, exe, arguments, times, threads, how it ended,
 * facets; of its totals CPU time, run delay, peak of memory, bytes read from and written to the storage, and bytes that
 * calls read.  Its other figures, and their sums, may be "" or 0: a server is not asked for them.
 * Calls take for each run, in their order, with its report, which lives until take returns; or with NULL and the reason
 * why it cannot be read.  0; -ENOMEM; or what take returned if that is not 0: then it is the last call.
 */
typedef int lake_take_fn(void *arg, const struct lake_run *, struct lake_report *, const char *why);
int lake_reports(struct lake *, const struct lake_run *const *runs, size_t n, lake_take_fn *take, void *arg);
/*
 * Reports that are read from now on have the arguments of those processes alone that failed or began a task: the text
 * of a run shows no others, and in a large run all of them are half of the report.
 */
void lake_few_arguments(struct lake *);
bool lake_begins_task(const struct lake_process *); /* the task's id has its pid and image */

/* A run, then the runs that began in it or in one of them, by start, then id: all of one boot of its host. */
struct lake_audit { size_t n; struct lake_report **runs; };
/*
 * Reads what a run or a session executed.  Of each report: run, processes, opens, connections; of the first one also
 * the losses, one by one in the order of their times, until the last of the runs ended.  Returns as lake_report();
 * -ENOTSUP: the lake is a copy of a user's own runs (copy.h), which lacks parts of it.
 */
int lake_audit(struct lake *, const char *which, struct lake_audit **ret, char *why, size_t why_size);
struct lake_audit *lake_audit_free(struct lake_audit *);

#endif
