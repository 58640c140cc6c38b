/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/live/series.c - adds up the records of a detail and prints them.
 */
#include "cli/live/series.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/answer.h"
#include "cli/base/human.h"
#include "cli/base/text.h"
#include "cli/live/series_priv.h"

/* Subjects kept apart: more than a reader needs. All further subjects are summed as "all others". */
#define SERIES_MOST 256u
#define SERIES_MOST_TABLE 65536u
#define OTHERS "all others"

static bool is_number(const char *type)
{
	return strcmp(type, "u64") == 0 || strcmp(type, "i64") == 0 || strcmp(type, "f64") == 0;
}

static struct field read_field(const json_t *o)
{
	const char *type = answer_text(o, "type"), *semantics = answer_text(o, "semantics");
	struct field f = { .name = answer_text(o, "name"),
			   .unit = answer_text(o, "unit"),
			   .add = strcmp(semantics, "delta") == 0 };

	if (strcmp(type, "hist") == 0)
		f.kind = FIELD_HIST;
	else if (strcmp(semantics, "attribute") != 0)
		f.kind = is_number(type) ? FIELD_NUMBER : FIELD_SKIP;
	else if (strcmp(type, "time") != 0 && strcmp(f.name, "detail.id") != 0 && strcmp(f.name, "id") != 0)
		f.kind = FIELD_LABEL; /* the id is the same in every record: skep attached one detail */
	return f;
}

struct series_set *series_new(const json_t *stream)
{
	const json_t *fields = json_object_get(stream, "fields"), *one;
	struct series_set *set = calloc(1, sizeof(*set));
	bool hists = false, files = false;
	size_t i;

	if (!set)
		return NULL;
	set->last = &set->first;
	set->key = skep_hash_key_new();
	json_array_foreach(fields, i, one)
		if (set->n_fields < SERIES_FIELDS_MOST)
			set->fields[set->n_fields++] = read_field(one);
	for (i = 0; i < set->n_fields; i++) {
		hists |= set->fields[i].kind == FIELD_HIST;
		files |= strcmp(set->fields[i].name, "file.path") == 0;
	}
	/* A table, if there are no distributions to draw, or a subject for each file. */
	set->table = !hists || files;
	return set;
}

struct series_set *series_free(struct series_set *set)
{
	while (set && set->first) {
		struct series *s = set->first;

		set->first = s->next;
		for (size_t i = 0; i < set->n_fields; i++)
			free(s->values[i].hist);
		free(s->label);
		free(s);
	}
	free(set);
	return NULL;
}

/* ---- the subject of a record --------------------------------------------------------- */

static void put_value(FILE *f, const json_t *value)
{
	if (json_is_string(value))
		fputs(json_string_value(value), f);
	else if (json_is_integer(value))
		fprintf(f, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		fprintf(f, "%g", json_real_value(value));
	else
		fputs(json_is_true(value) ? "yes" : "no", f);
}

/* Prints the pid of a upid "a1b2c3d4-4711-5f". */
static void put_process(FILE *f, const json_t *record, const char **between)
{
	const char *upid = answer_text(record, "upid"), *tool = answer_text(record, "tool"), *pid = strchr(upid, '-');

	if (*tool) {
		fprintf(f, "%s%s", *between, tool);
		*between = pid ? " " : ", ";
	}
	if (pid) {
		fprintf(f, "%spid %.*s", *between, (int)strcspn(pid + 1, "-"), pid + 1);
		*between = ", ";
	}
}

/* All processes of a tool are one subject here: a hundred compilers open the same header. */
static void put_tool(FILE *f, const json_t *record)
{
	const char *tool = answer_text(record, "tool"), *between = "";

	if (*tool)
		fputs(tool, f);
	else
		put_process(f, record, &between);
}

/* Is the value empty: null, a list, "", or outside of a table the number 0? */
static bool says_nothing(const json_t *value, bool table)
{
	if (!value || json_is_null(value) || json_is_array(value))
		return true;
	if (json_is_string(value))
		return !*json_string_value(value);
	return !table && json_is_integer(value) && json_integer_value(value) == 0;
}

/* The label of a record's subject. The caller frees it; NULL: no memory. */
static char *label_of(const struct series_set *set, bool table, const json_t *record, size_t *ret_len)
{
	const char *between = "";
	char *label = NULL;
	size_t size;
	FILE *f = open_memstream(&label, &size);

	if (!f)
		return NULL;
	if (table)
		put_tool(f, record);
	else
		put_process(f, record, &between);
	for (size_t i = 0; i < set->n_fields; i++) {
		const json_t *value = json_object_get(record, set->fields[i].name);

		if (set->fields[i].kind != FIELD_LABEL)
			continue;
		if (table)
			fputc('\0', f);
		if (says_nothing(value, table))
			continue;
		if (!table)
			fprintf(f, "%s%s ", between, set->fields[i].name);
		put_value(f, value);
		between = ", ";
	}
	if (fclose(f) == 0) {
		*ret_len = size;
	} else {
		free(label);
		return NULL;
	}
	return label;
}

/* ---- added up ------------------------------------------------------------------------ */

static struct series **bucket_of(struct series_set *set, const char *label, size_t len)
{
	return &set->buckets[skep_hash(&set->key, label, len) % SERIES_BUCKETS];
}

static struct series *series_of(struct series_set *set, const char *label, size_t len)
{
	struct series *s = *bucket_of(set, label, len);

	while (s && (s->others || s->label_len != len || memcmp(s->label, label, len) != 0))
		s = s->chain;
	return s;
}

static struct series *others(const struct series_set *set)
{
	struct series *s = set->first;

	while (s && !s->others)
		s = s->next;
	return s;
}

static struct series *find(struct series_set *set, char *label_taken, size_t len)
{
	struct series *s = series_of(set, label_taken, len), **bucket;
	bool full = set->n >= (set->table ? SERIES_MOST_TABLE : SERIES_MOST);

	if (!s && full) {
		s = others(set);
		free(label_taken);
		label_taken = s ? NULL : strdup(OTHERS);
		len = strlen(OTHERS);
	}
	if (s) {
		if (!full || !s->others)
			free(label_taken);
		return s;
	}
	s = label_taken ? calloc(1, sizeof(*s) + set->n_fields * sizeof(s->values[0])) : NULL;
	if (!s) {
		free(label_taken);
		return NULL;
	}
	s->label = label_taken;
	s->label_len = len;
	s->others = full;
	bucket = bucket_of(set, label_taken, len);
	s->chain = *bucket;
	*bucket = s;
	*set->last = s;
	set->last = &s->next;
	set->n++;
	return s;
}

static int add_hist(struct series_value *v, bool add, const json_t *value)
{
	if (!v->hist)
		v->hist = calloc(1, sizeof(*v->hist));
	if (!v->hist)
		return -ENOMEM;
	if (!add)
		memset(v->hist, 0, sizeof(*v->hist));
	histogram_add(v->hist, value); /* leaves out a value of another form */
	return 0;
}

int series_add(struct series_set *set, const json_t *record)
{
	size_t len = 0;
	char *label = label_of(set, set->table, record, &len);
	struct series *s = label ? find(set, label, len) : NULL;
	int err = s ? 0 : -ENOMEM;

	for (size_t i = 0; i < set->n_fields && err == 0; i++) {
		const struct field *f = &set->fields[i];
		const json_t *value = json_object_get(record, f->name);

		if (f->kind == FIELD_NUMBER && json_is_number(value))
			s->values[i].number = (f->add ? s->values[i].number : 0) + json_number_value(value);
		else if (f->kind == FIELD_HIST && value)
			err = add_hist(&s->values[i], f->add, value);
	}
	return err;
}

/* ---- shown ----------------------------------------------------------------------------- */

static void print_number(const struct field *f, double value, const struct paint *p)
{
	char buf[HUMAN_SIZE];

	fputs("  ", p->out);
	answer_print(p, INK_DIM, f->name);
	if (value >= 0)
		fprintf(p->out, " %s", histogram_value(value, f->unit, paint_units(p), buf));
	else
		fprintf(p->out, " -%s", histogram_value(-value, f->unit, paint_units(p), buf));
}

static void print_hist_line(const struct histogram *h, const char *unit, const struct paint *p)
{
	char text[5 * HUMAN_SIZE];

	histogram_summary(h, unit, p, text, sizeof(text));
	fprintf(p->out, "  %s", text);
}

int series_line(const struct series_set *set, const json_t *record, const struct paint *p)
{
	const char *time = answer_text(record, "time");
	size_t len = 0;
	char *label = label_of(set, false, record, &len);

	if (!label)
		return -ENOMEM;
	/* HH:MM:SS, in UTC as in the record */
	paint(p, INK_DIM, "%.8s", strlen(time) > 19 ? time + 11 : "");
	if (*label) {
		fputs("  ", p->out);
		answer_print(p, INK_BOLD, label);
	}
	for (size_t i = 0; i < set->n_fields; i++) {
		const struct field *f = &set->fields[i];
		const json_t *value = json_object_get(record, f->name);
		struct histogram h = { .sum = 0 };

		if (f->kind == FIELD_NUMBER && json_is_number(value))
			print_number(f, json_number_value(value), p);
		else if (f->kind == FIELD_HIST && histogram_add(&h, value) == 0)
			print_hist_line(&h, f->unit, p);
	}
	fputc('\n', p->out);
	free(label);
	return 0;
}

bool series_many(const struct series_set *set)
{
	return set->table;
}

int series_print(const struct series_set *set, const struct paint *p)
{
	if (set->table)
		return series_table_print(set, p);
	for (const struct series *s = set->first; s; s = s->next) {
		fputc('\n', p->out);
		answer_print(p, INK_BOLD, *s->label ? s->label : "all");
		for (size_t i = 0; i < set->n_fields; i++)
			if (set->fields[i].kind == FIELD_NUMBER)
				print_number(&set->fields[i], s->values[i].number, p);
		fputc('\n', p->out);
		for (size_t i = 0; i < set->n_fields; i++) {
			if (!s->values[i].hist)
				continue;
			answer_print(p, INK_DIM, set->fields[i].name);
			print_hist_line(s->values[i].hist, set->fields[i].unit, p);
			fputc('\n', p->out);
			histogram_print(s->values[i].hist, set->fields[i].unit, p, 2);
		}
	}
	return 0;
}
