/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/saved_changed.c - the lines of the processes that have changed since the last call; the spool writes
 * them with each commit.
 */
#include "core/process/saved.h"
#include "core/process/track_priv.h"

void saved_changed(struct track *t, void (*line)(void *arg, const struct skep_upid *, char *text), void *arg)
{
	uint64_t failed = 0;

	for (struct proc *p = t->dirty, *next; p; p = next) {
		char *text = NULL;
		int err = saved_worth(p) ? saved_line(t, p, &text) : 0;

		next = p->dirty_next;
		if (err < 0) {
			failed++; /* it stays in the list: the next call tries again */
			continue;
		}
		track_clean(t, p, !text);
		if (!text)
			continue;
		p->flags |= PROC_STORED;
		line(arg, &p->upid, text);
	}
	track_unsaved(t, failed);
	for (size_t i = 0; i < t->n_gone; i++)
		line(arg, &t->gone[i], NULL);
	t->n_gone = 0;
}
