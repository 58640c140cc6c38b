/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/table.h - a table of text: columns are as wide as their content.  One flexible column may take the rest of
 * the line; its cells are cut if the rest is too narrow.
 *
 * When memory runs out, later calls do nothing and table_print returns -ENOMEM: callers need not check each cell.
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
	bool flex;         /* the column takes the rest of the line; at most one */
};

/* columns: borrowed while the table lives. NULL when memory runs out. */
struct table *table_new(const struct table_column *columns, size_t n);
struct table *table_free(struct table *);
/* Adds the next cell, row by row. Its text must be safe for a terminal. */
void table_cell(struct table *, enum ink, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Width of the uncut table with `gap` blanks between columns; counts at most `flex` for the flexible column. */
size_t table_width(const struct table *, size_t gap, size_t flex);
/* 0 or -ENOMEM. indent: blanks before each row. */
int table_print(const struct table *, const struct paint *, size_t indent, size_t gap);

#endif
