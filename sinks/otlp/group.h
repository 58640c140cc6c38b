/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp/group.h - the sums that continue from batch to batch.  A group holds the sums of one stream and one set of
 * attributes, with a value for each point of the stream's plan.
 */
#ifndef SKEP_SINKS_OTLP_GROUP_H
#define SKEP_SINKS_OTLP_GROUP_H

#include <skep/hash.h>

#include "sinks/otlp/pb.h"
#include "sinks/otlp/plan.h"

#define GROUP_KEY_SIZE 2048
#define GROUP_ATTRIBUTE_MOST 255u /* the group cuts an attribute's value to this many bytes */

struct group_hist {
	uint64_t slots[SKEP_HIST_SLOTS], sum;
};

union group_value {
	uint64_t u;
	int64_t i;
	double f;
	struct group_hist *hist; /* NULL: no value yet */
};

struct group {
	struct group *next;         /* next group with the same hash */
	struct group *next_touched; /* next group in plan->touched */
	const struct plan *plan;
	bool touched, overflow; /* overflow: the group of all records beyond max_series */
	uint32_t hash, key_len, attrs_len, hist_attrs_len;
	uint64_t start_ns, last_ns, sent_ns; /* realtime: begin of its sums, newest record, last sent point */
	/* KeyValues, encoded for NumberDataPoint (field 7) and for ExponentialHistogramDataPoint (field 1) */
	uint8_t *attrs, *hist_attrs;
	uint8_t *key;                        /* pairs of name and value; a NUL ends each text */
	union group_value values[];
};

/* The attributes of a record while the sink collects them. */
struct group_key {
	uint8_t text[GROUP_KEY_SIZE];
	uint32_t len;
	bool full;
};
void group_key_add(struct group_key *, const char *name, struct skep_str value); /* omits an empty value */
void group_key_text(struct group_key *, const char *name, const char *value);

struct groups {
	struct group **table;
	struct skep_hash_key key;
	uint32_t room, n, most;
	uint64_t forgot_ns;  /* time of the last scan for groups to forget */
	uint64_t floor_ns;   /* realtime: no sum begins earlier, as an earlier one of its name may have ended then */
	uint64_t overflowed; /* records counted in the overflow group */
};
#define GROUPS_FORGET_NS UINT64_C(3600000000000) /* the table may forget a group without a record for this long */

int groups_init(struct groups *, uint32_t most);
void groups_free(struct groups *);
void groups_restart(struct groups *); /* every sum begins anew with its next record */
/* Returns the group of a key, or creates it; when the table is full, the stream's overflow group. NULL: no memory. */
struct group *groups_get(struct groups *, const struct plan *, struct group_key *, uint64_t now_ns);

#endif
