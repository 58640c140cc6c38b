/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/top/cells.h - the columns of `skep top`: titles, widths, which of them a width has room for, and their texts.
 */
#ifndef SKEP_CLI_TOP_CELLS_H
#define SKEP_CLI_TOP_CELLS_H

#include "cli/base/human.h"
#include "cli/top/model.h"

#define TOP_NAME_LEAST 15u /* columns of the name */

/* In the order of the screen: the name is last, because it gets the rest of the width. */
extern const enum top_column top_cells_order[TOP_COLUMNS];

const char *top_cell_title(enum top_column);
unsigned top_cell_width(enum top_column); /* 0: the name */
/* Which columns fit, by their number; the name always does.  Returns the width that is left for it. */
unsigned top_cells_fit(unsigned width, bool ret_shown[TOP_COLUMNS]);
/* Fills buf and returns it: at most the column's width, ASCII.  Not for the name. */
const char *top_cell_text(const struct top_row *, enum top_column, char buf[HUMAN_SIZE]);

#endif
