/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_priv.h - internals that the tracker's files share: track.c (entries and their figures),
 * track_place.c (runs), track_verdict.c (rules), track_image.c (emits records), track_event.c (reads records),
 * track_wait.c (sweeps and waiting), track_task.c (tasks), track_finding.c (findings).
 */
#ifndef SKEP_CORE_TRACK_PRIV_H
#define SKEP_CORE_TRACK_PRIV_H

#include "core/process/track.h"
#include "core/scope/scope.h"

struct saved;
struct track;
struct late_ask;
struct late_user;

/* Tasks that wait for names from files (track_late.c). */
struct lates {
	struct late *first, *last;
	size_t n;
	struct late_user *users;
	struct late_ask *asks;
};

struct track_subjects;

struct track {
	struct track_env env;
	struct saved *saved;     /* owned; NULL: no process waits to be claimed */
	struct saved *reading;   /* the same, while its chunks are read */
	struct saver *saver;     /* owned; writes the state of this skepd; NULL: not yet */
	struct saved_forgotten forgotten; /* runs and tasks */
	struct intern *intern;
	struct proctab *table;
	struct sampler *sampler;
	struct runs runs;
	struct tasks tasks;
	struct findings *findings; /* owned; NULL: none are wanted */
	struct scopes scopes;
	uint64_t facets_saved_ns; /* by saved_facets(); before the first time: when the collector began */
	struct lates lates;
	struct track_stats stats;
	/* CPU time of all processes since the tracker began, as far as it is known */
	int64_t cpu_ns;
	/* correction of the kernel's sum of excluded processes (track_verdict.c) */
	int64_t reevaluated_ns;
	int64_t reevaluated_back_ns; /* the part that the begin of the next sweep subtracts */
	uint64_t reevaluate_ns;     /* when the rules last changed; 0: never */
	struct skep_upid *due;   /* processes whose verdicts the tracker writes when the ring is empty */
	size_t n_due, room_due;
	void *record;            /* process_size bytes, in which the tracker builds a record */
	void *sample;            /* sample_size bytes, for samples */
	struct proc *held_first, *held_last;
	bool keeps;              /* the tracker notes changes for saved_chunk() */
	struct proc *dirty;      /* entries that have changed, by dirty_next */
	struct skep_upid *gone;  /* processes of the saved state that have gone */
	size_t n_gone, room_gone;
	uint64_t drained_ns;     /* all facet probes have drained up to here; UINT64_MAX: there are none */
	uint64_t now_ns;
	size_t missing;          /* entries with missing_ns */
	uint32_t sweep;          /* number of the sweep under way or of the last one */
	bool sweeping;
	uint64_t sweep_begin_ns;
	uint64_t swept_ns;       /* begin of the last complete sweep */
	struct track_subjects *subjects; /* owned; processes as rules see them; NULL: no rule evaluation */
	const struct track_watch *watch; /* NULL: none */
	struct proc **chain;     /* scratch of track_place_all */
	size_t chain_room;
};

/* track.c */
/* The entry of this identity, or NULL.  A root of which only the pid was known takes this identity. */
struct proc *track_find(struct track *, const struct skep_upid *);
/* The entry of this identity, or a new one.  NULL: closed already, or no memory (both counted). */
struct proc *track_get(struct track *, const struct skep_upid *, bool *ret_new);
void track_remove(struct track *, struct proc *); /* removes the entry and emits nothing */
void track_forget(struct track *, struct proc *); /* drops the entry's references only */
/* Link a process to its run, or unlink it, and change nothing else.  A process that enters a run is in none. */
void track_enter_run(struct proc *, struct run *);
void track_leave_run(struct proc *);
void track_touch(struct track *, struct proc *, uint64_t time_ns);
/* Sets the program from these texts.  Without memory the old program stays. */
void track_program(struct track *, struct proc *, const struct skep_str *exe, const struct skep_str *filename,
		   const struct skep_str *argv, const struct skep_str *comm);
/* Moves the process to the cell of its run and tool.  Call it after either has changed. */
void track_recell(struct track *, struct proc *);
void track_count_alive(struct proc *);
void track_uncount(struct proc *);
void track_set_rss(struct proc *, uint64_t rss_bytes);
/* Applies a newer reading.  Counters never go backwards.  Returns how many counters of the reading were behind. */
unsigned track_advance(struct track *, struct proc *, const struct skep_counters *);
/* Applies the final, exact reading: it replaces estimates, even larger ones. */
void track_settle(struct track *, struct proc *, const struct skep_counters *, bool run_delay_partial);

/* track_keep.c */
void track_dirty(struct track *, struct proc *);
/* not dirty any more; gone: it leaves the saved state */
void track_clean(struct track *, struct proc *, bool gone);

/* saved_read.c, which keeps the previous skepd's state until each process has claimed its part */
void saved_claim(struct track *, struct proc *); /* gives a new entry its part, if there is one */
void saved_drop(struct track *);

/* track_place.c */
void track_place(struct track *, struct proc *); /* decides its run by its parent, if the parent's is decided */
void track_place_last(struct track *, struct proc *); /* the same for an entry that is about to close */
void track_place_all(struct track *);            /* after a sweep: places all that are left, parents first */
void track_join(struct track *, struct proc *, struct run *);
/*
 * Puts the process into the run of its job, if an interactive shell started the job, and begins this run with the job's
 * first program.  Before track_scope_exec(): an engine's run is the run of the job that is the engine.
 */
void track_job(struct track *, struct proc *);
void track_leader(struct track *, struct proc *); /* begins a run if the process leads a session and is in no run */

/* track_verdict.c */
struct rule_case;
struct rule;
/*
 * Evaluates the rules.  true: the tracker collects the process, because of *ret_rule (borrowed; NULL: by the default,
 * or by an earlier verdict).  false: the caller is to exclude the process now.
 */
bool track_verdict(struct track *, struct proc *, const struct rule_case *, const struct rule **ret_rule);
/* sets the labels of its rule; NULL: no labels */
void track_labels(struct track *, struct proc *, const struct rule *);
void track_rule_case(const struct proc *, uint64_t now_ns, struct rule_case *ret); /* filled from the entry */
/*
 * Excludes the process from now on, with the counters `end`.  Emits the image, unless the process is a fork without an
 * exec.
 */
void track_exclude(struct track *, struct proc *, const struct skep_counters *end, uint64_t time_ns);
/* The next track_verdicts_out() writes its verdict, if the process is still excluded and alive. */
void track_verdict_due(struct track *, struct proc *);
/* Collects an excluded process again, from these counters on. */
void track_include(struct track *, struct proc *, const struct skep_counters *begin);
/*
 * Collects a process of a run that a user began by name, and its descendants, even if a rule excludes them: the user
 * asked for this run.  Writes the verdict to the verdict map.  false: the process is in no such run, or there are no
 * rules.
 */
bool track_judge_by_name(struct track *, struct proc *);
/* Gives a new process its parent's verdict. */
void track_verdict_fork(struct track *, struct proc *, const struct proc *parent);

/* track_wait.c */
/* The process is the root of its run, and no other root of the run is left. */
bool track_last_root(const struct proc *);
/* The run's last root has ended: ends the run, or lets it wait for another process with its key. */
void track_roots_over(struct track *, struct run *);

/* track_scope.c */
/* A new process is where its parent is. */
void track_scope_fork(struct proc *, const struct proc *parent);
/*
 * A process executes a new program: asks the recognizers whether it begins a run, a task or a step.  Its run must be
 * decided.  parent: NULL: not known.
 */
void track_scope_exec(struct track *, struct proc *, const struct proc *parent);
/* The process begins a run by name: engines around that run begin no tasks and no steps in it. */
void track_scope_outside(struct track *, struct proc *);
void track_scope_leave(struct track *, struct proc *); /* drops its references */
/* A process that the previous skepd knew: the task that it is the root of waits again for a name from a file. */
void track_scope_resume(struct track *, struct proc *);
/* Appends "ENGINE: NAME" to the process's path of steps, unless the path ends with it. */
void track_step(struct track *, struct proc *, const char *engine, const struct skep_str *name);

/* track_task.c */
/* Begins a task whose root is the process, which leaves its own.  NULL: no memory. */
struct task *track_task_begin(struct track *, struct proc *, const struct skep_str *name);
/* Notes the variables of its environment.  boundary: skep searched for all of the recognizers' variables. */
void track_environ(struct track *, struct proc *, const struct skep_str *environ, bool boundary);
/* Decides its task, by its environment and its parent (NULL: not known).  Its run must be decided. */
void track_task_place(struct track *, struct proc *, const struct proc *parent);
/* Link a process to its task, or unlink it, and change nothing else.  A process that enters a task is in none. */
void track_task_enter(struct proc *, struct task *);
void track_task_leave(struct track *, struct proc *);
/* The process has exited: its task's record waits for the process's own. */
/*
 * The process has exited.  Its record may wait for seconds, until RCU frees it; a retry begins at once, and is to count
 * the failure.
 */
void track_task_exited(struct track *, struct proc *);
void track_task_dying(struct proc *);
/*
 * The process begins a run of its own.  A task of an engine whose root it is, which it leaves here, lasts until it
 * ends, as the engine that waits for it sees the task: bash executes the last command of a rule in its own process.
 */
void track_task_keep(struct track *, struct proc *);
/*
 * The process begins, joins or takes over a run: its task asked for what the processes of that run use, too.  If the
 * process is in no task, the tasks of its job did.
 */
void track_task_inner(struct track *, const struct proc *);
/* The process ends, in that state (static text).  If it is a task's root, the task is over.  status: -1: none. */
void track_task_over(struct track *, struct proc *, const char *state, uint64_t end_ns, int64_t status);
/* Grants the task the limits of a cgroup that was made for it, where its job granted nothing.  At each exec. */
void track_task_limits(struct track *, const struct proc *);
void track_task_image(struct proc *, const struct skep_counters *used); /* adds an emitted image to the task's sums */
void track_tasks_tick(struct track *);
/* No more saved processes wait: tasks without members are over. */
void track_tasks_settle(struct track *, uint64_t now_ns);
void track_tasks_close(struct track *, const struct run *, uint64_t end_ns); /* emits the tasks of a run that is over */
/* The trace context of its environment, if it differs from its task's and its run's; else empty. */
struct skep_str track_traceparent(const struct proc *);

/* Gives the task what its engine's file says.  A record that has left leaves once more. */
void track_task_learn(struct track *, struct task *, const struct recognizer_facts *);
/*
 * Several tasks of a run may have this text (a command, Nextflow's "ALIGN (S1)"): only after one that failed is the next
 * one another attempt. The first text that is not empty counts.
 */
void track_task_again(struct track *, struct task *, const struct skep_str *again);
void track_task_settled(struct track *, struct task *); /* the task waits for no name any more; may free it */

/* track_late.c */
/* The process has begun a task.  If its mark names a file, the task waits for what the file says. */
void track_late_begin(struct track *, const struct proc *, const struct scope *, const struct recognizer_mark *,
		      const struct recognizer_subject *);
void track_late_end(struct track *, struct late *); /* the task's root has ended */
/* Whether the task's record still waits, for TRACK_LATE_NS at most. */
bool track_late_holds(const struct track *, const struct task *);
void track_late_free(struct track *);

/* track_image.c */
/* Looks up the path of the process's cgroup, if no record has brought it. */
void track_cgroup_path(struct track *, struct proc *);
/* Emits the current image, with the counters and the time of its end.  last: the process ends as well. */
void track_image_out(struct track *, struct proc *, const char *state, const struct skep_counters *end, uint64_t end_ns,
		     bool last);
/* Sets the memory peak of the ending image from the kernel's figures: the exact peak (0: unknown), signal->maxrss. */
void track_image_rss(struct proc *, uint64_t peak_bytes, uint64_t maxrss_bytes);

/* track_container.c */
void track_container_exec(struct track *, struct proc *); /* reads its arguments if it is a container's runtime */
/* Sets the names of the process's container, image, pod and unit; borrowed until the next call. */
void track_container(struct track *, const struct proc *, struct record_process *ret);
/* Notes for its run and task what the record of an image of it says. */
void track_contained(struct track *, const struct proc *, const struct record_process *);
void track_contained_live(struct track *, const struct proc *); /* the same, without a record */

/* track_watch.c: tell the watcher, if there is one */
void track_watch_ended(struct track *, struct proc *, const struct record_process *);
void track_watch_gone(struct track *, struct proc *);

/* track_context.c */
void track_proc_context(const struct track *, const struct proc *, struct skep_context *ret);

/* track_sample.c */
/* Emits the last sample of an image that ends with these counters, if it has been sampled.  Before facets_take(). */
void track_sample_last(struct track *, struct proc *, const struct skep_counters *end, uint64_t end_ns);

/* track_finding.c */
/* The image ends with these counters: adds them to the activity of its task and its run.  Before facets_take(). */
void track_finding_image(struct track *, struct proc *, const struct skep_counters *end, uint64_t end_ns);
void track_finding_oom(struct track *, struct proc *, uint64_t time_ns); /* the kernel has chosen it; proc.oom is set */
void track_finding_process_over(struct track *, struct proc *);
void track_finding_task_over(struct track *, const struct task *);
/* Continue the idle time that the previous skepd saved.  NULL: the task has gone. */
void track_finding_resume_task(struct track *, struct task *, uint64_t idle_ns, uint64_t now_ns);
void track_finding_resume_run(struct track *, struct run *, uint64_t idle_ns, uint64_t now_ns);
void track_finding_resume_container(struct track *, const char *id, uint64_t idle_ns, uint64_t now_ns);
void track_finding_resume_gpu(struct track *, struct proc *, uint64_t idle_ns, uint64_t now_ns);
uint64_t track_findings_period(const struct track *); /* time between two looks */

/* track_wait.c */
/* the final counters are known: closes the entry, or waits for facets */
void track_hold(struct track *, struct proc *);

#endif
