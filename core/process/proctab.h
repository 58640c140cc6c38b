/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/proctab.h - the process table of the tracker: one entry for each process that lives, or whose final
 * counters are still to come.  The tracker finds an entry by identity, or a live process by pid.
 */
#ifndef SKEP_CORE_PROCTAB_H
#define SKEP_CORE_PROCTAB_H

#include "core/process/facet.h"
#include "core/identify/program.h"
#include "core/process/run.h"
#include "core/process/sampler.h"
#include "core/process/task.h"

#define PROC_EXECED 1u      /* an exec began the current image */
#define PROC_EXITED 2u      /* the tracker knows its exit */
#define PROC_FINAL 4u       /* the tracker knows its final counters; the entry waits for facets */
#define PROC_ZOMBIE 8u      /* the iterator saw it as a zombie: counters are final */
#define PROC_MUTED 16u      /* the tracker emits no more records of it: its run has ended, or a rule excludes it */
#define PROC_PLACED 32u     /* the tracker has decided which run it belongs to, if any */
#define PROC_CONFIRMED 64u  /* a life-cycle record named it, not only a facet */
#define PROC_ROOT 128u      /* root of its run */
#define PROC_OOM 256u       /* victim of the out-of-memory killer */
#define PROC_RSS_KNOWN 512u /* the kernel reported the peak of the ending image (track_image_rss) */
#define PROC_COUNTED 1024u  /* counted in `alive` of its cell and its run */
#define PROC_RESTORED 2048u  /* the previous skepd saved its state (core/process/saved.h) */
/* a rule excludes it; also muted.  The entry stays while records of it may be in the ring */
#define PROC_EXCLUDED 4096u
#define PROC_SETTLED 8192u  /* its verdict holds for its descendants too: no rule is evaluated for them */
#define PROC_WRITTEN 16384u /* user space has written its verdict to the verdict map */
#define PROC_STORED 32768u  /* the saved state has it */
#define PROC_DIRTY 65536u   /* it has changed since the last chunk of the state (saved_chunk) */
#define PROC_TASK_DYING 131072u /* its task waits for its record */
#define PROC_ENGINE 524288u     /* executes the program of its innermost scope's engine */
#define PROC_RECOGNIZED 1048576u /* the recognizers have seen its image */
#define PROC_BOUNDARY 2097152u  /* skep searched its image's environment for the recognizers' variables */
#define PROC_TTY 4194304u       /* its session has a controlling terminal */
#define PROC_FOUND 8388608u      /* a finding may be open about it */
#define PROC_KEEPS 16777216u    /* root of a task that is `kept` (core/process/task.h) */
#define PROC_TASK_NONE 262144u  /* an empty SKEP_TASK in its environment: it is in no task */

struct scope;

struct proc_oom {
	uint64_t limit_bytes, usage_bytes, peak_bytes;
	const struct interned *cgroup;
};

/* The counters and the time of the newest process.sample record of the current image. */
struct proc_sampled {
	struct skep_counters counters;
	uint64_t time_ns;
	uint64_t quiet_until_ns; /* the last look at newer figures that found no use; 0: none since the sample */
};

struct proc {
	struct proc *hash_next;
	struct proc *prev, *next;           /* all entries */
	struct proc *held_prev, *held_next; /* entries that wait for facets, in the order of their ends */
	struct proc *dirty_prev, *dirty_next;
	struct proc *run_next, **run_at;    /* in run->procs */
	struct proc *task_next, **task_at;  /* in task->procs */
	struct skep_upid upid, parent;      /* upid.start_ns 0: a run's root whose start time is not known yet */
	struct run *run;
	struct cell *cell;
	struct program *program;
	const struct interned *comm, *cwd, *cgroup;
	struct task *task;   /* NULL: none */
	const struct interned *task_name;   /* SKEP_TASK in its environment; NULL: not set */
	const struct interned *traceparent; /* the newest TRACEPARENT in its environment, or its parent's */
	/*
	 * variables that the probe's option `environ` names, but SKEP_TASK and TRACEPARENT: "NAME=value\0..."; NULL:
	 * none
	 */
	const struct interned *environ;
	struct scope *scope; /* the innermost, a reference; NULL: none */
	const struct interned *step;     /* marks of inner scopes within its task; NULL: none */
	const struct interned *boundary; /* the recognizers' variables, as skep last read them here or above */
	const struct interned *parent_comm; /* of its excluded parent; NULL: the parent is in the table, or unknown */
	const struct interned *container; /* what a runtime above it said: "ID\0NAME\0IMAGE\0"; NULL: nothing */
	const struct interned *labels; /* of the rule that includes it: "name=value\0..."; NULL: none */
	struct facet_values *facets;
	struct gpu_idle *gpu; /* NULL: it has held no GPU */
	struct proc_oom *oom;
	uint64_t cgroup_id;
	uint64_t image_start_ns;
	uint64_t event_ns;   /* time of the newest record about it */
	uint64_t end_ns;     /* time of the exit record; if that is missing, of the final record */
	uint64_t held_ns;    /* when it began to wait for facets */
	uint64_t missing_ns; /* when a sweep first missed it; 0: sweeps see it */
	struct skep_counters base; /* at the begin of the image */
	struct skep_counters last; /* the newest reading */
	uint64_t exec_faults, exec_rchar_bytes; /* counters in its newest exec record; 0: no exec recorded */
	struct proc_sampled *sampled; /* NULL: this image has had no sample */
	uint64_t rss_bytes;
	uint64_t rss_peak_bytes;    /* of the image */
	uint64_t maxrss_base_bytes; /* signal->maxrss at the begin of the image */
	uint64_t maxrss_bytes;
	uint32_t uid, gid, session;
	uint32_t payer; /* the user who answers for it: skep/record.h, struct skep_process_fork */
	uint32_t group; /* pid of the process group's leader, as of its exec or a scan; 0: not known */
	uint32_t image;
	uint32_t threads_peak;
	uint32_t status;
	uint32_t approx; /* APPROX_* of the current image */
	uint32_t flags;  /* PROC_* */
	uint32_t sweep;  /* number of the last sweep that saw it */
	uint8_t verdict; /* its byte in the verdict map, if it is excluded */
	uint8_t live;    /* SKEP_LIVE_STATE_* of the last scan that saw it */
	uint64_t watched; /* track_watch.c: digest of what watchers know of it; 0: nothing */
};

struct proctab;

struct proctab *proctab_new(void);
/* Calls drop for each entry that is left, then frees the table. */
struct proctab *proctab_free(struct proctab *, void (*drop)(struct proc *, void *arg), void *arg);

struct proc *proctab_find(const struct proctab *, const struct skep_upid *);
/* The newest process with that pid that has not ended, or NULL. */
struct proc *proctab_holder(const struct proctab *, uint32_t pid);
/* The newest process with that pid in the table, alive or ended, or NULL. */
struct proc *proctab_latest(const struct proctab *, uint32_t pid);
struct proc *proctab_add(struct proctab *, const struct skep_upid *); /* zeroed but for upid; NULL: no memory */
void proctab_remove(struct proctab *, struct proc *); /* the caller has dropped the entry's references (track_forget) */
struct proc *proctab_first(const struct proctab *);   /* then proc->next; keep next before removing */
size_t proctab_count(const struct proctab *);

/*
 * The table remembers the identities of processes that closed recently (a fixed number, the newest stay), so that a
 * late record does not create such a process again.
 */
void proctab_close(struct proctab *, const struct skep_upid *);
bool proctab_closed(const struct proctab *, const struct skep_upid *);

#endif
