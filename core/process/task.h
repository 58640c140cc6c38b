/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/task.h - tasks: the steps of a run, as environments name them (SKEP_TASK).
 *
 * A task begins with a process whose environment names another one than its parent is in, its root, and
 * ends when that root ends: so two at a time of the same name are two.  Which process is in which is the tracker's
 * business (track_task.c).
 */
#ifndef SKEP_CORE_TASK_H
#define SKEP_CORE_TASK_H

#include "core/base/intern.h"
#include "core/process/records.h"

struct proc;
struct run;

#define TASK_NAME_MOST 128u /* bytes; what is more is cut */
#define TASK_ID_SIZE 48     /* "<pid>-<start, hex>.<image>" */

struct task {
	struct task *next, *prev;
	const struct interned *name;
	const struct interned *traceparent; /* what its root carries; NULL: nothing */
	char id[TASK_ID_SIZE];   /* of its root, and which image of it: no other on this boot has it */
	struct run *run;         /* a reference, set by task_set_run. NULL: none, or the task has ended */
	struct skep_upid root;
	uint64_t start_ns, end_ns;
	struct proc *procs;      /* its members, by task_next */
	uint64_t members;        /* how many they are */
	uint64_t dying;          /* of them those that have exited, and whose record is still to come */
	uint64_t over_ns;        /* since when its root is gone; 0: it is there */
	bool ended;              /* its record has left */
	int64_t status;          /* of the root, as waitpid gives it; -1: not known */
	const char *state;       /* static text */
	uint64_t processes;
	uint64_t cpu_ns, run_delay_ns, rss_peak_bytes, read_bytes, write_bytes; /* of the images that have left */
};

struct tasks {
	struct task *first;
	size_t n;
};

/* Name and traceparent are stolen, also on failure. NULL: no memory. */
struct task *task_new(struct tasks *, struct intern *, const struct interned *name, const struct interned *traceparent,
		      const struct skep_upid *root, uint64_t image, uint64_t start_ns);
void task_free(struct tasks *, struct intern *, struct task *); /* out of the list and gone */
void task_set_run(struct task *, struct run *);              /* NULL: none */
struct task *task_find(const struct tasks *, const char *id);
/* Everything but run and pipeline. Strings borrowed. */
void task_record(const struct task *, struct record_task *ret);

/* The value of a variable in a list "NAME=value\0..."; ptr NULL: it is not there. The first counts, as with getenv. */
struct skep_str task_variable(const struct skep_str *environ, const char *name);
/* A name as it is shown: cut between characters to TASK_NAME_MOST bytes, without control characters, in `room`. */
struct skep_str task_name(const struct skep_str *value, char room[TASK_NAME_MOST]);

#endif
