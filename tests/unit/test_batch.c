/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_batch.c - a batch owns everything that it points to, within its limits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/delivery/batch.h"
#include "core/process/records.h"

static struct skep_str of(char *s, size_t len)
{
	return (struct skep_str){ s, (uint32_t)len, (uint32_t)len };
}

#define BOOT "01234567-89ab-cdef-0123-456789abcdef"
static const struct batch_origin origin = { BOOT, "node1", "6.1.0" };

static void deep_copies(void **state)
{
	struct batch *b = batch_new(&origin, 1000);
	struct skep_upid who = { .pid = 3, .start_ns = 4 };
	char text[] = "mapper", run[] = "r1";
	struct record_tool_sample rec = { .tool = of(text, 6), .run = { NULL, 9, 9 }, .cpu_ns = 77 };
	struct skep_context ctx = { .size = sizeof(ctx), .run = of(run, 2), .tool = of(text, 6) };
	const struct skep_record *r;
	const struct record_tool_sample *copy;

	(void)state;
	rec.tool.total = 50;
	assert_int_equal(batch_add(b, 1, &record_stream_tool_sample, &who, 9, &rec, &ctx), 0);
	assert_int_equal(batch_add(b, 1, &record_stream_tool_sample, NULL, 10, &rec, &ctx), 0);
	assert_int_equal(batch_add(b, 2, &record_stream_tool_sample, NULL, 11, &rec, NULL), 0);
	memset(text, 'x', 6);
	memset(run, 'x', 2);
	memset(&rec, 0xff, sizeof(rec));
	assert_string_equal(b->pub.key, ""); /* it may still grow */
	batch_seal(b, 7);
	assert_int_equal(strlen(b->pub.key), strlen(BOOT ":0123456789abcdef:7"));
	assert_memory_equal(b->pub.key, BOOT ":", sizeof(BOOT));
	assert_string_equal(b->pub.key + sizeof(BOOT) + 16, ":7");
	assert_int_equal(b->pub.n, 3);
	assert_int_equal(b->pub.id, 7);
	r = b->pub.records[0];
	copy = r->data;
	assert_int_equal(r->upid.pid, 3);
	assert_int_equal(r->time_ns, 9);
	assert_ptr_equal(r->stream, &record_stream_tool_sample);
	assert_memory_equal(copy->tool.ptr, "mapper", 7); /* with a NUL, though it is not promised */
	assert_int_equal(copy->tool.total, 50);
	assert_int_equal(copy->run.len, 0); /* a pointer to no memory becomes an empty string */
	assert_int_equal(copy->cpu_ns, 77);
	assert_memory_equal(r->context->run.ptr, "r1", 2);
	assert_ptr_equal(b->pub.records[1]->context, r->context); /* stored once */
	assert_int_equal(b->pub.records[1]->upid.pid, 0);
	assert_null(b->pub.records[2]->context);
	assert_int_equal(b->streams[2], 2);
	batch_unref(batch_ref(b));
	batch_unref(b);
	batch_unref(NULL);
}

/*
 * A batch stores the context of each of a few tools that take turns once. Beyond that it may store a context again, but
 * each record always points to its own.
 */
static void contexts_in_turn(void **state)
{
	struct batch *b = batch_new(&origin, 0);
	struct record_tool_sample rec = { 0 };
	unsigned told = 0;
	char tool[2];

	(void)state;
	for (unsigned i = 0; i < 120; i++) {
		struct skep_context ctx = { .size = sizeof(ctx), .tool = of(tool, 1) };

		tool[0] = (char)('a' + (i < 60 ? i % BATCH_CONTEXTS : (i - 60) % 20)); /* few, then many */
		assert_int_equal(batch_add(b, 0, &record_stream_tool_sample, NULL, 0, &rec, &ctx), 0);
	}
	for (unsigned i = 0; i < b->pub.n; i++) {
		bool before = false;

		assert_int_equal(b->pub.records[i]->context->tool.ptr[0],
				 'a' + (i < 60 ? i % BATCH_CONTEXTS : (i - 60) % 20));
		for (unsigned k = 0; k < i && !before; k++)
			before = b->pub.records[k]->context == b->pub.records[i]->context;
		told += !before;
		if (i == 59)
			assert_int_equal(told, BATCH_CONTEXTS);
	}
	batch_unref(b);
}

static void limits(void **state)
{
	struct batch *b = batch_new(&origin, 0);
	size_t huge = 300000;
	char *text = malloc(huge);
	struct record_tool_sample rec = { 0 };
	unsigned n = 0;

	(void)state;
	assert_non_null(text);
	memset(text, 'a', huge);
	while (!batch_full(b)) {
		assert_int_equal(batch_add(b, 0, &record_stream_tool_sample, NULL, 0, &rec, NULL), 0);
		n++;
	}
	assert_int_equal(n, BATCH_MAX_RECORDS);
	batch_unref(b);
	b = batch_new(&origin, 0);
	rec.tool = of(text, huge);
	for (n = 0; !batch_full(b); n++) {
		text[0] = (char)('b' + n);
		assert_int_equal(batch_add(b, 0, &record_stream_tool_sample, NULL, 0, &rec, NULL), 0);
	}
	assert_int_equal(n, 4);
	assert_true(b->bytes >= BATCH_MAX_BYTES && b->bytes < 2 * BATCH_MAX_BYTES);
	for (unsigned i = 0; i < n; i++) {
		text[0] = (char)('b' + i);
		assert_memory_equal(((const struct record_tool_sample *)b->pub.records[i]->data)->tool.ptr, text, huge);
	}
	batch_unref(b);
	/* a sink writes a shared text once for each record */
	b = batch_new(&origin, 0);
	for (n = 0; !batch_full(b); n++)
		assert_int_equal(batch_add(b, 0, &record_stream_tool_sample, NULL, 0, &rec, NULL), 0);
	assert_int_equal(n, 14);
	assert_true(b->bytes < BATCH_MAX_BYTES / 2);
	batch_unref(b);
	free(text);
}

/* A text of the record before it is stored once; a crowded batch cuts texts, and a cut one is no longer the same. */
static void texts_once(void **state)
{
	static const char *const tools[] = { "bwa mem", "bwa mem", "bwa memo", "bwa mem", "bwa me" };
	struct batch *b = batch_new(&origin, 0);
	const struct record_tool_sample *copy[7];
	struct record_tool_sample rec = { 0 };
	char text[16];

	(void)state;
	for (unsigned i = 0; i < 7; i++) {
		strcpy(text, i < 5 ? tools[i] : "bwa mem"); /* the caller's memory is another one by then */
		b->text_most = i < 5 ? UINT32_MAX : 6;
		rec.tool = of(text, strlen(text));
		assert_int_equal(batch_add(b, 0, &record_stream_tool_sample, NULL, i, &rec, NULL), 0);
		copy[i] = b->pub.records[i]->data;
		memset(text, 'x', sizeof(text));
	}
	for (unsigned i = 0; i < 5; i++) {
		assert_string_equal(copy[i]->tool.ptr, tools[i]);
		assert_int_equal(copy[i]->tool.total, strlen(tools[i]));
	}
	assert_ptr_equal(copy[1]->tool.ptr, copy[0]->tool.ptr);
	assert_ptr_not_equal(copy[3]->tool.ptr, copy[0]->tool.ptr);
	for (unsigned i = 5; i < 7; i++) {
		assert_ptr_equal(copy[i]->tool.ptr, copy[4]->tool.ptr);
		assert_int_equal(copy[i]->tool.len, 6);
		assert_int_equal(copy[i]->tool.total, 7);
	}
	batch_unref(b);
}

/* Every field of the core's own streams lies within its record, and names are unique. */
static void out_streams_are_sound(void **state)
{
	const struct skep_stream *all[] = { &record_stream_process, &record_stream_run, &record_stream_tool_sample,
					    &record_stream_loss };

	(void)state;
	for (size_t s = 0; s < 4; s++) {
		size_t bytes = 0;

		for (uint32_t i = 0; i < all[s]->n_fields; i++) {
			const struct skep_field *f = &all[s]->fields[i];
			size_t size = f->type == SKEP_T_STR || f->type == SKEP_T_STRV || f->type == SKEP_T_UPID ? 16
				      : f->type == SKEP_T_BOOL                                                  ? 1
														: 8;

			assert_true(f->offset + size <= all[s]->record_size);
			bytes += size;
			for (uint32_t k = 0; k < i; k++) {
				assert_string_not_equal(f->name, all[s]->fields[k].name);
				assert_int_not_equal(f->offset, all[s]->fields[k].offset);
			}
		}
		/* every field has a name: at most padding has none */
		assert_true(all[s]->record_size - bytes < 8);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deep_copies),
		cmocka_unit_test(contexts_in_turn),
		cmocka_unit_test(texts_once), cmocka_unit_test(limits),
		cmocka_unit_test(out_streams_are_sound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
