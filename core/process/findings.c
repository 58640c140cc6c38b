/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/findings.c - keeps the list of open findings, and emits a record when a finding opens or closes.
 */
#include "core/process/findings.h"

#include <errno.h>
#include <inttypes.h>
#include <skep/hash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/process/track_priv.h"

#define NS_PER_S 1000000000u
#define NS_PER_MS 1000000u
/* A gauge of Prometheus expires some minutes after its last record. */
#define REPORT_NS (60ull * NS_PER_S)
#define SENTENCE 256

static const struct {
	const char *name, *severity, *unit;
	const char *before, *after; /* the evidence when it closes: before and after how long it lasted */
} kinds[FINDING_KINDS] = {
	[FINDING_STALL] = { "stall", "warn", "s", "it had done nothing for ", " s when it went on or ended" },
	[FINDING_LEFTOVER] = { "leftover-process", "warn", "s", "it outlived its task or its run by ", " s" },
	[FINDING_ORPHAN] = { "orphan-container", "warn", "s", "the container had done nothing for ",
			     " s when it went on or was removed" },
	[FINDING_GPU] = { "gpu-held-idle", "warn", "s", "it had held its GPU idle for ",
			  " s when it used it again or let it go" },
	[FINDING_OOM] = { "oom-kill", "error", "By", "the process had gone ", " ms after the kernel chose it" },
};

const char *finding_kind_name(enum finding_kind kind)
{
	return kinds[kind].name;
}

int finding_kind_of(const char *name)
{
	for (int i = 0; name && i < FINDING_KINDS; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return i;
	return -1;
}

const char *finding_unit(enum finding_kind kind)
{
	return kinds[kind].unit;
}

/* The same on each start: without saved state a later skepd computes the same id for the same finding. */
static uint64_t hash_of(const char *text)
{
	const struct skep_hash_key key = { 0 };

	return skep_hash(&key, text, strlen(text));
}

static uint64_t key_of(enum finding_kind kind, const char *subject)
{
	return hash_of(subject) * FINDING_KINDS + kind;
}

static void id_of(const struct track *t, const struct finding_begin *b, char ret[FINDING_ID_SIZE])
{
	char text[FINDING_SUBJECT_SIZE + 128];

	snprintf(text, sizeof(text), "%s %s %.*s %" PRIu64, t->env.boot_id ? t->env.boot_id : "", kinds[b->kind].name,
		 FINDING_SUBJECT_SIZE, b->subject, b->started_ns);
	snprintf(ret, FINDING_ID_SIZE, "%016" PRIx64, hash_of(text));
}

static void drop_texts(struct intern *intern, const struct finding *f)
{
	intern_unref(intern, f->run);
	intern_unref(intern, f->pipeline);
	intern_unref(intern, f->task);
	intern_unref(intern, f->task_id);
	intern_unref(intern, f->tool);
	intern_unref(intern, f->container);
	intern_unref(intern, f->cgroup);
}

static void emit(struct track *t, const struct finding *f, bool open, uint64_t time_ns, const char *evidence,
		 const char *advice)
{
	uint64_t window_ns = time_ns > f->started_ns ? time_ns - f->started_ns : 0;
	struct skep_context ctx = {
		.size = sizeof(ctx),
		.payer = f->payer,
		.run = intern_str(f->run),
		.pipeline = intern_str(f->pipeline),
		.task = intern_str(f->task),
		.tool = intern_str(f->tool),
		.container = intern_str(f->container),
		.realtime_offset_ns = f->realtime_offset_ns,
	};
	struct record_finding rec = {
		.id = text_str(f->id),
		.kind = text_str(kinds[f->kind].name),
		.severity = text_str(kinds[f->kind].severity),
		.state = text_str(open ? "open" : "closed"),
		.host = text_str(t->env.host ? t->env.host : ""),
		.run = ctx.run,
		.pipeline = ctx.pipeline,
		.task = ctx.task,
		.task_id = intern_str(f->task_id),
		.tool = ctx.tool,
		.container = ctx.container,
		.cgroup = intern_str(f->cgroup),
		.upid = f->upid,
		.pid = f->upid.pid,
		.started_ns = f->started_ns,
		.window_ns = window_ns,
		.value = open || f->kind == FINDING_OOM ? f->value : (double)window_ns / 1e9,
		.threshold = f->threshold,
		.unit = text_str(kinds[f->kind].unit),
		.evidence = text_str(evidence),
		.advice = text_str(advice),
	};

	t->env.emit(t->env.out, t->env.finding_stream, f->upid.pid ? &f->upid : NULL, time_ns, &rec, &ctx);
	t->findings->changed = true;
}

static void close_at(struct track *t, struct finding **at, uint64_t time_ns)
{
	struct finding *f = *at;
	uint64_t ns = time_ns > f->started_ns ? time_ns - f->started_ns : 0;
	char text[SENTENCE];

	snprintf(text, sizeof(text), "%s%" PRIu64 "%s", kinds[f->kind].before,
		 ns / (f->kind == FINDING_OOM ? NS_PER_MS : NS_PER_S), kinds[f->kind].after);
	emit(t, f, false, time_ns, text, "");
	*at = f->next;
	t->findings->n--;
	t->findings->n_of[f->kind]--;
	drop_texts(t->intern, f);
	free(f);
}

struct finding *findings_again(struct findings *fs, enum finding_kind kind, const char *subject)
{
	uint64_t key = fs->n_of[kind] ? key_of(kind, subject) : 0;

	for (struct finding *f = fs->n_of[kind] ? fs->open : NULL; f; f = f->next)
		if (f->kind == kind && f->key == key) {
			f->look = fs->look;
			return f;
		}
	return NULL;
}

static struct finding *add(struct track *t, const struct finding *like)
{
	struct findings *fs = t->findings;
	struct finding *f = fs->n < FINDINGS_MOST ? malloc(sizeof(*f)) : NULL;

	if (!f) {
		if (fs->dropped++ == 0)
			log_because(SKEP_LOG_WARNING, "findings", "dropped",
				    "%zu findings are open, the most that skepd keeps; it counts further ones and does "
				    "not report them", fs->n);
		drop_texts(t->intern, like);
		return NULL;
	}
	*f = *like;
	f->look = fs->look;
	f->next = fs->open;
	fs->open = f;
	fs->n++;
	fs->n_of[f->kind]++;
	return f;
}

void findings_open(struct track *t, const struct finding_begin *b)
{
	const struct proc *p = b->process;
	struct run *run = b->run;
	struct finding f = { .kind = b->kind,
			     .payer = p ? p->payer : run ? run->payer : SKEP_NOBODY,
			     .key = key_of(b->kind, b->subject),
			     .started_ns = b->started_ns,
			     .realtime_offset_ns = run ? run->realtime_offset_ns : 0,
			     .value = b->value,
			     .threshold = b->threshold };
	struct skep_str container = b->container, cgroup = b->cgroup;
	struct skep_context ctx;

	if (p) {
		f.upid = p->upid;
		track_proc_context(t, p, &ctx);
		container = container.len ? container : ctx.container;
		cgroup = cgroup.len ? cgroup : cgroups_path(t->env.cgroups, p->cgroup_id, t->now_ns);
		f.tool = p->program ? intern_ref(p->program->tool) : NULL;
	}
	f.container = container.len ? intern_get(t->intern, &container) : NULL;
	f.cgroup = cgroup.len ? intern_get(t->intern, &cgroup) : NULL;
	f.run = run ? intern_text(t->intern, run->id) : NULL;
	f.pipeline = run && *run->pipeline ? intern_text(t->intern, run->pipeline) : NULL;
	f.task = b->task ? intern_ref(b->task->name) : NULL;
	f.task_id = b->task ? intern_text(t->intern, b->task->id) : NULL;
	id_of(t, b, f.id);
	if (add(t, &f))
		emit(t, &f, true, b->time_ns, b->evidence, b->advice);
}

int findings_restore(struct track *t, const struct finding *f)
{
	return add(t, f) ? 0 : -ENOMEM;
}

void findings_close_rest(struct track *t, uint64_t now_ns)
{
	for (struct finding **at = &t->findings->open; *at;)
		if ((*at)->look != t->findings->look)
			close_at(t, at, now_ns);
		else
			at = &(*at)->next;
}

void findings_process_over(struct track *t, const struct skep_upid *upid, uint64_t end_ns)
{
	for (struct finding **at = &t->findings->open; *at;) {
		const struct finding *f = *at;

		/* A task, and a container, live on without one of their processes: the next look decides. */
		if (f->kind != FINDING_STALL && f->kind != FINDING_ORPHAN && f->upid.pid == upid->pid &&
		    f->upid.start_ns == upid->start_ns)
			close_at(t, at, end_ns);
		else
			at = &(*at)->next;
	}
}

void findings_task_over(struct track *t, const struct task *task, uint64_t end_ns)
{
	uint64_t key = t->findings->n_of[FINDING_STALL] ? key_of(FINDING_STALL, task->id) : 0;

	for (struct finding **at = key ? &t->findings->open : NULL; at && *at;)
		if ((*at)->kind == FINDING_STALL && (*at)->key == key)
			close_at(t, at, end_ns);
		else
			at = &(*at)->next;
}

void findings_report(struct track *t, uint64_t now_ns)
{
	struct findings *fs = t->findings;
	bool due = now_ns - fs->reported_ns >= REPORT_NS;

	for (int i = 0; i < FINDING_KINDS; i++) {
		struct record_findings rec = { .kind = text_str(kinds[i].name), .open = fs->n_of[i] };

		if (fs->n_of[i] == fs->reported_of[i] && !(due && fs->n_of[i] > 0))
			continue;
		fs->reported_of[i] = fs->n_of[i];
		t->env.emit(t->env.out, t->env.findings_stream, NULL, now_ns, &rec, NULL);
	}
	if (due)
		fs->reported_ns = now_ns;
}

struct findings *findings_free(struct findings *fs, struct intern *intern)
{
	if (!fs)
		return NULL;
	while (fs->open) {
		struct finding *next = fs->open->next;

		drop_texts(intern, fs->open);
		free(fs->open);
		fs->open = next;
	}
	while (fs->containers) {
		struct container_watch *next = fs->containers->next;

		intern_unref(intern, fs->containers->id);
		free(fs->containers);
		fs->containers = next;
	}
	free(fs);
	return NULL;
}
