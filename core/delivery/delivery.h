/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/delivery.h - the way out: records are gathered into batches, each batch is offered to
 * every sink by a queue of its own, and every record is accounted for:
 * seen = delivered + filtered + lost + pending, per stream and sink.
 */
#ifndef SKEP_CORE_DELIVERY_H
#define SKEP_CORE_DELIVERY_H

#include <skep/plugin.h>

#include "core/config/sink_terms.h"

#define DELIVERY_MAX_BYTES (64u << 20) /* over all queues */
#define DELIVERY_LOSSES 5              /* enum skep_loss + 1 */

struct batch;
struct batch_origin;
struct delivery;
struct delivery_sink;
struct delivery_commit;
struct spooler;

/* The collector's part of a commit, and its notice of the commit's end. */
struct delivery_spool_env {
	void (*collect)(void *arg, struct delivery_commit *);     /* adds the state of this moment */
	void (*committed)(void *arg, uint64_t number, bool durable); /* collect has been called with that number */
	void *arg;
	uint64_t max_age_ns; /* a batch older than this is dropped, and counts as lost; 0: never */
};

struct delivery_count {
	const struct skep_stream *stream;
	const char *sink; /* borrowed */
	uint64_t seen, delivered, filtered, lost[DELIVERY_LOSSES], pending;
};

/*
 * origin is copied.  wake: there is something to do before the time that delivery_next_ns
 * gave last; it may be called from inside any of these functions.
 */
struct delivery *delivery_new(const struct batch_origin *origin, uint64_t batch_age_ns, size_t max_bytes,
			      void (*wake)(void *arg), void *arg);
struct delivery *delivery_free(struct delivery *);

/* Also while records flow: the sink gets records from now on. name: borrowed. 0 or -ENOMEM. */
int delivery_sink_add(struct delivery *, const char *name, uint32_t max_in_flight,
		      int (*submit)(void *, const struct skep_batch *), void *arg, struct delivery_sink **ret);
/* The stream's number, the same for the same pointer; or -ENOMEM, -E2BIG. */
int delivery_stream_add(struct delivery *, const struct skep_stream *);

/* The stream has more fields from now on. Batches under way still point to the old one. */
void delivery_stream_swap(struct delivery *, int stream, const struct skep_stream *);

/* Copies. What cannot be kept is counted. */
void delivery_emit(struct delivery *, int stream, const struct skep_upid *, uint64_t time_ns, const void *rec,
	      const struct skep_context *);
/* n records of that stream did not even get here. */
void delivery_lost(struct delivery *, int stream, enum skep_loss where, uint64_t n);

/* A sink's answer. -ENOENT: it does not have that batch. */
int delivery_done(struct delivery *, struct delivery_sink *, const struct skep_batch *,
		  const struct skep_batch_answer *, uint64_t now_ns);
void delivery_sink_kick(struct delivery_sink *);    /* it runs again */
/*
 * A reference to each batch that it has in flight, for a sink that may go on reading them; on no memory they are never
 * freed.
 */
void delivery_sink_hold(const struct delivery_sink *, struct batch ***ret, size_t *ret_n);
void delivery_sink_abandon(struct delivery_sink *); /* it has stopped: its batches count as lost(sink) */
/* The sink is about to go: it gets no new batches, and is still offered its queue. */
void delivery_sink_retire(struct delivery *, struct delivery_sink *);
/*
 * It has stopped: delivery_sink_abandon and its memory; its losses stay in delivery_lost_total. Call delivery_losses
 * before, to report them.
 */
void delivery_sink_remove(struct delivery *, struct delivery_sink *);
/*
 * Another takes its place in the books and in the queue, under that name (borrowed). Only while it has nothing in
 * flight, or has stopped.
 */
void delivery_sink_move(struct delivery_sink *, const char *name, uint32_t max_in_flight, void *arg);
void delivery_sink_terms(struct delivery_sink *, const struct sink_terms *); /* from now on */
void delivery_sink_pause(struct delivery_sink *, bool paused); /* while paused nothing is offered to it */
bool delivery_sink_busy(const struct delivery_sink *);         /* something is in flight */
bool delivery_sink_failing(const struct delivery_sink *);      /* its last answers were not ones of success */

/*
 * From now on: batches are durable before any sink gets them, and what a sink cannot take is read back when it
 * can.  Before any sink is added; the spooler, whose thread is started here, is the out's from then on.  env is copied.
 */
int delivery_spool(struct delivery *, struct spooler *, const struct delivery_spool_env *);
bool delivery_spooled(const struct delivery *);
void delivery_commit_soon(struct delivery *);
/* For env.collect. The text becomes the commit's (free()); NULL: that process is gone. value is copied. */
void delivery_commit_line(struct delivery_commit *, const struct skep_upid *, char *text);
void delivery_commit_clear(struct delivery_commit *); /* drops all stored lines */
void delivery_commit_value(struct delivery_commit *, const char *name, const void *value, size_t size);
uint64_t delivery_commit_number(const struct delivery_commit *);
/*
 * skep ends, and all sinks have stopped: where each stands is written, the file closed.  done: nothing is under way
 * any more.  At once where there is no spool.
 */
void delivery_spool_end(struct delivery *, void (*done)(void *arg), void *arg);
/* Its done is never called from now on, as its thread is in a write that does not return. false: it has been called. */
bool delivery_spool_give_up(struct delivery *);
struct delivery_spool_state {
	bool down;            /* the spool cannot be written: new batches are in memory only */
	char why[256];        /* the last error; "" */
	uint64_t commits, errors, waiting_batches, waiting_bytes;
	unsigned replaced;    /* damaged files put aside */
};
void delivery_spool_state(const struct delivery *, struct delivery_spool_state *ret);

void delivery_flush(struct delivery *);                  /* close the open batch */
void delivery_tick(struct delivery *, uint64_t now_ns);  /* closes old batches, offers due ones */
/* when to call delivery_tick; UINT64_MAX: nothing waits for a time */
uint64_t delivery_next_ns(const struct delivery *);

uint64_t delivery_last_id(const struct delivery *); /* of the last batch closed; 0: none */
/* True when this sink has settled every batch up to that one. */
bool delivery_sink_settled(const struct delivery_sink *, uint64_t id);
uint64_t delivery_lost_total(const struct delivery *, enum skep_loss where);
/* Calls back for what queues and sinks lost since the last time; cb may emit. */
void delivery_losses(struct delivery *,
		     void (*cb)(void *arg, const char *sink, const struct skep_stream *, enum skep_loss where,
				uint64_t n),
		     void *arg);
/* What waits in a sink's queue; offers that it has put off. */
struct delivery_queue {
	size_t batches, bytes, in_flight;
	uint64_t retries;
	uint64_t sent_bytes; /* on the wire, as far as sinks say */
	bool held;           /* it waits until an operator mends the cause */
	bool shares;         /* old and new batches are offered in turn */
	const char *why;     /* of its last answer while it fails, borrowed; "" */
	/* Not settled, the spool's backlog included, as it was some seconds ago; without a spool 0. */
	uint64_t lag_records, lag_bytes;
	int64_t lag_oldest_ns; /* realtime; 0: nothing */
};
struct delivery_queue delivery_sink_queue(const struct delivery_sink *);
size_t delivery_bytes(const struct delivery *);
size_t delivery_counts(const struct delivery *, struct delivery_count *ret, size_t room); /* how many there are */

#endif
