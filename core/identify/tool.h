/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/tool.h - which program is this, seen through interpreters, wrappers and
 * subcommands: "python x.py" is x.py, "nice samtools sort" is "samtools sort".
 * Data: etc/tools.json (built in) and whatever a user adds.  Pure: no I/O but tools_load.
 */
#ifndef SKEP_CORE_TOOL_H
#define SKEP_CORE_TOOL_H

#include <skep/record.h>
#include <stdbool.h>

#include "core/base/diag.h"

struct tools;

/*
 * The built-in table, then each of `more` (files, or folders of *.json in byte order); later entries win. NULL after
 * errors.
 */
struct tools *tools_new(const char *const *more, struct diag *);
struct tools *tools_free(struct tools *);

struct tool_name {
	char name[128]; /* never empty; cut at a UTF-8 boundary, control characters replaced by '?' */
	bool wrapper;   /* the image itself is only a wrapper of that tool (nice, env, time, bash -c 'one command') */
};

/*
 * exe: resolved path of the binary; filename: as given to exec (the script for a
 * script); argv: "a\0b\0" (may be cut); comm: fallback.  Any may be empty.
 */
void tools_recognize(const struct tools *, const struct skep_str *exe, const struct skep_str *filename,
		     const struct skep_str *argv, const struct skep_str *comm, struct tool_name *ret);

/*
 * Is the name the same whatever the arguments, for a program of that path whose main thread is
 * called comm (as exec names it)?  Then it is the path's last component.
 */
bool tools_fixed(const struct tools *, const struct skep_str *exe, const struct skep_str *comm);

#endif
