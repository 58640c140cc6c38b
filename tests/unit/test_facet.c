/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_facet.c - facets by semantics, image by image.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include <skep/plugin.h>

#include "core/process/facet.h"
#include "core/process/records.h"

struct rec {
	uint64_t sent, total;
	int64_t low;
	double heat;
	struct skep_str name;
	uint8_t flag;
};

#define R(member_, type_, sem_) SKEP_FIELD(struct rec, member_, #member_, type_, sem_, "By", "h")
static const struct skep_field fields[] = {
	R(sent, SKEP_T_U64, SKEP_S_DELTA), R(total, SKEP_T_U64, SKEP_S_CUMULATIVE), R(low, SKEP_T_I64, SKEP_S_DELTA),
	R(heat, SKEP_T_F64, SKEP_S_GAUGE), R(name, SKEP_T_STR, SKEP_S_ATTRIBUTE),   R(flag, SKEP_T_BOOL, SKEP_S_GAUGE),
};
static const struct skep_stream net = { .size = sizeof(net),
					.field_size = sizeof(fields[0]),
					.name = "net",
					.help = "",
					.role = SKEP_ROLE_FACET,
					.record_size = sizeof(struct rec),
					.n_fields = 6,
					.fields = fields };
static const struct skep_stream same_name = { .size = sizeof(net),
					      .field_size = sizeof(fields[0]),
					      .name = "net",
					      .help = "",
					      .role = SKEP_ROLE_FACET,
					      .record_size = sizeof(struct rec),
					      .n_fields = 6,
					      .fields = fields };
static const struct skep_stream other = { .size = sizeof(net),
					  .field_size = sizeof(fields[0]),
					  .name = "other",
					  .help = "",
					  .role = SKEP_ROLE_FACET,
					  .record_size = sizeof(struct rec),
					  .n_fields = 1,
					  .fields = fields };

static const struct skep_stream third = { .size = sizeof(net),
					  .field_size = sizeof(fields[0]),
					  .name = "third",
					  .help = "",
					  .role = SKEP_ROLE_FACET,
					  .record_size = sizeof(struct rec),
					  .n_fields = 1,
					  .fields = fields };

struct tail {
	uint64_t sent, total;
	int64_t low;
	double heat;
	uint64_t other_sent;
};

static void all_semantics(void **state)
{
	struct facets *f = facets_new();
	struct facet_values *v = NULL;
	const struct skep_stream *built;
	struct rec r = { .sent = 5, .total = 100, .low = -3, .heat = 1.5 };
	struct tail *tail;
	char *record;

	(void)state;
	assert_int_equal(facets_add(f, &net), 0);
	assert_int_equal(facets_add(f, &net), 0); /* a second instance of the same plugin */
	assert_int_equal(facets_add(f, &same_name), -EEXIST);
	assert_int_equal(facets_add(f, &other), 0);
	assert_int_equal(facets_build(f, FACETS_OF_IMAGE, &record_stream_process, &built), 0);
	assert_int_equal(built->n_fields, record_stream_process.n_fields + 5);
	assert_int_equal(built->record_size, sizeof(struct record_process) + sizeof(struct tail));
	assert_string_equal(built->name, "process.exit");
	assert_string_equal(built->fields[record_stream_process.n_fields + 1].name, "net.total");
	assert_string_equal(built->fields[record_stream_process.n_fields + 1].unit, "By");
	assert_int_equal(built->fields[record_stream_process.n_fields + 1].semantics, SKEP_S_DELTA);
	assert_int_equal(built->fields[record_stream_process.n_fields + 3].semantics, SKEP_S_GAUGE);
	for (uint32_t i = 0; i < built->n_fields; i++)
		assert_true(built->fields[i].offset + 1 <= built->record_size);
	record = calloc(1, built->record_size);
	assert_non_null(record);
	tail = (struct tail *)(void *)(record + sizeof(struct record_process));

	assert_int_equal(facets_record(f, &net, &r, &v), 0);
	r = (struct rec){ .sent = 6, .total = 150, .low = -4, .heat = 0.5 };
	assert_int_equal(facets_record(f, &net, &r, &v), 0);
	r.total = 120; /* a total that decreases is ignored */
	r.sent = r.low = 0;
	assert_int_equal(facets_record(f, &net, &r, &v), 0);
	assert_int_equal(facets_record(f, &same_name, &r, &v), -ENOENT);
	facets_take(f, v, record);
	assert_int_equal(tail->sent, 11);
	assert_int_equal(tail->total, 150);
	assert_int_equal(tail->low, -7);
	assert_true(tail->heat > 1.4);
	assert_int_equal(tail->other_sent, 0);
	/* the next image gets the increase since then */
	r = (struct rec){ .sent = 1, .total = 151, .heat = 0.25 };
	assert_int_equal(facets_record(f, &net, &r, &v), 0);
	assert_int_equal(facets_record(f, &other, &r, &v), 0);
	facets_take(f, v, record);
	assert_int_equal(tail->sent, 1);
	assert_int_equal(tail->total, 1);
	assert_true(tail->heat < 0.3);
	assert_int_equal(tail->other_sent, 1);
	facets_take(f, NULL, record);
	assert_int_equal(tail->sent + tail->total + tail->other_sent, 0);
	/* another process, whose first record is of the later stream */
	v = facet_values_free(v);
	assert_int_equal(facets_record(f, &other, &r, &v), 0);
	r.sent = 3;
	assert_int_equal(facets_record(f, &net, &r, &v), 0);
	facets_take(f, v, record);
	assert_int_equal(tail->sent, 3);
	assert_int_equal(tail->other_sent, 1);
	free(record);
	facet_values_free(v);
	facets_free(f);
	assert_null(facets_free(NULL));
}

/* A new column while records and processes exist: the earlier columns keep their places. */
static void more_later(void **state)
{
	struct facets *f = facets_new();
	struct facet_values *v = NULL;
	const struct skep_stream *first, *again, *wider;
	struct rec r = { .sent = 5, .total = 100 };
	struct tail *tail;
	char *record;

	(void)state;
	assert_int_equal(facets_add(f, &net), 0);
	assert_int_equal(facets_build(f, FACETS_OF_IMAGE, &record_stream_process, &first), 0);
	assert_int_equal(facets_build(f, FACETS_OF_IMAGE, &record_stream_process, &again), 0);
	assert_ptr_equal(first, again);
	assert_int_equal(facets_record(f, &net, &r, &v), 0);
	assert_int_equal(facets_add(f, &other), 0);
	assert_int_equal(facets_record_size(f, &record_stream_process),
			 sizeof(struct record_process) + sizeof(struct tail));
	/* a record that is not yet built keeps its length when columns are added */
	record = calloc(1, sizeof(struct record_process) + sizeof(struct tail));
	assert_non_null(record);
	tail = (struct tail *)(void *)(record + sizeof(struct record_process));
	tail->other_sent = 77;
	assert_int_equal(facets_record(f, &other, &r, &v), 0);
	facets_take(f, v, record);
	assert_int_equal(tail->sent, 5);
	assert_int_equal(tail->other_sent, 77);
	assert_int_equal(facets_build(f, FACETS_OF_IMAGE, &record_stream_process, &wider), 0);
	assert_int_equal(wider->n_fields, first->n_fields + 1);
	assert_int_equal(first->record_size + 8, wider->record_size);
	/* the old descriptor stays for records on their way */
	assert_string_equal(first->fields[first->n_fields - 1].name, "net.heat");
	facets_take(f, v, record);
	assert_int_equal(tail->sent, 0);
	assert_int_equal(tail->other_sent, 5);
	facet_values_free(v);
	/* a process whose values are older than the column */
	v = NULL;
	assert_int_equal(facets_record(f, &net, &r, &v), 0);
	assert_int_equal(facets_add(f, &third), 0);
	for (uint64_t i = 1; i < 40; i++) {
		r.sent = i;
		assert_int_equal(facets_record(f, &third, &r, &v), 0);
	}
	assert_int_equal(facets_build(f, FACETS_OF_IMAGE, &record_stream_process, &wider), 0);
	record = realloc(record, wider->record_size);
	assert_non_null(record);
	facets_take(f, v, record);
	assert_int_equal(*(uint64_t *)(void *)(record + wider->record_size - 8), 39 * 40 / 2);
	free(record);
	facet_values_free(v);
	facets_free(f);
}

static void none(void **state)
{
	struct facets *f = facets_new();
	const struct skep_stream *built;
	struct record_process rec = { .cpu_ns = 5 };

	(void)state;
	assert_int_equal(facets_build(f, FACETS_OF_IMAGE, &record_stream_process, &built), 0);
	assert_int_equal(built->record_size, sizeof(struct record_process));
	facets_take(f, NULL, &rec);
	assert_int_equal(rec.cpu_ns, 5);
	facets_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_semantics),
		cmocka_unit_test(more_later),
		cmocka_unit_test(none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
