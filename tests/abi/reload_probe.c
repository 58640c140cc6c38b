/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/reload_probe.c - the plugin "reloadable": a probe with options of every sort that logs each call of the
 * host as a line, so that a test of reloads sees which instances were called, in which order and with which values.
 */
#include <skep/plugin.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct reloadable {
	/* options */
	const char *log;
	const char *fail_while;
	const char *decline_while;
	const char *label;     /* reloadable */
	const char **list;     /* reloadable */
	int64_t level;         /* reloadable */
	uint64_t size;
	/* state */
	const struct skep_host *host;
	struct skep_instance *inst;
	const char *kept;      /* an unchanged option's text, stored at open(): must stay valid */
};

struct pulse {
	uint64_t level;
};

static const struct skep_field pulse_fields[] = {
	SKEP_FIELD(struct pulse, level, "level", SKEP_T_U64, SKEP_S_GAUGE, "1", "of the option"),
};
static const struct skep_stream pulse_stream = {
	.size = sizeof(struct skep_stream),
	.name = "reloadable.pulse",
	.help = "one at each sample",
	.role = SKEP_ROLE_NONE,
	.record_size = sizeof(struct pulse),
	.field_size = sizeof(struct skep_field),
	.n_fields = sizeof(pulse_fields) / sizeof(pulse_fields[0]),
	.fields = pulse_fields,
};
static const struct skep_stream *const streams[] = { &pulse_stream };

static const struct skep_option options[] = {
	{ .name = "log",
	  .type = SKEP_O_STR,
	  .flags = SKEP_OPT_REQUIRED,
	  .offset = offsetof(struct reloadable, log),
	  .help = "file that the calls are appended to" },
	{ .name = "fail_while",
	  .type = SKEP_O_STR,
	  .offset = offsetof(struct reloadable, fail_while),
	  .help = "start() fails as long as this file is there" },
	{ .name = "decline_while",
	  .type = SKEP_O_STR,
	  .offset = offsetof(struct reloadable, decline_while),
	  .help = "reload() asks to be restarted as long as this file is there" },
	{ .name = "label",
	  .type = SKEP_O_STR,
	  .flags = SKEP_OPT_RELOADABLE,
	  .offset = offsetof(struct reloadable, label),
	  .default_value = "none",
	  .help = "a text" },
	{ .name = "list",
	  .type = SKEP_O_STRV,
	  .flags = SKEP_OPT_RELOADABLE,
	  .offset = offsetof(struct reloadable, list),
	  .help = "texts" },
	{ .name = "level",
	  .type = SKEP_O_INT,
	  .flags = SKEP_OPT_RELOADABLE,
	  .offset = offsetof(struct reloadable, level),
	  .default_value = "1",
	  .min = 0,
	  .max = 100,
	  .help = "a number" },
	{ .name = "size",
	  .type = SKEP_O_SIZE,
	  .offset = offsetof(struct reloadable, size),
	  .default_value = "1KiB",
	  .help = "cannot change while it runs" },
	{ .name = NULL },
};

static void note(const struct reloadable *r, const char *what, const struct reloadable *values)
{
	FILE *out = fopen(r->log, "ae");

	if (!out)
		return;
	fprintf(out, "%s level=%lld label=%s size=%llu list=", what, (long long)values->level,
		values->label ? values->label : "-", (unsigned long long)values->size);
	for (const char **s = values->list; s && *s; s++)
		fprintf(out, "%s,", *s);
	fputc('\n', out);
	fclose(out);
}

static int reloadable_open(struct skep_instance *inst, void *state, const struct skep_host *host)
{
	struct reloadable *r = state;

	r->host = host;
	r->inst = inst;
	r->kept = r->log;
	note(r, "open", r);
	return 0;
}

static int reloadable_start(struct skep_instance *inst, void *state)
{
	struct reloadable *r = state;

	if (r->fail_while && access(r->fail_while, F_OK) == 0) {
		note(r, "refused", r);
		return r->host->fail(inst, -EINVAL, "%s is there; remove it", r->fail_while);
	}
	note(r, "start", r);
	return 0;
}

static void reloadable_sample(struct skep_instance *inst, void *state)
{
	struct reloadable *r = state;
	struct pulse pulse = { (uint64_t)r->level };

	/* Reads every text: the sanitizers find one that dangles. */
	if (strcmp(r->kept, r->log) != 0 || !r->label)
		r->host->log(inst, SKEP_LOG_ERROR, "its options have changed under it");
	for (const char **s = r->list; s && *s; s++)
		pulse.level += strlen(*s) * 1000;
	r->host->emit(inst, 0, NULL, 0, &pulse);
}

static int reloadable_reload(struct skep_instance *inst, void *state, const void *next)
{
	struct reloadable *r = state;

	if (r->decline_while && access(r->decline_while, F_OK) == 0)
		return -ENOTSUP;
	note(r, "reload", next);
	(void)inst;
	return 0;
}

static void reloadable_stop(struct skep_instance *inst, void *state)
{
	(void)inst;
	note(state, "stop", state);
}

static void reloadable_close(struct skep_instance *inst, void *state)
{
	const struct reloadable *r = state;

	(void)inst;
	if (r->host)
		note(r, "close", r);
}

static const struct skep_plugin reloadable_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_PROBE,
	.name = "reloadable",
	.version = "1.0",
	.summary = "writes down what the host does with it, for tests",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(struct skep_option),
	.n_streams = 1,
	.streams = streams,
	.state_size = sizeof(struct reloadable),
	.open = reloadable_open,
	.start = reloadable_start,
	.sample = reloadable_sample,
	.reload = reloadable_reload,
	.stop = reloadable_stop,
	.close = reloadable_close,
};

SKEP_PLUGIN(reloadable_plugin, SKEP_KIND_PROBE, "reloadable", "1.0")
