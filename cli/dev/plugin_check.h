/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/dev/plugin_check.h - the checks of `skep-dev check`: of a plugin's file without running it, of its tables, and of
 * its callbacks under the mock host.
 */
#ifndef SKEP_CLI_PLUGIN_CHECK_H
#define SKEP_CLI_PLUGIN_CHECK_H

#include <skep/plugin.h>

#include "cli/dev/findings.h"

/* Checks the ELF file: a plugin must export only its entry function. */
void plugin_exports_check(struct findings *, const char *path);
/* Checks the names and units of options and streams, which plugin_check_descriptor() does not check. */
void plugin_tables_check(struct findings *, const struct skep_plugin *);

struct plugin_try {
	const char *dir, *name;     /* DIR/NAME.so */
	const char *const *options; /* "name=value", NULL-terminated */
	unsigned samples;
	bool start, submit;
};

struct skep_mock;
/* Submits a batch of two records to a running sink, and checks its answer. */
void plugin_submit(struct findings *, struct skep_mock *);

/*
 * Loads the plugin and calls all its callbacks, in a child process.  0; SKEP_EXIT_PRIVILEGE: the plugin could not
 * start without privileges; SKEP_EXIT_ABI: it is not for this host; SKEP_EXIT_RUNTIME: another failure.
 */
int plugin_try(struct findings *, const struct plugin_try *);

#endif
