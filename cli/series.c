/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/series.c - adding records up, and showing them.
 */
#include "cli/series.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/histogram.h"
#include "cli/human.h"
#include "cli/text.h"

#define FIELDS_MOST 64u
#define SERIES_MOST 256u /* more things than a person reads; the rest is one more, "all others" */

enum field_kind { FIELD_SKIP, FIELD_LABEL, FIELD_NUMBER, FIELD_HIST };

struct field {
	const char *name, *unit;
	enum field_kind kind;
	bool add; /* delta; else the last one counts */
};

struct series {
	struct series *next;
	char *label;
	double numbers[FIELDS_MOST];
	struct histogram *hists[FIELDS_MOST];
};

struct series_set {
	struct field fields[FIELDS_MOST];
	size_t n_fields, n;
	struct series *first, **last;
};

static bool is_number(const char *type)
{
	return strcmp(type, "u64") == 0 || strcmp(type, "i64") == 0 || strcmp(type, "f64") == 0;
}

static struct field read_field(const json_t *o)
{
	const char *type = answer_text(o, "type"), *semantics = answer_text(o, "semantics");
	struct field f = { .name = answer_text(o, "name"), .unit = answer_text(o, "unit"), .add = strcmp(semantics, "delta") == 0 };

	if (strcmp(type, "hist") == 0)
		f.kind = FIELD_HIST;
	else if (strcmp(semantics, "attribute") != 0)
		f.kind = is_number(type) ? FIELD_NUMBER : FIELD_SKIP;
	else if (strcmp(type, "time") != 0 && strcmp(f.name, "detail.id") != 0 && strcmp(f.name, "id") != 0)
		f.kind = FIELD_LABEL; /* the id is that of the only thing that is attached here */
	return f;
}

struct series_set *series_new(const json_t *stream)
{
	const json_t *fields = json_object_get(stream, "fields"), *one;
	struct series_set *set = calloc(1, sizeof(*set));
	size_t i;

	if (!set)
		return NULL;
	set->last = &set->first;
	json_array_foreach(fields, i, one)
		if (set->n_fields < FIELDS_MOST)
			set->fields[set->n_fields++] = read_field(one);
	return set;
}

struct series_set *series_free(struct series_set *set)
{
	while (set && set->first) {
		struct series *s = set->first;

		set->first = s->next;
		for (size_t i = 0; i < FIELDS_MOST; i++)
			free(s->hists[i]);
		free(s->label);
		free(s);
	}
	free(set);
	return NULL;
}

/* ---- what a record is about ---------------------------------------------------------- */

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

/* "a1b2c3d4-4711-5f": its pid, for people. */
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

/* To be freed; NULL: no memory. */
static char *label_of(const struct series_set *set, const json_t *record)
{
	const char *between = "";
	char *label = NULL;
	size_t size;
	FILE *f = open_memstream(&label, &size);

	if (!f)
		return NULL;
	put_process(f, record, &between);
	for (size_t i = 0; i < set->n_fields; i++) {
		const json_t *value = json_object_get(record, set->fields[i].name);

		if (set->fields[i].kind != FIELD_LABEL || !value || json_is_null(value) || json_is_array(value))
			continue;
		if (json_is_string(value) && !*json_string_value(value))
			continue;
		fprintf(f, "%s%s ", between, set->fields[i].name);
		put_value(f, value);
		between = ", ";
	}
	if (fclose(f) != 0) {
		free(label);
		return NULL;
	}
	return label;
}

/* ---- added up ------------------------------------------------------------------------ */

static struct series *find(struct series_set *set, char *label_taken)
{
	struct series *s;

	for (s = set->first; s; s = s->next)
		if (strcmp(s->label, label_taken) == 0) {
			free(label_taken);
			return s;
		}
	if (set->n >= SERIES_MOST) {
		free(label_taken);
		label_taken = strdup("all others");
		for (s = set->first; s && label_taken; s = s->next)
			if (strcmp(s->label, label_taken) == 0) {
				free(label_taken);
				return s;
			}
	}
	s = label_taken ? calloc(1, sizeof(*s)) : NULL;
	if (!s) {
		free(label_taken);
		return NULL;
	}
	s->label = label_taken;
	*set->last = s;
	set->last = &s->next;
	set->n++;
	return s;
}

static int add_hist(struct series *s, size_t i, bool add, const json_t *value)
{
	if (!s->hists[i])
		s->hists[i] = calloc(1, sizeof(*s->hists[i]));
	if (!s->hists[i])
		return -ENOMEM;
	if (!add)
		memset(s->hists[i], 0, sizeof(*s->hists[i]));
	histogram_add(s->hists[i], value); /* of another form: left out */
	return 0;
}

int series_add(struct series_set *set, const json_t *record)
{
	char *label = label_of(set, record);
	struct series *s = label ? find(set, label) : NULL;
	int err = s ? 0 : -ENOMEM;

	for (size_t i = 0; i < set->n_fields && err == 0; i++) {
		const struct field *f = &set->fields[i];
		const json_t *value = json_object_get(record, f->name);

		if (f->kind == FIELD_NUMBER && json_is_number(value))
			s->numbers[i] = (f->add ? s->numbers[i] : 0) + json_number_value(value);
		else if (f->kind == FIELD_HIST && value)
			err = add_hist(s, i, f->add, value);
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
	char *label = label_of(set, record);

	if (!label)
		return -ENOMEM;
	/* the seconds of its day, in UTC as in the record */
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

int series_print(const struct series_set *set, const struct paint *p)
{
	for (const struct series *s = set->first; s; s = s->next) {
		fputc('\n', p->out);
		answer_print(p, INK_BOLD, *s->label ? s->label : "all");
		for (size_t i = 0; i < set->n_fields; i++)
			if (set->fields[i].kind == FIELD_NUMBER)
				print_number(&set->fields[i], s->numbers[i], p);
		fputc('\n', p->out);
		for (size_t i = 0; i < set->n_fields; i++) {
			if (!s->hists[i])
				continue;
			answer_print(p, INK_DIM, set->fields[i].name);
			print_hist_line(s->hists[i], set->fields[i].unit, p);
			fputc('\n', p->out);
			histogram_print(s->hists[i], set->fields[i].unit, p, 2);
		}
	}
	return 0;
}
