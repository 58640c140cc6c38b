/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/filter_recorded.c - the processes of a file that the sink `file` has written: its lines of
 * the stream process.exit.  A process that executed several programs has several lines.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/filter_people.h"
#include "cli/skep.h"
#include "core/users.h"

struct field {
	enum judge_field field;
	const char *key;
};

static const struct field texts[] = {
	{ JUDGE_TOOL, "tool" },	    { JUDGE_EXE, "exe" },	  { JUDGE_COMM, "comm" }, { JUDGE_FILENAME, "filename" },
	{ JUDGE_CWD, "cwd" },	    { JUDGE_CGROUP, "cgroup" },	  { JUDGE_RUN, "run" },	  { JUDGE_CONTAINER, "container" },
	{ JUDGE_PIPELINE, "pipeline" }, { JUDGE_TASK, "task" },
};
static const struct field numbers[] = {
	{ JUDGE_UID, "uid" }, { JUDGE_GID, "gid" }, { JUDGE_SESSION, "session" }, { JUDGE_PID, "pid" }, { JUDGE_PPID, "ppid" },
};

#define N_OF(a) (sizeof(a) / sizeof((a)[0]))

static int read_argv(const json_t *list, struct person *p)
{
	size_t len = 0, i;
	const json_t *one;
	char *argv;
	int err;

	if (!json_is_array(list))
		return 0;
	json_array_foreach(list, i, one)
		len += json_string_length(one) + 1;
	argv = malloc(len + 1);
	if (!argv)
		return -ENOMEM;
	len = 0;
	json_array_foreach(list, i, one) {
		memcpy(argv + len, json_is_string(one) ? json_string_value(one) : "", json_string_length(one) + 1);
		len += json_string_length(one) + 1;
	}
	err = person_text(p, JUDGE_ARGV, argv, len);
	free(argv);
	return err;
}

static int read_record(const json_t *o, struct person *p)
{
	const char *upid = json_string_value(json_object_get(o, "upid")), *above = json_string_value(json_object_get(o, "parent_upid"));
	const char *tail = upid ? strchr(upid, '-') : NULL;
	unsigned long long start;
	unsigned pid;
	int err = 0;

	for (size_t i = 0; i < N_OF(texts) && !err; i++) {
		const json_t *v = json_object_get(o, texts[i].key);

		/* Written without a text where it was not known; these four are known to be none then. */
		if (json_string_length(v) > 0 || (json_is_string(v) && texts[i].field >= JUDGE_CONTAINER))
			err = person_text(p, texts[i].field, json_string_value(v), json_string_length(v));
	}
	for (size_t i = 0; i < N_OF(numbers); i++)
		if (json_is_integer(json_object_get(o, numbers[i].key)))
			judge_set_number(&p->subject, numbers[i].field, (uint64_t)json_integer_value(json_object_get(o, numbers[i].key)));
	if (json_is_boolean(json_object_get(o, "wrapper")))
		judge_set_wrapper(&p->subject, json_is_true(json_object_get(o, "wrapper")));
	if (!err)
		err = read_argv(json_object_get(o, "argv"), p);
	p->pid = (uint32_t)json_integer_value(json_object_get(o, "pid"));
	p->ppid = (uint32_t)json_integer_value(json_object_get(o, "ppid"));
	p->image = (uint32_t)json_integer_value(json_object_get(o, "image"));
	if (tail && sscanf(tail, "-%u-%llx", &pid, &start) == 2) {
		p->key = rule_key(pid, start);
		p->keyed = true;
	}
	p->upid = err || !upid ? NULL : strdup(upid);
	p->parent_upid = err || !above ? NULL : strdup(above);
	return err || (upid && !p->upid) || (above && !p->parent_upid) ? -ENOMEM : 0;
}

/* By identity, then image; those of none first. */
static int by_upid(const void *a, const void *b)
{
	const struct person *x = *(struct person *const *)a, *y = *(struct person *const *)b;
	int order = strcmp(x->upid ? x->upid : "", y->upid ? y->upid : "");

	return order ? order : (x->image > y->image) - (x->image < y->image);
}

static const struct judge_subject *parent_of(const struct judge_subject *s)
{
	const struct person *parent = ((const struct person *)s)->parent;

	return parent ? &parent->subject : NULL;
}

/* The last image of that process: what it is when its children are gone. */
static struct person *last_image(struct person **sorted, size_t n, const char *upid)
{
	size_t from = 0, to = n;

	while (from < to) {
		size_t at = from + (to - from) / 2;

		if (strcmp(sorted[at]->upid ? sorted[at]->upid : "", upid) <= 0)
			from = at + 1;
		else
			to = at;
	}
	return from > 0 && sorted[from - 1]->upid && strcmp(sorted[from - 1]->upid, upid) == 0 ? sorted[from - 1] : NULL;
}

static int find_parents(struct people *people)
{
	struct person **sorted = calloc(people->n + 1, sizeof(struct person *));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < people->n; i++)
		sorted[i] = &people->at[i];
	qsort(sorted, people->n, sizeof(struct person *), by_upid);
	for (size_t i = 0; i < people->n; i++) {
		struct person *p = &people->at[i];

		p->parent = p->parent_upid ? last_image(sorted, people->n, p->parent_upid) : NULL;
		if (p->parent == p)
			p->parent = NULL;
		p->subject.parent = parent_of;
		p->subject.users = people->users;
	}
	free(sorted);
	return 0;
}

static int read_lines(FILE *f, struct people *people, size_t *ret_lines, size_t *ret_wrong)
{
	char *line = NULL;
	size_t room = 0, n = 0;
	ssize_t len;
	int err = 0;

	while (err == 0 && (len = getline(&line, &room, f)) > 0) {
		json_t *o = json_loadb(line, (size_t)len, 0, NULL);
		const char *stream = json_string_value(json_object_get(o, "stream"));
		struct person *p;

		n++;
		if (!o) {
			people->unreadable++;
			*ret_wrong = *ret_wrong ? *ret_wrong : n;
		} else if (stream && strcmp(stream, "process.exit") == 0) {
			p = people_add(people);
			err = p ? read_record(o, p) : -ENOMEM;
		}
		json_decref(o);
	}
	if (err == 0 && ferror(f))
		err = -errno;
	free(line);
	*ret_lines = n;
	return err;
}

int people_recorded(const char *command, const char *file, struct people *people)
{
	FILE *f = strcmp(file, "-") == 0 ? stdin : fopen(file, "re");
	size_t lines = 0, wrong = 0;
	int status = SKEP_EXIT_OK, err;

	if (!f)
		return skep_fail(command, SKEP_EXIT_RUNTIME, "cannot read %s: %s", file, strerror(errno));
	*people = (struct people){ .source = file, .users = users_new(NULL, NULL, NULL) };
	err = read_lines(f, people, &lines, &wrong);
	if (f != stdin)
		fclose(f);
	if (err == 0)
		err = find_parents(people);
	if (err)
		status = skep_fail(command, SKEP_EXIT_RUNTIME, "cannot read %s: %s", file, strerror(-err));
	else if (people->n == 0)
		status = skep_fail(command, SKEP_EXIT_RUNTIME,
				   "%s: none of its %zu lines is of the stream process.exit: is it what the sink \"file\" has written?", file, lines);
	else if (wrong)
		skep_say(command, "%s:%zu: no JSON, left out (%zu such lines)", file, wrong, people->unreadable);
	if (status)
		people_free(people);
	return status;
}
