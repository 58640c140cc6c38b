/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a token bucket of bytes for each user of the lake.
 */
#include "sinks/lake/budget.h"

#include <stddef.h>

#define DAY_NS (86400 * INT64_C(1000000000))
#define PROBES 8

void budget_set(struct budget *b, uint64_t max_bytes)
{
	b->most = (int64_t)(max_bytes / 4 < (UINT64_C(1) << 60) ? max_bytes / 4 : UINT64_C(1) << 60);
	for (int i = 0; i <= BUDGET_PLACES; i++)
		if (b->user[i].left > b->most)
			b->user[i].left = b->most;
}

static void refill(const struct budget *b, struct budget_user *u, int64_t now_ns)
{
	int64_t passed = now_ns - u->time_ns;
	double gain = passed > 0 ? (double)b->most * ((double)passed / (double)DAY_NS) : 0;

	if (gain < 1)
		return; /* keep the old time, so that small gains add up to a byte */
	u->left = gain >= (double)(b->most - u->left) ? b->most : u->left + (int64_t)gain;
	u->time_ns = now_ns;
}

/* A user who has the whole budget left needs no entry.  Users who find no free entry share the last one. */
struct budget_user *budget_user(struct budget *b, uint64_t key, int64_t now_ns)
{
	uint64_t h = key * 0x9e3779b97f4a7c15u >> 32;
	struct budget_user *u, *room = NULL;

	if (!b->most)
		return NULL;
	for (unsigned i = 0; i < PROBES; i++) {
		u = &b->user[(h + i) % BUDGET_PLACES];
		if (u->time_ns && u->key == key) {
			refill(b, u, now_ns);
			return u;
		}
		if (u->time_ns)
			refill(b, u, now_ns);
		if (!room && (!u->time_ns || u->left >= b->most))
			room = u;
	}
	if (!room && b->user[BUDGET_PLACES].time_ns) {
		refill(b, &b->user[BUDGET_PLACES], now_ns);
		return &b->user[BUDGET_PLACES];
	}
	if (!room)
		room = &b->user[BUDGET_PLACES];
	*room = (struct budget_user){ .key = key, .left = b->most, .time_ns = now_ns };
	return room;
}

enum budget_level budget_level(const struct budget *b, const struct budget_user *u)
{
	if (!u || u->left > 0)
		return BUDGET_WHOLE;
	return u->left > -(b->most / 4) ? BUDGET_CUT : BUDGET_SUM;
}
