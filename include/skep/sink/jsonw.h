/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/sink/jsonw.h - a JSON writer into one growing buffer.  It knows no nesting:
 * the caller writes braces and keys.  An allocation that fails is remembered in err
 * and everything after it is ignored, so that only the end has to look.
 */
#ifndef SKEP_SINK_JSONW_H
#define SKEP_SINK_JSONW_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

struct jsonw {
	char *buf; /* not NUL-terminated */
	size_t len, cap;
	int err; /* 0 or -ENOMEM */
};

void skep_jsonw_free(struct jsonw *);  /* the buffer; the struct may be used again */
void skep_jsonw_reset(struct jsonw *); /* empty, buffer kept, err forgotten */

char *skep_jsonw_grow(struct jsonw *, size_t n); /* skep_jsonw_room's slow part */

/* Room for n more bytes at the end, which the caller adds to len; NULL: err is set. */
static inline char *skep_jsonw_room(struct jsonw *j, size_t n)
{
	return !j->err && n <= j->cap - j->len ? j->buf + j->len : skep_jsonw_grow(j, n);
}

/* Inline: most are literals of a few bytes, of which there are several for each value. */
static inline void skep_jsonw_raw(struct jsonw *j, const char *s, size_t n)
{
	char *at = n ? skep_jsonw_room(j, n) : NULL;

	if (!at)
		return;
	memcpy(at, s, n);
	j->len += n;
}

/* How many bytes at the beginning of s stand in a JSON string as they are. */
size_t skep_jsonw_plain(const char *s, size_t n);
#define jsonw_lit(j, s) skep_jsonw_raw((j), "" s, sizeof(s) - 1)
/* Quoted and escaped; bytes that are not UTF-8 become U+FFFD. */
void skep_jsonw_string(struct jsonw *, const char *s, size_t n);
/* The same without quotes, to put a string together from parts. */
void skep_jsonw_string_part(struct jsonw *, const char *s, size_t n);
void skep_jsonw_u64(struct jsonw *, uint64_t);
void skep_jsonw_i64(struct jsonw *, int64_t);
void skep_jsonw_f64(struct jsonw *, double);               /* null for what JSON has no number for */
void skep_jsonw_time(struct jsonw *, int64_t realtime_ns); /* "2026-11-21T03:57:52.000000001Z" */

#ifdef __cplusplus
}
#endif

#endif
