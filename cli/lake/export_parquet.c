/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/export_parquet.c - rows as a Parquet file.  A list is a LIST of texts, facets are a MAP from name to double:
 * so a reader asks for facets['net.rx_bytes'] without parsing a text.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lake/export_write.h"
#include "cli/lake/parquet.h"

static enum parquet_type type_of(enum export_type type)
{
	switch (type) {
	case EXPORT_TEXT:
		return PARQUET_TEXT;
	case EXPORT_TIME:
		return PARQUET_TIME;
	case EXPORT_CODE:
	case EXPORT_SIGNED:
		return PARQUET_I64;
	case EXPORT_REAL:
		return PARQUET_F64;
	case EXPORT_BOOL:
		return PARQUET_BOOL;
	case EXPORT_LIST:
		return PARQUET_LIST;
	case EXPORT_FACETS:
		return PARQUET_MAP;
	case EXPORT_NUMBER:
	case EXPORT_KNOWN:
	case EXPORT_NET:
	default:
		return PARQUET_U64;
	}
}

static bool has_nulls(enum export_type type)
{
	return type == EXPORT_TEXT || type == EXPORT_KNOWN || type == EXPORT_TIME || type == EXPORT_CODE ||
	       type == EXPORT_REAL || type == EXPORT_NET;
}

int export_parquet_begin(struct export_writer *e)
{
	const bool has_run = e->kind != &export_kinds[EXPORT_RUNS];
	struct parquet_column *columns;
	size_t n = 0;
	int err;

	while (e->kind->columns[n].name)
		n++;
	columns = calloc(n + 1, sizeof(*columns));
	if (!columns)
		return -ENOMEM;
	if (has_run)
		columns[0] = (struct parquet_column){ .name = "run", .type = PARQUET_TEXT, .required = true };
	for (size_t i = 0; i < n; i++) {
		const struct export_column *c = &e->kind->columns[i];

		columns[i + has_run] = (struct parquet_column){ c->name, type_of(c->type), !has_nulls(c->type) };
	}
	err = parquet_new(e->out, columns, n + has_run, "skep version " SKEP_VERSION, &e->parquet);
	free(columns);
	return err;
}

/* Rows are written column by column, so many at a time: their structs are in the processor's cache meanwhile. */
#define BLOCK 128

struct block {
	const char *rows;
	size_t size, n; /* of a row; rows, at most BLOCK */
};

static const void *row_of(const struct block *b, size_t i)
{
	return b->rows + i * b->size;
}

static void put_texts(struct parquet *p, size_t at, const struct export_column *c, const struct block *b)
{
	const char *texts[BLOCK];

	for (size_t i = 0; i < b->n; i++) {
		const char *s = *(const char *const *)export_at(c, row_of(b, i));

		texts[i] = s && *s ? s : NULL;
	}
	parquet_texts(p, at, texts, b->n);
}

static void put_numbers(struct parquet *p, size_t at, const struct export_column *c, const struct block *b)
{
	const bool nulls = has_nulls(c->type);
	uint64_t values[BLOCK];
	bool known[BLOCK];

	for (size_t i = 0; i < b->n; i++)
		memcpy(&values[i], export_at(c, row_of(b, i)), sizeof(values[i]));
	for (size_t i = 0; nulls && i < b->n; i++) {
		const void *value;

		if (c->type == EXPORT_KNOWN || c->type == EXPORT_TIME) /* most of them; see export_value() */
			known[i] = values[i] != 0;
		else
			known[i] = export_value(c, row_of(b, i), &value);
	}
	parquet_numbers(p, at, values, nulls ? known : NULL, b->n);
}

static void put_bools(struct parquet *p, size_t at, const struct export_column *c, const struct block *b)
{
	bool values[BLOCK];

	for (size_t i = 0; i < b->n; i++)
		values[i] = *(const bool *)export_at(c, row_of(b, i));
	parquet_bools(p, at, values, b->n);
}

static void put_lists(struct parquet *p, size_t at, const struct export_column *c, const struct block *b)
{
	for (size_t i = 0; i < b->n; i++) {
		const char *const *list = *(const char *const *const *)export_at(c, row_of(b, i));

		if (!list || !*list)
			parquet_empty(p, at);
		for (size_t k = 0; list && list[k]; k++)
			parquet_item(p, at, k, list[k]);
	}
}

static void put_facets(struct parquet *p, size_t at, const struct block *b)
{
	for (size_t i = 0; i < b->n; i++) {
		const struct lake_process *process = row_of(b, i);

		if (!process->n_facets)
			parquet_empty(p, at);
		for (size_t k = 0; k < process->n_facets; k++)
			parquet_pair(p, at, k, process->facets[k].name, process->facets[k].value);
	}
}

static void put_column(struct parquet *p, size_t at, const struct export_column *c, const struct block *b)
{
	switch (c->type) {
	case EXPORT_TEXT:
		put_texts(p, at, c, b);
		break;
	case EXPORT_BOOL:
		put_bools(p, at, c, b);
		break;
	case EXPORT_LIST:
		put_lists(p, at, c, b);
		break;
	case EXPORT_FACETS:
		put_facets(p, at, b);
		break;
	case EXPORT_NUMBER:
	case EXPORT_KNOWN:
	case EXPORT_TIME:
	case EXPORT_CODE:
	case EXPORT_SIGNED:
	case EXPORT_REAL:
	case EXPORT_NET:
	default:
		put_numbers(p, at, c, b);
	}
}

int export_parquet_rows(struct export_writer *e, const char *run, const void *rows, size_t n)
{
	const char *runs[BLOCK];
	struct block b = { .rows = rows, .size = e->kind->size };
	int err = 0;

	for (; n && !err; n -= b.n, b.rows += b.n * b.size) {
		size_t at = 0;

		b.n = n < BLOCK ? n : BLOCK;
		for (size_t i = 0; i < b.n; i++)
			runs[i] = run;
		if (e->kind != &export_kinds[EXPORT_RUNS])
			parquet_texts(e->parquet, at++, runs, b.n);
		for (const struct export_column *c = e->kind->columns; c->name; c++)
			put_column(e->parquet, at++, c, &b);
		err = parquet_rows(e->parquet, b.n);
	}
	return err;
}

int export_parquet_end(struct export_writer *e)
{
	return parquet_end(e->parquet);
}
