/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a configuration, sizes, times, suggestions and option values of any
 * bytes. Besides memory errors it looks for broken promises: NULL without an error, an
 * error at a line that the text does not have, a value out of its bounds.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/config/options.h"
#include "filters/suggest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define promise(condition)       \
	do {                     \
		if (!(condition)) \
			abort(); \
	} while (0)

struct state {
	bool on;
	int64_t number;
	uint64_t ring, drain;
	const char *path;
	const char **list;
};

/* No secrets: those read files and the environment, which would make a finding depend on the machine. */
static const struct skep_option table[] = {
	{ .name = "on", .type = SKEP_O_BOOL, .offset = offsetof(struct state, on), .help = "x" },
	{ .name = "number",
	  .type = SKEP_O_INT,
	  .offset = offsetof(struct state, number),
	  .min = -5,
	  .max = 5,
	  .help = "x" },
	{ .name = "ring",
	  .type = SKEP_O_SIZE,
	  .offset = offsetof(struct state, ring),
	  .default_value = "4MiB",
	  .min = 1,
	  .max = INT64_MAX,
	  .help = "x" },
	{ .name = "drain", .type = SKEP_O_TIME, .offset = offsetof(struct state, drain), .help = "x" },
	{ .name = "path", .type = SKEP_O_STR, .offset = offsetof(struct state, path), .help = "x" },
	{ .name = "list", .type = SKEP_O_STRV, .offset = offsetof(struct state, list), .help = "x" },
	{ .name = NULL },
};

static const struct skep_plugin plugin = {
	.name = "proc",
	.options = table,
	.option_size = sizeof(table[0]),
	.state_size = sizeof(struct state),
};

static void check_places(const struct diag *diag, size_t from, int lines)
{
	for (size_t i = from; i < diag->n; i++) {
		const struct diag_entry *entry = &diag->entries[i];

		promise(entry->line >= 0 && entry->line <= lines);
		promise(entry->column >= 0);
		promise(entry->text[0] != '\0' && !strpbrk(entry->text, "\n\x1b"));
	}
}

static void check_entry(const struct config *config, const struct config_plugin *entry, int lines)
{
	struct options_memory *memory = NULL;
	struct state state;
	struct diag diag;
	int err;

	promise(entry->plugin && entry->name && entry->options && entry->line > 0);
	memset(&state, 0, sizeof(state));
	diag_init(&diag);
	err = options_apply(&plugin, config, entry, &state, &memory, &diag);
	promise((err != 0) == (diag.n_errors > 0));
	promise(!err || (!memory && !state.path && !state.list));
	promise(err || (state.number >= -5 && state.number <= 5 && state.ring >= 1 && state.ring <= INT64_MAX));
	check_places(&diag, 0, lines);
	options_memory_free(memory);
	diag_clear(&diag);
}

static void try_config(const char *text, size_t size)
{
	struct config *config;
	struct diag diag;
	int lines = 1;

	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	diag_init(&diag);
	config = config_parse(text, size, "fuzz", &diag);
	promise((config == NULL) == (diag.n_errors > 0));
	check_places(&diag, 0, lines);
	if (config) {
		promise(config->interval_ns >= 100000000 && config->interval_ns <= 3600000000000ull);
		promise(config->plugin_dirs[0] != NULL);
		promise(config->tools && config->redact && config->containers && config->file);
		for (size_t i = 0; i < config->n_probes; i++)
			check_entry(config, &config->probes[i], lines);
		for (size_t i = 0; i < config->n_sinks; i++)
			check_entry(config, &config->sinks[i], lines);
	}
	config_free(config);
	diag_clear(&diag);
}

static void try_words(const char *text)
{
	static const char *const keys[] = { "host",  "interval", "plugin_dirs", "probes",
					    "sinks", "tools",    "redact",      NULL };
	char formatted[CONFIG_UNITS_SIZE], quoted[32];
	uint64_t value = 0, again = 0;

	if (config_size(text, &value) == 0) {
		config_size_format(value, formatted);
		promise(config_size(formatted, &again) == 0 && again == value);
	}
	if (config_time(text, &value) == 0) {
		config_time_format(value, formatted);
		promise(config_time(formatted, &again) == 0 && again == value);
	}
	suggest_nearest(text, keys);
	config_quote(text, quoted, sizeof(quoted));
	promise(strlen(quoted) < sizeof(quoted));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	try_words(text);
	/* From a block of exactly that size: one byte too far is a finding. */
	free(text);
	text = malloc(size ? size : 1);
	if (!text)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	try_config(text, size);
	free(text);
	return 0;
}
