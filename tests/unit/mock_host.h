/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/mock_host.h - a small host for tests of one plugin: options, logging,
 * work, batch fates; and a builder for batches of the core's own streams.
 */
#ifndef SKEP_TESTS_MOCK_HOST_H
#define SKEP_TESTS_MOCK_HOST_H

#include <pthread.h>
#include <skep/plugin.h>

#define MOCK_BOOT_ID "01234567-89ab-cdef-0123-456789abcdef"

struct mock;

/* The type is the host's: this is it. */
struct skep_instance {
	struct mock *mock;
};

struct skep_counter {
	char name[64];
	uint64_t value;
};

struct mock {
	struct skep_instance instance;
	struct skep_host host;
	const struct skep_plugin *plugin;
	void *state;
	bool threads;  /* work() on a thread of its own; mock_wait() runs done() */
	bool quiet;    /* do not print what is logged */
	int fail_work; /* work() returns this */

	/* what happened */
	unsigned acks, retries, rejects, errors_logged;
	char why[1024];    /* of the last batch_done or fail */
	char logged[1024]; /* last line */
	struct skep_counter counters[16];
	unsigned n_counters;

	pthread_t thread;
	bool busy;
	skep_work_cb work;
	skep_done_cb done;
	void *work_arg;
};

/* Aborts the test when there is no memory. */
void mock_init(struct mock *, const struct skep_plugin *);
/* Set an option; text as in a config. false: no such option, or not of a type that text can be. */
bool mock_option(struct mock *, const char *name, const char *text);
void mock_option_strv(struct mock *, const char *name, const char **list);
int mock_open(struct mock *);
int mock_start(struct mock *); /* open and start */
int mock_submit(struct mock *, const struct skep_batch *);
/* Until no work is under way. */
void mock_wait(struct mock *);
uint64_t mock_counter(const struct mock *, const char *name);
/* stop, close, free. */
void mock_end(struct mock *);

/* ---- batches -------------------------------------------------------------- */

/* Owns copies of the records' structs and contexts; strings are borrowed. */
struct mock_batch {
	struct skep_batch batch;
	char key[64];
	size_t room;
	struct skep_record **records;
};

struct mock_batch *mock_batch_new(uint64_t id, int64_t realtime_offset_ns);
struct mock_batch *mock_batch_free(struct mock_batch *);
void mock_batch_add(struct mock_batch *, const struct skep_stream *, const struct skep_upid *, uint64_t time_ns,
		    const void *data, const struct skep_context *);

struct skep_str mock_str(const char *); /* borrowed */
#define MOCK_STRV(lit) ((struct skep_str){ .ptr = (lit), .len = sizeof(lit), .total = sizeof(lit) })

#endif
