/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/top/filter.c - presents a process of the model, and its ancestors, to the rules' expressions.
 */
#include "cli/top/filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/identify/users.h"
#include "core/rules/rule_fields.h"

struct top_filter {
	struct top_model *model;
	struct filter_expr *expr;
	struct users *users;
	char *text;
	/* scratch: a process and those of its ancestors that an expression has asked for */
	struct rule_subject subjects[FILTER_ANCESTORS + 1];
	const struct top_item *items[FILTER_ANCESTORS + 1];
	unsigned n;
};

static const struct rule_subject *parent_of(const struct rule_subject *);

static void set_text(struct rule_subject *s, enum rule_field field, const char *text, bool known)
{
	if (*text || known)
		rule_subject_set_text(s, field, text, strlen(text));
}

static const struct rule_subject *subject_add(struct top_filter *f, const struct top_item *i)
{
	struct rule_subject *s = &f->subjects[f->n];
	const struct top_names *n = i->names;

	*s = (struct rule_subject){ .users = f->users, .parent = parent_of, .owner = f };
	f->items[f->n++] = i;
	set_text(s, RULE_FIELD_RUN, n->run, true);
	set_text(s, RULE_FIELD_PIPELINE, n->pipeline, true);
	set_text(s, RULE_FIELD_TASK, n->task, true);
	set_text(s, RULE_FIELD_CONTAINER, n->container, true);
	set_text(s, RULE_FIELD_TOOL, n->tool, false);
	set_text(s, RULE_FIELD_COMM, n->comm, false);
	set_text(s, RULE_FIELD_EXE, n->exe, false);
	set_text(s, RULE_FIELD_FILENAME, n->filename, false);
	set_text(s, RULE_FIELD_CWD, n->cwd, false);
	set_text(s, RULE_FIELD_CGROUP, n->cgroup, false);
	if (n->argv_len)
		rule_subject_set_text(s, RULE_FIELD_ARGV, n->argv, n->argv_len);
	rule_subject_set_number(s, RULE_FIELD_UID, n->uid);
	if (i->key.pid == 0)
		return s; /* merged: these processes had several of each of the following */
	rule_subject_set_number(s, RULE_FIELD_PID, i->key.pid);
	rule_subject_set_number(s, RULE_FIELD_GID, n->gid);
	rule_subject_set_number(s, RULE_FIELD_SESSION, n->session);
	if (n->ppid)
		rule_subject_set_number(s, RULE_FIELD_PPID, n->ppid);
	rule_subject_set_wrapper(s, n->wrapper);
	return s;
}

static const struct rule_subject *parent_of(const struct rule_subject *s)
{
	struct top_filter *f = s->owner;
	unsigned at = (unsigned)(s - f->subjects);
	const struct top_item *parent;

	if (at + 1 < f->n)
		return &f->subjects[at + 1];
	if (at + 1 > FILTER_ANCESTORS || f->items[at]->names->ppid == 0)
		return NULL;
	parent = top_model_find(f->model, f->items[at]->names->ppid, f->items[at]->names->parent_start_boot_ns);
	return parent && parent != f->items[at] ? subject_add(f, parent) : NULL;
}

static bool accepts(void *arg, const struct top_item *i)
{
	struct top_filter *f = arg;

	f->n = 0;
	return filter_expr_match(f->expr, rule_field_get, subject_add(f, i));
}

struct top_filter *top_filter_new(struct top_model *model)
{
	struct top_filter *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->model = model;
	f->users = users_new(NULL, NULL, NULL);
	return f->users ? f : top_filter_free(f);
}

struct top_filter *top_filter_free(struct top_filter *f)
{
	if (!f)
		return NULL;
	top_model_filter(f->model, NULL, NULL);
	filter_expr_free(f->expr);
	users_free(f->users);
	free(f->text);
	free(f);
	return NULL;
}

int top_filter_set(struct top_filter *f, const char *text, char *why, size_t why_size)
{
	struct filter_error error = { 0 };
	struct filter_expr *expr = NULL;
	char *copy = strdup(text ? text : "");

	if (!copy)
		return -ENOMEM;
	if (*copy) {
		expr = filter_expr_new(copy, strlen(copy), &rule_fields_schema, &error);
		if (!expr) {
			int err = errno == ENOMEM ? -ENOMEM : -EINVAL;

			snprintf(why, why_size, "column %u: %s", error.column, error.what);
			free(copy);
			return err;
		}
	}
	filter_expr_free(f->expr);
	free(f->text);
	f->expr = expr;
	f->text = copy;
	top_model_filter(f->model, expr ? accepts : NULL, f);
	return 0;
}

const char *top_filter_text(const struct top_filter *f)
{
	return f->text ? f->text : "";
}
