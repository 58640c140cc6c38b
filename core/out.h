/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/out.h - the way out: records are gathered into batches, each batch is offered to
 * every sink by a queue of its own, and every record is accounted for:
 * seen = delivered + filtered + lost + pending, per stream and sink.
 */
#ifndef SKEP_CORE_OUT_H
#define SKEP_CORE_OUT_H

#include <skep/plugin.h>

#define OUT_MAX_BYTES (64u << 20) /* over all queues */
#define OUT_LOSSES 5              /* enum skep_loss + 1 */

struct batch;
struct batch_origin;
struct out;
struct out_sink;
struct out_commit;
struct spooler;

/* What is made durable together with the batches of a commit, and when that is done. */
struct out_spool_env {
	void (*collect)(void *arg, struct out_commit *);     /* adds to it what is known now */
	void (*committed)(void *arg, uint64_t number, bool durable); /* collect has been called with that number */
	void *arg;
	uint64_t max_age_ns; /* what no sink has taken for so long goes; 0: never */
};

struct out_count {
	const struct skep_stream *stream;
	const char *sink; /* borrowed */
	uint64_t seen, delivered, filtered, lost[OUT_LOSSES], pending;
};

/*
 * origin is copied.  wake: there is something to do before the time that out_next_ns
 * gave last; it may be called from inside any of these functions.
 */
struct out *out_new(const struct batch_origin *origin, uint64_t batch_age_ns, size_t max_bytes, void (*wake)(void *arg), void *arg);
struct out *out_free(struct out *);

/* Also while records flow: it gets those that come from now on. name: borrowed. 0 or -ENOMEM. */
int out_sink_add(struct out *, const char *name, uint32_t max_in_flight, int (*submit)(void *, const struct skep_batch *),
		 void *arg, struct out_sink **ret);
/* The stream's number, the same for the same pointer; or -ENOMEM, -E2BIG. */
int out_stream_add(struct out *, const struct skep_stream *);

/* That stream has more fields from now on. The old one is still pointed to by what is on its way. */
void out_stream_swap(struct out *, int stream, const struct skep_stream *);

/* Copies. What cannot be kept is counted. */
void out_emit(struct out *, int stream, const struct skep_upid *, uint64_t time_ns, const void *rec,
	      const struct skep_context *);
/* n records of that stream did not even get here. */
void out_lost(struct out *, int stream, enum skep_loss where, uint64_t n);

/* A sink's answer. -ENOENT: it does not have that batch. */
int out_done(struct out *, struct out_sink *, const struct skep_batch *, const struct skep_batch_answer *, uint64_t now_ns);
void out_sink_kick(struct out_sink *);    /* it runs again */
/* A reference to each batch that it has in flight, for a sink that may go on reading them; on no memory they are never freed. */
void out_sink_hold(const struct out_sink *, struct batch ***ret, size_t *ret_n);
void out_sink_abandon(struct out_sink *); /* it has stopped: what it has not taken is lost(sink) */
/* A sink that goes: nothing new for it, what is in its queue is still offered. */
void out_sink_retire(struct out *, struct out_sink *);
/* It has stopped: out_sink_abandon and its memory; its losses stay in out_lost_total. After out_losses, if they are to be told. */
void out_sink_remove(struct out *, struct out_sink *);
/* Another takes its place in the books and in the queue, under that name (borrowed). Only while it has nothing in flight, or has stopped. */
void out_sink_move(struct out_sink *, const char *name, uint32_t max_in_flight, void *arg);
struct out_terms {
	bool shares;         /* what waited and what is new are sent in turn; false: all in order */
	uint64_t max_age_ns; /* what is older is not sent, and counted; 0: everything is */
};
void out_sink_terms(struct out_sink *, const struct out_terms *); /* from now on */
void out_sink_pause(struct out_sink *, bool paused); /* while paused nothing is offered to it */
bool out_sink_busy(const struct out_sink *);         /* something is in flight */
bool out_sink_failing(const struct out_sink *);      /* its last answers were not ones of success */

/*
 * From now on: batches are durable before any sink gets them, and what a sink cannot take is read back when it
 * can.  Before any sink is added; the spooler, whose thread is started here, is the out's from then on.  env is copied.
 */
int out_spool(struct out *, struct spooler *, const struct out_spool_env *);
bool out_spooled(const struct out *);
void out_commit_soon(struct out *);
/* For env.collect. The text becomes the commit's (free()); NULL: that process is gone. value is copied. */
void out_commit_line(struct out_commit *, const struct skep_upid *, char *text);
void out_commit_clear(struct out_commit *); /* all lines of before go; those that are added are the whole */
void out_commit_value(struct out_commit *, const char *name, const void *value, size_t size);
uint64_t out_commit_number(const struct out_commit *);
/*
 * skep ends, and all sinks have stopped: where each stands is written, the file closed.  done: nothing is under way
 * any more.  At once where there is no spool.
 */
void out_spool_end(struct out *, void (*done)(void *arg), void *arg);
/* Its done is never called from now on, as its thread is in a write that does not return. false: it has been called. */
bool out_spool_give_up(struct out *);
struct out_spool_state {
	bool down;            /* nothing can be written: what comes is kept in memory only */
	char why[256];        /* the last error; "" */
	uint64_t commits, errors, waiting_batches, waiting_bytes;
	unsigned replaced;    /* damaged files put aside */
};
void out_spool_state(const struct out *, struct out_spool_state *ret);

void out_flush(struct out *);                  /* close the open batch */
void out_tick(struct out *, uint64_t now_ns);  /* close what is old, offer what is due */
uint64_t out_next_ns(const struct out *);      /* when to call out_tick; UINT64_MAX: nothing waits for a time */

uint64_t out_last_id(const struct out *); /* of the last batch closed; 0: none */
/* True when this sink has settled every batch up to that one. */
bool out_sink_settled(const struct out_sink *, uint64_t id);
uint64_t out_lost_total(const struct out *, enum skep_loss where);
/* Calls back for what queues and sinks lost since the last time; cb may emit. */
void out_losses(struct out *, void (*cb)(void *arg, const char *sink, const struct skep_stream *, enum skep_loss where, uint64_t n), void *arg);
/* What waits in a sink's queue; offers that it has put off. */
struct out_queue {
	size_t batches, bytes, in_flight;
	uint64_t retries;
	uint64_t sent_bytes; /* on the wire, as far as sinks say */
	bool held;           /* it waits for somebody to mend something */
	bool shares;         /* what is new goes beside what waited */
	const char *why;     /* of its last answer while it fails, borrowed; "" */
	/* Not settled, the spool's backlog included, as it was some seconds ago; without a spool 0. */
	uint64_t lag_records, lag_bytes;
	int64_t lag_oldest_ns; /* realtime; 0: nothing */
};
struct out_queue out_sink_queue(const struct out_sink *);
size_t out_bytes(const struct out *);
size_t out_counts(const struct out *, struct out_count *ret, size_t room); /* how many there are */

#endif
