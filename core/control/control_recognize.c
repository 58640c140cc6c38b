/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_recognize.c - the request `recognize`: which recognizers put a process into its run and task.
 */
#include <stdio.h>
#include <string.h>

#include "core/collect/collector.h"
#include "core/control/control_priv.h"
#include "core/control/control_record.h"
#include "core/process/proctab.h"
#include "core/process/track.h"
#include "core/process/why.h"
#include "core/scope/scope.h"

#define PROCESSES_MOST 500u /* of a run, in one answer: about 1 KiB each */

static json_t *text(const struct interned *s)
{
	return control_json_string_or_null(s ? s->text : NULL);
}

/* The user who asks; NULL: one who may see all. */
struct viewer {
	uint32_t uid;
};

static bool may_see(const struct viewer *v, const struct run *run)
{
	return !v || run->uid == v->uid;
}

static json_t *run_json(const struct run *run, const struct viewer *v)
{
	if (!run || !may_see(v, run))
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:s, s:o, s:b}", "id", control_json_string_or_null(run->id), "name",
			 control_json_string_or_null(run->name), "pipeline",
			 control_json_string_or_null(run->pipeline), "engine",
			 control_json_string_or_null(run->engine), "origin", run_origin(run), "parent_run",
			 control_json_string_or_null(run->parent), "ended", (int)run->ended);
}

/* "task[1]"; null: not known. */
static json_t *mark_json(const char *list, uint32_t number)
{
	char name[32];

	if (!number)
		return json_null();
	snprintf(name, sizeof(name), "%s[%u]", list, number - 1);
	return json_string(name);
}

/* Of a list "TEXT\0...". */
static json_t *texts_json(const struct interned *list)
{
	json_t *array = json_array();

	for (uint32_t at = 0; list && array && at < list->len; at += (uint32_t)strlen(list->text + at) + 1)
		json_array_append_new(array, control_json_string_or_null(list->text + at));
	return array;
}

static json_t *why_json(const struct proc *p, void (*why)(const struct proc *, struct why *))
{
	struct why w;

	why(p, &w);
	return json_pack("{s:s, s:o}", "rule", w.rule, "text", control_json_string_or_null(w.text));
}

static json_t *task_json(const struct task *task)
{
	if (!task)
		return json_null();
	return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:s, s:b}", "name", text(task->name), "id",
			 task->id, "mark", mark_json("task", task->mark), "files", texts_json(task->files),
			 "engine", text(task->engine), "sample", text(task->sample), "job", text(task->job), "attempt",
			 control_json_number(task->attempt), "name_source", task->name_source, "requested_source",
			 task->requested.source ? task->requested.source : "", "granted_source",
			 task->granted.source ? task->granted.source : "", "ended", (int)task->ended);
}

static json_t *scope_json(const struct scope *s, const struct scope *leads)
{
	unsigned line = 0;
	const char *file = s->entry ? recognizer_file(s->entry, &line) : "";

	return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:i, s:o, s:b}", "engine", text(s->engine), "class",
			 recognizer_class_name(s->class), "pid", control_json_number(s->root.pid), "run",
			 control_json_string_or_null(s->run ? s->run->id : NULL), "cwd", text(s->cwd), "file",
			 control_json_string_or_null(file), "line", (int)line, "mark", mark_json("run", s->mark),
			 "begins_tasks", (int)(s == leads));
}

/* The names of the variables that skep read, without their values. */
static json_t *names_read(const struct interned *list)
{
	json_t *array = json_array();

	for (uint32_t at = 0; list && at < list->len;) {
		const char *name = list->text + at;
		size_t len = strnlen(name, list->len - at);
		const char *equals = memchr(name, '=', len);

		if (equals && array)
			json_array_append_new(array, json_stringn(name, (size_t)(equals - name)));
		at += (uint32_t)len + 1;
	}
	return array;
}

/* The run of the process if skep knew no engine: the session's run, or the run that a user began. */
static const struct run *without(const struct runs *runs, const struct run *run)
{
	while (run && run->found && run->engine[0])
		run = run->parent[0] ? run_find(runs, run->parent) : NULL;
	return run;
}

/* Scopes of other users' processes above this one, such as those of a daemon, are left out for a viewer. */
static json_t *process_json(const struct runs *runs, const struct proc *p, const struct viewer *v)
{
	const struct scope *leads = scope_leading(p->scope);
	json_t *scopes = json_array();

	for (const struct scope *s = p->scope; s && scopes; s = s->outer)
		if (!v || s->uid == v->uid)
			json_array_insert_new(scopes, 0, scope_json(s, leads));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "pid", control_json_number(p->upid.pid),
			 "why_run", why_json(p, why_run), "why_task", why_json(p, why_task), "tool",
			 text(p->program ? p->program->tool : NULL), "run", run_json(p->run, v), "task",
			 task_json(p->task), "step", text(p->step), "scopes", scopes, "variables",
			 names_read(p->boundary), "without", run_json(without(runs, p->run), v));
}

/* A whole id has precedence over a name, a name over the beginning of an id, as in the lake.  The newest run wins. */
static const struct run *live_run(const struct runs *runs, const char *which, const struct viewer *v)
{
	const struct run *named = NULL, *begun = NULL;

	for (const struct run *run = runs->first; run; run = run->next) {
		if (run->ended || !may_see(v, run))
			continue;
		if (strcmp(run->id, which) == 0 || strcmp("last", which) == 0)
			return run;
		if (!named && strcmp(run->name, which) == 0)
			named = run;
		if (!begun && strncmp(run->id, which, strlen(which)) == 0)
			begun = run;
	}
	return named ? named : begun;
}

static json_t *answer_run(struct track *track, const char *which, const struct viewer *v)
{
	const struct runs *runs = track ? track_runs(track) : NULL;
	const struct run *run = runs ? live_run(runs, which, v) : NULL;
	json_t *processes;
	uint64_t left_off = 0;

	if (!run)
		return control_error("not_found", "no such live run");
	processes = json_array();
	for (const struct proc *p = run->procs; p && processes; p = p->run_next) {
		if (p->flags & (PROC_EXITED | PROC_FINAL | PROC_MUTED))
			continue;
		if (v && p->uid != v->uid)
			continue;
		if (json_array_size(processes) == PROCESSES_MOST)
			left_off++;
		else
			json_array_insert_new(processes, 0, process_json(runs, p, v));
	}
	return json_pack("{s:b, s:s, s:o, s:o, s:o}", "ok", 1, "request", "recognize", "run", run_json(run, v),
			 "processes", processes, "left_off", control_json_number(left_off));
}

json_t *control_answer_recognize(const struct control_client *client, const struct control_request *request)
{
	const struct viewer stranger = { .uid = client->peer.uid };
	const struct viewer *v = client->peer.member ? NULL : &stranger;
	struct track *track = collector_track(client->control->collector);
	const struct proc *p;
	char why[CONTROL_WHY_SIZE];
	json_t *answer;

	if (request->run)
		return answer_run(track, request->run, v);
	p = track ? proctab_holder(track_table(track), request->pid) : NULL;
	if (!p)
		return control_error("not_found", "no such process: skepd knows the live ones that no rule excludes");
	if (v && p->uid != v->uid) {
		snprintf(why, sizeof(why), "process %u is another user's: " CONTROL_FOR_MEMBERS, request->pid);
		return control_error("permission", why);
	}
	answer = process_json(track_runs(track), p, v);
	json_object_set_new(answer, "ok", json_true());
	json_object_set_new(answer, "request", json_string("recognize"));
	return answer;
}
