/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/config.h - the configuration: JSON with comments, read into an immutable object.
 */
#ifndef SKEP_CORE_CONFIG_H
#define SKEP_CORE_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/diag.h"

/* One entry of "probes" or "sinks". */
struct config_plugin {
	const char *plugin; /* "proc" */
	const char *name;   /* instance name, default: plugin */
	bool required;
	const char *list;             /* "probes" or "sinks" */
	size_t index;                 /* in the list */
	int line;                     /* of the entry's opening brace */
	const struct config_pos *at;  /* of its keys */
	json_t *options; /* object: every key but plugin, name, required */
};

/* "filters": where rules are (core/rules/rules_file.h). Lists are NULL-terminated, never NULL. */
struct config_filters {
	const char **dirs;      /* folders of *.json */
	const char **packs;     /* names of rule packs, after the folders' rules */
	const char **pack_dirs; /* where packs are; like plugin_dirs, with $SKEP_PACK_DIRS */
	bool exclude;           /* a process for which no rule holds is excluded */
	bool kernel;            /* the kernel decides the verdicts that it can */
};

/* "findings": after how long skepd reports what (core/process/findings.h).  0: not at all. */
struct config_findings {
	uint64_t stall_ns, leftover_process_ns, orphan_container_ns, gpu_held_idle_ns;
	bool oom_kill;
};

/* "spool": where batches wait for sinks (docs/inside/spool.md). path NULL: in memory only. */
struct config_spool {
	const char *path;
	uint64_t max_bytes, reserve_bytes, max_age_ns, sync_ns; /* max_age_ns 0: no limit */
};

struct config_pos;

/* Where skepd listens, and skep connects, by default. */
#define CONTROL_SOCKET_DEFAULT "/run/skep/skepd.sock"

struct config {
	char *file; /* name used in messages */
	json_t *labels; /* object of strings, "host.labels"; NULL: none */
	uint64_t interval_ns;
	uint64_t drain_ns;
	uint64_t process_interval_ns; /* 0: no samples of single processes */
	/*
	 * NULL-terminated.  When the file names none: $SKEP_PLUGIN_DIRS (a colon list; a program that got
	 * privileges from its file ignores it), else the built-in ones.
	 */
	const char **plugin_dirs;
	struct config_plugin *probes;
	size_t n_probes;
	struct config_plugin *sinks;
	size_t n_sinks;
	const char **tools;  /* more tool tables (files or folders), NULL-terminated */
	const char **redact; /* more redaction tables, NULL-terminated */
	const char *pod_logs;    /* folder of the kubelet's logs; empty: pods have no names */
	const char **containers; /* more tables of cgroup paths, NULL-terminated */
	const char **recognizers; /* more tables of recognizers, NULL-terminated */
	bool read_engine_files; /* names of tasks from their engines' files */
	bool fold_forks;        /* a fork that execs at once has no record of its own */
	struct config_filters filters;
	struct config_findings findings;
	struct config_spool spool;
	const char *control_socket; /* "control.socket", or the default one; NULL: none is wanted */
	bool control_asked;   /* the file names it: skepd does not run without it */
	bool others_read;     /* everybody can read the file: no place for a secret */
	const char **keep_capabilities; /* NULL: none; of core/base/confine.h */
	const char *pin_dir;        /* where skepd pins its kernel side (core/plugin/pins.h); NULL: nowhere */
	uint64_t pin_for_ns;  /* how long it may record there without a skepd that reads it */
	struct config_pos *positions; /* where each key stands, core/config/config_pos.h */
	struct options_memory *memory; /* owns strings and lists, core/config/option_memory.h */
};

/* Both return NULL after adding at least one error to the diag. `name` is used in messages. */
struct config *config_load(const char *file, struct diag *);
/*
 * The same for a daemon, which loads the code that the file names: refuses a file that others than root and our own
 * user could have written.
 */
struct config *config_load_trusted(const char *file, struct diag *);
struct config *config_parse(const char *text, size_t len, const char *name, struct diag *);
struct config *config_free(struct config *); /* NULL is fine; returns NULL */

/* Where option `key` of that entry stands; where the file does not have it: the entry's line, and column 0. */
void config_option_position(const struct config_plugin *, const char *key, int *ret_line, int *ret_column);
/* "probes[0] (proc)", for the beginning of a message about an entry; cut where it does not fit. */
#define CONFIG_WHERE_SIZE 96
void config_entry_name(const struct config_plugin *, char *ret, size_t size);

/*
 * JSON with comments for any other file of ours (tool tables, redaction tables):
 * blanks of equal length replace comments, so jansson's positions stay right.
 * Returns a new reference, or NULL after adding an error with line and column.
 */
json_t *config_json(const char *text, size_t len, const char *name, struct diag *);
json_t *config_json_file(const char *file, struct diag *);
/* The same, with the position of each value (core/config/config_pos.h; config_pos_free). */
json_t *config_json_positions(const char *text, size_t len, const char *name, struct diag *,
			      struct config_pos **ret_positions);
/*
 * Reads a whole file, and adds a NUL after it. 0, or -errno after adding an error. The caller frees the text.  Refuses
 * a file that is not regular: the loop reads a file that an option names, and a FIFO has no end.
 */
int config_read_file(const char *file, size_t max, struct diag *, char **ret_text, size_t *ret_len);
/* The same for files of any kind (a configuration may come from a pipe); *ret_st: of the file that it read. */
struct stat;
int config_read_file_stat(const char *file, size_t max, struct diag *, char **ret_text, size_t *ret_len,
			  struct stat *ret_st);

/* "64MiB" "5s" "250ms": 0 or -EINVAL / -ERANGE. Sizes: B KiB MiB GiB TiB kB MB GB TB. Times: ns us ms s m h d. */
int config_size(const char *text, uint64_t *ret_bytes);
int config_time(const char *text, uint64_t *ret_ns);
/* Formats exactly, in the largest unit that divides: "64MiB", "1500ms". */
#define CONFIG_UNITS_SIZE 32
void config_size_format(uint64_t bytes, char ret[CONFIG_UNITS_SIZE]);
void config_time_format(uint64_t ns, char ret[CONFIG_UNITS_SIZE]);
/*
 * A regular expression that matches exactly the texts from min to max (at most INT64_MAX). The caller frees it; NULL:
 * no memory.
 */
char *config_size_pattern(uint64_t min, uint64_t max);
char *config_time_pattern(uint64_t min, uint64_t max);

/*
 * For messages: a text in quotes with control characters escaped, cut at a character to size bytes ("abc..."); a value
 * in words ("the integer 5",
 * "the string \"abc\"", "an array", "null").  size is at least 32.
 */
#define CONFIG_QUOTE_SIZE 96
void config_quote(const char *text, char *ret, size_t size);
void config_describe(const json_t *value, char *ret, size_t size);

#endif
