/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_text.h - records whose texts are any bytes, for the targets fuzz_text_*: with any name of a process,
 * each output is UTF-8 that its format's reader accepts, and saved state is read back byte by byte.
 *
 * Input: texts, each as a byte with its length and that many bytes; they are used in turn.
 */
#ifndef SKEP_TESTS_FUZZ_TEXT_H
#define SKEP_TESTS_FUZZ_TEXT_H

#include <skep/hist.h>
#include <skep/plugin.h>
#include <skep/utf8.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXTS_MOST 24
#define BOOT "01234567-89ab-cdef-0123-456789abcdef"

struct texts {
	struct skep_str at[TEXTS_MOST];
	unsigned n, turn;
};

/* A stream with every type of field, under names that tables have columns for and under others. */
struct any_record {
	struct skep_str exe, comm, cwd, cgroup, state, label, run, argv;
	uint64_t u, time;
	int64_t i;
	double f;
	uint8_t b;
	struct skep_upid parent;
	uint8_t hash[16], ip[16];
	struct skep_hist hist;
};
#define ANY(m_, type_, sem_) SKEP_FIELD(struct any_record, m_, #m_, type_, sem_, "1", "")
#define ANY_TEXT(m_) ANY(m_, SKEP_T_STR, SKEP_S_ATTRIBUTE)
static const struct skep_field any_fields[] = {
	ANY_TEXT(exe),
	ANY_TEXT(comm),
	ANY_TEXT(cwd),
	ANY_TEXT(cgroup),
	ANY_TEXT(state),
	ANY_TEXT(label),
	ANY_TEXT(run),
	ANY(argv, SKEP_T_STRV, SKEP_S_ATTRIBUTE),
	ANY(u, SKEP_T_U64, SKEP_S_DELTA),
	ANY(time, SKEP_T_TIME, SKEP_S_ATTRIBUTE),
	ANY(i, SKEP_T_I64, SKEP_S_GAUGE),
	ANY(f, SKEP_T_F64, SKEP_S_GAUGE),
	ANY(b, SKEP_T_BOOL, SKEP_S_ATTRIBUTE),
	ANY(parent, SKEP_T_UPID, SKEP_S_ATTRIBUTE),
	ANY(hash, SKEP_T_HASH, SKEP_S_ATTRIBUTE),
	ANY(ip, SKEP_T_IP, SKEP_S_ATTRIBUTE),
	ANY(hist, SKEP_T_HIST, SKEP_S_DELTA),
};
#define ANY_STREAM(name_) \
	{ \
		.size = sizeof(struct skep_stream), .field_size = sizeof(any_fields[0]), .name = name_, .help = "", \
		.record_size = sizeof(struct any_record), .n_fields = sizeof(any_fields) / sizeof(any_fields[0]), \
		.fields = any_fields \
	}
static const struct skep_stream any_streams[] = { ANY_STREAM("process"), ANY_STREAM("task"), ANY_STREAM("run"),
						  ANY_STREAM("site.thing") };
#define N_STREAMS (sizeof(any_streams) / sizeof(any_streams[0]))

static inline void must(bool condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "fuzz_text: %s\n", what);
		abort();
	}
}

static inline void must_be_utf8(const void *s, size_t n, const char *where)
{
	must(skep_utf8_valid(s, n) == n, where);
}

static inline void texts_read(struct texts *t, const uint8_t *data, size_t size)
{
	t->n = t->turn = 0;
	while (size > 0 && t->n < TEXTS_MOST) {
		uint32_t len = data[0] < size - 1 ? data[0] : (uint32_t)(size - 1);

		/* some are marked as cut from a longer text */
		t->at[t->n++] = (struct skep_str){ (const char *)data + 1, len, len % 3 ? len : len + 9 };
		data += 1 + len;
		size -= 1 + len;
	}
	if (t->n == 0)
		t->at[t->n++] = (struct skep_str){ "", 0, 0 };
}

static inline struct skep_str text_next(struct texts *t)
{
	return t->at[t->turn++ % t->n];
}

/* slots: the memory of the histogram, which must live as long. */
static inline void any_fill(struct any_record *r, struct skep_context *c, struct texts *t)
{
	static uint64_t slots[4] = { 1, 0, 2, 3 };

	memset(r, 0, sizeof(*r));
	r->exe = text_next(t);
	r->comm = text_next(t);
	r->cwd = text_next(t);
	r->cgroup = text_next(t);
	r->state = text_next(t);
	r->label = text_next(t);
	r->run = text_next(t);
	r->argv = text_next(t);
	r->u = 3;
	r->time = 5;
	r->i = -4;
	r->f = 1.5;
	r->b = 1;
	r->parent = (struct skep_upid){ .pid = 7, .start_ns = 9 };
	memcpy(r->hash, "0123456789abcdef", 16);
	r->hist = (struct skep_hist){ .slots = slots, .n = 4, .sum = 99 };
	*c = (struct skep_context){ .size = sizeof(*c) };
	c->run = text_next(t);
	c->pipeline = text_next(t);
	c->task = text_next(t);
	c->tool = text_next(t);
	c->container = text_next(t);
}

#endif
