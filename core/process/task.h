/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/task.h - tasks: the steps of a run, as environments name them (SKEP_TASK).
 *
 * A task begins with its root: a process whose environment names another task than its parent is in.  The task ends
 * when its root ends, so two concurrent tasks of one name are two tasks.  The tracker decides which process is in which
 * task (track_task.c).
 */
#ifndef SKEP_CORE_TASK_H
#define SKEP_CORE_TASK_H

#include "core/base/intern.h"
#include "core/process/records.h"

struct proc;
struct run;

#define TASK_NAME_MOST 128u /* bytes; the rest of a longer name is cut off */
#define TASK_ID_SIZE 48     /* "<pid>-<start, hex>.<image>" */

struct task {
	struct task *next, *prev;
	const struct interned *name;
	const struct interned *traceparent; /* trace context of its root; NULL: none */
	char id[TASK_ID_SIZE];   /* from its root's upid and image: unique on this boot */
	struct run *run;         /* a reference, set by task_set_run. NULL: none, or the task has ended */
	struct skep_upid root;
	uint64_t start_ns, end_ns;
	struct proc *procs;      /* its members, by task_next */
	uint64_t members;        /* number of members */
	uint64_t dying;          /* members that have exited and whose records have not left yet */
	uint64_t over_ns;        /* when its root ended or left the task; 0: the root is in it */
	bool ended;              /* its record has left */
	int64_t status;          /* of the root, as waitpid gives it; -1: not known */
	const char *state;       /* static text */
	uint64_t processes;
	/* of the images whose records have left */
	uint64_t cpu_ns, run_delay_ns, rss_peak_bytes, read_bytes, write_bytes;
};

struct tasks {
	struct task *first;
	size_t n;
};

/* Owns the references name and traceparent from now on, also on failure.  NULL: no memory. */
struct task *task_new(struct tasks *, struct intern *, const struct interned *name, const struct interned *traceparent,
		      const struct skep_upid *root, uint64_t image, uint64_t start_ns);
void task_free(struct tasks *, struct intern *, struct task *); /* removes it from the list and frees it */
void task_set_run(struct task *, struct run *);              /* NULL: none */
struct task *task_find(const struct tasks *, const char *id);
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
