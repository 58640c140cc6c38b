/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus through its plugin entry: the page after batches, as a client reads it from the socket, and the
 * answers to clients that ask wrongly, slowly or too many at a time.
 */
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "sinks/prometheus/httpd.h"
#include "sinks/prometheus/names.h"
#include "sinks/prometheus/store.h"
#include "tests/unit/carried.h"
#include "tests/unit/lake_records.h"

static char page[4000000];

static void begin(struct skep_mock *m, const char *max_series, const char *expire)
{
	skep_mock_init(m, skep_plugin_entry(NULL));
	m->quiet = true;
	assert_int_equal(skep_mock_option(m, "listen", "127.0.0.1:0"), 0);
	assert_int_equal(skep_mock_option(m, "host", "h\"1"), 0);
	if (max_series)
		assert_int_equal(skep_mock_option(m, "max_series", max_series), 0);
	if (expire)
		assert_int_equal(skep_mock_option(m, "expire", expire), 0);
	if (skep_mock_start(m) != 0)
		fail_msg("start: %s", m->why);
}

static int dial(const struct skep_mock *m, const char *logged)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)m;
	a.sin_port = htons((uint16_t)atoi(strrchr(logged, ':') + 1));
	assert_true(fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0);
	return fd;
}

/* Reads into `page` until the sink closes; returns the length. */
static size_t receive(struct skep_mock *m, int fd)
{
	size_t n = 0;
	ssize_t part = -1;

	for (int tries = 0; tries < 500 && part != 0; tries++) {
		skep_mock_poll(m, 10);
		skep_mock_settle(m);
		while ((part = recv(fd, page + n, sizeof(page) - 1 - n, MSG_DONTWAIT)) > 0)
			n += (size_t)part;
	}
	page[n] = '\0';
	assert_int_equal(part, 0);
	close(fd);
	return n;
}

static char logged[1100];

static size_t ask(struct skep_mock *m, const char *request)
{
	int fd = dial(m, logged);

	assert_int_equal(send(fd, request, strlen(request), 0), (ssize_t)strlen(request));
	return receive(m, fd);
}

static void scrape(struct skep_mock *m)
{
	char length[60];

	ask(m, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_int_equal(strncmp(page, "HTTP/1.1 200 OK\r\n", 17), 0);
	snprintf(length, sizeof(length), "Content-Length: %zu\r\n", strlen(strstr(page, "\r\n\r\n") + 4));
	assert_non_null(strstr(page, length));
}

/* The sum of all samples with that name whose labels contain all of the words; *ret_n: their number. */
static double sum_of(const char *name, const char *word1, const char *word2, unsigned *ret_n)
{
	double sum = 0;
	size_t n = strlen(name);

	*ret_n = 0;
	for (const char *at = page, *end; (end = strchr(at, '\n')); at = end + 1) {
		char line[2000];

		if (strncmp(at, name, n) != 0 || (at[n] != '{' && at[n] != ' '))
			continue;
		snprintf(line, sizeof(line), "%.*s", (int)(end - at), at);
		if ((word1 && !strstr(line, word1)) || (word2 && !strstr(line, word2)))
			continue;
		sum += strtod(strrchr(line, ' '), NULL);
		++*ret_n;
	}
	return sum;
}

static void send_batch(struct skep_mock *m, struct skep_mock_batch *b)
{
	unsigned acks = m->acks;

	assert_int_equal(skep_mock_submit(m, &b->batch), 0);
	skep_mock_settle(m);
	assert_int_equal(m->acks, acks + 1);
	skep_mock_batch_free(b);
}

static struct skep_mock_batch *processes(uint64_t first, uint64_t n, double *cpu)
{
	struct skep_mock_batch *b = skep_mock_batch_new(first + 1, RECORDS_OFFSET);
	struct record_process p;

	for (uint64_t i = first; i < first + n; i++) {
		records_process(i, "run-7", &p);
		*cpu += (double)p.cpu_ns / 1e9;
		records_add_process(b, &p);
	}
	return b;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b);
}

/* The metrics have the labels that the page lists. */
static void test_carried(void **state)
{
	union carried_record records[3];
	const struct carried *all;
	size_t n = carried_read(&all), labels = 0;
	struct skep_mock m;

	(void)state;
	begin(&m, NULL, NULL);
	snprintf(logged, sizeof(logged), "%s", m.logged);
	send_batch(&m, carried_batch(records));
	scrape(&m);
	for (size_t i = 0; i < n; i++) {
		char want[200];

		if (all[i].stream == &record_stream_task)
			continue; /* no metrics */
		snprintf(want, sizeof(want), "%s=\"%s\"", all[i].prometheus, all[i].value);
		if (*all[i].prometheus && all[i].stream == &record_stream_process) {
			labels++;
			if (!strstr(page, want))
				fail_msg("no metric has %s", want);
		}
		if (!*all[i].prometheus && strstr(page, all[i].value))
			fail_msg("a label has %s", all[i].value);
	}
	assert_true(labels >= 8);
	assert_non_null(strstr(page, "engine=\"engine of run\""));
	assert_int_equal(skep_mock_end(&m), 0);
}

static void test_counters(void **state)
{
	double cpu = 0;
	struct skep_mock m;
	unsigned n;

	(void)state;
	begin(&m, NULL, NULL);
	snprintf(logged, sizeof(logged), "%s", m.logged);
	send_batch(&m, processes(0, 500, &cpu));
	send_batch(&m, processes(500, 500, &cpu));
	scrape(&m);
	assert_true(near(sum_of("skep_process_cpu_seconds_total", NULL, NULL, &n), cpu));
	assert_true(n > 30 && n < 1000);
	assert_true(sum_of("skep_process_images_total", NULL, NULL, &n) == 1000);
	assert_true(sum_of("skep_process_images_total", "tool=\"samtools sort\"", "host=\"h\\\"1\"", &n) > 0);
	/* no label distinguishes processes or runs; levels of single processes would mean nothing */
	assert_null(strstr(page, "pid="));
	assert_null(strstr(page, "run-7"));
	assert_null(strstr(page, "rss_peak"));
	assert_non_null(strstr(page, "# TYPE skep_process_cpu_seconds_total counter\n"));
	assert_true(sum_of("skep_exporter_records_total", NULL, NULL, &n) == 1000);
	/* the same as OpenMetrics */
	ask(&m,
	    "GET /metrics HTTP/1.1\r\naccept: text/plain;q=0.1, application/OpenMetrics-text;version=1.0.0\r\n\r\n");
	assert_non_null(strstr(page, "application/openmetrics-text; version=1.0.0"));
	assert_non_null(
		strstr(page, "# TYPE skep_process_cpu_seconds counter\n# UNIT skep_process_cpu_seconds seconds\n"));
	assert_true(near(sum_of("skep_process_cpu_seconds_total", NULL, NULL, &n), cpu));
	assert_string_equal(page + strlen(page) - 6, "# EOF\n");
	assert_null(strstr(page, "_created"));
	assert_int_equal(skep_mock_option(&m, "created", "true"), 0);
	assert_int_equal(skep_mock_reload(&m), 0);
	ask(&m, "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text\r\n\r\n");
	sum_of("skep_process_cpu_seconds_created", NULL, NULL, &n);
	assert_true(n > 0);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void add_tool(struct skep_mock_batch *b, uint64_t time, const char *run, const char *tool, uint64_t rss,
		     uint64_t cpu)
{
	struct record_tool_sample t = {
		.run = skep_mock_text(run),
		.tool = skep_mock_text(tool),
		.rss_bytes = rss,
		.cpu_ns = cpu,
	};

	skep_mock_batch_add(b, &record_stream_tool_sample, NULL, time, &t, NULL);
}

static void add_ledger(struct skep_mock_batch *b, const char *run, int64_t amount)
{
	struct record_ledger l = {
		.run = skep_mock_text(run),
		.account = skep_mock_text("cpu"),
		.item = skep_mock_text("excluded"),
		.kind = skep_mock_text("part"),
		.amount = amount,
	};

	skep_mock_batch_add(b, &record_stream_ledger, NULL, SECOND, &l, NULL);
}

static void test_levels(void **state)
{
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct skep_mock m;
	unsigned n;

	(void)state;
	begin(&m, NULL, NULL);
	snprintf(logged, sizeof(logged), "%s", m.logged);
	/* one tool in two runs at two times: the level is the sum over the runs, at the later time */
	add_tool(b, 5 * SECOND, "a", "bwa", 100, SECOND);
	add_tool(b, 5 * SECOND, "b", "bwa", 20, SECOND);
	add_tool(b, 10 * SECOND, "a", "bwa", 300, SECOND);
	add_tool(b, 10 * SECOND, "b", "bwa", 4000, SECOND / 2);
	add_tool(b, 5 * SECOND, "a", "late", 1, 0);
	/* of the ledger only the machine's account, whose items may decrease */
	add_ledger(b, "", 50);
	add_ledger(b, "a", 1000);
	add_ledger(b, "", -20);
	send_batch(&m, b);
	b = skep_mock_batch_new(2, RECORDS_OFFSET);
	add_tool(b, 5 * SECOND, "c", "bwa", 7, 0); /* older than the page's value */
	send_batch(&m, b);
	scrape(&m);
	assert_true(sum_of("skep_tool_rss_bytes", "tool=\"bwa\"", NULL, &n) == 4300);
	assert_int_equal(n, 1);
	assert_true(near(sum_of("skep_tool_cpu_seconds_total", "tool=\"bwa\"", NULL, &n), 3.5));
	assert_true(sum_of("skep_ledger_amount", "item=\"excluded\"", NULL, &n) == 30);
	assert_int_equal(n, 1);
	assert_non_null(strstr(page, "# TYPE skep_ledger_amount gauge\n"));
	assert_int_equal(skep_mock_end(&m), 0);
}

static void add_finding(struct skep_mock_batch *b, uint64_t time, const char *state, const char *container)
{
	struct skep_context ctx = { .size = sizeof(ctx), .tool = skep_mock_text("x"), .container = skep_mock_text(container) };
	struct skep_upid upid = { .pid = 7, .start_ns = 9 };
	struct record_finding f = {
		.id = skep_mock_text(container),
		.kind = skep_mock_text("stall"),
		.severity = skep_mock_text("warn"),
		.state = skep_mock_text(state),
		.container = ctx.container,
		.task = skep_mock_text(container),
		.upid = upid,
		.value = 700,
	};

	skep_mock_batch_add(b, &record_stream_finding, &upid, time, &f, &ctx);
}

/* Begun and ended ones by kind, however many processes and containers they are about, and how many are open. */
static void test_findings(void **state)
{
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct record_findings open = { .kind = skep_mock_text("stall"), .open = 2 };
	struct skep_mock m;
	unsigned n;

	(void)state;
	begin(&m, NULL, NULL);
	snprintf(logged, sizeof(logged), "%s", m.logged);
	add_finding(b, 5 * SECOND, "open", "c1");
	add_finding(b, 5 * SECOND, "open", "c2");
	skep_mock_batch_add(b, &record_stream_findings, NULL, 5 * SECOND, &open, NULL);
	add_finding(b, 6 * SECOND, "closed", "c1");
	open.open = 1;
	skep_mock_batch_add(b, &record_stream_findings, NULL, 6 * SECOND, &open, NULL);
	send_batch(&m, b);
	scrape(&m);
	assert_true(sum_of("skep_findings_total", "kind=\"stall\"", "state=\"open\"", &n) == 2);
	assert_int_equal(n, 1);
	assert_true(sum_of("skep_findings_total", "severity=\"warn\"", "state=\"closed\"", &n) == 1);
	assert_true(sum_of("skep_findings_open", "kind=\"stall\"", NULL, &n) == 1);
	assert_int_equal(n, 1);
	assert_non_null(strstr(page, "# TYPE skep_findings_open gauge\n"));
	assert_null(strstr(page, "container=\"c1\""));
	assert_null(strstr(page, "skep_finding_"));
	b = skep_mock_batch_new(2, RECORDS_OFFSET);
	open.open = 0;
	skep_mock_batch_add(b, &record_stream_findings, NULL, 7 * SECOND, &open, NULL);
	send_batch(&m, b);
	scrape(&m);
	assert_true(sum_of("skep_findings_open", NULL, NULL, &n) == 0);
	assert_int_equal(n, 1); /* 0, and not gone: an alert ends by it */
	assert_int_equal(skep_mock_end(&m), 0);
}

/* Names that become the same when invalid letters are replaced, and long names. */
static void test_mended(void **state)
{
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	char fits[300], cut[300], as[300];
	struct skep_mock m;
	unsigned n;

	(void)state;
	begin(&m, NULL, NULL);
	snprintf(logged, sizeof(logged), "%s", m.logged);
	memset(as, 'a', sizeof(as));
	snprintf(fits, sizeof(fits), "%.254s\xc3\xa4" "b", as);
	snprintf(cut, sizeof(cut), "%.255s\xc3\xa4" "b", as);
	add_tool(b, SECOND, "a", "x\xff", 1, SECOND);
	add_tool(b, SECOND, "a", "x\xfe", 1, 2 * SECOND);
	add_tool(b, SECOND, "a", "y\x01", 1, 4 * SECOND);
	add_tool(b, SECOND, "a", "y\x7f", 1, 8 * SECOND);
	add_tool(b, SECOND, "a", fits, 1, 16 * SECOND);
	add_tool(b, SECOND, "a", cut, 1, 32 * SECOND);
	send_batch(&m, b);
	scrape(&m);
	assert_true(sum_of("skep_tool_cpu_seconds_total", "tool=\"x\xef\xbf\xbd\"", NULL, &n) == 3);
	assert_int_equal(n, 1);
	assert_true(sum_of("skep_tool_cpu_seconds_total", "tool=\"y \"", NULL, &n) == 12);
	assert_int_equal(n, 1);
	assert_true(sum_of("skep_tool_cpu_seconds_total", "a\xc3\xa4\"", NULL, &n) == 16);
	assert_true(sum_of("skep_tool_cpu_seconds_total", "aaaaa\"", NULL, &n) == 32);
	sum_of("skep_tool_cpu_seconds_total", NULL, NULL, &n);
	assert_int_equal(n, 4);
	assert_int_equal(skep_mock_end(&m), 0);
}

struct site {
	struct skep_str queue;
	struct skep_hist wait;
	uint64_t level, since_start, same;
};
static const struct skep_field site_fields[] = {
	SKEP_FIELD(struct site, queue, "queue.name", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "of the queue"),
	SKEP_FIELD(struct site, wait, "wait", SKEP_T_HIST, SKEP_S_DELTA, "ns", "a \\ line\nand one"),
	SKEP_FIELD(struct site, level, "length", SKEP_T_U64, SKEP_S_GAUGE, "{job}", "of it"),
	SKEP_FIELD(struct site, since_start, "all", SKEP_T_U64, SKEP_S_CUMULATIVE, "1", "of a process: no metric"),
	SKEP_FIELD(struct site, same, "le-ngth", SKEP_T_U64, SKEP_S_GAUGE, "1", "another name"),
};
static const struct skep_stream site_stream = {
	.size = sizeof(struct skep_stream),
	.field_size = sizeof(struct skep_field),
	.name = "site.queue",
	.record_size = sizeof(struct site),
	.n_fields = sizeof(site_fields) / sizeof(site_fields[0]),
	.fields = site_fields,
};

/* The spool still has levels of the last boot, which arrive after those of this boot, with a longer uptime. */
static void test_older_boot(void **state)
{
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET),
			       *old = skep_mock_batch_new(2, RECORDS_OFFSET - 1000000 * (int64_t)SECOND);
	struct site s = { .queue = skep_mock_text("q"), .level = 3 };
	struct skep_mock m;
	unsigned n;

	(void)state;
	begin(&m, NULL, NULL);
	snprintf(logged, sizeof(logged), "%s", m.logged);
	skep_mock_batch_add(b, &site_stream, NULL, 60 * SECOND, &s, NULL);
	send_batch(&m, b);
	s.level = 8;
	skep_mock_batch_add(old, &site_stream, NULL, 500000 * SECOND, &s, NULL);
	old->batch.boot_id = "0f0e0d0c-0b0a-4908-8706-050403020100";
	send_batch(&m, old);
	scrape(&m);
	assert_true(sum_of("skep_site_queue_length", "queue_name=\"q\"", NULL, &n) == 3);
	assert_int_equal(n, 1);
	assert_int_equal(skep_mock_end(&m), 0);
}

/* A stream unknown to the sink: its table says everything. */
static void test_any_stream(void **state)
{
	static const char name[] = "q\n\"\\\x01\xff";
	uint64_t slots[SKEP_HIST_SLOTS] = { [0] = 1, [1] = 2 };
	struct site s = {
		.queue = { .ptr = name, .len = sizeof(name) - 1 },
		.wait = { .slots = slots, .n = SKEP_HIST_SLOTS, .sum = 5000000000 },
		.level = 3,
		.since_start = 9,
		.same = 4,
	};
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct skep_mock m;
	unsigned n;

	(void)state;
	begin(&m, NULL, NULL);
	snprintf(logged, sizeof(logged), "%s", m.logged);
	slots[4 * 10 + 1] = 4; /* at most 2^10 */
	slots[4 * 10 + 2] = 8; /* above that */
	slots[4 * 36 + 1] = 16;
	slots[4 * 36 + 2] = 32; /* above the last bound */
	skep_mock_batch_add(b, &site_stream, NULL, SECOND, &s, NULL);
	skep_mock_batch_add(b, &site_stream, NULL, 2 * SECOND, &s, NULL);
	send_batch(&m, b);
	scrape(&m);
	assert_true(sum_of("skep_site_queue_length", "queue_name=\"q\\n\\\"\\\\ \xef\xbf\xbd\"", NULL, &n) == 3);
	assert_int_equal(n, 1);
	assert_true(sum_of("skep_site_queue_le_ngth", NULL, NULL, &n) == 4);
	assert_null(strstr(page, "skep_site_queue_all"));
	assert_non_null(strstr(page, "# HELP skep_site_queue_wait_seconds a \\\\ line\\nand one\n"));
	assert_true(sum_of("skep_site_queue_wait_seconds_bucket", "le=\"1.024e-06\"", NULL, &n) == 14);
	assert_int_equal(n, 1);
	assert_true(sum_of("skep_site_queue_wait_seconds_bucket", "le=\"2.048e-06\"", NULL, &n) == 30);
	assert_true(sum_of("skep_site_queue_wait_seconds_bucket", "le=\"68.719476736\"", NULL, &n) == 62);
	assert_true(sum_of("skep_site_queue_wait_seconds_bucket", "le=\"+Inf\"", NULL, &n) == 126);
	assert_true(sum_of("skep_site_queue_wait_seconds_count", NULL, NULL, &n) == 126);
	assert_true(sum_of("skep_site_queue_wait_seconds_sum", NULL, NULL, &n) == 10);
	assert_int_equal(skep_mock_end(&m), 0);
}

struct identity {
	struct skep_str version;
};
static const struct skep_field identity_fields[] = {
	SKEP_FIELD(struct identity, version, "os.version", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
};
static const struct skep_stream identity_stream = {
	.size = sizeof(struct skep_stream),
	.field_size = sizeof(struct skep_field),
	.name = "host.identity",
	.record_size = sizeof(struct identity),
	.n_fields = 1,
	.fields = identity_fields,
};

static void send_identity(struct skep_mock *m, const char *version, uint64_t time_ns)
{
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct identity i = { .version = skep_mock_text(version) };

	skep_mock_batch_add(b, &identity_stream, NULL, time_ns, &i, NULL);
	send_batch(m, b);
}

/* The host's identity outlives `expire`, and a newer identity replaces it. */
static void test_info(void **state)
{
	double cpu = 0;
	struct skep_mock m;
	unsigned n = 1;

	(void)state;
	begin(&m, "100", "1s");
	snprintf(logged, sizeof(logged), "%s", m.logged);
	send_batch(&m, processes(0, 1000, &cpu)); /* no room is left */
	send_identity(&m, "12", 10 * SECOND);
	for (int i = 0; n && i < 1000; i++) {
		usleep(20000);
		scrape(&m);
		sum_of("skep_process_images_total", NULL, NULL, &n);
	}
	assert_int_equal(n, 0);
	assert_true(sum_of("skep_host_info", "os_version=\"12\"", NULL, &n) == 1);
	send_identity(&m, "13", 20 * SECOND);
	send_identity(&m, "12", 15 * SECOND); /* from the spool */
	scrape(&m);
	assert_true(sum_of("skep_host_info", "os_version=\"13\"", NULL, &n) == 1);
	assert_true(sum_of("skep_host_info", NULL, NULL, &n) == 1);
	assert_true(sum_of("skep_exporter_series", NULL, NULL, &n) == 1);
	send_identity(&m, "12", 30 * SECOND);
	scrape(&m);
	assert_true(sum_of("skep_host_info", "os_version=\"12\"", NULL, &n) == 1);
	assert_true(sum_of("skep_host_info", NULL, NULL, &n) == 1);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void test_bounds(void **state)
{
	double cpu = 0;
	struct skep_mock m;
	unsigned n;

	(void)state;
	begin(&m, "200", "1s");
	snprintf(logged, sizeof(logged), "%s", m.logged);
	send_batch(&m, processes(0, 1000, &cpu));
	scrape(&m);
	/* a series without room is counted in the overflow: no sum is wrong */
	assert_true(near(sum_of("skep_process_cpu_seconds_total", NULL, NULL, &n), cpu));
	assert_true(sum_of("skep_process_images_total", "overflow=\"true\"", NULL, &n) > 0);
	assert_int_equal(n, 1);
	assert_true(sum_of("skep_exporter_series", NULL, NULL, &n) <= 200);
	assert_true(sum_of("skep_exporter_overflow_total", NULL, NULL, &n) > 500);
	assert_true(skep_mock_counter(&m, "overflow") > 500);
	usleep(1100000);
	scrape(&m);
	sum_of("skep_process_images_total", NULL, NULL, &n);
	assert_int_equal(n, 0);
	assert_true(sum_of("skep_exporter_series", NULL, NULL, &n) == 0);
	send_batch(&m, processes(0, 10, &cpu));
	scrape(&m);
	assert_true(sum_of("skep_process_images_total", NULL, NULL, &n) == 10);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void assert_closed_within(int fd, int seconds)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, seconds * 1000), 1);
	assert_int_equal(recv(fd, page, 1, MSG_DONTWAIT), 0);
	close(fd);
}

static void test_clients(void **state)
{
	static char large[9000];
	int fd[HTTPD_CONNECTIONS + 1], slow;
	struct skep_mock m;
	bool refused = true;

	(void)state;
	begin(&m, NULL, NULL);
	snprintf(logged, sizeof(logged), "%s", m.logged);
	ask(&m, "GET /-/healthy HTTP/1.0\r\n\r\n");
	assert_int_equal(strncmp(page, "HTTP/1.1 200 OK", 15), 0);
	ask(&m, "GET / HTTP/1.1\r\n\r\n");
	assert_int_equal(strncmp(page, "HTTP/1.1 404 ", 13), 0);
	ask(&m, "POST /metrics HTTP/1.1\r\n\r\n");
	assert_int_equal(strncmp(page, "HTTP/1.1 405 ", 13), 0);
	assert_non_null(strstr(page, "Allow: GET, HEAD\r\n"));
	ask(&m, "GET /metrics HTTP/2\r\n\r\n");
	assert_int_equal(strncmp(page, "HTTP/1.1 400 ", 13), 0);
	ask(&m, "\x16\x03\x01\n\n"); /* as TLS begins: libmicrohttpd closes without an answer */
	assert_string_equal(page, "");
	memset(large, 'a', sizeof(large) - 1);
	memcpy(large, "GET /metrics HTTP/1.1\r\n", 23);
	ask(&m, large);
	assert_int_equal(strncmp(page, "HTTP/1.1 431 ", 13), 0);
	ask(&m, "HEAD /metrics?x=1 HTTP/1.1\r\n\r\n");
	assert_int_equal(strncmp(page, "HTTP/1.1 200 OK", 15), 0);
	assert_string_equal(page + strlen(page) - 4, "\r\n\r\n");
	/* a request in two pieces */
	slow = dial(&m, logged);
	assert_true(send(slow, "GET /-/hea", 10, 0) == 10);
	skep_mock_poll(&m, 50);
	assert_true(send(slow, "lthy HTTP/1.1\r\n\r\n", 17, 0) == 17);
	receive(&m, slow);
	assert_int_equal(strncmp(page, "HTTP/1.1 200 OK", 15), 0);
	/* Clients trickle a request: the server ends them after HTTPD_TOTAL_S, and another client has their place. */
	for (unsigned i = 0; i < HTTPD_CONNECTIONS; i++) {
		fd[i] = dial(&m, logged);
		assert_true(send(fd[i], "GET /", 5, 0) == 5);
	}
	skep_mock_poll(&m, 100);
	skep_mock_advance(&m, (HTTPD_TOTAL_S - 1) * SECOND);
	assert_int_equal(recv(fd[0], page, 1, MSG_DONTWAIT), -1);
	for (int tries = 0; tries < 60 && refused; tries++) { /* 6 s: less than HTTPD_IDLE_S */
		skep_mock_advance(&m, HTTPD_TOTAL_S * SECOND);
		usleep(100000);
		slow = dial(&m, logged);
		skep_mock_poll(&m, 100);
		refused = recv(slow, page, 1, MSG_DONTWAIT) == 0;
		close(slow);
	}
	assert_false(refused);
	for (unsigned i = 0; i < HTTPD_CONNECTIONS; i++)
		assert_closed_within(fd[i], 1);
	/* The server closes a connection over the limit at once, and an idle one after HTTPD_IDLE_S. */
	for (unsigned i = 0; i <= HTTPD_CONNECTIONS; i++)
		fd[i] = dial(&m, logged);
	skep_mock_poll(&m, 100);
	assert_closed_within(fd[HTTPD_CONNECTIONS], HTTPD_IDLE_S / 2);
	assert_int_equal(recv(fd[0], page, 1, MSG_DONTWAIT), -1);
	for (unsigned i = 0; i < HTTPD_CONNECTIONS; i++)
		assert_closed_within(fd[i], 2 * HTTPD_IDLE_S);
	scrape(&m);
	assert_int_equal(skep_mock_end(&m), 0);
}

/* From now on the process can open no descriptor; returns the limit of before. */
static struct rlimit without_descriptors(void)
{
	struct rlimit was, none;
	int next = dup(STDERR_FILENO);

	assert_true(next >= 0);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = was;
	none.rlim_cur = (rlim_t)next;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	return was;
}

/*
 * A client that connects while no descriptor is free waits for one, also when the last of the others leaves meanwhile.
 */
static void test_descriptors(void **state)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\n\r\n";
	struct skep_mock m;

	(void)state;
	begin(&m, NULL, NULL);
	snprintf(logged, sizeof(logged), "%s", m.logged);
	for (int round = 0; round < 3; round++) {
		int other = round == 1 ? dial(&m, logged) : -1, fd;
		struct rlimit was;

		skep_mock_poll(&m, 50);
		fd = dial(&m, logged);
		assert_int_equal(send(fd, request, sizeof(request) - 1, 0), (ssize_t)sizeof(request) - 1);
		was = without_descriptors();
		skep_mock_poll(&m, 50);
		if (other >= 0)
			close(other);
		skep_mock_poll(&m, 50);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
		assert_int_equal(recv(fd, page, 1, MSG_DONTWAIT), -1);
		if (round == 2) { /* the sink may have to stop in that state */
			close(fd);
			break;
		}
		skep_mock_advance(&m, 2 * SECOND);
		receive(&m, fd);
		assert_int_equal(strncmp(page, "HTTP/1.1 200 OK\r\n", 17), 0);
		scrape(&m);
	}
	assert_int_equal(skep_mock_end(&m), 0);
}

static void test_listen(void **state)
{
	static const char *const wrong[] = { "",         "9477",  "localhost:9477", "127.0.0.1:", "127.0.0.1:99999",
					     "::1:9477", ":9477", "[::1]9477",      "1.2.3.4:-5" };
	struct skep_mock m, second;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		skep_mock_init(&m, skep_plugin_entry(NULL));
		m.quiet = true;
		skep_mock_option(&m, "listen", wrong[i]);
		assert_int_equal(skep_mock_open(&m), -EINVAL); /* so that skepd --test reports it */
		assert_non_null(strstr(m.why, "expected an address and a port"));
		assert_int_equal(skep_mock_end(&m), 0);
	}
	begin(&m, NULL, NULL);
	skep_mock_init(&second, skep_plugin_entry(NULL));
	second.quiet = true;
	snprintf(logged, sizeof(logged), "127.0.0.1:%d", atoi(strrchr(m.logged, ':') + 1));
	skep_mock_option(&second, "listen", logged);
	assert_int_equal(skep_mock_start(&second), -EADDRINUSE);
	assert_non_null(strstr(second.why, "choose another port"));
	assert_int_equal(skep_mock_end(&second), 0);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void test_names(void **state)
{
	static const struct {
		const char *prefix, *field, *unit;
		bool counter;
		const char *name;
		double divisor;
	} t[] = {
		{ "tool", "cpu_ns", "ns", true, "skep_tool_cpu_seconds_total", 1e9 },
		{ "tool", "rss_bytes", "By", false, "skep_tool_rss_bytes", 1 },
		{ "disk.io", "latency", "ns", false, "skep_disk_io_latency_seconds", 1e9 },
		{ "host.cpu", "system.cpu.time.user", "ns", true, "skep_system_cpu_time_user_seconds_total", 1e9 },
		{ "gpu.device", "hw.power", "W", false, "skep_hw_power_watts", 1 },
		{ "host.load", "system.thread.count", "{thread}", false, "skep_system_thread_number", 1 },
		{ "x", "jobs_total", "{job}", true, "skep_x_jobs_total", 1 },
		{ "x", "9a-b", "1", false, "skep_x_9a_b", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		const char *unit;
		double divisor;
		char *name = names_metric(t[i].prefix, t[i].field, t[i].unit, t[i].counter, &unit, &divisor);

		assert_string_equal(name, t[i].name);
		assert_true(divisor == t[i].divisor);
		free(name);
	}
}

/* Labels that FNV-1a puts into one chain of a table; its only secret was the address of the plan. */
static void test_chosen_labels(void **state)
{
	enum { CHOSEN = 256 };
	struct plan *p = calloc(1, sizeof(*p));
	size_t longest = 0;
	struct store s;
	char label[32];

	(void)state;
	assert_non_null(p);
	p->width = p->n_values = 1;
	assert_int_equal(store_init(&s, 2 * CHOSEN), 0);
	store_add_plan(&s, p);
	for (uint32_t i = 0; s.n_rows < CHOSEN; i++) {
		uint64_t h = UINT64_C(14695981039346656037) ^ (uintptr_t)p;
		uint32_t len = (uint32_t)snprintf(label, sizeof(label), "x%u", i);

		for (uint32_t k = 0; k < len; k++)
			h = (h ^ (unsigned char)label[k]) * UINT64_C(1099511628211);
		if ((h ^ h >> 32) % CHOSEN == 0)
			assert_non_null(store_row(&s, p, label, len, 0, 0));
	}
	for (size_t i = 0; i < s.table_size; i++) {
		size_t chain = 0;

		for (const struct row *r = s.table[i]; r; r = r->hash_next)
			chain++;
		longest = chain > longest ? chain : longest;
	}
	assert_true(longest <= 20);
	store_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_carried), cmocka_unit_test(test_findings),      cmocka_unit_test(test_info),
		cmocka_unit_test(test_names),   cmocka_unit_test(test_counters),      cmocka_unit_test(test_levels),
		cmocka_unit_test(test_bounds),  cmocka_unit_test(test_older_boot),    cmocka_unit_test(test_any_stream),
		cmocka_unit_test(test_clients), cmocka_unit_test(test_chosen_labels), cmocka_unit_test(test_listen),
		cmocka_unit_test(test_mended),  cmocka_unit_test(test_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
