/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/ledger.c - reads the host's ledger of a run.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "lake/answer.h"

static const struct lake_question of_run = {
	.sqlite = "SELECT r.fields FROM record r JOIN dict d ON d.id = r.stream WHERE r.run = ?1 AND d.s = 'ledger'",
	.clickhouse = "SELECT fields FROM record FINAL PREWHERE stream = 'ledger' AND run = ?2 WHERE boot_id = ?3",
};

static const char *text_of(const json_t *fields, const char *key, struct arena *a)
{
	const json_t *text = json_object_get(fields, key);

	return arena_copy(a, json_is_string(text) ? json_string_value(text) : "", json_string_length(text));
}

/* Adds a record of the stream "ledger". 0 or -errno. */
static int add_post(struct answer *a, const struct lake_rows *rows)
{
	struct lake_report *r = &a->report;
	size_t n = 0;
	const char *bytes = lake_rows_bytes(rows, 0, &n);
	json_t *fields = json_loadb(bytes, n, JSON_ALLOW_NUL, NULL);
	struct lake_ledger l;
	void *grown;

	if (!fields) {
		lake_say(a->file->why, "%s: a record of the ledger of run %s is damaged: no JSON", a->file->path, r->run.id);
		return -EUCLEAN;
	}
	l = (struct lake_ledger){
		.account = text_of(fields, "account", &a->arena),
		.item = text_of(fields, "item", &a->arena),
		.kind = text_of(fields, "kind", &a->arena),
		.amount = json_integer_value(json_object_get(fields, "amount")),
		.interval_ns = (uint64_t)json_integer_value(json_object_get(fields, "interval_ns")),
	};
	json_decref(fields);
	grown = l.account && l.item && l.kind
			? answer_grow(r->ledger, r->n_ledger, &a->ledger_room, sizeof(*r->ledger))
			: NULL;
	if (!grown)
		return lake_file_error(a->file, SQLITE_NOMEM);
	r->ledger = grown;
	r->ledger[r->n_ledger++] = l;
	return 0;
}

static int by_account(const void *a, const void *b)
{
	const struct lake_ledger *x = a, *y = b;
	int order = strcmp(x->account, y->account);

	if (!order)
		order = strcmp(x->item, y->item);
	if (!order)
		order = strcmp(x->kind, y->kind);
	return order ? order : x->amount < y->amount ? -1 : x->amount > y->amount;
}

int lake_ledger_read(struct answer *a, const struct lake_key *run)
{
	struct lake_rows rows = { 0 };
	int err = lake_rows_of_run(a->file, &of_run, run, &rows);

	if (err)
		return err;
	while ((err = lake_rows_next(&rows)) > 0) {
		err = add_post(a, &rows);
		if (err)
			break;
	}
	lake_rows_close(&rows);
	if (!err && a->report.n_ledger)
		qsort(a->report.ledger, a->report.n_ledger, sizeof(*a->report.ledger), by_account);
	return err;
}

/*
 * A probe stores no row for a process without traffic.  The ledger, or a row of another process, shows that the probe
 * ran; then 0 bytes means no traffic.
 */
void lake_network_know(struct lake_report *r)
{
	bool known = false;

	for (size_t i = 0; i < r->n_ledger && !known; i++)
		known = strncmp(r->ledger[i].account, "net.", 4) == 0 && strcmp(r->ledger[i].item, "tcp") == 0;
	for (size_t i = 0; i < r->n_processes && !known; i++)
		known = r->processes[i].totals.net_known;
	for (size_t i = 0; i < r->n_processes && known; i++)
		r->processes[i].totals.net_known = true;
}
