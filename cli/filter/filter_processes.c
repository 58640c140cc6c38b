/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/filter/filter_processes.c - a list of processes, and the verdict of a set of rules about each.
 */
#include "cli/filter/filter_processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json_out.h"
#include "core/identify/users.h"

struct filter_process *processes_add(struct filter_processes *processes)
{
	if (processes->n == processes->room) {
		size_t room = processes->room ? 2 * processes->room : 256;
		struct filter_process *at = realloc(processes->at, room * sizeof(*at));

		if (!at)
			return NULL;
		processes->at = at;
		processes->room = room;
	}
	processes->at[processes->n] = (struct filter_process){ 0 };
	return &processes->at[processes->n++];
}

void processes_free(struct filter_processes *processes)
{
	for (size_t i = 0; i < processes->n; i++) {
		struct filter_process *p = &processes->at[i];

		for (size_t j = 0; j < sizeof(p->texts) / sizeof(p->texts[0]); j++)
			free(p->texts[j]);
		free(p->upid);
		free(p->parent_upid);
	}
	free(processes->at);
	users_free(processes->users);
	*processes = (struct filter_processes){ 0 };
}

int process_text(struct filter_process *p, enum rule_field field, const char *text, size_t len)
{
	char *copy = malloc(len + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, len);
	copy[len] = '\0';
	free(p->texts[field]);
	p->texts[field] = copy;
	rule_subject_set_text(&p->subject, field, copy, len);
	return 0;
}

struct filter_process *processes_find(const struct filter_processes *processes, uint32_t pid)
{
	for (size_t from = 0, to = processes->n; from < to;) {
		size_t at = from + (to - from) / 2;

		if (processes->at[at].pid == pid)
			return &processes->at[at];
		if (processes->at[at].pid < pid)
			from = at + 1;
		else
			to = at;
	}
	return NULL;
}

/* Decides about a process whose parent is decided: inherits the parent's verdict or evaluates the rules. */
static void judge(struct filter_process *p, const struct ruleset *set)
{
	const struct filter_process *above = p->parent;

	if (above && above->decision.rule && above->decision.rule->inherit) {
		p->decision = above->decision;
		p->inherited = above->inherited ? above->inherited : above;
	} else {
		ruleset_evaluate(set, rule_field_get, &p->subject, p->key, &p->decision);
	}
	p->judged = true;
}

void processes_evaluate(struct filter_processes *processes, const struct ruleset *set)
{
	for (size_t i = 0; i < processes->n; i++) {
		struct filter_process *p = &processes->at[i];

		/* Parents first. Without recursion: in a recorded file a process may be its own ancestor. */
		while (!p->judged) {
			struct filter_process *top = p;

			for (size_t steps = 0; top->parent && !top->parent->judged && steps < processes->n; steps++)
				top = top->parent;
			judge(top, set);
		}
	}
}

const char *process_word(const struct filter_process *p, enum rule_field field)
{
	union filter_value value;

	if (rule_field_get(&p->subject, 0, field, &value) != FILTER_KNOWN)
		return "";
	return value.text.ptr; /* process_text adds a NUL to each text */
}

json_t *process_json(const struct filter_process *p)
{
	static const enum rule_field texts[] = { RULE_FIELD_TOOL, RULE_FIELD_COMM, RULE_FIELD_EXE, RULE_FIELD_USER,
						 RULE_FIELD_CGROUP };
	json_t *o = json_object();

	json_object_set_new(o, "pid", json_integer(p->pid));
	json_object_set_new(o, "ppid", json_integer(p->ppid));
	if (p->upid)
		json_object_set_new(o, "upid", json_string(p->upid));
	if (p->upid)
		json_object_set_new(o, "image", json_integer(p->image));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		union filter_value value;

		if (rule_field_get(&p->subject, 0, texts[i], &value) == FILTER_KNOWN)
			json_object_set_new(o, rule_fields_schema.fields[texts[i]].name,
					    json_out_string(value.text.ptr));
		else
			json_object_set_new(o, rule_fields_schema.fields[texts[i]].name, json_null());
	}
	return o;
}
