/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/delivery_spool_priv.h - shared by delivery_spool.c (commits), delivery_spool_sink.c (each sink's
 * offset) and delivery_spool_load.c (reading batches back).
 */
#ifndef SKEP_CORE_DELIVERY_SPOOL_PRIV_H
#define SKEP_CORE_DELIVERY_SPOOL_PRIV_H

#include "core/delivery/delivery_commit.h"
#include "core/delivery/delivery_priv.h"

#define WAITING_BYTES (32u << 20) /* of closed batches that wait: over it skepd drops the oldest */

#define SPOOL_DOWN_NS 5000000000u /* after an error skepd tries the spool again */

struct delivery_spool {
	struct spooler *spooler;
	struct delivery_spool_env env;
	struct commit_streams *streams;
	struct commit_batch *waiting, **last_waiting; /* closed batches for the next commit */
	size_t n_waiting, waiting_bytes;
	uint64_t waiting_since_ns; /* first record of a waiting batch, or a cursor's move; 0: no commit is needed */
	uint64_t committed_id;     /* all batches up to this id were committed, or given up */
	uint64_t number;           /* number of the last commit that was begun */
	bool committing, soon;
	uint64_t lag_ns;           /* when skepd last read the sinks' lags */
	/* what the next steps drop (struct commit_drop); all up to `trimmed` is dropped */
	uint64_t trim, trimmed;
	int64_t expire_ns;         /* 0: nothing that is too old is left */
	bool dropping;             /* a step is under way */
	bool last;                 /* commit once more after the commit under way */
	struct delivery_commit *under_way;
	uint64_t down_until_ns;    /* 0: the spool can be written */
	uint64_t unread_until_ns;  /* 0: the spool can be read */
	struct delivery_spool_state state;
	uint64_t first_id;         /* the first batch id of this start */
	int64_t offset_ns;         /* realtime minus boot time, at this start */
	bool ending;
	void (*ended)(void *);
	void *ended_arg;
};

/* A job of one sink for the spool's thread. */
struct sink_job {
	struct spooler_job job;
	struct delivery *out;
	uint64_t sink; /* the sink's serial: the sink may be removed before `done` */
	char *name, *old;
	uint64_t cursor;          /* begin, rename, forget */
	uint64_t behind;          /* begin, forget: the last batch made before the sink was added */
	uint64_t left;            /* forget: records up to `behind` that it has not acknowledged */
	struct batch *batch;      /* load, dead */
	unsigned status;
	int err;
	/* load */
	unsigned replaced;        /* spooler_replaced() after the work */
	struct commit_ask ask;
	struct commit_gone *gone, *expired;
};

/* delivery_spool_job.c */
struct sink_job *sink_job_new(struct delivery *, const struct delivery_sink *, const char *name,
			      void (*work)(struct spooler_job *, struct spool_db *, struct spool_code *),
			      void (*done)(struct spooler_job *));
void sink_job_free(struct sink_job *);
struct delivery_sink *sink_job_sink(const struct sink_job *); /* NULL: the sink was removed */
/* Each job's `done` calls this at its end: the last job of an ending skepd closes the spool's file. */
void delivery_spool_done(struct delivery *);
void delivery_spool_unreadable(struct delivery *, int err);
/*
 * The last batch whose age is known.  When the clock is set after this start, batches of this start seem as old as the
 * jump: some hosts boot in 1970 and get the time from the network later.
 */
uint64_t delivery_spool_aged_upto(const struct delivery *);

/* delivery_spool_sink.c */
/* asks the spool for the sink's offset, unless it is known or a job is asking */
void delivery_spool_begin_again(struct delivery *, struct delivery_sink *);
void delivery_spool_ask_lags(struct delivery *);

/* delivery_spool_load.c */
void delivery_spool_load(struct delivery *, struct delivery_sink *); /* posts a load if the queue has room */
bool delivery_spool_loads(const struct delivery *, const struct delivery_sink *); /* the queue has room for a load */
/*
 * After a damaged file was replaced: counts the batches that only the old file held as lost to each sink.  replaced:
 * spooler_replaced() at the end of the job's work.  A later job may have replaced the file since, while a batch that
 * this job has read from the old file, or written to it, is in no queue yet.
 */
void delivery_spool_see_replaced(struct delivery *, unsigned replaced);
void delivery_spool_see_gone(struct delivery *, const struct commit_gone *);

#endif
