/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/mock.h - a host for the tests of one plugin, without skepd and without privilege.
 *
 * The mock is strict where skepd is tolerant.  It prints and counts each breach of the contract of
 * skep/plugin.h as a defect: a function of the host called from a wrong thread or after close(), a
 * watch closed twice or after its fd, a watch or timer left open, a record that contradicts its
 * fields, changed process-wide state, ...  Link with libskep-mock (pkg-config skep-mock).
 *
 *	struct skep_mock m;
 *
 *	skep_mock_init(&m, skep_plugin_entry(NULL));
 *	skep_mock_option(&m, "root", "testdata");
 *	SKEP_MOCK_CHECK(skep_mock_start(&m) == 0);
 *	skep_mock_sample(&m);
 *	SKEP_MOCK_CHECK(skep_mock_u64(skep_mock_record(&m, "example.files", 0), "files.open") == 1184);
 *	return skep_mock_end(&m) ? 1 : 0;
 *
 * Only the thread that called skep_mock_init(), the loop thread, may call these functions.  When
 * memory runs out, or the test makes a mistake (it names a stream that the plugin does not have),
 * the mock ends the program with a message.
 */
#ifndef SKEP_MOCK_H
#define SKEP_MOCK_H

#include <skep/plugin.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SKEP_MOCK_BOOT_ID "01234567-89ab-cdef-0123-456789abcdef"

struct skep_mock_priv;

/* The function that SKEP_PLUGIN() defines; a test is linked with the plugin's own objects. */
const struct skep_plugin *skep_plugin_entry(const struct skep_host *);

struct skep_mock {
	/* Set by skep_mock_init(). A test may replace functions and members of host before open(). */
	const struct skep_plugin *plugin;
	struct skep_host host;
	struct skep_instance *instance;
	void *state; /* the plugin's */

	/* Orders: a test may change them at any time. */
	bool quiet;       /* print neither log lines nor defects */
	/* work() calls work and done at once, in the caller; default: work on a thread, done in skep_mock_settle() */
	bool inline_work;
	int fail_work;    /* a negative errno: work() returns it; watch_fd() and timer() likewise */
	int fail_watch;
	int fail_timer;
	bool fail_counter; /* counter() returns NULL, as without memory */
	/* of boundaries(): empty lists, until a test sets its own and raises the generation */
	struct skep_boundaries boundaries;

	/* Results. */
	unsigned acks, retries, rejects; /* answers to batches */
	unsigned holds, splits, suspects;
	struct skep_batch_answer answer; /* the last one; its why is in `why` */
	unsigned errors_logged;          /* lines of level SKEP_LOG_ERROR */
	unsigned defects;
	char why[1024];    /* of the last fail(), batch_done() or refusal by the mock itself; "" */
	char logged[1024]; /* last line of the log */
	uint64_t drained_ns; /* time_ns of the last call of drained() */
	uint64_t worst_ns;   /* longest callback that has a budget */

	struct skep_mock_priv *priv;
};

/* A copy of an emitted record. */
struct skep_mock_record;

/* ---- life ------------------------------------------------------------------- */

void skep_mock_init(struct skep_mock *, const struct skep_plugin *);
/*
 * Sets an option, with a text as in a configuration: "64MiB", "5s", "true", "12".  Before open() it
 * writes the state; afterwards the option waits for skep_mock_reload().  0, or -EINVAL with `why`.
 */
int skep_mock_option(struct skep_mock *, const char *name, const char *text);
/* Sets an option of type SKEP_O_STRV; copies the list, which ends with NULL. NULL: not set. */
int skep_mock_option_list(struct skep_mock *, const char *name, const char *const *list);
/* Calls open() and returns its result; calls close() after an error. */
int skep_mock_open(struct skep_mock *);
/* Calls open(), unless it was called, and start(). Returns the result; calls close() after an error. */
int skep_mock_start(struct skep_mock *);
void skep_mock_sample(struct skep_mock *);
void skep_mock_flush(struct skep_mock *);
/*
 * Applies changed options as the host does: 0, all were RELOADABLE and reload() accepted them;
 * -ENOTSUP, the host would restart the plugin; or the result of reload().  Options that reload() did
 * not accept keep their values.
 */
int skep_mock_reload(struct skep_mock *);
/* Waits for work(), then calls stop(). Counts each watch or timer that the plugin left open as a defect; closes it. */
void skep_mock_stop(struct skep_mock *);
/* Calls stop() if it is due, and close(). Keeps records and defects. */
void skep_mock_close(struct skep_mock *);
/* Calls skep_mock_close() if the test has not; frees everything. Returns the number of defects. */
unsigned skep_mock_end(struct skep_mock *);

/* ---- time, fds, work --------------------------------------------------------- */

/*
 * Advances the mock's clock: calls due timers, in their order, and sample() each host.interval_ns.
 * (CLOCK_BOOTTIME, which a plugin reads by itself, does not jump.)
 */
void skep_mock_advance(struct skep_mock *, uint64_t ns);
uint64_t skep_mock_now(const struct skep_mock *); /* since init, ns */
/* Calls the callbacks of ready watches until no fd becomes ready within wait_ms. Returns the number of calls. */
unsigned skep_mock_poll(struct skep_mock *, int wait_ms);
/* Waits until no work() is under way; calls its done callbacks. */
void skep_mock_settle(struct skep_mock *);

/* ---- emitted records ---------------------------------------------------------- */

unsigned skep_mock_count(const struct skep_mock *, const char *stream);
/*
 * Record number i of that stream, in order; i < 0: from the end (-1: the last). It must exist. Borrowed until forget()
 * or end().
 */
const struct skep_mock_record *skep_mock_record(const struct skep_mock *, const char *stream, int i);
void skep_mock_forget(struct skep_mock *); /* frees records, keeps defects */
uint64_t skep_mock_time(const struct skep_mock_record *);
struct skep_upid skep_mock_who(const struct skep_mock_record *); /* pid 0: not about a process */
/* The value of a field by its name; the field must have the function's type. */
uint64_t skep_mock_u64(const struct skep_mock_record *, const char *field); /* also TIME and BOOL */
int64_t skep_mock_i64(const struct skep_mock_record *, const char *field);
double skep_mock_f64(const struct skep_mock_record *, const char *field);
const char *skep_mock_str(const struct skep_mock_record *, const char *field); /* STR; of a STRV, item 0 */
uint64_t skep_mock_lost(const struct skep_mock *, const char *stream);         /* sum of lost() */
uint64_t skep_mock_counter(const struct skep_mock *, const char *name);        /* 0: none of that name */
/* The last signal() of that name; 0: none. how, why may be NULL. */
enum skep_signal_state skep_mock_signal(const struct skep_mock *, const char *name, const char **how, const char **why);
/* Defect number i, from 0, borrowed; NULL: no more. */
const char *skep_mock_defect(const struct skep_mock *, unsigned i);

/* ---- details ------------------------------------------------------------------- */

/* Attaches the detail of that name: its id, or the negative errno of attach(). */
int64_t skep_mock_attach(struct skep_mock *, const char *detail, enum skep_scope kind, uint64_t value);
void skep_mock_detach(struct skep_mock *, int64_t id);
bool skep_mock_detail_over(const struct skep_mock *, int64_t id); /* the plugin called detail_over() for it */

/* ---- sinks ----------------------------------------------------------------------- */

/* Returns the result of submit(); counts answers in acks, retries, rejects. */
int skep_mock_submit(struct skep_mock *, const struct skep_batch *);

/* A batch of records; it owns copies of their structs and contexts, and borrows their strings. */
struct skep_mock_batch {
	struct skep_batch batch;
	char key[64];
	size_t room;
	struct skep_record **records;
};

struct skep_mock_batch *skep_mock_batch_new(uint64_t id, int64_t realtime_offset_ns);
struct skep_mock_batch *skep_mock_batch_free(struct skep_mock_batch *); /* NULL is fine; returns NULL */
void skep_mock_batch_add(struct skep_mock_batch *, const struct skep_stream *, const struct skep_upid *,
			 uint64_t time_ns, const void *data, const struct skep_context *);
struct skep_str skep_mock_text(const char *); /* borrowed */
/* A list of strings from a literal: "a\0b" */
#define SKEP_MOCK_STRV(lit_) ((struct skep_str){ .ptr = (lit_), .len = sizeof(lit_), .total = sizeof(lit_) })

/* ---- checks ------------------------------------------------------------------------ */

/* For tests without a framework: prints the condition that does not hold, and ends the program with 1. */
#define SKEP_MOCK_CHECK(cond_)                                                                  \
	do {                                                                                    \
		if (!(cond_)) {                                                                 \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond_);     \
			exit(1);                                                                \
		}                                                                               \
	} while (0)

#ifdef __cplusplus
}
#endif
#endif
