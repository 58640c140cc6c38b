/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/filter_people.c - a list of processes, and what a set of rules decides about each.
 */
#include "cli/filter_people.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_json.h"
#include "core/users.h"

struct person *people_add(struct people *people)
{
	if (people->n == people->room) {
		size_t room = people->room ? 2 * people->room : 256;
		struct person *at = realloc(people->at, room * sizeof(*at));

		if (!at)
			return NULL;
		people->at = at;
		people->room = room;
	}
	people->at[people->n] = (struct person){ 0 };
	return &people->at[people->n++];
}

void people_free(struct people *people)
{
	for (size_t i = 0; i < people->n; i++) {
		struct person *p = &people->at[i];

		for (size_t j = 0; j < sizeof(p->texts) / sizeof(p->texts[0]); j++)
			free(p->texts[j]);
		free(p->upid);
		free(p->parent_upid);
	}
	free(people->at);
	users_free(people->users);
	*people = (struct people){ 0 };
}

int person_text(struct person *p, enum judge_field field, const char *text, size_t len)
{
	char *copy = malloc(len + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, len);
	copy[len] = '\0';
	free(p->texts[field]);
	p->texts[field] = copy;
	judge_set_text(&p->subject, field, copy, len);
	return 0;
}

struct person *people_find(const struct people *people, uint32_t pid)
{
	for (size_t from = 0, to = people->n; from < to;) {
		size_t at = from + (to - from) / 2;

		if (people->at[at].pid == pid)
			return &people->at[at];
		if (people->at[at].pid < pid)
			from = at + 1;
		else
			to = at;
	}
	return NULL;
}

/* The nearest ancestor, or itself, that is decided: that many steps up are not. */
static void judge(struct person *p, const struct ruleset *set)
{
	const struct person *above = p->parent;

	if (above && above->decision.rule && above->decision.rule->inherit) {
		p->decision = above->decision;
		p->inherited = above->inherited ? above->inherited : above;
	} else {
		ruleset_judge(set, judge_get, &p->subject, p->key, &p->decision);
	}
	p->judged = true;
}

void people_judge(struct people *people, const struct ruleset *set)
{
	for (size_t i = 0; i < people->n; i++) {
		struct person *p = &people->at[i];

		/* Parents first. Without recursion: a recorded file may say that somebody is his own ancestor. */
		while (!p->judged) {
			struct person *top = p;

			for (size_t steps = 0; top->parent && !top->parent->judged && steps < people->n; steps++)
				top = top->parent;
			judge(top, set);
		}
	}
}

const char *person_word(const struct person *p, enum judge_field field)
{
	union filter_value value;

	if (judge_get(&p->subject, 0, field, &value) != FILTER_KNOWN)
		return "";
	return value.text.ptr; /* of ours all end in a NUL */
}

json_t *person_json(const struct person *p)
{
	static const enum judge_field texts[] = { JUDGE_TOOL, JUDGE_COMM, JUDGE_EXE, JUDGE_USER, JUDGE_CGROUP };
	json_t *o = json_object();

	json_object_set_new(o, "pid", json_integer(p->pid));
	json_object_set_new(o, "ppid", json_integer(p->ppid));
	if (p->upid)
		json_object_set_new(o, "upid", json_string(p->upid));
	if (p->upid)
		json_object_set_new(o, "image", json_integer(p->image));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		union filter_value value;

		if (judge_get(&p->subject, 0, texts[i], &value) == FILTER_KNOWN)
			json_object_set_new(o, judge_schema.fields[texts[i]].name, report_json_string(value.text.ptr));
		else
			json_object_set_new(o, judge_schema.fields[texts[i]].name, json_null());
	}
	return o;
}
