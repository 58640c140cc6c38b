/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor/bundle_collect.h - the contents of a support bundle: files of this machine and the output
 * of programs, each bounded in size and time.
 */
#ifndef SKEP_CLI_BUNDLE_COLLECT_H
#define SKEP_CLI_BUNDLE_COLLECT_H

#include <stdbool.h>

#include "cli/doctor/bundle_archive.h"

struct bundle {
	struct bundle_file *files;
	size_t n;
	bool failed; /* no memory */
};

void bundle_free(struct bundle *);
/* Adds a text and owns it (NULL: no memory). */
void bundle_add(struct bundle *, const char *name, char *text, size_t len);
/* Adds a file's beginning, or the reason why skep cannot read it. */
void bundle_add_file(struct bundle *, const char *name, const char *path);
/* Adds a program's output, stderr included, and its exit status. argv[0] is searched in PATH. */
void bundle_add_output(struct bundle *, const char *name, const char *const *argv);
/* Adds names, sizes and modes of the files in each folder. */
void bundle_add_listing(struct bundle *, const char *name, const char *const *folders);

#endif
