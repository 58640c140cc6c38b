/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/out_spool_priv.h - between out_spool.c (commits), out_spool_sink.c (where each sink stands) and out_spool_load.c
 * (what is read back).
 */
#ifndef SKEP_CORE_OUT_SPOOL_PRIV_H
#define SKEP_CORE_OUT_SPOOL_PRIV_H

#include "core/out_commit.h"
#include "core/out_priv.h"

#define SPOOL_DOWN_NS 5000000000u /* after an error the spool is tried again */

struct out_spool {
	struct spooler *spooler;
	struct out_spool_env env;
	struct commit_streams *streams;
	struct commit_batch *waiting, **last_waiting; /* closed, not durable yet */
	size_t n_waiting, waiting_bytes;
	uint64_t waiting_since_ns; /* or since when a cursor has moved; 0: nothing is to be written */
	uint64_t committed_id;     /* that batch and all before it were committed, or given up */
	uint64_t number;           /* of the last commit that was begun */
	bool committing, soon;
	uint64_t lag_ns;           /* when the sinks' lags were last asked for */
	bool last;                 /* one more commit, when the one under way is done */
	struct out_commit *under_way;
	uint64_t down_until_ns;    /* 0: the spool can be written */
	uint64_t unread_until_ns;  /* 0: and read */
	struct out_spool_state state;
	uint64_t first_id;         /* of this start */
	int64_t offset_ns;         /* between the clocks, at this start */
	bool ending;
	void (*ended)(void *);
	void *ended_arg;
};

/* Something of one sink for the spool's thread. */
struct sink_job {
	struct spooler_job job;
	struct out *out;
	uint64_t sink; /* its serial: it may be gone */
	char *name, *old;
	struct spool_place place; /* begin, rename */
	uint64_t behind;          /* begin: the last batch that was made before that sink came */
	struct batch *batch;      /* load, dead */
	unsigned status;
	int err;
	/* load */
	unsigned lane;
	struct commit_ask ask;
	struct commit_gone *gone, *expired;
};

/* At the end of each job's done. */
void out_spool_done(struct out *);
/*
 * The age of batches up to that id can be told.  Of those of this start it cannot when the clock has been set since, as on hosts
 * that boot in 1970 and ask for the time later: they would all be as old as the jump.
 */
uint64_t out_spool_aged_upto(const struct out *);

/* out_spool_sink.c */
void out_spool_begin_again(struct out *, struct out_sink *); /* if its place is not known, and nobody is asking */
struct sink_job *sink_job_new(struct out *, const struct out_sink *, const char *name,
			      void (*work)(struct spooler_job *, struct spool_db *, struct spool_code *), void (*done)(struct spooler_job *));
void sink_job_free(struct sink_job *);
struct out_sink *sink_job_sink(const struct sink_job *); /* NULL: it is not there any more */
struct spool_place out_spool_place(const struct out_sink *);
void out_spool_share(struct out *, struct out_sink *);   /* what waited and what is new get lanes of their own, or become one again */
void out_spool_ask_lags(struct out *);

/* out_spool_load.c */
void out_spool_load(struct out *, struct out_sink *); /* what its lanes have room for */
bool out_spool_loads(const struct out *, const struct out_sink *); /* it would */
void out_spool_unreadable(struct out *, int err);
void out_spool_see_replaced(struct out *);
void out_spool_see_gone(struct out *, const struct commit_gone *);

#endif
