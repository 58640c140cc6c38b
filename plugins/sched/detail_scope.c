/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/sched/detail_scope.c - the tables by which the kernel side finds out which
 * attachments a thread is in.  They change while the program runs: each word by itself, and
 * nothing counts for a slot that is not in of_kind.
 */
#include "state.h"

#define EXCLUDED 255u

int detail_scope_check(const struct skep_detail_scope *scope, const char **ret_why)
{
	*ret_why = NULL;
	switch (scope->kind) {
	case SKEP_SCOPE_HOST:
		return 0;
	case SKEP_SCOPE_GROUP:
		if (scope->value >= 1 && scope->value < EXCLUDED)
			return 0;
		*ret_why = "a group is a number from 1 to 254";
		return -EINVAL;
	case SKEP_SCOPE_CGROUP:
		if (scope->value > 0)
			return 0;
		*ret_why = "a cgroup's id is not 0";
		return -EINVAL;
	case SKEP_SCOPE_PID:
		if (scope->value >= 1 && scope->value <= INT32_MAX)
			return 0;
		*ret_why = "a pid is a positive number";
		return -EINVAL;
	default:
		*ret_why = "the scope is of a kind that this version does not know";
		return -EINVAL;
	}
}

static void put(uint32_t *word, uint32_t bit)
{
	__atomic_fetch_or(word, bit, __ATOMIC_RELEASE);
}

static void take(uint32_t *word, uint32_t bit)
{
	__atomic_fetch_and(word, ~bit, __ATOMIC_RELEASE);
}

void detail_scope_add(struct detail_scopes *s, unsigned slot, enum detail_kind kind, const struct skep_detail_scope *scope,
		      uint64_t start_ns)
{
	uint32_t bit = 1u << slot;

	__atomic_store_n(&s->value[slot], scope->value, __ATOMIC_RELAXED);
	__atomic_store_n(&s->start_ns[slot], start_ns, __ATOMIC_RELAXED);
	switch (scope->kind) {
	case SKEP_SCOPE_HOST:
		for (unsigned byte = 0; byte < EXCLUDED; byte++)
			put(&s->of_byte[byte], bit);
		break;
	case SKEP_SCOPE_GROUP:
		put(&s->of_byte[scope->value % EXCLUDED], bit);
		break;
	case SKEP_SCOPE_CGROUP:
		put(&s->of_cgroup, bit);
		break;
	default:
		put(&s->of_pid, bit);
		break;
	}
	put(&s->of_kind[kind], bit);
}

void detail_scope_remove(struct detail_scopes *s, unsigned slot)
{
	uint32_t bit = 1u << slot;

	for (unsigned kind = 0; kind < DETAIL_KINDS; kind++)
		take(&s->of_kind[kind], bit);
	for (unsigned byte = 0; byte < EXCLUDED; byte++)
		take(&s->of_byte[byte], bit);
	take(&s->of_pid, bit);
	take(&s->of_cgroup, bit);
}
