/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config.c - what the configuration means: which keys there are, of which type,
 * with which defaults.  A plugin's own options stay JSON here; core/options.c applies
 * them when the plugin is there to say what they are.
 */
#include "core/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/config_pos.h"
#include "core/confine.h"
#include "filters/suggest.h"

#define SITE_PLUGIN_DIR "/usr/local/lib/skep/plugins"
#define PACK_DIR SKEP_DATA_DIR "/packs"
#define FILE_MAX (4u << 20)
#define INSTANCE_NAME_MAX 63u
#define PLUGIN_NAME_MAX 31u /* what a plugin's note has room for */

#define NS_PER_MS 1000000ull
#define INTERVAL_DEFAULT (5000 * NS_PER_MS)
#define PROCESS_INTERVAL_DEFAULT (60000 * NS_PER_MS)
#define INTERVAL_MIN (100 * NS_PER_MS)
#define INTERVAL_MAX (3600 * 1000 * NS_PER_MS)

struct reader {
	struct config *config;
	struct diag *diag;
};

typedef void (*read_fn)(struct reader *, const struct config_pos *at, const json_t *value);

struct key {
	const char *name;
	read_fn read;
};

#define fail_at(r, line, column, ...) diag_add((r)->diag, DIAG_ERROR, (r)->config->file, line, column, __VA_ARGS__)

static void fail_memory(struct reader *r)
{
	fail_at(r, 0, 0, "out of memory");
}

/* where: "interval", "probes[0]"; expected: "a time such as \"5s\"". */
static void fail_type(struct reader *r, int line, int column, const char *where, const char *expected,
		      const json_t *found)
{
	char words[CONFIG_QUOTE_SIZE];

	config_describe(found, words, sizeof(words));
	fail_at(r, line, column, "%s: expected %s, found %s", where, expected, words);
}

/* in: "" for the file's own keys, else " in host". */
static void fail_unknown(struct reader *r, const struct config_pos *at, const char *in, const struct key *keys)
{
	const char *names[16] = { NULL };
	const char *near;
	char quoted[CONFIG_QUOTE_SIZE];
	char *list = NULL;
	size_t n = 0, size;
	FILE *out;

	for (; keys->name && n + 1 < sizeof(names) / sizeof(names[0]); keys++)
		names[n++] = keys->name;
	config_quote(at->key, quoted, sizeof(quoted));
	near = suggest_nearest(at->key, names);
	if (near) {
		fail_at(r, at->key_line, at->key_column, "unknown key %s%s: did you mean \"%s\"?", quoted, in, near);
		return;
	}
	out = open_memstream(&list, &size);
	for (size_t i = 0; out && i < n; i++)
		fprintf(out, "%s%s", i ? ", " : "", names[i]);
	if (out && fclose(out) != 0)
		size = 0;
	fail_at(r, at->key_line, at->key_column, "unknown key %s%s: known are %s", quoted, in, list ? list : "others");
	free(list);
}

/* Calls each key's reader. Walks the positions and not the object: then each key knows its place at no cost. */
static void read_keys(struct reader *r, const struct config_pos *at, const json_t *object, const char *in,
		      const struct key *keys)
{
	for (at = at->first; at; at = at->next) {
		const struct key *key = keys;

		while (key->name && strcmp(key->name, at->key) != 0)
			key++;
		if (key->name)
			key->read(r, at, json_object_get(object, at->key));
		else
			fail_unknown(r, at, in, keys);
	}
}

static char **strings_free(char **strings)
{
	for (size_t i = 0; strings && strings[i]; i++)
		free(strings[i]);
	free(strings);
	return NULL;
}

/* An array of non-empty strings; NULL after errors. */
static char **read_strings(struct reader *r, const struct config_pos *at, const json_t *value, bool absolute)
{
	size_t n_errors = r->diag->n_errors, i = 0;
	char **strings;

	if (!json_is_array(value)) {
		fail_type(r, at->key_line, at->key_column, at->key, "an array of paths", value);
		return NULL;
	}
	strings = calloc(json_array_size(value) + 1, sizeof(*strings));
	if (!strings)
		goto memory;
	for (const struct config_pos *item = at->first; item; item = item->next, i++) {
		const json_t *element = json_array_get(value, i);
		const char *path = json_string_value(element);
		char where[CONFIG_QUOTE_SIZE], quoted[CONFIG_QUOTE_SIZE];

		snprintf(where, sizeof(where), "%s[%zu]", at->key, i);
		if (!path || !*path) {
			fail_type(r, item->line, item->column, where, "a path", element);
			path = "";
		} else if (absolute && path[0] != '/') {
			config_quote(path, quoted, sizeof(quoted));
			fail_at(r, item->line, item->column,
				"%s: %s is not an absolute path: code is loaded from there, so it must not depend on "
				"the current directory",
				where, quoted);
		}
		strings[i] = strdup(path);
		if (!strings[i])
			goto memory;
	}
	if (r->diag->n_errors == n_errors)
		return strings;
	return strings_free(strings);
memory:
	fail_memory(r);
	return strings_free(strings);
}

static void read_labels(struct reader *r, const struct config_pos *at, const json_t *value)
{
	size_t n_errors = r->diag->n_errors;
	char where[CONFIG_QUOTE_SIZE + 16];

	if (!json_is_object(value)) {
		fail_type(r, at->key_line, at->key_column, "host.labels",
			  "an object of strings such as { \"site\": \"hpc-a\" }", value);
		return;
	}
	for (const struct config_pos *label = at->first; label; label = label->next) {
		const json_t *text = json_object_get(value, label->key);

		if (!*label->key)
			fail_at(r, label->key_line, label->key_column, "host.labels: a label needs a name");
		if (json_is_string(text))
			continue;
		memcpy(where, "host.labels.", sizeof("host.labels."));
		config_quote(label->key, where + strlen(where), CONFIG_QUOTE_SIZE);
		fail_type(r, label->key_line, label->key_column, where, "a string", text);
	}
	if (r->diag->n_errors > n_errors)
		return;
	r->config->labels = json_deep_copy(value);
	if (!r->config->labels)
		fail_memory(r);
}

static const struct key host_keys[] = {
	{ "labels", read_labels },
	{ NULL, NULL },
};

static void read_host(struct reader *r, const struct config_pos *at, const json_t *value)
{
	if (json_is_object(value))
		read_keys(r, at, value, " in host", host_keys);
	else
		fail_type(r, at->key_line, at->key_column, "host", "an object such as { \"labels\": { } }", value);
}

/* Between least and most, or, where zero_ok, "0s". */
static void read_time(struct reader *r, const struct config_pos *at, const json_t *value, const char *key, bool zero_ok, uint64_t *ret)
{
	const char *text = json_string_value(value);
	char quoted[CONFIG_QUOTE_SIZE];
	uint64_t ns = 0;
	int err = text ? config_time(text, &ns) : -EINVAL;

	if (err == -EINVAL)
		fail_type(r, at->key_line, at->key_column, key,
			  "a time such as \"5s\" (units: ns us ms s m h d)", value);
	if (err == -EINVAL)
		return;
	config_quote(text, quoted, sizeof(quoted));
	if (err || ((ns < INTERVAL_MIN || ns > INTERVAL_MAX) && !(zero_ok && ns == 0)))
		fail_at(r, at->key_line, at->key_column, "%s: %s is out of bounds: from 100ms to 1h%s", key, quoted,
			zero_ok ? ", or \"0s\" for none" : "");
	else
		*ret = ns;
}

static void read_interval(struct reader *r, const struct config_pos *at, const json_t *value)
{
	read_time(r, at, value, "interval", false, &r->config->interval_ns);
}

static void read_process_interval(struct reader *r, const struct config_pos *at, const json_t *value)
{
	read_time(r, at, value, "process_interval", true, &r->config->process_interval_ns);
}

static void read_plugin_dirs(struct reader *r, const struct config_pos *at, const json_t *value)
{
	r->config->plugin_dirs = read_strings(r, at, value, true);
	if (r->config->plugin_dirs && !r->config->plugin_dirs[0])
		fail_at(r, at->key_line, at->key_column,
			"plugin_dirs: empty, so no plugin could be found: leave the key out for the default");
}

static void read_tools(struct reader *r, const struct config_pos *at, const json_t *value)
{
	r->config->tools = read_strings(r, at, value, false);
}

static void read_redact(struct reader *r, const struct config_pos *at, const json_t *value)
{
	r->config->redact = read_strings(r, at, value, false);
}

static void read_containers(struct reader *r, const struct config_pos *at, const json_t *value)
{
	r->config->containers = read_strings(r, at, value, false);
}

/*
 * Plugin and instance names end up in file names, log lines, metrics and labels, so
 * their letters are few.  A plugin's name is as core/plugin.c takes it, said here with its line.
 */
static bool name_is_good(const char *name, bool plugin)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
	size_t n = strspn(name, letters);

	if (plugin && memchr(name, '.', n))
		return false;
	return n > 0 && n <= (plugin ? PLUGIN_NAME_MAX : INSTANCE_NAME_MAX) && name[n] == '\0' && name[0] != '.' &&
	       name[0] != '-';
}

/* A name of an entry: "plugin" or "name". NULL after an error. */
static char *read_name(struct reader *r, const struct config_pos *at, const char *entry, const json_t *value)
{
	const char *name = json_string_value(value);
	bool plugin = strcmp(at->key, "plugin") == 0;
	char where[64], quoted[CONFIG_QUOTE_SIZE];
	char *copy;

	snprintf(where, sizeof(where), "%s: %s", entry, at->key);
	if (!name) {
		fail_type(r, at->key_line, at->key_column, where, "a name", value);
		return NULL;
	}
	if (!name_is_good(name, plugin)) {
		config_quote(name, quoted, sizeof(quoted));
		if (plugin && strchr(name, '/'))
			fail_at(r, at->key_line, at->key_column,
				"%s: %s is a path: write the bare name, and its directory into plugin_dirs", where, quoted);
		else
			fail_at(r, at->key_line, at->key_column,
				"%s: %s is not a name: 1 to %u letters, digits, '_'%s, beginning with a letter, digit or '_'",
				where, quoted, plugin ? PLUGIN_NAME_MAX : INSTANCE_NAME_MAX,
				plugin ? " and '-'" : ", '-' and '.'");
		return NULL;
	}
	copy = strdup(name);
	if (!copy)
		fail_memory(r);
	return copy;
}

static void read_entry(struct reader *r, const struct config_pos *at, const char *where, const json_t *value,
		       struct config_plugin *entry)
{
	bool named = false, has_plugin = false;

	entry->line = at->line;
	if (!json_is_object(value)) {
		fail_type(r, at->line, at->column, where, "an object such as { \"plugin\": \"proc\" }", value);
		return;
	}
	entry->options = json_object();
	for (at = at->first; at; at = at->next) {
		json_t *option = json_object_get(value, at->key);

		if (strcmp(at->key, "plugin") == 0) {
			has_plugin = true;
			entry->plugin = read_name(r, at, where, option);
		} else if (strcmp(at->key, "name") == 0) {
			named = true;
			entry->name = read_name(r, at, where, option);
		} else if (strcmp(at->key, "required") == 0) {
			char which[64];

			snprintf(which, sizeof(which), "%s: required", where);
			if (!json_is_boolean(option))
				fail_type(r, at->key_line, at->key_column, which, "true or false", option);
			entry->required = json_is_true(option);
		} else if (json_object_set_nocheck(entry->options, at->key, option)) {
			fail_memory(r); /* also when json_object() gave NULL */
		}
	}
	if (!entry->options)
		fail_memory(r);
	if (!has_plugin)
		fail_at(r, entry->line, 0, "%s: \"plugin\" is missing: which plugin is it?", where);
	if (entry->plugin && !named) {
		entry->name = strdup(entry->plugin);
		if (!entry->name)
			fail_memory(r);
	}
}

static void read_entries(struct reader *r, const struct config_pos *at, const json_t *value,
			 struct config_plugin **ret_entries, size_t *ret_n)
{
	struct config_plugin *entries;
	char where[32];
	size_t i = 0;

	if (!json_is_array(value)) {
		fail_type(r, at->key_line, at->key_column, at->key, "an array of objects", value);
		return;
	}
	entries = calloc(json_array_size(value) + 1, sizeof(*entries));
	if (!entries) {
		fail_memory(r);
		return;
	}
	*ret_entries = entries;
	*ret_n = json_array_size(value);
	for (at = at->first; at; at = at->next, i++) {
		snprintf(where, sizeof(where), "%s[%zu]", ret_n == &r->config->n_probes ? "probes" : "sinks", i);
		read_entry(r, at, where, json_array_get(value, i), &entries[i]);
	}
}

static void read_probes(struct reader *r, const struct config_pos *at, const json_t *value)
{
	read_entries(r, at, value, &r->config->probes, &r->config->n_probes);
}

static void read_sinks(struct reader *r, const struct config_pos *at, const json_t *value)
{
	read_entries(r, at, value, &r->config->sinks, &r->config->n_sinks);
}

static void read_control_socket(struct reader *r, const struct config_pos *at, const json_t *value)
{
	static const char wanted[] = "an absolute path such as \"" CONTROL_SOCKET_DEFAULT "\", or false for none";
	const char *path = json_string_value(value);
	char quoted[CONFIG_QUOTE_SIZE];

	r->config->control_asked = true;
	if (json_is_false(value)) {
		r->config->control_off = true;
		return;
	}
	if (!path || path[0] != '/') {
		fail_type(r, at->key_line, at->key_column, "control.socket", wanted, value);
		return;
	}
	if (strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path)) {
		config_quote(path, quoted, sizeof(quoted));
		fail_at(r, at->key_line, at->key_column, "control.socket: %s is too long for a socket: at most %zu bytes",
			quoted, sizeof(((struct sockaddr_un *)0)->sun_path) - 1);
		return;
	}
	r->config->control_socket = strdup(path);
	if (!r->config->control_socket)
		fail_memory(r);
}

static void read_carry_file(struct reader *r, const struct config_pos *at, const json_t *value)
{
	const char *path = json_string_value(value);

	if (!path || path[0] != '/') {
		fail_type(r, at->key_line, at->key_column, "carry_file", "an absolute path such as \"/run/skep/carry.json\"", value);
		return;
	}
	r->config->carry_file = strdup(path);
	if (!r->config->carry_file)
		fail_memory(r);
}

static void read_pin_dir(struct reader *r, const struct config_pos *at, const json_t *value)
{
	const char *path = json_string_value(value);

	if (!path || path[0] != '/') {
		fail_type(r, at->key_line, at->key_column, "pin_dir", "an absolute path in a BPF filesystem such as \"/sys/fs/bpf/skep\"", value);
		return;
	}
	r->config->pin_dir = strdup(path);
	if (!r->config->pin_dir)
		fail_memory(r);
}

static void read_keep_capabilities(struct reader *r, const struct config_pos *at, const json_t *value)
{
	char **names = read_strings(r, at, value, false);
	char quoted[CONFIG_QUOTE_SIZE];
	size_t i = 0;

	r->config->keep_capabilities = names;
	for (at = names ? at->first : NULL; at; at = at->next, i++) {
		config_quote(names[i], quoted, sizeof(quoted));
		if (confine_capability(names[i]) < 0)
			fail_at(r, at->line, at->column, "keep_capabilities[%zu]: %s is no capability: expected such as \"CAP_SYS_RAWIO\"", i, quoted);
	}
}

/* ---- filters ---------------------------------------------------------------------- */

static void read_filter_dirs(struct reader *r, const struct config_pos *at, const json_t *value)
{
	r->config->filters.dirs = read_strings(r, at, value, false);
}

static void read_filter_packs(struct reader *r, const struct config_pos *at, const json_t *value)
{
	char **packs = read_strings(r, at, value, false);
	char quoted[CONFIG_QUOTE_SIZE];
	size_t i = 0;

	r->config->filters.packs = packs;
	for (at = packs ? at->first : NULL; at; at = at->next, i++) {
		config_quote(packs[i], quoted, sizeof(quoted));
		if (strchr(packs[i], '/') || packs[i][0] == '.')
			fail_at(r, at->line, at->column,
				"packs[%zu]: %s is a path: write the pack's bare name, as \"host\"; files of your own belong into filters.dirs", i,
				quoted);
		for (size_t j = 0; j < i; j++)
			if (strcmp(packs[i], packs[j]) == 0)
				fail_at(r, at->line, at->column, "packs[%zu]: %s stands here a second time: remove one", i, quoted);
	}
}

static void read_pack_dirs(struct reader *r, const struct config_pos *at, const json_t *value)
{
	r->config->filters.pack_dirs = read_strings(r, at, value, false);
}

static void read_filter_default(struct reader *r, const struct config_pos *at, const json_t *value)
{
	const char *word = json_string_value(value);

	r->config->filters.exclude = word && strcmp(word, "exclude") == 0;
	if (!r->config->filters.exclude && !(word && strcmp(word, "include") == 0))
		fail_type(r, at->key_line, at->key_column, "filters.default", "\"include\" or \"exclude\"", value);
}

static void read_filter_kernel(struct reader *r, const struct config_pos *at, const json_t *value)
{
	r->config->filters.no_kernel = json_is_false(value);
	if (!json_is_boolean(value))
		fail_type(r, at->key_line, at->key_column, "filters.kernel", "true or false", value);
}

static const struct key filter_keys[] = {
	{ "dirs", read_filter_dirs },
	{ "packs", read_filter_packs },
	{ "pack_dirs", read_pack_dirs },
	{ "default", read_filter_default },
	{ "kernel", read_filter_kernel },
	{ NULL, NULL },
};

static void read_filters(struct reader *r, const struct config_pos *at, const json_t *value)
{
	if (json_is_object(value))
		read_keys(r, at, value, " in filters", filter_keys);
	else
		fail_type(r, at->key_line, at->key_column, "filters",
			  "an object such as { \"dirs\": [ \"" SKEP_SYSCONF_DIR "/filters.d\" ], \"packs\": [ \"host\" ] }", value);
}

static const struct key control_keys[] = {
	{ "socket", read_control_socket },
	{ NULL, NULL },
};

static void read_control(struct reader *r, const struct config_pos *at, const json_t *value)
{
	if (json_is_object(value))
		read_keys(r, at, value, " in control", control_keys);
	else
		fail_type(r, at->key_line, at->key_column, "control",
			  "an object such as { \"socket\": \"" CONTROL_SOCKET_DEFAULT "\" }", value);
}

static const struct key config_keys[] = {
	{ "host", read_host },
	{ "interval", read_interval },
	{ "process_interval", read_process_interval },
	{ "plugin_dirs", read_plugin_dirs },
	{ "probes", read_probes },
	{ "sinks", read_sinks },
	{ "tools", read_tools },
	{ "redact", read_redact },
	{ "containers", read_containers },
	{ "filters", read_filters },
	{ "carry_file", read_carry_file },
	{ "pin_dir", read_pin_dir },
	{ "keep_capabilities", read_keep_capabilities },
	{ "control", read_control },
	{ NULL, NULL },
};

/* Across probes and sinks: counters, losses and log lines name an instance by this alone. */
static void check_names(struct reader *r)
{
	const struct config *config = r->config;
	size_t n = config->n_probes + config->n_sinks;
	json_t *seen = json_object();

	if (!seen)
		fail_memory(r);
	for (size_t i = 0; seen && i < n; i++) {
		const struct config_plugin *entry = i < config->n_probes ? &config->probes[i] :
									   &config->sinks[i - config->n_probes];
		const json_t *first;

		if (!entry->name)
			continue;
		first = json_object_get(seen, entry->name);
		if (first)
			fail_at(r, entry->line, 0,
				"two instances are named \"%s\", here and in line %d: give one of them another \"name\"",
				entry->name, (int)json_integer_value(first));
		else if (json_object_set_new(seen, entry->name, json_integer(entry->line)))
			fail_memory(r);
	}
	json_decref(seen);
}

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
				return strings_free(dirs);
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
		fail_memory(r);
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
	if (!config->plugin_dirs || !config->tools || !config->redact || !config->containers || !config->probes || !config->sinks)
		fail_memory(r);
	if (!config->control_socket && !config->control_off) {
		config->control_socket = strdup(CONTROL_SOCKET_DEFAULT);
		if (!config->control_socket)
			fail_memory(r);
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
	json = config_json_positions(text, len, name, diag, &config->positions);
	if (!json)
		goto out;
	if (!json_is_object(json)) {
		fail_type(&r, config->positions->line, config->positions->column, "configuration",
			  "an object: { ... }", json);
		goto out;
	}
	read_keys(&r, config->positions, json, "", config_keys);
	check_names(&r);
	fill_defaults(&r);
out:
	json_decref(json);
	if (diag->n_errors > n_errors)
		return config_free(config);
	return config;
}

/* Not of a pipe or a device: whoever made us read it has chosen us already. */
static int check_owner(const char *file, const struct stat *st, struct diag *diag)
{
	if (!S_ISREG(st->st_mode))
		return 0;
	if (st->st_uid != 0 && st->st_uid != geteuid())
		diag_add(diag, DIAG_ERROR, file, 0, 0,
			 "belongs to uid %u: it says which code is loaded and where records go, so it must be root's, or of who runs this: "
			 "chown root it",
			 (unsigned)st->st_uid);
	else if (st->st_mode & (S_IWGRP | S_IWOTH))
		diag_add(diag, DIAG_ERROR, file, 0, 0, "is writable by %s (mode %04o): it says which code is loaded and where records go: chmod go-w it",
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
	strings_free(config->plugin_dirs);
	strings_free(config->tools);
	strings_free(config->redact);
	strings_free(config->containers);
	strings_free(config->keep_capabilities);
	strings_free(config->filters.dirs);
	strings_free(config->filters.packs);
	strings_free(config->filters.pack_dirs);
	json_decref(config->labels);
	free(config->carry_file);
	free(config->pin_dir);
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
