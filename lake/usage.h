/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/usage.h - the hosts of a lake: what each one, its GPUs and its containers used in each hour, and the runs that
 * it had.  sweep, cost and pictures of a fleet ask these questions.
 *
 * Types and rules of ownership as in lake/lake.h.
 */
#ifndef SKEP_LAKE_USAGE_H
#define SKEP_LAKE_USAGE_H

#include "lake/lake.h"

#define LAKE_HOUR_NS UINT64_C(3600000000000)

/* An hour of a host, of a GPU or of a container. */
struct lake_hour {
	size_t host;                  /* index into hosts */
	const char *item;             /* "": the host; "gpu/UUID"; "container/ID" */
	uint64_t start_ns;            /* of the hour, UTC */
	uint64_t first_ns, last_ns;   /* begin of the first interval in it, end of the last */
	uint64_t known_ns;            /* records cover so much of it: the rest is a gap, of which nothing is known */
	uint64_t capacity_ns;         /* of a host: CPUs x time */
	uint64_t busy_ns;             /* CPU time of processes; of a GPU: time in which a kernel ran */
	uint64_t idle_ns;             /* idle CPU time; of a GPU: time in which a process held it and no kernel ran */
	uint64_t runs_ns, daemons_ns; /* parts of busy_ns: of runs; of the system's own programs outside of runs */
	uint64_t memory_bytes,        /* most in use at a sample; of a container: by all of its cgroups together */
		memory_limit_bytes;   /* what there is */
	uint64_t rx_bytes, tx_bytes, read_bytes, write_bytes;
	uint64_t idle_minutes,
		other_minutes; /* of a GPU, a bit a minute: held and idle at some record; used, or free */
};

/* A run as its host saw it. */
struct lake_span {
	size_t host; /* index into hosts */
	const char *id, *name, *pipeline, *engine, *origin, *container, *unit, *boot_id;
	uint64_t uid, start_ns, end_ns; /* end_ns 0: it runs */
};

/* Processes of a run that samples found after the run's end: of one tool. */
struct lake_left {
	size_t run; /* index into runs */
	const char *tool;
	uint64_t from_ns, to_ns;       /* of the first such sample, of the last */
	uint64_t processes, rss_bytes; /* most at a sample */
	uint64_t cpu_ns;
};

/* A container that processes of a run's root or of its tasks were in. */
struct lake_contained_run {
	size_t run; /* index into runs */
	const char *container, *name;
};

struct lake_host {
	const char *name;
	size_t boots;               /* boot ids seen */
	const char *boot_id;        /* the newest */
	double cpus;                /* in its last hour; 0: not known */
	uint64_t memory_bytes;      /* as well */
	uint64_t first_ns, last_ns; /* of its records of usage, and of its runs */
	size_t hours, n_hours;      /* index of the first one, and how many: by item, then hour */
	size_t runs, n_runs;        /* by start */
	size_t last_run;            /* index of the run that ended last; SIZE_MAX: none */
	size_t live_runs;
};

struct lake_usage {
	size_t n_hosts;
	struct lake_host *hosts; /* by name */
	size_t n_hours;
	struct lake_hour *hours;
	size_t n_runs;
	struct lake_span *runs;
	size_t n_left;
	struct lake_left *left; /* by run, then tool */
	size_t n_contained;
	struct lake_contained_run *contained; /* by container */
};

struct lake_usage_query {
	const char *host; /* NULL: all */
	uint64_t since_ns,
		until_ns; /* hours and runs that began before until_ns and ended after since_ns; 0: any time */
	bool hosts_only;  /* of the hours only the hosts', not those of GPUs and containers */
};

/* query: NULL for a zeroed one. 0, also when some files cannot be read (lake_unread); -errno when none can. */
int lake_usage(struct lake *, const struct lake_usage_query *, struct lake_usage **ret, char *why, size_t why_size);
struct lake_usage *lake_usage_free(struct lake_usage *);

/* What all processes of a run that has not ended did in an interval. */
struct lake_pulse {
	const char *run, *boot_id;
	uint64_t start_ns, interval_ns, cpu_ns, bytes /* read and written */, processes, rss_bytes;
	const char *tool; /* of its tools alive then the largest */
};
struct lake_pulses {
	size_t n;
	struct lake_pulse *one;
}; /* by run and boot, the newest first */
/* Runs of engines, sessions and a shell's jobs left out. Times: of the samples. */
int lake_pulses(struct lake *, const char *host, uint64_t from_ns, uint64_t to_ns, struct lake_pulses **ret, char *why,
		size_t why_size);
struct lake_pulses *lake_pulses_free(struct lake_pulses *);

/* A process, for evidence. */
struct lake_seen {
	const char *tool, *upid, *run;
	uint64_t time_ns; /* it ended then, or was last busy; never busy: its last sample */
	uint64_t last_ns; /* lake_gpu_processes(): its last sample, which has tool and run */
	bool held, busy;  /* of a GPU */
};
struct lake_seen_list {
	size_t n;
	struct lake_seen *one;
};
/* The process of that run that ended last, at until_ns or before, wrappers left out: one or none. 0 or -errno. */
int lake_last_process(struct lake *, const char *run, const char *boot_id, uint64_t until_ns,
		      struct lake_seen_list **ret, char *why, size_t why_size);
/*
 * What held a GPU of the host or was busy on one in that time: each process once, as of its last sample, by
 * time_ns, then upid. boot_id: of the host's machine.  It reads the records of process.sample, so ask for minutes.
 */
int lake_gpu_processes(struct lake *, const char *boot_id, uint64_t from_ns, uint64_t to_ns,
		       struct lake_seen_list **ret, char *why, size_t why_size);
struct lake_seen_list *lake_seen_list_free(struct lake_seen_list *);

#endif
