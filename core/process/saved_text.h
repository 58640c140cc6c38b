/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/saved_text.h - the identity of a process (program, paths, user, parent) in a line of the saved state
 * (core/process/saved.h).  Paths and arguments are bytes, but JSON strings are text: %XX replaces each byte that is not
 * plain ASCII.
 */
#ifndef SKEP_CORE_SAVED_TEXT_H
#define SKEP_CORE_SAVED_TEXT_H

#include <jansson.h>

#include "core/process/track.h"

#define SAVED_VERSION 1
#define N_COUNTERS (sizeof(struct skep_counters) / sizeof(uint64_t))

/* The flags that describe the past.  The next skepd finds the others out again. */
#define SAVED_FLAGS \
	(PROC_EXECED | PROC_EXITED | PROC_FINAL | PROC_PLACED | PROC_CONFIRMED | PROC_ROOT | PROC_OOM | \
	 PROC_RSS_KNOWN | PROC_TASK_NONE | PROC_ENGINE | PROC_RECOGNIZED | PROC_BOUNDARY | PROC_KEEPS)

/* Encodes bytes as a JSON string.  NULL: no memory. */
json_t *saved_text(const char *bytes, size_t len);
/*
 * Decodes the string at `key`, and puts the bytes in its place in the line, which owns them.  NULL: no string, or no
 * memory.
 */
const char *saved_text_read(json_t *line, const char *key);
/* Adds the identity to the line, without empty fields.  0 or -ENOMEM. */
int saved_who_write(json_t *line, const struct proc *);
/* Reads the identity into an entry that has none yet.  false: the line has no identity, or no memory. */
bool saved_who_read(struct track *, struct proc *, json_t *line);

#endif
