/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote_write - the sink that sends running sums and levels by Prometheus' remote-write protocol, version 0.1.0.
 * This file holds the plugin's descriptor and takes a batch from submit() to its answer.
 *
 * Only one batch is in flight, so that the samples of a series stay in order.  The sink keeps a request until the
 * receiver has answered, and repeats the same bytes in a retry: a receiver that has these samples changes nothing.
 */
#include <skep/plugin.h>
#include <skep/sink/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sinks/prometheus/bisect.h"
#include "sinks/prometheus/settings.h"
#include "sinks/prometheus/writer.h"

struct remote_write {
	struct http_options http;
	struct settings settings;
	bool out_of_order;
	uint64_t max_age_ns, step_ns;

	const struct skep_host *host;
	struct skep_instance *inst;
	struct http *layer;
	struct writer writer; /* the worker owns it while it runs */
	bool writer_made;
	const struct skep_batch *batch;
	char *sent_key;       /* key of the batch that the writer holds points of; NULL: none */
	struct bisect bisect; /* the part of these points that is in flight */
	uint64_t taken;       /* samples that the receiver accepted */
	uint64_t sent_bytes;  /* of this batch, over all its requests */
	uint32_t refused;     /* records whose samples the receiver refuses for good */
	char refusal[128];    /* text of the refusal */
	bool doubt;           /* an answer was lost: samples now refused as out of order may have been accepted */
	int err;
	struct skep_counter *samples, *old, *refusals, *series, *overflow;
};

static const struct skep_option options[] = {
	HTTP_OPTION_URL(struct remote_write, http, "url",
			"URL to write to, for example \"http://prometheus:9090/api/v1/write\""),
	SETTINGS_OPTIONS(struct remote_write, settings, "are forgotten, and begin anew"),
	{
		.name = "max_age",
		.type = SKEP_O_TIME,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct remote_write, max_age_ns),
		.default_value = "55m",
		.min = 1000000000,
		.max = INT64_MAX,
		.help = "the sink leaves out older records and counts them as lost: a receiver without out-of-order "
			"samples refuses samples older than an hour",
	},
	{
		.name = "out_of_order",
		.type = SKEP_O_BOOL,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct remote_write, out_of_order),
		.default_value = "false",
		.help = "the receiver accepts samples of any age (out_of_order_time_window, VictoriaMetrics): max_age "
			"has no effect",
	},
	{
		.name = "step",
		.type = SKEP_O_TIME,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct remote_write, step_ns),
		.default_value = "500ms",
		.min = 1000000,
		.max = 3600000000000,
		.help = "shortest time between samples of a series, less than the interval; records in between go into "
			"the same sample",
	},
	HTTP_OPTIONS(struct remote_write, http, "none"),
	{ 0 },
};

static int remote_write_open(struct skep_instance *i, void *state, const struct skep_host *host)
{
	struct remote_write *r = state;
	int err;

	r->host = host;
	r->inst = i;
	if (strcmp(r->http.compression, "none") != 0)
		return host->fail(i, -EINVAL,
				  "compression \"%s\": remote write is always compressed, by snappy; leave it out",
				  r->http.compression);
	err = writer_init(&r->writer, (uint64_t)r->settings.max_series);
	if (err)
		return host->fail(i, err, "out of memory");
	r->writer_made = true;
	r->writer.ingest.boot_id = host->boot_id;
	r->writer.ingest.with_run = r->settings.with_run;
	return skep_http_new(i, host, &r->http, "url", &r->layer);
}

static int remote_write_start(struct skep_instance *i, void *state)
{
	struct remote_write *r = state;

	r->samples = r->host->counter(i, "samples", "samples that the receiver has acknowledged");
	r->old = r->host->counter(i, "old", "records that were left out because they are older than max_age");
	r->refusals = r->host->counter(
		i, "refused",
		"records whose samples the receiver takes never: out of order, too old, of a time that it has");
	r->series = r->host->counter(i, "series", "time series that it keeps");
	r->overflow = r->host->counter(i, "overflow", "records whose series found no room (max_series)");
	return skep_http_start(r->layer);
}

static int remote_write_reload(struct skep_instance *i, void *state, const void *next)
{
	const struct remote_write *wanted = next;
	struct remote_write *r = state;

	if (strcmp(wanted->http.compression, "none") != 0)
		return r->host->fail(i, -EINVAL,
				     "compression \"%s\": remote write is always compressed, by snappy; leave it out",
				     wanted->http.compression);
	r->writer.store.max_series = (uint64_t)wanted->settings.max_series;
	return skep_http_reload(r->layer, &wanted->http);
}

/* ---- a batch ----------------------------------------------------------------------- */

static void encode(void *arg)
{
	struct remote_write *r = arg;
	struct writer *w = &r->writer;

	if (r->sent_key && strcmp(r->sent_key, r->batch->key) == 0) { /* a retry repeats the same bytes */
		r->err = writer_part(w, 0, w->n_points);
		return;
	}
	free(r->sent_key);
	r->sent_key = NULL;
	r->doubt = false;
	w->ingest.streams = (const char *const *)r->settings.streams;
	w->max_age_ns = r->out_of_order ? 0 : r->max_age_ns;
	w->step_ns = r->step_ns;
	r->err = writer_encode(w, r->batch, clock_ns(CLOCK_MONOTONIC), (int64_t)clock_ns(CLOCK_REALTIME),
			       r->settings.expire_ns);
	if (r->err)
		return;
	r->sent_key = strdup(r->batch->key); /* when strdup() fails, a retry uses other times, which does no harm */
	if (r->series)
		r->host->counter_set(r->series, w->store.n_series);
	if (r->overflow)
		r->host->counter_set(r->overflow, w->store.refused);
}

static void encode_part(void *arg)
{
	struct remote_write *r = arg;

	r->err = writer_part(&r->writer, r->bisect.from, r->bisect.to);
}

static void give_answer(struct remote_write *r, struct skep_batch_answer *a)
{
	const struct skep_batch *b = r->batch;

	r->batch = NULL; /* before the answer: the plugin host may submit the next batch inside */
	r->host->batch_answer(r->inst, b, a);
}

/* Acknowledges the batch: the receiver has all samples that it accepts. */
static void acknowledge(struct remote_write *r, uint32_t status)
{
	struct skep_batch_answer a = {
		.size = sizeof(a), .result = SKEP_BATCH_ACK, .status = status, .sent_bytes = r->sent_bytes
	};
	char why[224];

	if (r->samples)
		r->host->counter_add(r->samples, r->taken);
	if (r->old && r->writer.old)
		r->host->counter_add(r->old, r->writer.old);
	if (r->refusals && r->refused)
		r->host->counter_add(r->refusals, r->refused);
	a.rejected = r->writer.old + r->refused;
	if (r->refused)
		snprintf(why, sizeof(why), "samples of %u records are refused: %s", r->refused, r->refusal);
	else
		snprintf(why, sizeof(why), "%u records are older than max_age", r->writer.old);
	a.why = a.rejected ? why : NULL;
	free(r->sent_key);
	r->sent_key = NULL;
	give_answer(r, &a);
}

static void encoded(struct skep_instance *i, void *arg);

static void replied(void *arg, struct http_reply *reply)
{
	struct remote_write *r = arg;

	r->sent_bytes += reply->answer.sent_bytes;
	if (bisect_applies(reply->answer.status, reply->body)) {
		bool halved = bisect_split(&r->bisect);

		if (!halved && !r->doubt) {
			r->refused += writer_part_records(&r->writer, r->bisect.from, r->bisect.to);
			snprintf(r->refusal, sizeof(r->refusal), "%.*s", (int)strcspn(reply->body, "\r\n"),
				 reply->body);
		}
	} else if (reply->answer.result == SKEP_BATCH_ACK) {
		r->taken += r->writer.samples;
	} else {
		r->doubt = r->doubt || (reply->answer.result == SKEP_BATCH_RETRY && !reply->answer.status);
		reply->answer.sent_bytes = r->sent_bytes;
		give_answer(r, &reply->answer);
		return;
	}
	if (!bisect_next(&r->bisect)) {
		acknowledge(r, reply->answer.status);
	} else if (r->host->work(r->inst, encode_part, encoded, r) != 0) {
		give_answer(r, &(struct skep_batch_answer){
				       .size = sizeof(struct skep_batch_answer),
				       .result = SKEP_BATCH_RETRY,
				       .why = "cannot start a worker thread",
			       });
	}
}

static void encoded(struct skep_instance *i, void *arg)
{
	static const char *const headers[] = {
		"Content-Encoding: snappy",
		"X-Prometheus-Remote-Write-Version: 0.1.0",
		NULL,
	};
	struct remote_write *r = arg;
	struct skep_batch_answer a = { .size = sizeof(a), .result = SKEP_BATCH_RETRY };
	char why[160];

	(void)i;
	if (!r->bisect.requests)
		bisect_begin(&r->bisect, r->writer.n_points);
	if (r->err) {
		a.why = "out of memory";
	} else if (!r->writer.len) {
		if (!bisect_next(&r->bisect)) {
			acknowledge(r, 0);
			return;
		}
		if (r->host->work(r->inst, encode_part, encoded, r) == 0)
			return; /* the part had no samples to send, because all its values have always been 0 */
		a.why = "cannot start a worker thread";
	} else if (r->writer.len > r->http.max_request) {
		a.result = SKEP_BATCH_SPLIT;
		snprintf(why, sizeof(why), "a request of %zu bytes is larger than max_request", r->writer.len);
		a.why = why;
	} else {
		if (skep_http_send(r->layer, &(struct http_request) {
						     .content_type = "application/x-protobuf",
						     .headers = headers,
						     .body = r->writer.body,
						     .len = r->writer.len,
						     .done = replied,
						     .arg = r,
					     }) == 0)
			return;
		a.why = "the request could not be begun";
	}
	give_answer(r, &a);
}

static int remote_write_submit(struct skep_instance *i, void *state, const struct skep_batch *batch)
{
	struct remote_write *r = state;
	int err;

	if (r->batch)
		return r->host->fail(i, -EAGAIN, "a batch is in flight already");
	r->batch = batch;
	r->writer.host = settings_host(&r->settings, batch->host_name);
	r->err = 0;
	r->taken = r->refused = 0;
	r->sent_bytes = 0;
	r->bisect.requests = 0;
	err = r->host->work(i, encode, encoded, r);
	if (err) {
		r->batch = NULL;
		return r->host->fail(i, err, "cannot start a worker thread");
	}
	return 0;
}

static void remote_write_stop(struct skep_instance *i, void *state)
{
	struct remote_write *r = state;

	(void)i;
	skep_http_stop(r->layer);
	r->batch = NULL;
}

static void remote_write_close(struct skep_instance *i, void *state)
{
	struct remote_write *r = state;

	(void)i;
	r->layer = skep_http_free(r->layer);
	if (r->writer_made)
		writer_free(&r->writer);
	free(r->sent_key);
}

static const struct skep_sink_ops sink_ops = {
	.size = sizeof(struct skep_sink_ops),
	.max_in_flight = 1, /* the samples of a series must arrive in order */
	.submit = remote_write_submit,
};

static const struct skep_plugin remote_write_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_SINK,
	.name = "remote_write",
	.version = "1.0",
	.summary = "writes running sums and levels of the records to Prometheus and its like",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(struct skep_option),
	.state_size = sizeof(struct remote_write),
	.open = remote_write_open,
	.start = remote_write_start,
	.reload = remote_write_reload,
	.stop = remote_write_stop,
	.close = remote_write_close,
	.sink = &sink_ops,
};

SKEP_PLUGIN(remote_write_plugin, SKEP_KIND_SINK, "remote_write", "1.0")
