/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/tally.c - see tally.h. Open addressing in tables of fixed size: a pass allocates nothing, and uses
 * without room are counted.
 */
#include "tally.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((TALLY_ROOM & (TALLY_ROOM - 1)) == 0 && TALLY_ROOM < UINT16_MAX, "TALLY_ROOM");
_Static_assert((LIVES_ROOM & (LIVES_ROOM - 1)) == 0, "LIVES_ROOM");

static uint32_t mix(uint32_t a, uint32_t b)
{
	uint64_t x = ((uint64_t)a << 32 | b) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(x >> 32);
}

struct tally *tally_new(void)
{
	return calloc(1, sizeof(struct tally));
}

void tally_clear(struct tally *t)
{
	t->n = 0;
	memset(t->index, 0, sizeof(t->index));
}

struct tally_entry *tally_of(struct tally *t, uint32_t pid)
{
	uint32_t at = mix(0, pid) & (2 * TALLY_ROOM - 1);

	for (; t->index[at]; at = (at + 1) & (2 * TALLY_ROOM - 1))
		if (t->entries[t->index[at] - 1].pid == pid)
			return &t->entries[t->index[at] - 1];
	if (t->n == TALLY_ROOM) {
		t->overflow++;
		return NULL;
	}
	t->entries[t->n] = (struct tally_entry){ .pid = pid };
	t->index[at] = (uint16_t)(t->n + 1);
	return &t->entries[t->n++];
}

struct lives *lives_new(void)
{
	return calloc(1, sizeof(struct lives));
}

struct life *lives_of(struct lives *l, uint32_t device, uint32_t pid)
{
	uint32_t at = mix(device, pid) & (LIVES_ROOM - 1);

	for (; l->slots[at].device; at = (at + 1) & (LIVES_ROOM - 1))
		if (l->slots[at].device == device + 1 && l->slots[at].pid == pid)
			return &l->slots[at];
	if (l->n >= LIVES_ROOM / 4 * 3) { /* in a fuller table every look-up is a walk */
		l->overflow++;
		return NULL;
	}
	l->slots[at] = (struct life){ .device = device + 1, .pid = pid };
	l->n++;
	return &l->slots[at];
}

void lives_forget(struct lives *l, uint64_t before_pass)
{
	/* Closes gaps in place: the entry behind a freed slot may have to move into it. */
	for (uint32_t i = 0; i < LIVES_ROOM; i++) {
		uint32_t hole = i, at;

		if (!l->slots[i].device || l->slots[i].pass >= before_pass)
			continue;
		l->slots[i].device = 0;
		l->n--;
		for (at = (i + 1) & (LIVES_ROOM - 1); l->slots[at].device; at = (at + 1) & (LIVES_ROOM - 1)) {
			uint32_t home = mix(l->slots[at].device - 1, l->slots[at].pid) & (LIVES_ROOM - 1);

			if (((at - home) & (LIVES_ROOM - 1)) < ((at - hole) & (LIVES_ROOM - 1)))
				continue; /* it would lie before its own slot */
			l->slots[hole] = l->slots[at];
			l->slots[at].device = 0;
			hole = at;
		}
		i--; /* the slot may contain another entry now */
	}
}

void life_settle(struct life *life, const struct life_total *total, struct use_record *use)
{
	uint64_t held = total->held_ns > life->held_ns ? total->held_ns - life->held_ns : 0;

	use->held_ns += held;
	if (total->busy >= 0) {
		uint64_t busy = (uint64_t)(total->busy * (double)total->held_ns);

		use->accounted_ns += busy;
		if (busy > life->busy_ns)
			use->busy_ns += busy - life->busy_ns;
		if (total->held_ns > life->known_ns)
			use->known_ns += total->held_ns - life->known_ns;
		if (busy == 0 && life->busy_ns == 0)
			use->idle_ns += held;
		if (life->busy_ns == 0 && total->memory_busy > 0)
			use->memory_busy_ns += (uint64_t)(total->memory_busy * (double)total->held_ns);
	}
	if (total->memory_bytes != UINT64_MAX && total->memory_bytes > use->memory_bytes)
		use->memory_bytes = total->memory_bytes;
	life->start_us = total->start_us;
	life->settled = true;
	life->held = false;
}
