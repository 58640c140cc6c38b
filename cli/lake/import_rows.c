/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/import_rows.c - a line of an export as a row, by the columns with which export wrote it.
 */
#include <errno.h>
#include <jansson.h>
#include <skep/record.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/moment.h"
#include "cli/lake/import.h"
#include "core/config/config.h"
#include "core/config/config_pos.h"

#define ROWS_MOST (UINT32_MAX / 2) /* of a run: a batch counts its records in 32 bits */

/* A line that is being read. */
struct line {
	struct import_run *run;
	const char *text;
	size_t len;
	struct import_error *error;
};

static int fail_at(const struct line *l, const char *key, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Sets the error at the value of the key, or at the line. Returns -EINVAL. */
static int fail_at(const struct line *l, const char *key, const char *fmt, ...)
{
	struct config_pos *root = NULL;
	const struct config_pos *at;
	va_list ap;

	l->error->column = 0;
	if (key && config_pos_new(l->text, l->len, &root) == 0) {
		at = config_pos_key(root, key);
		l->error->column = at ? at->column : 0;
		config_pos_free(root);
	}
	va_start(ap, fmt);
	vsnprintf(l->error->text, sizeof(l->error->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int wrong(const struct line *l, const char *key, const json_t *value, const char *want)
{
	char is[CONFIG_QUOTE_SIZE];

	config_describe(value, is, sizeof(is));
	return fail_at(l, key, "\"%s\" is %s; it can be %s", key, is, want);
}

/* ---- values ----------------------------------------------------------------------- */

int import_upid(const char *text, struct skep_upid *ret)
{
	struct skep_upid upid = { 0 };
	const char *pid = strchr(text, '-'), *start = pid ? strchr(pid + 1, '-') : NULL;
	unsigned long long n;
	char *end;

	if (!start || pid - text > 8 || pid[1] < '0' || pid[1] > '9' || !start[1] ||
	    !strchr("0123456789abcdef", start[1]))
		return -EINVAL;
	n = strtoull(pid + 1, &end, 10);
	if (end != start || n == 0 || n > UINT32_MAX)
		return -EINVAL;
	upid.pid = (uint32_t)n;
	errno = 0;
	upid.start_ns = strtoull(start + 1, &end, 16);
	if (*end || errno || end - start > 17 || upid.start_ns > INT64_MAX)
		return -EINVAL;
	*ret = upid;
	return 0;
}

static int read_text(const struct line *l, const char *key, const json_t *value, const char **ret)
{
	if (json_is_null(value)) {
		*ret = "";
		return 0;
	}
	if (!json_is_string(value))
		return wrong(l, key, value, "a string or null");
	*ret = arena_copy(&l->run->arena, json_string_value(value), json_string_length(value));
	return *ret ? 0 : -ENOMEM;
}

static int read_time(const struct line *l, const char *key, const json_t *value, uint64_t *ret)
{
	const char *text = json_string_value(value);

	if (json_is_null(value))
		return 0;
	/* moment() also reads a time ago */
	if (!text || strlen(text) < 20 || text[10] != 'T' || moment(text, ret) != 0 || *ret > INT64_MAX)
		return wrong(l, key, value, "a time like \"2026-11-21T03:48:15.000000000Z\", or null");
	return 0;
}

static int read_list(const struct line *l, const char *key, const json_t *value, const char *const **ret)
{
	size_t n = json_array_size(value);
	const char **list;

	if (!json_is_array(value))
		return wrong(l, key, value, "a list of strings");
	list = arena_alloc(&l->run->arena, (n + 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const json_t *one = json_array_get(value, i);

		if (!json_is_string(one))
			return wrong(l, key, one, "a list of strings");
		list[i] = arena_copy(&l->run->arena, json_string_value(one), json_string_length(one));
		if (!list[i])
			return -ENOMEM;
	}
	*ret = list;
	return 0;
}

static int read_facets(const struct line *l, const char *key, json_t *value, struct lake_process *p)
{
	struct lake_facet *facets;
	const char *name;
	json_t *one;

	if (!json_is_object(value))
		return wrong(l, key, value, "an object of numbers");
	facets = arena_alloc(&l->run->arena, (json_object_size(value) + 1) * sizeof(*facets));
	if (!facets)
		return -ENOMEM;
	json_object_foreach(value, name, one) {
		if (!json_is_number(one))
			return wrong(l, key, one, "an object of numbers");
		facets[p->n_facets].name = arena_copy(&l->run->arena, name, strlen(name));
		facets[p->n_facets].value = json_number_value(one);
		if (!facets[p->n_facets++].name)
			return -ENOMEM;
	}
	p->facets = facets;
	return 0;
}

static int read_value(const struct line *l, const struct export_column *c, json_t *value, void *row)
{
	void *at = (void *)(uintptr_t)export_at(c, row); /* add_row() made each part of it */
	const bool null = json_is_null(value), natural = json_is_integer(value) && json_integer_value(value) >= 0;

	switch (c->type) {
	case EXPORT_TEXT:
		return read_text(l, c->name, value, at);
	case EXPORT_TIME:
		return read_time(l, c->name, value, at);
	case EXPORT_CODE:
		if (!natural && !null)
			return wrong(l, c->name, value, "a whole number from 0 on, or null");
		*(int64_t *)at = null ? -1 : json_integer_value(value);
		return 0;
	case EXPORT_SIGNED:
		if (!json_is_integer(value))
			return wrong(l, c->name, value, "a whole number");
		*(int64_t *)at = json_integer_value(value);
		return 0;
	case EXPORT_REAL:
		if (!json_is_number(value) && !null)
			return wrong(l, c->name, value, "a number or null");
		*(double *)at = json_number_value(value);
		return 0;
	case EXPORT_BOOL:
		if (!json_is_boolean(value))
			return wrong(l, c->name, value, "true or false");
		*(bool *)at = json_is_true(value);
		return 0;
	case EXPORT_LIST:
		return read_list(l, c->name, value, at);
	case EXPORT_FACETS:
		return read_facets(l, c->name, value, row);
	case EXPORT_NUMBER:
		if (!natural)
			return wrong(l, c->name, value, "a whole number from 0 on");
		*(uint64_t *)at = (uint64_t)json_integer_value(value);
		return 0;
	case EXPORT_KNOWN:
	case EXPORT_NET:
	default:
		if (!natural && !null)
			return wrong(l, c->name, value, "a whole number from 0 on, or null");
		*(uint64_t *)at = null ? 0 : (uint64_t)json_integer_value(value);
		return 0;
	}
}

/* ---- rows ------------------------------------------------------------------------- */

static const struct export_column *column_of(const struct export_kind *kind, const char *name)
{
	for (const struct export_column *c = kind->columns; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

static int read_columns(const struct line *l, const struct export_kind *kind, json_t *o, void *row)
{
	const bool is_run = kind == &export_kinds[EXPORT_RUNS];
	const char *key;
	json_t *value;

	json_object_foreach(o, key, value) {
		const struct export_column *c = column_of(kind, key);
		int err;

		if (!c && (strcmp(key, "row") == 0 || strcmp(key, is_run ? "following" : "run") == 0))
			continue;
		if (!c)
			return fail_at(l, key, "a row of %s has no \"%.64s\"; if a newer skep wrote the file, upgrade this one",
				       kind->name, key);
		err = read_value(l, c, value, row);
		if (err)
			return err;
	}
	return 0;
}

static int check_upid(const struct line *l, const char *key, const char *upid, bool must)
{
	struct skep_upid read;

	if ((!must && (!upid || !*upid)) || (upid && import_upid(upid, &read) == 0))
		return 0;
	return fail_at(l, key, "\"%s\" is \"%.64s\"; it can be an identity like \"0123abcd-4711-2f00c1b3a9\"", key,
		       upid ? upid : "");
}

/* What the sink needs to store a row. */
static int check_row(const struct line *l, enum export_row kind, const void *row)
{
	const struct lake_process *p = row;
	const struct lake_task *t = row;
	int err = 0;

	if (kind == EXPORT_PROCESSES) {
		err = check_upid(l, "upid", p->upid, true);
		return err ? err : check_upid(l, "parent_upid", p->parent_upid, false);
	}
	if (kind == EXPORT_TASKS && !(t->task_id && *t->task_id) && !(t->task && *t->task))
		return fail_at(l, NULL, "a task needs \"task_id\" or \"task\"");
	return 0;
}

static int begin_run(const struct line *l, json_t *o)
{
	const json_t *following = json_object_get(o, "following");
	struct lake_run *run = &l->run->report.run;
	int err;

	if (l->run->following)
		return fail_at(l, NULL,
			       "a run begins here, and the run before it has %zu of its %zu rows; is a part of the file missing?",
			       l->run->wanted - l->run->following, l->run->wanted);
	if (!json_is_integer(following) || json_integer_value(following) < 0 ||
	    json_integer_value(following) > ROWS_MOST)
		return following ? wrong(l, "following", following, "the number of the run's rows") :
				   fail_at(l, NULL, "the run has no \"following\"; import reads what `skep lake export --what all` writes");
	import_run_free(l->run);
	run->exit_code = -1;
	err = read_columns(l, &export_kinds[EXPORT_RUNS], o, run);
	if (!err && (!run->id || !*run->id))
		err = fail_at(l, "run", "the run has no id in \"run\"");
	if (!err)
		err = check_upid(l, "root_upid", run->root_upid, false);
	l->run->following = l->run->wanted = err ? 0 : (size_t)json_integer_value(following);
	return err;
}

/* What the row of a process points to. */
static int add_parts(const struct line *l, struct lake_process *p)
{
	p->kind = arena_alloc(&l->run->arena, sizeof(*p->kind));
	p->in = arena_alloc(&l->run->arena, sizeof(*p->in));
	return p->kind && p->in ? 0 : -ENOMEM;
}

static int add_row(const struct line *l, enum export_row number, json_t *o)
{
	const struct export_kind *kind = &export_kinds[number];
	const char *run = json_string_value(json_object_get(o, "run"));
	char *report = (char *)&l->run->report;
	size_t *n = (size_t *)(void *)(report + kind->n), *room = &l->run->room[number];
	void *rows, *row, *grown;
	int err;

	if (!l->run->following)
		return fail_at(l, NULL, "a row of %s without its run; is a part of the file missing?", kind->name);
	if (!run || strcmp(run, l->run->report.run.id) != 0)
		return fail_at(l, "run", "\"run\" is \"%.64s\", in the rows of run %.64s; is a part of the file missing?",
			       run ? run : "", l->run->report.run.id);
	memcpy(&rows, report + kind->rows, sizeof(rows));
	if (*n == *room) {
		size_t more = *room ? 2 * *room : 64;

		grown = reallocarray(rows, more, kind->size);
		if (!grown)
			return -ENOMEM;
		rows = grown;
		*room = more;
		memcpy(report + kind->rows, &rows, sizeof(rows));
	}
	row = (char *)rows + *n * kind->size;
	memset(row, 0, kind->size);
	err = number == EXPORT_PROCESSES ? add_parts(l, row) : 0;
	if (!err)
		err = read_columns(l, kind, o, row);
	if (!err)
		err = check_row(l, number, row);
	if (!err) {
		++*n;
		l->run->following--;
	}
	return err;
}

int import_row(struct import_run *run, const char *text, size_t len, struct import_error *ret_error)
{
	const struct line l = { run, text, len, ret_error };
	const struct export_kind *kind;
	json_error_t error;
	json_t *o = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	const char *name = json_string_value(json_object_get(o, "row"));
	int err;

	if (!o) {
		ret_error->column = error.line == 1 ? error.column : 0;
		snprintf(ret_error->text, sizeof(ret_error->text), "not JSON: %.200s", error.text);
		return -EINVAL;
	}
	kind = name ? export_kind_of(name) : NULL;
	if (!name)
		err = fail_at(&l, NULL, "no object with \"row\"; import reads what `skep lake export --what all` writes");
	else if (!kind)
		err = fail_at(&l, "row", "\"row\" is \"%.64s\"; if a newer skep wrote the file, upgrade this one", name);
	else if (kind == &export_kinds[EXPORT_RUNS])
		err = begin_run(&l, o);
	else
		err = add_row(&l, (enum export_row)(kind - export_kinds), o);
	json_decref(o);
	return err;
}

void import_run_free(struct import_run *run)
{
	struct lake_report *r = &run->report;

	free(r->tasks);
	free(r->processes);
	free(r->samples);
	free(r->ledger);
	arena_free(&run->arena);
	*run = (struct import_run){ 0 };
}
