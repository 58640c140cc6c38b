/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/parquet.c - see parquet.h: row groups and the footer.
 */
#include "cli/lake/parquet.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "cli/lake/parquet_leaf.h"

#define GROUP_ROWS  122880u    /* as DuckDB's: readers share a file out by row groups */
#define GROUP_BYTES (32u << 20)
#define PAGE_VALUES 65536u
#define PAGE_BYTES  (1u << 20)
#define LOOK_ROWS   256u /* after so many rows it looks at these bounds */

static const char magic[4] = { 'P', 'A', 'R', '1' };

/* Numbers of the format's enums. */
enum { REQUIRED, OPTIONAL, REPEATED };
enum { CONVERTED_UTF8 = 0, CONVERTED_MAP = 1, CONVERTED_LIST = 3, CONVERTED_UINT_64 = 14 };
enum { LOGICAL_STRING = 1, LOGICAL_MAP = 2, LOGICAL_LIST = 3, LOGICAL_TIMESTAMP = 8, LOGICAL_INTEGER = 10 };
#define CODEC_ZSTD 6

struct parquet {
	FILE *out;
	const char *created_by;
	ZSTD_CCtx *zstd;
	uint64_t at; /* bytes written */
	int err;
	size_t n_columns, n_leaves;
	const struct parquet_column **column_of; /* of each leaf */
	struct parquet_column *columns;
	size_t *first; /* first leaf of each column */
	struct leaf *leaves;
	uint64_t rows, group_rows, n_groups, unlooked;
	struct bytes groups;  /* struct RowGroup of each, for the footer */
	struct bytes scratch;
};

static size_t leaves_of(enum parquet_type type)
{
	return type == PARQUET_MAP ? 2 : 1;
}

static enum parquet_physical physical_of(enum parquet_type type, bool second)
{
	switch (type) {
	case PARQUET_TEXT:
	case PARQUET_LIST:
		return PHYSICAL_BYTES;
	case PARQUET_MAP:
		return second ? PHYSICAL_DOUBLE : PHYSICAL_BYTES;
	case PARQUET_F64:
		return PHYSICAL_DOUBLE;
	case PARQUET_BOOL:
		return PHYSICAL_BOOL;
	case PARQUET_U64:
	case PARQUET_I64:
	case PARQUET_TIME:
	default:
		return PHYSICAL_INT64;
	}
}

static void write_out(struct parquet *p, const void *bytes, size_t n)
{
	errno = 0;
	if (!p->err && n && fwrite(bytes, 1, n, p->out) != n)
		p->err = errno ? -errno : -EIO;
	p->at += n;
}

int parquet_new(FILE *out, const struct parquet_column *columns, size_t n, const char *created_by, struct parquet **ret)
{
	struct parquet *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->out = out;
	p->created_by = created_by;
	p->n_columns = n;
	p->zstd = ZSTD_createCCtx();
	p->columns = calloc(n + 1, sizeof(*p->columns));
	p->first = calloc(n + 1, sizeof(*p->first));
	p->leaves = calloc(2 * n + 1, sizeof(*p->leaves));
	p->column_of = calloc(2 * n + 1, sizeof(const struct parquet_column *));
	if (!p->zstd || !p->columns || !p->first || !p->leaves || !p->column_of) {
		parquet_free(p);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		const bool nested = columns[i].type == PARQUET_LIST || columns[i].type == PARQUET_MAP;

		p->columns[i] = columns[i];
		p->first[i] = p->n_leaves;
		for (size_t k = 0; k < leaves_of(columns[i].type); k++) {
			struct leaf *l = &p->leaves[p->n_leaves];

			l->physical = physical_of(columns[i].type, k > 0);
			l->max_definition = (uint8_t)(!columns[i].required + nested);
			l->max_repetition = nested;
			leaf_begin(l);
			p->column_of[p->n_leaves++] = &p->columns[i];
		}
	}
	write_out(p, magic, sizeof(magic));
	*ret = p;
	return 0;
}

struct parquet *parquet_free(struct parquet *p)
{
	if (!p)
		return NULL;
	for (size_t i = 0; i < p->n_leaves; i++)
		leaf_free(&p->leaves[i]);
	bytes_free(&p->groups);
	bytes_free(&p->scratch);
	ZSTD_freeCCtx(p->zstd);
	free(p->columns);
	free(p->first);
	free(p->leaves);
	free(p->column_of);
	free(p);
	return NULL;
}

/* ---- values ------------------------------------------------------------------------ */

static struct leaf *leaf_at(struct parquet *p, size_t column)
{
	return &p->leaves[p->first[column]];
}

void parquet_texts(struct parquet *p, size_t column, const char *const *texts, size_t n)
{
	leaf_texts(leaf_at(p, column), texts, n);
}

void parquet_numbers(struct parquet *p, size_t column, const uint64_t *values, const bool *known, size_t n)
{
	leaf_numbers(leaf_at(p, column), values, known, n);
}

void parquet_bools(struct parquet *p, size_t column, const bool *values, size_t n)
{
	struct leaf *l = leaf_at(p, column);

	leaf_levels(l, l->max_definition, 0, n);
	bytes_add(&l->values, values, n);
}

void parquet_empty(struct parquet *p, size_t column)
{
	for (size_t k = 0; k < leaves_of(p->columns[column].type); k++) {
		struct leaf *l = leaf_at(p, column) + k;

		leaf_levels(l, (uint8_t)(l->max_definition - 1), 0, 1);
	}
}

void parquet_item(struct parquet *p, size_t column, size_t i, const char *s)
{
	struct leaf *l = leaf_at(p, column);

	leaf_levels(l, l->max_definition, i > 0, 1);
	leaf_text(l, s, strlen(s));
}

void parquet_pair(struct parquet *p, size_t column, size_t i, const char *key, double value)
{
	struct leaf *l = leaf_at(p, column) + 1;
	uint64_t bits;

	parquet_item(p, column, i, key);
	memcpy(&bits, &value, sizeof(bits));
	bits = htole64(bits);
	leaf_levels(l, l->max_definition, i > 0, 1);
	bytes_add(&l->values, &bits, sizeof(bits));
}

/* ---- row groups -------------------------------------------------------------------- */

static void path_of(const struct parquet *p, size_t leaf, struct thrift_struct *s)
{
	const struct parquet_column *c = p->column_of[leaf];
	const bool list = c->type == PARQUET_LIST, map = c->type == PARQUET_MAP;

	thrift_list(s, 3, THRIFT_BINARY, list || map ? 3 : 1);
	thrift_element_text(s->to, c->name);
	if (list) {
		thrift_element_text(s->to, "list");
		thrift_element_text(s->to, "element");
	} else if (map) {
		thrift_element_text(s->to, "key_value");
		thrift_element_text(s->to, leaf == p->first[c - p->columns] ? "key" : "value");
	}
}

/* Writes the leaf's pages, and struct ColumnChunk to the footer. */
static void put_chunk(struct parquet *p, size_t leaf, uint64_t *ret_plain, uint64_t *ret_packed)
{
	struct leaf *l = &p->leaves[leaf];
	struct bytes dictionary = { 0 };
	struct thrift_struct chunk = { &p->groups, 0 }, meta = { &p->groups, 0 };
	const uint64_t begin = p->at;
	int err = leaf_dictionary(l, p->zstd, &dictionary);

	p->err = p->err ? p->err : err;
	write_out(p, dictionary.at, dictionary.n);
	write_out(p, l->pages.at, l->pages.n);
	thrift_int(&chunk, 2, THRIFT_I64, 0); /* deprecated, and required */
	thrift_field(&chunk, 3, THRIFT_STRUCT);
	thrift_int(&meta, 1, THRIFT_I32, l->physical);
	thrift_list(&meta, 2, THRIFT_I32, l->has_indices ? 3 : 2);
	thrift_element_int(meta.to, ENCODING_RLE);
	thrift_element_int(meta.to, ENCODING_PLAIN); /* the dictionary's page, too */
	if (l->has_indices)
		thrift_element_int(meta.to, ENCODING_DICTIONARY);
	path_of(p, leaf, &meta);
	thrift_int(&meta, 4, THRIFT_I32, CODEC_ZSTD);
	thrift_int(&meta, 5, THRIFT_I64, (int64_t)l->n_values);
	thrift_int(&meta, 6, THRIFT_I64, (int64_t)l->plain_bytes);
	thrift_int(&meta, 7, THRIFT_I64, (int64_t)(p->at - begin));
	thrift_int(&meta, 9, THRIFT_I64, (int64_t)(begin + dictionary.n));
	if (l->has_indices)
		thrift_int(&meta, 11, THRIFT_I64, (int64_t)begin);
	thrift_end(&meta);
	thrift_end(&chunk);
	*ret_plain += l->plain_bytes;
	*ret_packed += p->at - begin;
	bytes_free(&dictionary);
	leaf_begin(l);
}

static void end_group(struct parquet *p)
{
	struct thrift_struct group = { &p->groups, 0 };
	const uint64_t begin = p->at;
	uint64_t plain = 0, packed = 0;

	p->unlooked = 0;
	for (size_t i = 0; i < p->n_leaves && !p->err; i++)
		p->err = leaf_page(&p->leaves[i], p->zstd, &p->scratch);
	thrift_list(&group, 1, THRIFT_STRUCT, p->n_leaves);
	for (size_t i = 0; i < p->n_leaves && !p->err; i++)
		put_chunk(p, i, &plain, &packed);
	thrift_int(&group, 2, THRIFT_I64, (int64_t)plain);
	thrift_int(&group, 3, THRIFT_I64, (int64_t)p->group_rows);
	thrift_int(&group, 5, THRIFT_I64, (int64_t)begin);
	thrift_int(&group, 6, THRIFT_I64, (int64_t)packed);
	thrift_end(&group);
	p->err = p->err ? p->err : p->groups.err;
	p->n_groups++;
	p->rows += p->group_rows;
	p->group_rows = 0;
}

static void look_at_bounds(struct parquet *p)
{
	size_t size = 0;

	p->unlooked = 0;
	for (size_t i = 0; i < p->n_leaves && !p->err; i++) {
		struct leaf *l = &p->leaves[i];

		if (l->page_values >= PAGE_VALUES || l->values.n >= PAGE_BYTES)
			p->err = leaf_page(l, p->zstd, &p->scratch);
		else
			p->err = leaf_error(l);
		size += leaf_size(l);
	}
	if (!p->err && (p->group_rows >= GROUP_ROWS || size >= GROUP_BYTES))
		end_group(p);
}

int parquet_rows(struct parquet *p, size_t n)
{
	p->group_rows += n;
	p->unlooked += n;
	if (p->unlooked >= LOOK_ROWS)
		look_at_bounds(p);
	return p->err;
}

/* ---- the footer -------------------------------------------------------------------- */

/* struct SchemaElement. physical: -1: a group. converted, logical: 0 for none, but CONVERTED_UTF8. */
static void put_element(struct bytes *to, const char *name, int physical, int repetition, int children, int converted,
			int logical)
{
	struct thrift_struct s = { to, 0 }, kind = { to, 0 }, inner = { to, 0 }, unit = { to, 0 };

	if (physical >= 0)
		thrift_int(&s, 1, THRIFT_I32, physical);
	if (repetition >= 0)
		thrift_int(&s, 3, THRIFT_I32, repetition);
	thrift_text(&s, 4, name);
	if (children)
		thrift_int(&s, 5, THRIFT_I32, children);
	if (converted || logical == LOGICAL_STRING)
		thrift_int(&s, 6, THRIFT_I32, converted);
	if (logical) {
		thrift_field(&s, 10, THRIFT_STRUCT);
		thrift_field(&kind, logical, THRIFT_STRUCT);
		if (logical == LOGICAL_TIMESTAMP) {
			thrift_bool(&inner, 1, true); /* UTC */
			thrift_field(&inner, 2, THRIFT_STRUCT);
			thrift_field(&unit, 3, THRIFT_STRUCT); /* ns */
			bytes_byte(to, 0);
			thrift_end(&unit);
		} else if (logical == LOGICAL_INTEGER) {
			thrift_int(&inner, 1, THRIFT_I8, 64);
			thrift_bool(&inner, 2, false);
		}
		thrift_end(&inner);
		thrift_end(&kind);
	}
	thrift_end(&s);
}

static size_t elements_of(enum parquet_type type)
{
	return type == PARQUET_LIST ? 3 : type == PARQUET_MAP ? 4 : 1;
}

static void put_column(struct bytes *to, const struct parquet_column *c)
{
	const int repetition = c->required ? REQUIRED : OPTIONAL, physical = (int)physical_of(c->type, false);

	switch (c->type) {
	case PARQUET_TEXT:
		put_element(to, c->name, physical, repetition, 0, CONVERTED_UTF8, LOGICAL_STRING);
		break;
	case PARQUET_U64:
		put_element(to, c->name, physical, repetition, 0, CONVERTED_UINT_64, LOGICAL_INTEGER);
		break;
	case PARQUET_TIME:
		put_element(to, c->name, physical, repetition, 0, 0, LOGICAL_TIMESTAMP);
		break;
	case PARQUET_LIST:
		put_element(to, c->name, -1, repetition, 1, CONVERTED_LIST, LOGICAL_LIST);
		put_element(to, "list", -1, REPEATED, 1, 0, 0);
		put_element(to, "element", physical, REQUIRED, 0, CONVERTED_UTF8, LOGICAL_STRING);
		break;
	case PARQUET_MAP:
		put_element(to, c->name, -1, repetition, 1, CONVERTED_MAP, LOGICAL_MAP);
		put_element(to, "key_value", -1, REPEATED, 2, 0, 0);
		put_element(to, "key", physical, REQUIRED, 0, CONVERTED_UTF8, LOGICAL_STRING);
		put_element(to, "value", (int)physical_of(c->type, true), REQUIRED, 0, 0, 0);
		break;
	case PARQUET_I64:
	case PARQUET_F64:
	case PARQUET_BOOL:
	default:
		put_element(to, c->name, physical, repetition, 0, 0, 0);
	}
}

static void put_footer(struct parquet *p, struct bytes *to)
{
	struct thrift_struct file = { to, 0 };
	size_t elements = 1;

	for (size_t i = 0; i < p->n_columns; i++)
		elements += elements_of(p->columns[i].type);
	thrift_int(&file, 1, THRIFT_I32, 2); /* version of the types */
	thrift_list(&file, 2, THRIFT_STRUCT, elements);
	put_element(to, "schema", -1, -1, (int)p->n_columns, 0, 0);
	for (size_t i = 0; i < p->n_columns; i++)
		put_column(to, &p->columns[i]);
	thrift_int(&file, 3, THRIFT_I64, (int64_t)p->rows);
	thrift_list(&file, 4, THRIFT_STRUCT, p->n_groups);
	bytes_add(to, p->groups.at, p->groups.n);
	thrift_text(&file, 6, p->created_by);
	thrift_end(&file);
	bytes_u32(to, (uint32_t)to->n);
	bytes_add(to, magic, sizeof(magic));
}

int parquet_end(struct parquet *p)
{
	struct bytes footer = { 0 };

	if (p->group_rows && !p->err)
		end_group(p);
	put_footer(p, &footer);
	p->err = p->err ? p->err : footer.err;
	write_out(p, footer.at, footer.n);
	bytes_free(&footer);
	return p->err;
}
