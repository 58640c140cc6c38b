/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_control_record.c - every type of field as JSON, bytes that are no text,
 * and names that the envelope has taken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <skep/hist.h>
#include <skep/plugin.h>

#include "core/control/control_record.h"

#define BOOT "12345678-0000-0000-0000-000000000000"

struct everything {
	uint64_t id, u;
	int64_t i;
	double f;
	uint8_t b;
	uint64_t at;
	struct skep_str s, list;
	struct skep_upid who;
	uint8_t hash[16], ip4[16], ip6[16];
	struct skep_hist h;
};

#define FIELD(m_, n_, t_) SKEP_FIELD(struct everything, m_, n_, t_, SKEP_S_ATTRIBUTE, "", "help")
static const struct skep_field fields[] = {
	FIELD(id, "detail.id", SKEP_T_U64), FIELD(u, "u", SKEP_T_U64),	   FIELD(i, "i", SKEP_T_I64),
	FIELD(f, "f", SKEP_T_F64),	    FIELD(b, "b", SKEP_T_BOOL),	   FIELD(at, "time", SKEP_T_TIME),
	FIELD(s, "tool", SKEP_T_STR),	    FIELD(list, "list", SKEP_T_STRV), FIELD(who, "who", SKEP_T_UPID),
	FIELD(hash, "hash", SKEP_T_HASH),   FIELD(ip4, "ip4", SKEP_T_IP),  FIELD(ip6, "ip6", SKEP_T_IP),
	FIELD(h, "h", SKEP_T_HIST),
};
static const struct skep_stream stream = {
	.size = sizeof(stream),
	.field_size = sizeof(fields[0]),
	.name = "test.stream",
	.help = "a test",
	.role = SKEP_ROLE_DETAIL,
	.record_size = sizeof(struct everything),
	.n_fields = sizeof(fields) / sizeof(fields[0]),
	.fields = fields,
};

static struct skep_str str(const char *s, size_t len)
{
	return (struct skep_str){ s, (uint32_t)len, (uint32_t)len };
}

static char *dumped(json_t *o)
{
	char *text = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;

	assert_non_null(text);
	json_decref(o);
	return text;
}

static void all_types(void **state)
{
	uint64_t slots[SKEP_HIST_SLOTS] = { 3, 1, 0, 2 };
	struct everything data = {
		.id = 7,
		.u = UINT64_MAX,
		.i = -5,
		.f = 1.5,
		.b = 1,
		.at = 2000000001,
		.s = str("a\xff\"z", 4),
		.list = str("a\0\0b", 4),
		.who = { .pid = 9, .start_ns = 255 },
		.hash = { 0xab, 1 },
		.ip4 = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1 },
		.ip6 = { [15] = 1 },
		.h = { .slots = slots, .n = SKEP_HIST_SLOTS, .sum = 12 },
	};
	struct skep_context context = { .size = sizeof(context), .run = str("r1", 2), .tool = str("hidden", 6) };
	struct skep_record rec = {
		.size = sizeof(rec),
		.stream = &stream,
		.upid = { .pid = 9, .start_ns = 255 },
		.time_ns = 1000000000,
		.data = &data,
		.context = &context,
	};
	char *text = dumped(control_record(&rec, BOOT, 5000000000));

	(void)state;
	/*
	 * the envelope owns "time"; this stream has a field "tool", so the context's tool is left out; clamped; U+FFFD
	 */
	assert_string_equal(
		text,
		"{\"stream\":\"test.stream\",\"time\":\"1970-01-01T00:00:06.000000000Z\",\"upid\":\"12345678-9-ff\","
		"\"detail.id\":7,\"u\":9223372036854775807,\"i\":-5,\"f\":1.5,\"b\":true,"
		"\"test.stream.time\":\"1970-01-01T00:00:07.000000001Z\",\"tool\":\"a\xef\xbf\xbd\\\"z\",\"list\":[\"a\",\"\",\"b\"],"
		"\"who\":\"12345678-9-ff\",\"hash\":\"ab010000000000000000000000000000\",\"ip4\":\"10.0.0.1\",\"ip6\":\"::1\","
		"\"h\":{\"count\":6,\"sum\":12,\"scale\":2,\"zero_count\":3,\"offset\":-1,\"counts\":[1,0,2]},\"run\":\"r1\"}");
	free(text);
}

static void unknown_values(void **state)
{
	struct everything data = { .f = 0.0 / 0.0, .h = { .slots = NULL, .n = 5 } };
	struct skep_record rec = { .size = sizeof(rec), .stream = &stream, .data = &data };
	json_t *o = control_record(&rec, BOOT, 5000000000);

	(void)state;
	assert_true(json_is_null(json_object_get(o, "time")));
	assert_true(json_is_null(json_object_get(o, "upid")));
	assert_true(json_is_null(json_object_get(o, "f")));
	assert_true(json_is_null(json_object_get(o, "who")));
	assert_string_equal(json_string_value(json_object_get(o, "tool")), "");
	assert_int_equal(json_array_size(json_object_get(o, "list")), 0);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(o, "h"), "count")), 0);
	json_decref(o);
}

/* Each field is invalid in its own way; the valid fields beside it stay. */
static void no_utf8(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "\x80", "\xef\xbf\xbd" },
		{ "a\xc0\x80z", "a\xef\xbf\xbd\xef\xbf\xbdz" },
		{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xe2\x82", "\xef\xbf\xbd" },
		{ "\xe2\x82\xac\xff", "\xe2\x82\xac\xef\xbf\xbd" },
		{ "\xf0\x9f\x90\x9d\xf8", "\xf0\x9f\x90\x9d\xef\xbf\xbd" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *v = control_json_text(cases[i].in, strlen(cases[i].in));

		assert_non_null(v);
		assert_string_equal(json_string_value(v), cases[i].out);
		json_decref(v);
	}
}

static void described(void **state)
{
	json_t *o = control_stream(&stream), *first = json_array_get(json_object_get(o, "fields"), 0);
	char *text;

	(void)state;
	assert_string_equal(json_string_value(json_object_get(o, "name")), "test.stream");
	assert_int_equal(json_array_size(json_object_get(o, "fields")), stream.n_fields);
	text = dumped(json_incref(first));
	assert_string_equal(
		text,
		"{\"name\":\"detail.id\",\"type\":\"u64\",\"semantics\":\"attribute\",\"unit\":\"\",\"help\":\"help\"}");
	free(text);
	json_decref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_types),
		cmocka_unit_test(unknown_values),
		cmocka_unit_test(no_utf8),
		cmocka_unit_test(described),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
