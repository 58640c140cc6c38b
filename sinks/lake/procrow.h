/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake/procrow.h - stores an image of a process as a row of proc_row, with the proc_kind and the proc_argv that
 * it shares with other images (lake/schema.sql).
 */
#ifndef SKEP_SINKS_LAKE_PROCROW_H
#define SKEP_SINKS_LAKE_PROCROW_H

#include "sinks/lake/columns.h"

/* The values of a process record by column of its table; of texts the dictionary's ids. */
struct procrow {
	int64_t value[PROC_COLUMNS_MOST];
	uint64_t known; /* a bit for each column: the record has a value */
	struct skep_str argv;
};

/*
 * Adds the row.  clock_ns: realtime minus boot time, the same for as many rows as possible: it is part of their kind.
 * Adds the bytes that the lake grows by to *written.
 */
int procrow_add(struct db *, struct procrow *, int64_t clock_ns, uint64_t *written, int64_t *ret_id);

#endif
