/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/common/json.h - a JSON writer into one growing buffer.  It knows no nesting:
 * the caller writes braces and keys.  An allocation that fails is remembered in err
 * and everything after it is ignored, so that only the end has to look.
 */
#ifndef SKEP_SINKS_JSON_H
#define SKEP_SINKS_JSON_H

#include <stddef.h>
#include <stdint.h>

struct json {
	char *buf; /* not NUL-terminated */
	size_t len, cap;
	int err; /* 0 or -ENOMEM */
};

void json_free(struct json *); /* the buffer; the struct may be used again */
void json_reset(struct json *); /* empty, buffer kept, err forgotten */

void json_raw(struct json *, const char *s, size_t n);
#define json_lit(j, s) json_raw((j), "" s, sizeof(s) - 1)
/* Quoted and escaped; what is not UTF-8 becomes U+FFFD. */
void json_string(struct json *, const char *s, size_t n);
/* The same without quotes, to put a string together from parts. */
void json_string_part(struct json *, const char *s, size_t n);
void json_u64(struct json *, uint64_t);
void json_i64(struct json *, int64_t);
void json_f64(struct json *, double); /* null for what JSON has no number for */
void json_time(struct json *, int64_t realtime_ns); /* "2026-11-21T03:57:52.000000001Z" */

#endif
