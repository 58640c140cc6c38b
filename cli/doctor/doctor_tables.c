/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor/doctor_tables.c - lists the tables by which skepd recognizes engines and containers, and the files that it
 * reads because of them.
 */
#include "cli/doctor/doctor_tables.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/answer.h"
#include "cli/base/json_out.h"
#include "cli/base/text.h"
#include "core/identify/container.h"
#include "core/identify/recognizer.h"

/* Appends a fact and frees the text; NULL: no memory, leaves the fact out. */
static void say(json_t *list, const char *fact, const char *state, const char *file, size_t entries, size_t tests,
		char *text)
{
	if (text)
		json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:o, s:I, s:I}", "fact", fact, "state", state,
						      "text", json_out_string(text), "file", json_out_string(file),
						      "entries", (json_int_t)entries, "tests", (json_int_t)tests));
	free(text);
}

/* A file that the reader of engines' files reads: its state is that of the reader.  Frees the text. */
static void say_read(json_t *list, const char *table, char *text)
{
	const char *state = "ok";
	const json_t *one;
	bool again = false;
	size_t i;

	json_array_foreach(list, i, one) {
		if (strcmp(answer_text(one, "fact"), "engine_files") == 0)
			state = answer_text(one, "state");
		again = again || (text && strcmp(answer_text(one, "text"), text) == 0);
	}
	if (again)
		free(text);
	else
		say(list, "engine file", state, table, 0, 0, text);
}

static void say_reads(json_t *list, const struct recognizer *r)
{
	static const char *const what[] = {
		[RECOGNIZER_READS_FILE] = "",
		[RECOGNIZER_READS_FOLDER] = "/*",
		[RECOGNIZER_READS_ERROR] = "the engine's standard error, if it is a regular file",
		[RECOGNIZER_READS_LOG] = "/*.snakemake.log, and beside this folder the script that the task executes, scripts/*",
	};
	enum recognizer_reads kind;
	const char *path;
	unsigned line;

	for (size_t i = 0; (path = recognizer_reads(r, i, &kind)); i++)
		say_read(list, recognizer_file(r, &line),
			 text_format("%s, as the task's user: %s%s", recognizer_engine(r), path, what[kind]));
}

/* The first error about the file; NULL file: about any. NULL: none. */
static const struct diag_entry *error_in(const struct diag *diag, const char *file)
{
	for (size_t i = 0; i < diag->n; i++)
		if (diag->entries[i].severity == DIAG_ERROR &&
		    (!file || (diag->entries[i].file && strcmp(diag->entries[i].file, file) == 0)))
			return &diag->entries[i];
	return NULL;
}

static void say_error(json_t *list, const char *fact, const struct diag_entry *e)
{
	const char *file = e->file ? e->file : "";

	say(list, fact, "partial", file, 0, 0,
	    text_format("%s:%d: %s; skepd reads no table with an error, skepd -t lists all errors", file, e->line,
			e->text ? e->text : ""));
}

static void recognizer_file_out(json_t *list, const struct diag *diag, const char *file, size_t entries, size_t tests)
{
	const struct diag_entry *e = error_in(diag, file);

	if (e)
		say(list, "recognizers", "partial", file, entries, tests,
		    text_format("%s: %zu entries; a test fails: line %d: %s; skep recognize --check lists all", file,
				entries, e->line, e->text ? e->text : ""));
	else
		say(list, "recognizers", "ok", file, entries, tests,
		    text_format("%s: %zu %s, %zu tests hold", file, entries, entries == 1 ? "entry" : "entries", tests));
}

static void recognizer_tables(json_t *list, const struct config *config)
{
	struct tools *tools;
	struct recognizers *r;
	struct diag diag;
	unsigned line;
	size_t n;

	diag_init(&diag);
	tools = tools_new(NULL, &diag);
	r = tools ? recognizers_new(config ? config->recognizers : NULL, &diag) : NULL;
	if (!r && error_in(&diag, NULL))
		say_error(list, "recognizers", error_in(&diag, NULL));
	if (r)
		recognizers_test(r, tools, false, &diag);
	n = r ? recognizers_count(r) : 0;
	for (size_t i = 0, end; i < n; i = end) { /* the entries of a file are neighbours */
		const char *file = recognizer_file(recognizers_at(r, i), &line);
		size_t tests = 0;

		for (end = i; end < n && strcmp(recognizer_file(recognizers_at(r, end), &line), file) == 0; end++)
			tests += recognizer_tests(recognizers_at(r, end));
		recognizer_file_out(list, &diag, file, end - i, tests);
		for (size_t k = i; k < end; k++)
			say_reads(list, recognizers_at(r, k));
	}
	recognizers_unref(r);
	tools_free(tools);
	diag_clear(&diag);
}

/*
 * Entries of the built-in table and of one file or folder; path NULL: of the built-in one alone.  Adds the state files
 * that they name to the list.
 */
static size_t container_entries(json_t *list, const char *path, struct diag *diag)
{
	const char *const more[] = { path, NULL };
	struct containers *table = containers_new(more, diag);
	size_t n = table ? containers_count(table) : 0;

	for (size_t i = 0; i < n; i++) {
		const struct container_state *state = containers_state(table, i);

		if (state)
			say_read(list, path ? path : "containers.json (built in)",
				 text_format("of a container, as root: %s", state->path));
	}
	containers_free(table);
	return n;
}

static void container_tables(json_t *list, const struct config *config)
{
	struct diag diag;
	size_t built_in;

	diag_init(&diag);
	built_in = container_entries(list, NULL, &diag);
	say(list, "container tables", "ok", "containers.json (built in)", built_in, 0,
	    text_format("containers.json (built in): %zu entries", built_in));
	for (const char **path = config ? config->containers : NULL; path && *path; path++) {
		size_t n = container_entries(list, *path, &diag);

		if (error_in(&diag, NULL))
			say_error(list, "container tables", error_in(&diag, NULL));
		else
			say(list, "container tables", "ok", *path, n - built_in, 0,
			    text_format("%s: %zu entries", *path, n - built_in));
		diag_clear(&diag);
	}
	diag_clear(&diag);
}

void doctor_tables(json_t *judged, const struct config *config)
{
	recognizer_tables(judged, config);
	container_tables(judged, config);
}
