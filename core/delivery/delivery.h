/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/delivery.h - delivery, for the collector: gathers records into batches and offers each batch to every
 * sink through the sink's own queue.  It keeps a ledger per stream and sink:
 * seen = delivered + filtered + lost + pending.
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

/* Callbacks of the collector: it adds its part to a commit, and learns how the commit ended. */
struct delivery_spool_env {
	void (*prepare)(void *arg); /* a commit is about to begin: it takes along the records that prepare emits */
	void (*collect)(void *arg, struct delivery_commit *);     /* adds the collector's current state */
	void (*committed)(void *arg, uint64_t number, bool durable); /* collect has been called with that number */
	void *arg;
	uint64_t max_age_ns; /* the spool drops older batches and counts their records as lost; 0: never */
};

struct delivery_count {
	const struct skep_stream *stream;
	const char *sink; /* borrowed */
	uint64_t seen, delivered, filtered, lost[DELIVERY_LOSSES], pending;
};

/*
 * Copies origin.  Any function of this header may call wake: delivery_tick is then due before the time that
 * delivery_next_ns last returned.  NULL: no memory.
 */
struct delivery *delivery_new(const struct batch_origin *origin, uint64_t batch_age_ns, size_t max_bytes,
			      void (*wake)(void *arg), void *arg);
struct delivery *delivery_free(struct delivery *);

/* Also while records flow: the sink gets the records emitted from now on. name: borrowed. 0 or -ENOMEM. */
int delivery_sink_add(struct delivery *, const char *name, uint32_t max_in_flight,
		      int (*submit)(void *, const struct skep_batch *), void *arg, struct delivery_sink **ret);
/* Returns the stream's number, the same for the same pointer; or -ENOMEM, -E2BIG. */
int delivery_stream_add(struct delivery *, const struct skep_stream *);

/* Replaces the stream by one with more fields. Batches under way still point to the old one. */
void delivery_stream_swap(struct delivery *, int stream, const struct skep_stream *);

/* Copies the record into the open batch. When no memory is left, drops the record and counts it as lost. */
void delivery_emit(struct delivery *, int stream, const struct skep_upid *, uint64_t time_ns, const void *rec,
	      const struct skep_context *);
/* Gives all later batches this offset, also after somebody has set the wall clock. */
void delivery_realtime_offset(struct delivery *, int64_t ns);
/* Counts n records of the stream that were lost before delivery_emit. */
void delivery_lost(struct delivery *, int stream, enum skep_loss where, uint64_t n);

/* Processes a sink's answer for a batch. -ENOENT: the batch is not in flight to this sink. */
int delivery_done(struct delivery *, struct delivery_sink *, const struct skep_batch *,
		  const struct skep_batch_answer *, uint64_t now_ns);
void delivery_sink_kick(struct delivery_sink *);    /* the sink runs again: forgets its backoff */
/*
 * Returns a reference to each batch in flight, for a stopped sink whose threads may still read these batches.  The
 * caller frees the array.  Without memory *ret is NULL and the batches are never freed.
 */
void delivery_sink_hold(const struct delivery_sink *, struct batch ***ret, size_t *ret_n);
void delivery_sink_abandon(struct delivery_sink *); /* the sink has stopped: its batches count as lost(sink) */
/* The sink is about to be removed: it gets no new batches, but its queue still offers the queued ones. */
void delivery_sink_retire(struct delivery *, struct delivery_sink *);
/* The sink has stopped: its batches, in memory and on disk, count as lost(sink), and the spool forgets the sink. */
void delivery_sink_lose(struct delivery *, struct delivery_sink *);
/*
 * The same, and frees it. delivery_lost_total still includes its losses. Call delivery_sink_lose and delivery_losses
 * before, to report these losses.
 */
void delivery_sink_remove(struct delivery *, struct delivery_sink *);
/*
 * A new instance with this name (borrowed) takes over the ledger and the queue. Only while the old instance has nothing
 * in flight, or has stopped.
 */
void delivery_sink_move(struct delivery_sink *, const char *name, uint32_t max_in_flight, void *arg);
void delivery_sink_terms(struct delivery_sink *, const struct sink_terms *); /* from now on */
void delivery_sink_pause(struct delivery_sink *, bool paused); /* a paused queue offers no batch */
bool delivery_sink_busy(const struct delivery_sink *);         /* a batch is in flight */
bool delivery_sink_failing(const struct delivery_sink *);      /* offers have failed since the last success */

/*
 * From now on the spool stores each batch before any sink gets it.  Batches that a sink cannot accept yet are read back
 * later.  Call it before any sink is added.  On success, 0, the delivery owns the spooler, whose thread it has started.
 * Copies env.
 */
int delivery_spool(struct delivery *, struct spooler *, const struct delivery_spool_env *);
bool delivery_spooled(const struct delivery *);
void delivery_commit_soon(struct delivery *);
/* For env.collect: a chunk of the saved state (whole: in place of those before), and a value.  Both are copied. */
void delivery_commit_chunk(struct delivery_commit *, const void *chunk, size_t size, bool whole);
void delivery_commit_value(struct delivery_commit *, const char *name, const void *value, size_t size);
uint64_t delivery_commit_number(const struct delivery_commit *);
/*
 * skep ends, and all sinks have stopped: writes each sink's offset and closes the spool's file, then calls done.
 * Without a spool it calls done at once.
 */
void delivery_spool_end(struct delivery *, void (*done)(void *arg), void *arg);
/* Cancels the `done` of delivery_spool_end: a write of the spool's thread does not return. false: it was called. */
bool delivery_spool_give_up(struct delivery *);
struct delivery_spool_state {
	bool down;            /* the spool cannot be written: new batches are in memory only */
	char why[256];        /* the last error; "" */
	uint64_t commits, errors, waiting_batches, waiting_bytes;
	unsigned replaced;    /* damaged files that were renamed and replaced */
};
void delivery_spool_state(const struct delivery *, struct delivery_spool_state *ret);

/* The name of the host in batches from now on. 0 or -ENOMEM. */
int delivery_host_name(struct delivery *, const char *name);
/* Is every record that was emitted up to that time (boot time) in a closed batch? */
bool delivery_closed_before(const struct delivery *, uint64_t ns);
void delivery_flush(struct delivery *);                  /* closes the open batches; the spool commits them soon */
void delivery_tick(struct delivery *, uint64_t now_ns);  /* closes old batches, offers due ones */
/* when to call delivery_tick; UINT64_MAX: no time is due */
uint64_t delivery_next_ns(const struct delivery *);

uint64_t delivery_last_id(const struct delivery *); /* of the last batch closed; 0: none */
/* True when every batch up to that id was delivered to this sink or counted as lost. */
bool delivery_sink_settled(const struct delivery_sink *, uint64_t id);
uint64_t delivery_lost_total(const struct delivery *, enum skep_loss where);
/* Calls cb for each count of records that queues, spool and sinks lost since the last call; cb may emit. */
void delivery_losses(struct delivery *,
		     void (*cb)(void *arg, const char *sink, const struct skep_stream *, enum skep_loss where,
				uint64_t n),
		     void *arg);
/* State of a sink's queue. */
struct delivery_queue {
	size_t batches, bytes, in_flight;
	uint64_t retries;
	uint64_t sent_bytes; /* on the wire, as reported by the sink */
	bool held;           /* the sink answered HOLD: an operator has to mend the cause */
	const char *why;     /* reason of the last answer while the sink fails, borrowed; "" */
	/* Not acknowledged, the spool's backlog included, as of some seconds ago; 0 without a spool. */
	uint64_t lag_records, lag_bytes;
	int64_t lag_oldest_ns; /* realtime; 0: nothing */
};
struct delivery_queue delivery_sink_queue(const struct delivery_sink *);
size_t delivery_bytes(const struct delivery *);
size_t delivery_counts(const struct delivery *, struct delivery_count *ret, size_t room); /* returns how many exist */

#endif
