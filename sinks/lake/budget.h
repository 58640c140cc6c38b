/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake/budget.h - how much of the lake each user may write.
 *
 * The sink keeps the lake within its bounds by removing the oldest files.  Without a budget, one user's unique
 * arguments and paths would therefore push out the history of all other users.  Each user may write a quarter of the
 * bound at once, and the same amount again every day.  Beyond this budget the sink cuts the texts of the user's rows.
 * After a sixteenth of the bound more it adds the rows to the sums and does not store them.  The user is the one who
 * answers for the record (skep/record.h, payer): subordinate uids share their owner's budget.
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
	int64_t most; /* bytes at once, and per day; 0: no budget */
	struct budget_user {
		uint64_t key;
		int64_t left, time_ns; /* left may be negative; time_ns 0: free entry */
	} user[BUDGET_PLACES + 1];     /* the last entry: users who find no free entry */
};

/* max_bytes 0: no budget.  Each user keeps the rest of the old budget, up to the new one. */
void budget_set(struct budget *, uint64_t max_bytes);
/* Returns the user's account, valid until the next call; NULL: no budget is set. now_ns: monotonic, above 0. */
struct budget_user *budget_user(struct budget *, uint64_t key, int64_t now_ns);
enum budget_level budget_level(const struct budget *, const struct budget_user *);

#endif
