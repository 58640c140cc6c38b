/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/clickhouse/rows.h - converts records to rows in ClickHouse's RowBinary, on worker threads.  Each struct rows
 * belongs to one thread at a time.
 */
#ifndef SKEP_SINKS_CLICKHOUSE_ROWS_H
#define SKEP_SINKS_CLICKHOUSE_ROWS_H

#include <skep/sink/jsonw.h>

#include "sinks/clickhouse/columns.h"

struct rows {
	const char *host, *boot_id; /* borrowed from the batch */
	struct {
		struct jsonw bytes; /* a growing buffer; holds no JSON */
		uint32_t n;
	} table[TABLES];
	struct jsonw json;
	struct binding *bindings;
};

void rows_begin(struct rows *); /* empties the rows, keeps their memory */
/* Adds a record's row. Returns 0 or -ENOMEM. Skips a record without a stream. */
int rows_add(struct rows *, const struct skep_record *, int64_t realtime_offset_ns);
void rows_free(struct rows *);

#endif
