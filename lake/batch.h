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

/*
 * What a question (its clickhouse_runs is not NULL) answers about the run of that key, which is in the batch.  The
 * first call with a question asks the server; then each run may ask once.  0, and the caller closes the cursor; or
 * -errno with the reason in the file's why.
 */
int lake_batch_rows(struct lake_batch *, struct lake_file *, const struct lake_question *, const struct lake_key *,
		    struct server_rows **ret);

#endif
