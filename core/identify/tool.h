/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/tool.h - names the tool that a command line runs, seen through interpreters, wrappers and
 * subcommands: "python x.py" is x.py, "nice samtools sort" is "samtools sort". By the table of etc/tools.json
 * (built in) and of a site's files. Only tools_new does I/O.
 */
#ifndef SKEP_CORE_TOOL_H
#define SKEP_CORE_TOOL_H

#include <skep/record.h>
#include <stdbool.h>

#include "core/base/diag.h"

struct tools;

/*
 * Reads the built-in table, then each of `more` (files, or folders of *.json in byte order); later entries win.
 * NULL after errors.
 */
struct tools *tools_new(const char *const *more, struct diag *);
struct tools *tools_free(struct tools *);

struct tool_name {
	char name[128]; /* never empty; truncated at a UTF-8 boundary, control characters replaced by '?' */
	bool wrapper;   /* the image itself only wraps that tool (nice, env, time, bash -c 'one command') */
};

/*
 * Names the tool. exe: resolved path of the binary; filename: the path given to exec (the script, for a
 * script); argv: "a\0b\0", may be truncated; comm: the fallback. Each may be empty.
 */
void tools_recognize(const struct tools *, const struct skep_str *exe, const struct skep_str *filename,
		     const struct skep_str *argv, const struct skep_str *comm, struct tool_name *ret);

/*
 * Is it the name of a shell: of a program that interprets a file, or a command line behind an option? The tool of a
 * shell that runs a script is the script.
 */
bool tools_shell(const struct tools *, const char *name, size_t len);

/*
 * true: the tool's name is the path's last component, with any arguments. exe: path of the binary; comm: the main
 * thread's name after exec.
 */
bool tools_fixed(const struct tools *, const struct skep_str *exe, const struct skep_str *comm);

#endif
