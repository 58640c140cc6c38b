/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/attempts.h - counts how often each task of a run began or failed, so that a retry is a second attempt.
 */
#ifndef SKEP_CORE_ATTEMPTS_H
#define SKEP_CORE_ATTEMPTS_H

#include <skep/record.h>

#define ATTEMPTS_MOST 65536u /* different tasks of one run; 1 MiB */

struct attempts;

/* Counts the task that this text names.  *at: NULL before the first.  0: not known (too many tasks, no memory). */
uint32_t attempts_next(struct attempts **at, const struct skep_str *text);
/* As counted until now.  a: NULL is fine. */
uint32_t attempts_of(const struct attempts *a, const struct skep_str *text);
void attempts_clear(struct attempts *a, const struct skep_str *text); /* begins at 0 again */
size_t attempts_count(const struct attempts *); /* different tasks; NULL is fine */
/* Writes the counts of at most so many tasks as one word, which attempts_read() reads.  0 or -ENOMEM. */
int attempts_word(const struct attempts *, size_t most, char **ret);
/* *at: NULL before.  0, -ENOMEM, -EBADMSG. */
int attempts_read(struct attempts **at, const char *word);
struct attempts *attempts_free(struct attempts *);

#endif
