/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/clickhouse/batch.h - batches in flight and loads.  A worker thread encodes a batch as rows for each table.  A
 * load then sends the rows of one or more batches: one INSERT for each table with rows, and one answer when all INSERTs
 * have theirs.
 */
#ifndef SKEP_SINKS_CLICKHOUSE_BATCH_H
#define SKEP_SINKS_CLICKHOUSE_BATCH_H

#include <skep/sink/http.h>
#include <skep/sink/http_body.h>

#include "sinks/clickhouse/answer.h"
#include "sinks/clickhouse/inserted.h"
#include "sinks/clickhouse/rows.h"

/*
 * An INSERT costs a server far more than 500 rows do (18.16.1: 124 files, and soon a merge).  So one load gathers the
 * batches that arrived while other loads were in flight.  64 batches would save another tenth of both sides' CPU, for
 * twice the memory.
 */
#define IN_FLIGHT 32
#define LOADS 4
#define LOADS_GATHERING 2     /* with gathering, more loads would only be smaller */
#define GATHER_MAX (16 << 20) /* bytes for one table, before compression */
#define KEPT 4                /* slots whose buffers the sink keeps while it has less to do */

struct clickhouse;

enum slot_state { SLOT_FREE = 0, SLOT_ENCODING, SLOT_READY, SLOT_LOADED };

struct slot {
	struct clickhouse *sink;
	const struct skep_batch *batch;
	enum slot_state state;
	uint64_t turn; /* order of submission */
	bool alone;    /* the server refused a load with this batch without naming it, so the batch goes alone */
	unsigned inserted; /* a bit for each table that has the batch's rows */
	struct rows rows;
	int err;
};

/* The rows of one table, in flight. */
struct part {
	struct load *load;
	struct jsonw joined; /* the rows of several batches, joined */
	struct http_body body;
	const void *data;
	size_t len;
	bool taken;
	bool without[SETTINGS]; /* settings that the current request omits */
};

struct load {
	struct clickhouse *sink;
	unsigned n; /* 0: free */
	struct slot *slots[IN_FLIGHT];
	struct part part[TABLES];
	char token[256]; /* derived from the load's batches; the table's name follows */
	int err;
	unsigned pending;
	struct skep_batch_answer answer; /* the combined answer so far */
	char why[1024];
};

struct clickhouse {
	struct http_options http;
	const char *database, *gather;
	const char **streams;
	bool async_insert;

	const struct skep_host *host;
	struct skep_instance *inst;
	struct http *layer;
	struct skep_counter *rows, *inserts;
	char *url[TABLES]; /* without the parts that differ from batch to batch */
	bool unknown[SETTINGS]; /* settings that the server does not know */
	bool lied;              /* the last answer was a 2xx that is no success, and the log says so */
	struct inserted inserted;
	uint64_t turns;
	struct slot slots[IN_FLIGHT];
	struct load loads[LOADS];
};

/* batch.c: slots of batches. */
int batch_urls(struct clickhouse *); /* sets url[]. 0 or -ENOMEM */
int batch_begin(struct slot *, const struct skep_batch *);
/* Answers the batch; the plugin host may submit the next batch inside. */
void batch_end(struct slot *, const struct skep_batch_answer *);
void batch_slots_free(struct clickhouse *);

/* load.c: sends ready batches while a load is free. */
void load_next(struct clickhouse *);
bool load_gathers(const struct clickhouse *);

#endif
