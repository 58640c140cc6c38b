/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/batch.h - rows of several runs from a server.  Internal to lake/.
 *
 * A server needs some milliseconds for a question, and reads blocks of thousands of rows, however few rows the answer
 * has.  So the runs of a batch are asked for together.
 */
#ifndef SKEP_LAKE_BATCH_H
#define SKEP_LAKE_BATCH_H

#include "lake/rows.h"

/* Runs for a question of ClickHouse: LAKE_RUN_IDS() and LAKE_RUN_NAMES() are two of its values. */
struct lake_run_list {
	const char **ids, **names; /* of each run: its id, borrowed; id and boot id as LAKE_OF_RUN() compares them */
	size_t n, room;
	size_t bytes; /* of the texts as a question has them */
};

#define LAKE_RUN_IDS(list_)   LAKE_TEXTS((list_)->ids, (int64_t)(list_)->n)
#define LAKE_RUN_NAMES(list_) LAKE_TEXTS((list_)->names, (int64_t)(list_)->n)
/* The name is in the arena. 0 or -ENOMEM. */
int lake_run_list_add(struct lake_run_list *, struct arena *, const char *id, const char *boot_id);
void lake_run_list_free(struct lake_run_list *);

/*
 * What a question (its clickhouse_runs is not NULL) answers about the run of that key, which is in the batch.  The
 * first call with a question asks the server; then each run may ask once.  0, and the caller closes the cursor; or
 * -errno with the reason in the file's why.
 */
int lake_batch_rows(struct lake_batch *, struct lake_file *, const struct lake_question *, const struct lake_key *,
		    struct server_rows **ret);

#endif
