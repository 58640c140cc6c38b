/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp/pb.h - writes protocol buffers (the wire format of proto3), backwards.
 *
 * In a message the length precedes the content.  The writer begins at a message's end, and so knows the length when it
 * writes the length: it needs one pass, builds no tree and moves nothing.  So the caller writes the last field first,
 * and a nested message's fields between pb_open() and pb_close().
 *
 * After a failed allocation err is set and every call does nothing, so the caller checks once, at the end.
 */
#ifndef SKEP_SINKS_OTLP_PB_H
#define SKEP_SINKS_OTLP_PB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pb {
	uint8_t *buf;
	size_t cap, at; /* the written bytes: buf[at] to buf[cap - 1] */
	int err;        /* 0 or -ENOMEM */
};

void pb_free(struct pb *);
void pb_reset(struct pb *); /* empties the writer, keeps its buffer, clears err */
static inline size_t pb_len(const struct pb *p)
{
	return p->cap - p->at;
}
static inline const uint8_t *pb_data(const struct pb *p)
{
	return p->buf ? p->buf + p->at : NULL; /* C17 does not define NULL + 0 */
}
/*
 * Moves the buffer to the caller, who frees it; the written bytes begin at *ret_at.  NULL: nothing written, or err set.
 */
uint8_t *pb_take(struct pb *, size_t *ret_at, size_t *ret_len);

/* Fields.  The writer writes 0 and false too; proto3 allows the caller to omit them. */
void pb_u64(struct pb *, uint32_t field, uint64_t);
void pb_i64(struct pb *, uint32_t field, int64_t); /* int64, int32, enum */
void pb_s64(struct pb *, uint32_t field, int64_t); /* sint64, sint32: zigzag */
void pb_fixed64(struct pb *, uint32_t field, uint64_t);
void pb_fixed32(struct pb *, uint32_t field, uint32_t);
void pb_double(struct pb *, uint32_t field, double);
void pb_bytes(struct pb *, uint32_t field, const void *, size_t n);
/* Writes a string, with U+FFFD for bytes that are not UTF-8, because receivers refuse such bytes. */
void pb_string(struct pb *, uint32_t field, const char *, size_t n);
#define pb_text(p_, field_, s_) pb_string((p_), (field_), (s_), strlen(s_))
/* Copies bytes that are encoded fields already. */
void pb_raw(struct pb *, const void *, size_t n);
/* Writes one number without a field, for packed lists between pb_open() and pb_close(): the last number first. */
void pb_varint(struct pb *, uint64_t);

static inline size_t pb_open(const struct pb *p)
{
	return pb_len(p);
}
void pb_close(struct pb *, uint32_t field, size_t opened);

#endif
