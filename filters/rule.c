/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/rule.c - one rule: checks, copies, compares and frees it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters/rule.h"

#define LABELS 32u
#define LABEL_NAME 64u
#define LABEL_VALUE 256u
#define SAMPLE 1000000u

/* Reports an error outside `when`, so without a position. */
static int wrong(struct filter_error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int wrong(struct filter_error *e, const char *fmt, ...)
{
	va_list ap;

	*e = (struct filter_error){ 0 };
	va_start(ap, fmt);
	vsnprintf(e->what, sizeof(e->what), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static bool is_among(const char *s, const char *more)
{
	for (; *s; s++) {
		bool letter = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9');

		if (!letter && !strchr(more, *s))
			return false;
	}
	return true;
}

static int check_labels(const struct rule_spec *spec, struct filter_error *e)
{
	if (spec->n_labels > LABELS)
		return wrong(e, "%zu labels; at most %u", spec->n_labels, LABELS);
	if (spec->n_labels && spec->verdict == RULE_EXCLUDE)
		return wrong(e, "an excluded process has no record that could carry labels");
	for (size_t i = 0; i < spec->n_labels; i++) {
		const struct rule_label *l = &spec->labels[i];

		if (!*l->name || strlen(l->name) > LABEL_NAME || !is_among(l->name, "._-"))
			return wrong(e, "the label \"%.70s\": a name is 1 to %u letters, digits, '.', '_', '-'",
				     l->name, LABEL_NAME);
		if (strlen(l->value) > LABEL_VALUE)
			return wrong(e, "the label \"%.70s\": its value is longer than %u bytes", l->name, LABEL_VALUE);
		for (size_t j = 0; j < i; j++)
			if (strcmp(spec->labels[j].name, l->name) == 0)
				return wrong(e, "the label \"%.70s\" appears twice", l->name);
	}
	return 0;
}

static int check(const struct rule_spec *spec, struct filter_error *e)
{
	if (!spec->id || !*spec->id || strlen(spec->id) > RULE_ID_MAX || !is_among(spec->id, "._-/"))
		return wrong(e, "\"%.70s\" is not an id: 1 to %u letters, digits, '.', '_', '-', '/'",
			     spec->id ? spec->id : "", RULE_ID_MAX);
	if (spec->verdict != RULE_INCLUDE && spec->verdict != RULE_EXCLUDE && spec->verdict != RULE_SAMPLE)
		return wrong(e, "a verdict is include, exclude or sample");
	if (spec->verdict == RULE_SAMPLE && (spec->sample < 1 || spec->sample > SAMPLE))
		return wrong(e, "a sample of 1 in %u: from 1 in 1 to 1 in %u", spec->sample, SAMPLE);
	return check_labels(spec, e);
}

static int copy(const char *from, char **ret)
{
	if (!from)
		return 0;
	*ret = strdup(from);
	return *ret ? 0 : -ENOMEM;
}

static int copy_labels(const struct rule_spec *spec, struct rule *r)
{
	if (!spec->n_labels)
		return 0;
	r->labels = calloc(spec->n_labels, sizeof(*r->labels));
	if (!r->labels)
		return -ENOMEM;
	r->n_labels = spec->n_labels;
	for (size_t i = 0; i < spec->n_labels; i++) {
		r->labels[i].name = strdup(spec->labels[i].name);
		r->labels[i].value = strdup(spec->labels[i].value);
		if (!r->labels[i].name || !r->labels[i].value)
			return -ENOMEM;
		r->label_len += (uint32_t)(strlen(r->labels[i].name) + strlen(r->labels[i].value) + 2);
	}
	r->label_text = malloc(r->label_len + 1u);
	if (!r->label_text)
		return -ENOMEM;
	for (size_t i = 0, at = 0; i < spec->n_labels; i++)
		at += (size_t)sprintf(r->label_text + at, "%s=%s", r->labels[i].name, r->labels[i].value) + 1;
	return 0;
}

int rule_new(const struct rule_spec *spec, const struct filter_schema *schema, struct rule **ret,
	     struct filter_error *e)
{
	struct rule *r;
	int err = check(spec, e);

	if (err)
		return err;
	r = calloc(1, sizeof(*r));
	if (!r)
		goto no_memory;
	r->line = spec->line;
	r->verdict = spec->verdict;
	r->sample = spec->verdict == RULE_SAMPLE ? spec->sample : 0;
	r->inherit = spec->inherit;
	if (spec->when) {
		r->when = filter_expr_new(spec->when, spec->when_len, schema, e);
		if (!r->when) {
			err = -errno;
			rule_free(r);
			return err;
		}
	}
	r->text = spec->when ? strndup(spec->when, spec->when_len) : strdup("");
	if (!r->text || copy(spec->id, &r->id) || copy(spec->why, &r->why) || copy(spec->file, &r->file) ||
	    copy_labels(spec, r))
		goto no_memory;
	*ret = r;
	return 0;
no_memory:
	rule_free(r);
	wrong(e, "no memory for this rule");
	return -ENOMEM;
}

struct rule *rule_free(struct rule *r)
{
	if (!r)
		return NULL;
	for (size_t i = 0; i < r->n_labels; i++) {
		free((char *)r->labels[i].name); /* copy_labels allocated it */
		free((char *)r->labels[i].value);
	}
	free(r->labels);
	free(r->label_text);
	filter_expr_free(r->when);
	free(r->id);
	free(r->text);
	free(r->why);
	free(r->file);
	free(r);
	return NULL;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool rule_same(const struct rule *a, const struct rule *b)
{
	if (!same_text(a->id, b->id) || !same_text(a->text, b->text) || !same_text(a->why, b->why) ||
	    !a->when != !b->when)
		return false;
	if (a->verdict != b->verdict || a->sample != b->sample || a->inherit != b->inherit ||
	    a->n_labels != b->n_labels)
		return false;
	for (size_t i = 0; i < a->n_labels; i++)
		if (!same_text(a->labels[i].name, b->labels[i].name) ||
		    !same_text(a->labels[i].value, b->labels[i].value))
			return false;
	return true;
}
