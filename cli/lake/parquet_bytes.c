/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/parquet_bytes.c - see parquet_bytes.h.
 */
#include "cli/lake/parquet_bytes.h"

#include <errno.h>
#include <stdlib.h>

void bytes_free(struct bytes *b)
{
	free(b->at);
	*b = (struct bytes){ 0 };
}

char *bytes_grow(struct bytes *b, size_t n)
{
	size_t room = b->room ? b->room : 256;
	char *grown;

	if (b->err)
		return NULL;
	while (room - b->n < n)
		room *= 2;
	if (room > b->room) {
		grown = realloc(b->at, room);
		if (!grown) {
			b->err = -ENOMEM;
			return NULL;
		}
		b->at = grown;
		b->room = room;
	}
	return b->at + b->n;
}

void bytes_u32(struct bytes *b, uint32_t v)
{
	const uint8_t le[4] = { (uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24) };

	bytes_add(b, le, sizeof(le));
}

void bytes_varint(struct bytes *b, uint64_t v)
{
	uint8_t text[10];
	size_t n = 0;

	do {
		text[n++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		v >>= 7;
	} while (v);
	bytes_add(b, text, n);
}

/* ---- Thrift's compact protocol --------------------------------------------------- */

static uint64_t zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0);
}

void thrift_field(struct thrift_struct *s, int id, enum thrift type)
{
	if (id - s->last <= 15) {
		bytes_byte(s->to, (uint8_t)((id - s->last) << 4 | (int)type));
	} else {
		bytes_byte(s->to, (uint8_t)type);
		bytes_varint(s->to, zigzag(id));
	}
	s->last = id;
}

void thrift_int(struct thrift_struct *s, int id, enum thrift type, int64_t v)
{
	thrift_field(s, id, type);
	if (type == THRIFT_I8)
		bytes_byte(s->to, (uint8_t)v);
	else
		bytes_varint(s->to, zigzag(v));
}

void thrift_bool(struct thrift_struct *s, int id, bool v)
{
	thrift_field(s, id, v ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_text(struct thrift_struct *s, int id, const char *v)
{
	thrift_field(s, id, THRIFT_BINARY);
	thrift_element_text(s->to, v);
}

void thrift_list(struct thrift_struct *s, int id, enum thrift of, size_t n)
{
	thrift_field(s, id, THRIFT_LIST);
	if (n < 15) {
		bytes_byte(s->to, (uint8_t)(n << 4 | of));
	} else {
		bytes_byte(s->to, (uint8_t)(0xf0 | of));
		bytes_varint(s->to, n);
	}
}

void thrift_end(struct thrift_struct *s)
{
	bytes_byte(s->to, 0);
}

void thrift_element_int(struct bytes *b, int64_t v)
{
	bytes_varint(b, zigzag(v));
}

void thrift_element_text(struct bytes *b, const char *v)
{
	bytes_varint(b, strlen(v));
	bytes_add(b, v, strlen(v));
}

/* ---- runs and packed bits -------------------------------------------------------- */

void bytes_levels(struct bytes *b, const uint8_t *v, size_t n)
{
	for (size_t i = 0, from = 0; i < n; from = i) {
		while (i < n && v[i] == v[from])
			i++;
		bytes_varint(b, (uint64_t)(i - from) << 1);
		bytes_byte(b, v[from]);
	}
}

/* How many numbers from the first on are equal. */
static size_t run_at(const uint32_t *v, size_t n)
{
	size_t run = n > 0;

	while (run < n && v[run] == v[0])
		run++;
	return run;
}

static void pack(struct bytes *b, const uint32_t *v, size_t n, size_t padded, unsigned width)
{
	char *to = bytes_room(b, padded * width / 8 + 8);
	uint64_t bits = 0;
	unsigned have = 0;

	if (!to)
		return;
	for (size_t i = 0; i < padded; i++) {
		bits |= (uint64_t)(i < n ? v[i] : 0) << have;
		for (have += width; have >= 8; have -= 8, bits >>= 8)
			*to++ = (char)bits;
	}
	b->n += padded * width / 8;
}

#define RUN_LEAST 16 /* a shorter run is not worth two headers */

void bytes_indices(struct bytes *b, const uint32_t *v, size_t n, unsigned width)
{
	size_t i = 0;

	while (i < n) {
		size_t from = i, run = run_at(v + i, n - i), groups = 0;

		if (run >= RUN_LEAST || i + run == n) {
			bytes_varint(b, (uint64_t)run << 1);
			for (unsigned bit = 0; bit < width; bit += 8)
				bytes_byte(b, (uint8_t)(v[i] >> bit));
			i += run;
			continue;
		}
		for (; i < n && run_at(v + i, n - i < RUN_LEAST ? n - i : RUN_LEAST) < RUN_LEAST; i += 8)
			groups++;
		i = i < n ? i : n;
		bytes_varint(b, (uint64_t)groups << 1 | 1);
		pack(b, v + from, i - from, groups * 8, width);
	}
}
