/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/recognizer_schema.c - builds the schema of tables of recognizers, with the help texts of the fields.
 */
#include "core/identify/recognizer_schema.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/identify/recognizer_table.h"

/* Each function owns the JSON values in its arguments; if one is NULL (no memory), so is its result. */

static json_t *text(const char *help)
{
	return json_pack("{s:s, s:i, s:s}", "type", "string", "minLength", 1, "description", help);
}

static json_t *pattern(const char *re, const char *help)
{
	return json_pack("{s:s, s:s, s:s}", "type", "string", "pattern", re, "description", help);
}

#define JSON_POINTER "^/([^~]|~[01])*$"

static json_t *flag(const char *help)
{
	return json_pack("{s:s, s:s}", "type", "boolean", "description", help);
}

static json_t *list(json_t *items, const char *help)
{
	return json_pack("{s:s, s:o, s:s}", "type", "array", "items", items, "description", help);
}

static json_t *texts(const char *help)
{
	return json_pack("{s:s, s:i, s:i, s:{s:s, s:i}, s:s}", "type", "array", "minItems", 1, "maxItems",
			 (int)RECOGNIZER_TEXTS_MAX, "items", "type", "string", "minLength", 1, "description", help);
}

static json_t *object(json_t *properties)
{
	return json_pack("{s:s, s:b, s:o}", "type", "object", "additionalProperties", 0, "properties", properties);
}

static json_t *condition(void)
{
	struct recognizer_fields *fields = malloc(sizeof(*fields));
	char *help = NULL;
	json_t *o = NULL;
	size_t size;
	FILE *out = fields ? open_memstream(&help, &size) : NULL;

	if (!out) {
		free(fields);
		return NULL;
	}
	recognizer_fields_init(fields);
	fputs("A condition, in the language of rules.\nFields:\n", out);
	for (uint32_t i = 0; i < fields->schema.n; i++)
		fprintf(out, "%s: %s\n", fields->fields[i].name, fields->fields[i].help);
	fputs("environ.NAME: a variable\nchanged.NAME: the same, if its value differs from the one above\n", out);
	if (fclose(out) == 0)
		o = text(help);
	free(help);
	free(fields);
	return o;
}

static json_t *facts(void)
{
	json_t *words = json_array(), *item;

	for (const char *const *word = recognizer_fact_words(); *word; word++)
		json_array_append_new(words, json_string(*word));
	item = object(json_pack("{s:o, s:o, s:o, s:o, s:o, s:{s:s, s:i, s:i, s:s}, s:o, s:o, s:{s:o, s:s}}", "from",
				text("A field; of a list the first text that matches."), "option",
				texts("Options: the value behind one of them."), "text", text("A text with {fields} in it, and with {facts} of the items above."),
				"value", pattern(JSON_POINTER, "Of the mark's file: a JSON pointer, as /Config/Image."), "log",
				pattern("^[^/]", "Of the job in the mark's log: rule, or what a line of it begins with."), "lines", "type",
				"integer", "minimum", 1, "maximum", RECOGNIZER_LINES_MAX, "description",
				"Of the mark's file: one of that many first lines, which \"re\" matches.", "when", condition(), "re",
				text("A Perl-compatible regular expression, from the first byte on; each named group is a fact."),
				"as", "enum", words, "description", "Without \"re\": the fact that the whole text is."));
	if (item)
		json_object_update_new(
			item, json_pack("{s:[{s:[{s:[s]}, {s:[s]}, {s:[s]}, {s:[s]}, {s:[s]}, {s:[s]}]}, {s:[{s:[s]}, {s:[s]}]}],"
					" s:{s:{s:{s:[s]}}, s:{s:{s:[s]}}, s:{s:[s], s:{s:[s]}}}}",
					"allOf", "oneOf", "required", "from", "required", "option", "required", "text",
					"required", "value", "required", "log", "required", "lines", "oneOf", "required",
					"as", "required", "re", "dependencies", "value", "not", "required", "when", "log",
					"not", "required", "when", "lines", "required", "re", "not", "required", "when"));
	return list(item, "Ways to facts; the first that yields a fact holds.");
}

static json_t *file(void)
{
	json_t *o = object(json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "stderr",
				     text("Of the engine's standard error, if it is a file: the text in the task's line, with {fields} in it."),
				     "path", pattern("^[/{]", "A path with {fields} in it."), "where",
				     pattern(JSON_POINTER,
					     "The path is a folder: JSON pointer of the text that chooses a file in it."),
				     "log", pattern("^[/{]", "The folder of Snakemake's logs, with {fields} in it."), "equals",
				     text("The field that this text equals: the command of the log's job."), "behind",
				     text("Only what follows this text in the field.")));

	if (o)
		json_object_update_new(o, json_pack("{s:[{s:[s]}, {s:[s]}, {s:[s]}], s:{s:[ss], s:[s], s:[s], s:{s:[{s:[s]}, {s:[s]}]}}, s:s}",
						    "anyOf", "required", "path", "required", "log", "required", "stderr", "dependencies", "where",
						    "path", "equals", "log", "equals", "behind", "equals", "equals", "anyOf",
						    "required", "where", "required", "log", "description",
						    "A control file of the engine, which names the task."));
	return o;
}

/* of_run: a run's mark, which needs a name or a variable.  of_task: a task's, which may read a file. */
static json_t *marks(bool of_run, bool of_task, const char *help)
{
	json_t *root = of_run ? json_pack("{s:b}", "const", 0)
			      : flag("Only the exec that begins the run, which is one task as a whole.");
	json_t *mark = object(json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "programs",
					texts("Names or patterns of the program."), "parents",
					texts("The same of the parent."), "changed",
					texts("Variables, one of which has another value than above."), "child",
					flag("The parent executes the engine's own program."), "root", root, "when",
					condition(), "file", of_task ? file() : json_pack("{s:{}}", "not"), "facts",
					facts()));

	if (mark && of_run)
		json_object_update_new(mark, json_pack("{s:[{s:[s]}, {s:[s]}, {s:[s]}]}", "anyOf", "required", "programs",
						       "required", "parents", "required", "changed"));
	else if (mark)
		json_object_update_new(mark, json_pack("{s:{s:[ss], s:{s:{s:b}, s:{s:b}}}}", "not", "required", "child",
						       "root", "properties", "child", "const", 1, "root", "const", 1));
	/* Only a mark with a file has values, keys of a log, and lines. */
	if (mark)
		json_object_update_new(mark, json_pack("{s:{s:{s:{s:{s:{s:[{s:[s]}, {s:[s]}, {s:[s]}]}}}}}, s:{}, s:{s:[s]}}", "if",
						       "properties", "facts", "items", "not", "anyOf", "required", "value",
						       "required", "log", "required", "lines", "then", "else", "required",
						       "file"));
	return list(mark, help);
}

static json_t *classes(void)
{
	json_t *names = json_array();

	for (unsigned i = 0; i < RECOGNIZER_CLASSES; i++)
		json_array_append_new(names, json_string(recognizer_class_name((enum recognizer_class)i)));
	return json_pack("{s:o, s:s}", "enum", names, "description", "Which engine names the run: the highest class.");
}

static json_t *entry(void)
{
	json_t *engine = text("The engine's name, in the field `engine` of runs and tasks.");
	json_t *properties;

	if (engine)
		json_object_set_new(engine, "maxLength", json_integer(RECOGNIZER_ENGINE_MAX));
	properties = json_pack("{s:o, s:o, s:{s:s, s:i, s:i, s:s}, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "engine", engine,
			       "class", classes(), "priority", "type", "integer", "minimum", 0, "maximum", 1000,
			       "description", "Of two of one class the larger wins; 50 by default.", "why",
			       text("A reason, for readers."), "nests",
			       flag("The same engine inside itself begins tasks too, not steps."), "run",
			       marks(true, false, "An exec that one of them matches begins a run."), "task",
			       marks(false, true, "An exec that one of them matches begins a task."), "learn",
			       marks(false, false, "An exec below the engine that says more about the run."), "helpers",
			       list(condition(), "An exec that one of them matches is no task."), "tests",
			       list(json_pack("{s:s}", "type", "object"), "Execs, and what the entry must say about them."));
	return json_pack("{s:s, s:b, s:[ss], s:o}", "type", "object", "additionalProperties", 0, "required", "engine",
			 "class", "properties", properties);
}

json_t *recognizer_schema(void)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:b, s:{s:o}}", "$schema", "http://json-schema.org/draft-07/schema#", "title",
			 "Recognizers of skep", "description",
			 "A file that \"recognizers\" in skepd.conf names: JSON, with // and /* */ comments.", "type",
			 "object", "additionalProperties", 0, "properties", "recognizers",
			 list(entry(), "Of equal matches the later one wins."));
}
