/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/writer: the request as a receiver reads it (snappy, protobuf), batch after batch, halves of a batch,
 * and records that are too old. Then the sink remote_write through its plugin entry, with a receiver that answers as
 * the test orders.
 */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <snappy-c.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sinks/prometheus/bisect.h"
#include "sinks/prometheus/writer.h"
#include "tests/unit/lake_records.h"

#define NOW (RECORDS_OFFSET + (int64_t)(2000 * SECOND))
#define FOR_EVER (3600 * SECOND)

struct series {
	char labels[600]; /* "a=b,c=d" */
	unsigned n;
	double first, last;
	int64_t first_ms, last_ms;
};
static struct series all[5000];
static unsigned n_all;

struct reader {
	const unsigned char *at, *end;
};

static uint64_t varint(struct reader *r)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		assert_true(r->at < r->end && shift < 64);
		v |= (uint64_t)(*r->at & 0x7f) << shift;
		if (!(*r->at++ & 0x80))
			return v;
	}
}

/* The next field must have this number; returns its bytes. */
static struct reader part(struct reader *r, unsigned field)
{
	struct reader p;
	uint64_t n;

	assert_int_equal(varint(r), field << 3 | 2);
	n = varint(r);
	assert_true(n <= (uint64_t)(r->end - r->at));
	p = (struct reader){ .at = r->at, .end = r->at + n };
	r->at += n;
	return p;
}

static void read_series(struct reader r)
{
	struct series *s = &all[n_all++];
	char before[64] = "";

	memset(s, 0, sizeof(*s));
	while (r.at < r.end && *r.at == (1 << 3 | 2)) {
		struct reader l = part(&r, 1), name = part(&l, 1), value = part(&l, 2);
		char text[64];

		assert_true(l.at == l.end);
		snprintf(text, sizeof(text), "%.*s", (int)(name.end - name.at), (const char *)name.at);
		assert_true(strcmp(text, before) > 0); /* sorted, without a repetition */
		snprintf(before, sizeof(before), "%s", text);
		snprintf(s->labels + strlen(s->labels), sizeof(s->labels) - strlen(s->labels), "%s=%.*s,", text,
			 (int)(value.end - value.at), (const char *)value.at);
	}
	while (r.at < r.end) {
		struct reader p = part(&r, 2);
		int64_t ms;
		double v;

		assert_int_equal(*p.at++, 1 << 3 | 1);
		memcpy(&v, p.at, 8);
		p.at += 8;
		assert_int_equal(*p.at++, 2 << 3 | 0);
		ms = (int64_t)varint(&p);
		assert_true(p.at == p.end);
		assert_true(s->n == 0 || ms > s->last_ms);
		if (!s->n++) {
			s->first = v;
			s->first_ms = ms;
		}
		s->last = v;
		s->last_ms = ms;
	}
	assert_true(s->n > 0);
}

static void read_request(const struct writer *w)
{
	size_t n = 0;
	char *plain;
	struct reader r;

	n_all = 0;
	assert_int_equal(snappy_uncompressed_length(w->body, w->len, &n), SNAPPY_OK);
	assert_int_equal(n, w->plain);
	plain = malloc(n);
	assert_non_null(plain);
	assert_int_equal(snappy_uncompress(w->body, w->len, plain, &n), SNAPPY_OK);
	r = (struct reader){ .at = (unsigned char *)plain, .end = (unsigned char *)plain + n };
	while (r.at < r.end)
		read_series(part(&r, 1));
	free(plain);
}

/* The sum of the last samples of a metric. */
static double total(const char *name, unsigned *ret_n)
{
	char label[200];
	double sum = 0;

	*ret_n = 0;
	snprintf(label, sizeof(label), "__name__=%s,", name);
	for (unsigned i = 0; i < n_all; i++)
		if (strncmp(all[i].labels, label, strlen(label)) == 0) {
			sum += all[i].last;
			++*ret_n;
		}
	return sum;
}

static struct skep_mock_batch *batch_of(const char *key, uint64_t first, uint64_t n)
{
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct record_process p;

	for (uint64_t i = first; i < first + n; i++) {
		records_process(i, "run", &p);
		p.tool = skep_mock_text("bwa");
		p.task = skep_mock_text(i % 2 ? "odd" : "even");
		p.cpu_ns = SECOND;
		records_add_process(b, &p);
	}
	b->batch.key = key;
	return b;
}

static void encode(struct writer *w, struct skep_mock_batch *b)
{
	assert_int_equal(writer_encode(w, &b->batch, 1, NOW, FOR_EVER), 0);
	skep_mock_batch_free(b);
	if (w->len)
		read_request(w);
}

static void begin(struct writer *w)
{
	*w = (struct writer){ .host = "h1", .step_ns = SECOND };
	w->ingest.boot_id = SKEP_MOCK_BOOT_ID;
	assert_int_equal(writer_init(w, 10000), 0);
}

static void test_sums(void **state)
{
	struct writer w;
	int64_t last;
	unsigned n;

	(void)state;
	begin(&w);
	encode(&w, batch_of("k:1", 0, 100));
	assert_true(total("skep_process_cpu_seconds_total", &n) == 100);
	assert_int_equal(n, 2);
	assert_non_null(strstr(all[0].labels, "host=h1,"));
	for (unsigned i = 0; i < n_all; i++)
		assert_true(all[i].first == 0 && all[i].n >= 2); /* sums start at 0 */
	last = all[0].last_ms;
	encode(&w, batch_of("k:2", 100, 50));
	assert_true(total("skep_process_cpu_seconds_total", &n) == 150);
	for (unsigned i = 0; i < n_all; i++)
		assert_true(all[i].first > 0 || all[i].last == 0);
	assert_true(all[0].first_ms > last);
	/* records earlier than those sent: the times still only increase */
	last = all[0].last_ms;
	encode(&w, batch_of("k:3", 10, 50));
	assert_true(total("skep_process_cpu_seconds_total", &n) == 200);
	assert_true(all[0].first_ms > last);
	writer_free(&w);
}

/* Names that become the same when invalid letters are replaced: a receiver refuses a request with a series twice. */
static void test_mended(void **state)
{
	static const char *const tools[] = { "x\xff", "x\xfe" };
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct record_process p;
	struct writer w;
	unsigned n;

	(void)state;
	begin(&w);
	for (unsigned i = 0; i < 2; i++) {
		records_process(0, "run", &p);
		p.tool = skep_mock_text(tools[i]);
		p.cpu_ns = SECOND;
		records_add_process(b, &p);
	}
	b->batch.key = "k:1";
	encode(&w, b);
	assert_true(total("skep_process_cpu_seconds_total", &n) == 2);
	assert_int_equal(n, 1);
	assert_non_null(strstr(all[0].labels, "tool=x\xef\xbf\xbd,"));
	writer_free(&w);
}

/* The host offers a batch that a receiver refused in halves: the sums already contain the halves. */
static void test_halves(void **state)
{
	struct writer w;
	unsigned n;

	(void)state;
	begin(&w);
	encode(&w, batch_of("k:1", 0, 100));
	encode(&w, batch_of("k:1/0", 0, 50));
	assert_true(total("skep_process_cpu_seconds_total", &n) == 100);
	assert_int_equal(n, 2);
	encode(&w, batch_of("k:1/1/0", 50, 25));
	encode(&w, batch_of("k:1/1/1", 75, 25));
	assert_true(total("skep_process_cpu_seconds_total", &n) == 100);
	encode(&w, batch_of("k:10", 100, 1));
	encode(&w, batch_of("k:11", 101, 1));
	assert_true(total("skep_process_cpu_seconds_total", &n) == 51);
	writer_free(&w);
}

static void test_age(void **state)
{
	struct writer w;
	struct skep_mock_batch *b = batch_of("k:1", 0, 100);
	unsigned n;

	(void)state;
	begin(&w);
	w.max_age_ns = 900 * SECOND; /* all records are about 1,000 s old */
	encode(&w, b);
	assert_int_equal(w.old, 100);
	assert_int_equal(w.len, 0);
	w.max_age_ns = 0;
	encode(&w, batch_of("k:2", 0, 100));
	assert_int_equal(w.old, 0);
	assert_true(total("skep_process_cpu_seconds_total", &n) == 100);
	writer_free(&w);
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

/* A batch with an identity of the host (NULL: with a record of another stream) of that second. */
static struct skep_mock_batch *identity_at(const char *version, uint64_t s)
{
	struct skep_mock_batch *b = batch_of("", s - 1000, version ? 0 : 1);
	struct identity i = { .version = skep_mock_text(version ? version : "") };

	snprintf(b->key, sizeof(b->key), "k:%u", (unsigned)s);
	b->batch.key = b->key;
	if (version)
		skep_mock_batch_add(b, &identity_stream, NULL, s * SECOND, &i, NULL);
	else
		b->records[0]->time_ns = s * SECOND;
	return b;
}

/* The identity's record comes once: requests repeat it each minute, and only the newest identity. */
static void test_info(void **state)
{
	static const struct {
		uint64_t s;
		const char *version;
		unsigned samples; /* of the identity */
	} batches[] = {
		{ 1000, "12", 1 }, { 1030, NULL, 0 }, { 1060, NULL, 1 }, { 1100, NULL, 0 },  { 1120, NULL, 1 },
		{ 1800, NULL, 1 }, { 1810, "13", 1 }, { 1869, NULL, 0 }, { 1870, NULL, 1 }, { 1930, NULL, 1 },
	};
	struct writer w;
	unsigned n;

	(void)state;
	begin(&w);
	for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++) {
		struct skep_mock_batch *b = identity_at(batches[i].version, batches[i].s);

		assert_int_equal(writer_encode(&w, &b->batch, batches[i].s * SECOND, NOW, 300 * SECOND), 0);
		assert_int_equal(writer_part_records(&w, 0, w.n_points), 1);
		skep_mock_batch_free(b);
		read_request(&w);
		total("skep_host_info", &n);
		if (n != batches[i].samples)
			fail_msg("%u series at %u s", n, (unsigned)batches[i].s);
		for (unsigned k = 0; k < n_all; k++)
			if (strstr(all[k].labels, "skep_host_info,")) {
				assert_non_null(strstr(all[k].labels, i < 6 ? "=12," : "=13,"));
				assert_int_equal(all[k].n, 1);
				assert_true(all[k].last == 1);
				assert_int_equal(all[k].last_ms - RECORDS_OFFSET / 1000000, batches[i].s * 1000);
			}
	}
	writer_free(&w);
}

struct hist_record {
	struct skep_hist h;
	struct skep_str zone;
};
static const struct skep_field hist_fields[] = {
	SKEP_FIELD(struct hist_record, h, "wait", SKEP_T_HIST, SKEP_S_DELTA, "ns", ""),
	SKEP_FIELD(struct hist_record, zone, "zone", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
};
static const struct skep_stream hist_stream = {
	.size = sizeof(struct skep_stream),
	.field_size = sizeof(struct skep_field),
	.name = "h",
	.record_size = sizeof(struct hist_record),
	.n_fields = 2,
	.fields = hist_fields,
};

static void test_histogram(void **state)
{
	uint64_t slots[SKEP_HIST_SLOTS] = { [0] = 5, [100] = 7 };
	struct hist_record r = { .h = { .slots = slots, .n = SKEP_HIST_SLOTS, .sum = 3000000000 },
				 .zone = { "z\n\xff", 3, 3 } };
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct writer w;
	unsigned n;

	(void)state;
	begin(&w);
	skep_mock_batch_add(b, &hist_stream, NULL, SECOND, &r, NULL);
	encode(&w, b);
	assert_true(total("skep_h_wait_seconds_count", &n) == 12);
	assert_true(total("skep_h_wait_seconds_sum", &n) == 3);
	assert_int_equal(n, 1);
	total("skep_h_wait_seconds_bucket", &n);
	assert_int_equal(n, METRIC_LES + 1);
	assert_string_equal(all[0].labels,
			    "__name__=skep_h_wait_seconds_bucket,host=h1,le=1.024e-06,zone=z\n\xef\xbf\xbd,");
	assert_true(all[0].last == 5);
	writer_free(&w);
}

/* ---- the sink, and a receiver -------------------------------------------------------- */

/* Answers one request a connection with its next status. */
struct receiver {
	int fd;
	int statuses[16]; /* 0: the end; -1: closes the connection without an answer */
	const char *words; /* the body of each answer but 204; NULL: some text */
	unsigned n; /* answered requests */
	struct {
		char head[2000];
		char body[100000];
		size_t len;
	} got[16];
};
static struct receiver receiver;
/* Orders the two threads: an answer over the loopback orders nothing in terms of C. */
static pthread_mutex_t got = PTHREAD_MUTEX_INITIALIZER;

static void answer(struct receiver *r, int fd)
{
	char *buf = malloc(120000), *end = NULL, *length, text[200];
	size_t n = 0, want = 0, head = 0;
	const char *words;
	ssize_t part;

	assert_non_null(buf);
	while ((!end || n < head + want) &&
	       (part = syscall(SYS_recvfrom, fd, buf + n, 119999 - n, 0, NULL, NULL)) > 0) {
		n += (size_t)part;
		buf[n] = '\0';
		if (!end && (end = strstr(buf, "\r\n\r\n"))) {
			head = (size_t)(end - buf) + 4;
			length = strcasestr(buf, "content-length:");
			want = length ? strtoul(length + 15, NULL, 10) : 0;
		}
	}
	pthread_mutex_lock(&got);
	snprintf(r->got[r->n].head, sizeof(r->got[0].head), "%.*s", (int)head, buf);
	memcpy(r->got[r->n].body, buf + head, want);
	r->got[r->n].len = want;
	pthread_mutex_unlock(&got);
	if (r->statuses[r->n] < 0) { /* no answer */
		free(buf);
		return;
	}
	words = r->statuses[r->n] == 204 ? "" : r->words ? r->words : "words of a receiver";
	n = (size_t)snprintf(text, sizeof(text), "HTTP/1.1 %d X\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
			     r->statuses[r->n], strlen(words), words);
	assert_int_equal(syscall(SYS_sendto, fd, text, n, MSG_NOSIGNAL, NULL, 0), n);
	free(buf);
}

static void *receive(void *arg)
{
	struct receiver *r = arg;

	/*
	 * The receiver has fds of its own, because the mock counts an fd that appears while the plugin runs as the
	 * plugin's. By syscall(), since the thread sanitizer takes the same number for the same file.
	 */
	if (unshare(CLONE_FILES) < 0)
		return NULL;
	while (r->statuses[r->n]) {
		int fd = (int)syscall(SYS_accept, r->fd, NULL, NULL);

		answer(r, fd);
		r->n++;
		syscall(SYS_close, fd);
	}
	return NULL;
}

static void offer(struct skep_mock *m, struct skep_mock_batch *b)
{
	unsigned before = m->acks + m->retries + m->rejects + m->holds + m->splits + m->suspects, now = before;

	assert_int_equal(skep_mock_submit(m, &b->batch), 0);
	for (int i = 0; i < 20000 && now == before; i++) {
		skep_mock_settle(m);
		skep_mock_poll(m, 5);
		skep_mock_advance(m, 5000000);
		now = m->acks + m->retries + m->rejects + m->holds + m->splits + m->suspects;
	}
	assert_int_equal(now, before + 1);
	pthread_mutex_lock(&got); /* orders the receiver's writes before its answer */
	pthread_mutex_unlock(&got);
}

/* Records of the present: the sink compares them with the clock. */
static struct skep_mock_batch *fresh(const char *key, uint64_t first)
{
	struct skep_mock_batch *b = batch_of(key, first, 10);

	b->batch.realtime_offset_ns = (int64_t)time(NULL) * 1000000000 - (int64_t)(1001 * SECOND);
	return b;
}

static void read_got(unsigned i)
{
	struct writer w = { .body = receiver.got[i].body, .len = receiver.got[i].len };
	size_t n = 0;

	assert_int_equal(snappy_uncompressed_length(w.body, w.len, &n), SNAPPY_OK);
	w.plain = n;
	read_request(&w);
}

/* Listens and answers in a thread, from receiver.statuses; returns its URL. */
static void receive_begin(pthread_t *thread, char *url, size_t size)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(a);

	receiver.fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(receiver.fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(receiver.fd, 5), 0);
	assert_int_equal(getsockname(receiver.fd, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(pthread_create(thread, NULL, receive, &receiver), 0);
	snprintf(url, size, "http://127.0.0.1:%u/api/v1/write", ntohs(a.sin_port));
}

static void sink_begin(struct skep_mock *m, const char *url)
{
	skep_mock_init(m, skep_plugin_entry(NULL));
	m->quiet = true;
	assert_int_equal(skep_mock_option(m, "url", url), 0);
	assert_int_equal(skep_mock_option(m, "step", "1h"), 0); /* a sample a batch */
	if (skep_mock_start(m) != 0)
		fail_msg("start: %s", m->why);
}

static void test_sink(void **state)
{
	struct skep_mock_batch *b[4] = { fresh("k:1", 0), fresh("k:2", 10), fresh("k:2/0", 10), batch_of("k:3", 0, 7) };
	struct skep_mock m;
	pthread_t thread;
	char url[100];
	unsigned n;

	(void)state;
	receiver = (struct receiver){ .statuses = { 503, 204, 400, 413, 200 } };
	receive_begin(&thread, url, sizeof(url));
	sink_begin(&m, url);
	offer(&m, b[0]);
	assert_int_equal(m.retries, 1);
	offer(&m, b[0]); /* the same bytes again */
	assert_int_equal(m.acks, 1);
	assert_true(m.answer.sent_bytes > receiver.got[1].len); /* and the request's head */
	assert_true(receiver.got[0].len > 50 && receiver.got[0].len == receiver.got[1].len);
	assert_memory_equal(receiver.got[0].body, receiver.got[1].body, receiver.got[0].len);
	assert_non_null(strcasestr(receiver.got[0].head, "\r\nContent-Encoding: snappy\r\n"));
	assert_non_null(strcasestr(receiver.got[0].head, "\r\nContent-Type: application/x-protobuf\r\n"));
	assert_non_null(strcasestr(receiver.got[0].head, "\r\nX-Prometheus-Remote-Write-Version: 0.1.0\r\n"));
	read_got(1);
	assert_true(total("skep_process_cpu_seconds_total", &n) == 10);
	offer(&m, b[1]);
	assert_int_equal(m.rejects, 1);
	assert_non_null(strstr(m.why, "words of a receiver"));
	offer(&m, b[1]);
	assert_int_equal(m.splits, 1);
	offer(&m, b[2]); /* a half: the sum contains the refused batch once */
	assert_int_equal(m.acks, 2);
	read_got(4);
	assert_true(total("skep_process_cpu_seconds_total", &n) == 20);
	/* of 2026-11-10: the sink sends nothing and says so */
	offer(&m, b[3]);
	assert_int_equal(m.acks, 3);
	assert_int_equal(m.answer.rejected, 7);
	assert_non_null(strstr(m.why, "older than max_age"));
	assert_int_equal(skep_mock_counter(&m, "old"), 7);
	pthread_join(thread, NULL);
	close(receiver.fd);
	assert_int_equal(skep_mock_end(&m), 0);
	for (size_t i = 0; i < 4; i++)
		skep_mock_batch_free(b[i]);
	/* the body is compressed by snappy only */
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.quiet = true;
	skep_mock_option(&m, "url", url);
	skep_mock_option(&m, "compression", "gzip");
	assert_int_equal(skep_mock_open(&m), -EINVAL);
	assert_non_null(strstr(m.why, "snappy"));
	assert_int_equal(skep_mock_end(&m), 0);
}

/* A real Prometheus refuses a whole request because of one bad sample; the messages are those of its versions. */
static void test_refused_samples(void **state)
{
	struct skep_mock_batch *b[3] = { fresh("k:1", 0), fresh("k:2", 0), fresh("k:3", 0) };
	struct skep_mock m;
	char url[100];
	pthread_t thread;
	uint64_t samples;
	unsigned n;

	(void)state;
	receiver = (struct receiver){
		/* the whole batch; the first half, a row; its points; the second half */
		.statuses = { 400, 400, 400, 400, 204 },
		.words = "out of order sample",
	};
	receive_begin(&thread, url, sizeof(url));
	sink_begin(&m, url);
	offer(&m, b[0]);
	pthread_join(thread, NULL);
	/* two rows of two points each: the counters' starts, and their values after five records */
	assert_int_equal(receiver.n, 5);
	assert_int_equal(m.acks, 1);
	assert_int_equal(m.rejects, 0);
	assert_int_equal(m.answer.rejected, 5);
	assert_non_null(strstr(m.why, "samples of 5 records are refused: out of order sample"));
	assert_int_equal(skep_mock_counter(&m, "refused"), 5);
	for (unsigned i = 1; i < 5; i++)
		assert_true(receiver.got[i].len < receiver.got[0].len);
	read_got(4);
	assert_true(total("skep_process_cpu_seconds_total", &n) == 5);
	assert_int_equal(n, 1);
	samples = skep_mock_counter(&m, "samples");
	assert_true(samples > 0);
	close(receiver.fd);

	/*
	 * The receiver took the first attempt but did not answer: samples refused as out of order then have already
	 * arrived.
	 */
	receiver = (struct receiver){ .statuses = { -1, 409, 204, 409, 409, 204 }, .words = "conflict" };
	receive_begin(&thread, url, sizeof(url));
	assert_int_equal(skep_mock_end(&m), 0);
	sink_begin(&m, url);
	offer(&m, b[1]);
	assert_int_equal(m.retries, 1);
	offer(&m, b[1]);
	pthread_join(thread, NULL);
	assert_int_equal(m.acks, 1);
	assert_int_equal(m.answer.rejected, 0);
	assert_memory_equal(receiver.got[0].body, receiver.got[1].body, receiver.got[0].len);
	close(receiver.fd);

	/* In the middle of the batch the receiver goes away: the sink sends the batch from the beginning later. */
	receiver = (struct receiver){ .statuses = { 500, 204, 503, 204 }, .words = "too old sample" };
	receive_begin(&thread, url, sizeof(url));
	assert_int_equal(skep_mock_end(&m), 0);
	sink_begin(&m, url);
	offer(&m, b[2]);
	assert_int_equal(m.retries, 1);
	offer(&m, b[2]);
	pthread_join(thread, NULL);
	assert_int_equal(m.acks, 1);
	assert_int_equal(m.answer.rejected, 0);
	assert_int_equal(receiver.got[3].len, receiver.got[0].len);
	assert_memory_equal(receiver.got[3].body, receiver.got[0].body, receiver.got[0].len);
	assert_int_equal(skep_mock_counter(&m, "samples"), samples * 2);
	close(receiver.fd);
	assert_int_equal(skep_mock_end(&m), 0);
	for (size_t i = 0; i < 3; i++)
		skep_mock_batch_free(b[i]);
}

/* A proxy answers with a page in place of the receiver: the batch has not arrived. */
static void test_page(void **state)
{
	struct skep_mock_batch *b = fresh("k:1", 0);
	struct skep_mock m;
	char url[100];
	pthread_t thread;

	(void)state;
	receiver = (struct receiver){
		.statuses = { 200, 204 },
		.words = "<!DOCTYPE html><html><body>Please log in</body></html>",
	};
	receive_begin(&thread, url, sizeof(url));
	sink_begin(&m, url);
	offer(&m, b);
	assert_int_equal(m.holds, 1);
	assert_int_equal(skep_mock_counter(&m, "samples"), 0);
	assert_non_null(strstr(m.why, "a page of HTML"));
	assert_non_null(strstr(m.why, "Please log in"));
	offer(&m, b);
	assert_int_equal(m.acks, 1);
	assert_true(skep_mock_counter(&m, "samples") > 0);
	pthread_join(thread, NULL);
	close(receiver.fd);
	assert_int_equal(skep_mock_end(&m), 0);
	skep_mock_batch_free(b);
}

/* The sink divides each batch once, the earlier half first, and ends at single records. */
static void test_parts(void **state)
{
	struct bisect h;
	unsigned char seen[1000] = { 0 };
	size_t next = 0;

	(void)state;
	bisect_begin(&h, 1000);
	do {
		if (bisect_split(&h))
			continue;
		assert_int_equal(h.from, next);
		for (size_t i = h.from; i < h.to; i++)
			assert_int_equal(seen[i]++, 0);
		next = h.to;
	} while (bisect_next(&h));
	assert_int_equal(next, 1000);
	assert_in_range(h.requests, BISECT_REQUESTS - 2, BISECT_REQUESTS);
	bisect_begin(&h, 1);
	assert_false(bisect_split(&h));
	assert_false(bisect_next(&h));
	bisect_begin(&h, 0);
	assert_false(bisect_split(&h));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_mended),
		cmocka_unit_test(test_halves),
		cmocka_unit_test(test_age),
		cmocka_unit_test(test_histogram),
		cmocka_unit_test(test_info),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_refused_samples),
		cmocka_unit_test(test_page),
		cmocka_unit_test(test_sink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
