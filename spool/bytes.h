/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool/bytes.h - for encode.c and decode.c: writes numbers and strings to a growing buffer, and reads them from a
 * bounded one.  After an error all further calls do nothing.
 */
#ifndef SKEP_SPOOL_BYTES_H
#define SKEP_SPOOL_BYTES_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct bytes_out {
	unsigned char *at;
	size_t len, room;
	int err;
};

/* Makes room for n more bytes. false: no memory. */
static inline bool bytes_need(struct bytes_out *b, size_t n)
{
	size_t room = b->room ? b->room : 65536;
	unsigned char *at;

	if (b->err)
		return false;
	if (b->room - b->len >= n)
		return true;
	while (room - b->len < n)
		room *= 2;
	at = realloc(b->at, room);
	if (!at) {
		b->err = -ENOMEM;
		return false;
	}
	b->at = at;
	b->room = room;
	return true;
}

/* For the next use.  A large buffer of which the last use needed less than a quarter is returned to the system. */
static inline void bytes_clear(struct bytes_out *b)
{
	if (b->room > (1u << 20) && b->len < b->room / 4) {
		free(b->at);
		b->at = NULL;
		b->room = 0;
	}
	b->len = 0;
	b->err = 0;
}

static inline void bytes_put(struct bytes_out *b, const void *data, size_t n)
{
	if (n == 0 || !bytes_need(b, n))
		return;
	memcpy(b->at + b->len, data, n);
	b->len += n;
}

/* Writes a number into the room that bytes_need has made: at most 10 bytes. */
static inline void bytes_put_fast(struct bytes_out *b, uint64_t u)
{
	while (u >= 128) {
		b->at[b->len++] = (unsigned char)(u | 128);
		u >>= 7;
	}
	b->at[b->len++] = (unsigned char)u;
}

static inline void bytes_number(struct bytes_out *b, uint64_t u)
{
	if (bytes_need(b, 10))
		bytes_put_fast(b, u);
}

static inline uint64_t bytes_zigzag(int64_t i)
{
	return (uint64_t)i << 1 ^ (0 - (uint64_t)(i < 0));
}

static inline int64_t bytes_unzigzag(uint64_t u)
{
	return (int64_t)(u >> 1 ^ (0 - (u & 1)));
}

static inline void bytes_text(struct bytes_out *b, const char *s, size_t n)
{
	bytes_number(b, n);
	bytes_put(b, s, n);
}

struct bytes_in {
	const unsigned char *begin, *at, *end;
	bool bad; /* the buffer ended too early, or a number was longer than 64 bits; `at` stays at that position */
};

static inline uint64_t bytes_take_number(struct bytes_in *b)
{
	uint64_t u = 0;

	for (unsigned shift = 0, i = 0; !b->bad; shift += 7, i++) {
		unsigned char c;

		if (b->at + i >= b->end || shift > 63)
			break;
		c = b->at[i];
		if (shift == 63 && c > 1)
			break;
		u |= (uint64_t)(c & 127) << shift;
		if (c < 128) {
			b->at += i + 1;
			return u;
		}
	}
	b->bad = true;
	return 0;
}

static inline const void *bytes_take(struct bytes_in *b, uint64_t n)
{
	const void *at = b->at;

	if (b->bad || n > (uint64_t)(b->end - b->at)) {
		b->bad = true;
		return NULL;
	}
	b->at += n;
	return at;
}

#endif
