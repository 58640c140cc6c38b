/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/collector.h - the collector that skepd and `skep run` share: plugins, process table, runs, batches,
 * sinks.  It runs only on the thread of the loop that the caller gives to it.
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
	 * true (`skep run`): collects only the processes of runs.  The verdict map excludes every pid; the collector
	 * admits each run's root, and children inherit.
	 * false (skepd): collects the whole host; the tracker finds runs by session.
	 */
	bool runs_only;
	/* borrowed; folder in which programs and maps stay pinned for the next skepd; NULL: none */
	const char *pin_dir;
	/* borrowed; NULL, or without a path: only memory keeps batches that wait for sinks */
	const struct config_spool *spool;
	/* borrowed, outlives the collector; NULL: arguments of processes older than skepd stay unknown */
	struct reader_process *reader;
	/* the same for engines' files; NULL: tasks keep the names that their commands show */
	struct reader_process *file_reader;
	uint64_t batch_age_ns; /* the longest time that a batch stays open; 0: 1 s */
	/*
	 * For `skep run`, whose user waits: when a run ends, the collector waits at most remote_ns for this sink, whose
	 * receiver is on another host, and does not wait for it again.  NULL: no sink is remote.  Borrowed.
	 */
	const char *remote_sink;
	uint64_t remote_ns;
};

/* The config is borrowed until collector_free().  0 or -errno with errors added. */
int collector_new(uv_loop_t *, const struct config *, const struct collector_options *, struct diag *,
		  struct collector **ret);
/* Loads plugins, checks their options, and calls open(), as `skepd -t` does.  0 or -errno with errors added. */
int collector_open(struct collector *, struct diag *);
/*
 * Calls start() of sinks, then of probes.  Adds a warning for a plugin that fails, and tries it again later; a required
 * one that fails ends the start with an error.  -EPERM: a required one lacks a privilege.
 */
int collector_start(struct collector *, struct diag *);

/*
 * Applies these rules from now on; NULL: none.  References the set.  Evaluates known processes at once, and excluded
 * ones within moments.  0; after -ENOMEM or -ENOTSUP (with runs only) the old rules stay.
 */
struct ruleset;
struct rule_eval;
int collector_rules(struct collector *, struct ruleset *);
struct track *collector_track(struct collector *); /* borrowed, to look at processes and runs; NULL before the start */
struct rule_eval *collector_rule_eval(struct collector *); /* borrowed, for its counts; NULL: with runs only */

/*
 * Begins a run, with copies of the spec's texts.  The root's descendants belong to the run, also when their parents
 * have ended.  On a whole host the root leaves its session's run, and rules exclude none of the run's processes.
 * -EBUSY: the process is in another run begun by name; -EINVAL: the process is the root of a session's run, or has
 * ended; -EEXIST: a run has this id.
 */
int collector_run_begin(struct collector *, const struct run_spec *);
/* The live process of that pid and user is a task, or a step of its engine's task, from now on.  0, -ESRCH, -ENOMEM. */
int collector_task_begin(struct collector *, uint32_t pid, uint32_t uid, const struct skep_str *name);
/* The caller will not call collector_run_end() for this run: the run ends when its root does. */
void collector_run_leave(struct collector *, const char *id);
/*
 * The caller will call collector_run_end() after all.  0; -ENOENT: no live run that was begun by name and left has this
 * id, root and owner.  any_owner: any owner will do.
 */
int collector_run_resume(struct collector *, const char *id, pid_t root, uint32_t owner, bool any_owner);
/*
 * The caller has reaped the root (wait4's status and rusage).  Waits (3.5 s at most) until every ended process of the
 * run has its final counters, then emits the run's end.  Calls done when every sink (sink: only this one) has
 * acknowledged or given up.  With runs only, first closes the records of live processes as "running".  On a whole host
 * live processes keep their run, and their records follow when they end.
 */
void collector_run_end(struct collector *, const char *id, int wait_status, const struct rusage *, const char *sink,
		       void (*done)(void *arg), void *arg);

/*
 * Details on demand.  The collector passes a record of a detail to on_record as the probe emits it (its first member is
 * the id), and to the sinks like any other record.  It calls on_over once, after the last record and never from inside
 * collector_attach(): when the detail's time is over, its run has ended, its probe has stopped or given up, or by
 * collector_detach().
 */
struct detail_spec {
	const char *detail;       /* "runqlat", or "sched:runqlat" where instances share it */
	uint64_t for_ns;          /* 0: until collector_detach() */
	enum skep_scope scope;
	const char *run;          /* SKEP_SCOPE_GROUP: id or name of a live run */
	const char *cgroup;       /* SKEP_SCOPE_CGROUP: its path, or its id in decimal */
	uint32_t pid;             /* SKEP_SCOPE_PID */
	void (*on_record)(void *arg, uint64_t id, const struct skep_record *);
	void (*on_over)(void *arg, uint64_t id, const char *why);
	void *arg;
};
/* 0 and the id; or -errno and the reason in words (the caller frees it; NULL: no memory). */
int collector_attach(struct collector *, const struct detail_spec *, uint64_t *ret_id, char **ret_why);
int collector_detach(struct collector *, uint64_t id); /* -ENOENT: no detail has this id */
/* Calls cb for each attached detail: its name, instance, scope in words, time left (0: no end). */
void collector_attached(const struct collector *,
			void (*cb)(void *arg, uint64_t id, const char *detail, const char *instance, const char *scope,
				   uint64_t left_ns),
			void *arg);

/* Calls sampled after each sample, when track_watch_pass() finds new figures.  Borrowed; NULL: none. */
struct collector_watch {
	void (*sampled)(void *arg);
	void *arg;
};
void collector_watch(struct collector *, const struct collector_watch *);
/*
 * *ret: what the collector emitted before that time (boot time) is in batches up to this number.  false: a batch that
 * has some of it is still open, for at most a batch's age.
 */
bool collector_emitted(const struct collector *, uint64_t before_ns, uint64_t *ret);
/* Whether the sink of that name has acknowledged all batches up to that number. */
bool collector_acknowledged(const struct collector *, const char *sink, uint64_t number);

/* How many runs that were begun by name have not ended: all, those of one owner, those of strangers (run_spec.h). */
struct collector_named {
	unsigned all, own, strangers;
};
void collector_runs_named(const struct collector *, uint32_t owner, struct collector_named *ret);

/* Calls cb for each run that has not ended. */
struct run;
void collector_runs(const struct collector *, void (*cb)(void *arg, const struct run *), void *arg);

/*
 * The ledger of the last interval, or (whole) since the collector's first sample.  *ret_interval_ns 0: there is none
 * yet.
 */
struct ledger_line;
void collector_ledger(const struct collector *, bool whole, void (*cb)(void *arg, const struct ledger_line *),
		      void *arg, uint64_t *ret_interval_ns);

/* Figures for the live line of `skep run`, of the last sample and the events since. */
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

/* Sends the head of a run's audit to all sinks; uid: of the user who publishes it. */
void collector_audit(struct collector *, const char *run, const char *head, uint64_t entries, uint32_t uid);

/* The counts of a stream that the core emits, for each sink: seen = delivered + filtered + lost + pending. */
struct collector_stream_stats {
	const char *stream;
	const char *sink; /* instance name */
	uint64_t seen, delivered, filtered;
	uint64_t lost[5]; /* by enum skep_loss */
	uint64_t pending; /* batched or in flight */
};
size_t collector_stats(const struct collector *, struct collector_stream_stats *ret, size_t room);
/* Records of all probes that were lost in the kernel (rings) before the core had them. */
uint64_t collector_lost_kernel(const struct collector *);
/* Problems that the collector handled, for status output. */
struct collector_self {
	uint64_t records;        /* life-cycle records read */
	uint64_t invalid;        /* records that name no process */
	uint64_t late;           /* records about a closed process, or repeated ones */
	uint64_t clamped;        /* counters that would have gone backwards */
	uint64_t processes_lost; /* closed without final counters */
	uint64_t facets_late;    /* closed without waiting longer for a facet probe */
	uint64_t no_memory;
	/* pieces of state that skepd could not save for the next one, or read from the previous one */
	uint64_t unsaved, unrestored;
	uint64_t queue_bytes;    /* in the sinks' queues now */
	/* instances that the collector has abandoned, because their work() did not return at their end */
	uint64_t left_behind;
	/* processes recorded without arguments: reading them blocked, or skepd refused to try */
	uint64_t unread;
	uint64_t readers_replaced; /* reader processes that skepd has replaced, because they were stuck or had ended */
	uint64_t lag_ns, lag_worst_ns; /* delay of the loop's last tick, and the longest delay */
};
void collector_self(const struct collector *, struct collector_self *ret);
/*
 * What reads engines' files: "own", child processes of skepd; "unit", skep-reader.service; "none", because skepd lacks
 * the capabilities and the unit does not answer; "off", by read_engine_files.
 */
const char *collector_engine_files(const struct collector *);
/* path NULL: no spool is configured.  open false: skepd could not open it, and keeps all batches in memory. */
struct collector_spool {
	const char *path; /* borrowed until the next reload */
	bool open;
	struct delivery_spool_state state;
};
void collector_spool(const struct collector *, struct collector_spool *ret);
/* Processes in the table now. */
size_t collector_processes(const struct collector *);
/* Is a sweep under way: does a probe look for the processes that run already, or at all of them again? */
bool collector_sweeping(const struct collector *);

struct skep_instance;
/* Instances in the order of the file, probes first; NULL ends the list.  For status output. */
const struct skep_instance *collector_instances(const struct collector *);
/* The instances that a reload has removed and whose work() has not returned: the first one, then the one `after`. */
const struct skep_instance *collector_stuck_instance(const struct collector *, const struct skep_instance *after);
/*
 * How often the collector has tried to start the instance again, and the records that it has lost, by enum skep_loss.
 */
unsigned collector_instance_retries(const struct skep_instance *);
void collector_instance_lost(const struct skep_instance *, uint64_t ret[DELIVERY_LOSSES]);
/* The queue of a sink.  false: the instance is no sink, or no collector runs it. */
bool collector_instance_queue(const struct skep_instance *, struct delivery_queue *ret);
const struct config *collector_config(const struct collector *); /* borrowed until the next reload */
uint64_t collector_interval_ns(const struct collector *);
/* All lost records, by enum skep_loss. */
void collector_lost(const struct collector *, uint64_t ret[DELIVERY_LOSSES]);

/*
 * Applies another configuration to a running collector, completely or not at all.  Before it touches a running
 * instance, it checks every entry and starts the new instances.  An instance whose values are the same is not touched.
 * The collector applies RELOADABLE options in place, restarts a plugin alone for other options, and drains a removed
 * plugin.
 *
 * next is borrowed: after done with 0, until collector_free() or the next reload; else until done.  NULL: the caller
 * could not read the file; done gets -EINVAL.  check: only reports the changes and the errors.  The loop calls done
 * once: err 0 with the report (and warnings), or -errno with errors, and then nothing has changed.  done may empty
 * both.
 *
 * 0; -EBUSY: a reload is under way; -ESHUTDOWN: the collector does not run; -ENOMEM.
 */
struct reload_report;
typedef void (*collector_reload_done)(void *arg, int err, struct diag *, struct reload_report *);
int collector_reload(struct collector *, const struct config *next, bool check, collector_reload_done done, void *arg);
bool collector_reloading(const struct collector *);

void collector_flush(struct collector *); /* for SIGUSR1: drains the probes and offers open batches now */
uint64_t collector_drain_ns(const struct collector *); /* drain time of the configuration in force */
/*
 * Stops the probes, offers the remaining batches to the sinks for at most drain_ns, stops the sinks, calls done.  The
 * collector abandons a thread that does not return: after drain_ns, 2 s for work() of probes, 2 s for work() of sinks,
 * and 10 s for the spool's last commit.
 */
void collector_stop(struct collector *, uint64_t drain_ns, void (*done)(void *arg), void *arg);
/*
 * After done.  true: a thread is in a call that does not return (work() of an instance, or a write to the spool), and
 * still uses its memory.  Handles stay open, so the loop does not end: the caller ends the process by _exit().
 */
bool collector_left_behind(const struct collector *);
/*
 * After done, and after the loop has run out of handles.  Frees nothing while collector_left_behind().  Returns NULL.
 */
struct collector *collector_free(struct collector *);

#endif
