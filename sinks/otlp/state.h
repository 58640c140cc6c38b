/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp/state.h - what the files of the sink share.
 *
 *	otlp.c    descriptor, options, life
 *	flight.c  a batch's way: encoded once, up to three requests
 *	answer.c  the receiver's answers to them as one
 *	summed.c keys of batches that the sums include
 */
#ifndef SKEP_SINKS_OTLP_STATE_H
#define SKEP_SINKS_OTLP_STATE_H

#include <skep/sink/http.h>
#include <skep/sink/http_body.h>

#include "sinks/otlp/settings.h"

#define IN_FLIGHT 4
/* Batches in flight, and parked ones, which wait for the host's next attempt: the sink keeps their bytes. */
#define FLIGHTS (3 * IN_FLIGHT)
/* Batches that the sums include and that are not done: offered in parts, or without their encoded bytes. */
#define SUMMED    64

struct otlp;

/* One signal's request of a batch. */
enum part_state {
	PART_NONE = 0, /* the batch has no data for this signal, or the receiver accepted it before */
	PART_WAITS,    /* to be sent, or sent and not answered */
	PART_TAKEN,
	PART_REFUSED,  /* for good */
};

struct part {
	enum part_state state;
	enum http_encoding encoding;
	void *data; /* while it waits */
	size_t len;
	uint32_t items, refused;
};

enum flight_state { FLIGHT_FREE = 0, FLIGHT_QUEUED, FLIGHT_ENCODING, FLIGHT_SENDING, FLIGHT_PARKED };

struct flight {
	struct otlp *sink;
	enum flight_state state;
	const struct skep_batch *batch; /* the host's; NULL: parked or free */
	char *key;
	uint64_t order;   /* when it was submitted or parked */
	bool was_summed;  /* its records are in the sums already */
	bool skip[SIGNALS];
	int err;          /* of encoding */
	size_t largest;   /* body, before compression, where it is more than is allowed; 0: none is */
	uint64_t left_out;
	struct part parts[SIGNALS];
	unsigned n_sent;       /* answers that are awaited */
	struct skep_batch_answer answer; /* what the parts' answers come to */
	char why[512], why_refused[512];
};

struct summed {
	char *key;
	uint64_t used; /* the entry with the least recent look-up makes room; 0: free */
	bool done[SIGNALS];
};

struct otlp {
	struct settings settings;

	const struct skep_host *host;
	struct skep_instance *inst;
	struct signal_settings of[SIGNALS];
	struct http *http[SIGNALS];
	bool wanted[SIGNALS];
	char *service;
	struct encoder encoder; /* of the worker, while is_encoding */
	char *resource_of;      /* the same: which boot, host and kernel its resource is; NULL: none yet */
	struct http_body body;  /* likewise */
	bool is_encoding;
	uint64_t clock;
	struct flight flights[FLIGHTS];
	struct summed summed[SUMMED];
	struct skep_counter *items[SIGNALS], *refused, *left_out, *overflowed;
};

int flight_submit(struct otlp *, const struct skep_batch *);
void flight_reset(struct flight *);
/* Answers the host; the flight is free afterwards, or parked with the parts still to be sent. */
void flight_answer(struct flight *, enum flight_state then);
/* An answer to one request. */
void part_answered(struct flight *, enum signal, struct http_reply *);
/* All of them are there. */
void flight_over(struct flight *);
void flight_say(char why[512], enum signal, const char *what, const char *words);

/* Takes the flight's key. Adds no entry for a part when the entry of its whole batch says the same. */
void summed_add(struct otlp *, struct flight *);
/* The entry of the batch, or of a batch that it is a part of ("KEY/0" of "KEY", "KEY/0/1" of "KEY/0"). NULL: neither. */
const struct summed *summed_find(struct otlp *, const char *key);

/* After skep_http_stop(): batches are the host's again, nothing is remembered. */
void flights_clear(struct otlp *);

#endif
