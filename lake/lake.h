/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/lake.h - queries of a lake, for `skep show` and `skep runs`.  A lake is a folder of SQLite files, one a month,
 * that the sink `lake` writes; the file of the month in which a run began has the whole run.  Readers open the files
 * read-only and never block the writer.  Any thread, one lake per thread.
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

/* 0; -ENOENT: no such folder or no lake in it; else -errno. why: a message, never empty on failure. */
int lake_open(const char *path, struct lake **ret, char *why, size_t why_size);
struct lake *lake_close(struct lake *);

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
	uint64_t net_rx_bytes, net_tx_bytes; /* TCP and UDP payload, loopback included */
	uint64_t block_delay_ns; /* threads waited for block devices; 0 also when the kernel does not account it */
	uint64_t states[LAKE_STATES]; /* samples of threads, by their scheduler state */
};

struct lake_run {
	const char *id, *name, *pipeline, *host, *boot_id, *kernel, *version, *state, *cwd;
	const char *const *argv; /* NULL-terminated */
	const char *root_upid;
	uint64_t uid;
	uint64_t start_ns, end_ns;
	int64_t exit_code; /* -1: none */
	uint64_t signal;
	uint64_t cpus, interval_ns, rss_peak_bytes, processes_seen, rusage_cpu_ns;
	uint64_t lost_kernel, lost_queue, lost_spool, lost_sink;
	struct lake_totals totals; /* lake_runs fills in processes, images, cpu_ns, read/write bytes at least */
	uint64_t failures; /* images with a non-zero exit or a signal */
};

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
};

struct lake_process { /* one per image */
	const char *upid, *parent_upid;
	uint64_t image, pid, ppid;
	const char *task, *tool, *container, *state, *comm, *exe, *filename, *cwd, *cgroup;
	const char *const *argv; /* NULL-terminated */
	bool argv_cut;
	bool wrapper, execed, last, core_dumped, oom_killed;
	uint64_t uid, gid, session;
	uint64_t start_ns, end_ns;
	int64_t exit_code;
	uint64_t signal, approx;
	const char *oom_cgroup;
	uint64_t oom_limit_bytes, oom_usage_bytes, oom_peak_bytes;
	uint64_t maxrss_bytes, threads_peak, read_calls, write_calls, run_count;
	struct lake_totals totals;
	size_t n_facets;
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

struct lake_loss { const char *instance, *stream, *where; uint64_t count; };

struct lake_runs { size_t n; struct lake_run *runs; };
/* Lists runs, newest first, at most limit (0: all). 0 or -errno. */
int lake_runs(struct lake *, size_t limit, struct lake_runs **ret, char *why, size_t why_size);
struct lake_runs *lake_runs_free(struct lake_runs *);

struct lake_report {
	struct lake_run run;
	size_t n_tools;
	struct lake_tool *tools;          /* most CPU first */
	size_t n_processes;
	struct lake_process *processes;   /* by start, then image */
	size_t n_samples;
	struct lake_sample *samples;      /* by time */
	size_t n_ledger;
	struct lake_ledger *ledger;       /* in the order of storage */
	size_t n_losses;
	struct lake_loss *losses;
};
/*
 * Reads one run.  which: a run id, a unique beginning of an id, a run's name (its newest run), or "last".  A whole id
 * has precedence over a name, a name over the beginning of an id.
 * 0; -ENOENT: no such run; -EEXIST: several ids have that beginning (why lists them); else -errno.
 */
int lake_report(struct lake *, const char *which, struct lake_report **ret, char *why, size_t why_size);
struct lake_report *lake_report_free(struct lake_report *);

#endif
