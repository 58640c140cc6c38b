/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/collector_boundaries.c - the lists by which probes find boundaries of runs and tasks
 * (skep_host.boundaries): keeps the present ones, and numbers their changes.
 */
#include <string.h>

#include "core/collect/collector_priv.h"
#include "core/identify/recognizer.h"

static bool same_list(const char *const *a, const char *const *b)
{
	while (*a && *b && strcmp(*a, *b) == 0) {
		a++;
		b++;
	}
	return !*a && !*b;
}

void collector_boundaries(struct collector *c)
{
	struct skep_boundaries *b = &c->boundaries;
	const char *const *names = recognizers_environ(c->recognizers);
	const char *const *programs = recognizers_parents(c->recognizers);

	if (b->generation == 0 || !same_list(b->names, names) || !same_list(b->programs, programs))
		b->generation += b->generation == UINT32_MAX ? 2 : 1;
	b->size = sizeof(*b);
	b->names = names;
	b->programs = programs;
}
