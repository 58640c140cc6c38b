/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/ledger.h - the ledger: accounts to which probes post levels (skep/record.h, struct skep_ledger_post).
 * The unattributed amount of an account is its reference less its parts.  The ledger depends on no probe, clock or
 * sink.
 */
#ifndef SKEP_CORE_LEDGER_H
#define SKEP_CORE_LEDGER_H

#include <skep/record.h>

#define LEDGER_ACCOUNTS 16u
#define LEDGER_ITEMS 16u /* in each account */
#define LEDGER_NAME 24u  /* bytes, with the NUL */

enum ledger_kind { LEDGER_REFERENCE, LEDGER_PART, LEDGER_MEMO, LEDGER_UNATTRIBUTED };

struct ledger;
struct ledger_mark; /* a copy of all levels at one time */

struct ledger *ledger_new(void);
struct ledger *ledger_free(struct ledger *);

/*
 * Sets the level of an item.  -EINVAL: a name is empty or too long; -ENOSPC: no room for another account or item.
 * ledger_refused() counts both.
 */
int ledger_post(struct ledger *, const struct skep_ledger_post *);
uint64_t ledger_refused(const struct ledger *);
/*
 * Returns the level to post when another instance posted the item before (a reload replaces instances).  An instance
 * whose amount is below its predecessor's last amount has begun from 0: its amount counts on top of the predecessor's
 * level.  Else both instances read the same source, and the amount stands as it is.  by: the instance's serial number,
 * larger for later instances; posts of an earlier instance no longer change the level.
 */
int64_t ledger_level(struct ledger *, uint64_t by, const struct skep_ledger_post *);

/* Copies all levels.  NULL: no memory. */
struct ledger_mark *ledger_mark(const struct ledger *, uint64_t time_ns);
struct ledger_mark *ledger_mark_free(struct ledger_mark *);
uint64_t ledger_mark_time(const struct ledger_mark *);

struct ledger_line {
	const char *account, *item; /* item: "unattributed" for LEDGER_UNATTRIBUTED */
	enum ledger_kind kind;
	int64_t amount;
};
/*
 * Calls cb with the amounts posted between two marks, for each account whose reference is in both marks.  Order: the
 * reference, the parts, the memos (each in the order of their first posts), then unattributed.
 */
void ledger_between(const struct ledger_mark *from, const struct ledger_mark *to,
		    void (*cb)(void *arg, const struct ledger_line *), void *arg);
const char *ledger_kind_name(enum ledger_kind); /* "reference" "part" "memo" "unattributed" */

#endif
