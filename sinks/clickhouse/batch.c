/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manages the slot of a batch: from submit() through encoding on a worker thread to the answer.
 */
#include "sinks/clickhouse/batch.h"

#include <ctype.h>
#include <errno.h>
#include <skep/sink/fields.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_percent(FILE *out, const char *s)
{
	for (; *s; s++) {
		if (isalnum((unsigned char)*s) || strchr("-._~", *s))
			fputc(*s, out);
		else
			fprintf(out, "%%%02X", (unsigned char)*s);
	}
}

static char *url_of(const struct clickhouse *c, const struct table *t)
{
	const char *url = c->http.url, *host = strstr(url, "://") + 3;
	char *target = table_target(t, c->database), *text = NULL;
	size_t n = 0;
	FILE *out = target ? open_memstream(&text, &n) : NULL;

	if (!out) {
		free(target);
		return NULL;
	}
	fprintf(out, "%s%s%squery=", url, host[strcspn(host, "/?")] == '/' ? "" : "/", strchr(url, '?') ? "&" : "?");
	put_percent(out, "INSERT INTO ");
	put_percent(out, target);
	put_percent(out, " FORMAT RowBinary");
	if (c->async_insert)
		fputs("&async_insert=1", out);
	free(target);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

int batch_urls(struct clickhouse *c)
{
	char *url[TABLES] = { NULL };

	for (unsigned t = 0; t < TABLES; t++) {
		url[t] = url_of(c, &tables[t]);
		if (!url[t]) {
			while (t--)
				free(url[t]);
			return -ENOMEM;
		}
	}
	for (unsigned t = 0; t < TABLES; t++) {
		free(c->url[t]);
		c->url[t] = url[t];
	}
	return 0;
}

void batch_slots_free(struct clickhouse *c)
{
	for (unsigned k = 0; k < IN_FLIGHT; k++)
		rows_free(&c->slots[k].rows);
	for (unsigned k = 0; k < LOADS; k++) {
		for (unsigned t = 0; t < TABLES; t++) {
			skep_jsonw_free(&c->loads[k].part[t].joined);
			skep_http_body_free(&c->loads[k].part[t].body);
		}
	}
	for (unsigned t = 0; t < TABLES; t++)
		free(c->url[t]);
	inserted_forget(&c->inserted);
}

void batch_end(struct slot *slot, const struct skep_batch_answer *answer)
{
	struct clickhouse *c = slot->sink;
	const struct skep_batch *b = slot->batch;

	if (answer->result == SKEP_BATCH_ACK && c->rows)
		for (unsigned t = 0; t < TABLES; t++)
			c->host->counter_add(c->rows, slot->rows.table[t].n);
	slot->state = SLOT_FREE; /* before the answer: the plugin host may submit the next batch inside */
	slot->batch = NULL;
	if (slot >= c->slots + KEPT)
		rows_free(&slot->rows);
	c->host->batch_answer(c->inst, b, answer);
}

static void encode(void *arg)
{
	struct slot *slot = arg;
	struct clickhouse *c = slot->sink;

	slot->err = 0;
	rows_begin(&slot->rows);
	for (uint32_t i = 0; !slot->err && i < slot->batch->n; i++)
		if (skep_fields_wanted(c->streams, slot->batch->records[i]))
			slot->err = rows_add(&slot->rows, slot->batch->records[i],
					     skep_record_realtime_offset(slot->batch, slot->batch->records[i]));
	for (unsigned t = 0; !slot->err && t < TABLES; t++)
		if (!(slot->inserted & 1u << t) && slot->rows.table[t].bytes.len > c->http.max_request)
			slot->err = -E2BIG;
}

static void encoded(struct skep_instance *inst, void *arg)
{
	struct slot *slot = arg;
	struct skep_batch_answer a = { .size = sizeof(a), .result = SKEP_BATCH_ACK };
	bool empty = true;

	(void)inst;
	for (unsigned t = 0; t < TABLES; t++)
		empty = empty && (!slot->rows.table[t].n || slot->inserted & 1u << t);
	if (slot->err == -E2BIG) {
		a.result = SKEP_BATCH_SPLIT;
		a.why = "its rows for one table are larger than max_request";
	} else if (slot->err) {
		a.result = SKEP_BATCH_RETRY;
		a.why = strerror(-slot->err);
	}
	if (slot->err || empty) {
		batch_end(slot, &a);
		return;
	}
	slot->state = SLOT_READY;
	load_next(slot->sink);
}

int batch_begin(struct slot *slot, const struct skep_batch *b)
{
	struct clickhouse *c = slot->sink;
	int err;

	slot->batch = b;
	slot->state = SLOT_ENCODING;
	slot->alone = false;
	/*
	 * Ignores the note for this very batch when the sink sends it alone: the batch repeats its token, so the server
	 * skips rows that it has.  An operator may also have recreated the tables since.
	 */
	slot->inserted = inserted_find(&c->inserted, b->key, !c->unknown[SETTING_TOKEN] && load_gathers(c));
	slot->rows.host = b->host_name;
	slot->rows.boot_id = b->boot_id;
	slot->turn = c->turns++;
	err = c->host->work(c->inst, encode, encoded, slot);
	if (err) {
		slot->batch = NULL;
		slot->state = SLOT_FREE;
	}
	return err;
}
