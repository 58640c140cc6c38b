/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/clickhouse/rows.h - records as rows in ClickHouse's RowBinary.  For worker threads: each struct
 * rows belongs to one thread at a time.
 */
#ifndef SKEP_SINKS_CLICKHOUSE_ROWS_H
#define SKEP_SINKS_CLICKHOUSE_ROWS_H

#include <skep/sink/jsonw.h>

#include "sinks/clickhouse/columns.h"

struct rows {
	const char *host, *boot_id; /* the batch's, borrowed */
	struct {
		struct jsonw bytes; /* a growing buffer; no JSON */
		uint32_t n;
	} table[TABLES];
	struct jsonw json;
	struct binding *bindings;
};

void rows_begin(struct rows *); /* empty, memory kept */
/* 0 or -ENOMEM. A record without a stream is left out. */
int rows_add(struct rows *, const struct skep_record *, int64_t realtime_offset_ns);
void rows_free(struct rows *);

#endif
