/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/reports.h - reports made by hand, for the tests of the code that prints reports.
 */
#ifndef SKEP_TESTS_REPORTS_H
#define SKEP_TESTS_REPORTS_H

#include "lake/lake.h"

/* 2026-11-21 03:48:15 UTC */
#define REPORTS_START UINT64_C(1795232895123456789)
#define REPORTS_MS    UINT64_C(1000000)
#define REPORTS_S     UINT64_C(1000000000)

static const struct lake_container reports_no_container;

struct reports {
	struct lake_report report; /* the report under test */
	size_t room, tasks_room;
	const char **progress_of; /* of each of the report's progress the upid, until its processes are sorted */
	char **strings;
	size_t n_strings, strings_room;
};

/* A run of name and command (split at blanks) that began at REPORTS_START; its root is process 0 with that argv. */
struct reports *reports_new(const char *name, const char *command, uint64_t cpus);
/*
 * Adds a process of the run that lived from start_ms to end_ms (0: it still lives), used so much CPU and exited with 0.
 * Its pid is 4000 + its index; parent: an index. Valid until the next call.
 */
struct lake_process *reports_add(struct reports *, size_t parent, const char *tool, const char *command,
				 uint64_t start_ms, uint64_t end_ms, uint64_t cpu_ms);
/* The kind of a process, to be changed: each process that reports_add() made has one of its own. */
static inline struct lake_kind *reports_kind(const struct lake_process *p)
{
	return (struct lake_kind *)(uintptr_t)p->kind;
}
/* Process `of` executes a new image at at_ms; the image ends as the process would have ended. */
struct lake_process *reports_exec(struct reports *, size_t of, const char *tool, const char *command, uint64_t at_ms);
/* Adds a task; it has no processes. Its exit code is 0, or -1 while it runs (end_ms 0). Valid until the next call. */
struct lake_task *reports_task(struct reports *, const char *name, uint64_t start_ms, uint64_t end_ms, uint64_t cpu_ms);
void reports_sample(struct reports *, const char *tool, uint64_t start_ms, uint64_t interval_ms, uint64_t cpu_ms);
/*
 * What a process did in an interval: the caller fills in the rest. Valid until the next call; reports_finish() sets its
 * process.
 */
struct lake_progress *reports_progress(struct reports *, const struct lake_process *, uint64_t start_ms,
				       uint64_t interval_ms);
void reports_ledger(struct reports *, const char *account, const char *item, const char *kind, int64_t amount);
void reports_loss(struct reports *, const char *instance, const char *stream, const char *where, uint64_t count);
/* Ends the run and computes totals and tools as a lake does, tools sorted by CPU. end_ms 0: the run still runs. */
void reports_finish(struct reports *, uint64_t end_ms, int64_t exit_code, uint64_t signal);
const char *reports_string(struct reports *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct reports *reports_free(struct reports *);

/* The named situation; NULL: no such name. */
struct reports *reports_situation(const char *name);
extern const char *const reports_situations[]; /* NULL-terminated */

#endif
