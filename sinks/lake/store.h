/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake/store.h - the folder of month files: chooses the file of each record, writes a transaction per batch and
 * file, and sets damaged files aside.  Only the worker thread may call it, one call at a time.
 */
#ifndef SKEP_SINKS_LAKE_STORE_H
#define SKEP_SINKS_LAKE_STORE_H

#include <skep/plugin.h>

#include "sinks/lake/db.h"
#include "sinks/lake/retain.h"

struct store;

struct store_options {
	const char *path;
	struct db_options db;
	struct retain_bounds bounds;
	struct skep_instance *instance;
	const struct skep_host *host;
	struct skep_counter *rows, *again, *aside, *removed, *cut, *held; /* any may be NULL */
};

/* The state after the last check of the bounds; bytes 0: no check yet. */
const struct retain_state *store_state(const struct store *);
/* Sets the bounds, from the next batch on. */
void store_bound(struct store *, const struct retain_bounds *);

/* Creates the folder and this month's file. Sets *ret only on success, else why->text. */
int store_open(const struct store_options *, struct db_why *, struct store **ret);
struct store *store_close(struct store *);

/*
 * Stores a batch.  Returns 0 when the batch is in the lake; *ret_refused records are then only in the sums.  On error
 * returns an errno of db.h, or -EDQUOT while the file system has less free than min_free; the reason in why->text.
 */
int store_apply(struct store *, const struct skep_batch *, struct db_why *, uint32_t *ret_refused);

/* Numbers months as year * 12 + month (0..11), in UTC. */
unsigned store_month(int64_t realtime_ns);

#endif
