/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake/store.h - the folder of files: which record goes into which file,
 * a transaction per batch and file, damaged files set aside.  Worker thread only,
 * one at a time.
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
	struct skep_counter *rows, *again, *aside, *removed, *cut; /* any may be NULL */
};

/* As the last look at the bounds found it; bytes 0: there was none yet. */
const struct retain_state *store_state(const struct store *);
/* From the next batch on. */
void store_bound(struct store *, const struct retain_bounds *);

/* Makes the folder and this month's file. *ret is set only on success; why->text says why not. */
int store_open(const struct store_options *, struct db_why *, struct store **ret);
struct store *store_close(struct store *);

/*
 * 0: the batch is in, or was already; of *ret_refused records only the sums are.  Else as db.h has it; why->text says
 * why.
 */
int store_apply(struct store *, const struct skep_batch *, struct db_why *, uint32_t *ret_refused);

/* Months are numbered year * 12 + month (0..11), UTC. */
unsigned store_month(int64_t realtime_ns);

#endif
