/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/saved.h - the state of live processes that one skepd saves for the next on the same
 * boot: each one's image and its begin, the figures of its samples, its run.  Without it a restart would count what
 * came before the restart twice, or not at all.
 *
 * A text, one JSON object a line: the first {"skep_carry":2,"boot_id":...}, then runs, tasks and processes.  The spool
 * keeps it; after a reboot it is of no use.
 */
#ifndef SKEP_CORE_SAVED_H
#define SKEP_CORE_SAVED_H

#include <stdio.h>

#include "core/process/track.h"

/*
 * Its parts: the first line, the runs and the tasks; a process's line (to be freed, no newline).  0, -EIO, -ENOMEM.  A
 * run or a task that cannot be written is counted (track_unsaved) and left out; the others are there.
 */
int saved_head(struct track *, FILE *, const char *boot_id);
int saved_line(const struct track *, const struct proc *, char **ret);
bool saved_worth(const struct proc *); /* one that has a line */
/*
 * Calls line() for each process that has changed since the last call, with its saved_line() (the callback frees it), or
 * with NULL when the process is gone.  Without memory for a line it counts the process (track_unsaved), and tries again
 * with the next call.
 */
void saved_changed(struct track *, void (*line)(void *arg, const struct skep_upid *, char *text), void *arg);
/*
 * The sampled counters of all live processes: they change with each sweep, the identity of a process does not.  To be
 * freed. 0 or -ENOMEM.  saved_sampled() gives them to the processes that wait to be claimed.
 */
int saved_samples(const struct track *, void **ret, size_t *ret_size);
void saved_sampled(struct track *, const void *samples, size_t size);

/*
 * Reads them from a stream; name: for messages.  Runs go into the track at once, processes by saved_restore() or when
 * their first record comes.  0, also for state of another boot: then t->saved stays NULL.  A line that cannot be used
 * is left out, with a log line that names it.  -errno: no memory, unreadable.
 */
int saved_read(struct track *, FILE *, const char *name, const char *boot_id);
/*
 * Makes each waiting process an entry of the table.  A process that has ended meanwhile gets a record like any process
 * that a sweep does not see: of its saved state, and of the events that the ring still holds.
 */
void saved_restore(struct track *);
bool saved_waits(const struct track *);  /* until saved_settle */
size_t saved_left(const struct track *); /* processes not claimed yet */
/* After the first complete sweep: a saved process that the sweep did not see has ended. */
void saved_settle(struct track *, uint64_t now_ns);

#endif
