/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track.h - the tracker of the collector: reads life-cycle records, emits one record for each image of a
 * process.  It keeps the process table, decides which run a process belongs to, and tolerates records that are missing,
 * doubled, late or absurd.  It depends on no plugin and no loop; the caller passes the time.
 */
#ifndef SKEP_CORE_TRACK_H
#define SKEP_CORE_TRACK_H

#include "core/identify/cgroup.h"
#include "core/identify/engine_file.h"
#include "core/process/proctab.h"
#include "core/identify/tool.h"

/*
 * Longest wait for the final record of a process that sweeps miss.  RCU frees a task, and the record comes with that:
 * with CONFIG_RCU_LAZY up to 10 s later (LAZY_FLUSH_JIFFIES in kernel/rcu/tree_nocb.h, since 6.2), and without it after
 * more than 2 s on an idle virtual machine (measured on 6.18: of some 10,900 processes between 12 and 21).
 */
#define TRACK_FINAL_NS 15000000000u
#define TRACK_PATIENCE_MOST_NS 10000000000u /* for an ended process whose ancestors a sweep looks for, and for tasks */
#define TRACK_PATIENCE_NS 2000000000u       /* for facets */
/* longest wait of a task's record for its name */
#define TRACK_LATE_NS 2000000000u

struct delivery;

/* What the tracker works with; all borrowed. */
struct track_env {
	const struct tools *tools;
	struct pods *pods; /* NULL: names of pods stay unknown */
	struct container_states *container_states; /* NULL: skep reads no runtime's state files */
	struct recognizers *recognizers; /* NULL: runs are sessions, and tasks have names in environments only */
	const struct facets *facets;
	struct cgroups *cgroups;
	/*
	 * Delivers a record: delivery_emit(). The process table must not depend on delivery, so it calls through a
	 * pointer.
	 */
	void (*emit)(struct delivery *, int stream, const struct skep_upid *, uint64_t time_ns, const void *rec,
		     const struct skep_context *);
	struct delivery *out;
	int process_stream;        /* number of process.exit in `out` */
	uint32_t process_size;     /* size of a process.exit record, facets included */
	int task_stream;           /* number of "task" in `out`; -1: not wanted */
	int sample_stream;         /* number of process.sample in `out`; -1: not wanted */
	uint32_t sample_size;
	bool runs_only;
	bool fold_forks;           /* a fork that execs at once has no record: its counters go to the program */
	int finding_stream, findings_stream; /* numbers of "finding" and "findings" in `out` */
	const char *host, *boot_id; /* of records of findings; NULL: empty */
	uint64_t start_ns;         /* when the collector began */
	struct rule_eval *rule_eval; /* NULL: no rules; the tracker collects every process */
	/*
	 * run_found: the tracker has found a run by its session or engine.  run_changed: the run's record has new
	 * texts, as an exec below the engine has said more.  run_over: the root has ended (end_ns is set, and status
	 * if it is known).
	 */
	void (*run_found)(void *arg, struct run *);
	void (*run_changed)(void *arg, struct run *);
	void (*run_over)(void *arg, struct run *);
	/*
	 * Requests a read of an engine's file: calls track_file_answer(token, ...) once, in a later turn of the loop.
	 * Or -errno.  The token is valid until track_free().  NULL: skep reads no such files.
	 */
	int (*read_file)(void *arg, const struct engine_file *, void *token);
	/* Requests wait: calls track_late_tick() that soon, or sooner.  NULL: the tick is enough. */
	void (*late_soon)(void *arg, uint64_t ns);
	void *arg;
};

struct track_stats {
	uint64_t records;     /* records that the tracker has read */
	uint64_t invalid;     /* records that name no process */
	uint64_t late;        /* records about a closed process, or repeated ones */
	uint64_t clamped;     /* counters that would have gone backwards */
	uint64_t lost;        /* processes closed without final counters */
	uint64_t facet_late;  /* processes closed before a slow facet probe had drained */
	uint64_t no_memory;   /* records dropped: out of memory */
	uint64_t unsaved;     /* state of processes, runs, tasks and probes that could not be saved */
	uint64_t unrestored;  /* saved state that could not be used */
	uint64_t excluded;    /* processes that rules excluded, as far as user space knows */
	/* ends without an earlier record of processes that began, and were excluded, before the rules changed */
	uint64_t unborn;
};

struct track;

/* 0 or -ENOMEM */
int track_new(const struct track_env *, struct track **ret);
/*
 * Connects the rule evaluation with the processes of this table.  Before the first record; track_new() calls it for
 * env.rule_eval.  0 or -ENOMEM.
 */
int track_rules(struct track *, struct rule_eval *);
struct track *track_free(struct track *);

/* The tracker's own objects, borrowed for as long as the tracker lives. */
struct runs *track_runs(struct track *);
const struct proctab *track_table(const struct track *);
struct sampler *track_sampler(struct track *);
const struct track_stats *track_stats(const struct track *);
void track_tools(struct track *, const struct tools *); /* replaces the table of tools */
void track_recognizers(struct track *, struct recognizers *); /* replaces the table of recognizers */
uint32_t track_process_size(const struct track *); /* of the records: see track_layout */
uint32_t track_sample_size(const struct track *);
uint64_t track_swept_ns(const struct track *); /* begin of the last complete sweep; 0: none yet */
/* CPU time of all processes since the tracker began, as far as it is known.  The ledger posts it. */
int64_t track_cpu_ns(const struct track *);
/* Correction of the kernel's sum of excluded processes: less what track_cpu_ns() has as well, plus what neither has. */
int64_t track_reevaluated_ns(const struct track *);

/* Makes room for larger records.  The sizes in use change only with track_layout().  0 or -ENOMEM. */
int track_reserve(struct track *, uint32_t process_size, uint32_t sample_size);
/* Records have these sizes from now on: at most the reserved ones. */
void track_layout(struct track *, uint32_t process_size, uint32_t sample_size);

/* role: any SKEP_ROLE_PROC_*. The record is read only during the call. */
void track_record(struct track *, enum skep_role, const struct skep_upid *, uint64_t time_ns, const void *rec,
		  uint64_t now_ns);
void track_facet(struct track *, const struct skep_stream *, const struct skep_upid *, const void *rec,
		 uint64_t now_ns);
void track_sweep_begin(struct track *, uint64_t time_ns, uint64_t now_ns);
void track_sweep_end(struct track *, bool complete, uint64_t now_ns);
/* All facet probes have emitted their records up to that time.  UINT64_MAX: there is no facet probe to wait for. */
void track_drained(struct track *, uint64_t time_ns, uint64_t now_ns);
/*
 * No more final records come, neither to this skepd nor to a later one: closes the ended processes that wait for one.
 */
void track_finals_over(struct track *, uint64_t now_ns);
bool track_holds(const struct track *); /* whether records of ended processes wait for facets */
/* Sends the requests to env.read_file that are due. */
void track_late_tick(struct track *, uint64_t now_ns);
/* The answer to env.read_file: of engine_file_read(), or error: -errno. */
void track_file_answer(void *token, int error, const struct skep_str *answer, uint64_t now_ns);
/* The collector stops: tasks that wait for their names leave with the ones that they have. */
void track_late_over(struct track *);
/* a few times a second: closes entries that have waited long enough */
void track_tick(struct track *, uint64_t now_ns);

/*
 * Emits a sample of each live process that has used anything since its last sample.  An image younger than min_age_ns
 * gets no first sample.  The caller decides when to sample.
 */
void track_samples_out(struct track *, uint64_t min_age_ns, uint64_t now_ns);

/*
 * Reports findings from now on, by these limits; a later call replaces them.  0 or -ENOMEM.  Without a call the tracker
 * finds nothing.
 */
int track_findings(struct track *, const struct config_findings *);
/* At each sample: looks for findings when a look is due, and closes finished ones.  interval_ns: between samples. */
void track_findings_look(struct track *, uint64_t interval_ns, uint64_t now_ns);
const struct findings *track_findings_open(const struct track *); /* borrowed; NULL: track_findings() was not called */

/*
 * A watcher of processes.  ended: an image has ended, and its record is about to leave; the entry still has the facets.
 * gone: an entry that a pass has listed is dropped without a last image.  Neither may change the tracker.
 */
struct track_watch {
	void (*ended)(void *arg, const struct proc *, const struct record_process *);
	void (*gone)(void *arg, const struct proc *);
	void *arg;
};
void track_watch(struct track *, const struct track_watch *); /* borrowed; NULL: none, and no process is known to it */
/*
 * Calls cb for each recorded process whose last record has not left.  changed: TRACK_* bits since the last pass, or 0.
 * fresh: a new watcher needs everything of each process; the bits stay set for the other watchers' next pass.
 */
#define TRACK_FIGURES 1u /* its counters or its state */
#define TRACK_NAMES 2u   /* its image, run, task or program: always so at its first pass */
void track_watch_pass(struct track *, bool fresh, void (*cb)(void *arg, const struct proc *, unsigned changed),
		      void *arg);
const struct facets *track_facets(const struct track *); /* borrowed */

/* The context of a process, for records of other probes about it.  Borrowed until the next call. */
void track_context(const struct track *, const struct skep_upid *, struct skep_context *ret);

/* The context of a cgroup: its container. */
void track_cgroup_context(const struct track *, uint64_t cgroup_id, struct skep_context *ret);
/* Calls cb once for each cgroup that has live processes.  0 or -ENOMEM. */
int track_cgroups_live(struct track *, uint64_t now_ns,
		       void (*cb)(void *arg, uint64_t cgroup_id, const struct skep_str *path), void *arg);

/* Whether the table has the process and its program.  If not, an iterator should read the process's details. */
bool track_known(const struct track *, const struct skep_upid *);

/*
 * The live process of that pid and user begins a task of this name; within a task of an engine, a step of the task.
 * 0, -ESRCH (it is not recorded, or not this user's), -ENOMEM.
 */
int track_task_named(struct track *, uint32_t pid, uint32_t uid, const struct skep_str *name, uint64_t now_ns);
/* Makes the live process run->root_pid the root of the run.  0, -ENOMEM; -EBUSY, -EINVAL as collector_run_begin(). */
int track_run_root(struct track *, struct run *, uint64_t now_ns);
bool track_run_rooted(const struct run *); /* whether the root is in the table, and its end is still to come */
/*
 * How many members still keep the run's end waiting: ended without final counters (zombies not counted when
 * zombies_ok), waiting for facets, missed by a sweep, or not checked by a complete sweep since `since_ns`.
 */
size_t track_run_pending(const struct track *, const struct run *, bool zombies_ok, uint64_t since_ns);
/*
 * Emits records of the members that are left, with the newest figures, and lets these processes go.  run->status: of
 * the root, as waitpid() gives it.
 */
void track_run_close(struct track *, struct run *, uint64_t now_ns);
/* A life-cycle probe has drained its ring: writes the verdicts that are due to the verdict map. */
void track_verdicts_out(struct track *);
/*
 * The rules have changed: evaluates every known process at once.  The next sweep, which the caller requests, evaluates
 * the processes that were excluded until now.
 */
void track_reevaluate(struct track *, uint64_t now_ns);
bool track_keeps(const struct track *); /* track_keep has been called */
void track_keep(struct track *);        /* notes changes from now on, for saved_chunk() */
/* Counts and logs that the state of n processes, runs or tasks could not be saved. */
void track_unsaved(struct track *, uint64_t n);
/* Counts n pieces of saved state that could not be used. */
void track_unrestored(struct track *, uint64_t n);

#endif
