/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/daemon/skepd.h - the parts of the daemon's program: its --help and --version,
 * and the collector from start to end.
 */
#ifndef SKEP_CORE_SKEPD_H
#define SKEP_CORE_SKEPD_H

#include "core/base/command_option.h"
#include "core/config/config.h"
#include "core/daemon/notify.h"
#include "core/control/reloader.h"

/* What scripts rely on: docs/reference/configuration.md, skepd --help. */
enum skepd_exit {
	SKEPD_OK = 0,
	SKEPD_RUNTIME = 1,
	SKEPD_USAGE = 2,
	SKEPD_CONFIG = 3,
	SKEPD_PRIVILEGE = 4, /* or the kernel */
	SKEPD_ABI = 5,
};

enum skepd_mode {
	SKEPD_RUN,
	SKEPD_TEST,    /* up to open() */
	SKEPD_TRYLOAD, /* up to start(), then stop */
};

#define SKEPD_CONFIG_FILE SKEP_SYSCONF_DIR "/skepd.conf"

/* The command line. */
struct skepd_arguments {
	const char *config; /* NULL: the default one */
	bool foreground;    /* always so */
	bool test, tryload, json, list_plugins, schema, unpin, version;
	const char *options; /* a plugin's name */
	int verbose, quiet;
};
extern const struct command_option skepd_options_table[];
void skepd_help(void);
void skepd_version(void);
/* By their notes alone: not one line of a plugin runs. */
void skepd_list(const struct config *, bool verbose);
/* Loads that plugin and prints its option table. */
enum skepd_exit skepd_options(const struct config *, const char *plugin);
/* The JSON Schema of the configuration, with the options of every plugin that loads. */
enum skepd_exit skepd_schema(const struct config *);

/* Takes out what a skepd has left in the kernel; where, by the configuration. */
enum skepd_exit skepd_unpin(const struct config *);

/*
 * The whole life of a collector; blocks. reader: NULL: none.  verbose: say what was loaded. json: SKEPD_TRYLOAD tells
 * all in one object.
 */
struct reader_process;
enum skepd_exit skepd_collect(const struct config *, struct reader_process *reader, enum skepd_mode, bool verbose,
			      bool json);

/* before: how it came to that ("reloaded: "). */
void skepd_notify_ready(struct notify *, const struct collector *, const char *before);
/* outcome: NULL when a reload begins. */
void skepd_notify_reload(struct notify *, const struct collector *, const struct reload_outcome *);

#endif
