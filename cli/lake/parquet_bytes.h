/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/parquet_bytes.h - the bytes of a Parquet file: a growing buffer, Thrift's compact protocol for headers and
 * footer, and the hybrid of runs and packed bits for levels and indices.
 */
#ifndef SKEP_CLI_LAKE_PARQUET_BYTES_H
#define SKEP_CLI_LAKE_PARQUET_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Zeroed at first. After -ENOMEM in err it ignores further bytes. */
struct bytes {
	char *at;
	size_t n, room;
	int err;
};

void bytes_free(struct bytes *);
char *bytes_grow(struct bytes *, size_t n);

/* Room for n more bytes, which the caller adds to n; NULL: err is set. */
static inline char *bytes_room(struct bytes *b, size_t n)
{
	return !b->err && n <= b->room - b->n ? b->at + b->n : bytes_grow(b, n);
}

static inline void bytes_add(struct bytes *b, const void *from, size_t n)
{
	char *to = n ? bytes_room(b, n) : NULL;

	if (!to)
		return;
	memcpy(to, from, n);
	b->n += n;
}

static inline void bytes_byte(struct bytes *b, uint8_t byte)
{
	bytes_add(b, &byte, 1);
}

void bytes_u32(struct bytes *, uint32_t); /* little endian */
void bytes_varint(struct bytes *, uint64_t);

/* ---- Thrift's compact protocol --------------------------------------------------- */

/* Types of fields and elements. A true or false of a field is its type. */
enum thrift {
	THRIFT_TRUE = 1, THRIFT_FALSE, THRIFT_I8, THRIFT_I16, THRIFT_I32, THRIFT_I64, THRIFT_DOUBLE, THRIFT_BINARY,
	THRIFT_LIST, THRIFT_SET, THRIFT_MAP, THRIFT_STRUCT
};

/* A struct that is being written: last is the id of its last field, 0 at first. Ids ascend. */
struct thrift_struct {
	struct bytes *to;
	int last;
};

void thrift_field(struct thrift_struct *, int id, enum thrift type); /* the caller writes the value */
void thrift_int(struct thrift_struct *, int id, enum thrift type, int64_t);
void thrift_bool(struct thrift_struct *, int id, bool);
void thrift_text(struct thrift_struct *, int id, const char *);
void thrift_list(struct thrift_struct *, int id, enum thrift of, size_t n); /* the caller writes n elements */
void thrift_end(struct thrift_struct *);
/* Elements of a list. */
void thrift_element_int(struct bytes *, int64_t);
void thrift_element_text(struct bytes *, const char *);

/* ---- runs and packed bits -------------------------------------------------------- */

/* Writes levels as runs: each below 256. */
void bytes_levels(struct bytes *, const uint8_t *, size_t n);
/* Writes numbers of `width` bits (1 to 32) as runs and as packed groups of eight. */
void bytes_indices(struct bytes *, const uint32_t *, size_t n, unsigned width);

#endif
