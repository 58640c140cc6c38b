/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/proctab.c - a chained hash table by pid.  A pid has one entry, or for moments a few: its earlier holders
 * wait for their final counters.  So one table serves both look-ups.  The table reuses its entries, which come from
 * blocks: no allocation in a steady state.
 */
#include "core/process/proctab.h"

#include <skep/hash.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 1024u
#define BLOCK_ENTRIES 64u
#define CLOSED_SLOTS 8192u

struct block {
	struct block *next;
	struct proc entries[BLOCK_ENTRIES];
};

struct proctab {
	struct proc **buckets;
	struct skep_hash_key key;
	size_t n_buckets, n; /* n_buckets: a power of two */
	struct proc *first, *free;
	struct block *blocks;
	struct skep_upid closed[CLOSED_SLOTS];
};

static size_t hash(const struct proctab *t, uint32_t pid)
{
	return skep_hash_number(&t->key, pid);
}

struct proctab *proctab_new(void)
{
	struct proctab *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->buckets = calloc(FIRST_BUCKETS, sizeof(struct proc *));
	if (!t->buckets) {
		free(t);
		return NULL;
	}
	t->n_buckets = FIRST_BUCKETS;
	t->key = skep_hash_key_new();
	return t;
}

struct proctab *proctab_free(struct proctab *t, void (*drop)(struct proc *, void *arg), void *arg)
{
	if (!t)
		return NULL;
	for (struct proc *p = t->first; p; p = p->next)
		drop(p, arg);
	while (t->blocks) {
		struct block *next = t->blocks->next;

		free(t->blocks);
		t->blocks = next;
	}
	free(t->buckets);
	free(t);
	return NULL;
}

struct proc *proctab_find(const struct proctab *t, const struct skep_upid *upid)
{
	struct proc *p = t->buckets[hash(t, upid->pid) & (t->n_buckets - 1)];

	while (p && !(p->upid.pid == upid->pid && p->upid.start_ns == upid->start_ns))
		p = p->hash_next;
	return p;
}

struct proc *proctab_holder(const struct proctab *t, uint32_t pid)
{
	struct proc *newest = NULL;

	for (struct proc *p = t->buckets[hash(t, pid) & (t->n_buckets - 1)]; p; p = p->hash_next)
		if (p->upid.pid == pid && !(p->flags & (PROC_EXITED | PROC_FINAL)) &&
		    (!newest || p->upid.start_ns > newest->upid.start_ns))
			newest = p;
	return newest;
}

struct proc *proctab_latest(const struct proctab *t, uint32_t pid)
{
	struct proc *newest = NULL;

	for (struct proc *p = t->buckets[hash(t, pid) & (t->n_buckets - 1)]; p; p = p->hash_next)
		if (p->upid.pid == pid && (!newest || p->upid.start_ns > newest->upid.start_ns))
			newest = p;
	return newest;
}

static void grow(struct proctab *t)
{
	size_t n = t->n_buckets * 2;
	struct proc **buckets = calloc(n, sizeof(struct proc *));

	if (!buckets)
		return; /* the table works with longer chains */
	for (struct proc *p = t->first; p; p = p->next) {
		struct proc **at = &buckets[hash(t, p->upid.pid) & (n - 1)];

		p->hash_next = *at;
		*at = p;
	}
	free(t->buckets);
	t->buckets = buckets;
	t->n_buckets = n;
}

static bool refill(struct proctab *t)
{
	struct block *b = malloc(sizeof(*b));

	if (!b)
		return false;
	b->next = t->blocks;
	t->blocks = b;
	for (unsigned i = 0; i < BLOCK_ENTRIES; i++) {
		b->entries[i].hash_next = t->free;
		t->free = &b->entries[i];
	}
	return true;
}

struct proc *proctab_add(struct proctab *t, const struct skep_upid *upid)
{
	struct proc **at, *p;

	if (!t->free && !refill(t))
		return NULL;
	if (t->n >= t->n_buckets)
		grow(t);
	p = t->free;
	t->free = p->hash_next;
	memset(p, 0, sizeof(*p));
	p->upid.pid = upid->pid;
	p->upid.start_ns = upid->start_ns;
	at = &t->buckets[hash(t, upid->pid) & (t->n_buckets - 1)];
	p->hash_next = *at;
	*at = p;
	p->next = t->first;
	if (t->first)
		t->first->prev = p;
	t->first = p;
	t->n++;
	return p;
}

void proctab_remove(struct proctab *t, struct proc *p)
{
	struct proc **at = &t->buckets[hash(t, p->upid.pid) & (t->n_buckets - 1)];

	while (*at != p)
		at = &(*at)->hash_next;
	*at = p->hash_next;
	if (p->prev)
		p->prev->next = p->next;
	else
		t->first = p->next;
	if (p->next)
		p->next->prev = p->prev;
	p->hash_next = t->free;
	t->free = p;
	t->n--;
}

struct proc *proctab_first(const struct proctab *t)
{
	return t->first;
}

size_t proctab_count(const struct proctab *t)
{
	return t->n;
}

static size_t closed_slot(const struct proctab *t, const struct skep_upid *upid)
{
	return (hash(t, upid->pid) ^ (size_t)(upid->start_ns * 0x9e3779b97f4a7c15u >> 40)) % CLOSED_SLOTS;
}

void proctab_close(struct proctab *t, const struct skep_upid *upid)
{
	t->closed[closed_slot(t, upid)] = *upid;
}

bool proctab_closed(const struct proctab *t, const struct skep_upid *upid)
{
	const struct skep_upid *c = &t->closed[closed_slot(t, upid)];

	return c->pid == upid->pid && c->start_ns == upid->start_ns && c->pid != 0;
}
