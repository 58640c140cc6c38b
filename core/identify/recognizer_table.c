/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/recognizer_table.c - reads recognizers from etc/workflows.d (built in) and from a site's files.
 */
#include "core/identify/recognizer_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/config/datafile.h"
#include "filters/suggest.h"
#include "core/identify/workflows_json.h"

const char *const recognizer_root_keys[] = { "recognizers", NULL };
const char *const recognizer_entry_keys[] = { "engine", "class", "priority", "why", "nests", "run", "task",
					  "learn", "helpers", "tests", NULL };
const char *const recognizer_mark_keys[] = { "programs", "parents", "changed", "child", "root", "when", "file", "facts",
					 NULL };
const char *const recognizer_source_keys[] = { "from", "option", "text", "value", "log", "lines", "when", "re", "as",
					    NULL };
const char *const recognizer_file_keys[] = { "path", "where", "log", "equals", "behind", "stderr", NULL };
static const char *const class_names[RECOGNIZER_CLASSES + 1] = {
	[RECOGNIZER_ORIGIN] = "origin",
	[RECOGNIZER_LAUNCHER] = "launcher",
	[RECOGNIZER_SCHEDULER] = "scheduler",
	[RECOGNIZER_WORKFLOW] = "workflow",
};

const char *recognizer_class_name(enum recognizer_class class)
{
	return class_names[class];
}

/* ---- freed ------------------------------------------------------------------------ */

static void texts_free(char **texts)
{
	for (char **t = texts; t && *t; t++)
		free(*t);
	free(texts);
}

static void mark_clear(struct recognizer_mark *mark)
{
	for (size_t i = 0; i < mark->n_sources; i++) {
		texts_free(mark->sources[i].options);
		free(mark->sources[i].text);
		filter_expr_free(mark->sources[i].when);
		pattern_free(mark->sources[i].pattern);
	}
	free(mark->sources);
	if (mark->file) {
		free(mark->file->path);
		free(mark->file->where);
		free(mark->file->log);
		free(mark->file->error);
		free(mark->file->behind);
	}
	free(mark->file);
	texts_free(mark->programs);
	texts_free(mark->parents);
	free(mark->changed);
	filter_expr_free(mark->when);
}

static void entry_free(struct recognizer *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->n_runs; i++)
		mark_clear(&e->runs[i]);
	for (size_t i = 0; i < e->n_tasks; i++)
		mark_clear(&e->tasks[i]);
	for (size_t i = 0; i < e->n_learns; i++)
		mark_clear(&e->learns[i]);
	for (size_t i = 0; i < e->n_helpers; i++)
		filter_expr_free(e->helpers[i]);
	free(e->learns);
	free(e->runs);
	free(e->tasks);
	free(e->helpers);
	json_decref(e->tests);
	free(e->engine);
	free(e->file);
	free(e);
}

struct recognizers *recognizers_ref(struct recognizers *r)
{
	r->refs++;
	return r;
}

struct recognizers *recognizers_unref(struct recognizers *r)
{
	if (!r || --r->refs > 0)
		return NULL;
	for (size_t i = 0; i < r->n; i++)
		entry_free(r->entries[i]);
	free(r->entries);
	recognizer_fields_clear(&r->fields);
	texts_free(r->parents);
	free(r->cache);
	free(r);
	return NULL;
}

/* ---- read ------------------------------------------------------------------------- */

/* A table that is being read, and the entry of it. */
struct reading {
	struct recognizers *table;
	struct recognizer *entry;
	bool in_runs;  /* the marks being read are those of runs */
	bool in_tasks; /* or of tasks */
};

/* A list of texts; *ret: NULL without the key.  0 or -ENOMEM; other errors go to the diag. */
static int read_texts(const struct datanode *node, const char *key, bool globs, char ***ret)
{
	struct datanode list, item;
	char **texts;
	size_t n = 0;

	*ret = NULL;
	if (!datanode_key(node, key, &list) || !datanode_array(&list))
		return 0;
	if (json_array_size(list.json) == 0 || json_array_size(list.json) > RECOGNIZER_TEXTS_MAX) {
		datanode_error(&list, "has %zu texts: give 1 to %u", json_array_size(list.json), RECOGNIZER_TEXTS_MAX);
		return 0;
	}
	texts = calloc(json_array_size(list.json) + 1, sizeof(*texts));
	if (!texts)
		return -ENOMEM;
	*ret = texts;
	for (size_t i = 0; i < json_array_size(list.json); i++) {
		const char *s;

		datanode_at(&list, i, &item);
		s = globs ? datanode_glob(&item) : datanode_string(&item);
		if (!s)
			continue;
		texts[n] = strdup(s);
		if (!texts[n++])
			return -ENOMEM;
	}
	return 0;
}

/* Adds the variables that an expression names (environ.NAME, changed.NAME) to the fields, before it is parsed. */
static int add_variables(const struct reading *in, const struct datanode *node, const char *text)
{
	static const char *const prefixes[] = { "environ.", "changed." };
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

	for (size_t i = 0; i < 2; i++)
		for (const char *at = text; (at = strstr(at, prefixes[i]));) {
			size_t len;
			int n;

			at += strlen(prefixes[i]);
			len = strspn(at, letters);
			n = len ? recognizer_fields_variable(&in->table->fields, at, len) : 0;
			in->entry->reads = true;
			if (n == -ENOMEM)
				return n;
			if (n == -ENOSPC)
				datanode_error(node, "%.*s is one variable too many: recognizers read at most %u",
					       (int)len, at, RECOGNIZER_ENVIRON_MAX);
		}
	return 0;
}

/* A condition; *ret: NULL without the key. */
static int read_condition(const struct reading *in, const struct datanode *node, struct filter_expr **ret)
{
	struct recognizer_fields *fields = &in->table->fields;
	const char *text = datanode_string(node);
	struct filter_error error;
	int err;

	*ret = NULL;
	if (!text)
		return 0;
	err = add_variables(in, node, text);
	if (err)
		return err;
	*ret = filter_expr_new(text, strlen(text), &fields->schema, &error);
	if (!*ret && errno == ENOMEM)
		return -ENOMEM;
	if (!*ret)
		datanode_error(node, "at column %u of the condition: %s", error.column, error.what);
	return 0;
}

static int read_when(const struct reading *in, const struct datanode *node, struct filter_expr **ret)
{
	struct datanode value;

	*ret = NULL;
	return datanode_key(node, "when", &value) ? read_condition(in, &value, ret) : 0;
}

static bool fact_word(const struct datanode *node, const char *word, uint8_t *ret)
{
	int n = recognizer_fact_word(word, strlen(word));
	const char *near;

	if (n >= 0) {
		*ret = (uint8_t)n;
		return true;
	}
	near = suggest_nearest(word, recognizer_fact_words());
	datanode_error(node, "there is no fact \"%s\"%s%s%s", word, near ? ": did you mean \"" : "", near ? near : "",
		       near ? "\"?" : "");
	return false;
}

static int read_pattern(const struct datanode *node, struct recognizer_source *s)
{
	char quoted[CONFIG_QUOTE_SIZE], why[PATTERN_ERROR_SIZE];
	const char *text = datanode_string(node);
	const char *const *names;
	int err;

	if (!text)
		return 0;
	err = pattern_new(text, &s->pattern, why);
	if (err == -ENOMEM)
		return err;
	config_quote(text, quoted, sizeof(quoted));
	if (err) {
		datanode_error(node, "%s: %s", quoted, why);
		return 0;
	}
	names = pattern_names(s->pattern);
	if (!names[0])
		datanode_error(node, "%s: has no named group: name the group of each fact, as (?<name>[^:]+)", quoted);
	for (size_t i = 0; names[i]; i++)
		fact_word(node, names[i], &s->groups[i]);
	return 0;
}

static int read_field(const struct reading *in, const struct datanode *node, uint32_t *ret)
{
	struct recognizer_fields *fields = &in->table->fields;
	const char *name = datanode_string(node), *names[RECOGNIZER_FIELDS + 1] = { NULL }, *near;
	int err, field;

	if (!name)
		return 0;
	err = add_variables(in, node, name);
	if (err)
		return err;
	field = recognizer_fields_find(fields, name, strlen(name));
	if (field >= 0 && fields->fields[field].type != FILTER_UINT &&
	    fields->fields[field].type != FILTER_BOOL) {
		*ret = (uint32_t)field;
		return 0;
	}
	for (uint32_t i = 0; i < fields->schema.n; i++)
		names[i] = fields->fields[i].name;
	near = suggest_nearest(name, names);
	datanode_error(node, "there is no text \"%s\"%s%s%s", name, near ? ": did you mean \"" : "", near ? near : "",
		       near ? "\"?" : "");
	return 0;
}

/* The names in braces must be fields, or facts where a mark's facts are read. */
static int read_template(const struct reading *in, const struct datanode *node, bool facts, char **ret)
{
	struct recognizer_fields *fields = &in->table->fields;
	const char *text = datanode_string(node);
	int err;

	if (!text)
		return 0;
	err = add_variables(in, node, text);
	if (err)
		return err;
	for (const char *at = text; (at = strchr(at, '{')); at++) {
		const char *close = strchr(at, '}');
		unsigned level;

		if (!close || (recognizer_fields_find_text(fields, at + 1, (size_t)(close - at - 1), &level) < 0 &&
			       !(facts && recognizer_fact_text_word(at + 1, (size_t)(close - at - 1)) >= 0)))
			datanode_error(node, "%.*s is no text of a process, as in \"{environ.SLURM_JOB_ID}\"",
				       close ? (int)(close - at + 1) : 40, at);
	}
	*ret = strdup(text);
	return *ret ? 0 : -ENOMEM;
}

static int read_pointer(const struct datanode *node, char **ret)
{
	const char *text = datanode_string(node), *why = text ? engine_file_pointer_error(text) : NULL;

	if (!text)
		return 0;
	if (why)
		datanode_error(node, "\"%.60s\" %s", text, why);
	*ret = strdup(text);
	return *ret ? 0 : -ENOMEM;
}

/* A path with {field}s; NULL: the file has no such key. */
static int read_path(const struct reading *in, const struct datanode *file, const char *key, char **ret)
{
	struct datanode path;
	int err;

	if (!datanode_key(file, key, &path))
		return 0;
	err = read_template(in, &path, false, ret);
	if (!err && *ret && **ret != '/' && **ret != '{')
		datanode_error(&path, "is no absolute path: begin it with \"/\" or a field, as in \"{cwd}/run.json\"");
	return err;
}

/* The file of a mark, before its facts. */
static int read_file(const struct reading *in, const struct datanode *node, struct recognizer_mark *mark)
{
	struct datanode file, where, equals, behind, error;
	bool has_path, has_where, has_log, has_equals, has_error;
	const char *text;
	int err = 0;

	if (!datanode_key(node, "file", &file))
		return 0;
	if (!in->in_tasks)
		datanode_error(&file, "has a meaning for marks of tasks only: remove it");
	if (!datanode_object(&file, recognizer_file_keys))
		return 0;
	mark->file = calloc(1, sizeof(*mark->file));
	if (!mark->file)
		return -ENOMEM;
	has_path = datanode_key(&file, "path", &where);
	has_log = datanode_key(&file, "log", &where);
	has_where = datanode_key(&file, "where", &where);
	has_equals = datanode_key(&file, "equals", &equals);
	has_error = datanode_key(&file, "stderr", &error);
	if (has_error && (has_path || has_log || has_where || has_equals))
		datanode_error(&error, "stands alone: the engine's standard error is the file");
	else if (has_error)
		err = read_template(in, &error, false, &mark->file->error);
	else if (!has_path && !has_log)
		datanode_error(&file, "has no \"path\": name the file, as in \"{cwd}/run.json\"");
	else if (has_where && !has_path)
		datanode_error(&where, "has a meaning beside \"path\" only: remove it");
	else if (has_path && has_log && !has_where)
		datanode_error(&file, "has a \"path\" without \"where\", and a \"log\": give one of them");
	else if ((has_where || has_log) != has_equals)
		datanode_error(&file, "has only one of \"%s\" and \"equals\": both tell what is the task's",
			       has_log ? "log" : "where");
	err = err ? err : read_path(in, &file, "path", &mark->file->path);
	err = err ? err : read_path(in, &file, "log", &mark->file->log);
	if (!err && has_where)
		err = read_pointer(&where, &mark->file->where);
	if (!err && has_equals)
		err = read_field(in, &equals, &mark->file->equals);
	if (!err && datanode_key(&file, "behind", &behind)) {
		text = datanode_string(&behind);
		if (!has_equals)
			datanode_error(&behind, "has a meaning beside \"equals\" only: remove it");
		mark->file->behind = text ? strdup(text) : NULL;
		if (text && !mark->file->behind)
			err = -ENOMEM;
	}
	return err;
}

/* A value, a key or lines of the mark's file. */
static int read_of_file(const struct datanode *node, const struct recognizer_mark *mark, struct recognizer_source *s)
{
	struct datanode value;
	unsigned values = 0, lines = 0;
	const char *text;
	int err = 0;

	if (!mark->file)
		datanode_error(node, "reads a file that the mark does not name: add \"file\" beside \"facts\"");
	if (datanode_key(node, "when", &value))
		datanode_error(&value, "has no meaning beside \"value\", \"log\" and \"lines\": remove it");
	if (datanode_key(node, "value", &value)) {
		err = read_pointer(&value, &s->text);
		if (mark->file && !mark->file->path)
			datanode_error(&value, "the mark's file is no JSON: give \"%s\" instead", mark->file->error ? "lines" : "log");
	} else if (datanode_key(node, "log", &value)) {
		text = datanode_string(&value);
		if (text && (*text == '/' || !*text))
			datanode_error(&value, "is no key of a log, as \"rule\" or \"wildcards\"");
		if (mark->file && !mark->file->log)
			datanode_error(&value, "the mark's file has no \"log\": name its folder, as in \"{cwd}/log\"");
		s->text = text ? strdup(text) : NULL;
		err = text && !s->text ? -ENOMEM : 0;
	} else if (datanode_key(node, "lines", &value)) {
		datanode_number(&value, 1, RECOGNIZER_LINES_MAX, &s->lines);
		if (mark->file && (mark->file->where || mark->file->log))
			datanode_error(&value, "the mark's file is one of a folder: give \"value\" or \"log\" instead");
		if (!datanode_key(node, "re", &value))
			datanode_error(node, "does not say what a line looks like: add \"re\"");
	}
	for (size_t i = 0; i < mark->n_sources; i++) {
		values += mark->sources[i].kind == SOURCE_VALUE;
		lines += mark->sources[i].kind == SOURCE_LINES;
	}
	if ((values && lines) || values > ENGINE_FILE_VALUES)
		datanode_error(node, "a mark reads lines, or at most %u values and keys of its file",
			       ENGINE_FILE_VALUES);
	return err;
}

static int read_source(const struct reading *in, const struct datanode *node, const struct recognizer_mark *mark,
		       struct recognizer_source *s)
{
	struct datanode from, option, text, re, as;
	unsigned kinds = 0, of_file;
	const char *word;
	int err;

	s->as = FACT_WORD_NONE;
	if (!datanode_object(node, recognizer_source_keys))
		return 0;
	err = read_when(in, node, &s->when);
	if (!err && datanode_key(node, "from", &from)) {
		s->kind = SOURCE_FIELD;
		kinds++;
		err = read_field(in, &from, &s->field);
	}
	if (!err && datanode_key(node, "option", &option)) {
		s->kind = SOURCE_OPTION;
		kinds++;
		err = read_texts(node, "option", false, &s->options);
	}
	if (!err && datanode_key(node, "text", &text)) {
		s->kind = SOURCE_TEXT;
		kinds++;
		err = read_template(in, &text, true, &s->text);
	}
	of_file = datanode_key(node, "value", &from) + datanode_key(node, "log", &text) +
		  datanode_key(node, "lines", &option);
	if (!err && of_file) {
		s->kind = datanode_key(node, "lines", &option) ? SOURCE_LINES : SOURCE_VALUE;
		kinds += of_file;
		err = read_of_file(node, mark, s);
	}
	if (!err && datanode_key(node, "re", &re))
		err = read_pattern(&re, s);
	if (!err && kinds != 1)
		datanode_error(node, "has %u sources: give one of \"from\", \"option\", \"text\", \"value\", \"log\", "
			       "\"lines\"", kinds);
	if (!err && datanode_key(node, "as", &as)) {
		word = datanode_string(&as);
		if (word)
			fact_word(&as, word, &s->as);
		if (s->pattern)
			datanode_error(&as, "has no meaning beside \"re\", whose groups name the facts: remove it");
	} else if (!err && !datanode_key(node, "re", &re)) {
		datanode_error(node, "does not say which fact it is: add \"as\": \"name\", or \"re\" with named groups");
	}
	return err;
}

static int read_sources(const struct reading *in, const struct datanode *node, struct recognizer_mark *mark)
{
	struct datanode list, item;
	int err = 0;

	if (!datanode_key(node, "facts", &list) || !datanode_array(&list))
		return 0;
	mark->sources = calloc(json_array_size(list.json) + 1, sizeof(*mark->sources));
	if (!mark->sources)
		return -ENOMEM;
	for (size_t i = 0; !err && i < json_array_size(list.json); i++) {
		datanode_at(&list, i, &item);
		mark->n_sources++;
		err = read_source(in, &item, mark, &mark->sources[i]);
	}
	return err;
}

static int read_changed(const struct reading *in, const struct datanode *node, struct recognizer_mark *mark)
{
	struct recognizer_fields *fields = &in->table->fields;
	struct datanode value;
	char **names;
	int err = read_texts(node, "changed", false, &names);

	if (!err && names) {
		in->entry->reads = true;
		mark->changed = calloc(RECOGNIZER_TEXTS_MAX, sizeof(*mark->changed));
		err = mark->changed ? 0 : -ENOMEM;
	}
	for (char **name = names; !err && name && *name; name++) {
		int n = recognizer_fields_variable(fields, *name, strlen(*name));

		if (n >= 0)
			mark->changed[mark->n_changed++] = (uint32_t)n;
		else if (n == -ENOMEM)
			err = n;
		else if (datanode_key(node, "changed", &value))
			datanode_error(&value, "%s is one variable too many: recognizers read at most %u", *name,
				       RECOGNIZER_ENVIRON_MAX);
	}
	texts_free(names);
	return err;
}

static int read_mark(const struct reading *in, const struct datanode *node, struct recognizer_mark *mark)
{
	struct datanode value;
	int err;

	mark->entry = in->entry;
	if (!datanode_object(node, recognizer_mark_keys))
		return 0;
	if (datanode_key(node, "child", &value))
		datanode_bool(&value, &mark->child);
	if (datanode_key(node, "root", &value) && datanode_bool(&value, &mark->root) && mark->root &&
	    (mark->child || in->in_runs))
		datanode_error(&value, "has a meaning for marks of tasks without \"child\" only: remove it");
	err = read_texts(node, "programs", true, &mark->programs);
	err = err ? err : read_texts(node, "parents", true, &mark->parents);
	err = err ? err : read_changed(in, node, mark);
	err = err ? err : read_when(in, node, &mark->when);
	err = err ? err : read_file(in, node, mark);
	return err ? err : read_sources(in, node, mark);
}

static int read_marks(const struct reading *in, const struct datanode *node, const char *key,
		      struct recognizer_mark **ret, size_t *ret_n)
{
	struct datanode list, item;
	int err = 0;

	if (!datanode_key(node, key, &list) || !datanode_array(&list))
		return 0;
	*ret = calloc(json_array_size(list.json) + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (size_t i = 0; !err && i < json_array_size(list.json); i++) {
		datanode_at(&list, i, &item);
		++*ret_n;
		err = read_mark(in, &item, &(*ret)[i]);
	}
	return err;
}

static int read_helpers(const struct reading *in, const struct datanode *node)
{
	struct recognizer *e = in->entry;
	struct datanode list, item;
	int err = 0;

	if (!datanode_key(node, "helpers", &list) || !datanode_array(&list))
		return 0;
	e->helpers = calloc(json_array_size(list.json) + 1, sizeof(*e->helpers));
	if (!e->helpers)
		return -ENOMEM;
	for (size_t i = 0; !err && i < json_array_size(list.json); i++) {
		datanode_at(&list, i, &item);
		err = read_condition(in, &item, &e->helpers[e->n_helpers]);
		e->n_helpers += e->helpers[e->n_helpers] != NULL;
	}
	return err;
}

static void read_class(const struct datanode *node, struct recognizer *e)
{
	const char *text = datanode_string(node), *near;

	for (unsigned i = 0; text && i < RECOGNIZER_CLASSES; i++)
		if (strcmp(class_names[i], text) == 0) {
			e->class = (enum recognizer_class)i;
			return;
		}
	near = text ? suggest_nearest(text, class_names) : NULL;
	if (text)
		datanode_error(node, "unknown class \"%s\"%s%s%s", text,
			       near ? ": did you mean \"" : ": one of origin, launcher, scheduler, workflow",
			       near ? near : "", near ? "\"?" : "");
}

static int read_head(const struct datanode *node, struct recognizer *e)
{
	struct datanode value;
	const char *engine;

	e->priority = 50;
	if (!datanode_key(node, "engine", &value)) {
		datanode_error(node, "has no \"engine\": name it, as \"engine\": \"snakemake\"");
		return 0;
	}
	engine = datanode_string(&value);
	if (engine && strlen(engine) > RECOGNIZER_ENGINE_MAX)
		datanode_error(&value, "has %zu bytes: at most %u", strlen(engine), RECOGNIZER_ENGINE_MAX);
	e->engine = strdup(engine ? engine : "");
	e->file = strdup(node->file ? node->file : "");
	e->line = node->pos && node->pos->line > 0 ? (unsigned)node->pos->line : 0;
	if (!e->engine || !e->file)
		return -ENOMEM;
	if (datanode_key(node, "class", &value))
		read_class(&value, e);
	else
		datanode_error(node, "has no \"class\": one of origin, launcher, scheduler, workflow");
	if (datanode_key(node, "priority", &value))
		datanode_number(&value, 0, 1000, &e->priority);
	if (datanode_key(node, "nests", &value))
		datanode_bool(&value, &e->nests);
	if (datanode_key(node, "tests", &value) && datanode_array(&value))
		e->tests = json_incref(value.json);
	return 0;
}

/* Notes the entry's marks of runs in the table's list. */
static void list_marks(const struct datanode *node, struct recognizers *r, struct recognizer *e)
{
	for (size_t i = 0; i < e->n_runs; i++) {
		const struct recognizer_mark *mark = &e->runs[i];

		if (!mark->programs && !mark->parents && !mark->changed)
			datanode_error(node,
				       "run[%zu]: would be evaluated at every exec: add \"programs\", \"parents\" or \"changed\"",
				       i);
		if (r->n_marks == RECOGNIZER_RUN_MARKS) {
			datanode_error(node, "run[%zu] is one mark of a run too many: all tables together have at most %u",
				       i, RECOGNIZER_RUN_MARKS);
			return;
		}
		r->marks[r->n_marks++] = &e->runs[i];
	}
}

static int read_entry(const struct datanode *node, struct recognizers *r)
{
	struct reading in = { .table = r };
	int err;

	if (!datanode_object(node, recognizer_entry_keys))
		return 0;
	if (r->n == r->room) {
		size_t room = r->room ? r->room * 2 : 32;
		struct recognizer **p = reallocarray(r->entries, room, sizeof(*p));

		if (!p)
			return -ENOMEM;
		r->entries = p;
		r->room = room;
	}
	in.entry = calloc(1, sizeof(*in.entry));
	if (!in.entry)
		return -ENOMEM;
	r->entries[r->n++] = in.entry;
	in.entry->fields = &r->fields;
	err = read_head(node, in.entry);
	in.in_runs = true;
	err = err ? err : read_marks(&in, node, "run", &in.entry->runs, &in.entry->n_runs);
	in.in_runs = false;
	in.in_tasks = true;
	err = err ? err : read_marks(&in, node, "task", &in.entry->tasks, &in.entry->n_tasks);
	in.in_tasks = false;
	err = err ? err : read_marks(&in, node, "learn", &in.entry->learns, &in.entry->n_learns);
	err = err ? err : read_helpers(&in, node);
	if (!err)
		list_marks(node, r, in.entry);
	return err;
}

static int read_table(const struct datanode *root, void *arg)
{
	struct datanode list, entry;
	int err = 0;

	if (!datanode_object(root, recognizer_root_keys) || !datanode_key(root, "recognizers", &list) || !datanode_array(&list))
		return 0;
	for (size_t i = 0; err == 0 && i < json_array_size(list.json); i++) {
		datanode_at(&list, i, &entry);
		err = read_entry(&entry, arg);
	}
	return err;
}

static struct recognizers *empty(void)
{
	struct recognizers *r = calloc(1, sizeof(*r));

	if (r) {
		r->refs = 1;
		recognizer_fields_init(&r->fields);
	}
	return r;
}

/* Ends the reading of a table with this error, or 0. */
static struct recognizers *complete(struct recognizers *r, int err, struct diag *diag)
{
	if (r && !err)
		err = recognizers_index(r);
	if (!err)
		return r;
	if (err == -ENOMEM)
		diag_add(diag, DIAG_ERROR, NULL, 0, 0, "out of memory for the table of recognizers");
	return recognizers_unref(r);
}

struct recognizers *recognizers_new(const char *const *more, struct diag *diag)
{
	struct recognizers *r = empty();
	int err = r ? 0 : -ENOMEM;

	for (size_t i = 0; i < WORKFLOWS && !err; i++) {
		err = datafile_read(workflows[i].text, workflows[i].len, workflows[i].name, NULL, read_table, r, diag);
		r->n_built_in = r->n;
	}
	if (!err)
		err = datafile_read(NULL, 0, NULL, more, read_table, r, diag);
	return complete(r, err, diag);
}

struct recognizers *recognizers_read(const char *text, size_t len, struct diag *diag)
{
	struct recognizers *r = empty();

	return complete(r, r ? datafile_read(text, len, "text", NULL, read_table, r, diag) : -ENOMEM, diag);
}

/* ---- looked at -------------------------------------------------------------------- */

size_t recognizers_count(const struct recognizers *r)
{
	return r->n;
}

const struct recognizer *recognizers_at(const struct recognizers *r, size_t i)
{
	return r->entries[i];
}

const struct recognizer *recognizers_find(const struct recognizers *r, const char *engine)
{
	for (size_t i = r->n; i-- > 0;)
		if (strcmp(r->entries[i]->engine, engine) == 0)
			return r->entries[i];
	return NULL;
}

const char *recognizer_engine(const struct recognizer *e)
{
	return e->engine;
}

enum recognizer_class recognizer_class(const struct recognizer *e)
{
	return e->class;
}

bool recognizer_begins_tasks(const struct recognizer *e)
{
	return e->n_tasks > 0;
}

bool recognizer_nests(const struct recognizer *e)
{
	return e->nests;
}

/* The paths of the marks of tasks: two for each mark.  NULL: none. */
static const char *path_at(const struct recognizer *e, size_t i, enum recognizer_reads *ret)
{
	const struct recognizer_file *f = e->tasks[i / 2].file;

	if (!f)
		return NULL;
	*ret = i % 2	 ? RECOGNIZER_READS_LOG
	       : f->error ? RECOGNIZER_READS_ERROR
	       : f->where ? RECOGNIZER_READS_FOLDER
			  : RECOGNIZER_READS_FILE;
	return i % 2 ? f->log : f->error ? "" : f->path;
}

const char *recognizer_reads(const struct recognizer *e, size_t n, enum recognizer_reads *ret)
{
	enum recognizer_reads what = RECOGNIZER_READS_FILE, other;

	for (size_t i = 0; i < 2 * e->n_tasks; i++) {
		const char *path = path_at(e, i, &what);
		bool before = !path;

		for (size_t k = 0; k < i && !before; k++) {
			const char *earlier = path_at(e, k, &other);

			before = earlier && other == what && strcmp(earlier, path) == 0;
		}
		if (before || n-- > 0)
			continue;
		*ret = what;
		return path;
	}
	return NULL;
}

const char *recognizer_file(const struct recognizer *e, unsigned *ret_line)
{
	*ret_line = e->line;
	return e->file;
}

size_t recognizer_tests(const struct recognizer *e)
{
	return json_array_size(e->tests);
}

const char *const *recognizers_environ(const struct recognizers *r)
{
	return r->fields.names;
}

const char *const *recognizers_parents(const struct recognizers *r)
{
	return (const char *const *)r->parents;
}
