/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/run_options.h - the command line of `skep run`.
 */
#ifndef SKEP_CLI_RUN_OPTIONS_H
#define SKEP_CLI_RUN_OPTIONS_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/run/run_detail.h"

#define DEFAULT_INTERVAL "500ms"
#define DEFAULT_OTLP_WAIT "5s"

struct run_options {
	const char *task, *name, *pipeline, *lake, *json, *html, *interval, *otlp, *otlp_wait;
	const char **detail, **plugin_dir; /* as given */
	json_t *plugin_dirs;               /* NULL: the default */
	struct run_detail *details;
	bool no_report, no_live;
	char **command;
};

/* SKEP_EXIT_OK and a command, or the exit status without a command (after --help: SKEP_EXIT_OK). */
int run_options_parse(int argc, char **argv, struct run_options *options);
void run_options_free(struct run_options *);

#endif
