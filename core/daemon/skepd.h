/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/daemon/skepd.h - parts of the program skepd: command line, reports, and the collector from start to end.
 */
#ifndef SKEP_CORE_SKEPD_H
#define SKEP_CORE_SKEPD_H

#include "core/base/command_option.h"
#include "core/config/config.h"
#include "core/daemon/notify.h"
#include "core/control/reloader.h"

/* Scripts rely on these: docs/reference/configuration.md, skepd --help. */
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
	bool test, tryload, json, list_plugins, schema, schema_recognizers, unpin, reader, version;
	const char *options; /* a plugin's name */
	int verbose, quiet;
};
extern const struct command_option skepd_options_table[];
void skepd_help(void);
void skepd_version(void);
/* Reads only their notes: no line of a plugin runs. */
void skepd_list(const struct config *, bool verbose);
/* Loads that plugin and prints its option table. */
enum skepd_exit skepd_options(const struct config *, const char *plugin);
/* The JSON Schema of the configuration, with the options of every plugin that loads. */
enum skepd_exit skepd_schema(const struct config *);
enum skepd_exit skepd_schema_recognizers(void); /* the JSON Schema of tables of recognizers */

/* Removes the kernel side that an earlier skepd has pinned in the configuration's pin_dir. */
enum skepd_exit skepd_unpin(const struct config *);

/*
 * Runs a collector from start to end; blocks. reader, copier: NULL: none.  verbose: print the loaded plugins. json:
 * SKEPD_TRYLOAD prints one object.
 */
struct copier;
struct reader_process;
enum skepd_exit skepd_collect(const struct config *, struct reader_process *reader,
			      struct reader_process *file_reader, struct copier *, enum skepd_mode, bool verbose,
			      bool json);

/* Keeps the large blocks of the start apart, until skepd_memory_release_start(). */
void skepd_memory_begin_start(void);
/* Gives unused memory back to the kernel; the first one once, when skepd has started. */
void skepd_memory_release_start(void);
void skepd_memory_release(void);

/* before: what led to it ("reloaded: "). */
void skepd_notify_ready(struct notify *, const struct collector *, const char *before);
/* outcome: NULL when a reload begins. */
void skepd_notify_reload(struct notify *, const struct collector *, const struct reload_outcome *);

#endif
