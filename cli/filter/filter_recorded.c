/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/filter/filter_recorded.c - reads processes from a file that the sink `file` has written: its lines of the stream
 * process.exit.  A process that executed several programs has several lines.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/skep.h"
#include "cli/filter/filter_processes.h"
#include "core/identify/users.h"

struct field {
	enum rule_field field;
	const char *key;
};

static const struct field texts[] = {
	{ RULE_FIELD_TOOL, "tool" },         { RULE_FIELD_EXE, "exe" },
	{ RULE_FIELD_COMM, "comm" },         { RULE_FIELD_FILENAME, "filename" },
	{ RULE_FIELD_CWD, "cwd" },           { RULE_FIELD_CGROUP, "cgroup" },
	{ RULE_FIELD_RUN, "run" },           { RULE_FIELD_CONTAINER, "container" },
	{ RULE_FIELD_PIPELINE, "pipeline" }, { RULE_FIELD_TASK, "task" },
};
static const struct field numbers[] = {
	{ RULE_FIELD_UID, "uid" }, { RULE_FIELD_GID, "gid" },   { RULE_FIELD_SESSION, "session" },
	{ RULE_FIELD_PID, "pid" }, { RULE_FIELD_PPID, "ppid" },
};

#define N_OF(a) (sizeof(a) / sizeof((a)[0]))

static int read_argv(const json_t *list, struct filter_process *p)
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
	err = process_text(p, RULE_FIELD_ARGV, argv, len);
	free(argv);
	return err;
}

static int read_record(const json_t *o, struct filter_process *p)
{
	const char *upid = json_string_value(json_object_get(o, "upid")),
		   *above = json_string_value(json_object_get(o, "parent_upid"));
	const char *tail = upid ? strchr(upid, '-') : NULL;
	unsigned long long start;
	unsigned pid;
	int err = 0;

	for (size_t i = 0; i < N_OF(texts) && !err; i++) {
		const json_t *v = json_object_get(o, texts[i].key);

		/* An unknown text is stored as "". For these four fields "" means that there is none. */
		if (json_string_length(v) > 0 || (json_is_string(v) && texts[i].field >= RULE_FIELD_CONTAINER))
			err = process_text(p, texts[i].field, json_string_value(v), json_string_length(v));
	}
	for (size_t i = 0; i < N_OF(numbers); i++)
		if (json_is_integer(json_object_get(o, numbers[i].key)))
			rule_subject_set_number(&p->subject, numbers[i].field,
						(uint64_t)json_integer_value(json_object_get(o, numbers[i].key)));
	if (json_is_boolean(json_object_get(o, "wrapper")))
		rule_subject_set_wrapper(&p->subject, json_is_true(json_object_get(o, "wrapper")));
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

/* By identity, then image; processes without an identity first. */
static int by_upid(const void *a, const void *b)
{
	const struct filter_process *x = *(struct filter_process *const *)a, *y = *(struct filter_process *const *)b;
	int order = strcmp(x->upid ? x->upid : "", y->upid ? y->upid : "");

	return order ? order : (x->image > y->image) - (x->image < y->image);
}

static const struct rule_subject *parent_of(const struct rule_subject *s)
{
	const struct filter_process *parent = ((const struct filter_process *)s)->parent;

	return parent ? &parent->subject : NULL;
}

/* The last image of that process. */
static struct filter_process *last_image(struct filter_process **sorted, size_t n, const char *upid)
{
	size_t from = 0, to = n;

	while (from < to) {
		size_t at = from + (to - from) / 2;

		if (strcmp(sorted[at]->upid ? sorted[at]->upid : "", upid) <= 0)
			from = at + 1;
		else
			to = at;
	}
	return from > 0 && sorted[from - 1]->upid && strcmp(sorted[from - 1]->upid, upid) == 0 ? sorted[from - 1]
											       : NULL;
}

static int find_parents(struct filter_processes *processes)
{
	struct filter_process **sorted = calloc(processes->n + 1, sizeof(struct filter_process *));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < processes->n; i++)
		sorted[i] = &processes->at[i];
	qsort(sorted, processes->n, sizeof(struct filter_process *), by_upid);
	for (size_t i = 0; i < processes->n; i++) {
		struct filter_process *p = &processes->at[i];

		p->parent = p->parent_upid ? last_image(sorted, processes->n, p->parent_upid) : NULL;
		if (p->parent == p)
			p->parent = NULL;
		p->subject.parent = parent_of;
		p->subject.users = processes->users;
	}
	free(sorted);
	return 0;
}

static int read_lines(FILE *f, struct filter_processes *processes, size_t *ret_lines, size_t *ret_wrong)
{
	char *line = NULL;
	size_t room = 0, n = 0;
	ssize_t len;
	int err = 0;

	while (err == 0 && (len = getline(&line, &room, f)) > 0) {
		json_t *o = json_loadb(line, (size_t)len, 0, NULL);
		const char *stream = json_string_value(json_object_get(o, "stream"));
		struct filter_process *p;

		n++;
		if (!o) {
			processes->unreadable++;
			*ret_wrong = *ret_wrong ? *ret_wrong : n;
		} else if (stream && strcmp(stream, "process.exit") == 0) {
			p = processes_add(processes);
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

int processes_recorded(const char *command, const char *file, struct filter_processes *processes)
{
	FILE *f = strcmp(file, "-") == 0 ? stdin : fopen(file, "re");
	size_t lines = 0, wrong = 0;
	int status = SKEP_EXIT_OK, err;

	if (!f)
		return skep_fail(command, SKEP_EXIT_RUNTIME, "cannot read %s: %s", file, strerror(errno));
	*processes = (struct filter_processes){ .source = file, .users = users_new(NULL, NULL, NULL) };
	err = read_lines(f, processes, &lines, &wrong);
	if (f != stdin)
		fclose(f);
	if (err == 0)
		err = find_parents(processes);
	if (err)
		status = skep_fail(command, SKEP_EXIT_RUNTIME, "cannot read %s: %s", file, strerror(-err));
	else if (processes->n == 0)
		status = skep_fail(
			command, SKEP_EXIT_RUNTIME,
			"%s: none of its %zu lines is of the stream process.exit: is it a file of the sink \"file\"?",
			file, lines);
	else if (wrong)
		skep_say(command, "%s:%zu: not JSON, skipped (%zu such lines)", file, wrong, processes->unreadable);
	if (status)
		processes_free(processes);
	return status;
}
