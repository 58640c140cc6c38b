/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/records.h - the records that the core itself emits: images of processes, runs, tasks, samples, losses,
 * the ledger, findings.  Sinks know them by stream and field name only.
 */
#ifndef SKEP_CORE_RECORDS_H
#define SKEP_CORE_RECORDS_H

#include <skep/record.h>

/* Why figures of a record are not exact, as bits of `approx`.  0: all figures are exact. */
#define APPROX_SPLIT \
	1u /* the process exec'd again: the split between images is off by the running slice, the sum is exact */
#define APPROX_COUNTERS 2u   /* the final counters were lost or had not arrived: the figures are the last sample's */
#define APPROX_END 4u        /* the exit record was lost: end_ns is the time of the final record */
#define APPROX_RSS_PEAK 8u   /* the memory peak is an upper bound: it is inherited from an earlier image */
#define APPROX_THREADS 16u /* run-queue delay, bytes and number of some dead threads are missing */
#define APPROX_START 32u     /* the process began before skep recorded it: counters may include that time */
#define APPROX_ARGV 128u     /* the arguments could not be read: argv is empty, not "no arguments" */
#define APPROX_EXEC 64u      /* the exec record was lost: exe, argv come from /proc or are missing */
#define APPROX_ENVIRON 256u  /* the environment was not searched to its end: task and environ may be missing */
#define APPROX_FACETS 512u   /* a probe reported late: the last part of its figures of this process is missing */

struct record_process {
	struct skep_upid upid, parent_upid;
	uint64_t image, pid, ppid;
	struct skep_str run, pipeline, task, tool, container;
	uint8_t wrapper;     /* the image is a wrapper; `tool` names the program that it wraps */
	uint8_t execed;      /* an exec began it; 0: a fork that runs its parent's program */
	uint8_t last;        /* the process's last image */
	uint8_t core_dumped, oom_killed;
	/*
	 * "exited" "replaced" (exec'd again) "running" (when its run ended) "zombie" "lost" "excluded" (by a rule,
	 * from then on)
	 */
	struct skep_str state;
	struct skep_str comm, exe, filename, argv, cwd, cgroup;
	struct skep_str labels; /* "name=value\0...": of the rule that includes it */
	uint64_t uid, gid, session;
	uint64_t start_ns, end_ns; /* boot time */
	int64_t exit_code;         /* -1: none (signal, or not ended) */
	uint64_t signal;
	uint64_t approx;           /* APPROX_* */
	struct skep_str oom_cgroup;
	uint64_t oom_limit_bytes, oom_usage_bytes, oom_peak_bytes;
	uint64_t cpu_ns, user_ns, system_ns, run_delay_ns, run_count;
	uint64_t voluntary_switches, involuntary_switches, minor_faults, major_faults;
	uint64_t rss_peak_bytes; /* of this image */
	uint64_t maxrss_bytes;   /* of the process, as wait4 reports it; last image only */
	uint64_t rchar_bytes, wchar_bytes, read_calls, write_calls, read_bytes, write_bytes, cancelled_write_bytes;
	uint64_t threads_peak;
	struct skep_str task_id;     /* unique, also among tasks of one name: core/process/task.h */
	struct skep_str traceparent; /* W3C trace context in its environment, if it differs from its task's or run's */
	/* "NAME=value\0...": variables that the probe's option `environ` names, but SKEP_TASK and TRACEPARENT */
	struct skep_str environ;
	struct skep_str container_name, container_image, pod, name_space;
	struct skep_str step; /* marks of engines further in: "make: a.o" in a task of Snakemake */
	struct skep_str scopes; /* the engines around it, the outermost first: "cron > make > snakemake" */
	struct skep_str unit; /* of systemd */
	uint64_t exe_size_bytes, exe_modified_ns; /* of the file `exe`; realtime */
	/* facets of other probes follow, 8 bytes each, as "<stream>.<field>" */
};

/* A task of a run, at its end. */
struct record_task {
	struct skep_str task, task_id, run, pipeline;
	struct skep_str state;       /* of its root: as in record_process; "running": its run ended first */
	struct skep_str traceparent; /* trace context of its root, if it differs from its run's */
	struct skep_upid root_upid;
	uint64_t start_ns, end_ns;
	int64_t exit_code;
	uint64_t signal;
	uint64_t processes;
	/* of all its processes; rss_peak: of the largest process */
	uint64_t cpu_ns, run_delay_ns, rss_peak_bytes, read_bytes, write_bytes;
	struct skep_str engine;      /* the engine that began it; empty: SKEP_TASK named it */
	struct skep_str scopes;      /* the engines around its root when it began, the outermost first */
	struct skep_str sample;      /* wildcard values, input or index */
	struct skep_str job;         /* id of its scheduler's job */
	uint64_t attempt;            /* from 1; 0: not known */
	struct skep_str name_source; /* where `task` came from: "argv" "environ" "cwd" "program" ... */
	/* what the engine or the scheduler was asked for; 0: not known */
	double requested_cpus;
	uint64_t requested_memory_bytes, requested_walltime_ns, requested_gpus;
	struct skep_str requested_source;
	/* what it got: of the scheduler's job in which it runs, or the limits of a cgroup made for it; 0: not known */
	double granted_cpus;
	uint64_t granted_memory_bytes, granted_gpus;
	struct skep_str granted_source; /* "job" "cgroup" */
	uint64_t inner_runs; /* of engines and of `skep run` that its processes began or joined; not in its figures */
	struct skep_str container, container_name, container_image, pod, name_space, unit; /* containment.h */
};

struct record_run {
	struct skep_str run, name, pipeline, host, boot_id, kernel, version;
	struct skep_str state; /* "running" "ended" */
	struct skep_str argv, cwd;
	struct skep_upid root_upid;
	uint64_t uid;
	uint64_t start_ns, end_ns;
	int64_t exit_code;
	uint64_t signal;
	uint64_t cpus;
	uint64_t interval_ns;
	uint64_t memory_peak_bytes; /* most that its processes held together, as far as skep knows */
	struct skep_str memory_source; /* "process" "pss" "rss" */
	uint64_t processes_seen;  /* forks plus root */
	/* CPU time that wait4 reported for the root and the children it waited for; 0: not known */
	uint64_t rusage_cpu_ns;
	uint64_t lost_kernel, lost_queue, lost_spool, lost_sink; /* while it ran */
	struct skep_str traceparent; /* trace context in which it was started; empty: none */
	/* "command" (skep run began it), "session", "shell" (a job of an interactive shell), or the class of its engine: "workflow" "scheduler" "launcher" "origin" */
	struct skep_str origin;
	struct skep_str engine;      /* "snakemake" "make" ...; empty: none known */
	struct skep_str parent_run;  /* id of the run in which it began; empty: none */
	struct skep_str job;         /* id of the scheduler's job that it is, or runs in; empty: none known */
	/* of its root: containment.h */
	struct skep_str container, container_name, container_image, pod, name_space, unit;
	struct skep_str account;     /* that the scheduler charges for the job; empty: none known */
	struct skep_str join_key;    /* runs of one engine, uid and key on several hosts are one; empty: none */
};

/*
 * What a live process used since its last sample: differences of exact counters.  When a sampled image ends, a last
 * sample (last) reports the rest, if any.  So the samples of an image add up to its process.exit.
 */
struct record_process_sample {
	struct skep_upid upid;
	uint64_t image, pid;
	struct skep_str run, tool;
	uint8_t last;
	uint64_t start_ns, interval_ns; /* the interval; the first sample's interval begins with the image */
	uint64_t quiet_ns; /* just before the interval, since the last sample: the process used nothing */
	uint64_t cpu_ns, run_delay_ns, run_count, voluntary_switches, involuntary_switches, minor_faults, major_faults;
	uint64_t rchar_bytes, wchar_bytes, read_calls, write_calls, read_bytes, write_bytes, cancelled_write_bytes;
	uint64_t rss_bytes, rss_peak_bytes, threads_peak; /* rss: now; peaks: of this image so far */
	/* facets of other probes follow, 8 bytes each, as "<stream>.<field>" */
};

struct record_tool_sample {
	struct skep_str run, tool;
	uint64_t start_ns, interval_ns; /* the interval */
	uint64_t cpu_ns, run_delay_ns, read_bytes, write_bytes;
	uint64_t rss_bytes;  /* sum over its live processes at the end of the interval */
	uint64_t processes;  /* alive at the end of the interval */
	uint64_t started;    /* images that began in the interval */
};

struct record_loss {
	struct skep_str instance, stream, where; /* "kernel" "queue" "spool" "sink" */
	uint64_t count; /* records lost since the last such record */
};

/* Something that an operator should look at: when skepd finds it, and again, with the same id, when it is over. */
struct record_finding {
	struct skep_str id;       /* 16 hex digits, the same in both records */
	struct skep_str kind;     /* "stall" "leftover-process" "orphan-container" "gpu-held-idle" "oom-kill" */
	struct skep_str severity; /* "warn" "error" */
	struct skep_str state;    /* "open" "closed" */
	struct skep_str host, run, pipeline, task, task_id, tool, container, cgroup;
	struct skep_upid upid;
	uint64_t pid;
	uint64_t started_ns, window_ns;
	double value, threshold;
	struct skep_str unit; /* of value and threshold: "s" "By" */
	struct skep_str evidence, advice;
};

/* How many findings of a kind are open: at each change, and every minute while any is. */
struct record_findings {
	struct skep_str kind;
	uint64_t open;
};

/* A line of the ledger, for one interval of the host or for a run. */
struct record_ledger {
	struct skep_str run;           /* empty: an interval of the host */
	struct skep_str account, item; /* skep/record.h, struct skep_ledger_post */
	struct skep_str kind;          /* "reference" "part" "memo" "unattributed" */
	uint64_t start_ns, interval_ns;
	int64_t amount;                /* ns or bytes, by account */
};

/* The head of a run's audit, which a user published: skepd has not computed it. */
struct record_audit {
	struct skep_str run, head; /* head: SHA-256 in hexadecimal */
	uint64_t entries;
	uint64_t uid; /* of the user who published it */
};

extern const struct skep_stream record_stream_process;     /* "process.exit", without facets */
extern const struct skep_stream record_stream_run;         /* "run" */
extern const struct skep_stream record_stream_task;        /* "task" */
extern const struct skep_stream record_stream_process_sample; /* "process.sample", without facets */
extern const struct skep_stream record_stream_tool_sample; /* "tool.sample" */
extern const struct skep_stream record_stream_loss;        /* "loss" */
extern const struct skep_stream record_stream_ledger;      /* "ledger" */
extern const struct skep_stream record_stream_audit;       /* "audit" */
extern const struct skep_stream record_stream_finding;     /* "finding" */
extern const struct skep_stream record_stream_findings;    /* "findings" */

#endif
