/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/attempts.h - counts how often each task of a run began or failed, so that a retry is a second attempt.
 */
#ifndef SKEP_CORE_ATTEMPTS_H
#define SKEP_CORE_ATTEMPTS_H

#include <skep/record.h>

#define ATTEMPTS_MOST 65536u /* different tasks of one run; 2 MiB */

struct attempts;

/* Counts the task that this text names.  *at: NULL before the first.  0: not known (too many tasks, no memory). */
uint32_t attempts_next(struct attempts **at, const struct skep_str *text);
/* As counted until now.  a: NULL is fine. */
uint32_t attempts_of(const struct attempts *a, const struct skep_str *text);
void attempts_clear(struct attempts *a, const struct skep_str *text); /* begins at 0 again */
/*
 * For the saved state: the key of the texts' hashes; calls cb for each text whose count has changed since
 * attempts_saved(), or for all; gives a count back (0 or -ENOMEM; *at: NULL before).  NULL is fine.
 */
void attempts_key(const struct attempts *, uint64_t ret[2]);
void attempts_changed(const struct attempts *, bool all, void (*cb)(void *arg, uint64_t text, uint32_t count),
		      void *arg);
void attempts_saved(struct attempts *);
int attempts_restore(struct attempts **at, const uint64_t key[2], uint64_t text, uint32_t count);
struct attempts *attempts_free(struct attempts *);

#endif
