/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the protobuf wire format from the end of a message to its begin.
 */
#include "sinks/otlp/pb.h"

#include <errno.h>
#include <skep/utf8.h>
#include <stdlib.h>
#include <string.h>


enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_LEN = 2, WIRE_32 = 5 };

void pb_free(struct pb *p)
{
	free(p->buf);
	*p = (struct pb){ 0 };
}

void pb_reset(struct pb *p)
{
	p->at = p->cap;
	p->err = 0;
}

uint8_t *pb_take(struct pb *p, size_t *ret_at, size_t *ret_len)
{
	uint8_t *buf = p->buf;

	if (p->err || !pb_len(p))
		return NULL;
	*ret_at = p->at;
	*ret_len = pb_len(p);
	*p = (struct pb){ 0 };
	return buf;
}

static uint8_t *grow(struct pb *p, size_t n)
{
	size_t cap = p->cap ? p->cap : 4096, len = pb_len(p);
	uint8_t *buf;

	if (p->err)
		return NULL;
	while (cap - len < n) {
		if (cap > SIZE_MAX / 2)
			goto nomem;
		cap *= 2;
	}
	buf = malloc(cap);
	if (!buf)
		goto nomem;
	if (len)
		memcpy(buf + cap - len, p->buf + p->at, len);
	free(p->buf);
	p->buf = buf;
	p->cap = cap;
	p->at = cap - len - n;
	return buf + p->at;
nomem:
	p->err = -ENOMEM;
	return NULL;
}

/*
 * Returns n bytes before the written ones, or NULL.  After an error the buffer may still have room: nothing reads it.
 */
static inline uint8_t *room(struct pb *p, size_t n)
{
	if (n > p->at)
		return grow(p, n);
	p->at -= n;
	return p->buf + p->at;
}

void pb_raw(struct pb *p, const void *data, size_t n)
{
	uint8_t *at = n ? room(p, n) : NULL;

	if (at)
		memcpy(at, data, n);
}

void pb_varint(struct pb *p, uint64_t v)
{
	uint8_t text[10];
	size_t n = 0;

	if (v < 0x80 && p->at > 0) { /* most numbers, such as lengths and tags */
		p->buf[--p->at] = (uint8_t)v;
		return;
	}
	if (v < 0x4000 && p->at > 1) {
		p->buf[--p->at] = (uint8_t)(v >> 7);
		p->buf[--p->at] = (uint8_t)(v | 0x80);
		return;
	}
	while (v >= 0x80) {
		text[n++] = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	text[n++] = (uint8_t)v;
	pb_raw(p, text, n);
}

static void tag(struct pb *p, uint32_t field, enum wire wire)
{
	pb_varint(p, (uint64_t)field << 3 | wire);
}

void pb_u64(struct pb *p, uint32_t field, uint64_t v)
{
	pb_varint(p, v);
	tag(p, field, WIRE_VARINT);
}

void pb_i64(struct pb *p, uint32_t field, int64_t v)
{
	pb_u64(p, field, (uint64_t)v);
}

void pb_s64(struct pb *p, uint32_t field, int64_t v)
{
	pb_u64(p, field, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

static void little(struct pb *p, uint64_t v, unsigned n)
{
	uint8_t text[8];

	for (unsigned i = 0; i < n; i++)
		text[i] = (uint8_t)(v >> 8 * i);
	pb_raw(p, text, n);
}

void pb_fixed64(struct pb *p, uint32_t field, uint64_t v)
{
	little(p, v, 8);
	tag(p, field, WIRE_64);
}

void pb_fixed32(struct pb *p, uint32_t field, uint32_t v)
{
	little(p, v, 4);
	tag(p, field, WIRE_32);
}

void pb_double(struct pb *p, uint32_t field, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	pb_fixed64(p, field, bits);
}

void pb_bytes(struct pb *p, uint32_t field, const void *data, size_t n)
{
	pb_raw(p, data, n);
	pb_varint(p, n);
	tag(p, field, WIRE_LEN);
}

void pb_string(struct pb *p, uint32_t field, const char *s, size_t n)
{
	size_t opened = pb_open(p), plain = skep_utf8_valid(s, n);
	uint8_t *at;

	if (plain == n) {
		pb_bytes(p, field, s, n);
		return;
	}
	if (n > SIZE_MAX / 3) {
		p->err = -ENOMEM;
		return;
	}
	/*
	 * A cleaned text has at most three bytes for each byte.  Writes it forward into that room, then moves it to the
	 * room's end.
	 */
	at = room(p, 3 * n);
	if (!at)
		return;
	n = skep_utf8_clean(s, n, (char *)at);
	memmove(p->buf + p->cap - opened - n, at, n);
	p->at = p->cap - opened - n;
	pb_close(p, field, opened);
}

void pb_close(struct pb *p, uint32_t field, size_t opened)
{
	if (p->err)
		return;
	pb_varint(p, pb_len(p) - opened);
	tag(p, field, WIRE_LEN);
}
