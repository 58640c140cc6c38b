/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp through its plugin entry, against a receiver in a process of its own that answers as the test orders:
 * which records the sink sends again, that sums count each record once, and what becomes of the receiver's messages.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/process/records.h"
#include "skep/mock.h"
#include "sinks/otlp/request.h"

#define OFFSET INT64_C(2500000000000000000) /* records are made after the sink's start */
#define S UINT64_C(1000000000)

/* ---- a receiver ------------------------------------------------------------------------------ */

struct got {
	char path[64], header[256]; /* of the request; the value of x-test */
	size_t len;
	uint8_t body[1 << 18];
};

/*
 * In memory shared with the receiver's process: in the test's own the mock would count the receiver's fds as leaks of
 * the plugin.
 */
static struct receiver {
	int fd;
	unsigned port;
	pthread_mutex_t lock;
	struct got got[64];
	unsigned n;
	/* The statuses for each signal, for the first n requests; afterwards 200 */
	struct {
		unsigned times, status;
		const char *headers, *type; /* type: NULL: that of OTLP */
		const void *body;
		size_t len;
	} answers[SIGNALS];
} *shared;
#define receiver (*shared)

static int signal_of(const char *path)
{
	for (int s = 0; s < SIGNALS; s++)
		if (strstr(path, signal_names[s]))
			return s;
	return SIGNAL_LOGS;
}

static void reply_to(int fd, const char *path)
{
	char head[512];
	int s = signal_of(path), n;
	unsigned status = 200;
	const char *headers = "", *type = "application/x-protobuf";
	const void *body = NULL;
	size_t len = 0;

	pthread_mutex_lock(&receiver.lock);
	if (receiver.answers[s].times) {
		receiver.answers[s].times--;
		status = receiver.answers[s].status;
		headers = receiver.answers[s].headers ? receiver.answers[s].headers : "";
		type = receiver.answers[s].type ? receiver.answers[s].type : type;
		body = receiver.answers[s].body;
		len = receiver.answers[s].len;
	}
	pthread_mutex_unlock(&receiver.lock);
	n = snprintf(head, sizeof(head),
		     "HTTP/1.1 %u X\r\n%s%s%sContent-Length: %zu\r\n%s\r\n", status, *type ? "Content-Type: " : "",
		     type, *type ? "\r\n" : "", len, headers);
	if (write(fd, head, (size_t)n) != n || (len && write(fd, body, len) != (ssize_t)len))
		return;
}

/* Reads one request; false: the connection has ended. */
static bool serve_one(int fd)
{
	static const char length_name[] = "Content-Length: ", test_name[] = "x-test: ";
	char head[4096] = "", *at;
	size_t n = 0, len = 0, have = 0;
	struct got *g;

	while (!strstr(head, "\r\n\r\n")) {
		if (n + 1 >= sizeof(head) || read(fd, head + n, 1) != 1)
			return false;
		head[++n] = '\0';
	}
	at = strcasestr(head, length_name);
	if (at)
		len = strtoul(at + strlen(length_name), NULL, 10);
	pthread_mutex_lock(&receiver.lock);
	g = &receiver.got[receiver.n++ % 64];
	g->path[0] = g->header[0] = '\0';
	g->len = len < sizeof(g->body) ? len : 0;
	sscanf(head, "POST %63s", g->path);
	at = strcasestr(head, test_name);
	if (at)
		sscanf(at + strlen(test_name), "%255[^\r]", g->header);
	pthread_mutex_unlock(&receiver.lock);
	if (len >= sizeof(g->body))
		return false;
	while (have < len) {
		ssize_t part = read(fd, g->body + have, len - have);

		if (part <= 0)
			return false;
		have += (size_t)part;
	}
	reply_to(fd, g->path);
	return true;
}

static void *serve(void *arg)
{
	int fd = (int)(intptr_t)arg;

	while (serve_one(fd))
		;
	close(fd);
	return NULL;
}

static void listen_on(void)
{
	int fd;

	while ((fd = accept(receiver.fd, NULL, NULL)) >= 0) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd) == 0)
			pthread_detach(thread);
	}
}

static pid_t process;

static int set_up_all(void **state)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	pthread_mutexattr_t attributes;
	socklen_t len = sizeof(a);

	(void)state;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || pthread_mutexattr_init(&attributes) != 0)
		return -1;
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&receiver.lock, &attributes);
	receiver.fd = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(receiver.fd, (struct sockaddr *)&a, len) < 0 || listen(receiver.fd, 16) < 0 ||
	    getsockname(receiver.fd, (struct sockaddr *)&a, &len) < 0)
		return -1;
	receiver.port = ntohs(a.sin_port);
	process = fork();
	if (process == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		listen_on();
		_exit(0);
	}
	return process > 0 ? 0 : -1;
}

static int tear_down_all(void **state)
{
	(void)state;
	kill(process, SIGKILL);
	return waitpid(process, NULL, 0) == process ? 0 : -1;
}

static int set_up(void **state)
{
	(void)state;
	pthread_mutex_lock(&receiver.lock);
	for (unsigned i = 0; i < 64; i++) {
		receiver.got[i].path[0] = receiver.got[i].header[0] = '\0';
		receiver.got[i].len = 0;
	}
	memset(receiver.answers, 0, sizeof(receiver.answers));
	receiver.n = 0;
	pthread_mutex_unlock(&receiver.lock);
	return 0;
}

static void answer_with(enum signal s, unsigned times, unsigned status, const char *headers, const void *body,
			size_t len)
{
	receiver.answers[s].times = times;
	receiver.answers[s].status = status;
	receiver.answers[s].headers = headers;
	receiver.answers[s].body = body;
	receiver.answers[s].len = len;
}

static unsigned requests_of(enum signal s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < receiver.n; i++)
		n += signal_of(receiver.got[i].path) == (int)s;
	return n;
}

/* Request number `which` of that signal. */
static const struct got *request_of(enum signal s, unsigned which)
{
	for (unsigned i = 0; i < receiver.n; i++)
		if (signal_of(receiver.got[i].path) == (int)s && which-- == 0)
			return &receiver.got[i];
	fail_msg("no such request of %s", signal_names[s]);
	return NULL;
}

/* ---- the reader of requests, as far as the tests need it -------------------------------------------------- */

static uint64_t varint(const uint8_t **at)
{
	uint64_t v = 0;
	unsigned shift = 0;

	do
		v |= (uint64_t)(**at & 0x7f) << shift;
	while (shift += 7, *(*at)++ & 0x80);
	return v;
}

/* Calls cb for each field of a message; fixed-size numbers as 8 bytes. */
static void each(const uint8_t *at, size_t n, void (*cb)(void *arg, unsigned field, const uint8_t *data, size_t len),
		 void *arg)
{
	const uint8_t *end = at + n;

	while (at < end) {
		uint64_t tag = varint(&at), len = (tag & 7) == 1 ? 8 : 4;

		if ((tag & 7) == 0) {
			const uint8_t *begin = at;

			varint(&at);
			cb(arg, (unsigned)(tag >> 3), begin, (size_t)(at - begin));
			continue;
		}
		if ((tag & 7) == 2)
			len = varint(&at);
		cb(arg, (unsigned)(tag >> 3), at, len);
		at += len;
	}
}

struct sought {
	const char *metric;
	bool is_it;
	double sum;
	unsigned points;
	uint64_t time, start;
};

static void in_point(void *arg, unsigned field, const uint8_t *data, size_t len)
{
	struct sought *s = arg;
	double real;
	int64_t whole;

	(void)len;
	memcpy(&real, data, len == 8 ? 8 : 0);
	memcpy(&whole, data, len == 8 ? 8 : 0);
	if (field == 4)
		s->sum += real;
	else if (field == 6)
		s->sum += (double)whole;
	else if (field == 3)
		memcpy(&s->time, data, 8);
	else if (field == 2)
		memcpy(&s->start, data, 8);
}

static void in_sum(void *arg, unsigned field, const uint8_t *data, size_t len)
{
	struct sought *s = arg;

	if (field == 1) {
		s->points++;
		each(data, len, in_point, s);
	}
}

static void in_metric(void *arg, unsigned field, const uint8_t *data, size_t len)
{
	struct sought *s = arg;

	if (field == 1)
		s->is_it = strlen(s->metric) == len && memcmp(s->metric, data, len) == 0;
	else if ((field == 7 || field == 5) && s->is_it)
		each(data, len, in_sum, s);
}

static void in_scope(void *arg, unsigned field, const uint8_t *data, size_t len)
{
	if (field == 2)
		each(data, len, in_metric, arg);
}

static void in_resource(void *arg, unsigned field, const uint8_t *data, size_t len)
{
	if (field == 2)
		each(data, len, in_scope, arg);
}

static void in_request(void *arg, unsigned field, const uint8_t *data, size_t len)
{
	if (field == 1)
		each(data, len, in_resource, arg);
}

/* The sum of all points of that metric in that request. */
static struct sought metric_in(const struct got *g, const char *metric)
{
	struct sought s = { .metric = metric };

	each(g->body, g->len, in_request, &s);
	return s;
}

/* ---- batches ----------------------------------------------------------------------------------- */

static struct skep_context context(const char *tool)
{
	return (struct skep_context){
		.size = sizeof(struct skep_context),
		.run = skep_mock_text("20261121T000000-aaaaaa"),
		.pipeline = skep_mock_text("nightly"),
		.tool = skep_mock_text(tool),
	};
}

static void add_process(struct skep_mock_batch *b, uint32_t pid, uint64_t time_ns, int exit_code)
{
	struct skep_context c = context("samtools sort");
	struct record_process p = {
		.upid = { .start_ns = time_ns - S, .pid = pid }, .run = c.run, .pipeline = c.pipeline, .tool = c.tool,
		.state = skep_mock_text("exited"), .exe = skep_mock_text("/usr/bin/samtools"), .execed = 1, .last = 1,
		.start_ns = time_ns - S, .end_ns = time_ns, .exit_code = exit_code, .user_ns = S / 2,
	};

	skep_mock_batch_add(b, &record_stream_process, &p.upid, time_ns, &p, &c);
}

static void add_sample(struct skep_mock_batch *b, uint64_t time_ns, uint64_t cpu_ns)
{
	struct skep_context c = context("samtools sort");
	struct record_tool_sample s = { .run = c.run,
					.tool = c.tool,
					.start_ns = time_ns - S,
					.interval_ns = S,
					.cpu_ns = cpu_ns,
					.rss_bytes = 4096 };

	skep_mock_batch_add(b, &record_stream_tool_sample, NULL, time_ns, &s, &c);
}

/* A span, an event, and 3 s of CPU time. */
static struct skep_mock_batch *batch(uint64_t id, const char *key)
{
	struct skep_mock_batch *b = skep_mock_batch_new(id, OFFSET);

	add_process(b, (uint32_t)(100 + id), (10 + id) * S, 1);
	add_sample(b, (10 + id) * S, 3 * S);
	if (key)
		snprintf(b->key, sizeof(b->key), "%s", key);
	return b;
}

static void begin(struct skep_mock *m, const char *const options[])
{
	char endpoint[64];

	skep_mock_init(m, skep_plugin_entry(NULL));
	m->quiet = true;
	snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%u/", receiver.port);
	assert_int_equal(skep_mock_option(m, "endpoint", endpoint), 0);
	assert_int_equal(skep_mock_option(m, "compression", "none"), 0);
	for (; options && *options; options += 2)
		assert_int_equal(skep_mock_option(m, options[0], options[1]), 0);
	if (skep_mock_start(m) != 0)
		fail_msg("start: %s", m->why);
}

static unsigned answers(const struct skep_mock *m)
{
	return m->acks + m->retries + m->rejects + m->holds + m->splits + m->suspects;
}

/* Waits for the batch's answer. */
static void offer(struct skep_mock *m, struct skep_mock_batch *b)
{
	unsigned before = answers(m);

	assert_int_equal(skep_mock_submit(m, &b->batch), 0);
	for (int i = 0; i < 20000 && answers(m) == before; i++) {
		skep_mock_settle(m);
		skep_mock_advance(m, 1000000);
		skep_mock_poll(m, 10);
	}
	assert_int_equal(answers(m), before + 1);
}

/* ---- tests --------------------------------------------------------------------------------------- */

static void three_requests(void **state)
{
	struct skep_mock_batch *b = batch(1, NULL);
	struct skep_mock m;

	(void)state;
	begin(&m, NULL);
	offer(&m, b);
	assert_int_equal(m.acks, 1);
	assert_int_equal(receiver.n, 3);
	assert_string_equal(request_of(SIGNAL_TRACES, 0)->path, "/v1/traces");
	assert_string_equal(request_of(SIGNAL_METRICS, 0)->path, "/v1/metrics");
	assert_string_equal(request_of(SIGNAL_LOGS, 0)->path, "/v1/logs");
	assert_int_equal(skep_mock_counter(&m, "spans"), 1);
	assert_int_equal(skep_mock_counter(&m, "events"), 1);
	assert_true(skep_mock_counter(&m, "points") > 3);
	skep_mock_batch_free(b);
	assert_int_equal(skep_mock_end(&m), 0);
}

static bool says(enum signal s, unsigned which, const char *text)
{
	const struct got *g = request_of(s, which);

	return memmem(g->body, g->len, text, strlen(text)) != NULL;
}

/*
 * A batch that waited in the spool over a reboot: spans and events name the host as it was then; sums belong to this
 * skepd.
 */
static void resource_of_batch(void **state)
{
	static const char boot[] = "0f0e0d0c-0b0a-4908-8706-050403020100";
	struct skep_mock_batch *b = batch(1, NULL), *next = batch(2, NULL);
	struct skep_mock m;

	(void)state;
	begin(&m, NULL);
	b->batch.boot_id = boot;
	b->batch.host_name = "before";
	b->batch.kernel = "5.10.0-before";
	offer(&m, b);
	offer(&m, next);
	for (unsigned k = 0; k < 2; k++)
		for (int s = 0; s < SIGNALS; s++) {
			bool old = k == 0 && s != SIGNAL_METRICS;

			assert_int_equal(says((enum signal)s, k, boot), old);
			assert_int_equal(says((enum signal)s, k, "5.10.0-before"), old);
			assert_int_equal(says((enum signal)s, k, SKEP_MOCK_BOOT_ID), !old);
		}
	skep_mock_batch_free(b);
	skep_mock_batch_free(next);
	assert_int_equal(skep_mock_end(&m), 0);
}

/* The sink sends again only the signals that failed, byte for byte, and the sums are those of one batch. */
static void retry(void **state)
{
	struct skep_mock_batch *b = batch(1, NULL), *next = batch(2, NULL);
	const struct got *first, *again;
	struct skep_mock m;

	(void)state;
	begin(&m, NULL);
	answer_with(SIGNAL_METRICS, 2, 503, "Retry-After: 7\r\n", NULL, 0);
	offer(&m, b);
	assert_int_equal(m.retries, 1);
	assert_int_equal(m.answer.retry_after_ns, 7 * S);
	assert_int_equal(m.answer.status, 503);
	offer(&m, b);
	assert_int_equal(m.retries, 2);
	offer(&m, b);
	assert_int_equal(m.acks, 1);
	assert_int_equal(requests_of(SIGNAL_TRACES), 1);
	assert_int_equal(requests_of(SIGNAL_LOGS), 1);
	assert_int_equal(requests_of(SIGNAL_METRICS), 3);
	first = request_of(SIGNAL_METRICS, 0);
	again = request_of(SIGNAL_METRICS, 2);
	assert_int_equal(first->len, again->len);
	assert_memory_equal(first->body, again->body, first->len);
	assert_true(metric_in(again, "process.cpu.time").sum == 3.0);

	offer(&m, next);
	assert_true(metric_in(request_of(SIGNAL_METRICS, 3), "process.cpu.time").sum == 6.0);
	assert_true(metric_in(request_of(SIGNAL_METRICS, 3), "process.memory.usage").sum == 4096.0);
	assert_true(metric_in(request_of(SIGNAL_METRICS, 3), "skep.process.ended").sum == 2.0);
	assert_int_equal(metric_in(request_of(SIGNAL_METRICS, 3), "process.cpu.time").start, 10 * S + (uint64_t)OFFSET);
	assert_int_equal(metric_in(request_of(SIGNAL_METRICS, 3), "process.cpu.time").time, 12 * S + (uint64_t)OFFSET);
	skep_mock_batch_free(b);
	skep_mock_batch_free(next);
	assert_int_equal(skep_mock_end(&m), 0);
}

/* A batch that returns in halves was counted as a whole: its halves send the sums and add nothing. */
static void halves(void **state)
{
	static const char *const small[] = { "max_request", "1KiB", NULL };
	struct skep_mock_batch *b = batch(1, "boot:1:1"), *half = batch(1, "boot:1:1/1"),
			       *other = batch(2, "boot:1:10");
	struct skep_mock m;

	(void)state;
	begin(&m, small);
	offer(&m, b);
	assert_int_equal(m.splits, 1);
	assert_int_equal(receiver.n, 0);
	skep_mock_option(&m, "max_request", "4MiB");
	assert_int_equal(skep_mock_reload(&m), 0);
	offer(&m, half);
	assert_int_equal(m.acks, 1);
	assert_true(metric_in(request_of(SIGNAL_METRICS, 0), "process.cpu.time").sum == 3.0);
	assert_int_equal(requests_of(SIGNAL_TRACES), 1);
	offer(&m, other);
	assert_true(metric_in(request_of(SIGNAL_METRICS, 1), "process.cpu.time").sum == 6.0);
	skep_mock_batch_free(b);
	skep_mock_batch_free(half);
	skep_mock_batch_free(other);
	assert_int_equal(skep_mock_end(&m), 0);
}

/*
 * More divided batches than the sink remembers, and more parts of one: the sink forgets neither a batch whose parts
 * keep arriving nor a batch that waits meanwhile.
 */
static void many_parts(void **state)
{
	static const char *const small[] = { "max_request", "1KiB", NULL };
	struct skep_mock_batch *b = batch(1, "boot:1:1"), *last = batch(1, "boot:1:1/1");
	struct skep_mock_batch *waits = batch(1, "boot:2:1"), *half = batch(1, "boot:2:1/0");
	struct skep_mock m;
	char key[64];

	(void)state;
	begin(&m, small);
	offer(&m, b);
	for (unsigned i = 0; i < 70; i++) {
		struct skep_mock_batch *part, *other;

		snprintf(key, sizeof(key), "boot:1:1/0/%u", i);
		part = batch(1, key);
		snprintf(key, sizeof(key), "boot:1:%u", 2 + i);
		other = batch(1, key);
		offer(&m, part);
		offer(&m, other);
		if (i == 20)
			offer(&m, waits);
		skep_mock_batch_free(part);
		skep_mock_batch_free(other);
	}
	assert_int_equal(m.splits, 142);
	skep_mock_option(&m, "max_request", "4MiB");
	assert_int_equal(skep_mock_reload(&m), 0);
	offer(&m, last);
	assert_true(metric_in(request_of(SIGNAL_METRICS, 0), "process.cpu.time").sum == 72 * 3.0);
	offer(&m, half);
	assert_true(metric_in(request_of(SIGNAL_METRICS, 1), "process.cpu.time").sum == 72 * 3.0);
	skep_mock_batch_free(b);
	skep_mock_batch_free(last);
	skep_mock_batch_free(waits);
	skep_mock_batch_free(half);
	assert_int_equal(skep_mock_end(&m), 0);
}

/* The receiver answers 413: the halves send nothing again that the receiver has already accepted. */
static void too_large_for_one(void **state)
{
	struct skep_mock_batch *b = batch(1, "boot:1:1"), *half = batch(1, "boot:1:1/0");
	struct skep_mock m;

	(void)state;
	begin(&m, NULL);
	answer_with(SIGNAL_TRACES, 1, 413, NULL, NULL, 0);
	offer(&m, b);
	assert_int_equal(m.splits, 1);
	offer(&m, half);
	assert_int_equal(m.acks, 1);
	assert_int_equal(requests_of(SIGNAL_TRACES), 2);
	assert_int_equal(requests_of(SIGNAL_METRICS), 1);
	assert_int_equal(requests_of(SIGNAL_LOGS), 1);
	skep_mock_batch_free(b);
	skep_mock_batch_free(half);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void partial(void **state)
{
	static const uint8_t body[] = { 0x0a, 0x0a, 0x08, 0x01, 0x12, 0x06, 't', 'o', 'o', 'o', 'l', 'd' };
	struct skep_mock_batch *b = batch(1, NULL);
	struct skep_mock m;

	(void)state;
	begin(&m, NULL);
	answer_with(SIGNAL_METRICS, 1, 200, NULL, body, sizeof(body));
	offer(&m, b);
	assert_int_equal(m.acks, 1);
	assert_int_equal(m.answer.rejected, 1);
	assert_string_equal(m.why, "metrics: the receiver has refused some: tooold");
	assert_int_equal(skep_mock_counter(&m, "refused"), 1);
	skep_mock_batch_free(b);
	assert_int_equal(skep_mock_end(&m), 0);
}

/*
 * A success is a 2xx with an empty body, as Prometheus, Grafana Cloud and Loki answer, or with the message of OTLP, in
 * protobuf or JSON. Behind anything else there is another program, or a failure.
 */
static void lies(void **state)
{
	static const struct {
		unsigned status;
		const char *type, *body, *why; /* why: NULL: a success */
		unsigned refused;
	} cases[] = {
		{ 200, "application/x-protobuf", "", NULL, 0 },
		{ 200, "", "", NULL, 0 },
		{ 200, "text/html", "", NULL, 0 },
		{ 201, "text/plain", "", NULL, 0 },
		{ 202, "application/json", "{}", NULL, 0 },
		{ 204, "", "", NULL, 0 },
		{ 200, "application/json", " {\"partialSuccess\":null}\n", NULL, 0 },
		{ 200, "application/json", "{\"partialSuccess\":{\"rejectedDataPoints\":\"1\",\"errorMessage\":\"old\"}}", NULL, 1 },
		{ 200, "application/json; charset=utf-8", "{\"partial_success\":{\"rejected_data_points\":1}}", NULL, 1 },
		{ 200, "text/plain", "\x0a\x02\x08\x01", NULL, 1 }, /* a server in Go that names no type */
		{ 200, "text/html", "<html><body>Log in</body></html>", "a page of HTML", 0 },
		{ 200, "application/x-protobuf", "<html><body>Log in</body></html>", "Log in", 0 },
		{ 200, "text/plain", "hi", "answers 200: hi", 0 }, /* as protobuf, field 13 is 105 */
		{ 200, "application/x-protobuf", "\x68\x69", NULL, 0 },
		{ 200, "text/plain", "no healthy upstream", "no healthy upstream", 0 },
		{ 200, "application/json", "{\"code\":16,\"message\":\"no token\"}", "no token", 0 },
		{ 200, "application/json", "{\"error\":\"no such project\"}", "no such project", 0 },
		{ 200, "application/json", "{\"partialSuccess\":{\"rejectedSpans\":\"all\"}}", "rejectedSpans", 0 },
		{ 200, "application/json", "[]", "application/json", 0 },
		{ 200, "application/json", "{\"partialSuccess\":{", "application/json", 0 },
		{ 200, "application/x-protobuf", "\x08\x10\x12\x02no", "not the answer of an OTLP receiver", 0 },
		{ 200, "", "\x0a\x7f\x08\x01", "not the answer of an OTLP receiver", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct skep_mock_batch *b = batch(1, NULL);
		struct skep_mock m;

		set_up(state);
		begin(&m, NULL);
		answer_with(SIGNAL_METRICS, 1, cases[i].status, NULL, cases[i].body, strlen(cases[i].body));
		receiver.answers[SIGNAL_METRICS].type = cases[i].type;
		offer(&m, b);
		if (m.holds != (cases[i].why != NULL) || m.acks != !cases[i].why ||
		    m.answer.rejected != cases[i].refused)
			fail_msg("case %zu: %u held, %u refused: %s", i, m.holds, m.answer.rejected, m.why);
		if (cases[i].why) {
			if (!strstr(m.why, cases[i].why) || skep_mock_counter(&m, "points"))
				fail_msg("case %zu: \"%s\"", i, m.why);
			offer(&m, b);
			assert_int_equal(m.acks, 1);
			assert_int_equal(requests_of(SIGNAL_METRICS), 2);
			assert_int_equal(requests_of(SIGNAL_TRACES), 1);
		}
		skep_mock_batch_free(b);
		assert_int_equal(skep_mock_end(&m), 0);
	}
}

/*
 * The receiver answers 400 to one signal: only records that are in no other signal are lost. To all: the sink rejects
 * the batch with the receiver's message.
 */
static void refused(void **state)
{
	static const uint8_t body[] = { 0x08, 0x03, 0x12, 0x04, 'b', 'a', 0x01, 'd' };
	struct skep_mock_batch *b = batch(1, NULL), *c = batch(2, NULL), *d = batch(3, NULL);
	struct skep_mock m;

	(void)state;
	begin(&m, NULL);
	answer_with(SIGNAL_TRACES, 1, 400, NULL, body, sizeof(body));
	offer(&m, b);
	assert_int_equal(m.acks, 1);
	assert_int_equal(m.answer.rejected, 0);
	assert_int_equal(skep_mock_counter(&m, "refused"), 1);
	assert_string_equal(m.why, "traces: HTTP 400: ba d");
	/* the tool's sample has points only; the process has a span and an event, which arrived */
	answer_with(SIGNAL_METRICS, 1, 400, NULL, body, sizeof(body));
	offer(&m, d);
	assert_int_equal(m.acks, 2);
	assert_int_equal(m.answer.rejected, 1);
	assert_true(skep_mock_counter(&m, "refused") > 3);
	assert_int_equal(skep_mock_counter(&m, "spans"), 1);
	for (int s = 0; s < SIGNALS; s++)
		answer_with((enum signal)s, 1, 400, NULL, body, sizeof(body));
	offer(&m, c);
	assert_int_equal(m.rejects, 1);
	assert_int_equal(m.answer.status, 400);
	assert_non_null(strstr(m.why, "HTTP 400: ba d"));
	skep_mock_batch_free(b);
	skep_mock_batch_free(c);
	skep_mock_batch_free(d);
	assert_int_equal(skep_mock_end(&m), 0);
}

/* One signal needs an administrator, another may recover by itself: the host learns of the first. */
static void worst_of_two(void **state)
{
	struct skep_mock_batch *b = batch(1, NULL);
	struct skep_mock m;

	(void)state;
	begin(&m, NULL);
	answer_with(SIGNAL_TRACES, 1, 404, NULL, NULL, 0);
	answer_with(SIGNAL_METRICS, 1, 503, NULL, NULL, 0);
	answer_with(SIGNAL_LOGS, 1, 500, NULL, NULL, 0);
	offer(&m, b);
	assert_int_equal(m.holds, 1);
	offer(&m, b);
	assert_int_equal(m.acks, 1);
	assert_int_equal(receiver.n, 6);
	skep_mock_batch_free(b);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void only_wanted(void **state)
{
	static const char *const list[] = { "metrics", NULL };
	struct skep_mock_batch *b = batch(1, NULL);
	struct skep_mock m;
	char url[64];

	(void)state;
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.quiet = true;
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/own/metrics", receiver.port);
	skep_mock_option(&m, "metrics_endpoint", url);
	skep_mock_option_list(&m, "signals", list);
	assert_int_equal(skep_mock_start(&m), 0);
	offer(&m, b);
	assert_int_equal(receiver.n, 1);
	assert_string_equal(receiver.got[0].path, "/own/metrics");
	skep_mock_batch_free(b);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void environment(void **state)
{
	struct skep_mock_batch *b = batch(1, NULL);
	struct skep_mock m;
	char url[64];

	(void)state;
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", receiver.port);
	setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url, 1);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/logs-elsewhere", receiver.port);
	setenv("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", url, 1);
	setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-test=a%20b%2Cc, nonsense", 1);
	setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none", 1);
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.quiet = true;
	assert_int_equal(skep_mock_start(&m), 0);
	offer(&m, b);
	assert_int_equal(receiver.n, 3);
	assert_string_equal(request_of(SIGNAL_TRACES, 0)->path, "/v1/traces");
	assert_string_equal(request_of(SIGNAL_TRACES, 0)->header, "a b,c");
	assert_string_equal(request_of(SIGNAL_LOGS, 0)->path, "/logs-elsewhere");
	assert_true(metric_in(request_of(SIGNAL_METRICS, 0), "process.cpu.time").sum == 3.0); /* not compressed */
	assert_int_equal(skep_mock_end(&m), 0);

	setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", 1);
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.quiet = true;
	assert_int_equal(skep_mock_start(&m), -EINVAL);
	assert_non_null(strstr(m.why, "speaks http/protobuf"));
	skep_mock_end(&m);
	for (const char *const *name =
		     (const char *const[]) { "ENDPOINT", "LOGS_ENDPOINT", "HEADERS", "COMPRESSION", "PROTOCOL", NULL };
	     *name; name++) {
		char whole[96];

		snprintf(whole, sizeof(whole), "OTEL_EXPORTER_OTLP_%s", *name);
		unsetenv(whole);
	}
	skep_mock_batch_free(b);
}

static bool has_pair(const struct got *g, const char *name, const char *value)
{
	char text[128];
	/* KeyValue { key = 1, value = 2 { string_value = 1 } } */
	int n = snprintf(text, sizeof(text), "\n%c%s\x12%c\n%c%s", (int)strlen(name), name, (int)strlen(value) + 2,
			 (int)strlen(value), value);

	return memmem(g->body, g->len, text, (size_t)n) != NULL;
}

/* Its values are percent-encoded; its service.name counts where no option names the service. */
static void resource_of_environment(void **state)
{
	static const char *const option[] = { "service", "by option", NULL };
	static const char *const services[] = { "the night shift", "by variable", "by option" };

	(void)state;
	setenv("OTEL_RESOURCE_ATTRIBUTES",
	       "site=a%20b%2Cc%3D, service.name=the%20night%20shift,nonsense,room=100%,town=K%C3%B6ln", 1);
	for (unsigned i = 0; i < 3; i++) {
		struct skep_mock_batch *b = batch(1, NULL);
		const struct got *g;
		struct skep_mock m;

		if (i == 1)
			setenv("OTEL_SERVICE_NAME", services[i], 1);
		begin(&m, i == 2 ? option : NULL);
		offer(&m, b);
		g = request_of(SIGNAL_METRICS, i);
		assert_true(has_pair(g, "service.name", services[i]));
		assert_true(has_pair(g, "site", "a b,c="));
		assert_true(has_pair(g, "room", "100%"));
		assert_true(has_pair(g, "town", "K\303\266ln"));
		assert_int_equal(skep_mock_end(&m), 0);
		skep_mock_batch_free(b);
	}
	unsetenv("OTEL_SERVICE_NAME");
	unsetenv("OTEL_RESOURCE_ATTRIBUTES");
}

static void wrong_options(void **state)
{
	static const char *const unknown[] = { "spans", NULL }, *const no_value[] = { "nothing", NULL };
	struct skep_mock m;

	(void)state;
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.quiet = true;
	skep_mock_option_list(&m, "signals", unknown);
	assert_int_equal(skep_mock_start(&m), -EINVAL);
	assert_string_equal(m.why, "signals \"spans\": expected traces, metrics or logs");
	skep_mock_end(&m);
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.quiet = true;
	skep_mock_option_list(&m, "resource", no_value);
	assert_int_equal(skep_mock_start(&m), -EINVAL);
	assert_string_equal(m.why, "resource \"nothing\": expected NAME=VALUE");
	skep_mock_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(three_requests, set_up),
		cmocka_unit_test_setup(resource_of_batch, set_up),
		cmocka_unit_test_setup(retry, set_up),
		cmocka_unit_test_setup(halves, set_up),
		cmocka_unit_test_setup(many_parts, set_up),
		cmocka_unit_test_setup(too_large_for_one, set_up),
		cmocka_unit_test_setup(partial, set_up),
		cmocka_unit_test_setup(lies, set_up),
		cmocka_unit_test_setup(refused, set_up),
		cmocka_unit_test_setup(worst_of_two, set_up),
		cmocka_unit_test_setup(only_wanted, set_up),
		cmocka_unit_test_setup(environment, set_up),
		cmocka_unit_test_setup(resource_of_environment, set_up),
		cmocka_unit_test_setup(wrong_options, set_up),
	};

	return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
