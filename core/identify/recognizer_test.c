/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/recognizer_test.c - runs the tests that a table of recognizers carries: an exec, and what the entry
 * must say about it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/identify/engine_log.h"
#include "core/identify/recognizer_table.h"

static const char *const test_keys[] = { "exe", "filename", "argv", "cwd", "cgroup", "environ", "environ_before",
					 "parent", "engine", "child", "root", "run", "task", "learn", "files", NULL };

/* An image of a test; the texts are owned. */
struct image {
	char *argv, *environ;
	struct tool_name tool;
	struct recognizer_image image;
};

static void set_error(struct diag *diag, const struct recognizer *e, size_t test, const char *what)
{
	diag_add(diag, DIAG_ERROR, e->file, (int)e->line, 0, "recognizer \"%s\", tests[%zu]: %s", e->engine, test,
		 what);
}

static struct filter_text text_of(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	return (struct filter_text){ json_string_value(value), (uint32_t)json_string_length(value) };
}

/* ["a", "b"] as "a\0b\0", or {"A": "x"} as "A=x\0".  NULL: neither, or no memory. */
static char *list_of(json_t *json, struct filter_text *ret)
{
	FILE *out;
	char *text = NULL;
	size_t len = 0, i;
	const char *key;
	json_t *value;

	*ret = (struct filter_text){ NULL, 0 };
	if (!json || !(out = open_memstream(&text, &len)))
		return NULL;
	if (json_is_object(json))
		json_object_foreach(json, key, value)
			fprintf(out, "%s=%s%c", key, json_is_string(value) ? json_string_value(value) : "", '\0');
	else
		json_array_foreach(json, i, value)
			fprintf(out, "%s%c", json_is_string(value) ? json_string_value(value) : "", '\0');
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	*ret = (struct filter_text){ text, (uint32_t)len };
	return text;
}

static struct skep_str str(const struct filter_text *t)
{
	return (struct skep_str){ t->ptr ? t->ptr : "", t->len, t->len };
}

/* Fills an image as skepd would from an exec record.  json NULL: nothing is known. */
static void fill(struct image *ret, json_t *json, const struct tools *tools)
{
	struct recognizer_image *image = &ret->image;
	struct skep_str exe, filename, argv, comm = { "", 0, 0 };

	memset(ret, 0, sizeof(*ret));
	if (!json)
		return;
	ret->argv = list_of(json_object_get(json, "argv"), &image->argv);
	ret->environ = list_of(json_object_get(json, "environ"), &image->environ);
	image->exe = text_of(json, "exe");
	image->filename = text_of(json, "filename");
	image->cwd = text_of(json, "cwd");
	image->cgroup = text_of(json, "cgroup");
	if (!image->exe.ptr && image->argv.ptr) /* in a short test argv[0] is the program */
		image->exe = (struct filter_text){ image->argv.ptr, (uint32_t)strlen(image->argv.ptr) };
	exe = str(&image->exe);
	filename = str(&image->filename);
	argv = str(&image->argv);
	tools_recognize(tools, &exe, &filename, &argv, &comm, &ret->tool);
	image->tool = (struct filter_text){ ret->tool.name, (uint32_t)strlen(ret->tool.name) };
	image->wrapper = ret->tool.wrapper;
}

static void clear(struct image *image)
{
	free(image->argv);
	free(image->environ);
}

/* Facts as a test writes them: CPUs, bytes, seconds. */
static double number_of(const struct recognizer_facts *facts, enum recognizer_fact fact)
{
	double x = (double)recognizer_fact_number(facts, fact);

	return fact == FACT_CPUS ? x / 1000 : fact == FACT_WALLTIME ? x / 1e9 : x;
}

static const struct {
	const char *key;
	enum recognizer_fact fact;
} fact_keys[] = {
	{ "name", FACT_NAME },         { "sample", FACT_SAMPLE },   { "pipeline", FACT_PIPELINE },
	{ "job", FACT_JOB },           { "key", FACT_KEY },         { "again", FACT_AGAIN },
	{ "attempt", FACT_ATTEMPT },   { "cpus", FACT_CPUS },       { "memory_bytes", FACT_MEMORY },
	{ "walltime_s", FACT_WALLTIME }, { "gpus", FACT_GPUS },     { "account", FACT_ACCOUNT },
};
#define N_FACT_KEYS (sizeof(fact_keys) / sizeof(fact_keys[0]))

static bool fact_is(const struct recognizer_facts *facts, enum recognizer_fact fact, json_t *want)
{
	struct skep_str text;

	if (json_is_null(want))
		return !(facts->known & 1u << fact);
	if (!(facts->known & 1u << fact))
		return false;
	if ((unsigned)fact >= FACT_TEXTS)
		return json_is_number(want) && fabs(number_of(facts, fact) - json_number_value(want)) < 1e-6;
	text = recognizer_fact_text(facts, fact);
	return json_is_string(want) && json_string_length(want) == text.len &&
	       memcmp(json_string_value(want), text.ptr, text.len) == 0;
}

static void check_facts(const struct recognizer *e, size_t test, json_t *want, const struct recognizer_facts *facts,
			const char *what, struct diag *diag)
{
	char why[256], quoted[CONFIG_QUOTE_SIZE], is[CONFIG_QUOTE_SIZE], text[FACT_TEXT_MOST + 1];
	const char *key;
	json_t *value;

	json_object_foreach(want, key, value) {
		size_t i = 0;

		while (i < N_FACT_KEYS && strcmp(fact_keys[i].key, key) != 0)
			i++;
		if (i == N_FACT_KEYS) {
			snprintf(why, sizeof(why), "%s: there is no fact \"%.40s\"", what, key);
			set_error(diag, e, test, why);
			continue;
		}
		if (fact_is(facts, fact_keys[i].fact, value))
			continue;
		if (json_is_string(value))
			config_quote(json_string_value(value), quoted, sizeof(quoted));
		else
			config_describe(value, quoted, sizeof(quoted));
		if (!(facts->known & 1u << fact_keys[i].fact)) {
			snprintf(is, sizeof(is), "not known");
		} else if ((unsigned)fact_keys[i].fact < FACT_TEXTS) {
			struct skep_str s = recognizer_fact_text(facts, fact_keys[i].fact);

			snprintf(text, sizeof(text), "%.*s", (int)s.len, s.ptr);
			config_quote(text, is, sizeof(is));
		} else {
			snprintf(is, sizeof(is), "%g", number_of(facts, fact_keys[i].fact));
		}
		snprintf(why, sizeof(why), "%s.%s is %.80s, not %.80s", what, key, is, quoted);
		set_error(diag, e, test, why);
	}
}

static bool in_folder(const char *path, const char *folder)
{
	size_t len = folder ? strlen(folder) : 0;

	return folder && strncmp(path, folder, len) == 0 && path[len] == '/';
}

static struct skep_str text_of_json(json_t *content)
{
	uint32_t len = (uint32_t)json_string_length(content);

	return (struct skep_str){ json_string_value(content), len, len };
}

/* The job in the logs among the files; in: what the metadata says. */
static const struct engine_log_job *job_of(json_t *files, const struct engine_file *file,
					   struct engine_log_command *command)
{
	static struct engine_log log;
	char script[RECOGNIZER_PATH_SIZE];
	const char *path;
	json_t *content;

	log.n = 0;
	json_object_foreach(files, path, content)
		if (in_folder(path, file->log) && json_is_string(content))
			engine_log_add(&log, json_string_value(content), json_string_length(content));
	if (file->log && engine_log_script(file->log, &file->wanted[0].text, script, sizeof(script)) &&
	    json_is_string(json_object_get(files, script)))
		command->script = text_of_json(json_object_get(files, script));
	return engine_log_find(&log, command);
}

/* The answer of the reader, if these were the files: path -> a text, or an object for JSON.  false: no such file. */
static bool answer_of(json_t *files, const struct engine_file *file, char *ret, size_t size, size_t *ret_len)
{
	struct engine_log_command command = { .text = &file->wanted[0], .file = "" };
	const struct engine_log_job *job;
	json_t *content, *json = NULL;
	const char *path;
	size_t len = 0;

	json_object_foreach(files, path, content) {
		bool here = file->where ? in_folder(path, file->path) : file->path && strcmp(path, file->path) == 0;

		if (!here || (file->where && !engine_file_is(content, file->where, &file->wanted[0])))
			continue;
		json = content;
		command.files++;
		command.file = file->where ? strrchr(path, '/') + 1 : "";
	}
	job = job_of(files, file, &command);
	if (file->standard_error) {
		struct skep_str line = text_of_json(json_object_get(files, "stderr"));

		if (!line.ptr || !memmem(line.ptr, line.len, file->wanted[0].text.ptr, file->wanted[0].text.len))
			return false;
		*ret_len = (size_t)snprintf(ret, size, "%s", line.ptr) + 1;
		return true;
	}
	if (!json && !job)
		return false;
	if (!file->values[0])
		len = (size_t)snprintf(ret, size, "%s", json_string_value(json) ? json_string_value(json) : "");
	for (unsigned i = 0; i < ENGINE_FILE_VALUES && file->values[i]; i++) {
		char value[ENGINE_FILE_VALUE] = "";

		if (*file->values[i] == '/')
			engine_file_pointer(json, file->values[i], value);
		else if (job)
			engine_log_value(job, file->values[i], value);
		len += (size_t)snprintf(ret + len, size - len, "%s", value) + 1;
	}
	*ret_len = len < size ? len : size;
	return true;
}

/* Adds what the files of the test say. */
static void add_files(json_t *files, const struct recognizer_mark *mark, const struct recognizer_subject *subject,
		      struct recognizer_facts *facts)
{
	char text[ENGINE_FILE_HEAD];
	struct recognizer_paths paths;
	struct recognizer_facts more;
	struct engine_file file;
	size_t len;

	if (!recognizer_mark_file(mark, subject, &paths, &file) || !answer_of(files, &file, text, sizeof(text), &len))
		return;
	recognizer_file_facts(mark, &(struct skep_str){ text, (uint32_t)len, (uint32_t)len }, 0, &more);
	recognizer_facts_replace(facts, &more);
}

/* want: an object of facts, or false: no such mark may hold. */
static void check(const struct recognizer *e, size_t test, json_t *want, const struct recognizer_mark *mark,
		  const struct recognizer_subject *subject, json_t *files, const char *what, struct diag *diag)
{
	struct recognizer_facts facts;
	char why[96];

	if (!want)
		return;
	if (json_is_object(want) != (mark != NULL)) {
		snprintf(why, sizeof(why), mark ? "it begins a %s, but should not" : "it should begin a %s, but does not",
			 what);
		set_error(diag, e, test, why);
		return;
	}
	if (!mark)
		return;
	recognizer_facts(mark, subject, &facts);
	add_files(files, mark, subject, &facts);
	check_facts(e, test, want, &facts, what, diag);
}

static void run_test(struct recognizers *r, const struct recognizer *e, size_t number, json_t *test,
		     const struct tools *tools, struct diag *diag)
{
	struct filter_budget budget = { 0 };
	struct recognizer_subject subject = { .budget = &budget };
	struct recognizer_found found[RECOGNIZER_CLASSES];
	const struct recognizer_mark *mark = NULL;
	struct image self, parent, engine;
	json_t *value, *files = json_object_get(test, "files");
	size_t n;
	char *before, why[96];
	const char *key;

	if (!json_is_object(test)) {
		set_error(diag, e, number, "is no object, { \"argv\": [ ... ], \"run\": { ... } }");
		return;
	}
	json_object_foreach(test, key, value) {
		size_t i = 0;

		while (test_keys[i] && strcmp(test_keys[i], key) != 0)
			i++;
		if (!test_keys[i]) {
			snprintf(why, sizeof(why), "unknown key \"%.40s\"", key);
			set_error(diag, e, number, why);
		}
	}
	fill(&self, test, tools);
	fill(&parent, json_object_get(test, "parent"), tools);
	fill(&engine, json_object_get(test, "engine"), tools);
	before = list_of(json_object_get(test, "environ_before"), &subject.environ_before);
	subject.self = self.image;
	subject.parent = parent.image;
	subject.run = engine.image;
	subject.environ_read = self.image.environ.ptr != NULL;
	subject.child = json_is_true(json_object_get(test, "child"));
	subject.root = json_is_true(json_object_get(test, "root"));
	if (!json_object_get(test, "run") && !json_object_get(test, "task") && !json_object_get(test, "learn"))
		set_error(diag, e, number, "expects nothing: add \"run\", \"task\" or \"learn\", facts or false");
	n = recognizers_run(r, &subject, found);
	for (size_t i = 0; i < n; i++)
		mark = found[i].entry == e ? found[i].mark : mark;
	check(e, number, json_object_get(test, "run"), mark, &subject, NULL, "run", diag);
	check(e, number, json_object_get(test, "task"), recognizer_task(e, &subject), &subject, files, "task", diag);
	subject.root = false;
	check(e, number, json_object_get(test, "learn"), recognizer_learn(e, &subject), &subject, NULL, "learn", diag);
	clear(&self);
	clear(&parent);
	clear(&engine);
	free(before);
}

/* A site's entry of the same engine takes the place of a built-in one, whose tests say nothing any more. */
static bool is_replaced(const struct recognizers *r, size_t e)
{
	for (size_t i = r->n_built_in; i < r->n; i++)
		if (e < r->n_built_in && strcmp(r->entries[i]->engine, r->entries[e]->engine) == 0)
			return true;
	return false;
}

size_t recognizers_test(struct recognizers *r, const struct tools *tools, bool site_only, struct diag *diag)
{
	size_t n = 0, i;
	json_t *test;

	for (size_t e = site_only ? r->n_built_in : 0; e < r->n; e++)
		json_array_foreach(r->entries[e]->tests, i, test) {
			if (is_replaced(r, e))
				break;
			run_test(r, r->entries[e], i, test, tools, diag);
			n++;
		}
	return n;
}
