/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/parquet.h - writes a Parquet file: https://parquet.apache.org/docs/file-format/.
 *
 * A row group is written when it has 122,880 rows or 32 MiB, so memory is bounded by a row group. Pages are of version
 * 1 and compressed with zstd; texts have a dictionary as long as it is small. Any thread, one writer a thread.
 *
 * The functions for values note the first failure, and parquet_rows() returns it.
 */
#ifndef SKEP_CLI_LAKE_PARQUET_H
#define SKEP_CLI_LAKE_PARQUET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct parquet;

enum parquet_type {
	PARQUET_TEXT, /* UTF-8: U+FFFD replaces other bytes */
	PARQUET_U64,
	PARQUET_I64,
	PARQUET_F64,
	PARQUET_BOOL,
	PARQUET_TIME, /* ns since 1970, UTC */
	PARQUET_LIST, /* of texts */
	PARQUET_MAP,  /* from texts to doubles */
};

struct parquet_column {
	const char *name;
	enum parquet_type type;
	bool required; /* it has no null */
};

/* Borrows the file and the names. 0 or -ENOMEM. */
int parquet_new(FILE *, const struct parquet_column *, size_t n, const char *created_by, struct parquet **ret);
struct parquet *parquet_free(struct parquet *);

/*
 * The values of a column for the next n rows; each column of these rows, in any order, then parquet_rows().
 * Texts: NULL is null; where two pointers are equal, so are the texts.  Numbers of 64 bits as they are in memory: whole
 * ones, times and doubles; known: NULL if all are, else false for null.
 */
void parquet_texts(struct parquet *, size_t column, const char *const *, size_t n);
void parquet_numbers(struct parquet *, size_t column, const uint64_t *, const bool *known, size_t n);
void parquet_bools(struct parquet *, size_t column, const bool *, size_t n);
/* A list or a map, of one row: none of its items, or one after the other; i: 0 for the first. */
void parquet_empty(struct parquet *, size_t column);
void parquet_item(struct parquet *, size_t column, size_t i, const char *);
void parquet_pair(struct parquet *, size_t column, size_t i, const char *key, double value);

/*
 * Ends n rows, at most some hundred: a row group may exceed its bounds by them. 0 or the -errno of the first failure.
 */
int parquet_rows(struct parquet *, size_t n);
/* Writes the open row group and the footer, which every reader needs; does not flush the FILE. 0 or -errno. */
int parquet_end(struct parquet *);

#endif
