/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/saved.h - the state of live processes that one skepd saves for the next on the same boot: each process's
 * image and its begin, its sampled figures, its run and task.  Without this state a restart would count the time before
 * it twice, or not at all.
 *
 * The state is a text, one JSON object a line: the first {"skep_carry":1,"boot_id":...}, then runs, tasks and
 * processes.  The spool keeps it.  After a reboot no skepd uses it.
 */
#ifndef SKEP_CORE_SAVED_H
#define SKEP_CORE_SAVED_H

#include <jansson.h>
#include <stdio.h>

#include "core/process/track.h"

#define SAVED_ATTEMPTS_MOST 16384u
#define SAVED_ATTEMPTS_FEW 512u /* 10 KiB: each commit can have them */

/*
 * saved_head() writes the first line, the runs and the tasks.  saved_line() gives a process's line (the caller frees
 * it; no newline).  0, -EIO, -ENOMEM.  saved_head() counts a run or a task for which it has no memory (track_unsaved),
 * and writes the others.
 */
int saved_head(struct track *, FILE *, const char *boot_id);
/*
 * Writes how often the tasks of each run began, if that has changed since the last call, or all: the counts of at most
 * SAVED_ATTEMPTS_MOST tasks, 20 bytes each.  The tasks beyond count from 1 again after a restart.  few: writes nothing
 * if there are more than SAVED_ATTEMPTS_FEW tasks.  saved_read() reads the lines behind those of saved_head().
 * 0 or -ENOMEM; *ret_any: whether it has written.
 */
int saved_attempts(struct track *, FILE *, bool all, bool few, bool *ret_any);
int saved_line(const struct track *, const struct proc *, char **ret);
bool saved_worth(const struct proc *); /* whether the saved state has a line for it */
/*
 * Calls line() for each process that has changed since the last call, with its saved_line() (the callback frees it), or
 * with NULL when the process is gone.  Without memory for a line it counts the process (track_unsaved), and tries again
 * with the next call.
 */
void saved_changed(struct track *, void (*line)(void *arg, const struct skep_upid *, char *text), void *arg);
/*
 * Packs the newest counters and the sampled counters of all live processes apart from the lines, because each sweep
 * changes them.  The caller frees *ret.  0 or -ENOMEM.  saved_sampled() adds them to the processes that wait to be
 * claimed.
 */
int saved_samples(const struct track *, void **ret, size_t *ret_size);
void saved_sampled(struct track *, const void *samples, size_t size);
/* The same with the facets of all processes (saved_facets.c). */
int saved_facets(struct track *, void **ret, size_t *ret_size);
void saved_facets_read(struct track *, const void *facets, size_t size);
/*
 * The open findings, and how long tasks, runs, containers and GPUs have been idle (saved_finding.c).  *ret: a text that
 * the caller frees; NULL: nothing has changed since the last call and all is false, or there is nothing to save.
 * 0 or -ENOMEM.  saved_findings_read() comes after saved_restore(): it looks for their processes and tasks.
 */
int saved_findings(struct track *, bool all, char **ret);
void saved_findings_read(struct track *, const char *text, size_t size, uint64_t now_ns);
#define SAVED_FACETS_BEFORE "facets_before"
json_t *saved_waiting_line(const struct track *, const struct skep_upid *); /* borrowed; NULL: it does not wait */

/*
 * Reads the saved state from a stream; name: for messages.  Adds runs and tasks to the tracker at once.  A process
 * waits for saved_restore(), or for its first record.  0, also for the state of another boot: then t->saved stays NULL.
 * Skips unusable lines, and logs the first one and their number.  -errno: no memory, unreadable.
 */
int saved_read(struct track *, FILE *, const char *name, const char *boot_id);
/*
 * Makes a table entry for each waiting process.  A process that has ended meanwhile gets a record like any process that
 * a sweep does not see, from its saved state and the events that the ring still holds.
 */
void saved_restore(struct track *);
bool saved_waits(const struct track *);  /* from saved_read() until saved_settle() */
size_t saved_left(const struct track *); /* processes not claimed yet */
/*
 * After the first complete sweep: drops the processes that no entry has claimed, and ends restored tasks and runs
 * without members.
 */
void saved_settle(struct track *, uint64_t now_ns);

#endif
