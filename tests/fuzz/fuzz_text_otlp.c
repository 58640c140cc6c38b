/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_text_otlp.c - any bytes as requests of OTLP, read again by the protocol's tables: each string is
 * UTF-8, and of one metric no two points have the same attributes (a receiver would take the second for a correction of
 * the first).
 */
#include <stdbool.h>
#include <stdint.h>

#include "sinks/otlp/request.h"
#include "tests/fuzz/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Messages of opentelemetry-proto 1.3, by the fields that are strings or messages. */
enum message {
	STRING,
	REQUEST,
	RESOURCE_X,
	RESOURCE,
	SCOPE_X,
	SCOPE,
	KEY_VALUE,
	ANY_VALUE,
	ARRAY,
	SPAN,
	EVENT,
	LINK,
	STATUS,
	LOG,
	METRIC,
	DATA,
	POINT,
	MESSAGES
};
enum signal_bit {
	TRACES = 1 << SIGNAL_TRACES,
	METRICS = 1 << SIGNAL_METRICS,
	LOGS = 1 << SIGNAL_LOGS,
	EACH = TRACES | METRICS | LOGS
};
static const struct {
	enum message in;
	unsigned signals, field;
	enum message is;
} table[] = {
	{ REQUEST, EACH, 1, RESOURCE_X }, { RESOURCE_X, EACH, 1, RESOURCE }, { RESOURCE_X, EACH, 2, SCOPE_X },
	{ RESOURCE_X, EACH, 3, STRING },  { RESOURCE, EACH, 1, KEY_VALUE },  { SCOPE_X, EACH, 1, SCOPE },
	{ SCOPE_X, EACH, 3, STRING },     { SCOPE, EACH, 1, STRING },        { SCOPE, EACH, 2, STRING },
	{ SCOPE_X, TRACES, 2, SPAN },     { SCOPE_X, METRICS, 2, METRIC },   { SCOPE_X, LOGS, 2, LOG },
	{ KEY_VALUE, EACH, 1, STRING },   { KEY_VALUE, EACH, 2, ANY_VALUE }, { ANY_VALUE, EACH, 1, STRING },
	{ ANY_VALUE, EACH, 5, ARRAY },    { ANY_VALUE, EACH, 6, ARRAY },     { ARRAY, EACH, 1, ANY_VALUE },
	{ SPAN, EACH, 3, STRING },        { SPAN, EACH, 5, STRING },         { SPAN, EACH, 9, KEY_VALUE },
	{ SPAN, EACH, 11, EVENT },        { SPAN, EACH, 13, LINK },          { SPAN, EACH, 15, STATUS },
	{ EVENT, EACH, 2, STRING },       { EVENT, EACH, 3, KEY_VALUE },     { LINK, EACH, 3, STRING },
	{ LINK, EACH, 4, KEY_VALUE },     { STATUS, EACH, 2, STRING },       { LOG, EACH, 3, STRING },
	{ LOG, EACH, 5, ANY_VALUE },      { LOG, EACH, 6, KEY_VALUE },       { LOG, EACH, 12, STRING },
	{ METRIC, EACH, 1, STRING },      { METRIC, EACH, 2, STRING },       { METRIC, EACH, 3, STRING },
	{ METRIC, EACH, 5, DATA },        { METRIC, EACH, 7, DATA },         { METRIC, EACH, 10, DATA },
	{ DATA, EACH, 1, POINT },         { POINT, EACH, 7, KEY_VALUE },     { POINT, EACH, 1, KEY_VALUE },
};

static uint64_t varint(const uint8_t **at, const uint8_t *end)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		must(*at < end && shift < 64, "a message ends within a number");
		v |= (uint64_t)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			return v;
	}
}

/* The attributes of a metric's points, one after the other. */
struct seen {
	const uint8_t *at[512];
	size_t n[512], used;
};

static void read_message(enum message in, unsigned signal, const uint8_t *at, const uint8_t *end, struct seen *seen)
{
	const uint8_t *attrs = NULL, *attrs_end = NULL;
	struct seen own = { .used = 0 };

	while (at < end) {
		const uint8_t *begin = at;
		uint64_t tag = varint(&at, end), n = (tag & 7) == 0   ? (varint(&at, end), 0)
						     : (tag & 7) == 1 ? 8
						     : (tag & 7) == 5 ? 4
								      : varint(&at, end);

		must((tag & 7) <= 2 || (tag & 7) == 5, "a wire type that there is not");
		must(n <= (uint64_t)(end - at), "a message ends within a field");
		for (size_t i = 0; (tag & 7) == 2 && i < sizeof(table) / sizeof(table[0]); i++) {
			if (table[i].in != in || table[i].field != tag >> 3 || !(table[i].signals & signal))
				continue;
			if (table[i].is == STRING)
				must_be_utf8(at, n, "a string is not UTF-8");
			else
				read_message(table[i].is, signal, at, at + n, in == METRIC ? &own : seen);
			if (in == POINT && table[i].is == KEY_VALUE) {
				attrs = attrs ? attrs : begin;
				attrs_end = at + n;
			}
		}
		at += n;
	}
	if (in != POINT || !seen)
		return;
	for (size_t i = 0; i < seen->used; i++)
		must(seen->n[i] != (size_t)(attrs_end - attrs) || memcmp(seen->at[i], attrs, seen->n[i]) != 0,
		     "two points with the same attributes");
	if (seen->used < 512 && attrs) {
		seen->at[seen->used] = attrs;
		seen->n[seen->used++] = (size_t)(attrs_end - attrs);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct skep_record records[4 * N_STREAMS];
	struct skep_context contexts[4 * N_STREAMS];
	struct any_record any[4 * N_STREAMS];
	const struct skep_record *list[4 * N_STREAMS];
	const struct skep_batch batch = {
		.size = sizeof(batch), .id = 1, .n = 4 * N_STREAMS, .key = BOOT ":1:1", .boot_id = BOOT, .records = list
	};
	struct encoder e = { 0 };
	struct texts t;

	texts_read(&t, data, size);
	must(encoder_init(&e, 1000, true, 1000000000) == 0, "no memory");
	memset(e.wanted, 1, sizeof(e.wanted));
	e.spans_most = 1000;
	e.service = "skep";
	for (size_t i = 0; i < 4 * N_STREAMS; i++) {
		any_fill(&any[i], &contexts[i], &t);
		records[i] = (struct skep_record) { .size = sizeof(records[i]),
						    .stream = &any_streams[i % N_STREAMS],
						    .upid = { .pid = 5, .start_ns = 6 },
						    .time_ns = UINT64_C(2000000000) + i,
						    .data = &any[i],
						    .context = &contexts[i] };
		list[i] = &records[i];
	}
	must(encoder_batch(&e, &batch, true) == 0, "a batch is refused");
	for (unsigned s = 0; s < SIGNALS; s++)
		if (pb_len(&e.out[s]) > 0)
			read_message(REQUEST, 1u << s, pb_data(&e.out[s]), pb_data(&e.out[s]) + pb_len(&e.out[s]),
				     NULL);
	encoder_free(&e);
	return 0;
}
