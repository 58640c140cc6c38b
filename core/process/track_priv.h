/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_priv.h - between the tracker's files: track.c (entries and their figures),
 * track_place.c (runs), track_verdict.c (rules), track_image.c (records out), track_event.c (records in),
 * track_wait.c (sweeps and waiting), track_task.c (tasks).
 */
#ifndef SKEP_CORE_TRACK_PRIV_H
#define SKEP_CORE_TRACK_PRIV_H

#include "core/process/track.h"

struct saved;
struct track;
struct track_subjects;

/* Who keeps the state that the skepd before has saved, until each process has claimed its own. */
struct saved_ops {
	void (*claim)(struct track *, struct saved *, struct proc *); /* that entry is new */
	struct saved *(*free)(struct saved *);
};

struct track {
	struct track_env env;
	struct saved *saved;     /* owned; NULL: nothing is waiting to be claimed */
	const struct saved_ops *saved_ops; /* its functions */
	struct intern *intern;
	struct proctab *table;
	struct sampler *sampler;
	struct runs runs;
	struct tasks tasks;
	struct track_stats stats;
	/* of all processes since the tracker began, as far as it is known: the ledger's part */
	int64_t cpu_ns;
	/* CPU that is in the kernel's sum of excluded processes, and in records as well: the ledger's part */
	int64_t reevaluated_ns;
	int64_t reevaluated_back_ns; /* of it what the next sweep takes back */
	uint64_t reevaluate_ns;     /* when the rules last changed; 0: never */
	struct skep_upid *due;   /* processes whose verdicts are to be written when the ring is empty */
	size_t n_due, room_due;
	void *record;            /* process_size bytes, where out records are put together */
	void *sample;            /* sample_size bytes, the same */
	struct proc *held_first, *held_last;
	bool keeps;              /* what changes is noted for saved_changed */
	struct proc *dirty;      /* those that have changed, by dirty_next */
	struct skep_upid *gone;  /* those that had a line and are gone */
	size_t n_gone, room_gone;
	uint64_t drained_ns;     /* all facet probes have drained up to here; UINT64_MAX: there are none */
	uint64_t told_ns;        /* the same of life-cycle probes; UINT64_MAX: none of them says */
	uint64_t now_ns;
	size_t missing;          /* entries with missing_ns */
	uint32_t sweep;          /* number of the sweep under way or of the last one */
	bool sweeping;
	uint64_t sweep_begin_ns;
	uint64_t swept_ns;       /* begin of the last complete sweep */
	struct track_subjects *subjects; /* owned; what rules see; NULL: there is no judge */
	struct proc **chain;     /* scratch of track_place_all */
	size_t chain_room;
};

/* track.c */
/* The entry of that identity, or NULL; a root of which only the pid was known becomes it. */
struct proc *track_find(struct track *, const struct skep_upid *);
/* The same, or a new entry; NULL: closed already (counted), or no memory (counted). */
struct proc *track_get(struct track *, const struct skep_upid *, bool *ret_new);
void track_remove(struct track *, struct proc *); /* out of the table, nothing emitted */
void track_forget(struct track *, struct proc *); /* its references only */
/* The pointer from a process to its run, and nothing else; the process is in none when it enters one. */
void track_enter_run(struct proc *, struct run *);
void track_leave_run(struct proc *);
void track_touch(struct track *, struct proc *, uint64_t time_ns);
/* Program from what is known; keeps the old one when memory runs out. */
void track_program(struct track *, struct proc *, const struct skep_str *exe, const struct skep_str *filename,
		   const struct skep_str *argv, const struct skep_str *comm);
/* The cell follows run and program: call after either has changed. */
void track_recell(struct track *, struct proc *);
void track_count_alive(struct proc *);
void track_uncount(struct proc *);
void track_set_rss(struct proc *, uint64_t rss_bytes);
/* A newer reading; counters never go backwards. Returns how many of the new ones were behind. */
unsigned track_advance(struct track *, struct proc *, const struct skep_counters *);
/* The exact, last reading: replaces estimates even where they were larger. */
void track_settle(struct track *, struct proc *, const struct skep_counters *, bool run_delay_partial);

/* track_keep.c */
void track_dirty(struct track *, struct proc *);
void track_clean(struct track *, struct proc *, bool gone); /* not dirty any more; gone: and its line is to go */

/* track_place.c */
void track_place(struct track *, struct proc *); /* by its parent, if that can be decided now */
void track_place_last(struct track *, struct proc *); /* the same for one that goes: no later moment will know more */
void track_place_all(struct track *);            /* after a sweep: those that are left, parents first */
void track_join(struct track *, struct proc *, struct run *);
void track_leader(struct track *, struct proc *); /* begins a run if it leads a session outside of any */

/* track_verdict.c */
struct rule_case;
struct rule;
/*
 * By the rules, with what is known of it.  true: it is collected, by *ret_rule (borrowed; NULL: by the
 * default, or as before).  false: it is to be excluded now.
 */
bool track_verdict(struct track *, struct proc *, const struct rule_case *, const struct rule **ret_rule);
void track_labels(struct track *, struct proc *, const struct rule *); /* those of its rule; NULL: none */
void track_rule_case(const struct proc *, uint64_t now_ns, struct rule_case *ret); /* as it is known now */
/* Its rule's verdict: excluded from here on, having used `end`; its image is told if one was before. */
void track_exclude(struct track *, struct proc *, const struct skep_counters *end, uint64_t time_ns);
/* Its verdict will be written to the map, unless it has execed since. */
void track_verdict_due(struct track *, struct proc *);
/* An excluded one is collected again, from these counters on. */
void track_include(struct track *, struct proc *, const struct skep_counters *begin);
/*
 * A process of a run that was begun by name is collected, and so are its descendants, whatever the rules say: somebody
 * asked for it.  Tells the kernel so.  false: it is in no such run.
 */
bool track_judge_by_name(struct track *, struct proc *);
/* A new process gets its parent's verdict. */
void track_verdict_fork(struct track *, struct proc *, const struct proc *parent);

/* track_task.c */
void track_environ(struct track *, struct proc *, const struct skep_str *environ); /* what it says is noted */
/* Which task it is in now, by that and by its parent (NULL: not known); it has its run. */
void track_task_place(struct track *, struct proc *, const struct proc *parent);
/* The pointer from a process to its task, and nothing else; the process is in none when it enters one. */
void track_task_enter(struct proc *, struct task *);
void track_task_leave(struct track *, struct proc *);
/* It has exited: its task is not told as over before its record is. */
void track_task_dying(struct proc *);
/* It ends, or leaves its task, in that state (static text); whose root it may be. status: -1: none. */
void track_task_over(struct track *, struct proc *, const char *state, uint64_t end_ns, int64_t status);
void track_task_image(struct proc *, const struct skep_counters *used); /* an image of it has left */
void track_tasks_tick(struct track *);
/* What was carried has been claimed: tasks of which nobody is there are over. */
void track_tasks_settle(struct track *, uint64_t now_ns);
void track_tasks_close(struct track *, const struct run *, uint64_t end_ns); /* those of a run that is over */
/* The trace context that it carries, where that is not its task's or its run's. */
struct skep_str track_traceparent(const struct proc *);

/* track_image.c */
/* Emit the current image as ended at end_ns with these counters. last: the process ends as well. */
void track_image_out(struct track *, struct proc *, const char *state, const struct skep_counters *end, uint64_t end_ns,
		     bool last);
/* Peak of the image that ends, from what the kernel said: exact peak (0: unknown), signal->maxrss. */
void track_image_rss(struct proc *, uint64_t peak_bytes, uint64_t maxrss_bytes);

/* track_context.c */
void track_proc_context(const struct track *, const struct proc *, struct skep_context *ret);

/* track_sample.c */
/* The image ends with these counters: its last part, if it has been sampled. Before facets_take. */
void track_sample_last(struct track *, struct proc *, const struct skep_counters *end, uint64_t end_ns);

/* track_wait.c */
void track_hold(struct track *, struct proc *); /* final is known: close now, or when facets are there */

#endif
