/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/table.h - rows of cells, columns as wide as their content; one column may take
 * the rest of the line, and is cut where the rest is too narrow.
 *
 * Running out of memory is remembered and reported by table_print, so that filling a
 * table needs no checks.
 */
#ifndef SKEP_CLI_TABLE_H
#define SKEP_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/base/paint.h"

struct table;

struct table_column {
	const char *title; /* borrowed; NULL in all columns: no title line */
	bool left;         /* else right-aligned */
	bool flex;         /* takes the rest of the line; one column at most */
};

/* columns: borrowed while the table lives. NULL when memory runs out. */
struct table *table_new(const struct table_column *columns, size_t n);
struct table *table_free(struct table *);
/* The next cell, row by row. Its text must be safe for a terminal. */
void table_cell(struct table *, enum ink, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Columns that it would take with `gap` blanks in between and nothing cut; of the flexible column at most `flex`. */
size_t table_width(const struct table *, size_t gap, size_t flex);
/* 0 or -ENOMEM. indent: blanks before each row. */
int table_print(const struct table *, const struct paint *, size_t indent, size_t gap);

#endif
