/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/recognizer_fields.c - the fields that a recognizer's conditions test, and their values at an exec.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/identify/recognizer_table.h"

#define FIELD(name_, type_, help_) { .name = name_, .type = type_, .help = help_ }
#define OF_PARENT(name_, type_, help_) { .name = name_, .type = type_, .of_parent = true, .help = help_ }

static const struct filter_field fixed[FIELD_FIXED] = {
	[FIELD_TOOL] = OF_PARENT("tool", FILTER_TEXT, "the program, seen through interpreters"),
	[FIELD_EXE] = OF_PARENT("exe", FILTER_TEXT, "resolved path of the binary"),
	[FIELD_COMM] = OF_PARENT("comm", FILTER_TEXT, "name of the main thread"),
	[FIELD_FILENAME] = OF_PARENT("filename", FILTER_TEXT, "path as given to exec"),
	[FIELD_CWD] = OF_PARENT("cwd", FILTER_TEXT, "working directory"),
	[FIELD_CGROUP] = OF_PARENT("cgroup", FILTER_TEXT, "path of the cgroup"),
	[FIELD_ARGV] = OF_PARENT("argv", FILTER_LIST, "the arguments"),
	[FIELD_ARGV_0] = OF_PARENT("argv.0", FILTER_TEXT, "the first argument, the program's own name"),
	[FIELD_ARGV_1] = OF_PARENT("argv.1", FILTER_TEXT, "the second argument"),
	[FIELD_ARGV_2] = OF_PARENT("argv.2", FILTER_TEXT, "the third argument"),
	[FIELD_ARGV_3] = OF_PARENT("argv.3", FILTER_TEXT, "the fourth argument"),
	[FIELD_ARGV_4] = OF_PARENT("argv.4", FILTER_TEXT, "the fifth argument"),
	[FIELD_ARGV_5] = OF_PARENT("argv.5", FILTER_TEXT, "the sixth argument"),
	[FIELD_ARGV_6] = OF_PARENT("argv.6", FILTER_TEXT, "the seventh argument"),
	[FIELD_UID] = OF_PARENT("uid", FILTER_UINT, "user id"),
	[FIELD_CHILD] = FIELD("child", FILTER_BOOL, "its parent is the engine's own process"),
	[FIELD_MOVED] = FIELD("moved", FILTER_BOOL, "its working directory is not the engine's"),
	[FIELD_RUN_CWD] = FIELD("run.cwd", FILTER_TEXT, "working directory of the engine"),
	[FIELD_RUN_ARGV] = FIELD("run.argv", FILTER_LIST, "arguments of the engine"),
	[FIELD_RUN_ARGV_1] = FIELD("run.argv.1", FILTER_TEXT, "the engine's second argument"),
	[FIELD_RUN_ARGV_2] = FIELD("run.argv.2", FILTER_TEXT, "the engine's third argument"),
};

void recognizer_fields_init(struct recognizer_fields *f)
{
	memset(f, 0, sizeof(*f));
	memcpy(f->fields, fixed, sizeof(fixed));
	f->schema = (struct filter_schema){ f->fields, FIELD_FIXED };
}

void recognizer_fields_clear(struct recognizer_fields *f)
{
	for (uint32_t i = FIELD_FIXED; i < f->schema.n; i++)
		free((char *)f->fields[i].name);
	f->schema.n = FIELD_FIXED;
	f->n_names = 0;
}

int recognizer_fields_variable(struct recognizer_fields *f, const char *name, size_t len)
{
	char *environ, *changed;

	for (uint32_t i = 0; i < f->n_names; i++)
		if (strlen(f->names[i]) == len && memcmp(f->names[i], name, len) == 0)
			return (int)i;
	if (f->n_names == RECOGNIZER_ENVIRON_MAX)
		return -ENOSPC;
	if (asprintf(&environ, "environ.%.*s", (int)len, name) < 0)
		return -ENOMEM;
	if (asprintf(&changed, "changed.%.*s", (int)len, name) < 0) {
		free(environ);
		return -ENOMEM;
	}
	f->fields[f->schema.n++] = (struct filter_field)FIELD(environ, FILTER_TEXT, NULL);
	f->fields[f->schema.n++] = (struct filter_field)FIELD(changed, FILTER_TEXT, NULL);
	f->names[f->n_names] = environ + strlen("environ.");
	return (int)f->n_names++;
}

int recognizer_fields_find(const struct recognizer_fields *f, const char *name, size_t len)
{
	for (uint32_t i = 0; i < f->schema.n; i++)
		if (strlen(f->fields[i].name) == len && memcmp(f->fields[i].name, name, len) == 0)
			return (int)i;
	return -1;
}

int recognizer_fields_find_text(const struct recognizer_fields *f, const char *name, size_t len, unsigned *ret_level)
{
	static const char parent[] = "parent.";
	const size_t n = sizeof(parent) - 1;
	bool of_parent = len > n && memcmp(name, parent, n) == 0;
	int field = recognizer_fields_find(f, of_parent ? name + n : name, of_parent ? len - n : len);

	*ret_level = of_parent;
	return field >= 0 && f->fields[field].type == FILTER_TEXT && (!of_parent || f->fields[field].of_parent) ?
		       field : -1;
}

struct filter_text recognizer_variable(const struct filter_text *environ, const char *name)
{
	const char *at = environ->ptr, *end = at ? at + environ->len : NULL;
	size_t n = strlen(name);

	while (at < end) {
		size_t len = strnlen(at, (size_t)(end - at));

		if (len > n && at[n] == '=' && memcmp(at, name, n) == 0)
			return (struct filter_text){ at + n + 1, (uint32_t)(len - n - 1) };
		at += len + 1;
	}
	return (struct filter_text){ NULL, 0 };
}

static struct filter_text word_at(const struct filter_text *list, unsigned n)
{
	const char *at = list->ptr, *end = at ? at + list->len : NULL;

	while (at < end) {
		size_t len = strnlen(at, (size_t)(end - at));

		if (n-- == 0)
			return (struct filter_text){ at, (uint32_t)len };
		at += len + 1;
	}
	return (struct filter_text){ NULL, 0 };
}

static enum filter_known text(struct filter_text t, union filter_value *ret)
{
	ret->text = t;
	return t.ptr ? FILTER_KNOWN : FILTER_UNKNOWN;
}

/* A variable of the exec; changed: only if its value differs from the value that skep read before. */
static enum filter_known variable(const struct recognizer_view *v, uint32_t number, bool changed,
				  union filter_value *ret)
{
	struct filter_text value = recognizer_variable(&v->subject->self.environ, v->fields->names[number]), before;

	if (changed && value.ptr) {
		before = recognizer_variable(&v->subject->environ_before, v->fields->names[number]);
		if (before.ptr && before.len == value.len && memcmp(before.ptr, value.ptr, value.len) == 0)
			return FILTER_UNKNOWN;
	}
	return text(value, ret);
}

static enum filter_known moved(const struct recognizer_subject *s, union filter_value *ret)
{
	const struct filter_text *a = &s->self.cwd, *b = &s->run.cwd;

	ret->b = a->ptr && b->ptr && (a->len != b->len || memcmp(a->ptr, b->ptr, a->len) != 0);
	return a->ptr && b->ptr ? FILTER_KNOWN : FILTER_UNKNOWN;
}

enum filter_known recognizer_field_get(const void *view, uint32_t level, uint32_t field, union filter_value *ret)
{
	const struct recognizer_view *v = view;
	const struct recognizer_image *image = level == 0 ? &v->subject->self : &v->subject->parent;

	if (level > 1)
		return FILTER_NOBODY;
	switch (field) {
	case FIELD_TOOL:
		return text(image->tool, ret);
	case FIELD_EXE:
		return text(image->exe, ret);
	case FIELD_COMM:
		return text(image->comm, ret);
	case FIELD_FILENAME:
		return text(image->filename, ret);
	case FIELD_CWD:
		return text(image->cwd, ret);
	case FIELD_CGROUP:
		return text(image->cgroup, ret);
	case FIELD_ARGV:
		return text(image->argv, ret);
	case FIELD_ARGV_0:
	case FIELD_ARGV_1:
	case FIELD_ARGV_2:
	case FIELD_ARGV_3:
	case FIELD_ARGV_4:
	case FIELD_ARGV_5:
	case FIELD_ARGV_6:
		return text(word_at(&image->argv, field - FIELD_ARGV_0), ret);
	case FIELD_UID:
		ret->u = image->uid;
		return image->tool.ptr ? FILTER_KNOWN : FILTER_UNKNOWN;
	case FIELD_CHILD:
		ret->b = v->subject->child;
		return FILTER_KNOWN;
	case FIELD_MOVED:
		return moved(v->subject, ret);
	case FIELD_RUN_CWD:
		return text(v->subject->run.cwd, ret);
	case FIELD_RUN_ARGV:
		return text(v->subject->run.argv, ret);
	case FIELD_RUN_ARGV_1:
	case FIELD_RUN_ARGV_2:
		return text(word_at(&v->subject->run.argv, 1 + field - FIELD_RUN_ARGV_1), ret);
	default:
		field -= FIELD_FIXED;
		return field / 2 < v->fields->n_names ? variable(v, field / 2, field % 2, ret) : FILTER_UNKNOWN;
	}
}

bool recognizer_holds(const struct recognizer_fields *fields, const struct filter_expr *when,
		      const struct recognizer_subject *subject)
{
	struct recognizer_view view = { fields, subject };
	struct filter_budget own = { 0 }, *budget = subject->budget ? subject->budget : &own;

	return !when || (filter_expr_match_within(when, recognizer_field_get, &view, budget) && !budget->spent);
}
