/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/delivery_commit.h - one commit to the spool: its contents, and its work on the spool's thread; reading
 * batches back.
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
	bool refused;    /* spool_encode cannot encode it (-E2BIG, -EINVAL): a retry does not help */
};

struct commit_cursor {
	char *name;
	uint64_t id;
};

struct commit_value {
	char *name;
	void *data;
	size_t size;
};

/* A batch that was removed from the spool or passed over before every sink had acknowledged it. */
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
	uint64_t trim; /* all sinks have acknowledged the batches up to this id; 0: none */
	void *chunk; /* of the saved state; NULL: nothing has changed */
	size_t chunk_size;
	bool chunk_whole;
	struct commit_value *values;
	size_t n_values, room_values;
	int err; /* before the work: -ENOMEM or 0; afterwards the result of the commit */
	char why[256];
	unsigned replaced; /* spooler_replaced() after the work */
	struct commit_gone *gone;
};

/*
 * A step that drops batches, in a transaction of its own: a large backlog that is dropped delays no new batch for long.
 * The next step follows when this one is done and counted.
 */
struct commit_drop {
	struct spooler_job job;
	struct delivery *out;
	struct spooler *spooler;
	uint64_t trim;      /* deletes batches up to this id: all sinks have acknowledged them; 0: none */
	int64_t expire_ns;  /* drops batches made before this time (realtime); 0: none */
	uint64_t aged_upto; /* only ids up to this one expire: delivery_spool_aged_upto */
	bool more;          /* answer: others are left for the next step */
	int err;            /* < 0: this step has dropped none */
	unsigned replaced;  /* spooler_replaced() after the work */
	struct commit_gone *gone;
};

void commit_batches_free(struct commit_batch *);
void commit_free(struct delivery_commit *);
/* Run on the spool's thread. */
void commit_work(struct spooler_job *, struct spool_db *, struct spool_code *);
void commit_drop_work(struct spooler_job *, struct spool_db *, struct spool_code *);
struct commit_ask {
	uint64_t after, upto; /* loads the first batch with an id in (after, upto] */
	int64_t before_ns;    /* passes over batches made before this time (realtime), up to aged_upto; 0: none */
	uint64_t aged_upto;
	bool more;            /* answer: no batch yet, but the spool may hold one behind the batches passed over */
};
/*
 * Loads a batch, with its streams as they were stored; *ret NULL: there is none.  Moves unreadable batches to the dead
 * letters and adds them to *gone.  Adds the batches passed over to *expired.  0 or -errno.
 */
int commit_load(struct spool_db *, struct spool_code *, struct commit_streams *, struct commit_ask *,
		struct batch **ret, struct commit_gone **gone, struct commit_gone **expired);
void commit_gone_free(struct commit_gone *);
/* Decodes a body into a batch; the caller unrefs *ret. Returns 0 or the error of spool_decode. */
int commit_read(struct spool_code *, struct commit_streams *, const void *body, size_t size, struct batch **ret,
		char *why, size_t why_size);
char *commit_counts(const struct skep_batch *); /* "STREAM N" a line; the caller frees it; NULL: no memory */
/* Calls cb for each "STREAM N" of the counts. */
void commit_gone_counts(const struct commit_gone *, void (*cb)(void *arg, const char *stream, uint64_t n), void *arg);

/*
 * The streams of restored batches: those of running plugins, and stored streams of a plugin that no longer runs or
 * has other fields now.  Records point to these streams until commit_streams_free.  Any thread, except new and free.
 */
struct commit_streams *commit_streams_new(void);
void commit_streams_free(struct commit_streams *);
int commit_stream_known(struct commit_streams *, const struct skep_stream *); /* 0 or -ENOMEM */

#endif
