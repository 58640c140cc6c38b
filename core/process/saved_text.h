/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/saved_text.h - who a process is, in a line of what is carried over (core/process/saved.h): paths and
 * arguments are bytes, JSON's strings are text, so what is not plain ASCII is %XX there.
 */
#ifndef SKEP_CORE_SAVED_TEXT_H
#define SKEP_CORE_SAVED_TEXT_H

#include <jansson.h>

#include "core/process/track.h"

#define SAVED_VERSION 2
#define N_COUNTERS (sizeof(struct skep_counters) / sizeof(uint64_t))

/* Those flags that say something about what has been; the others are found out again. */
#define SAVED_FLAGS \
	(PROC_EXECED | PROC_EXITED | PROC_FINAL | PROC_PLACED | PROC_CONFIRMED | PROC_ROOT | PROC_OOM | \
	 PROC_RSS_KNOWN | PROC_TASK_NONE)

/* Those bytes as a string of the line; NULL: no memory. */
json_t *saved_text(const char *bytes, size_t len);
/* The bytes behind that key, which the line has from then on in place of the string. NULL: no string, or no memory. */
const char *saved_text_read(json_t *line, const char *key);
/* Adds to the line; what is empty is left out. -ENOMEM. */
int saved_who_write(json_t *line, const struct proc *);
/* Into an entry that has nothing of it yet. false: the line does not say who it is. */
bool saved_who_read(struct track *, struct proc *, json_t *line);

#endif
