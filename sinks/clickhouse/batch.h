/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/clickhouse/batch.h - a batch on its way: rows for each table, encoded on a thread; then a load of one or more
 * batches, which is an INSERT for each table that got any, and one answer when all of them have theirs.
 */
#ifndef SKEP_SINKS_CLICKHOUSE_BATCH_H
#define SKEP_SINKS_CLICKHOUSE_BATCH_H

#include <skep/sink/http.h>
#include <skep/sink/http_body.h>

#include "sinks/clickhouse/answer.h"
#include "sinks/clickhouse/inserted.h"
#include "sinks/clickhouse/rows.h"

/*
 * An INSERT costs a server far more than its rows (18.16.1: 124 files, and a merge soon): with 500 rows the rows cost
 * next to nothing.  So one load gathers the batches that arrived while other loads were under way.  64 would save
 * another tenth of both sides' CPU, for twice the memory.
 */
#define IN_FLIGHT 32
#define LOADS 4
#define LOADS_GATHERING 2     /* more of them would be smaller ones */
#define GATHER_MAX (16 << 20) /* bytes for one table, before compression */
#define KEPT 4                /* slots whose buffers are kept when there is less to do */

struct clickhouse;

enum slot_state { SLOT_FREE = 0, SLOT_ENCODING, SLOT_READY, SLOT_LOADED };

struct slot {
	struct clickhouse *sink;
	const struct skep_batch *batch;
	enum slot_state state;
	uint64_t turn; /* in which they were submitted */
	bool alone;    /* sent alone: the server refused a load with it, and did not say for which batch */
	unsigned inserted; /* tables that have its rows: a bit for each */
	struct rows rows;
	int err;
};

/* The rows of one table, under way. */
struct part {
	struct load *load;
	struct jsonw joined; /* of more than one batch */
	struct http_body body;
	const void *data;
	size_t len;
	bool taken;
	bool without[SETTINGS]; /* settings that the request under way leaves out */
};

struct load {
	struct clickhouse *sink;
	unsigned n; /* 0: free */
	struct slot *slots[IN_FLIGHT];
	struct part part[TABLES];
	char token[256]; /* made from the batches of the load; the table's name follows */
	int err;
	unsigned pending;
	struct skep_batch_answer answer; /* the answers so far */
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
	char *url[TABLES]; /* without what differs from batch to batch */
	bool unknown[SETTINGS]; /* the server does not know it */
	struct inserted inserted;
	uint64_t turns;
	struct slot slots[IN_FLIGHT];
	struct load loads[LOADS];
};

/* batch.c */
int batch_urls(struct clickhouse *); /* makes url[]. 0 or -ENOMEM */
int batch_begin(struct slot *, const struct skep_batch *);
/* Its answer, which may bring the next batch. */
void batch_end(struct slot *, const struct skep_batch_answer *);
void batch_slots_free(struct clickhouse *);

/* load.c: sends ready batches while a load is free. */
void load_next(struct clickhouse *);
bool load_gathers(const struct clickhouse *);

#endif
