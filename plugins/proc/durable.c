/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/durable.c - keeps records in the kernel until their reports are durable: the ring's records, and the
 * sums of threads that went into totals.  When skepd is killed, the next skepd reads them from the last mark on.
 */
#include <stdlib.h>
#include <string.h>

#include "proc.h"
#include "plugins/proc/proc.skel.h"
#include "state.h"

/* The extra data of a mark: totals that wait for their threads. */
struct extra {
	uint32_t layout; /* PROC_LAYOUT */
	uint32_t n;
	struct proc_final finals[];
};

void proc_mark(struct skep_instance *inst, void *state, struct skep_mark *ret)
{
	struct proc_state *st = state;
	struct extra *e;
	uint32_t n = 0;

	(void)inst;
	*ret = (struct skep_mark){ .source = st->ring.source, .position = st->ring.at, .cookie = ++st->marks };
	st->marked = st->seen;
	memcpy(st->marked_misses, st->seen_misses, sizeof(st->marked_misses));
	for (const struct pending *p = st->pending; p; p = p->next)
		n++;
	free(st->mark_extra);
	st->mark_extra = NULL;
	if (n == 0)
		return;
	e = malloc(sizeof(*e) + n * sizeof(e->finals[0]));
	if (!e) { /* only a crash before the next mark loses them */
		st->host->log(inst, SKEP_LOG_WARNING,
			      "no memory to save %u pending process totals: a crash of skepd now loses them", n);
		return;
	}
	e->layout = PROC_LAYOUT;
	e->n = n;
	n = 0;
	for (const struct pending *p = st->pending; p; p = p->next)
		e->finals[n++] = p->final;
	st->mark_extra = (char *)e;
	ret->extra = e;
	ret->extra_size = (uint32_t)(sizeof(*e) + n * sizeof(e->finals[0]));
}

void proc_mark_resume(struct skep_instance *inst, struct proc_state *st)
{
	const struct skep_mark *m = &st->host->mark;
	const struct extra *e = m->extra;

	if (m->source == 0 || m->extra_size < sizeof(*e) || e->layout != PROC_LAYOUT ||
	    m->extra_size < sizeof(*e) + e->n * sizeof(e->finals[0]))
		return;
	for (uint32_t i = 0; i < e->n; i++) {
		struct proc_final final;

		memcpy(&final, &e->finals[i], sizeof(final));
		proc_pending_add(inst, st, &final);
	}
}

void proc_threads_used(struct proc_state *st, const struct proc_threads_key *key)
{
	struct used_threads *t = st->host->settles ? malloc(sizeof(*t)) : NULL;

	if (!t) { /* no memory: after a crash skepd may read these totals again, without the threads */
		bpf_map_delete_elem(bpf_map__fd(st->bpf->maps.threads), key);
		return;
	}
	t->key = *key;
	t->mark = st->marks + 1;
	t->next = st->used;
	st->used = t;
}

void proc_threads_used_free(struct proc_state *st)
{
	while (st->used) {
		struct used_threads *next = st->used->next;

		free(st->used);
		st->used = next;
	}
	free(st->mark_extra);
	st->mark_extra = NULL;
}

/* Deletes the entries whose totals are durable since a mark up to that number. */
static void forget(struct proc_state *st, uint64_t mark)
{
	struct used_threads **at = &st->used;

	while (*at) {
		struct used_threads *t = *at;

		if (t->mark > mark) {
			at = &t->next;
			continue;
		}
		bpf_map_delete_elem(bpf_map__fd(st->bpf->maps.threads), &t->key);
		*at = t->next;
		free(t);
	}
}

void proc_mark_end(struct proc_state *st)
{
	forget(st, UINT64_MAX);
	proc_pinned_reported(st, &st->seen, st->seen_misses);
}

void proc_settled(struct skep_instance *inst, void *state, const struct skep_mark *mark)
{
	struct proc_state *st = state;

	(void)inst;
	if (!st->bpf)
		return; /* the probe has stopped: the next skepd begins at the last mark */
	skep_ring_release(&st->ring, mark->position);
	forget(st, mark->cookie);
	if (mark->cookie == st->marks)
		proc_pinned_reported(st, &st->marked, st->marked_misses);
}
