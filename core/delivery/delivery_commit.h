/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/delivery_commit.h - the contents of one commit, and its work on the spool's thread.
 */
#ifndef SKEP_CORE_DELIVERY_COMMIT_H
#define SKEP_CORE_DELIVERY_COMMIT_H

#include "core/delivery/batch.h"
#include "core/delivery/delivery.h"
#include "core/delivery/spooler.h"

struct commit_streams;

struct commit_batch {
	struct commit_batch *next;
	struct batch *batch;
	unsigned kind;   /* enum spool_kind */
	bool refused;    /* it could not be written, whatever is done */
};

struct commit_cursor {
	char *name;
	struct spool_offset place;
};

struct commit_line {
	struct skep_upid upid;
	char *text; /* NULL: gone */
};

struct commit_value {
	char *name;
	void *data;
	size_t size;
};

/* A batch that is not on the disk any more. */
struct commit_gone {
	struct commit_gone *next;
	uint64_t id;
	uint32_t n;
	char *counts; /* "STREAM N" a line */
};

struct delivery_commit {
	struct spooler_job job;
	struct delivery *out;
	struct spooler *spooler;
	uint64_t number;
	struct commit_batch *batches;
	struct commit_cursor *cursors;
	size_t n_cursors;
	uint64_t trim; /* what all sinks have settled goes; 0: nothing */
	uint64_t trim_lo, trim_hi; /* and what lies behind the one up to the other */
	int64_t expire_ns; /* those made before that (realtime) go, */
	uint64_t aged_upto; /* up to that one: delivery_spool_aged_upto */
	bool clear; /* lines of before go */
	struct commit_line *lines;
	size_t n_lines, room_lines;
	struct commit_value *values;
	size_t n_values, room_values;
	int err; /* while it is put together: -ENOMEM; afterwards the commit's */
	char why[256];
	struct commit_gone *gone;
};

void commit_batches_free(struct commit_batch *);
void commit_free(struct delivery_commit *);
/* On the thread. */
void commit_work(struct spooler_job *, struct spool_db *, struct spool_code *);
struct commit_ask {
	uint64_t after, upto; /* the first batch behind `after`, not behind `upto` */
	int64_t before_ns;    /* those made before that (realtime) are passed over, up to aged_upto; 0: none */
	uint64_t aged_upto;
	bool more;            /* answer: none yet, but there may be one behind those that were passed over */
};
/*
 * With streams as they were stored; *ret NULL: there is none.  Those that cannot be read are put with the dead and told
 * in *gone, those that were passed over in *expired.
 */
int commit_load(struct spool_db *, struct spool_code *, struct commit_streams *, struct commit_ask *,
		struct batch **ret, struct commit_gone **gone, struct commit_gone **expired);
void commit_gone_free(struct commit_gone *);
/* A body as a batch; *ret is to be let go of. 0, or as spool_decode. */
int commit_read(struct spool_code *, struct commit_streams *, const void *body, size_t size, struct batch **ret,
		char *why, size_t why_size);
char *commit_counts(const struct skep_batch *); /* "STREAM N" a line, to be freed; NULL: no memory */
/* Each "STREAM N" of its counts. */
void commit_gone_counts(const struct commit_gone *, void (*cb)(void *arg, const char *stream, uint64_t n), void *arg);

/*
 * The streams of restored batches: skepd's own ones, and stored ones that belong to no running plugin or had other
 * fields when they were stored.  Records point to them until it is freed.  Any thread but for new and free.
 */
/* origin (borrowed): of batches that do not say, which an earlier skep stored; NULL: they stay without. */
struct commit_streams *commit_streams_new(const struct batch_origin *origin);
void commit_streams_free(struct commit_streams *);
int commit_stream_known(struct commit_streams *, const struct skep_stream *); /* 0 or -ENOMEM */

#endif
