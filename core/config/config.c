/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/config.c - a configuration as a whole: read, with its defaults, let go of; and where its entries stand in
 * the file.
 */
#include "core/config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/config/config_read.h"
#include "core/base/trust.h"

#define SITE_PLUGIN_DIR "/usr/local/lib/skep/plugins"
#define PACK_DIR SKEP_DATA_DIR "/packs"
#define FILE_MAX (4u << 20)
#define INTERVAL_DEFAULT (5000 * NS_PER_MS)
#define PROCESS_INTERVAL_DEFAULT (60000 * NS_PER_MS)
#define DRAIN_DEFAULT 5000000000u
#define SPOOL_PATH_DEFAULT SKEP_STATE_DIR "/spool.db"
#define SPOOL_BYTES_DEFAULT (1ull << 30)
#define SPOOL_RESERVE_DEFAULT (256ull << 20)
#define SPOOL_AGE_DEFAULT (30 * 24 * 3600 * 1000ull * NS_PER_MS)
#define SPOOL_SYNC_DEFAULT (1000 * NS_PER_MS)

static char **default_dirs(const char *variable, const char *built_in)
{
	/* secure_getenv: whoever runs a program with file capabilities must not choose the code that it loads. */
	const char *env = secure_getenv(variable);
	const char *list = env && *env ? env : built_in;
	size_t n = 0, room = 2;
	char **dirs;

	for (const char *p = list; *p; p++)
		room += *p == ':';
	dirs = calloc(room, sizeof(*dirs));
	while (dirs && *list) {
		size_t length = strcspn(list, ":");

		if (length > 0) {
			dirs[n] = strndup(list, length);
			if (!dirs[n++])
				return config_strings_free(dirs);
		}
		list += length + (list[length] == ':');
	}
	return dirs;
}

/* Everything that the file did not say. Lists are never NULL afterwards. */
static void fill_defaults(struct reader *r)
{
	struct config *config = r->config;

	if (!config->plugin_dirs)
		config->plugin_dirs = default_dirs("SKEP_PLUGIN_DIRS", SKEP_PLUGIN_DIR ":" SITE_PLUGIN_DIR);
	if (!config->filters.dirs)
		config->filters.dirs = calloc(1, sizeof(*config->filters.dirs));
	if (!config->filters.packs)
		config->filters.packs = calloc(1, sizeof(*config->filters.packs));
	if (!config->filters.pack_dirs)
		config->filters.pack_dirs = default_dirs("SKEP_PACK_DIRS", PACK_DIR);
	if (!config->filters.dirs || !config->filters.packs || !config->filters.pack_dirs)
		reader_no_memory(r);
	if (!config->tools)
		config->tools = calloc(1, sizeof(*config->tools));
	if (!config->redact)
		config->redact = calloc(1, sizeof(*config->redact));
	if (!config->containers)
		config->containers = calloc(1, sizeof(*config->containers));
	if (!config->probes)
		config->probes = calloc(1, sizeof(*config->probes));
	if (!config->sinks)
		config->sinks = calloc(1, sizeof(*config->sinks));
	if (!config->plugin_dirs || !config->tools || !config->redact || !config->containers || !config->probes ||
	    !config->sinks)
		reader_no_memory(r);
	if (!config->control_socket && !config->control_off) {
		config->control_socket = strdup(CONTROL_SOCKET_DEFAULT);
		if (!config->control_socket)
			reader_no_memory(r);
	}
}

struct config *config_parse(const char *text, size_t len, const char *name, struct diag *diag)
{
	struct config *config = calloc(1, sizeof(*config));
	struct reader r = { .config = config, .diag = diag };
	size_t n_errors = diag->n_errors;
	json_t *json = NULL;

	if (config)
		config->file = strdup(name);
	if (!config || !config->file) {
		diag_add(diag, DIAG_ERROR, name, 0, 0, "out of memory");
		goto out;
	}
	config->interval_ns = INTERVAL_DEFAULT;
	config->process_interval_ns = PROCESS_INTERVAL_DEFAULT;
	config->drain_ns = DRAIN_DEFAULT;
	config->spool = (struct config_spool){
		.max_bytes = SPOOL_BYTES_DEFAULT,
		.reserve_bytes = SPOOL_RESERVE_DEFAULT,
		.max_age_ns = SPOOL_AGE_DEFAULT,
		.sync_ns = SPOOL_SYNC_DEFAULT,
	};
	json = config_json_positions(text, len, name, diag, &config->positions);
	if (!json)
		goto out;
	if (!json_is_object(json)) {
		reader_wrong(&r, config->positions->line, config->positions->column, "configuration",
			  "an object: { ... }", json);
		goto out;
	}
	reader_keys(&r, config->positions, json, "", config_keys);
	config_check_names(&r);
	config_check_moved(&r);
	if (json_object_get(json, "spool") && !config->spool.path) {
		config->spool.path = strdup(SPOOL_PATH_DEFAULT);
		if (!config->spool.path)
			reader_no_memory(&r);
	}
	fill_defaults(&r);
out:
	json_decref(json);
	if (diag->n_errors > n_errors)
		return config_free(config);
	return config;
}

/*
 * A pipe or a device needs no check: the caller who chose it could choose the file as well.  After a privileged start
 * the caller chooses nothing.
 */
static int check_owner(const char *file, const struct stat *st, struct diag *diag)
{
	if (!S_ISREG(st->st_mode) && !privileged_start())
		return 0;
	if (!trust_uid(st->st_uid))
		diag_add(
			diag, DIAG_ERROR, file, 0, 0,
			"belongs to uid %u: it says which code is loaded and where records go, so it must be root's, or of who runs this: "
			"chown root it",
			(unsigned)st->st_uid);
	else if (st->st_mode & (S_IWGRP | S_IWOTH))
		diag_add(
			diag, DIAG_ERROR, file, 0, 0,
			"is writable by %s (mode %04o): it says which code is loaded and where records go: chmod go-w it",
			st->st_mode & S_IWOTH ? "everybody" : "its group", (unsigned)(st->st_mode & 07777));
	else
		return 0;
	return -EPERM;
}

static struct config *load(const char *file, bool trusted, struct diag *diag)
{
	struct config *config = NULL;
	struct stat st;
	char *text;
	size_t len;

	if (config_read_file_stat(file, FILE_MAX, diag, &text, &len, &st))
		return NULL;
	if (!trusted || check_owner(file, &st, diag) == 0)
		config = config_parse(text, len, file, diag);
	if (config)
		config->others_read = S_ISREG(st.st_mode) && (st.st_mode & S_IROTH);
	explicit_bzero(text, len); /* secrets may have stood in it */
	free(text);
	return config;
}

struct config *config_load(const char *file, struct diag *diag)
{
	return load(file, false, diag);
}

struct config *config_load_trusted(const char *file, struct diag *diag)
{
	return load(file, true, diag);
}

static void entries_free(struct config_plugin *entries, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(entries[i].plugin);
		free(entries[i].name);
		json_decref(entries[i].options);
	}
	free(entries);
}

struct config *config_free(struct config *config)
{
	if (!config)
		return NULL;
	entries_free(config->probes, config->n_probes);
	entries_free(config->sinks, config->n_sinks);
	config_strings_free(config->plugin_dirs);
	config_strings_free(config->tools);
	config_strings_free(config->redact);
	config_strings_free(config->containers);
	config_strings_free(config->keep_capabilities);
	config_strings_free(config->filters.dirs);
	config_strings_free(config->filters.packs);
	config_strings_free(config->filters.pack_dirs);
	json_decref(config->labels);
	free(config->pin_dir);
	free(config->spool.path);
	free(config->control_socket);
	config_pos_free(config->positions);
	free(config->file);
	free(config);
	return NULL;
}

/* Which entry of which list it is; NULL when it is not of this configuration. */
static const char *entry_list(const struct config *config, const struct config_plugin *entry, size_t *ret_index)
{
	for (size_t i = 0; i < config->n_probes; i++)
		if (&config->probes[i] == entry) {
			*ret_index = i;
			return "probes";
		}
	for (size_t i = 0; i < config->n_sinks; i++)
		if (&config->sinks[i] == entry) {
			*ret_index = i;
			return "sinks";
		}
	return NULL;
}

void config_option_position(const struct config *config, const struct config_plugin *entry, const char *key,
			    int *ret_line, int *ret_column)
{
	const struct config_pos *at = NULL;
	size_t i = 0;
	const char *list = entry_list(config, entry, &i);

	if (list)
		at = config_pos_key(config_pos_at(config_pos_key(config->positions, list), i), key);
	*ret_line = at ? at->key_line : entry->line;
	*ret_column = at ? at->key_column : 0;
}

int config_option_line(const struct config *config, const struct config_plugin *entry, const char *key)
{
	int line, column;

	config_option_position(config, entry, key, &line, &column);
	return line;
}

void config_entry_name(const struct config *config, const struct config_plugin *entry, char *ret, size_t size)
{
	size_t i = 0;
	const char *list = entry_list(config, entry, &i);

	if (list)
		snprintf(ret, size, "%s[%zu] (%s)", list, i, entry->name);
	else
		snprintf(ret, size, "%s", entry->name);
}
