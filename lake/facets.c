/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/facets.c - reads what other probes counted for each process.
 */
#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "lake/answer.h"

/* Adds a facet of another probe to the totals. */
static void facet_total(struct lake_totals *t, const char *name, double value)
{
	static const char *const states[LAKE_STATES] = {
		[LAKE_RUNNING] = "sched.running", [LAKE_RUNNABLE] = "sched.runnable", [LAKE_IOWAIT] = "sched.iowait",
		[LAKE_BLOCKED] = "sched.blocked", [LAKE_SLEEPING] = "sched.sleeping",
	};
	uint64_t n = value > 0 ? (uint64_t)value : 0;

	if (strncmp(name, "net.", 4) == 0)
		t->net_known = true;
	if (strcmp(name, "net.rx_bytes") == 0)
		t->net_rx_bytes = n;
	else if (strcmp(name, "net.tx_bytes") == 0)
		t->net_tx_bytes = n;
	else if (strcmp(name, "io.block_delay_ns") == 0)
		t->block_delay_ns = n;
	for (int i = 0; i < LAKE_STATES; i++)
		if (strcmp(name, states[i]) == 0)
			t->states[i] = n;
}

/* Adds a number to the facets of the process that the report reads. n: the number of its facets so far. */
static int add_number(struct answer *a, struct lake_process *p, const char *name, double value, size_t n)
{
	void *grown = answer_grow(a->facet, n, &a->facet_room, sizeof(*a->facet));

	if (!grown)
		return lake_file_error(a->file, SQLITE_NOMEM);
	a->facet = grown;
	a->facet[n] = (struct lake_facet){ name, value };
	facet_total(&p->totals, name, value);
	return 0;
}

/* Reads labels as SQLite has them: ["a=b","c=d"].  NULL: no memory. */
static const char *const *json_list(struct answer *a, const char *bytes, size_t size)
{
	json_t *all = json_loadb(bytes, size, 0, NULL), *one;
	const char **list = arena_alloc(&a->arena, (json_array_size(all) + 1) * sizeof(*list));
	size_t i, n = 0;

	json_array_foreach(all, i, one) {
		if (!list || !json_is_string(one))
			continue;
		list[n] = arena_copy(&a->arena, json_string_value(one), json_string_length(one));
		list = list[n++] ? list : NULL;
	}
	json_decref(all);
	return list;
}

static int add_labels(struct answer *a, const struct lake_rows *rows, int column)
{
	size_t size = 0;
	const char *bytes = lake_rows_bytes(rows, column, &size);

	if (!a->labels.text || a->labels.size != size || memcmp(a->labels.text, bytes, size) != 0) {
		a->labels.text = arena_copy(&a->arena, bytes, size);
		a->labels.size = size;
		a->labels.list = rows->clickhouse ? lake_list(bytes, size, &a->arena) : json_list(a, bytes, size);
		if (!a->labels.text || !a->labels.list)
			return lake_file_error(a->file, SQLITE_NOMEM);
	}
	a->in.labels = *a->labels.list ? a->labels.list : NULL;
	return 0;
}

/* Keeps a facet that is a text, if the report has a place for it. */
static int add_text(struct answer *a, const struct lake_rows *rows, const char *name)
{
	static const struct lake_container none;
	const struct lake_container *last = a->last ? a->last : &none;
	const struct {
		const char *name, **to, *last;
	} texts[] = { { "container_name", &a->in.container_name, last->container_name },
		      { "container_image", &a->in.container_image, last->container_image },
		      { "pod", &a->in.pod, last->pod },
		      { "namespace", &a->in.name_space, last->name_space } };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		size_t size = 0;
		const char *bytes, *same = texts[i].last;

		if (strcmp(texts[i].name, name) != 0)
			continue;
		bytes = lake_rows_bytes(rows, 1, &size);
		*texts[i].to = same && strlen(same) == size && memcmp(same, bytes, size) == 0
				       ? same : arena_copy(&a->arena, bytes, size);
		return *texts[i].to ? 0 : lake_file_error(a->file, SQLITE_NOMEM);
	}
	return strcmp(name, "labels") == 0 ? add_labels(a, rows, 1) : 0;
}

/* Gives the process the container that was read. */
static int keep_container(struct answer *a, struct lake_process *p)
{
	const struct lake_container *in = &a->in;
	struct lake_container *copy;

	if (!in->container_name && !in->container_image && !in->pod && !in->name_space && !in->labels)
		return 0;
	if (!a->last || memcmp(a->last, in, sizeof(*in)) != 0) {
		copy = arena_alloc(&a->arena, sizeof(*copy));
		if (!copy)
			return lake_file_error(a->file, SQLITE_NOMEM);
		*copy = *in;
		a->last = copy;
	}
	p->in = a->last;
	a->in = (struct lake_container){ 0 };
	return 0;
}

/* Moves the buffer's n facets, sorted by name, to the process. */
static int keep(struct answer *a, struct lake_process *p, size_t n)
{
	struct lake_facet *copy = n ? arena_alloc(&a->arena, n * sizeof(*copy)) : NULL;
	int err = keep_container(a, p);

	if (err || !n)
		return err;
	if (!copy)
		return lake_file_error(a->file, SQLITE_NOMEM);
	for (size_t i = 0; i < n; i++) { /* few, and mostly in order */
		size_t at = i;

		for (; at > 0 && strcmp(a->facet[i].name, copy[at - 1].name) < 0; at--)
			copy[at] = copy[at - 1];
		copy[at] = a->facet[i];
	}
	p->facets = copy;
	p->n_facets = n;
	return 0;
}

int lake_facets_of_row(struct answer *a, const struct lake_rows *rows, int column, int labels, struct lake_process *p)
{
	const char **const texts[] = { &a->in.container_name, &a->in.container_image, &a->in.pod, &a->in.name_space };
	size_t size = 0, n = 0;
	const char *bytes = lake_rows_bytes(rows, column, &size), *key;
	json_t *fields, *value;
	struct name *name;
	int err = 0;

	/* numbers as reals, which the facets are: jansson refuses an integer that int64_t cannot hold */
	fields = size ? json_loadb(bytes, size, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL) : NULL;
	if (size && !json_is_object(fields)) {
		json_decref(fields);
		lake_say(a->file->why, "%s: fields of process %s are damaged: no JSON", a->file->path, p->upid);
		return -EUCLEAN;
	}
	json_object_foreach(fields, key, value) {
		if (!json_is_real(value) && !json_is_true(value))
			continue;
		err = names_of_text(&a->names, key, strlen(key), &name);
		if (!err)
			err = add_number(a, p, name->s, json_is_true(value) ? 1 : json_real_value(value), n++);
		if (err)
			break;
	}
	json_decref(fields);
	for (size_t i = 0; !err && i < sizeof(texts) / sizeof(texts[0]); i++) {
		bytes = lake_rows_bytes(rows, column + 1 + (int)i, &size);
		if (!size)
			continue;
		err = names_of_text(&a->names, bytes, size, &name);
		if (!err)
			*texts[i] = name->s;
	}
	if (!err)
		err = add_labels(a, rows, labels);
	return err ? err : keep(a, p, n);
}

#define IS_KEPT "typeof(f.value) IN ('integer', 'real', 'text')"
/* CROSS JOIN: by the run's processes, whose index has them in this order already. */
#define OF_RUN(processes_)                                                                                             \
	{                                                                                                              \
		.sqlite = "SELECT f.name, f.value, p.id FROM " processes_ " p CROSS JOIN proc_facet f ON f.proc = p.id " \
			  "WHERE p.run = ?1 AND " IS_KEPT " ORDER BY p.id",                                          \
	}

/* Asks for the facets of all processes, or of all between the first and the last one. */
static int open_facets(struct answer *a, const struct lake_key *run, struct lake_rows *ret)
{
	static const struct lake_question of_rows = OF_RUN("proc_row"), of_copy = OF_RUN("proc_flat"), between = {
		.sqlite = "SELECT f.name, f.value, f.proc FROM proc_facet f WHERE f.proc BETWEEN ?1 AND ?2 AND " IS_KEPT
			  " ORDER BY f.proc",
	};
	const size_t n = a->report.n_processes;
	const int64_t first = n ? a->extra[0].row : 0, last = n ? a->extra[n - 1].row : 0;
	const struct lake_value values[] = { LAKE_NUMBER(first), LAKE_NUMBER(last) };

	if (answer_is_dense(first, last, (int64_t)n))
		return lake_rows_open(a->file, &between, values, 2, ret);
	return lake_rows_of_run(a->file, a->file->copy ? &of_copy : &of_rows, run, ret);
}

int lake_facets_read(struct answer *a, const struct lake_key *run)
{
	struct lake_report *r = &a->report;
	struct lake_rows rows = { 0 };
	size_t at = 0, n = 0;
	int err = 0, more = 1;

	if (a->file->server)
		return 0;
	err = open_facets(a, run, &rows);
	while (!err && more > 0 && at < r->n_processes) {
		const char *name;
		int64_t row;

		more = lake_rows_next(&rows);
		row = more > 0 ? lake_rows_number(&rows, 2) : INT64_MAX;
		for (; !err && at < r->n_processes && a->extra[at].row < row; at++, n = 0)
			err = keep(a, &r->processes[at], n);
		if (err || more <= 0 || at == r->n_processes || a->extra[at].row != row)
			continue;
		err = answer_name(a, &rows, 0, &name, NULL);
		if (!err && sqlite3_column_type(rows.sqlite, 1) == SQLITE_TEXT)
			err = add_text(a, &rows, name);
		else if (!err)
			err = add_number(a, &r->processes[at], name, lake_rows_real(&rows, 1), n++);
	}
	lake_rows_close(&rows);
	return err ? err : more < 0 ? more : 0;
}
