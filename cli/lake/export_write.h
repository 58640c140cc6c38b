/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/export_write.h - writes rows in one of the formats of `skep lake export`.
 */
#ifndef SKEP_CLI_LAKE_EXPORT_WRITE_H
#define SKEP_CLI_LAKE_EXPORT_WRITE_H

#include <skep/sink/jsonw.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/lake/export_columns.h"

enum export_format { EXPORT_NDJSON, EXPORT_CSV, EXPORT_PARQUET };

struct parquet;

/* Zeroed but for the first members. */
struct export_writer {
	FILE *out;
	enum export_format format;
	const struct export_kind *kind; /* of all rows; NULL: of all kinds, each row with its kind (NDJSON only) */
	struct jsonw text;              /* not written yet */
	struct jsonw cell;              /* of CSV */
	struct parquet *parquet;
};

/* Writes the head of the file. Each returns 0, or -errno of memory or of the file. */
int export_begin(struct export_writer *);
/*
 * Writes n rows of e->kind, or of any kind, which are beside each other. run: the id of their run. following: in a row
 * of a run, the number of rows of other kinds that follow, where rows of all kinds are written.
 */
int export_rows(struct export_writer *, const struct export_kind *, const char *run, const void *rows, size_t n,
		size_t following);
/* Writes the open row group or buffer, and flushes the file. */
int export_end(struct export_writer *);
void export_free(struct export_writer *);

/* The place of the row's value; false: null, and *ret is of no use. */
bool export_value(const struct export_column *, const void *row, const void **ret);

/* export_parquet.c */
int export_parquet_begin(struct export_writer *);
int export_parquet_rows(struct export_writer *, const char *run, const void *rows, size_t n);
int export_parquet_end(struct export_writer *);

#endif
