/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/task.h - tasks: the steps of a run, as recognizers find them or environments name them (SKEP_TASK).
 *
 * A task begins with its root: a process that an engine starts for the task (track_scope.c), or one whose environment
 * names another task than its parent is in.  The task ends
 * when its root ends, so two concurrent tasks of one name are two tasks.  The tracker decides which process is in which
 * task (track_task.c).
 */
#ifndef SKEP_CORE_TASK_H
#define SKEP_CORE_TASK_H

#include "core/base/intern.h"
#include "core/base/saved_as.h"
#include "core/process/containment.h"
#include "core/process/findings.h"
#include "core/process/records.h"

struct late;
struct proc;
struct run;

#define TASK_NAME_MOST 128u /* bytes; the rest of a longer name is cut off */
#define TASK_ID_SIZE 48     /* "<pid>-<start, hex>.<image>" */

struct task_request {
	uint64_t milli_cpus, memory_bytes, walltime_ns, gpus; /* 0: not known */
	const char *source; /* static; NULL: nothing is known */
};

struct task {
	struct task *next, *prev;
	struct saved_as saved;
	const struct interned *name;
	const struct interned *traceparent; /* trace context of its root; NULL: none */
	const struct interned *engine;      /* NULL: SKEP_TASK named it */
	const struct interned *scopes;      /* names of the engines around its root when it began; NULL: none */
	const struct interned *sample, *key, *job; /* NULL: not known */
	const struct interned *again;       /* of a file: see track_task_again(); NULL: nothing */
	const char *name_source;            /* static text */
	uint32_t attempt;                   /* from 1; 0: not known */
	struct containment contained;
	struct task_request requested; /* what somebody asked for */
	struct task_request granted;   /* what it got: of the scheduler's job around it, or limits of its cgroup */
	bool cpus_limit, memory_limit; /* the grant is a cgroup's limit, not the job's */
	uint64_t starter_cgroup; /* of the process that started its root; 0: not known */
	uint64_t limits_cgroup;  /* whose limits skep has read last; 0: none */
	uint32_t mark;           /* recognizer_mark_number() of the mark that held at its root's exec; 0: none */
	const struct interned *files; /* paths that skepd read for it, "PATH\0..."; NULL: none */
	struct late *late;       /* it waits for a name from a file (track_late.c); NULL: it does not */
	char id[TASK_ID_SIZE];   /* from its root's upid and image: unique on this boot */
	/* a reference, set by task_set_run. NULL: none, or the task has ended and waits for no name */
	struct run *run;
	struct skep_upid root;
	uint64_t image; /* of the root when it began */
	uint64_t start_ns, end_ns;
	struct proc *procs;      /* its members, by task_next */
	uint64_t members;        /* number of members */
	uint64_t dying;          /* members that have exited and whose records have not left yet */
	uint64_t over_ns;        /* when its root ended or left the task; 0: the root is in it */
	bool ended;              /* its record has left */
	bool kept;               /* its root has left it for a run of its own; it ends with the root all the same */
	int64_t status;          /* of the root, as waitpid gives it, since its exit; -1: not known */
	bool counted;            /* the run's attempts have it */
	const char *state;       /* static text */
	uint64_t processes;
	uint64_t inner_runs; /* see track_task_inner() */
	/* of the images whose records have left */
	uint64_t cpu_ns, run_delay_ns, rss_peak_bytes, read_bytes, write_bytes;
	struct watch watch;
};

struct tasks {
	struct task *first;
	size_t n;
	struct saved_forgotten *forgotten; /* NULL: nobody saves tasks */
};

/* Owns the references name and traceparent from now on, also on failure.  NULL: no memory. */
struct task *task_new(struct tasks *, struct intern *, const struct interned *name, const struct interned *traceparent,
		      const struct skep_upid *root, uint64_t image, uint64_t start_ns);
void task_free(struct tasks *, struct intern *, struct task *); /* removes it from the list and frees it */
void task_set_run(struct task *, struct run *);              /* NULL: none */
void task_set_id(struct task *); /* from its root and image, which the saved state has brought */
bool task_began_with(const struct task *, const struct skep_upid *); /* this process is the task's root */
/* Fills all fields but run and pipeline.  Strings borrowed. */
void task_record(const struct task *, struct record_task *ret);

/*
 * The value of a variable in a list "NAME=value\0..."; ptr NULL: not in the list.  The first entry counts, as with
 * getenv().
 */
struct skep_str task_variable(const struct skep_str *environ, const char *name);
/* Copies a name to `room`: at most TASK_NAME_MOST bytes, cut between characters, with '?' for control characters. */
struct skep_str task_name(const struct skep_str *value, char room[TASK_NAME_MOST]);

#endif
