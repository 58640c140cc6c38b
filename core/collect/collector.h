/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/collector.h - the collector that skepd and `skep run` share: plugins, process
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

#include "core/config/config.h"
#include "core/base/diag.h"
#include "core/delivery/delivery.h"
#include "core/process/records.h"
#include "core/process/run_spec.h"

struct collector;

struct collector_options {
	/*
	 * true: only what a run contains (`skep run`): every pid is excluded in the
	 * verdict map, each run's root is let in, children inherit.
	 * false: the whole host; runs are found by session (skepd).
	 */
	bool runs_only;
	const char *pin_dir;    /* borrowed; where the kernel side stays for the next skepd; NULL: nowhere */
	/* borrowed; NULL, or without a path: batches wait for sinks in memory only */
	const struct config_spool *spool;
	/* borrowed, outlives the collector; NULL: arguments of processes that were there before stay unknown */
	struct reader_process *reader;
	uint64_t batch_age_ns; /* a batch leaves after this at the latest; 0: 1 s */
	/*
	 * For `skep run`, whose user waits: when a run ends, the collector waits at most remote_ns for this sink, whose
	 * receiver is on another host, and does not wait for it again.  NULL: no sink is remote.  Borrowed.
	 */
	const char *remote_sink;
	uint64_t remote_ns;
};

/* The config is borrowed until collector_free. */
int collector_new(uv_loop_t *, const struct config *, const struct collector_options *, struct diag *,
		  struct collector **ret);
/* Load, check options, open(): what `skepd -t` runs. 0 or -errno with errors added. */
int collector_open(struct collector *, struct diag *);
/*
 * start() of sinks, then probes, then the first sweep.  A probe that fails is
 * reported as a warning unless required: then 0 is not returned.  -EPERM when a
 * required one lacks a privilege.
 */
int collector_start(struct collector *, struct diag *);

/*
 * These rules from now on, NULL: none; the set is referenced.  Processes that are known are evaluated
 * anew at once, those that were excluded within moments.  0; -ENOMEM, -ENOTSUP (with runs only): as before.
 */
struct ruleset;
struct rule_eval;
int collector_rules(struct collector *, struct ruleset *);
struct rule_eval *collector_rule_eval(struct collector *); /* borrowed, for its counts; NULL: with runs only */

/*
 * All copied. The root's descendants belong to the run, also when their parents have ended.  On a whole host the run
 * takes its root out of the session's run that it is in, and rules exclude none of its processes.  -EBUSY: another run
 * begun by name has that process; -EINVAL: it is the root of a session's run, or has ended; -EEXIST.
 */
int collector_run_begin(struct collector *, const struct run_spec *);
/* The caller will not call collector_run_end() for this run: the run ends when its root does. */
void collector_run_leave(struct collector *, const char *id);
/*
 * The caller will call collector_run_end() after all.  0; -ENOENT: no live run that was begun by name and left has this
 * id, root and owner. any_owner: the owner does not matter.
 */
int collector_run_resume(struct collector *, const char *id, pid_t root, uint32_t owner, bool any_owner);
/*
 * The root is gone and reaped (wait4's status and rusage).  Waits (bounded, 3.5 s)
 * until every dead process of the run has its final counters, emits the run's end, and calls done when
 * every sink has acknowledged or given up; with a sink's name, when that one has.  With runs only, the records of
 * processes that are still alive are closed as "running" before; on a whole host they keep their run and are recorded
 * when they end.
 */
void collector_run_end(struct collector *, const char *id, int wait_status, const struct rusage *, const char *sink,
		       void (*done)(void *arg), void *arg);

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
/* For those that are attached: detail, instance, scope in words, time left (0: no end). */
void collector_attached(const struct collector *,
			void (*cb)(void *arg, uint64_t id, const char *detail, const char *instance, const char *scope,
				   uint64_t left_ns),
			void *arg);

/* Runs that have not ended: id, name, since when, processes alive, found by session. */
void collector_runs(const struct collector *, void (*cb)(void *arg, const char *id, const char *name, uint64_t start_ns,
		    uint64_t alive, bool found), void *arg);

/*
 * The books: of the last interval, or (whole) since the collector's first sample.
 * ret_interval_ns 0: there are none yet.
 */
struct ledger_line;
void collector_ledger(const struct collector *, bool whole, void (*cb)(void *arg, const struct ledger_line *),
		      void *arg, uint64_t *ret_interval_ns);

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
	uint64_t late;           /* about a closed process, or reported twice */
	uint64_t clamped;        /* counters that would have gone backwards */
	uint64_t processes_lost; /* closed without final counters */
	uint64_t facets_late;    /* closed without waiting longer for a facet probe */
	uint64_t no_memory;
	uint64_t unsaved, unrestored; /* pieces of state: not saved for the next skepd, not read of the one before */
	uint64_t queue_bytes;    /* in the sinks' queues now */
	uint64_t left_behind;    /* instances whose work() did not return when they were to end */
	/* processes recorded without arguments: reading them would have blocked, or was not tried */
	uint64_t unread;
	uint64_t readers_replaced; /* processes of skepd that read for it and were stuck, or ended */
	uint64_t lag_ns, lag_worst_ns; /* how much later than due the loop came to its last tick, and the latest one */
};
void collector_self(const struct collector *, struct collector_self *ret);
/* path NULL: there is none. Not open: it could not be, and all is kept in memory. */
struct collector_spool {
	const char *path; /* borrowed until the next reload */
	bool open;
	struct delivery_spool_state state;
};
void collector_spool(const struct collector *, struct collector_spool *ret);
/* Processes in the table now. */
size_t collector_processes(const struct collector *);

struct skep_instance;
/* Instances in order, probes first; NULL ends. For status output. */
const struct skep_instance *collector_instances(const struct collector *);
/* The instances that a reload has removed and whose work() has not returned: the first one, then the one `after`. */
const struct skep_instance *collector_stuck_instance(const struct collector *, const struct skep_instance *after);
/* How often the collector has started the instance again; the records that it has lost, by enum skep_loss. */
unsigned collector_instance_retries(const struct skep_instance *);
void collector_instance_lost(const struct skep_instance *, uint64_t ret[DELIVERY_LOSSES]);
/* What waits for a sink.  false: it is none, or no collector runs it. */
bool collector_instance_queue(const struct skep_instance *, struct delivery_queue *ret);
const struct config *collector_config(const struct collector *); /* borrowed until the next reload */
uint64_t collector_interval_ns(const struct collector *);
/* Lost records in all, by enum skep_loss. */
void collector_lost(const struct collector *, uint64_t ret[DELIVERY_LOSSES]);

/*
 * Another configuration for a collector that runs, all of it or nothing: every entry is
 * checked, what is new is started, before anything that runs is touched.  Entries whose
 * values are the same go on without noticing; options that are RELOADABLE are applied in
 * place, otherwise that plugin alone is restarted; what is removed is drained.
 *
 * next is borrowed: when done says 0, until collector_free or the next reload; else it may
 * go.  NULL: the file could not be read; done says -EINVAL.  check: only report the changes and the errors.
 * done is called once, from the loop: err 0 with the report (and warnings), or -errno with errors, and then nothing has
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
 * Stops the probes, offers the remaining batches to the sinks for at most drain_ns, stops the sinks, calls done.  The
 * collector leaves behind a thread that does not return, after drain_ns, 2 s for work() of probes, 2 s for work() of
 * sinks, and 10 s for the spool's last commit.
 */
void collector_stop(struct collector *, uint64_t drain_ns, void (*done)(void *arg), void *arg);
/*
 * After done.  True: a thread is in a call that does not return (work() of an instance, or a write to the spool), and
 * what it uses must stay.  Then the loop would never run out of handles: end the process by _exit().
 */
bool collector_left_behind(const struct collector *);
/*
 * After done, and after the loop has run until nothing is left. Frees nothing while collector_left_behind. Returns
 * NULL.
 */
struct collector *collector_free(struct collector *);

#endif
