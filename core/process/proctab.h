/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/proctab.h - the process table: one entry per process that lives or whose final
 * counters are still to come.  Found by identity, or by pid among those alive.
 */
#ifndef SKEP_CORE_PROCTAB_H
#define SKEP_CORE_PROCTAB_H

#include "core/process/facet.h"
#include "core/identify/program.h"
#include "core/process/run.h"
#include "core/process/sampler.h"
#include "core/process/task.h"

#define PROC_EXECED 1u      /* the current image was begun by exec */
#define PROC_EXITED 2u      /* its exit is known */
#define PROC_FINAL 4u       /* its final counters are known; waits for facets */
#define PROC_ZOMBIE 8u      /* the iterator saw it as a zombie: counters are final */
#define PROC_MUTED 16u      /* has been reported (its run ended); nothing more of it leaves */
#define PROC_PLACED 32u     /* it has been decided which run it belongs to */
#define PROC_CONFIRMED 64u  /* a life-cycle record told of it, not only a facet */
#define PROC_ROOT 128u      /* root of its run */
#define PROC_OOM 256u       /* victim of the out-of-memory killer */
#define PROC_RSS_KNOWN 512u /* the peak of the current image is exact already */
#define PROC_COUNTED 1024u  /* in the alive counts of its cell and run */
#define PROC_RESTORED 2048u  /* known from the skepd before this one (core/process/saved.h) */
#define PROC_EXCLUDED 4096u /* by a rule; muted as well, and kept until it is gone, for what is still under way */
#define PROC_SETTLED 8192u  /* its rule's verdict is its descendants' too: they are not evaluated */
#define PROC_WRITTEN 16384u /* user space has written its verdict to the map */
#define PROC_STORED 32768u  /* the spool has a line of it */
#define PROC_DIRTY 65536u   /* it has changed since (saved_changed) */
#define PROC_TASK_DYING 131072u /* its task waits for its record */
#define PROC_TASK_NONE 262144u  /* its environment says that it is in no task */

struct proc_oom {
	uint64_t limit_bytes, usage_bytes, peak_bytes;
	const struct interned *cgroup;
};

/* What process.sample records of the current image have said: the counters up to then. */
struct proc_sampled {
	struct skep_counters counters;
	uint64_t time_ns;
};

struct proc {
	struct proc *hash_next;
	struct proc *prev, *next;           /* all entries */
	struct proc *held_prev, *held_next; /* those that wait for facets, in order of their end */
	struct proc *dirty_prev, *dirty_next;
	struct proc *run_next, **run_at;    /* in run->procs */
	struct proc *task_next, **task_at;  /* in task->procs */
	struct skep_upid upid, parent;      /* upid.start_ns 0: a root of which only the pid is known yet */
	struct run *run;
	struct cell *cell;
	struct program *program;
	const struct interned *comm, *cwd, *cgroup;
	struct task *task;   /* NULL: none */
	const struct interned *task_name;   /* as its environment has it; NULL: it does not say */
	const struct interned *traceparent; /* the newest that its environment, or its parent's, has had */
	/* the other variables that the probe was told to read: "NAME=value\0..."; NULL: none */
	const struct interned *environ;
	const struct interned *labels; /* of the rule that includes it: "name=value\0..."; NULL: none */
	struct facet_values *facets;
	struct proc_oom *oom;
	uint64_t cgroup_id;
	uint64_t image_start_ns;
	uint64_t event_ns;   /* of the newest record about it */
	uint64_t end_ns;     /* exit, or final where that is missing */
	uint64_t held_ns;    /* since when it waits for facets */
	uint64_t missing_ns; /* since when sweeps do not see it; 0: they do */
	struct skep_counters base; /* at the begin of the image */
	struct skep_counters last; /* newest known */
	uint64_t exec_faults, exec_rchar_bytes; /* counters at the newest exec that was told; 0: none was */
	struct proc_sampled *sampled; /* NULL: this image has had no sample */
	uint64_t rss_bytes;
	uint64_t rss_peak_bytes;    /* of the image */
	uint64_t maxrss_base_bytes; /* signal->maxrss at the begin of the image */
	uint64_t maxrss_bytes;
	uint32_t uid, gid, session;
	uint32_t image;
	uint32_t threads_peak;
	uint32_t status;
	uint32_t approx; /* APPROX_* of the current image */
	uint32_t flags;  /* PROC_* */
	uint32_t sweep;  /* number of the last sweep that saw it */
	uint8_t verdict; /* its byte, where it is excluded */
};

struct proctab;

struct proctab *proctab_new(void);
/* drop: for each entry left, before its memory goes. */
struct proctab *proctab_free(struct proctab *, void (*drop)(struct proc *, void *arg), void *arg);

struct proc *proctab_find(const struct proctab *, const struct skep_upid *);
/* The newest process with that pid that has not ended, or NULL. */
struct proc *proctab_holder(const struct proctab *, uint32_t pid);
/* The same, or the newest of those that have ended and are still in the table. */
struct proc *proctab_latest(const struct proctab *, uint32_t pid);
struct proc *proctab_add(struct proctab *, const struct skep_upid *); /* zeroed but for upid; NULL: no memory */
void proctab_remove(struct proctab *, struct proc *); /* its references are the caller's to drop before */
struct proc *proctab_first(const struct proctab *);   /* then proc->next; keep next before removing */
size_t proctab_count(const struct proctab *);

/*
 * Identities that were closed not long ago (a fixed number, newest kept): records that
 * come late must not bring them to life again.
 */
void proctab_close(struct proctab *, const struct skep_upid *);
bool proctab_closed(const struct proctab *, const struct skep_upid *);

#endif
