/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_keep.c - notes which processes have changed since the last chunk of the saved state.  Most
 * processes live and end between two commits, and are never written.
 *
 * The readings of a sweep are not a change: every sweep has new ones, and the next skepd's first sweep reads newer ones
 * anyway.  saved_samples() saves the sampled counters apart, in one piece.
 */
#include <stdlib.h>

#include "core/base/log.h"
#include "core/process/track_priv.h"

void track_dirty(struct track *t, struct proc *p)
{
	if (!t->keeps || (p->flags & PROC_DIRTY))
		return;
	p->flags |= PROC_DIRTY;
	p->dirty_prev = NULL;
	p->dirty_next = t->dirty;
	if (t->dirty)
		t->dirty->dirty_prev = p;
	t->dirty = p;
}

void track_clean(struct track *t, struct proc *p, bool gone)
{
	if (p->flags & PROC_DIRTY) {
		if (p->dirty_prev)
			p->dirty_prev->dirty_next = p->dirty_next;
		else
			t->dirty = p->dirty_next;
		if (p->dirty_next)
			p->dirty_next->dirty_prev = p->dirty_prev;
		p->flags &= ~PROC_DIRTY;
	}
	if (!gone || !(p->flags & PROC_STORED))
		return;
	p->flags &= ~PROC_STORED;
	if (t->n_gone == t->room_gone) {
		size_t room = t->room_gone ? t->room_gone * 2 : 64;
		struct skep_upid *list = realloc(t->gone, room * sizeof(*list));

		if (!list) {
			/* after a crash the next skepd restores it, and closes it when a sweep does not see it */
			t->stats.no_memory++;
			return;
		}
		t->gone = list;
		t->room_gone = room;
	}
	t->gone[t->n_gone++] = p->upid;
}

bool track_keeps(const struct track *t)
{
	return t->keeps;
}

void track_keep(struct track *t)
{
	t->keeps = true;
}

void track_unsaved(struct track *t, uint64_t n)
{
	t->stats.unsaved += n;
	if (n > 0)
		log_because(
			SKEP_LOG_ERROR, "state", "unsaved",
			"no memory to save the state of %llu processes, runs or tasks; after a crash they begin anew",
			(unsigned long long)n);
}

void track_unrestored(struct track *t, uint64_t n)
{
	t->stats.unrestored += n;
}
