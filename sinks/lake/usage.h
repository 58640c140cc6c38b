/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake/usage.h - sums what a host, its GPUs and its containers use per hour (table usage_hour) over a batch, from
 * the records of probes and the core.  A group then costs one statement per batch and not one per record.
 */
#ifndef SKEP_SINKS_LAKE_USAGE_H
#define SKEP_SINKS_LAKE_USAGE_H

#include <skep/record.h>

#include "sinks/lake/db.h"

/* The columns of usage_hour behind its key, in their order. */
enum usage_value {
	USAGE_FIRST,
	USAGE_LAST,
	USAGE_KNOWN, /* from here on sums ... */
	USAGE_CAPACITY,
	USAGE_BUSY,
	USAGE_IDLE,
	USAGE_RUNS,
	USAGE_DAEMONS,
	USAGE_MEMORY, /* ... but these two, which are maxima ... */
	USAGE_MEMORY_LIMIT,
	USAGE_RX,
	USAGE_TX,
	USAGE_READ,
	USAGE_WRITE,
	USAGE_IDLE_MINUTES, /* ... and these two, sets of bits */
	USAGE_OTHER_MINUTES,
	USAGE_PASS, /* of a container: the time of the records, in 10 ms; 0 otherwise */
	USAGE_PASS_KNOWN,
	USAGE_PASS_MEMORY,
	USAGE_VALUES,
};

/* The fields of a stream that tell of usage, found once. */
#define USAGE_FIELDS 7
struct usage_stream {
	enum usage_of { USAGE_NONE, USAGE_LEDGER, USAGE_HOST_MEMORY, USAGE_GPU, USAGE_CGROUP, USAGE_SAMPLE } of;
	const struct skep_field *field[USAGE_FIELDS]; /* NULL: the stream lacks it */
};
void usage_bind(const struct skep_stream *, struct usage_stream *ret);

/* What all records of a batch have in common. */
struct usage_batch {
	const char *host, *boot_id;
	int64_t offset; /* realtime = boot time + offset */
};

struct usage;

struct usage *usage_new(void); /* NULL: no memory */
struct usage *usage_free(struct usage *);
void usage_clear(struct usage *);
/* Adds a record, if it has usage; writes the groups to the file when there are many. 0 or an errno of db.h. */
int usage_add(struct usage *, struct db *, const struct usage_batch *, const struct usage_stream *,
	      const struct skep_record *);
int usage_flush(struct usage *, struct db *);

#endif
