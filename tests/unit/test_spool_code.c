/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_spool_code.c - batches encoded and decoded: every type, changed field tables, damage.
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
#include <zstd.h>

#include "spool/code.h"

struct all {
	uint64_t u;
	int64_t i;
	double f;
	uint8_t b;
	uint64_t t;
	struct skep_str s, v;
	struct skep_upid upid;
	uint8_t hash[16], ip[16];
	struct skep_hist hist, hist2;
};

static const struct skep_field all_fields[] = {
	SKEP_FIELD(struct all, u, "u", SKEP_T_U64, SKEP_S_DELTA, "By", ""),
	SKEP_FIELD(struct all, i, "i", SKEP_T_I64, SKEP_S_GAUGE, "1", ""),
	SKEP_FIELD(struct all, f, "f", SKEP_T_F64, SKEP_S_GAUGE, "1", ""),
	SKEP_FIELD(struct all, b, "b", SKEP_T_BOOL, SKEP_S_ATTRIBUTE, "", ""),
	SKEP_FIELD(struct all, t, "t", SKEP_T_TIME, SKEP_S_ATTRIBUTE, "ns", ""),
	SKEP_FIELD(struct all, s, "s", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
	SKEP_FIELD(struct all, v, "v", SKEP_T_STRV, SKEP_S_ATTRIBUTE, "", ""),
	SKEP_FIELD(struct all, upid, "upid", SKEP_T_UPID, SKEP_S_ATTRIBUTE, "", ""),
	SKEP_FIELD(struct all, hash, "hash", SKEP_T_HASH, SKEP_S_ATTRIBUTE, "", ""),
	SKEP_FIELD(struct all, ip, "ip", SKEP_T_IP, SKEP_S_ATTRIBUTE, "", ""),
	SKEP_FIELD(struct all, hist, "hist", SKEP_T_HIST, SKEP_S_DELTA, "ns", ""),
	SKEP_FIELD(struct all, hist2, "hist2", SKEP_T_HIST, SKEP_S_DELTA, "ns", ""),
};

static const struct skep_stream all_stream = {
	.size = sizeof(struct skep_stream),
	.field_size = sizeof(struct skep_field),
	.name = "test.all",
	.help = "every type",
	.flags = SKEP_STREAM_SAMPLE,
	.record_size = sizeof(struct all),
	.n_fields = sizeof(all_fields) / sizeof(all_fields[0]),
	.fields = all_fields,
};

#define N 40

static struct {
	struct all data[N];
	struct skep_record records[N];
	const struct skep_record *pointers[N];
	struct skep_context contexts[2];
	struct skep_batch batch;
	struct spool_code *code;
	const void *body;
	size_t size;
	/* the decoded batch */
	struct spool_head head;
	unsigned n, streams;
	bool as_stored; /* use the descriptor from the body instead of ours */
	int fail_at;    /* the record at which the reader fails; -1: none */
} t;

static struct skep_str str(const char *s)
{
	return (struct skep_str){ s, (uint32_t)strlen(s), (uint32_t)strlen(s) };
}

/* The i-th record's values, some at the ends of each type's range. */
static void make(unsigned i)
{
	static const uint64_t edges[] = { 0, 1, 127, 128, UINT64_MAX, UINT64_C(1) << 63, 1000000 };
	static uint64_t slots[N][SKEP_HIST_SLOTS];
	struct all *a = &t.data[i];
	uint64_t edge = edges[i % (sizeof(edges) / sizeof(edges[0]))];

	*a = (struct all){
		.u = edge,
		.i = (int64_t)edge,
		.f = i % 3 ? 1.5 * i : -0.0,
		.b = i & 1,
		.t = i % 5 == 0 ? 0 : edge & INT64_MAX, /* within 292 years of the record's */
		.s = str(i % 4 ? "a string" : ""),
		.v = { "one\0two\0", 8, i % 2 ? 8 : 4000000000u },
		.upid = { .pid = i % 3 ? 0 : UINT32_MAX, .start_ns = i % 3 ? 0 : edge },
		.hist = { .slots = slots[i], .n = i % 7 ? SKEP_HIST_SLOTS : 0, .sum = edge },
		.hist2 = { .slots = slots[(i + 1) % N], .n = 3, .sum = 7 },
	};
	memset(a->hash, (int)i, 16);
	memset(a->ip, (int)(i + 1), 16);
	for (unsigned k = 0; k < SKEP_HIST_SLOTS; k++)
		slots[i][k] = edge ? edge - k % 3 : k;
	if (i % 4 == 0)
		a->s.ptr = NULL;
	t.records[i] = (struct skep_record){
		.size = sizeof(struct skep_record),
		.stream = &all_stream,
		.upid = { .pid = i % 2 ? 0 : 100 + i, .start_ns = i % 2 ? 0 : 5 },
		.time_ns = i % 6 == 0 ? 0 : 1000000000000u - i * 17,
		.data = a,
		.context = i % 3 == 2 ? NULL : &t.contexts[i % 3],
	};
	t.pointers[i] = &t.records[i];
}

static int set_up(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	t.fail_at = -1;
	for (int i = 0; i < 2; i++)
		t.contexts[i] = (struct skep_context) { .size = sizeof(struct skep_context),
							.payer = i ? 1000 : SKEP_NOBODY,
							.run = str(i ? "run-1" : ""),
							.tool = str("sort"),
							.realtime_offset_ns = i ? INT64_C(-3600000000000) : 0 };
	for (unsigned i = 0; i < N; i++)
		make(i);
	t.batch = (struct skep_batch) { .size = sizeof(t.batch),
					.n = N,
					.id = 12345678901u,
					.key = "boot:1:42",
					.realtime_offset_ns = -7,
					.records = t.pointers,
					.boot_id = "boot",
					.host_name = "node1",
					.kernel = "6.1.0" };
	t.code = spool_code_new();
	return t.code ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	spool_code_free(t.code);
	return 0;
}

static int on_head(void *arg, const struct spool_head *head)
{
	(void)arg;
	t.head = *head;
	return 0;
}

static int on_stream(void *arg, const struct skep_stream *stored, const struct skep_stream **ret)
{
	(void)arg;
	t.streams++;
	assert_string_equal(stored->name, "test.all");
	assert_string_equal(stored->help, "every type");
	assert_int_equal(stored->flags, SKEP_STREAM_SAMPLE);
	assert_true(spool_same_fields(stored, &all_stream));
	assert_string_equal(stored->fields[0].unit, "By");
	assert_int_equal(stored->fields[0].semantics, SKEP_S_DELTA);
	*ret = t.as_stored ? stored : &all_stream;
	return 0;
}

static void same_str(const struct skep_str *a, const struct skep_str *b)
{
	assert_int_equal(a->len, b->ptr ? b->len : 0);
	assert_int_equal(a->total, b->total > a->len ? b->total : a->len);
	if (a->len)
		assert_memory_equal(a->ptr, b->ptr, a->len);
}

static const void *at(const struct skep_stream *s, const void *data, unsigned field)
{
	return (const char *)data + s->fields[field].offset;
}

static void same_hist(const struct skep_hist *a, const struct skep_hist *b)
{
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->sum, b->sum);
	if (a->n)
		assert_memory_equal(a->slots, b->slots, a->n * sizeof(uint64_t));
}

static int on_record(void *arg, const struct skep_stream *s, const struct skep_upid *who, uint64_t time_ns,
		     const void *data, const struct skep_context *context)
{
	const struct skep_record *r = &t.records[t.n];
	const struct all *a = r->data;

	(void)arg;
	if (t.fail_at == (int)t.n)
		return -ECANCELED;
	assert_int_equal(who->pid, r->upid.pid);
	assert_int_equal(who->start_ns, r->upid.start_ns);
	assert_int_equal(time_ns, r->time_ns);
	assert_int_equal(!context, !r->context);
	if (context) {
		assert_int_equal(context->payer, r->context->payer);
		assert_int_equal(context->realtime_offset_ns, r->context->realtime_offset_ns);
		same_str(&context->run, &r->context->run);
		same_str(&context->tool, &r->context->tool);
	}
	assert_memory_equal(at(s, data, 0), &a->u, 8);
	assert_memory_equal(at(s, data, 1), &a->i, 8);
	assert_memory_equal(at(s, data, 2), &a->f, 8);
	assert_memory_equal(at(s, data, 3), &a->b, 1);
	assert_memory_equal(at(s, data, 4), &a->t, 8);
	same_str(at(s, data, 5), &a->s);
	same_str(at(s, data, 6), &a->v);
	assert_int_equal(((const struct skep_upid *)at(s, data, 7))->pid, a->upid.pid);
	assert_int_equal(((const struct skep_upid *)at(s, data, 7))->start_ns, a->upid.start_ns);
	assert_memory_equal(at(s, data, 8), a->hash, 16);
	assert_memory_equal(at(s, data, 9), a->ip, 16);
	same_hist(at(s, data, 10), &a->hist);
	same_hist(at(s, data, 11), &a->hist2);
	t.n++;
	return 0;
}

static const struct spool_taker taker = { on_head, on_stream, on_record };

static void encode(void)
{
	assert_int_equal(spool_encode(t.code, &t.batch, &t.body, &t.size, NULL), 0);
}

static void comes_back(void **state)
{
	char why[128];

	(void)state;
	for (int i = 0; i < 2; i++) {
		t.as_stored = i;
		t.n = 0;
		encode();
		assert_int_equal(spool_decode(t.code, t.body, t.size, &taker, NULL, why, sizeof(why)), 0);
		assert_int_equal(t.n, N);
		assert_int_equal(t.head.id, t.batch.id);
		assert_int_equal(t.head.n, N);
		assert_string_equal(t.head.key, "boot:1:42");
		assert_int_equal(t.head.realtime_offset_ns, -7);
		assert_string_equal(t.head.boot_id, "boot");
		assert_string_equal(t.head.host_name, "node1");
		assert_string_equal(t.head.kernel, "6.1.0");
	}
	assert_int_equal(t.streams, 2);
}

static void an_empty_one(void **state)
{
	char why[128];

	(void)state;
	t.batch.n = 0;
	encode();
	assert_int_equal(spool_decode(t.code, t.body, t.size, &taker, NULL, why, sizeof(why)), 0);
	assert_int_equal(t.n, 0);
}

static void what_the_taker_says_comes_back(void **state)
{
	char why[128];

	(void)state;
	t.fail_at = 3;
	encode();
	assert_int_equal(spool_decode(t.code, t.body, t.size, &taker, NULL, why, sizeof(why)), -ECANCELED);
	assert_int_equal(t.n, 3);
}

/* Accepts anything: the test does not compare damaged records. */
static int any_head(void *arg, const struct spool_head *head)
{
	(void)arg;
	(void)head;
	return 0;
}

static int any_stream(void *arg, const struct skep_stream *stored, const struct skep_stream **ret)
{
	(void)arg;
	*ret = stored;
	return 0;
}

static int any_record(void *arg, const struct skep_stream *s, const struct skep_upid *who, uint64_t time_ns,
		      const void *data, const struct skep_context *context)
{
	(void)arg;
	(void)s;
	(void)who;
	(void)time_ns;
	(void)data;
	(void)context;
	return 0;
}

static const struct spool_taker any = { any_head, any_stream, any_record };

static void each_flipped_bit_is_found(void **state)
{
	unsigned char *copy;
	char why[128];
	unsigned ignored = 0;

	(void)state;
	encode();
	copy = malloc(t.size);
	assert_non_null(copy);
	for (size_t i = 0; i < t.size; i++) {
		memcpy(copy, t.body, t.size);
		copy[i] ^= (unsigned char)(1u << i % 8);
		why[0] = '\0';
		t.n = 0;
		/*
		 * Some bits of a frame mean nothing (padding, table entries that no symbol uses): then the records must
		 * be unchanged, which the reader checks.
		 */
		if (spool_decode(t.code, copy, t.size, &taker, NULL, why, sizeof(why)) == 0) {
			assert_int_equal(t.n, N);
			ignored++;
		} else {
			assert_true(why[0] != '\0');
		}
	}
	assert_in_range(ignored, 0, t.size / 20);
	for (size_t i = 0; i < t.size; i += 3)
		assert_int_equal(spool_decode(t.code, t.body, i, &any, NULL, why, sizeof(why)), -EBADMSG);
	free(copy);
}

/* The checksum is right and the content wrong, because the test wrote it so. */
static void nonsense_in_a_sound_frame(void **state)
{
	static unsigned char raw[1 << 20], body[1 << 20];
	unsigned long long n;
	size_t size;
	char why[128];
	unsigned random = 1, bad = 0;

	(void)state;
	encode();
	n = ZSTD_decompress(raw, sizeof(raw), t.body, t.size);
	assert_false(ZSTD_isError(n));
	for (int i = 0; i < 20000; i++) {
		unsigned char *at;
		unsigned char was;

		random = random * 1103515245u + 12345u;
		at = &raw[(random >> 8) % n];
		was = *at;
		*at = (unsigned char)(random >> 3);
		if (i % 100 == 0) { /* compression takes most of the time: the fuzzer does the rest */
			size = ZSTD_compress(body, sizeof(body), raw, n, 1);
			assert_false(ZSTD_isError(size));
			bad += spool_decode(t.code, body, size, &any, NULL, why, sizeof(why)) != 0;
		}
		if (i % 7)
			*at = was;
	}
	assert_true(bad > 0);
}

static void of_another_version(void **state)
{
	static const char *const messages[] = {
		"its format has version 0, this skep reads version 1; read it with the skep that wrote it",
		NULL, /* the version that skep writes */
		"its format has version 2, this skep reads version 1; read it with the skep that wrote it",
	};
	unsigned char raw[] = { 0, 5, 3, 'b', ':', '1', 1, 'b', 0, 0, 13, 0, 0 }, body[64];
	char why[128];

	(void)state;
	for (unsigned char version = 0; version < 3; version++) {
		size_t size;

		raw[0] = version;
		size = ZSTD_compress(body, sizeof(body), raw, sizeof(raw), 1);
		assert_int_equal(spool_decode(t.code, body, size, &taker, NULL, why, sizeof(why)),
				 messages[version] ? -ENOTSUP : 0);
		if (messages[version])
			assert_string_equal(why, messages[version]);
	}
	assert_int_equal(t.head.id, 5);
	assert_string_equal(t.head.boot_id, "b");
	assert_int_equal(t.head.realtime_offset_ns, -7);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(comes_back),
		TEST(an_empty_one),
		TEST(what_the_taker_says_comes_back),
		TEST(each_flipped_bit_is_found),
		TEST(nonsense_in_a_sound_frame),
		TEST(of_another_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
