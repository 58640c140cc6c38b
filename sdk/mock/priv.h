/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/mock/priv.h - the state and functions that the files of the mock host share.
 */
#ifndef SKEP_SDK_MOCK_PRIV_H
#define SKEP_SDK_MOCK_PRIV_H

#include <pthread.h>
#include <skep/mock.h>

/* skep/plugin.h leaves these types to the plugin host; the mock defines its own. */
struct skep_instance {
	struct skep_mock *mock;
};

struct skep_counter {
	char *name;
	uint64_t value;
	struct skep_counter *next;
};

/* The mock frees handles only at the end, so that it can report the use of a closed handle instead of crashing. */
struct skep_watch {
	struct skep_mock *mock;
	struct skep_watch *next;
	int fd;
	unsigned events;
	skep_watch_cb cb;
	void *arg;
	bool closed;
};

struct skep_timer {
	struct skep_mock *mock;
	struct skep_timer *next;
	uint64_t due_ns, repeat_ns;
	skep_timer_cb cb;
	void *arg;
	bool closed, fired; /* fired: a single-shot timer that has run */
};

struct mock_work {
	struct skep_mock *mock;
	struct mock_work *next;
	pthread_t thread;
	skep_work_cb work;
	skep_done_cb done;
	void *arg;
};

struct skep_mock_record {
	const struct skep_stream *stream;
	unsigned number; /* index of the stream */
	struct skep_upid who;
	uint64_t time_ns;
	void *data;  /* its strings point into text */
	char *text;
	struct skep_mock_record *next;
};

struct mock_signal {
	char *name, *how, *why;
	enum skep_signal_state state;
	struct mock_signal *next;
};

struct mock_detail {
	int64_t id;
	bool over;
	struct mock_detail *next;
};

/* Numbers (fds or threads) that the mock saw around the plugin's callbacks. */
struct mock_set {
	int *at;
	size_t n, room;
};

enum mock_life { MOCK_NEW, MOCK_OPEN, MOCK_RUNNING, MOCK_STOPPED, MOCK_CLOSED };

/* Process-wide state as text, one line for each item. */
#define MOCK_PROCESS_LINES 8

struct skep_mock_priv {
	pthread_t loop;
	enum mock_life life;    /* threads read it, too */
	bool ending;            /* the plugin may start no more work() */
	unsigned depth;         /* number of callbacks in progress */
	const char *callback;   /* name of the outermost callback */
	uint64_t entered_ns;
	bool failed_with_reason;
	uint64_t now_ns, sampled_ns;

	void *next_state; /* the options that the test has set; equal to the plugin's state until the test sets one */
	bool options_changed;
	struct mock_set dirty; /* indices of options that the test has set after open() */
	void **memory; /* texts of options */
	size_t n_memory;

	struct skep_watch *watches;
	struct skep_timer *timers;
	struct mock_work *works;
	struct skep_counter *counters;
	struct skep_mock_record *records, **records_end;
	uint64_t *lost;    /* for each stream */
	unsigned *emitted; /* for each stream, since forget() */
	struct mock_signal *signals;
	struct mock_detail *details;
	int64_t last_detail;
	const struct skep_batch **in_flight;
	size_t n_in_flight;
	struct mock_set known_cgroups;

	pthread_mutex_t lock; /* protects defects, which worker threads report, too */
	char **defects;
	size_t n_defects;

	struct mock_set fds_before, fds, threads_before, threads; /* process.c maintains these */
	char *process_before[MOCK_PROCESS_LINES];
};

void *mock_need(void *); /* ends the program when its argument is NULL */
/* Reports a mistake of the test, and ends the program. */
void mock_misuse(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* Records a defect of the plugin. Any thread may call it. */
void mock_defect(struct skep_mock *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Writes the test's mistake to the mock's `why`, and returns err. */
int mock_refuse(struct skep_mock *, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
uint64_t mock_clock_ns(void); /* monotonic */

/* Call these around each callback of the plugin. has_budget: the mock checks the callback's duration. */
void mock_enter(struct skep_mock *, const char *callback);
void mock_leave(struct skep_mock *, bool has_budget);

/* host.c: implements the functions of struct skep_host. */
void mock_host_fill(struct skep_host *);
/*
 * True when the plugin may call the function now and from here; else records a defect. any_thread: any thread may call
 * it.
 */
bool mock_may(struct skep_mock *, const char *function, bool any_thread);
void mock_host_free(struct skep_mock_priv *);

/* loop.c */
int mock_watch_fd(struct skep_instance *, int fd, unsigned events, skep_watch_cb, void *arg, struct skep_watch **ret);
void mock_watch_close(struct skep_watch *);
int mock_timer(struct skep_instance *, uint64_t first_ms, uint64_t repeat_ms, skep_timer_cb, void *arg,
	       struct skep_timer **ret);
void mock_timer_close(struct skep_timer *);
int mock_work(struct skep_instance *, skep_work_cb, skep_done_cb, void *arg);
void mock_close_leftovers(struct skep_mock *);
void mock_loop_free(struct skep_mock_priv *);

/* records.c */
void mock_emit(struct skep_instance *, unsigned stream, const struct skep_upid *who, uint64_t time_ns, const void *rec);
void mock_lost(struct skep_instance *, unsigned stream, enum skep_loss where, uint64_t n);
void mock_records_free(struct skep_mock_priv *);

/* options.c */
void mock_options_default(struct skep_mock *);
/* Returns the index of an option, -1: none. Accepts plugins of an older or newer ABI. */
int mock_option_find(const struct skep_plugin *, const char *name, struct skep_option *ret);
bool mock_option_get(const struct skep_plugin *, int i, struct skep_option *ret);
size_t mock_option_size(uint32_t type);
void mock_options_free(struct skep_mock_priv *);

/* detail.c */
const struct skep_detail *mock_detail_of_stream(const struct skep_plugin *, unsigned stream);
void mock_detail_over(struct skep_instance *, uint64_t id, const char *why);
void mock_details_end(struct skep_mock *); /* calls detach() for every attached detail */
bool mock_detail_attached(const struct skep_mock_priv *, uint64_t id);
void mock_details_free(struct skep_mock_priv *);

/* process.c: watches the state that belongs to the process, not to a plugin. */
void mock_process_before(struct skep_mock *); /* call it before a callback */
void mock_process_after(struct skep_mock *);  /* call it after a callback */
void mock_process_threads_left(struct skep_mock *);
void mock_process_fds_left(struct skep_mock *);
void mock_process_free(struct skep_mock_priv *);

void mock_set_add(struct mock_set *, int);
bool mock_set_has(const struct mock_set *, int);
void mock_set_remove(struct mock_set *, int);

#endif
