/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/options.h - the parts of `skep lake`.
 */
#ifndef SKEP_CLI_LAKE_OPTIONS_H
#define SKEP_CLI_LAKE_OPTIONS_H

#include <stdbool.h>

#include "lake/create.h"

struct lake_options {
	const char *lake;
	bool json, rows;
	const char *what, *format, *output, *run, *pipeline, *since, *until; /* export */
	char *const *files; /* import; NULL-terminated */
	struct lake_http http; /* init, and all below */
	const char *database, *password_file, *print;
	unsigned long keep; /* days; LAKE_KEEP_AS_IS: not given */
};

struct lake;

/* Opens the local lake of --lake, or the default one. An exit status; with SKEP_EXIT_OK the caller frees *ret_path. */
int lake_command_open(const struct lake_options *, char **ret_path, struct lake **ret);

/* Each returns the exit status. */
int lake_command_init(const struct lake_options *);
int lake_command_status(const struct lake_options *);
int lake_command_check(const struct lake_options *);
int lake_command_vacuum(const struct lake_options *);
int lake_command_export(const struct lake_options *);
int lake_command_import(const struct lake_options *);

#endif
