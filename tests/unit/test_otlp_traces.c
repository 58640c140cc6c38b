/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp: the parents of a task's and a process's span, and that the same records give the same spans.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <skep/mock.h>
#include <skep/trace.h>

#include "core/process/records.h"
#include "sinks/otlp/request.h"
#include "tests/unit/carried.h"

#define S UINT64_C(1000000000)
#define BOOT "0f0e0d0c-0b0a-4908-8706-050403020100"
#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define ADOPTED "00-" TRACE "-b7ad6b7169203331-01"
#define INNER "00-" TRACE "-00f067aa0ba902b7-01"
#define OTHER "00-4bf92f3577b34da6a3ce929d0e0e4736-53995c3f42cd8ad8-00"

static struct encoder e;

static int set_up(void **state)
{
	(void)state;
	memset(&e, 0, sizeof(e));
	assert_int_equal(encoder_init(&e, 16, false, S), 0);
	e.wanted[SIGNAL_TRACES] = true;
	e.spans_most = 100;
	e.service = "skep";
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	encoder_free(&e);
	return 0;
}

/* Its span alone, as encoded bytes. */
static void encode(const struct skep_stream *stream, const struct skep_upid *upid, const void *data)
{
	const struct skep_record record = {
		.size = sizeof(record), .stream = stream, .upid = upid ? *upid : (struct skep_upid) { 0 }, .data = data
	};
	const struct skep_record *records[] = { &record };
	const struct skep_batch batch = { .size = sizeof(batch), .n = 1, .key = BOOT ":1:1", .records = records,
					   .boot_id = BOOT, .host_name = "node1", .kernel = "6.1.0" };

	assert_int_equal(encoder_batch(&e, &batch, true), 0);
	assert_int_equal(e.n_out[SIGNAL_TRACES], 1);
}

/* A field of 8 or 16 bytes as encoded: tag, length, bytes. */
static bool has(uint32_t field, const void *bytes, size_t n)
{
	uint8_t text[18] = { (uint8_t)(field << 3 | 2), (uint8_t)n };

	memcpy(text + 2, bytes, n);
	return memmem(pb_data(&e.out[SIGNAL_TRACES]), pb_len(&e.out[SIGNAL_TRACES]), text, n + 2) != NULL;
}

static bool has_hex(uint32_t field, const char *hex)
{
	uint8_t bytes[16];

	assert_int_equal(skep_trace_hex(hex, bytes, strlen(hex) / 2), 1);
	return has(field, bytes, strlen(hex) / 2);
}

static void run_is_adopted(void)
{
	struct record_run run = { .run = skep_mock_text("r1"),
				  .state = skep_mock_text("ended"),
				  .traceparent = skep_mock_text(ADOPTED),
				  .start_ns = S,
				  .end_ns = 2 * S };

	encode(&record_stream_run, NULL, &run);
	assert_true(has_hex(1, TRACE));
	assert_true(has_hex(4, "b7ad6b7169203331"));
}

static struct record_process process_of(const char *task_id, const char *traceparent)
{
	return (struct record_process) { .upid = { .pid = 7, .start_ns = 9 },
					 .run = skep_mock_text("r1"),
					 .task_id = skep_mock_text(task_id),
					 .exit_code = 1,
					 .execed = 1,
					 .start_ns = S,
					 .end_ns = 2 * S,
					 .traceparent = skep_mock_text(traceparent) };
}

static void hang_where_they_belong(void **state)
{
	struct record_task task = { .task = skep_mock_text("align"),
				    .task_id = skep_mock_text("7-9.1"),
				    .run = skep_mock_text("r1"),
				    .state = skep_mock_text("exited"),
				    .root_upid = { .pid = 7, .start_ns = 9 },
				    .start_ns = S,
				    .end_ns = 2 * S };
	uint8_t trace[SKEP_TRACE_ID], run_span[SKEP_SPAN_ID], task_span[SKEP_SPAN_ID], first[4096];
	struct record_process p;
	char own[SKEP_TRACEPARENT_SIZE];
	size_t n;

	(void)state;
	run_is_adopted();
	assert_int_equal(skep_trace_hex(TRACE, trace, SKEP_TRACE_ID), 1);
	skep_trace_run_span(trace, "r1", 2, run_span);
	skep_trace_task_span(trace, BOOT, "7-9.1", 5, task_span);

	encode(&record_stream_task, &task.root_upid, &task);
	assert_true(has(2, task_span, SKEP_SPAN_ID) && has(4, run_span, SKEP_SPAN_ID) && has_hex(1, TRACE));
	n = pb_len(&e.out[SIGNAL_TRACES]);
	assert_true(n < sizeof(first));
	memcpy(first, pb_data(&e.out[SIGNAL_TRACES]), n);
	encode(&record_stream_task, &task.root_upid, &task); /* the same record twice gives the same span */
	assert_int_equal(pb_len(&e.out[SIGNAL_TRACES]), n);
	assert_memory_equal(pb_data(&e.out[SIGNAL_TRACES]), first, n);
	task.task = skep_mock_text("a name that came later");
	encode(&record_stream_task, &task.root_upid, &task);
	assert_true(has(2, task_span, SKEP_SPAN_ID) && pb_len(&e.out[SIGNAL_TRACES]) > n);
	task.task = skep_mock_text("align");

	p = process_of("7-9.1", "");
	encode(&record_stream_process, &p.upid, &p);
	assert_true(has(4, task_span, SKEP_SPAN_ID));
	p = process_of("", "");
	encode(&record_stream_process, &p.upid, &p);
	assert_true(has(4, run_span, SKEP_SPAN_ID));
	p = process_of("7-9.1", INNER);
	encode(&record_stream_process, &p.upid, &p);
	assert_true(has_hex(4, "00f067aa0ba902b7") && !has(4, task_span, SKEP_SPAN_ID));
	/* the context that skep run passes on, and the one it got: the task's own context counts */
	skep_traceparent_write(trace, run_span, 1, own);
	p = process_of("7-9.1", own);
	encode(&record_stream_process, &p.upid, &p);
	assert_true(has(4, task_span, SKEP_SPAN_ID));
	p = process_of("7-9.1", ADOPTED);
	encode(&record_stream_process, &p.upid, &p);
	assert_true(has(4, task_span, SKEP_SPAN_ID));
	assert_false(has_hex(2, "53995c3f42cd8ad8"));
	/* another trace: a link, whose fields are its ids */
	p = process_of("7-9.1", OTHER);
	encode(&record_stream_process, &p.upid, &p);
	assert_true(has(4, task_span, SKEP_SPAN_ID) && has_hex(1, "4bf92f3577b34da6a3ce929d0e0e4736") &&
		    has_hex(2, "53995c3f42cd8ad8"));
}

/* A task that outlives its run, or whose root went on to another task, has no result. */
static void result_of_what_ended(void **state)
{
	struct record_task task = { .task = skep_mock_text("t"),
				    .task_id = skep_mock_text("7-9.1"),
				    .run = skep_mock_text("r1"),
				    .state = skep_mock_text("running"),
				    .root_upid = { .pid = 7, .start_ns = 9 },
				    .start_ns = S,
				    .end_ns = 2 * S,
				    .exit_code = -1 };

	(void)state;
	encode(&record_stream_task, &task.root_upid, &task);
	assert_null(memmem(pb_data(&e.out[SIGNAL_TRACES]), pb_len(&e.out[SIGNAL_TRACES]), "task.run.result", 15));
	task.state = skep_mock_text("exited");
	task.exit_code = 2;
	encode(&record_stream_task, &task.root_upid, &task);
	assert_non_null(memmem(pb_data(&e.out[SIGNAL_TRACES]), pb_len(&e.out[SIGNAL_TRACES]), "task.run.result", 15));
	assert_non_null(memmem(pb_data(&e.out[SIGNAL_TRACES]), pb_len(&e.out[SIGNAL_TRACES]), "failure", 7));
}

/* The number of spans of a process that ended at that time. */
static uint32_t spans_of(uint64_t time_ns, bool count)
{
	const struct record_process p = process_of("", "");
	const struct skep_record record = {
		.size = sizeof(record), .stream = &record_stream_process, .upid = p.upid, .time_ns = time_ns, .data = &p
	};
	const struct skep_record *records[] = { &record };
	const struct skep_batch batch = { .size = sizeof(batch), .n = 1, .key = BOOT ":1:1", .records = records,
					   .boot_id = BOOT, .host_name = "node1", .kernel = "6.1.0" };

	assert_int_equal(encoder_batch(&e, &batch, count), 0);
	return e.n_out[SIGNAL_TRACES];
}

/* A repeated batch uses nothing more of its run's share: it gives the same spans. */
static void spans_per_run(void **state)
{
	(void)state;
	e.spans_most = 2;
	assert_int_equal(spans_of(1 * S, true), 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(spans_of(1 * S, false), 1);
	assert_int_equal(spans_of(2 * S, true), 1);
	assert_int_equal(spans_of(2 * S, false), 1);
	assert_int_equal(spans_of(3 * S, true), 0);
	assert_int_equal(e.spans_left_out, 1);
	assert_int_equal(spans_of(3 * S, false), 0);
	assert_int_equal(e.spans_left_out, 0);
	assert_int_equal(spans_of(2 * S, false), 1);
}

static bool has_name(const char *pipeline, size_t length, size_t want)
{
	struct record_run run = { .run = skep_mock_text("r1"),
				  .state = skep_mock_text("ended"),
				  .pipeline = { pipeline, (uint32_t)length, (uint32_t)length },
				  .start_ns = S,
				  .end_ns = 2 * S };
	uint8_t text[300] = {
		5 << 3 | 2, (uint8_t)((want + 4) | 0x80), (uint8_t)((want + 4) >> 7), 'R', 'U', 'N', ' '
	};

	memcpy(text + 7, pipeline, want);
	encode(&record_stream_run, NULL, &run);
	return memmem(pb_data(&e.out[SIGNAL_TRACES]), pb_len(&e.out[SIGNAL_TRACES]), text, want + 7) != NULL;
}

/* A long name is cut, but not within a character. */
static void long_names(void **state)
{
	char name[600];

	(void)state;
	memset(name, 'a', sizeof(name));
	assert_true(has_name(name, 255, 255));
	assert_true(has_name(name, 256, 255));
	assert_true(has_name(name, 600, 255));
	memcpy(name + 253, "\342\202\254", 3); /* the euro */
	assert_true(has_name(name, 300, 253));
	assert_true(has_name(name, 256, 253));
}

/* Whether the request has it: KeyValue { key = 1, value = 2 }, AnyValue { string = 1, int = 3, double = 4 }. */
static bool has_attribute(enum signal signal, const struct carried *c)
{
	uint8_t want[256], *at = want;
	uint64_t number = (uint64_t)c->number;

	*at++ = 1 << 3 | 2;
	*at++ = (uint8_t)strlen(c->otlp);
	at = mempcpy(at, c->otlp, strlen(c->otlp));
	*at++ = 2 << 3 | 2;
	if (c->field->type == SKEP_T_STR) {
		*at++ = (uint8_t)(strlen(c->value) + 2);
		*at++ = 1 << 3 | 2;
		*at++ = (uint8_t)strlen(c->value);
		at = mempcpy(at, c->value, strlen(c->value));
	} else if (c->field->type == SKEP_T_F64) {
		*at++ = 9;
		*at++ = 4 << 3 | 1;
		at = mempcpy(at, &c->number, 8);
	} else {
		*at++ = 3;
		*at++ = 3 << 3;
		*at++ = (uint8_t)(number | 0x80);
		*at++ = (uint8_t)(number >> 7);
	}
	return memmem(pb_data(&e.out[signal]), pb_len(&e.out[signal]), want, (size_t)(at - want)) != NULL;
}

/* Spans, and the events of runs and processes, have each field under the name on the page. */
static void carry_what_the_page_lists(void **state)
{
	union carried_record records[3];
	struct skep_mock_batch *b = carried_batch(records);
	const struct carried *all;
	size_t n = carried_read(&all);

	(void)state;
	e.wanted[SIGNAL_LOGS] = true;
	b->batch.boot_id = BOOT;
	assert_int_equal(encoder_batch(&e, &b->batch, true), 0);
	assert_int_equal(e.n_out[SIGNAL_TRACES], 3);
	assert_int_equal(e.n_out[SIGNAL_LOGS], 2);
	for (size_t i = 0; i < n; i++) {
		if (!has_attribute(SIGNAL_TRACES, &all[i]))
			fail_msg("no span has %s with \"%s\"", all[i].otlp, all[i].value);
		if (all[i].stream != &record_stream_task && !has_attribute(SIGNAL_LOGS, &all[i]))
			fail_msg("no event has %s with \"%s\"", all[i].otlp, all[i].value);
	}
	skep_mock_batch_free(b);
}

static bool logged(const char *text)
{
	return memmem(pb_data(&e.out[SIGNAL_LOGS]), pb_len(&e.out[SIGNAL_LOGS]), text, strlen(text)) != NULL;
}

/* A finding is an event with a severity, in the trace of its run; no span, and no series. */
static void findings_are_events(void **state)
{
	struct record_finding f = { .id = skep_mock_text("0123456789abcdef"),
				    .kind = skep_mock_text("stall"),
				    .severity = skep_mock_text("warn"),
				    .state = skep_mock_text("open"),
				    .run = skep_mock_text("r1"),
				    .task = skep_mock_text("align"),
				    .upid = { .pid = 7, .start_ns = 9 },
				    .value = 700,
				    .unit = skep_mock_text("By"),
				    .evidence = skep_mock_text("it did nothing"),
				    .advice = skep_mock_text("look at it") };
	const char *const said[] = { "skep.finding", "skep.finding.kind", "skep.finding.id", "0123456789abcdef",
				     "stall: it did nothing", "WARN", "align", "look at it", "skep.finding.unit", "By",
				     "process.pid", "skep.finding.value" };
	struct skep_mock_batch *b = skep_mock_batch_new(1, 0);
	uint8_t trace[2 + SKEP_TRACE_ID] = { 9 << 3 | 2, SKEP_TRACE_ID };
	double value = 700;

	(void)state;
	e.wanted[SIGNAL_LOGS] = e.wanted[SIGNAL_METRICS] = true;
	b->batch.boot_id = BOOT;
	skep_mock_batch_add(b, &record_stream_finding, &f.upid, 5 * S, &f, NULL);
	assert_int_equal(encoder_batch(&e, &b->batch, true), 0);
	assert_int_equal(e.n_out[SIGNAL_LOGS], 1);
	assert_int_equal(e.n_out[SIGNAL_TRACES] + e.n_out[SIGNAL_METRICS], 0);
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
		if (!logged(said[i]))
			fail_msg("the event does not say %s", said[i]);
	assert_false(logged("skep.unit")); /* systemd's */
	assert_non_null(memmem(pb_data(&e.out[SIGNAL_LOGS]), pb_len(&e.out[SIGNAL_LOGS]), &value, sizeof(value)));
	assert_non_null(memmem(pb_data(&e.out[SIGNAL_LOGS]), pb_len(&e.out[SIGNAL_LOGS]), trace, 2));
	skep_mock_batch_free(b);

	b = skep_mock_batch_new(2, 0);
	b->batch.boot_id = BOOT;
	f.state = skep_mock_text("closed");
	skep_mock_batch_add(b, &record_stream_finding, &f.upid, 6 * S, &f, NULL);
	assert_int_equal(encoder_batch(&e, &b->batch, true), 0);
	assert_true(logged("INFO") && logged("stall is over"));
	skep_mock_batch_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(carry_what_the_page_lists, set_up, tear_down),
		cmocka_unit_test_setup_teardown(hang_where_they_belong, set_up, tear_down),
		cmocka_unit_test_setup_teardown(findings_are_events, set_up, tear_down),
		cmocka_unit_test_setup_teardown(result_of_what_ended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(spans_per_run, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_names, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
