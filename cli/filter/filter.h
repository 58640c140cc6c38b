/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/filter/filter.h - `skep filter`: evaluates rules on processes, without a daemon.
 */
#ifndef SKEP_CLI_FILTER_H
#define SKEP_CLI_FILTER_H

#include "cli/filter/filter_processes.h"

struct filter_options {
	const char *expression; /* NULL: rules */
	const char **rules;     /* files or folders, NULL-terminated; NULL: the configuration's */
	const char *config;     /* NULL: read none */
	const char *recorded;   /* NULL: the live processes of this host */
	uint32_t pid;           /* `skep filter explain PID` */
	bool json, processes, all, live;
};

/* Reads configuration and rules of the options: *ret_config may stay NULL.  0, or the exit status after messages. */
int filter_load(const struct filter_options *, struct config **ret_config, struct ruleset **ret_set);

int filter_test(const struct filter_options *, const struct ruleset *, struct filter_processes *);
int filter_explain(const struct filter_options *, const struct ruleset *, struct filter_processes *);

const char *filter_verdict(const struct rule *, char *to, size_t size); /* "include", "exclude", "1 in 100" */

#endif
