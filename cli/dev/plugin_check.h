/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/dev/plugin_check.h - the parts of `skep-dev check`: what can be said of a plugin's file without
 * running it, of its tables, and of its life under the mock host.
 */
#ifndef SKEP_CLI_PLUGIN_CHECK_H
#define SKEP_CLI_PLUGIN_CHECK_H

#include <skep/plugin.h>

#include "cli/dev/findings.h"

/* A plugin exports its entry function and nothing else; by its ELF file alone. */
void plugin_exports_check(struct findings *, const char *path);
/* Options and streams as people and receivers meet them: what plugin_check_descriptor() lets pass. */
void plugin_tables_check(struct findings *, const struct skep_plugin *);

struct plugin_try {
	const char *dir, *name;     /* DIR/NAME.so */
	const char *const *options; /* "name=value", NULL-terminated */
	unsigned samples;
	bool start, submit;
};

struct skep_mock;
/* To a sink that runs: a batch of two records, and its answer. */
void plugin_submit(struct findings *, struct skep_mock *);

/*
 * Loads it and leads it through its life, in a child process.  0; SKEP_EXIT_PRIVILEGE: it could not
 * start for want of privilege; SKEP_EXIT_ABI: it is not for this host; SKEP_EXIT_RUNTIME: else.
 */
int plugin_try(struct findings *, const struct plugin_try *);

#endif
