/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/saved_facets.c - saves the facets of all processes in one piece.
 *
 * A sampling probe adds to the facets of each live process at each interval.  If that changed the process's saved line,
 * each interval would write all lines: on a host with 20,000 processes half of skepd's CPU time.  So the line follows
 * only facets of events, and this piece, which the collector saves with the samples, has all facets of that moment.
 *
 * The piece: its time, the names of the columns, then for each process its identity, and for each of its columns the
 * index + 1 and the numbers; 0 ends the process.  A line has the time of the piece before it (SAVED_FACETS_BEFORE), and
 * holds newer facets than that piece.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/process/saved.h"
#include "core/process/track_priv.h"
#include "spool/bytes.h"

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

/* Reads a process's columns into an object as the line has them.  NULL: no memory, or the bytes are damaged. */
static json_t *take_columns(struct bytes_in *in, const char *const *names, uint64_t n_names)
{
	json_t *facets = json_object();

	for (uint64_t column; facets && (column = bytes_take_number(in)) > 0 && !in->bad;) {
		json_t *list = json_array();

		for (int i = 0; i < FACET_KEPT; i++)
			json_array_append_new(list, json_integer((json_int_t)bytes_take_number(in)));
		if (column > n_names || in->bad || json_object_set_new(facets, names[column - 1], list) < 0) {
			if (column > n_names || in->bad)
				json_decref(list);
			json_decref(facets);
			return NULL;
		}
	}
	if (!in->bad)
		return facets;
	json_decref(facets);
	return NULL;
}

static void take_processes(struct track *t, struct bytes_in *in, uint64_t time_ns, const char *const *names, uint64_t n)
{
	while (in->at < in->end && !in->bad) {
		struct skep_upid upid = { .pid = (uint32_t)bytes_take_number(in) };
		json_t *facets, *line;

		upid.start_ns = bytes_take_number(in);
		line = saved_waiting_line(t, &upid);
		facets = take_columns(in, names, n);

		if (!facets)
			return;
		if (line && (uint64_t)json_integer_value(json_object_get(line, SAVED_FACETS_BEFORE)) < time_ns)
			json_object_set(line, "facets", facets);
		json_decref(facets);
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
