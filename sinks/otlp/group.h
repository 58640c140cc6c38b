/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp/group.h - the sums that go on from batch to batch: for each stream and each set of
 * attributes one group, with a value for each point of the stream's plan.
 */
#ifndef SKEP_SINKS_OTLP_GROUP_H
#define SKEP_SINKS_OTLP_GROUP_H

#include <skep/hash.h>

#include "sinks/otlp/pb.h"
#include "sinks/otlp/plan.h"

#define GROUP_KEY_SIZE 2048
#define GROUP_ATTRIBUTE_MOST 255u /* bytes of an attribute's value: the rest is cut */

struct group_hist {
	uint64_t slots[SKEP_HIST_SLOTS], sum;
};

union group_value {
	uint64_t u;
	int64_t i;
	double f;
	struct group_hist *hist; /* NULL: nothing yet */
};

struct group {
	struct group *next;         /* of the same hash */
	struct group *next_touched; /* in plan->touched */
	const struct plan *plan;
	bool touched, overflow; /* overflow: the group of all records beyond max_series */
	uint32_t hash, key_len, attrs_len, hist_attrs_len;
	uint64_t start_ns, last_ns, told_ns; /* realtime: begin of its sums, newest record, last point that was sent */
	/* KeyValues as NumberDataPoint (7) and as ExponentialHistogramDataPoint (1) have them */
	uint8_t *attrs, *hist_attrs;
	uint8_t *key;                        /* pairs of name and value, each text ending with NUL */
	union group_value values[];
};

/* The attributes of a record, being put together. */
struct group_key {
	uint8_t text[GROUP_KEY_SIZE];
	uint32_t len;
	bool full;
};
void group_key_add(struct group_key *, const char *name, struct skep_str value); /* an empty value is left out */
void group_key_text(struct group_key *, const char *name, const char *value);

struct groups {
	struct group **table;
	struct skep_hash_key key;
	uint32_t room, n, most;
	uint64_t forgot_ns;  /* when it was last looked for groups to forget */
	uint64_t floor_ns;   /* realtime: no sum begins earlier, because one of the same name may have ended then */
	uint64_t overflowed; /* records counted in the overflow group */
};
#define GROUPS_FORGET_NS UINT64_C(3600000000000) /* a group that nothing was said of for so long makes room */

int groups_init(struct groups *, uint32_t most);
void groups_free(struct groups *);
void groups_restart(struct groups *); /* all sums begin anew with their next record */
/* The group of that key, made where there is none; the one for all others where there are too many. NULL: no memory. */
struct group *groups_get(struct groups *, const struct plan *, struct group_key *, uint64_t now_ns);

#endif
