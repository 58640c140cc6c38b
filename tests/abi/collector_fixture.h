/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/collector_fixture.h - for tests of the collector behind the plugin interface; see collector_fixture.c. Each
 * function fails the test when it cannot do its work.
 */
#ifndef SKEP_TESTS_ABI_COLLECTOR_FIXTURE_H
#define SKEP_TESTS_ABI_COLLECTOR_FIXTURE_H

#include <jansson.h>

#include "core/collect/collector.h"

struct fixture {
	uv_loop_t loop;
	char *dir;
	struct config *config;
	struct collector *collector;
	struct diag diag;
	bool run_done, stopped;
};
extern struct fixture t;

#define PROBE "{ \"plugin\": \"fake\", \"script\": \"%1$s/script\" }"
#define SINK "{ \"plugin\": \"fakesink\", \"path\": \"%1$s/out\" }"

int set_up(void **state);    /* a folder with the test plugins, a loop */
int tear_down(void **state); /* stops the collector if the test has not */
void script(const char *text); /* for the fake probe */
/* probe, sinks: JSON, with %1$s for the test's folder. */
struct config *parse(const char *probe, const char *sinks);
/* Returns the result of collector_open(). */
int make(bool runs_only, const char *probe, const char *sinks);
void start(bool runs_only, const char *sinks); /* with the fake probe, started */
void begin(const char *id, pid_t root);
void end(const char *id, int status); /* and waits until the run has ended */
void on_run_done(void *arg); /* sets t.run_done */
void run_for(unsigned ms);
void stop(uint64_t drain_ns);

/* Makes a FIFO, or (let) opens it for writing, so that its readers continue. */
void fifo(const char *name, bool let);
json_t *written(const char *name); /* the output of a sink: an array of its lines */
json_t *record(json_t *all, const char *stream, size_t n); /* the fields of the n-th record of a stream, NULL: fewer */
size_t count(json_t *all, const char *stream);
long long number(json_t *fields, const char *key);
const char *string(json_t *fields, const char *key);
json_t *image(json_t *all, long long pid, long long n);
/* seen = delivered + filtered + lost + pending, for every stream and sink. */
void books_balance(uint64_t pending_at_most);
struct collector_stream_stats stat_of(const char *stream, const char *sink);

#endif
