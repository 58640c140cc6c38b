/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/ledger.h - the books: accounts in which probes post levels (skep/record.h, struct
 * skep_ledger_post), and what is left when the parts are taken from the reference.
 * Knows no probe, no clock and no sink.
 */
#ifndef SKEP_CORE_LEDGER_H
#define SKEP_CORE_LEDGER_H

#include <skep/record.h>

#define LEDGER_ACCOUNTS 16u
#define LEDGER_ITEMS 16u /* of an account */
#define LEDGER_NAME 24u  /* with the NUL */

enum ledger_kind { LEDGER_REFERENCE, LEDGER_PART, LEDGER_MEMO, LEDGER_UNATTRIBUTED };

struct ledger;
struct ledger_mark; /* the levels at one time */

struct ledger *ledger_new(void);
struct ledger *ledger_free(struct ledger *);

/*
 * -EINVAL: no name, or one that is too long; -ENOSPC: more accounts or items than there is room for. Both are counted.
 */
int ledger_post(struct ledger *, const struct skep_ledger_post *);
uint64_t ledger_refused(const struct ledger *);
/*
 * The level to be posted, where whoever posts an item may change: one who begins from 0 where another
 * stood higher goes on from there; one who reads the same source goes on as it is.  by: a number,
 * larger for who came later; who came before has no say any more.
 */
int64_t ledger_level(struct ledger *, uint64_t by, const struct skep_ledger_post *);

/* All levels as they are; NULL: no memory. */
struct ledger_mark *ledger_mark(const struct ledger *, uint64_t time_ns);
struct ledger_mark *ledger_mark_free(struct ledger_mark *);
uint64_t ledger_mark_time(const struct ledger_mark *);

struct ledger_line {
	const char *account, *item; /* "unattributed" for that kind */
	enum ledger_kind kind;
	int64_t amount;
};
/*
 * What was posted from one mark to the other: for each account whose reference is in both,
 * the reference, its parts and memos in the order of their first post, unattributed last.
 */
void ledger_between(const struct ledger_mark *from, const struct ledger_mark *to,
		    void (*cb)(void *arg, const struct ledger_line *), void *arg);
const char *ledger_kind_name(enum ledger_kind); /* "reference" "part" "memo" "unattributed" */

#endif
