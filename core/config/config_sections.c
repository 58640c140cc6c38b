/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/config_sections.c - which keys there are, and what each may be.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "core/config/config_read.h"
#include "core/base/confine.h"

#define SPOOL_BYTES_MIN (8ull << 20)

static void read_section(struct reader *r, const struct config_pos *at, const json_t *value, const struct key *keys,
			 const char *expected)
{
	char in[32];

	snprintf(in, sizeof(in), " in %s", at->key);
	if (json_is_object(value))
		reader_keys(r, at, value, in, keys);
	else
		reader_wrong(r, at->key_line, at->key_column, at->key, expected, value);
}

static void read_labels(struct reader *r, const struct config_pos *at, const json_t *value)
{
	size_t n_errors = r->diag->n_errors;
	char where[CONFIG_QUOTE_SIZE + 16];

	if (!json_is_object(value)) {
		reader_wrong(r, at->key_line, at->key_column, "host.labels",
			  "an object of strings such as { \"site\": \"hpc-a\" }", value);
		return;
	}
	for (const struct config_pos *label = at->first; label; label = label->next) {
		const json_t *text = json_object_get(value, label->key);

		if (!*label->key)
			reader_fail(r, label->key_line, label->key_column, "host.labels: a label needs a name");
		if (json_is_string(text))
			continue;
		memcpy(where, "host.labels.", sizeof("host.labels."));
		config_quote(label->key, where + strlen(where), CONFIG_QUOTE_SIZE);
		reader_wrong(r, label->key_line, label->key_column, where, "a string", text);
	}
	if (r->diag->n_errors > n_errors)
		return;
	r->config->labels = json_deep_copy(value);
	if (!r->config->labels)
		reader_no_memory(r);
}

static const struct key host_keys[] = {
	{ "labels", read_labels },
	{ NULL, NULL },
};

static void read_host(struct reader *r, const struct config_pos *at, const json_t *value)
{
	read_section(r, at, value, host_keys, "an object such as { \"labels\": { } }");
}

static void read_interval(struct reader *r, const struct config_pos *at, const json_t *value)
{
	reader_time(r, at, value, "interval", false, &r->config->interval_ns);
}

static void read_process_interval(struct reader *r, const struct config_pos *at, const json_t *value)
{
	reader_time(r, at, value, "process_interval", true, &r->config->process_interval_ns);
}

static void read_plugin_dirs(struct reader *r, const struct config_pos *at, const json_t *value)
{
	r->config->plugin_dirs = reader_strings(r, at, value, true);
	if (r->config->plugin_dirs && !r->config->plugin_dirs[0])
		reader_fail(r, at->key_line, at->key_column,
			"plugin_dirs: empty, so no plugin could be found: leave the key out for the default");
}

static void read_tools(struct reader *r, const struct config_pos *at, const json_t *value)
{
	r->config->tools = reader_strings(r, at, value, false);
}

static void read_redact(struct reader *r, const struct config_pos *at, const json_t *value)
{
	r->config->redact = reader_strings(r, at, value, false);
}

static void read_containers(struct reader *r, const struct config_pos *at, const json_t *value)
{
	r->config->containers = reader_strings(r, at, value, false);
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
		reader_wrong(r, at->key_line, at->key_column, "control.socket", wanted, value);
		return;
	}
	if (strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path)) {
		config_quote(path, quoted, sizeof(quoted));
		reader_fail(r, at->key_line, at->key_column,
			    "control.socket: %s is too long for a socket: at most %zu bytes", quoted,
			    sizeof(((struct sockaddr_un *)0)->sun_path) - 1);
		return;
	}
	r->config->control_socket = strdup(path);
	if (!r->config->control_socket)
		reader_no_memory(r);
}

static void read_drain(struct reader *r, const struct config_pos *at, const json_t *value)
{
	reader_time(r, at, value, "drain", true, &r->config->drain_ns);
}

static void read_pin_dir(struct reader *r, const struct config_pos *at, const json_t *value)
{
	reader_absolute(r, at, value, "pin_dir", "an absolute path in a BPF filesystem such as \"/sys/fs/bpf/skep\"",
			&r->config->pin_dir);
}

/* Whole seconds, as plugins have it (skep_host.pin_for_s). */
static void read_pin_for(struct reader *r, const struct config_pos *at, const json_t *value)
{
	reader_time(r, at, value, "pin_for", false, &r->config->pin_for_ns);
	if (r->config->pin_for_ns % (1000 * NS_PER_MS))
		reader_fail(r, at->key_line, at->key_column,
			    "pin_for: \"%s\" is no number of whole seconds such as \"600s\"", json_string_value(value));
}

static void read_keep_capabilities(struct reader *r, const struct config_pos *at, const json_t *value)
{
	char **names = reader_strings(r, at, value, false);
	char quoted[CONFIG_QUOTE_SIZE];
	size_t i = 0;

	r->config->keep_capabilities = names;
	for (at = names ? at->first : NULL; at; at = at->next, i++) {
		config_quote(names[i], quoted, sizeof(quoted));
		if (confine_capability(names[i]) < 0)
			reader_fail(r, at->line, at->column,
				    "keep_capabilities[%zu]: %s is no capability: expected such as \"CAP_SYS_RAWIO\"",
				    i, quoted);
	}
}

/* ---- filters ---------------------------------------------------------------------- */

static void read_filter_dirs(struct reader *r, const struct config_pos *at, const json_t *value)
{
	r->config->filters.dirs = reader_strings(r, at, value, false);
}

static void read_filter_packs(struct reader *r, const struct config_pos *at, const json_t *value)
{
	char **packs = reader_strings(r, at, value, false);
	char quoted[CONFIG_QUOTE_SIZE];
	size_t i = 0;

	r->config->filters.packs = packs;
	for (at = packs ? at->first : NULL; at; at = at->next, i++) {
		config_quote(packs[i], quoted, sizeof(quoted));
		if (strchr(packs[i], '/') || packs[i][0] == '.')
			reader_fail(
				r, at->line, at->column,
				"packs[%zu]: %s is a path: write the pack's bare name, as \"host\"; files of your own belong into filters.dirs",
				i, quoted);
		for (size_t j = 0; j < i; j++)
			if (strcmp(packs[i], packs[j]) == 0)
				reader_fail(r, at->line, at->column,
					    "packs[%zu]: %s stands here a second time: remove one", i, quoted);
	}
}

static void read_pack_dirs(struct reader *r, const struct config_pos *at, const json_t *value)
{
	r->config->filters.pack_dirs = reader_strings(r, at, value, false);
}

static void read_filter_default(struct reader *r, const struct config_pos *at, const json_t *value)
{
	const char *word = json_string_value(value);

	r->config->filters.exclude = word && strcmp(word, "exclude") == 0;
	if (!r->config->filters.exclude && !(word && strcmp(word, "include") == 0))
		reader_wrong(r, at->key_line, at->key_column, "filters.default", "\"include\" or \"exclude\"", value);
}

static void read_filter_kernel(struct reader *r, const struct config_pos *at, const json_t *value)
{
	r->config->filters.no_kernel = json_is_false(value);
	if (!json_is_boolean(value))
		reader_wrong(r, at->key_line, at->key_column, "filters.kernel", "true or false", value);
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
	read_section(r, at, value, filter_keys,
		     "an object such as { \"dirs\": [ \"" SKEP_SYSCONF_DIR "/filters.d\" ], \"packs\": [ \"host\" ] }");
}

static void read_spool_path(struct reader *r, const struct config_pos *at, const json_t *value)
{
	reader_absolute(r, at, value, "spool.path", "an absolute path such as \"" SKEP_STATE_DIR "/spool.db\"",
			&r->config->spool.path);
}

static void read_spool_max(struct reader *r, const struct config_pos *at, const json_t *value)
{
	reader_size(r, at, value, "spool.max_bytes", SPOOL_BYTES_MIN, &r->config->spool.max_bytes);
}

static void read_spool_reserve(struct reader *r, const struct config_pos *at, const json_t *value)
{
	reader_size(r, at, value, "spool.reserve", 0, &r->config->spool.reserve_bytes);
}

static void read_spool_age(struct reader *r, const struct config_pos *at, const json_t *value)
{
	reader_any_time(r, at, value, "spool.max_age", &r->config->spool.max_age_ns);
}

static void read_spool_sync(struct reader *r, const struct config_pos *at, const json_t *value)
{
	reader_any_time(r, at, value, "spool.sync", &r->config->spool.sync_ns);
}

static const struct key spool_keys[] = {
	{ "path", read_spool_path },
	{ "max_bytes", read_spool_max },
	{ "reserve", read_spool_reserve },
	{ "max_age", read_spool_age },
	{ "sync", read_spool_sync },
	{ NULL, NULL },
};

static void read_spool(struct reader *r, const struct config_pos *at, const json_t *value)
{
	read_section(r, at, value, spool_keys, "an object such as { \"path\": \"" SKEP_STATE_DIR "/spool.db\" }");
}

static const struct key control_keys[] = {
	{ "socket", read_control_socket },
	{ NULL, NULL },
};

static void read_control(struct reader *r, const struct config_pos *at, const json_t *value)
{
	read_section(r, at, value, control_keys, "an object such as { \"socket\": \"" CONTROL_SOCKET_DEFAULT "\" }");
}

const struct key config_keys[] = {
	{ "host", read_host },
	{ "interval", read_interval },
	{ "process_interval", read_process_interval },
	{ "plugin_dirs", read_plugin_dirs },
	{ "probes", config_read_probes },
	{ "sinks", config_read_sinks },
	{ "tools", read_tools },
	{ "redact", read_redact },
	{ "containers", read_containers },
	{ "filters", read_filters },
	{ "pin_dir", read_pin_dir },
	{ "pin_for", read_pin_for },
	{ "drain", read_drain },
	{ "spool", read_spool },
	{ "keep_capabilities", read_keep_capabilities },
	{ "control", read_control },
	{ NULL, NULL },
};
