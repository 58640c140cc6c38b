/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/program.h - the program that an exec started: binary, arguments, tool. A forked process shares
 * its parent's program by reference, so thousands of workers share one argument list. For the process table.
 */
#ifndef SKEP_CORE_PROGRAM_H
#define SKEP_CORE_PROGRAM_H

#include "core/base/intern.h"

struct program {
	uint32_t refs;
	bool wrapper;
	const struct interned *exe, *filename, *tool;
	uint64_t exe_size_bytes, exe_modified_ns; /* 0: not known */
	uint64_t saved;      /* its number in the saved state (core/base/saved_as.h) */
	uint32_t argv_len, argv_total;
	char argv[];
};

/* Copies all texts. NULL: no memory. */
struct program *program_new(struct intern *, const struct skep_str *exe, const struct skep_str *filename,
			    const struct skep_str *argv, const char *tool, bool wrapper);
struct program *program_ref(struct program *); /* NULL is fine */
void program_unref(struct intern *, struct program *); /* NULL is fine */

#endif
