/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http - the sink that sends batches of records as JSON to any URL, for a backend of the site's own.
 */
#include <skep/plugin.h>
#include <skep/sink/fields.h>
#include <skep/sink/http.h>
#include <skep/sink/http_body.h>
#include <skep/sink/record_json.h>
#include <stdio.h>
#include <string.h>

#define IN_FLIGHT 4

struct http_sink;

/* A batch in flight: a worker encodes it, then the loop sends it. */
struct slot {
	struct http_sink *sink;
	const struct skep_batch *batch; /* NULL: free */
	struct jsonw json;
	struct http_body body;
	const void *data;
	size_t len;
	uint32_t records;
	int err;
};

struct http_sink {
	struct http_options http;
	const char *method;
	const char *format;
	const char **streams;

	const struct skep_host *host;
	struct skep_instance *inst;
	struct http *layer;
	struct skep_counter *lines;
	struct slot slots[IN_FLIGHT];
};

static const struct skep_option options[] = {
	HTTP_OPTION_URL(
		struct http_sink, http, "url",
		"URL to send to; the sink replaces {host.name}, {boot_id}, {batch.key} and {batch.id}, in headers as "
		"well"),
	{
		.name = "method",
		.type = SKEP_O_STR,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct http_sink, method),
		.default_value = "POST",
		.help = "POST, PUT or PATCH",
	},
	{
		.name = "format",
		.type = SKEP_O_STR,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct http_sink, format),
		.default_value = "ndjson",
		.help = "ndjson: a line for each record; json: one array",
	},
	{
		.name = "streams",
		.type = SKEP_O_STRV,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct http_sink, streams),
		.help = "names of the streams to send, for example [\"process.exit\", \"run\"]; not set: all",
	},
	HTTP_OPTIONS(struct http_sink, http, "gzip"),
	{ 0 },
};

static int check(const struct http_sink *s, char *why, size_t room)
{
	int err = s->http.url ? skep_http_template_check(s->http.url, "url", false, why, room) : 0;

	for (size_t i = 0; !err && s->http.headers && s->http.headers[i]; i++)
		err = skep_http_template_check(s->http.headers[i], "headers", true, why, room);
	if (err)
		return err;
	if (strcmp(s->format, "ndjson") != 0 && strcmp(s->format, "json") != 0) {
		snprintf(why, room, "format \"%s\": expected ndjson or json", s->format);
		return -EINVAL;
	}
	if (strcmp(s->method, "POST") != 0 && strcmp(s->method, "PUT") != 0 && strcmp(s->method, "PATCH") != 0) {
		snprintf(why, room, "method \"%s\": expected POST, PUT or PATCH", s->method);
		return -EINVAL;
	}
	return 0;
}

static int http_sink_open(struct skep_instance *i, void *state, const struct skep_host *host)
{
	struct http_sink *s = state;
	char why[512];
	int err;

	s->host = host;
	s->inst = i;
	for (size_t k = 0; k < IN_FLIGHT; k++)
		s->slots[k].sink = s;
	err = check(s, why, sizeof(why));
	if (err)
		return host->fail(i, err, "%s", why);
	return skep_http_new(i, host, &s->http, "url", &s->layer);
}

static int http_sink_start(struct skep_instance *i, void *state)
{
	struct http_sink *s = state;

	s->lines = s->host->counter(i, "records", "records that the receiver has acknowledged");
	return skep_http_start(s->layer);
}

static int http_sink_reload(struct skep_instance *i, void *state, const void *next)
{
	const struct http_sink *wanted = next;
	struct http_sink *s = state;
	char why[512];
	int err = check(wanted, why, sizeof(why));

	return err ? s->host->fail(i, err, "%s", why) : skep_http_reload(s->layer, &wanted->http);
}

/* ---- a batch ----------------------------------------------------------------------- */

static bool is_array(const struct http_sink *s)
{
	return strcmp(s->format, "json") == 0;
}

static void encode(void *arg)
{
	struct slot *slot = arg;
	struct http_sink *s = slot->sink;
	const struct skep_batch *b = slot->batch;
	bool array = is_array(s);

	skep_jsonw_reset(&slot->json);
	slot->records = 0;
	for (uint32_t i = 0; i < b->n; i++) {
		if (!skep_fields_wanted(s->streams, b->records[i]))
			continue;
		if (array)
			skep_jsonw_raw(&slot->json, slot->records ? ",\n" : "[", slot->records ? 2 : 1);
		skep_record_json(&slot->json, b->records[i], b->boot_id,
				 skep_record_realtime_offset(b, b->records[i]), RECORD_JSON_ENVELOPE);
		if (!array)
			jsonw_lit(&slot->json, "\n");
		slot->records++;
	}
	if (array)
		jsonw_lit(&slot->json, "]\n");
	slot->err = slot->json.err;
	if (slot->err || !slot->records || slot->json.len > s->http.max_request)
		return;
	slot->err = skep_http_body_encode(&slot->body, skep_http_encoding_of(s->http.compression), slot->json.buf,
					  slot->json.len, &slot->data, &slot->len);
}

static void give_answer(struct slot *slot, const struct skep_batch_answer *answer)
{
	struct http_sink *s = slot->sink;
	const struct skep_batch *b = slot->batch;

	slot->batch = NULL; /* before the answer: the plugin host may submit the next batch inside batch_answer() */
	if (answer->result == SKEP_BATCH_ACK && s->lines)
		s->host->counter_add(s->lines, slot->records);
	s->host->batch_answer(s->inst, b, answer);
}

static void replied(void *arg, struct http_reply *reply)
{
	give_answer(arg, &reply->answer);
}

static void encoded(struct skep_instance *i, void *arg)
{
	struct slot *slot = arg;
	struct http_sink *s = slot->sink;
	const struct skep_batch *b = slot->batch;
	struct skep_batch_answer a = { .size = sizeof(a), .result = SKEP_BATCH_RETRY };
	struct http_values values = {
		.host_name = b->host_name,
		.boot_id = b->boot_id,
		.batch_key = b->key,
		.batch_id = b->id,
	};
	char key[128], why[128];
	const char *headers[2] = { key, NULL };

	(void)i;
	if (slot->err) {
		a.why = slot->err == -ENOMEM ? "out of memory" : "compression failed";
	} else if (!slot->records) {
		a.result = SKEP_BATCH_ACK;
	} else if (slot->json.len > s->http.max_request) {
		a.result = SKEP_BATCH_SPLIT;
		snprintf(why, sizeof(why), "a body of %zu bytes is larger than max_request", slot->json.len);
		a.why = why;
	} else {
		snprintf(key, sizeof(key), "Idempotency-Key: %s", b->key);
		if (skep_http_send(s->layer,
				   &(struct http_request) {
					   .method = s->method,
					   .content_type = is_array(s) ? "application/json" : "application/x-ndjson",
					   .encoding = skep_http_encoding_of(s->http.compression),
					   .headers = headers,
					   .values = &values,
					   .body = slot->data,
					   .len = slot->len,
					   .done = replied,
					   .arg = slot,
				   }) == 0)
			return;
		a.why = "the request could not be begun";
	}
	give_answer(slot, &a);
}

static int http_sink_submit(struct skep_instance *i, void *state, const struct skep_batch *batch)
{
	struct http_sink *s = state;
	struct slot *slot = s->slots;
	int err;

	while (slot < s->slots + IN_FLIGHT && slot->batch)
		slot++;
	if (slot == s->slots + IN_FLIGHT)
		return s->host->fail(i, -EAGAIN, "%d batches are in flight already", IN_FLIGHT);
	slot->batch = batch;
	err = s->host->work(i, encode, encoded, slot);
	if (err) {
		slot->batch = NULL;
		return s->host->fail(i, err, "cannot start a worker thread");
	}
	return 0;
}

static void http_sink_stop(struct skep_instance *i, void *state)
{
	struct http_sink *s = state;

	(void)i;
	skep_http_stop(s->layer);
	for (size_t k = 0; k < IN_FLIGHT; k++)
		s->slots[k].batch = NULL;
}

static void http_sink_close(struct skep_instance *i, void *state)
{
	struct http_sink *s = state;

	(void)i;
	s->layer = skep_http_free(s->layer);
	for (size_t k = 0; k < IN_FLIGHT; k++) {
		skep_jsonw_free(&s->slots[k].json);
		skep_http_body_free(&s->slots[k].body);
	}
}

static const struct skep_sink_ops sink_ops = {
	.size = sizeof(struct skep_sink_ops),
	.max_in_flight = IN_FLIGHT,
	.submit = http_sink_submit,
	.flags = SKEP_SINK_ANY_ORDER,
};

static const struct skep_plugin http_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_SINK,
	.name = "http",
	.version = "1.0",
	.summary = "sends records as JSON to any URL, for a backend of one's own",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(struct skep_option),
	.state_size = sizeof(struct http_sink),
	.open = http_sink_open,
	.start = http_sink_start,
	.reload = http_sink_reload,
	.stop = http_sink_stop,
	.close = http_sink_close,
	.sink = &sink_ops,
};

SKEP_PLUGIN(http_plugin, SKEP_KIND_SINK, "http", "1.0")
