/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake/budget.h - how much of the lake each user may write.
 *
 * The lake's bounds always hold, because the sink removes the oldest files.  Without a budget one user's unique
 * arguments and paths would therefore push the history of all others out.  Each user may write a quarter of max_bytes
 * at once and again in each day.  Beyond that the texts of that user's rows are cut, and a sixteenth of max_bytes later
 * the rows are added to the sums and not stored.
 */
#ifndef SKEP_SINKS_LAKE_BUDGET_H
#define SKEP_SINKS_LAKE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

enum budget_level {
	BUDGET_WHOLE,
	BUDGET_CUT, /* store the row with its texts cut */
	BUDGET_SUM, /* store no row */
};

#define BUDGET_PLACES 1024 /* a power of two */

struct budget {
	int64_t most; /* bytes at once, and in a day; 0: no budget */
	struct budget_user {
		uint64_t key;
		int64_t left, time_ns; /* left may be negative; time_ns 0: free */
	} user[BUDGET_PLACES + 1];     /* the last: all that find no place */
};

/* max_bytes 0: no budget.  What users have left is kept, up to the new budget. */
void budget_set(struct budget *, uint64_t max_bytes);
/* The user's account, borrowed until the next call; NULL: there is no budget. now_ns: monotonic, above 0. */
struct budget_user *budget_user(struct budget *, uint64_t key, int64_t now_ns);
enum budget_level budget_level(const struct budget *, const struct budget_user *);

#endif
