/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_watch.c - shows a watcher the live processes of the table at each pass, and each image that ends.
 * Without a watcher this costs a comparison with NULL for each image.
 */
#include "core/process/track_priv.h"

void track_watch(struct track *t, const struct track_watch *watch)
{
	t->watch = watch;
	for (struct proc *p = watch ? NULL : proctab_first(t->table); p; p = p->next)
		p->watched = 0;
}

const struct facets *track_facets(const struct track *t)
{
	return t->env.facets;
}

void track_watch_ended(struct track *t, struct proc *p, const struct record_process *r)
{
	if (!t->watch)
		return;
	t->watch->ended(t->watch->arg, p, r);
	if (r->last)
		p->watched = 0; /* the watcher knows its end */
}

void track_watch_gone(struct track *t, struct proc *p)
{
	if (t->watch && p->watched)
		t->watch->gone(t->watch->arg, p);
}

static uint64_t mix(uint64_t digest, uint64_t value)
{
	digest = (digest ^ value) * 0x9e3779b97f4a7c15u;
	return digest ^ digest >> 29;
}

/* The upper half: of names; the lower half: of figures.  Never 0. */
static uint64_t digest_of(const struct proc *p)
{
	const struct skep_counters *c = &p->last;
	uint64_t names = mix(p->image, (uintptr_t)p->run), figures = mix(c->cpu_ns, c->run_delay_ns);

	names = mix(mix(mix(names, (uintptr_t)p->task), (uintptr_t)p->program), p->uid);
	figures = mix(mix(mix(figures, p->rss_bytes), c->read_bytes), c->write_bytes);
	figures = mix(mix(figures, p->live), p->flags & (PROC_EXITED | PROC_FINAL | PROC_ZOMBIE));
	return names << 32 | (figures & 0xffffffffu) | 1;
}

static unsigned changed(uint64_t before, uint64_t now)
{
	uint64_t differs = before ^ now;

	if (before == 0 || differs >> 32)
		return TRACK_FIGURES | TRACK_NAMES;
	return (uint32_t)differs ? TRACK_FIGURES : 0;
}

void track_watch_pass(struct track *t, bool fresh, void (*cb)(void *arg, const struct proc *, unsigned changed),
		      void *arg)
{
	for (struct proc *p = proctab_first(t->table); p; p = p->next) {
		uint64_t now;

		if ((p->flags & PROC_MUTED) || !(p->flags & PROC_CONFIRMED))
			continue;
		now = fresh ? p->watched | 1 : digest_of(p);
		cb(arg, p, fresh ? TRACK_FIGURES | TRACK_NAMES : changed(p->watched, now));
		p->watched = now;
	}
}
