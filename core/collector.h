/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collector.h - the collector that skepd and `skep run` share: plugins, process
 * table, runs, batches, sinks.  Everything on the loop thread of the loop it is given.
 */
#ifndef SKEP_CORE_COLLECTOR_H
#define SKEP_CORE_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <skep/plugin.h>
#include <uv.h>

#include "core/config.h"
#include "core/diag.h"
#include "core/out.h"
#include "core/outstreams.h"

struct collector;

struct collector_options {
	/*
	 * true: only what a run contains (`skep run`): every pid is excluded in the
	 * verdict map, each run's root is let in, children inherit.
	 * false: the whole host; runs are found by session (skepd).
	 */
	bool runs_only;
	const char *carry_file; /* borrowed; what is known of live processes goes there at the end, and comes from there; NULL: not */
	const char *pin_dir;    /* borrowed; where the kernel side stays for the next skepd; NULL: nowhere */
	const struct config_spool *spool; /* borrowed; NULL, or without a path: what is on its way to sinks is in memory only */
	struct reader_process *reader; /* borrowed, outlives the collector; NULL: arguments of processes that were there before stay unknown */
	uint64_t batch_age_ns; /* a batch leaves after this at the latest; 0: 1 s */
	/*
	 * `skep run`: somebody waits.  When a run ends this sink, whose receiver is somewhere else, is waited for so long at the most,
	 * and then not again.  NULL: it is as the others.  Borrowed.
	 */
	const char *remote_sink;
	uint64_t remote_ns;
};

/* The config is borrowed until collector_free. */
int collector_new(uv_loop_t *, const struct config *, const struct collector_options *, struct diag *, struct collector **ret);
/* Load, check options, open(): what `skepd -t` runs. 0 or -errno with errors added. */
int collector_open(struct collector *, struct diag *);
/*
 * start() of sinks, then probes, then the first sweep.  A probe that fails is
 * reported as a warning unless required: then 0 is not returned.  -EPERM when a
 * required one lacks a privilege.
 */
int collector_start(struct collector *, struct diag *);

/*
 * These rules from now on, NULL: none; the set is referenced.  Processes that are known are judged
 * anew at once, those that were excluded within moments.  0; -ENOMEM, -ENOTSUP (with runs only): as before.
 */
struct ruleset;
struct judge;
int collector_rules(struct collector *, struct ruleset *);
struct judge *collector_judge(struct collector *); /* borrowed, for its counts; NULL: with runs only */

struct run_spec {
	const char *id;       /* unique; see run_id_new */
	const char *name;     /* for people */
	const char *pipeline; /* what is run again and again */
	const char *const *argv;
	const char *cwd;
	pid_t root;           /* alive, has not exec'd yet */
	const char *traceparent; /* the trace that it was started in (skep/trace.h); NULL: none */
};
#define RUN_ID_SIZE 33
void run_id_new(char ret[RUN_ID_SIZE]); /* "20261121T034815-0123456789abcdef", sorts by time */

/* All copied. The root's descendants belong to the run, whatever becomes of their parents. */
int collector_run_begin(struct collector *, const struct run_spec *);
/*
 * The root is gone and reaped (wait4's status and rusage).  Waits (bounded, 3.5 s)
 * until every dead process of the run has its final counters, closes the records
 * of those still alive as "running", emits the run's end, and calls done when
 * every sink has acknowledged or given up.
 */
void collector_run_end(struct collector *, const char *id, int wait_status, const struct rusage *, void (*done)(void *arg), void *arg);

/*
 * Details on demand.  A record of one goes to on_record as it is emitted (its first
 * member is the id), and to the sinks like any other.  on_over is called once, when its
 * time is over, its run has ended, its probe has stopped or gave up, or by
 * collector_detach; after the last record, never from inside collector_attach.
 */
struct detail_spec {
	const char *detail;       /* "runqlat", or "sched:runqlat" where instances share it */
	uint64_t for_ns;          /* 0: until it is detached */
	enum skep_scope scope;
	const char *run;          /* SKEP_SCOPE_GROUP: id or name of a live run */
	const char *cgroup;       /* SKEP_SCOPE_CGROUP: its path, or its id in decimal */
	uint32_t pid;             /* SKEP_SCOPE_PID */
	void (*on_record)(void *arg, uint64_t id, const struct skep_record *);
	void (*on_over)(void *arg, uint64_t id, const char *why);
	void *arg;
};
/* 0 and the id; or -errno and why, in words (to be freed; NULL: no memory). */
int collector_attach(struct collector *, const struct detail_spec *, uint64_t *ret_id, char **ret_why);
int collector_detach(struct collector *, uint64_t id); /* -ENOENT: there is none of that id */
/* For those that are attached: detail, instance, scope in words, what is left of its time (0: no end). */
void collector_attached(const struct collector *, void (*cb)(void *arg, uint64_t id, const char *detail, const char *instance,
			const char *scope, uint64_t left_ns), void *arg);

/* Runs that have not ended: id, name, since when, processes alive, found by session. */
void collector_runs(const struct collector *, void (*cb)(void *arg, const char *id, const char *name, uint64_t start_ns,
		    uint64_t alive, bool found), void *arg);

/*
 * The books: of the last interval, or (whole) since the collector's first sample.
 * ret_interval_ns 0: there are none yet.
 */
struct ledger_line;
void collector_ledger(const struct collector *, bool whole, void (*cb)(void *arg, const struct ledger_line *), void *arg,
		      uint64_t *ret_interval_ns);

/* For the live line; figures of the last sample and the events since. */
struct collector_live {
	uint64_t elapsed_ns;
	uint64_t processes_alive, processes_total;
	double cores_busy;
	uint64_t rss_bytes;
	double read_bytes_per_s, write_bytes_per_s;
	char busiest[128]; /* tool with the most CPU in the last interval; "" none */
	double busiest_cores;
	uint64_t lost; /* records, all places */
};
int collector_live(const struct collector *, const char *run_id, struct collector_live *ret);

/* The identity seen = delivered + filtered + lost + pending, per stream that leaves the core and sink. */
struct collector_stream_stats {
	const char *stream;
	const char *sink; /* instance name */
	uint64_t seen, delivered, filtered;
	uint64_t lost[5]; /* by enum skep_loss */
	uint64_t pending; /* batched or in flight */
};
size_t collector_stats(const struct collector *, struct collector_stream_stats *ret, size_t room);
/* Records lost before they reached the core (rings), all probes. */
uint64_t collector_lost_kernel(const struct collector *);
/* What the collector had to cope with, for status output. */
struct collector_self {
	uint64_t records;        /* life-cycle records taken */
	uint64_t invalid;        /* about no process */
	uint64_t late;           /* about a process that had been closed, or told twice */
	uint64_t clamped;        /* counters that would have gone backwards */
	uint64_t processes_lost; /* closed without final counters */
	uint64_t facets_late;    /* closed without waiting longer for a facet probe */
	uint64_t no_memory;
	uint64_t unsaved, unrestored; /* pieces of state: not saved for the next skepd, not read of the one before */
	uint64_t queue_bytes;    /* in the sinks' queues now */
	uint64_t left_behind;    /* instances whose work() did not return when they were to end */
	uint64_t unread;         /* processes recorded without arguments: reading them would have blocked, or was not tried */
	uint64_t readers_replaced; /* processes of skepd that read for it and were stuck, or ended */
};
void collector_self(const struct collector *, struct collector_self *ret);
/* path NULL: there is none. Not open: it could not be, and all is kept in memory. */
struct collector_spool {
	const char *path; /* borrowed until the next reload */
	bool open;
	struct out_spool_state state;
};
void collector_spool(const struct collector *, struct collector_spool *ret);
/* Processes in the table now. */
size_t collector_processes(const struct collector *);

struct skep_instance;
/* Instances in order, probes first; NULL ends. For status output. */
const struct skep_instance *collector_instances(const struct collector *);

/*
 * Another configuration for a collector that runs, all of it or nothing: every entry is
 * checked, what is new is started, before anything that runs is touched.  Entries whose
 * values are the same go on without noticing; options that are RELOADABLE are applied in
 * place, otherwise that plugin alone is restarted; what is removed is drained.
 *
 * next is borrowed: when done says 0, until collector_free or the next reload; else it may
 * go.  NULL: it could not even be read; done says -EINVAL.  check: only tell what would change, and what is wrong.  done is called once, from the
 * loop: err 0 with the report (and warnings), or -errno with errors, and then nothing has
 * changed; both may be emptied by it.  -EBUSY: one is under way; -ESHUTDOWN: the collector
 * does not run; -ENOMEM.
 */
struct reload_report;
typedef void (*collector_reload_done)(void *arg, int err, struct diag *, struct reload_report *);
int collector_reload(struct collector *, const struct config *next, bool check, collector_reload_done done, void *arg);
bool collector_reloading(const struct collector *);

void collector_flush(struct collector *); /* SIGUSR1: probes drain, batches leave now */
uint64_t collector_drain_ns(const struct collector *); /* of the configuration that applies now */
/*
 * Stop probes, offer what is left to the sinks for at most drain_ns, stop sinks, then done.  What does not return is left behind:
 * at the most that takes drain_ns, 2 s for work() of probes, 2 s for that of sinks, and 10 s for the spool's last commit.
 */
void collector_stop(struct collector *, uint64_t drain_ns, void (*done)(void *arg), void *arg);
/*
 * After done.  True: a thread is in a call that does not return (work() of an instance, or a write to the spool), and
 * what it uses must stay.  Then the loop would never run out of handles: end the process by _exit().
 */
bool collector_left_behind(const struct collector *);
/* After done, and after the loop has run until nothing is left. Frees nothing while collector_left_behind. Returns NULL. */
struct collector *collector_free(struct collector *);

#endif
