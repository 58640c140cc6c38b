/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/collector_fixture.c - a collector with test plugins in a folder of its own, its loop, runs that begin and
 * end, and the output of its sinks.
 */
#include "tests/abi/collector_fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/log.h"
#include "tests/abi/support.h"

struct fixture t;



int set_up(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	log_level(SKEP_LOG_ERROR);
	t.dir = support_dir_new();
	support_plugin_copy("detail", t.dir);
	support_plugin_copy("fake", t.dir);
	support_plugin_copy("fakesink", t.dir);
	diag_init(&t.diag);
	assert_int_equal(uv_loop_init(&t.loop), 0);
	return 0;
}

static void on_stopped(void *arg)
{
	(void)arg;
	t.stopped = true;
}

void stop(uint64_t drain_ns)
{
	collector_stop(t.collector, drain_ns, on_stopped, NULL);
	support_loop_until(&t.loop, &t.stopped);
}

int tear_down(void **state)
{
	(void)state;
	if (t.collector && !t.stopped)
		stop(0);
	t.collector = collector_free(t.collector);
	support_loop_close(&t.loop);
	config_free(t.config);
	diag_clear(&t.diag);
	t.dir = support_dir_remove(t.dir);
	return 0;
}

void script(const char *text)
{
	char *path = support_path(t.dir, "script");

	support_write(path, text, strlen(text), 0644);
	free(path);
}

struct config *parse(const char *probe, const char *sinks)
{
	struct config *config;
	char *fmt, *text;

	assert_true(
		asprintf(
			&fmt,
			"{ \"interval\": \"100ms\", \"fold_forks\": false, \"plugin_dirs\": [ \"%%1$s\" ], \"probes\": [ %s ], \"sinks\": [ %s ] }",
			probe, sinks) > 0);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	assert_true(asprintf(&text, fmt, t.dir) > 0);
#pragma GCC diagnostic pop
	free(fmt);
	config = config_parse(text, strlen(text), "test", &t.diag);
	if (!config)
		diag_print(&t.diag, stderr);
	assert_non_null(config);
	free(text);
	return config;
}

int make(bool runs_only, const char *probe, const char *sinks)
{
	struct collector_options options = { .runs_only = runs_only, .batch_age_ns = 20000000 };

	t.config = parse(probe, sinks);
	assert_int_equal(collector_new(&t.loop, t.config, &options, &t.diag, &t.collector), 0);
	return collector_open(t.collector, &t.diag);
}

void start(bool runs_only, const char *sinks)
{
	int err = make(runs_only, PROBE, sinks);

	if (err == 0)
		err = collector_start(t.collector, &t.diag);
	if (err < 0)
		diag_print(&t.diag, stderr);
	assert_int_equal(err, 0);
}

void begin(const char *id, pid_t root)
{
	const char *argv[] = { "make", "all", NULL };
	struct run_spec spec = {
		.id = id, .name = "a name", .pipeline = "pipe", .argv = argv, .cwd = "/somewhere", .root = root
	};

	assert_int_equal(collector_run_begin(t.collector, &spec), 0);
}

void on_run_done(void *arg)
{
	(void)arg;
	t.run_done = true;
}

void end(const char *id, int status)
{
	struct rusage usage = { .ru_utime = { 1, 500 }, .ru_stime = { 2, 0 } };

	t.run_done = false;
	collector_run_end(t.collector, id, status, &usage, NULL, on_run_done, NULL);
	assert_false(t.run_done); /* never from inside the call */
	support_loop_until(&t.loop, &t.run_done);
}

void fifo(const char *name, bool let)
{
	char *path = support_path(t.dir, name);

	if (let) {
		int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);

		assert_true(fd >= 0);
		assert_int_equal(unlink(path), 0); /* later processes find no FIFO */
		close(fd);
	} else {
		assert_int_equal(mkfifo(path, 0600), 0);
	}
	free(path);
}

static void on_turn(uv_timer_t *timer)
{
	uv_stop(timer->loop);
}

void run_for(unsigned ms)
{
	uv_timer_t timer;

	uv_timer_init(&t.loop, &timer);
	uv_timer_start(&timer, on_turn, ms, 0);
	uv_run(&t.loop, UV_RUN_DEFAULT);
	uv_close((uv_handle_t *)&timer, NULL);
	uv_run(&t.loop, UV_RUN_NOWAIT);
}

/* What a sink has written: an array of its lines. */
json_t *written(const char *name)
{
	char *path = support_path(t.dir, name);
	json_t *all = json_array();
	size_t size;
	char *text, *save = NULL;

	if (access(path, F_OK) != 0) {
		free(path);
		return all;
	}
	text = support_read(path, &size);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		json_error_t error;
		json_t *record = json_loads(line, 0, &error);

		if (!record)
			print_error("%s: %s\n", error.text, line);
		assert_non_null(record);
		json_array_append_new(all, record);
	}
	free(text);
	free(path);
	return all;
}

/* The fields of the n-th record of a stream, NULL when there are fewer. */
json_t *record(json_t *all, const char *stream, size_t n)
{
	for (size_t i = 0; i < json_array_size(all); i++) {
		json_t *one = json_array_get(all, i);

		if (strcmp(json_string_value(json_object_get(one, "stream")), stream) == 0 && n-- == 0)
			return json_object_get(one, "fields");
	}
	return NULL;
}

size_t count(json_t *all, const char *stream)
{
	size_t n = 0;

	while (record(all, stream, n))
		n++;
	return n;
}

long long number(json_t *fields, const char *key)
{
	assert_non_null(json_object_get(fields, key));
	return (long long)json_number_value(json_object_get(fields, key));
}

const char *string(json_t *fields, const char *key)
{
	assert_non_null(json_object_get(fields, key));
	return json_string_value(json_object_get(fields, key));
}

json_t *image(json_t *all, long long pid, long long n)
{
	json_t *p;

	for (size_t i = 0; (p = record(all, "process.exit", i)); i++)
		if (number(p, "pid") == pid && number(p, "image") == n)
			return p;
	fail_msg("no record of pid %lld, image %lld", pid, n);
	return NULL;
}

/* seen = delivered + filtered + lost + pending, for every stream and sink. */
void books_balance(uint64_t pending_at_most)
{
	struct collector_stream_stats stats[64];
	size_t n = collector_stats(t.collector, stats, 64);
	uint64_t pending = 0, seen = 0;

	assert_true(n > 0 && n <= 64);
	for (size_t i = 0; i < n; i++) {
		uint64_t out = stats[i].delivered + stats[i].filtered + stats[i].pending;

		for (int where = SKEP_LOSS_KERNEL; where <= SKEP_LOSS_SINK; where++)
			out += stats[i].lost[where];
		assert_int_equal(stats[i].seen, out);
		pending += stats[i].pending;
		seen += stats[i].seen;
	}
	assert_true(seen > 0);
	assert_true(pending <= pending_at_most);
}

struct collector_stream_stats stat_of(const char *stream, const char *sink)
{
	struct collector_stream_stats stats[64];
	size_t n = collector_stats(t.collector, stats, 64);

	for (size_t i = 0; i < n; i++)
		if (strcmp(stats[i].stream, stream) == 0 && strcmp(stats[i].sink, sink) == 0)
			return stats[i];
	fail_msg("no figures of %s at %s", stream, sink);
	return stats[0];
}
