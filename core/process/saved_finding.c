/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/saved_finding.c - saves the open findings, so that the next skepd closes them and reports none twice,
 * and how long tasks, runs, containers and GPUs have been idle.
 */
#include <string.h>

#include "core/base/log.h"
#include "core/process/saved_priv.h"
#include "core/process/track_priv.h"

/* ---- written ----------------------------------------------------------------------- */

static void write_finding(struct saver *s, const struct finding *f)
{
	uint64_t v[SAVED_NUMBERS] = { [FINDING_ITSELF] = saved_number_of_bytes(s, f->id, strlen(f->id)) };

	saved_take(s, &saved_finding, f, v);
	saved_item(s, SAVED_FINDING, v, saved_finding.numbers);
}

static void write_idle(struct saver *s, enum idle_of of, uint64_t which, uint64_t start_ns, const struct idle *idle)
{
	const uint64_t v[IDLE_N] = { [IDLE_OF] = (uint64_t)of, [IDLE_WHICH] = which, [IDLE_START] = start_ns,
				     [IDLE_NS] = idle->looked_ns - idle->since_ns };

	if (which && idle->looked_ns > idle->since_ns)
		saved_item(s, SAVED_IDLE, v, IDLE_N);
}

void saved_findings_write(struct track *t, struct saver *s)
{
	saved_item(s, SAVED_FINDINGS, NULL, 0);
	for (struct finding *f = t->findings->open; f; f = f->next)
		write_finding(s, f);
	for (const struct task *task = t->tasks.first; task; task = task->next)
		write_idle(s, IDLE_TASK, saved_number_of(s, &task->saved), 0, &task->watch.idle);
	for (const struct run *run = t->runs.first; run; run = run->next)
		write_idle(s, IDLE_RUN, saved_number_of(s, &run->saved), 0, &run->watch.idle);
	for (const struct container_watch *w = t->findings->containers; w; w = w->next)
		if (w->idle.looked_ns > w->idle.since_ns)
			write_idle(s, IDLE_CONTAINER, saved_number_of_text(s, w->id), 0, &w->idle);
	for (const struct proc *p = proctab_first(t->table); p; p = p->next)
		if (p->gpu && p->gpu->looked_ns > p->gpu->since_ns) {
			const uint64_t v[IDLE_N] = { [IDLE_OF] = IDLE_GPU, [IDLE_WHICH] = p->upid.pid,
						     [IDLE_START] = p->upid.start_ns,
						     [IDLE_NS] = p->gpu->looked_ns - p->gpu->since_ns };

			saved_item(s, SAVED_IDLE, v, IDLE_N);
		}
	t->findings->changed = false;
}

/* ---- read -------------------------------------------------------------------------- */

/* false: it makes no sense. */
static bool read_finding(struct track *t, const uint64_t *v)
{
	const struct interned *id = saved_text_at(t->saved, v[FINDING_ITSELF]);
	struct finding f = { 0 };

	if (!id || id->len != FINDING_ID_SIZE - 1)
		return false;
	memcpy(f.id, id->text, FINDING_ID_SIZE);
	saved_give(t->saved, &saved_finding, v, &f);
	if (f.kind >= FINDING_KINDS)
		f.kind = FINDING_STALL; /* a newer skepd's: the next look closes it */
	findings_restore(t, &f);
	return true;
}

static void read_idle(struct track *t, const uint64_t *v, uint64_t now_ns)
{
	const struct skep_upid upid = { .pid = (uint32_t)v[IDLE_WHICH], .start_ns = v[IDLE_START] };
	const struct interned *text;

	switch (v[IDLE_OF]) {
	case IDLE_TASK:
		track_finding_resume_task(t, saved_made_at(t->saved, v[IDLE_WHICH], SAVED_TASK), v[IDLE_NS], now_ns);
		break;
	case IDLE_RUN:
		track_finding_resume_run(t, saved_made_at(t->saved, v[IDLE_WHICH], SAVED_RUN), v[IDLE_NS], now_ns);
		break;
	case IDLE_CONTAINER:
		text = saved_text_at(t->saved, v[IDLE_WHICH]);
		if (text)
			track_finding_resume_container(t, text->text, v[IDLE_NS], now_ns);
		break;
	case IDLE_GPU:
		track_finding_resume_gpu(t, proctab_find(t->table, &upid), v[IDLE_NS], now_ns);
		break;
	default:
		break;
	}
}

void saved_findings_read(struct track *t, const struct saved_findings *f, uint64_t now_ns)
{
	bool bad = false;

	for (size_t i = 0; t->findings && i < f->n; i++) {
		if (f->items[i].idle)
			read_idle(t, f->items[i].v, now_ns);
		else if (!read_finding(t, f->items[i].v))
			bad = true;
	}
	if (!bad)
		return;
	t->stats.unrestored++;
	log_warning("the saved findings are damaged; skepd reports open findings again");
}
