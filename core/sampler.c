/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/sampler.c - cells, one per (run, tool), in a small hash table.
 */
#include "core/sampler.h"

#include <stdlib.h>

#define BUCKETS 256u

struct sampler {
	struct intern *intern;
	struct cell *buckets[BUCKETS];
};

struct sampler *sampler_new(struct intern *in)
{
	struct sampler *s = calloc(1, sizeof(*s));

	if (s)
		s->intern = in;
	return s;
}

static void cell_free(struct sampler *s, struct cell *c)
{
	intern_unref(s->intern, c->tool);
	free(c);
}

struct sampler *sampler_free(struct sampler *s)
{
	if (!s)
		return NULL;
	for (unsigned i = 0; i < BUCKETS; i++)
		while (s->buckets[i]) {
			struct cell *next = s->buckets[i]->next;

			cell_free(s, s->buckets[i]);
			s->buckets[i] = next;
		}
	free(s);
	return NULL;
}

struct cell *sampler_cell(struct sampler *s, struct run *run, const struct interned *tool)
{
	/* Both are unique pointers: one copy per string, one object per run. */
	uintptr_t mix = (uintptr_t)run / 16 * 31 + (uintptr_t)tool / 16;
	unsigned bucket = (unsigned)((mix ^ mix >> 8 ^ mix >> 16) % BUCKETS);
	struct cell *c;

	for (c = s->buckets[bucket]; c; c = c->next)
		if (c->run == run && c->tool == tool) {
			c->refs++;
			return c;
		}
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->run = run;
	c->tool = intern_ref(tool);
	c->refs = 1;
	c->next = s->buckets[bucket];
	s->buckets[bucket] = c;
	return c;
}

void sampler_unref(struct cell *c)
{
	if (c)
		c->refs--;
}

static bool empty(const struct cell *c)
{
	return !c->alive && !c->rss_bytes && !c->cpu_ns && !c->run_delay_ns && !c->read_bytes && !c->write_bytes && !c->started;
}

void sampler_take(struct sampler *s, bool all, const struct run *run, void (*cb)(const struct cell *, void *arg), void *arg)
{
	for (unsigned i = 0; i < BUCKETS; i++) {
		struct cell **at = &s->buckets[i];

		while (*at) {
			struct cell *c = *at;

			if (all || c->run == run) {
				if (!empty(c))
					cb(c, arg);
				c->cpu_ns = c->run_delay_ns = c->read_bytes = c->write_bytes = c->started = 0;
				if (c->refs == 0) {
					*at = c->next;
					cell_free(s, c);
					continue;
				}
			}
			at = &c->next;
		}
	}
}

bool sampler_idle(const struct sampler *s, const struct run *run)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		for (const struct cell *c = s->buckets[i]; c; c = c->next)
			if (c->run == run)
				return false;
	return true;
}
