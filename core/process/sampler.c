/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/sampler.c - cells, one per (run, tool), in a small hash table.
 */
#include "core/process/sampler.h"

#include <stdlib.h>

#include "core/process/run.h"

#define FIRST_BUCKETS 256u

struct sampler {
	struct intern *intern;
	struct cell **buckets;
	size_t n_buckets, n; /* n_buckets: a power of two */
};

struct sampler *sampler_new(struct intern *in)
{
	struct sampler *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->buckets = calloc(FIRST_BUCKETS, sizeof(struct cell *));
	if (!s->buckets) {
		free(s);
		return NULL;
	}
	s->n_buckets = FIRST_BUCKETS;
	s->intern = in;
	return s;
}

static struct cell **bucket(struct cell **buckets, size_t n, const struct run *run, const struct interned *tool)
{
	/* Both are unique pointers: one copy per string, one object per run. */
	uint64_t mix = ((uintptr_t)run / 16 * 31 + (uintptr_t)tool / 16) * 0x9e3779b97f4a7c15u;

	return &buckets[(mix >> 32) & (n - 1)];
}

static void cell_free(struct sampler *s, struct cell *c)
{
	struct cell **at = bucket(s->buckets, s->n_buckets, c->run, c->tool);

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	s->n--;
	if (c->run) {
		*c->run_at = c->run_next;
		if (c->run_next)
			c->run_next->run_at = c->run_at;
		run_unref(c->run);
	}
	intern_unref(s->intern, c->tool);
	free(c);
}

struct sampler *sampler_free(struct sampler *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->n_buckets; i++)
		while (s->buckets[i])
			cell_free(s, s->buckets[i]);
	free(s->buckets);
	free(s);
	return NULL;
}

static void grow(struct sampler *s)
{
	size_t n = s->n_buckets * 2;
	struct cell **buckets = calloc(n, sizeof(struct cell *));

	if (!buckets)
		return; /* the table works with longer chains */
	for (size_t i = 0; i < s->n_buckets; i++)
		for (struct cell *c = s->buckets[i], *next; c; c = next) {
			struct cell **at = bucket(buckets, n, c->run, c->tool);

			next = c->next;
			c->next = *at;
			*at = c;
		}
	free(s->buckets);
	s->buckets = buckets;
	s->n_buckets = n;
}

struct cell *sampler_cell(struct sampler *s, struct run *run, const struct interned *tool)
{
	struct cell **at = bucket(s->buckets, s->n_buckets, run, tool), *c;

	for (c = *at; c; c = c->next)
		if (c->run == run && c->tool == tool) {
			c->refs++;
			return c;
		}
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	if (s->n >= s->n_buckets) {
		grow(s);
		at = bucket(s->buckets, s->n_buckets, run, tool);
	}
	c->run = run_ref(run);
	c->tool = intern_ref(tool);
	c->refs = 1;
	c->next = *at;
	*at = c;
	s->n++;
	if (run) {
		c->run_next = run->cells;
		c->run_at = &run->cells;
		if (run->cells)
			run->cells->run_at = &c->run_next;
		run->cells = c;
	}
	return c;
}

void sampler_unref(struct cell *c)
{
	if (c)
		c->refs--;
}

static bool empty(const struct cell *c)
{
	return !c->alive && !c->rss_bytes && !c->cpu_ns && !c->run_delay_ns && !c->read_bytes && !c->write_bytes &&
	       !c->started;
}

static void take(struct sampler *s, struct cell *c, void (*cb)(const struct cell *, void *arg), void *arg)
{
	if (!empty(c))
		cb(c, arg);
	c->cpu_ns = c->run_delay_ns = c->read_bytes = c->write_bytes = c->started = 0;
	if (c->refs == 0)
		cell_free(s, c);
}

void sampler_take(struct sampler *s, bool all, struct run *run, void (*cb)(const struct cell *, void *arg), void *arg)
{
	struct cell *next;

	if (!all) {
		for (struct cell *c = run->cells; c; c = next) {
			next = c->run_next;
			take(s, c, cb, arg);
		}
		return;
	}
	for (size_t i = 0; i < s->n_buckets; i++)
		for (struct cell *c = s->buckets[i]; c; c = next) {
			next = c->next;
			take(s, c, cb, arg);
		}
}
