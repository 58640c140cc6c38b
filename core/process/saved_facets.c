/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/saved_facets.c - saves the facets of all processes in one piece.
 *
 * A sampling probe adds to the facets of each live process at each interval.  If that changed the process's item, each
 * interval would write the items of all.  So the item follows only facets of events, and this piece, which the
 * collector saves with the samples, has all facets of that moment.
 *
 * The piece: its time, the names of the columns, then for each process its identity, and for each of its columns the
 * index + 1 and the numbers; 0 ends the process.  An item has the time of the piece before it (PROCESS_FACETS_AFTER),
 * and newer facets than that piece.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/process/saved.h"
#include "core/process/saved_priv.h"
#include "core/process/track_priv.h"

static void put_column(void *arg, uint32_t column, const uint64_t bits[FACET_KEPT])
{
	struct bytes_out *b = arg;

	bytes_number(b, (uint64_t)column + 1);
	for (int i = 0; i < FACET_KEPT; i++)
		bytes_number(b, bits[i]);
}

int saved_facets(struct track *t, void **ret, size_t *ret_size)
{
	uint64_t time_ns = t->now_ns > t->facets_saved_ns ? t->now_ns : t->facets_saved_ns + 1;
	struct bytes_out b = { 0 };
	uint32_t n = 0;

	while (facets_column(t->env.facets, n))
		n++;
	bytes_number(&b, time_ns);
	bytes_number(&b, n);
	for (uint32_t i = 0; i < n; i++)
		bytes_text(&b, facets_column(t->env.facets, i), strlen(facets_column(t->env.facets, i)) + 1);
	for (const struct proc *p = proctab_first(t->table); p; p = p->next) {
		if (!saved_worth(p) || !p->facets)
			continue;
		bytes_number(&b, p->upid.pid);
		bytes_number(&b, p->upid.start_ns);
		facets_kept(p->facets, put_column, &b);
		bytes_number(&b, 0);
	}
	*ret = b.at;
	*ret_size = b.len;
	if (b.err)
		free(b.at);
	else
		t->facets_saved_ns = time_ns;
	return b.err;
}

/* Reads a process's columns.  false: the bytes are damaged, or no memory. */
static bool take_columns(struct track *t, struct bytes_in *in, const char *const *names, uint64_t n_names,
			 struct facet_values **ret)
{
	for (uint64_t column; (column = bytes_take_number(in)) > 0 && !in->bad;) {
		uint64_t bits[FACET_KEPT];

		for (int i = 0; i < FACET_KEPT; i++)
			bits[i] = bytes_take_number(in);
		if (column > n_names || in->bad ||
		    facets_restore(t->env.facets, ret, names[column - 1], bits) == -ENOMEM)
			return false;
	}
	return !in->bad;
}

static void take_processes(struct track *t, struct bytes_in *in, uint64_t time_ns, const char *const *names, uint64_t n)
{
	while (in->at < in->end && !in->bad) {
		struct skep_upid upid = { .pid = (uint32_t)bytes_take_number(in) };
		struct facet_values *facets = NULL;
		struct waiting *w;
		bool read;

		upid.start_ns = bytes_take_number(in);
		w = saved_waiting(t->saved, &upid);
		read = take_columns(t, in, names, n, &facets);
		if (read && w && w->v[PROCESS_FACETS_AFTER] < time_ns) {
			facet_values_free(w->facets);
			w->facets = facets;
			facets = NULL;
		}
		facet_values_free(facets);
		if (!read)
			return;
	}
}

void saved_facets_read(struct track *t, const void *facets, size_t size)
{
	struct bytes_in in = { .begin = facets, .at = facets, .end = (const unsigned char *)facets + size };
	uint64_t time_ns = bytes_take_number(&in), n = bytes_take_number(&in), i = 0;
	const char **names = in.bad || n > size ? NULL : calloc(n + 1, sizeof(*names));

	for (; names && i < n; i++) {
		uint64_t len = bytes_take_number(&in);
		const char *name = bytes_take(&in, len);

		if (!name || len == 0 || name[len - 1] != '\0')
			break;
		names[i] = name;
	}
	if (names && i == n)
		take_processes(t, &in, time_ns, names, n);
	free(names);
}
