/* SPDX-License-Identifier: Apache-2.0 */
/*
 * man/interface.c - a tool of the build: what the programs and the plugins say of
 * themselves, as one JSON object, from which pages.py and completions.py make manual pages and
 * completions.  Not installed.
 *
 *   interface PLUGIN-FOLDER >interface.json
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/command.h"
#include "analysis/sweep.h"
#include "cli/base/kinds.h"
#include "core/config/config_table.h"
#include "core/control/control_record.h"
#include "core/rules/rule_fields.h"
#include "core/config/option_table.h"
#include "core/plugin/note.h"
#include "core/plugin/plugin.h"
#include "core/process/records.h"
#include "core/daemon/skepd.h"

/* This tool runs in a build: out of memory, it says so and leaves. */
static _Noreturn void leave(void)
{
	fputs("interface: out of memory, or a text that is not UTF-8\n", stderr);
	exit(1);
}

static json_t *must(json_t *value)
{
	if (!value)
		leave();
	return value;
}

static void add(json_t *array, json_t *value)
{
	if (json_array_append_new(array, must(value)) < 0)
		leave();
}

static void put(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, must(value)) < 0)
		leave();
}

static json_t *rows(const struct command_option *table, const char *dashes)
{
	json_t *list = must(json_array());
	char letter[3] = "-";

	for (const struct command_option *o = table; o && o->name; o++) {
		letter[1] = o->letter;
		add(list,
		    json_pack("{s:o, s:s, s:s, s:s}", "long", must(json_sprintf("%s%s", dashes, o->name)), "short",
			      o->letter ? letter : "", "value", o->value ? o->value : "", "help", o->help));
	}
	return list;
}

static json_t *commands(const struct command_program *program)
{
	json_t *list = must(json_array());
	char *usage = NULL;
	size_t size;
	FILE *f;

	for (const struct command *const *c = program->commands; *c; c++) {
		if (!(*c)->summary)
			continue;
		f = open_memstream(&usage, &size);
		if (!f)
			leave();
		command_usage(*c, f, 0, 0);
		fclose(f);
		add(list,
		    json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:o, s:o}", "name", (*c)->name, "usage", usage,
			      "operands", (*c)->operands ? (*c)->operands : "", "summary", (*c)->summary, "about",
			      (*c)->about ? (*c)->about : "", "notes", (*c)->notes ? (*c)->notes : "", "passes_on",
			      (*c)->passes_on, "words", rows((*c)->words, ""), "options", rows((*c)->options, "--")));
		free(usage);
		usage = NULL;
	}
	return list;
}

static json_t *key(const struct config_key *k, const char *file)
{
	char min[CONFIG_UNITS_SIZE], max[CONFIG_UNITS_SIZE], type[OPTION_WORDS_SIZE], value[OPTION_WORDS_SIZE];
	json_t *one = must(json_pack("{s:s?, s:s, s:s, s:s?, s:s, s:s?, s:b, s:b, s:b, s:b}", "section", k->section, "name",
				     k->name, "type", option_type_name(k, type), "default",
				     option_default_shown(k, value), "help", k->help, "file_key", file, "reloadable",
				     (int)(k->flags & SKEP_OPT_RELOADABLE), "restart",
				     (int)(k->flags & (CONFIG_AT_START | CONFIG_FIXED)), "secret", (int)(k->flags & SKEP_OPT_SECRET),
				     "required", (int)(k->flags & SKEP_OPT_REQUIRED)));

	if (k->min >= k->max || k->type == SKEP_O_STR)
		return one;
	option_bound_format(k, k->min, min);
	option_bound_format(k, k->max, max);
	put(one, "min", json_string(min));
	if (k->max < INT64_MAX) /* else no bound that a reader has to know */
		put(one, "max", json_string(max));
	return one;
}

static json_t *keys(const struct config_key *table)
{
	json_t *list = must(json_array());

	for (const struct config_key *k = table; k->name; k++)
		add(list, key(k, NULL));
	return list;
}

static json_t *rule_fields(void)
{
	json_t *list = must(json_array());

	for (uint32_t i = 0; i < rule_fields_schema.n; i++) {
		const struct filter_field *f = &rule_fields_schema.fields[i];
		const char *type = f->type == FILTER_LIST   ? "list of texts"
				   : f->type == FILTER_BOOL ? "true or false"
				   : f->type == FILTER_TEXT ? "text"
							    : "number";

		add(list, json_pack("{s:s, s:s, s:b, s:s}", "name", f->name, "type", type, "of_parent", f->of_parent,
				    "help", f->help));
	}
	return list;
}

static json_t *options(const struct skep_plugin *plugin)
{
	json_t *list = must(json_array());
	struct config_key o;

	for (size_t i = 0; option_get(plugin, i, &o); i++) {
		char *file = option_file_key(plugin, &o);

		add(list, key(&o, file));
		free(file);
	}
	return list;
}

static const char *type_name(uint32_t type)
{
	static const char *const names[] = {
		[SKEP_T_U64] = "u64",   [SKEP_T_I64] = "i64",    [SKEP_T_F64] = "f64",        [SKEP_T_BOOL] = "bool",
		[SKEP_T_TIME] = "time", [SKEP_T_STR] = "string", [SKEP_T_STRV] = "strings",   [SKEP_T_UPID] = "upid",
		[SKEP_T_HASH] = "hash", [SKEP_T_IP] = "ip",      [SKEP_T_HIST] = "histogram",
	};

	return type < sizeof(names) / sizeof(names[0]) && names[type] ? names[type] : "?";
}

static const char *role_name(uint32_t role)
{
	switch (role) {
	case SKEP_ROLE_NONE:
		return "records";
	case SKEP_ROLE_FACET:
		return "facet";
	case SKEP_ROLE_CGROUP:
		return "cgroup";
	case SKEP_ROLE_LEDGER:
		return "ledger";
	case SKEP_ROLE_DETAIL:
		return "detail";
	default:
		return "process";
	}
}

static json_t *streams(const struct skep_stream *const *streams, uint32_t n)
{
	json_t *list = must(json_array()), *fields;

	for (uint32_t i = 0; i < n; i++) {
		const struct skep_stream *s = streams[i];

		fields = must(json_array());
		for (uint32_t j = 0; j < s->n_fields; j++) {
			const struct skep_field *f =
				(const void *)((const char *)s->fields + (size_t)j * s->field_size);

			add(fields, json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", f->name, "type", type_name(f->type),
					      "semantics", control_semantics_name(f->semantics), "unit", f->unit ? f->unit : "",
					      "help", f->help ? f->help : ""));
		}
		add(list,
		    json_pack("{s:s, s:s, s:s, s:b, s:o}", "name", s->name, "help", s->help ? s->help : "", "role",
			      role_name(s->role), "sample", (int)(s->flags & SKEP_STREAM_SAMPLE), "fields", fields));
	}
	return list;
}

/* The records that the core itself sends: in the order in which a reader meets them. */
static const struct skep_stream *const core_streams[] = {
	&record_stream_process, &record_stream_process_sample, &record_stream_run,  &record_stream_task,
	&record_stream_tool_sample, &record_stream_ledger,     &record_stream_finding,
	&record_stream_findings,    &record_stream_loss,       &record_stream_audit,
};

static json_t *details(const struct skep_plugin *plugin)
{
	static const char *const scopes[] = { "host", "run", "cgroup", "pid" };
	json_t *list = must(json_array()), *names;

	for (uint32_t i = 0; plugin->details && i < plugin->n_details; i++) {
		const struct skep_detail *d =
			(const void *)((const char *)plugin->details + (size_t)i * plugin->detail_size);

		names = must(json_array());
		for (size_t s = 0; s < sizeof(scopes) / sizeof(scopes[0]); s++)
			if (d->scopes >> s & 1)
				add(names, json_string(scopes[s]));
		add(list, json_pack("{s:s, s:s, s:s, s:o}", "name", d->name, "help", d->help, "stream",
				    plugin->streams[d->stream]->name, "scopes", names));
	}
	return list;
}

struct found {
	const char *const *dirs;
	json_t *list;
	bool failed;
};

static void on_plugin(const char *path, const struct skep_plugin_note *note, const char *why, void *arg)
{
	struct found *found = arg;
	const struct skep_plugin *desc;
	struct plugin *plugin = NULL;
	struct diag diag;

	diag_init(&diag);
	if (!note || why) {
		fprintf(stderr, "interface: %s\n", why ? why : path);
		found->failed = true;
		return;
	}
	if (plugin_load(found->dirs, note->name, 0, &diag, &plugin) < 0) {
		diag_print(&diag, stderr);
		found->failed = true;
	} else {
		desc = plugin->desc;
		add(found->list,
		    json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "name", desc->name, "kind",
			      note_kind_name(desc->kind), "version", desc->version, "summary",
			      desc->summary, "license", desc->license, "options", options(desc), "streams",
			      streams(desc->streams, desc->n_streams), "details", details(desc)));
	}
	diag_clear(&diag);
}

int main(int argc, char **argv)
{
	const char *dirs[2] = { argc == 2 ? argv[1] : NULL, NULL };
	struct found found = { .dirs = dirs, .list = must(json_array()) };
	json_t *o;

	if (argc != 2) {
		fputs("usage: interface PLUGIN-FOLDER\n", stderr);
		return 2;
	}
	plugin_list(dirs, on_plugin, &found);
	if (found.failed)
		return 1;
	o = must(json_pack("{s:s, s:i, s:i, s:o, s:s, s:{s:o, s:o}, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "version", SKEP_VERSION,
			   "abi_major", SKEP_ABI_MAJOR, "abi_minor", SKEP_ABI_MINOR, "skepd_options", rows(skepd_options_table, "--"),
			   "concepts", skep_program.concepts, "commands", skep_program.name, commands(&skep_program),
			   skep_dev_program.name, commands(&skep_dev_program), "config", keys(config_key_table),
			   "entry", keys(config_entry_table), "findings", must(kinds_json(analysis_kinds, analysis_gates)), "wastes",
			   must(kinds_json(sweep_kinds, NULL)), "rule_fields", rule_fields(), "core_streams",
			   streams(core_streams, sizeof(core_streams) / sizeof(core_streams[0])), "plugins",
			   found.list));
	if (json_dumpf(o, stdout, JSON_INDENT(1)) < 0 || puts("") < 0 || fflush(stdout) != 0) {
		fprintf(stderr, "interface: cannot write: %s\n", strerror(errno));
		return 1;
	}
	json_decref(o);
	return 0;
}
