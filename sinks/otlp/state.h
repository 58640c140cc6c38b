/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp/state.h - the sink's state, which its files share.
 *
 *  otlp.c    descriptor, options, callbacks
 *  flight.c  takes a batch through encoding and up to three requests
 *  answer.c  combines the receiver's answers into one
 *  summed.c  keys of batches that the sums include
 */
#ifndef SKEP_SINKS_OTLP_STATE_H
#define SKEP_SINKS_OTLP_STATE_H

#include <skep/sink/http.h>
#include <skep/sink/http_body.h>

#include "sinks/otlp/settings.h"

#define IN_FLIGHT 4
/* Batches in flight, and parked batches that wait for the plugin host's next attempt: the sink keeps their bytes. */
#define FLIGHTS (3 * IN_FLIGHT)
/* Unfinished batches that the sums include, and that the plugin host offers in parts or without their encoded bytes. */
#define SUMMED    64

struct otlp;

/* The request of one signal for a batch. */
enum part_state {
	PART_NONE = 0, /* the batch has no data for this signal, or the receiver accepted it before */
	PART_WAITS,    /* to be sent, or sent and unanswered */
	PART_TAKEN,
	PART_REFUSED,  /* refused for good */
};

struct part {
	enum part_state state;
	enum http_encoding encoding;
	void *data; /* the body, while the part waits */
	size_t len;
	uint32_t items, refused;
};

enum flight_state { FLIGHT_FREE = 0, FLIGHT_QUEUED, FLIGHT_ENCODING, FLIGHT_SENDING, FLIGHT_PARKED };

struct flight {
	struct otlp *sink;
	enum flight_state state;
	const struct skep_batch *batch; /* borrowed from the plugin host; NULL: parked or free */
	char *key;
	uint64_t order;   /* order of submission or parking */
	bool was_summed;  /* the sums include its records already */
	bool skip[SIGNALS];
	int err;          /* error of the encoding */
	size_t largest;   /* size of a body over the limit, before compression; 0: no body is too large */
	uint64_t left_out;
	uint32_t n_records[SIGNAL_SETS]; /* as in struct encoder */
	struct part parts[SIGNALS];
	unsigned n_sent;       /* requests that have no answer yet */
	struct skep_batch_answer answer; /* the combined answer of the parts so far */
	char why[512], why_refused[512];
};

struct summed {
	char *key;
	uint64_t used; /* a full table drops the entry with the least recent look-up; 0: free */
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
	struct encoder encoder; /* the worker owns it while is_encoding is true */
	char *resource_of;      /* boot, host and kernel of the encoded resource, also the worker's; NULL: none yet */
	struct http_body body;  /* also the worker's */
	bool is_encoding;
	uint64_t clock;
	struct flight flights[FLIGHTS];
	struct summed summed[SUMMED];
	struct skep_counter *items[SIGNALS], *refused, *left_out, *overflowed;
};

int flight_submit(struct otlp *, const struct skep_batch *);
void flight_reset(struct flight *);
/* Answers the plugin host. The flight is then free, or parked with the parts that wait. */
void flight_answer(struct flight *, enum flight_state then);
/* Handles the answer to one request. */
void part_answered(struct flight *, enum signal, struct http_reply *);
/* Combines the answers, once every request has one. */
void flight_over(struct flight *);
void flight_say(char why[512], enum signal, const char *what, const char *words);

/*
 * Notes the flight's key, and takes ownership of it. Adds no entry for a part when the whole batch's entry says the
 * same.
 */
void summed_add(struct otlp *, struct flight *);
/*
 * Finds the entry of a batch, or of the batch that it is a part of ("KEY/0" of "KEY", "KEY/0/1" of "KEY/0"), or NULL.
 */
const struct summed *summed_find(struct otlp *, const char *key);

/* Clears all flights after skep_http_stop(): the plugin host has its batches back. */
void flights_clear(struct otlp *);

#endif
