/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/saved_finding.c - saves the open findings, so that the next skepd closes them and reports none twice,
 * and how long tasks, runs, containers and GPUs have been idle.
 *
 * A JSON object: "open" has a finding each; "idle" [what, which, nanoseconds] each.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/process/saved.h"
#include "core/process/saved_text.h"
#include "core/process/track_priv.h"

/* The members of struct finding that are texts. */
static const struct {
	const char *key;
	size_t offset;
} texts[] = {
	{ "run", offsetof(struct finding, run) },           { "pipeline", offsetof(struct finding, pipeline) },
	{ "task", offsetof(struct finding, task) },         { "task_id", offsetof(struct finding, task_id) },
	{ "tool", offsetof(struct finding, tool) },         { "container", offsetof(struct finding, container) },
	{ "cgroup", offsetof(struct finding, cgroup) },
};
#define N_TEXTS (sizeof(texts) / sizeof(texts[0]))

static const struct interned **text_at(struct finding *f, size_t i)
{
	return (const struct interned **)(void *)((char *)f + texts[i].offset);
}

static json_t *number(uint64_t u)
{
	return json_integer((json_int_t)u);
}

/* ---- written ----------------------------------------------------------------------- */

static json_t *finding_json(struct finding *f)
{
	json_t *o = json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:f, s:f}", "id", f->id, "kind",
			      finding_kind_name(f->kind), "key", number(f->key), "pid", number(f->upid.pid), "start",
			      number(f->upid.start_ns), "started", number(f->started_ns), "value", f->value, "threshold", f->threshold);

	for (size_t i = 0; o && i < N_TEXTS; i++) {
		const struct interned *text = *text_at(f, i);

		if (text)
			json_object_set_new(o, texts[i].key, saved_text(text->text, text->len));
	}
	return o;
}

static void add_idle(json_t *list, const char *what, const char *which, uint64_t looked_ns, uint64_t since_ns)
{
	if (looked_ns > since_ns)
		json_array_append_new(list, json_pack("[s, o, o]", what, saved_text(which, strlen(which)),
						      number(looked_ns - since_ns)));
}

static json_t *idle_json(const struct track *t)
{
	json_t *list = json_array();
	char which[64];

	for (const struct task *task = t->tasks.first; task; task = task->next)
		add_idle(list, "task", task->id, task->watch.idle.looked_ns, task->watch.idle.since_ns);
	for (const struct run *run = t->runs.first; run; run = run->next)
		add_idle(list, "run", run->id, run->watch.idle.looked_ns, run->watch.idle.since_ns);
	for (const struct container_watch *w = t->findings->containers; w; w = w->next)
		add_idle(list, "container", w->id->text, w->idle.looked_ns, w->idle.since_ns);
	for (const struct proc *p = proctab_first(t->table); p; p = p->next) {
		if (!p->gpu)
			continue;
		snprintf(which, sizeof(which), "%u-%llx", p->upid.pid, (unsigned long long)p->upid.start_ns);
		add_idle(list, "gpu", which, p->gpu->looked_ns, p->gpu->since_ns);
	}
	return list;
}

int saved_findings(struct track *t, bool all, char **ret)
{
	struct findings *fs = t->findings;
	json_t *open, *idle, *o;
	bool any;

	*ret = NULL;
	if (!fs || (!fs->changed && !all))
		return 0;
	open = json_array();
	for (struct finding *f = fs->open; f; f = f->next)
		json_array_append_new(open, finding_json(f));
	idle = idle_json(t);
	any = json_array_size(open) + json_array_size(idle) > 0;
	o = json_pack("{s:o, s:o}", "open", open, "idle", idle);
	/* on a host on which nothing is to be saved, nothing is written */
	if (o && (any || fs->saved))
		*ret = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	if (!o || (!*ret && (any || fs->saved)))
		return -ENOMEM;
	fs->saved = any;
	fs->changed = false;
	return 0;
}

/* ---- read -------------------------------------------------------------------------- */

static bool get(const json_t *o, const char *key, uint64_t *ret)
{
	const json_t *value = json_object_get(o, key);

	*ret = (uint64_t)json_integer_value(value);
	return json_is_integer(value);
}

/* 0, -EBADMSG, -ENOMEM */
static int read_finding(struct track *t, json_t *o)
{
	const char *id = json_string_value(json_object_get(o, "id"));
	int kind = finding_kind_of(json_string_value(json_object_get(o, "kind")));
	struct finding f = { .value = json_number_value(json_object_get(o, "value")),
			     .threshold = json_number_value(json_object_get(o, "threshold")) };
	uint64_t pid;

	if (kind < 0 || !id || strlen(id) != FINDING_ID_SIZE - 1 || !get(o, "key", &f.key) || !get(o, "pid", &pid) ||
	    !get(o, "start", &f.upid.start_ns) || !get(o, "started", &f.started_ns) || pid > INT32_MAX)
		return -EBADMSG;
	f.kind = (enum finding_kind)kind;
	f.upid.pid = (uint32_t)pid;
	memcpy(f.id, id, FINDING_ID_SIZE);
	for (size_t i = 0; i < N_TEXTS; i++) {
		const char *text = saved_text_read(o, texts[i].key);
		uint32_t len = (uint32_t)json_string_length(json_object_get(o, texts[i].key));

		if (text && len)
			*text_at(&f, i) = intern_get(t->intern, &(struct skep_str){ text, len, len });
	}
	return findings_restore(t, &f);
}

static struct proc *process_of(const struct track *t, const char *which)
{
	struct skep_upid upid = { 0 };
	unsigned long long start;

	if (sscanf(which, "%u-%llx", &upid.pid, &start) != 2)
		return NULL;
	upid.start_ns = start;
	return proctab_find(t->table, &upid);
}

static void read_idle(struct track *t, json_t *item, uint64_t now_ns)
{
	const char *what = json_string_value(json_array_get(item, 0));
	uint64_t idle_ns = (uint64_t)json_integer_value(json_array_get(item, 2));
	json_t *o = json_pack("{s:O}", "which", json_array_get(item, 1));
	const char *which = o ? saved_text_read(o, "which") : NULL;

	if (what && which && strcmp(what, "task") == 0)
		track_finding_resume_task(t, task_find(&t->tasks, which), idle_ns, now_ns);
	else if (what && which && strcmp(what, "run") == 0)
		track_finding_resume_run(t, run_find(&t->runs, which), idle_ns, now_ns);
	else if (what && which && strcmp(what, "container") == 0)
		track_finding_resume_container(t, which, idle_ns, now_ns);
	else if (what && which && strcmp(what, "gpu") == 0)
		track_finding_resume_gpu(t, process_of(t, which), idle_ns, now_ns);
	json_decref(o);
}

void saved_findings_read(struct track *t, const char *text, size_t size, uint64_t now_ns)
{
	json_t *o, *item;
	size_t i;
	bool bad;

	if (!t->findings || !text)
		return;
	o = json_loadb(text, size, 0, NULL);
	bad = !json_is_array(json_object_get(o, "open")) || !json_is_array(json_object_get(o, "idle"));
	json_array_foreach(json_object_get(o, "open"), i, item)
		bad |= read_finding(t, item) == -EBADMSG;
	json_array_foreach(json_object_get(o, "idle"), i, item)
		read_idle(t, item, now_ns);
	json_decref(o);
	if (!bad)
		return;
	t->stats.unrestored++;
	log_warning("the saved findings are damaged; skepd reports open findings again");
}
