/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/carry.h - what the table knows of live processes, carried from one skepd to the
 * next on the same boot: which image each is at, where that began, what samples have said
 * and which run it belongs to.  Without it a restart would count what came before the
 * restart twice, or not at all.
 *
 * A text file, one JSON object a line: the first {"skep_carry":1,"boot_id":...}, then runs,
 * then processes.  It is read once and removed; of another boot it is worth nothing.
 */
#ifndef SKEP_CORE_CARRY_H
#define SKEP_CORE_CARRY_H

#include <stdio.h>

#include "core/track.h"

struct carry;

/*
 * Its parts: the first line, the runs and the tasks; a process's line (to be freed, no newline).  0, -EIO, -ENOMEM.  A run or
 * a task that cannot be written is counted (track_unsaved) and left out; the others are there.
 */
int carry_head(struct track *, FILE *, const char *boot_id);
int carry_line(const struct track *, const struct proc *, char **ret);
bool carry_worth(const struct proc *); /* one that has a line */
/*
 * Where samples of all live processes stand: with each sweep their counters change, who they are does not.  To be
 * freed. 0 or -ENOMEM.  carry_sampled: to those that wait to be claimed.
 */
int carry_samples(const struct track *, void **ret, size_t *ret_size);
void carry_sampled(struct carry *, const void *samples, size_t size);

/* Replaces the file, whole or not at all. 0 or -errno. */
int carry_save(struct track *, const char *path, const char *boot_id);
/*
 * Reads and removes it.  Runs go into the track at once, processes by carry_restore() or when their
 * first record comes.  No file, or one of another boot: 0 and *ret NULL.  A line that cannot be
 * used is left out, with a log line that names it.  -errno: no memory, unreadable.
 */
int carry_load(struct track *, const char *path, const char *boot_id, struct carry **ret);
/* The same from a stream, for tests; name: for messages. */
int carry_read(struct track *, FILE *, const char *name, const char *boot_id, struct carry **ret);
struct carry *carry_free(struct carry *); /* NULL is fine */

/*
 * All that wait become entries of the table.  One that is not there any more is treated as any that a sweep does not see:
 * it has a record, of what was known of it when the skepd before ended, and of what the ring still tells.
 */
void carry_restore(struct track *);
/* A new entry of the table: give it what was carried for its identity, if anything was. */
void carry_claim(struct track *, struct carry *, struct proc *);
size_t carry_left(const struct carry *); /* not claimed yet */

#endif
