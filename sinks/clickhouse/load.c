/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends a load: the rows of one or more batches, as an INSERT for each table, with one answer for all.
 *
 * The settings of each request:
 *   insert_deduplication_token     names batches and table: the server skips rows that it has (22.2)
 *   deduplicate_blocks_in_dependent_materialized_views  skips the rows in a site's materialised views too, when
 *                                  the first attempt ended between table and views
 *   wait_for_async_insert          the server answers when the rows are in the table; a user's profile may have
 *                                  async_insert and not this
 *   async_insert_deduplicate       makes the token count for async_insert, too
 *
 * A batch that the sink sends alone has its key as token, the same after a crash of skepd.  Chance decides which
 * batches a load gathers, and decides anew after a crash.  So where the server knows tokens, a load gathers batches
 * only when the option gather says so.
 */
#include "sinks/clickhouse/batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sinks/clickhouse/answer.h"
#include "sinks/clickhouse/rowbinary.h"

/* ---- answers --------------------------------------------------------------------------- */

/* True when a load of several batches failed and one batch may be at fault: the sink then sends each batch alone. */
static bool is_anybodys(const struct load *l)
{
	return l->n > 1 && l->answer.result != SKEP_BATCH_ACK && l->answer.result != SKEP_BATCH_RETRY &&
	       l->answer.result != SKEP_BATCH_HOLD;
}

static void finish(struct load *l)
{
	struct clickhouse *c = l->sink;
	struct skep_batch_answer a = l->answer;
	struct slot *slots[IN_FLIGHT];
	unsigned n = l->n, taken = 0;
	bool again = is_anybodys(l);
	char why[sizeof(l->why)];

	memcpy(slots, l->slots, n * sizeof(slots[0]));
	memcpy(why, l->why, sizeof(why));
	a.why = a.result == SKEP_BATCH_ACK ? NULL : why;
	a.sent_bytes /= n;
	for (unsigned t = 0; n > KEPT && t < TABLES; t++) {
		skep_jsonw_free(&l->part[t].joined);
		skep_http_body_free(&l->part[t].body);
	}
	for (unsigned t = 0; t < TABLES; t++)
		taken |= (unsigned)l->part[t].taken << t;
	l->n = 0;
	for (unsigned i = 0; i < n; i++) {
		slots[i]->inserted |= taken;
		if (a.result != SKEP_BATCH_ACK)
			inserted_note(&c->inserted, slots[i]->batch->key, slots[i]->inserted);
		if (again) {
			slots[i]->alone = true;
			slots[i]->state = SLOT_READY;
		} else {
			batch_end(slots[i], &a);
		}
	}
	load_next(c);
}

static void fail(struct load *l, enum skep_batch_result result, uint32_t status, const char *why, const char *remedy)
{
	if (answer_worse(l->answer.result, result) == l->answer.result)
		return;
	l->answer.result = result;
	l->answer.status = status;
	snprintf(l->why, sizeof(l->why), "%s%s%s", why, remedy ? "; " : "", remedy ? remedy : "");
}

static void send_part(struct part *);

static void replied(void *arg, struct http_reply *reply)
{
	struct part *p = arg;
	struct load *l = p->load;
	struct clickhouse *c = l->sink;
	unsigned code = answer_code(reply->header, reply->body);
	enum setting unknown = code == ANSWER_UNKNOWN_SETTING ? answer_setting(reply->body) : SETTINGS;
	enum skep_batch_result result = SKEP_BATCH_ACK;
	const char *remedy = NULL;
	char why[800];
	bool lies;

	l->answer.sent_bytes += reply->answer.sent_bytes;
	if (unknown < SETTINGS && !p->without[unknown]) {
		/* an old server: only ReplacingMergeTree removes the repeated rows; it inserts nothing later */
		if (!c->unknown[unknown] && unknown != SETTING_WAIT)
			c->host->log(c->inst, SKEP_LOG_NOTICE,
				     "the server knows no %s: a batch that is sent twice is in the tables "
				     "twice until they merge; FINAL shows it once",
				     setting_names[unknown]);
		c->unknown[unknown] = true;
		send_part(p);
		return;
	}
	if (!answer_is_success(reply->answer.status, code, reply->body))
		result = answer_classify(reply->answer.result, code, &remedy);
	p->taken = result == SKEP_BATCH_ACK;
	if (code && reply->answer.status < 300)
		snprintf(why, sizeof(why), "%s, with the exception code %u", reply->said, code);
	else
		snprintf(why, sizeof(why), "%s", reply->said);
	/* the plugin host logs a RETRY only at the level info: a receiver that is away is no surprise, but this is */
	lies = reply->answer.status / 100 == 2 && (result == SKEP_BATCH_RETRY || result == SKEP_BATCH_SUSPECT);
	if (lies && !c->lied)
		c->host->log(c->inst, SKEP_LOG_WARNING, "%s: no success; skepd offers the batch again", why);
	c->lied = lies;
	fail(l, result, reply->answer.status, why, remedy);
	if (reply->answer.retry_after_ns > l->answer.retry_after_ns)
		l->answer.retry_after_ns = reply->answer.retry_after_ns;
	if (--l->pending == 0)
		finish(l);
}

/* ---- requests --------------------------------------------------------------------------- */

/* Builds the URL of a part's request. NULL: no memory. */
static char *url_of(const struct clickhouse *c, const struct load *l, unsigned t, const bool without[SETTINGS])
{
	const char *async = c->async_insert && !without[SETTING_ASYNC] ? "&async_insert_deduplicate=1" : "";
	const char *wait = without[SETTING_WAIT] ? "" : "&wait_for_async_insert=1";
	const char *views = without[SETTING_VIEWS] ? "" : "&deduplicate_blocks_in_dependent_materialized_views=1";
	char *url = NULL;
	int n;

	if (without[SETTING_TOKEN]) /* without a token the server recognises no repeated rows at all */
		n = asprintf(&url, "%s%s%s", c->url[t], wait, async);
	else
		n = asprintf(&url, "%s%s%s&insert_deduplication_token=%s:%s%s", c->url[t], wait, async, l->token,
			     tables[t].name, views);
	return n < 0 ? NULL : url;
}

/* Sends the request of a part. When that fails, notes the failure as the part's answer. */
static void send_part(struct part *p)
{
	struct load *l = p->load;
	struct clickhouse *c = l->sink;
	unsigned t = (unsigned)(p - l->part);
	char *url;

	memcpy(p->without, c->unknown, sizeof(p->without));
	url = url_of(c, l, t, p->without);
	if (url && skep_http_send(c->layer, &(struct http_request) {
						    .url = url,
						    .content_type = "application/octet-stream",
						    .encoding = skep_http_encoding_of(c->http.compression),
						    .answer_header = ANSWER_CODE_HEADER,
						    .body = p->data,
						    .len = p->len,
						    .done = replied,
						    .arg = p,
					    }) == 0) {
		free(url); /* libcurl has copied the URL */
		c->host->counter_add(c->inserts, 1);
		return;
	}
	free(url);
	fail(l, SKEP_BATCH_RETRY, 0, "the request could not be begun", NULL);
	if (--l->pending == 0)
		finish(l);
}

/* Runs on a worker: joins and compresses the rows of each table. */
static void build(void *arg)
{
	struct load *l = arg;
	enum http_encoding encoding = skep_http_encoding_of(l->sink->http.compression);

	l->err = 0;
	for (unsigned t = 0; !l->err && t < TABLES; t++) {
		struct part *p = &l->part[t];
		const struct jsonw *bytes = &l->slots[0]->rows.table[t].bytes;

		p->len = 0;
		p->taken = false;
		if (l->n == 1 && l->slots[0]->inserted & 1u << t)
			continue;
		if (l->n > 1) {
			skep_jsonw_reset(&p->joined);
			for (unsigned i = 0; i < l->n; i++)
				if (!(l->slots[i]->inserted & 1u << t))
					skep_jsonw_raw(&p->joined, l->slots[i]->rows.table[t].bytes.buf,
						       l->slots[i]->rows.table[t].bytes.len);
			l->err = p->joined.err;
			bytes = &p->joined;
		}
		if (!l->err && bytes->len)
			l->err = skep_http_body_encode(&p->body, encoding, bytes->buf, bytes->len, &p->data, &p->len);
	}
}

static void built(struct skep_instance *inst, void *arg)
{
	struct load *l = arg;

	(void)inst;
	l->answer = (struct skep_batch_answer){ .size = sizeof(l->answer), .result = SKEP_BATCH_ACK };
	l->pending = 1; /* one more than the requests, until all have begun */
	if (l->err)
		fail(l, SKEP_BATCH_RETRY, 0, strerror(-l->err), NULL);
	for (unsigned t = 0; !l->err && t < TABLES; t++) {
		if (!l->part[t].len)
			continue;
		l->pending++;
		send_part(&l->part[t]);
	}
	if (--l->pending == 0)
		finish(l);
}

/* ---- which batches ------------------------------------------------------------------------ */

bool load_gathers(const struct clickhouse *c)
{
	return strcmp(c->gather, "always") == 0 || (strcmp(c->gather, "auto") == 0 && c->unknown[SETTING_TOKEN]);
}

static struct slot *first_ready(struct clickhouse *c)
{
	struct slot *first = NULL;

	for (struct slot *s = c->slots; s < c->slots + IN_FLIGHT; s++)
		if (s->state == SLOT_READY && (!first || s->turn < first->turn))
			first = s;
	return first;
}

static bool fits(const struct load *l, const struct slot *s)
{
	for (unsigned t = 0; t < TABLES; t++) {
		size_t sum = s->rows.table[t].bytes.len;

		for (unsigned i = 0; i < l->n; i++)
			sum += l->slots[i]->rows.table[t].bytes.len;
		if (sum > GATHER_MAX)
			return false;
	}
	return true;
}

static void name(struct load *l)
{
	unsigned __int128 h = ROWBINARY_HASH_BEGIN;

	if (l->n == 1) {
		snprintf(l->token, sizeof(l->token), "%s", l->slots[0]->batch->key);
		return;
	}
	for (unsigned i = 0; i < l->n; i++)
		h = rowbinary_hash(h, l->slots[i]->batch->key, strlen(l->slots[i]->batch->key) + 1);
	snprintf(l->token, sizeof(l->token), "%016" PRIx64 "%016" PRIx64, (uint64_t)(h >> 64), (uint64_t)h);
}

static void take(struct load *l)
{
	struct clickhouse *c = l->sink;
	struct slot *s;

	while ((s = first_ready(c)) != NULL &&
	       (l->n == 0 || (load_gathers(c) && !s->alone && !l->slots[0]->alone && fits(l, s)))) {
		s->state = SLOT_LOADED;
		l->slots[l->n++] = s;
	}
}

/*
 * True when another load may start: at once when none is in flight. With gathering, a second load waits for half of
 * IN_FLIGHT batches.
 */
static bool is_worth_it(const struct clickhouse *c)
{
	unsigned ready = 0, under_way = 0;

	for (unsigned k = 0; k < IN_FLIGHT; k++)
		ready += c->slots[k].state == SLOT_READY;
	for (unsigned k = 0; k < LOADS; k++)
		under_way += c->loads[k].n > 0;
	return ready && (!under_way ||
			 (load_gathers(c) ? under_way < LOADS_GATHERING && ready >= IN_FLIGHT / 2 : under_way < LOADS));
}

void load_next(struct clickhouse *c)
{
	for (unsigned k = 0; k < LOADS && is_worth_it(c); k++) {
		struct load *l = &c->loads[k];

		if (l->n)
			continue;
		take(l);
		name(l);
		if (c->host->work(c->inst, build, built, l) != 0) {
			l->err = -EAGAIN;
			built(c->inst, l);
		}
	}
}
