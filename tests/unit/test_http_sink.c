/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/sink/http.h through the sink http, under the mock host, against tests/faults/faultd: the consequence of each
 * failure for a batch, secrets that change, TLS, and that the receiver gets the bytes that the sink sent.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <skep/mock.h>

#include "sdk/sink/http_classify.h"
#include "sdk/sink/http_priv.h"
#include "tests/unit/faultd.h"

struct thing {
	uint64_t n;
	struct skep_str text;
};

static const struct skep_field fields[] = {
	SKEP_FIELD(struct thing, n, "n", SKEP_T_U64, SKEP_S_DELTA, "1", "a number"),
	SKEP_FIELD(struct thing, text, "text", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "a text"),
};
static const struct skep_stream things = {
	.size = sizeof(struct skep_stream), .field_size = sizeof(struct skep_field), .name = "thing", .help = "things",
	.record_size = sizeof(struct thing), .n_fields = 2, .fields = fields,
};
static const struct skep_stream others = {
	.size = sizeof(struct skep_stream), .field_size = sizeof(struct skep_field), .name = "other", .help = "others",
	.record_size = sizeof(struct thing), .n_fields = 1, .fields = fields,
};

static struct faultd server;
static struct skep_mock m;
static struct skep_mock_batch *sent[16];
static uint64_t batches;

static unsigned answers(void)
{
	return m.acks + m.retries + m.rejects + m.holds + m.splits + m.suspects;
}

/* The mock's clock runs as fast as the real one. */
static void turn(void)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	skep_mock_settle(&m);
	skep_mock_poll(&m, 5);
	clock_gettime(CLOCK_MONOTONIC, &b);
	skep_mock_advance(&m, (uint64_t)((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec));
}

static void wait_for(unsigned n)
{
	for (int i = 0; i < 40000 && answers() < n; i++)
		turn();
	assert_int_equal(answers(), n);
}

static void url(const char *path)
{
	char text[256];

	snprintf(text, sizeof(text), "http://127.0.0.1:%d%s", server.http, path);
	assert_int_equal(skep_mock_option(&m, "url", text), 0);
}

static void init(void)
{
	for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++) /* batches of a test that failed */
		sent[i] = skep_mock_batch_free(sent[i]);
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.quiet = true;
	assert_int_equal(skep_mock_option(&m, "timeout", "400ms"), 0);
	assert_int_equal(skep_mock_option(&m, "connect_timeout", "300ms"), 0);
}

static void start(void)
{
	if (skep_mock_start(&m) != 0)
		fail_msg("start: %s", m.why);
}

static void end(void)
{
	skep_mock_stop(&m);
	for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++)
		sent[i] = skep_mock_batch_free(sent[i]);
	for (unsigned i = 0; skep_mock_defect(&m, i); i++)
		print_error("defect: %s\n", skep_mock_defect(&m, i));
	assert_int_equal(skep_mock_end(&m), 0);
	faultd_forget(&server);
}

/* n records, numbered from the batch's id * 1000 on, and one record of another stream. */
static struct skep_mock_batch *batch(unsigned n)
{
	struct skep_mock_batch *b = skep_mock_batch_new(++batches, 1000000000);
	struct thing thing = { .text = skep_mock_text("two words, \"quoted\"") };

	for (unsigned i = 0; i < n; i++) {
		thing.n = b->batch.id * 1000 + i;
		skep_mock_batch_add(b, &things, &(struct skep_upid) { .start_ns = 5 + i, .pid = 100 }, 2500000000,
				    &thing, NULL);
	}
	thing.n = b->batch.id * 1000 + 999;
	skep_mock_batch_add(b, &others, NULL, 2500000000, &thing, NULL);
	for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++) {
		if (!sent[i]) {
			sent[i] = b;
			return b;
		}
	}
	fail_msg("raise sent[]");
	return NULL;
}

static struct skep_mock_batch *submit(unsigned n)
{
	struct skep_mock_batch *b = batch(n);

	assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
	return b;
}

/* Submits one batch and waits for the answer. */
static const struct skep_batch_answer *send_one(unsigned n)
{
	unsigned before = answers();

	submit(n);
	wait_for(before + 1);
	return &m.answer;
}

/* Entry i of the server's log, which must exist; borrowed until the next call. */
static json_t *request(size_t i)
{
	static json_t *log;

	json_decref(log);
	log = faultd_log(&server);
	if (i >= json_array_size(log))
		fail_msg("the server has %zu requests", json_array_size(log));
	return json_array_get(log, i);
}

static const char *header(json_t *r, const char *name)
{
	const char *value = json_string_value(json_object_get(json_object_get(r, "headers"), name));

	return value ? value : "";
}

static void test_taken(void **state)
{
	static const struct {
		const char *format, *compression, *type, *coding;
	} ways[] = {
		{ "ndjson", "none", "application/x-ndjson", "" },
		{ "ndjson", "gzip", "application/x-ndjson", "gzip" },
		{ "ndjson", "zstd", "application/x-ndjson", "zstd" },
		{ "json", "gzip", "application/json", "gzip" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct skep_mock_batch *b;
		json_t *r;

		init();
		url("/200/in");
		assert_int_equal(skep_mock_option(&m, "format", ways[i].format), 0);
		assert_int_equal(skep_mock_option(&m, "compression", ways[i].compression), 0);
		start();
		b = submit(300);
		wait_for(1);
		assert_int_equal(m.acks, 1);
		r = request(0);
		assert_string_equal(json_string_value(json_object_get(r, "key")), b->key);
		assert_string_equal(header(r, "Content-Type"), ways[i].type);
		assert_string_equal(header(r, "Content-Encoding"), ways[i].coding);
		assert_memory_equal(header(r, "User-Agent"), "skep/", 5);
		assert_int_equal(json_array_size(json_object_get(r, "ids")), 301);
		for (size_t k = 0; k < 301; k++)
			assert_int_equal(json_integer_value(json_array_get(json_object_get(r, "ids"), k)),
					 b->batch.id * 1000 + (k < 300 ? k : 999));
		assert_in_range(m.answer.sent_bytes, (uint64_t)json_integer_value(json_object_get(r, "bytes")) + 100,
				(uint64_t)json_integer_value(json_object_get(r, "bytes")) + 1000);
		assert_int_equal(skep_mock_counter(&m, "records"), 301);
		end();
	}
}

static void test_answers(void **state)
{
	static const struct {
		const char *script;
		enum skep_batch_result result;
		uint32_t status;
		const char *why;
	} cases[] = {
		{ "204", SKEP_BATCH_ACK, 204, "" },
		{ "flood", SKEP_BATCH_ACK, 200, "" },
		{ "says:ok", SKEP_BATCH_ACK, 200, "" },
		{ "page", SKEP_BATCH_HOLD, 200, "with a page of HTML" },
		{ "page", SKEP_BATCH_HOLD, 200, "Your session has ended." },
		{ "400", SKEP_BATCH_REJECT, 400, "answers 400: this is fault 400 as the script says" },
		{ "401", SKEP_BATCH_HOLD, 401, "answers 401" },
		{ "403", SKEP_BATCH_HOLD, 403, "answers 403" },
		{ "404", SKEP_BATCH_HOLD, 404, "answers 404" },
		{ "408", SKEP_BATCH_RETRY, 408, "answers 408" },
		{ "413", SKEP_BATCH_SPLIT, 413, "answers 413" },
		{ "415", SKEP_BATCH_HOLD, 415, "answers 415" },
		{ "422", SKEP_BATCH_REJECT, 422, "answers 422" },
		{ "429", SKEP_BATCH_RETRY, 429, "answers 429" },
		{ "500", SKEP_BATCH_SUSPECT, 500, "answers 500" },
		{ "502", SKEP_BATCH_RETRY, 502, "answers 502" },
		{ "503", SKEP_BATCH_RETRY, 503, "answers 503" },
		{ "504", SKEP_BATCH_RETRY, 504, "answers 504" },
		{ "302:elsewhere.example", SKEP_BATCH_HOLD, 302, "a redirect to http://elsewhere.example" },
		{ "slow:50", SKEP_BATCH_ACK, 200, "" },
		{ "hang", SKEP_BATCH_RETRY, 0, "timed out" },
		{ "reset", SKEP_BATCH_RETRY, 0, "reset" },
		{ "close", SKEP_BATCH_RETRY, 0, "Empty reply" },
		{ "half", SKEP_BATCH_RETRY, 0, "" },
		{ "garbage", SKEP_BATCH_RETRY, 0, "HTTP/0.9" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct skep_batch_answer *a;
		char path[64];

		init();
		snprintf(path, sizeof(path), "/%s/in", cases[i].script);
		url(path);
		start();
		a = send_one(3);
		if (a->result != cases[i].result || a->status != cases[i].status || !strstr(m.why, cases[i].why))
			fail_msg("%s: result %u, status %u, why \"%s\"", cases[i].script, a->result, a->status, m.why);
		if (a->result != SKEP_BATCH_ACK)
			assert_int_not_equal(m.why[0], '\0');
		end();
	}
}

static void test_no_connection(void **state)
{
	char text[64];
	int ports[] = { server.refuse, server.blackhole };

	(void)state;
	for (int i = 0; i < 2; i++) {
		init();
		snprintf(text, sizeof(text), "http://127.0.0.1:%d/", ports[i]);
		assert_int_equal(skep_mock_option(&m, "url", text), 0);
		start();
		assert_int_equal(send_one(3)->result, SKEP_BATCH_RETRY);
		assert_int_not_equal(m.why[0], '\0');
		end();
	}
	init();
	assert_int_equal(skep_mock_option(&m, "url", "http://nowhere.invalid/"), 0);
	start();
	assert_int_equal(send_one(3)->result, SKEP_BATCH_RETRY);
	assert_true(m.worst_ns < 200000000); /* a thread resolves names; no callback waits for it */
	end();
}

/* The fault server is the proxy: a request through it has the whole URL as its path. */
static void test_proxy(void **state)
{
	const struct skep_batch_answer *answer;
	char text[64];

	(void)state;
	snprintf(text, sizeof(text), "http://127.0.0.1:%d", server.http);
	init();
	assert_int_equal(skep_mock_option(&m, "url", "http://nowhere.invalid/in"), 0);
	assert_int_equal(skep_mock_option(&m, "proxy", text), 0);
	start();
	assert_int_equal(send_one(2)->result, SKEP_BATCH_ACK);
	assert_string_equal(json_string_value(json_object_get(request(0), "path")), "http://nowhere.invalid/in");
	end();
	/* a proxy from the environment, and none */
	setenv("http_proxy", text, 1);
	init();
	assert_int_equal(skep_mock_option(&m, "url", "http://nowhere.invalid/env"), 0);
	start();
	assert_int_equal(send_one(2)->result, SKEP_BATCH_ACK);
	end();
	init();
	url("/200/direct");
	assert_int_equal(skep_mock_option(&m, "proxy", "none"), 0);
	start();
	assert_int_equal(send_one(2)->result, SKEP_BATCH_ACK);
	assert_string_equal(json_string_value(json_object_get(request(0), "path")), "/200/direct");
	end();
	unsetenv("http_proxy");
	/*
	 * https:// through a proxy that refuses CONNECT, as a proxy that demands a password does: an administrator has
	 * to act, so the sink holds
	 */
	init();
	assert_int_equal(skep_mock_option(&m, "url", "https://nowhere.invalid/in"), 0);
	assert_int_equal(skep_mock_option(&m, "proxy", text), 0);
	start();
	answer = send_one(2);
	assert_int_equal(answer->result, SKEP_BATCH_HOLD);
	assert_int_equal(answer->status, 407);
	end();
}

static void test_retry_after(void **state)
{
	uint64_t ns;

	(void)state;
	init();
	url("/429:7,503:date=20,503:date=20@-10800,503:date=20@10800,200/after");
	start();
	assert_int_equal(send_one(1)->retry_after_ns, 7000000000u);
	assert_int_equal(m.answer.result, SKEP_BATCH_RETRY);
	for (int i = 0; i < 3; i++) { /* the clocks agree; the receiver's is hours behind; hours ahead */
		ns = send_one(1)->retry_after_ns;
		assert_in_range(ns, 18000000000u, 20000000000u);
	}
	assert_int_equal(send_one(1)->result, SKEP_BATCH_ACK);
	assert_int_equal(m.answer.retry_after_ns, 0);
	end();
}

static void test_conditions(void **state)
{
	(void)state;
	init();
	url("/413:3000/size");
	start();
	assert_int_equal(send_one(100)->result, SKEP_BATCH_SPLIT);
	assert_int_equal(send_one(3)->result, SKEP_BATCH_ACK);
	end();

	init();
	url("/200/bounded");
	assert_int_equal(skep_mock_option(&m, "max_request", "4KiB"), 0);
	start();
	assert_int_equal(send_one(100)->result, SKEP_BATCH_SPLIT);
	assert_int_equal(skep_mock_counter(&m, "requests"), 0);
	assert_int_equal(send_one(3)->result, SKEP_BATCH_ACK);
	end();
}

static void test_streams(void **state)
{
	(void)state;
	init();
	url("/200/some");
	assert_int_equal(skep_mock_option_list(&m, "streams", (const char *[]){ "other", NULL }), 0);
	start();
	send_one(5);
	assert_int_equal(json_array_size(json_object_get(request(0), "ids")), 1);
	assert_int_equal(skep_mock_option_list(&m, "streams", (const char *[]){ "nothing", NULL }), 0);
	assert_int_equal(skep_mock_reload(&m), 0);
	assert_int_equal(send_one(5)->result, SKEP_BATCH_ACK); /* nothing to send */
	assert_int_equal(skep_mock_counter(&m, "requests"), 1);
	end();
}

static void test_templates(void **state)
{
	char want[256];
	struct skep_mock_batch *b;
	json_t *r;

	(void)state;
	init();
	url("/200/{host.name}/{batch.key}?boot={boot_id}&id={batch.id}");
	assert_int_equal(
		skep_mock_option_list(&m, "headers",
				      (const char *[]) { "X-Host: {host.name}", "Idempotency-Key: own-{batch.id}",
							 "X-Json: {\"a\": 1}", NULL }),
		0);
	start();
	b = submit(1);
	wait_for(1);
	assert_int_equal(m.acks, 1);
	r = request(0);
	assert_string_equal(header(r, "X-Host"), "testhost"); /* the batch's */
	assert_string_equal(header(r, "X-Json"), "{\"a\": 1}");
	snprintf(want, sizeof(want), "own-%u", (unsigned)b->batch.id);
	assert_string_equal(json_string_value(json_object_get(r, "key")), want);
	snprintf(want, sizeof(want), "?boot=" SKEP_MOCK_BOOT_ID "&id=%u", (unsigned)b->batch.id);
	assert_non_null(strstr(json_string_value(json_object_get(r, "path")), want));
	assert_non_null(strstr(json_string_value(json_object_get(r, "path")), "/200/testhost/"));
	end();
}

static void write_file(const char *name, const char *text, char *path, size_t room)
{
	FILE *f;

	snprintf(path, room, "%s/%s", server.dir, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_token(void **state)
{
	char path[128];

	(void)state;
	write_file("token", "first-token\n", path, sizeof(path));
	init();
	url("/401:second-token/auth");
	assert_int_equal(skep_mock_option(&m, "token_file", path), 0);
	start();
	assert_int_equal(send_one(1)->result, SKEP_BATCH_HOLD); /* the token file has not changed */
	write_file("token", "second-token\n", path, sizeof(path));
	/* the token file has changed: the sink tries at once */
	assert_int_equal(send_one(1)->result, SKEP_BATCH_RETRY);
	assert_null(strstr(m.why, "-token"));
	assert_non_null(strstr(m.why, "changed"));
	assert_int_equal(send_one(1)->result, SKEP_BATCH_ACK);

	/* the sink keeps its token when the file disappears */
	url("/401:third-token,401:second-token/gone");
	assert_int_equal(skep_mock_reload(&m), 0);
	unlink(path);
	assert_int_equal(send_one(1)->result, SKEP_BATCH_HOLD);
	assert_non_null(strstr(m.logged, path));
	assert_int_equal(send_one(1)->result, SKEP_BATCH_ACK);
	end();

	/* from the environment; basic authentication; a key in a header of its own */
	init();
	url("/200/env");
	setenv("TEST_HTTP_TOKEN", "from-env", 1);
	assert_int_equal(skep_mock_option(&m, "token_file", "env:TEST_HTTP_TOKEN"), 0);
	assert_int_equal(
		skep_mock_option_list(&m, "headers", (const char *[]) { "X-Api-Key: env:TEST_HTTP_TOKEN", NULL }), 0);
	start();
	send_one(1);
	assert_string_equal(header(request(0), "Authorization"), "Bearer from-env");
	assert_string_equal(header(request(0), "X-Api-Key"), "from-env");
	end();
	init();
	url("/200/basic");
	assert_int_equal(skep_mock_option(&m, "username", "ann"), 0);
	assert_int_equal(skep_mock_option(&m, "password_file", "env:TEST_HTTP_TOKEN"), 0);
	start();
	send_one(1);
	assert_string_equal(header(request(0), "Authorization"), "Basic YW5uOmZyb20tZW52");
	end();
}

/* A receiver that quotes the request's headers brings no secret into a log or into `skep status`. */
static void test_echo(void **state)
{
	(void)state;
	setenv("TEST_HTTP_TOKEN", "s3cr3t.from-env", 1);
	setenv("TEST_HTTP_SHORT", "s3c", 1);
	init();
	url("/400:echo/token");
	assert_int_equal(skep_mock_option(&m, "token_file", "env:TEST_HTTP_TOKEN"), 0);
	assert_int_equal(
		skep_mock_option_list(&m, "headers",
				      (const char *[]) { "X-Api-Key: env:TEST_HTTP_SHORT",
							 "X-Own: Key written-in-the-config", "Cookie: a=1", NULL }),
		0);
	start();
	assert_int_equal(send_one(1)->result, SKEP_BATCH_REJECT);
	assert_non_null(strstr(m.why, "answers 400: refused: ['Bearer ***************', '***', '"));
	assert_null(strstr(m.why, "s3c"));
	assert_null(strstr(m.why, "written"));
	assert_non_null(strstr(m.why, "you are skep/"));
	end();
	init();
	url("/403:echo/basic");
	assert_int_equal(skep_mock_option(&m, "username", "ann"), 0);
	assert_int_equal(skep_mock_option(&m, "password_file", "env:TEST_HTTP_TOKEN"), 0);
	start();
	assert_int_equal(send_one(1)->result, SKEP_BATCH_HOLD);
	assert_non_null(strstr(m.why, "'Basic ****"));
	assert_null(strstr(m.why, "YW5u"));
	end();
	/* a secret that a new token has replaced meanwhile */
	init();
	url("/400:echo/replaced");
	assert_int_equal(skep_mock_option(&m, "token_file", "env:TEST_HTTP_TOKEN"), 0);
	start();
	submit(1);
	while (skep_mock_counter(&m, "requests") == 0)
		turn();
	setenv("TEST_HTTP_TOKEN", "another-one", 1);
	assert_int_equal(skep_mock_reload(&m), 0);
	wait_for(1);
	assert_null(strstr(m.why, "s3cr3t"));
	end();
}

/* A receiver answers 200 to the old token, as another user's: the sink still soon reads and uses the new token. */
static void test_token_that_changes_quietly(void **state)
{
	const char *sent = "";
	char path[300];

	(void)state;
	write_file("token", "first-token\n", path, sizeof(path));
	init();
	url("/200/quiet");
	assert_int_equal(skep_mock_option(&m, "token_file", path), 0);
	start();
	assert_int_equal(send_one(2)->result, SKEP_BATCH_ACK);
	write_file("token", "other-token\n", path, sizeof(path));
	for (int i = 0; i < 100 && !strstr(sent, "other-token"); i++) {
		usleep(1100000);
		assert_int_equal(send_one(2)->result, SKEP_BATCH_ACK);
		sent = header(request((size_t)i + 1), "Authorization");
	}
	assert_string_equal(sent, "Bearer other-token");
	end();
}

/* Two requests get 401 while the token changes: the first reads the new token, and the host offers both again. */
static void test_token_race(void **state)
{
	char path[128];

	(void)state;
	write_file("race", "old\n", path, sizeof(path));
	init();
	url("/401:new/race");
	assert_int_equal(skep_mock_option(&m, "token_file", path), 0);
	start();
	submit(1);
	submit(1);
	submit(1);
	write_file("race", "new\n", path, sizeof(path));
	wait_for(3);
	assert_int_equal(m.retries, 3);
	assert_int_equal(send_one(1)->result, SKEP_BATCH_ACK);
	end();
}

static void test_many(void **state)
{
	(void)state;
	init();
	url("/200/many");
	start();
	for (unsigned i = 0; i < 3; i++) {
		for (unsigned k = 0; k < 4; k++)
			submit(10);
		assert_int_equal(skep_mock_submit(&m, &sent[0]->batch), -EAGAIN); /* a fifth */
		wait_for(4 * (i + 1));
	}
	assert_int_equal(m.acks, 12);
	assert_in_range(skep_mock_counter(&m, "connections"), 1, 4); /* and not twelve */
	assert_int_equal(skep_mock_counter(&m, "requests"), 12);
	end();
}

static void test_reload_url(void **state)
{
	(void)state;
	init();
	url("/200/before");
	start();
	send_one(1);
	url("/200/after");
	assert_int_equal(skep_mock_reload(&m), 0);
	send_one(1);
	assert_string_equal(json_string_value(json_object_get(request(1), "path")), "/200/after");
	assert_int_equal(skep_mock_counter(&m, "connections"), 2);
	/* a reload does not disturb a request under way */
	url("/slow:100/under-way");
	assert_int_equal(skep_mock_reload(&m), 0);
	submit(1);
	skep_mock_settle(&m);
	turn();
	url("/200/next");
	assert_int_equal(skep_mock_reload(&m), 0);
	wait_for(3);
	send_one(1);
	assert_int_equal(m.acks, 4);
	assert_string_equal(json_string_value(json_object_get(request(3), "path")), "/200/next");
	/* an invalid reload changes nothing */
	assert_int_equal(skep_mock_option(&m, "token_file", "/nonexistent/token"), 0);
	assert_int_equal(skep_mock_reload(&m), -ENOENT);
	assert_non_null(strstr(m.why, "/nonexistent/token"));
	end();
}

static void test_stop(void **state)
{
	(void)state;
	init();
	url("/hang/stop");
	start();
	for (int i = 0; i < 3; i++)
		submit(2);
	skep_mock_settle(&m);
	turn();
	end(); /* the sink leaves nothing open, and no request is answered */
	assert_int_equal(answers(), 0);
}

static void test_host_fails(void **state)
{
	struct skep_mock_batch *b;

	(void)state;
	init();
	url("/200/fails");
	start();
	b = batch(1);
	m.fail_work = -EAGAIN;
	assert_int_equal(skep_mock_submit(&m, &b->batch), -EAGAIN);
	m.fail_work = 0;
	m.fail_timer = -ENOMEM;
	assert_int_equal(send_one(1)->result, SKEP_BATCH_RETRY);
	m.fail_timer = 0;
	m.fail_watch = -ENOMEM; /* a connection that cannot be watched: the request still ends, by its timers */
	send_one(1);
	assert_non_null(strstr(m.logged, "cannot watch"));
	m.fail_watch = 0;
	assert_int_equal(send_one(1)->result, SKEP_BATCH_ACK);
	end();
}

static void test_options(void **state)
{
	static const struct {
		const char *name, *value, *why;
	} cases[] = {
		{ "url", "ftp://a/b", "expected http" },
		{ "url", "http://ann:secret@host/", "username and password_file" },
		{ "url", "http://", "no host" },
		{ "url", "http://host/a b", "%20" },
		{ "url", "http://host/{run}", "{run} at byte 12: expected {host.name}" },
		{ "format", "xml", "ndjson or json" },
		{ "method", "GET", "POST, PUT or PATCH" },
		{ "compression", "lz4", "none, gzip or zstd" },
		{ "max_request", "1", "1KiB to 64MiB" },
		{ "proxy", "host:3128", "expected none, or a URL" },
		{ "key_file", "/k", "without cert_file" },
		{ "password_file", "/p", "without username" },
		{ "token_file", "/nonexistent/t", "token_file: /nonexistent/t: No such file" },
		{ "ca_file", "/nonexistent/ca.pem", "ca_file: /nonexistent/ca.pem: No such file" },
		{ "cert_file", "/nonexistent/c.pem", "cert_file: /nonexistent/c.pem: No such file" },
		{ "token_file", "env:TEST_NOT_THERE", "token_file: env:TEST_NOT_THERE: the environment has no such" },
		{ "timeout", "1us", "at least 1ms" },
	};
	static const char *const headers[][2] = {
		{ "no colon: here", "is not \"Name: value\"" },
		{ "Content-Length: 3", "follows from the body" },
		{ "X-A: a\r\nX-B: b", "control character" },
		{ "X-A: {secret}", "headers: { at byte 5: expected" }, /* the text may contain a key */
		{ "X-A: file:/nonexistent/key", "headers: /nonexistent/key" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		init();
		url("/200/options");
		assert_int_equal(skep_mock_option(&m, cases[i].name, cases[i].value), 0);
		assert_int_not_equal(skep_mock_start(&m), 0);
		if (!strstr(m.why, cases[i].why) || strstr(m.why, "secret"))
			fail_msg("%s \"%s\": %s", cases[i].name, cases[i].value, m.why);
		assert_int_equal(skep_mock_end(&m), 0);
	}
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		init();
		url("/200/options");
		assert_int_equal(skep_mock_option_list(&m, "headers", (const char *[]){ headers[i][0], NULL }), 0);
		assert_int_not_equal(skep_mock_start(&m), 0);
		if (!strstr(m.why, headers[i][1]) || strstr(m.why, "secret"))
			fail_msg("header \"%s\": %s", headers[i][0], m.why);
		assert_int_equal(skep_mock_end(&m), 0);
	}
}

/* ---- TLS ------------------------------------------------------------------------------- */

static void tls(const char *host, const char *ca)
{
	char text[128];

	init();
	assert_int_equal(skep_mock_option(&m, "timeout", "3s"), 0);
	assert_int_equal(skep_mock_option(&m, "connect_timeout", "3s"), 0);
	snprintf(text, sizeof(text), "https://%s:%d/200/tls", host, server.https);
	assert_int_equal(skep_mock_option(&m, "url", text), 0);
	snprintf(text, sizeof(text), "%s/%s", server.dir, ca);
	assert_int_equal(skep_mock_option(&m, "ca_file", text), 0);
}

static void with_certificate(void)
{
	char text[128];

	snprintf(text, sizeof(text), "%s/client.pem", server.dir);
	assert_int_equal(skep_mock_option(&m, "cert_file", text), 0);
	snprintf(text, sizeof(text), "%s/client.key", server.dir);
	assert_int_equal(skep_mock_option(&m, "key_file", text), 0);
}

static void expect_one(enum skep_batch_result want, int line)
{
	start();
	send_one(2);
	if (m.answer.result != want)
		fail_msg("line %d: result %u, expected %u: %s", line, m.answer.result, want, m.why);
	end();
}
#define EXPECT_ONE(want_) expect_one((want_), __LINE__)

static void test_tls(void **state)
{
	char text[128];

	(void)state;
	tls("127.0.0.1", "ca.pem");
	with_certificate();
	EXPECT_ONE(SKEP_BATCH_ACK);
	tls("127.0.0.1", "other-ca.pem");
	with_certificate();
	EXPECT_ONE(SKEP_BATCH_HOLD);
	tls("127.0.0.1", "other-ca.pem");
	with_certificate();
	assert_int_equal(skep_mock_option(&m, "insecure", "true"), 0);
	EXPECT_ONE(SKEP_BATCH_ACK);
	/* the address is not in the certificate: the server listens on 127.0.0.1 only, so 127.0.0.2 is refused */
	tls("127.0.0.2", "ca.pem");
	with_certificate();
	EXPECT_ONE(SKEP_BATCH_RETRY);
	/*
	 * The server demands a certificate. With TLS 1.3 it says so after the handshake and resets the connection when
	 * a request arrives meanwhile; its message may be lost.
	 */
	tls("127.0.0.1", "ca.pem");
	start();
	send_one(2);
	assert_true(m.answer.result == SKEP_BATCH_HOLD || m.answer.result == SKEP_BATCH_RETRY);
	end();
	/* a file that is removed after the sink began */
	snprintf(text, sizeof(text), "%s/gone.pem", server.dir);
	assert_int_equal(symlink("ca.pem", text), 0);
	tls("127.0.0.1", "gone.pem");
	with_certificate();
	start();
	assert_int_equal(unlink(text), 0);
	send_one(2);
	assert_int_equal(m.answer.result, SKEP_BATCH_HOLD);
	end();
	/* TLS to a port that speaks plain HTTP */
	tls("127.0.0.1", "ca.pem");
	snprintf(text, sizeof(text), "https://127.0.0.1:%d/", server.http);
	assert_int_equal(skep_mock_option(&m, "url", text), 0);
	EXPECT_ONE(SKEP_BATCH_HOLD);
}

/* ---- nginx, with client certificates ----------------------------------------------------- */

static pid_t nginx_start(int *ret_port)
{
	char conf[160], command[512], line[512];
	pid_t pid;
	FILE *f;

	*ret_port = server.refuse;
	if (system("command -v nginx >/dev/null 2>&1 || test -x /usr/sbin/nginx") != 0)
		return 0;
	snprintf(conf, sizeof(conf), "%s/nginx.conf", server.dir);
	f = fopen(conf, "we");
	assert_non_null(f);
	fprintf(f,
		"daemon off; master_process off; pid %s/nginx.pid; error_log %s/nginx.log;\n"
		"events { }\n"
		"http { access_log off; client_body_temp_path %s/body; proxy_temp_path %s/proxy; fastcgi_temp_path %s/fcgi;\n"
		" uwsgi_temp_path %s/uwsgi; scgi_temp_path %s/scgi; client_max_body_size 8k;\n"
		" server { listen 127.0.0.1:%d ssl; ssl_certificate %s/server.pem; ssl_certificate_key %s/server.key;\n"
		"  ssl_client_certificate %s/ca.pem; ssl_verify_client on; ssl_protocols TLSv1.2 TLSv1.3;\n"
		"  location / { proxy_pass http://127.0.0.1:%d; } } }\n",
		server.dir, server.dir, server.dir, server.dir, server.dir, server.dir, server.dir, *ret_port,
		server.dir, server.dir, server.dir, server.http);
	fclose(f);
	snprintf(command, sizeof(command), "PATH=$PATH:/usr/sbin nginx -t -q -p %s -c %s 2>&1", server.dir, conf);
	f = popen(command, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		print_message("nginx: %s", line);
	if (pclose(f) != 0)
		return 0;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* ends nginx even when a test fails */
		setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
		execlp("nginx", "nginx", "-p", server.dir, "-c", conf, (char *)NULL);
		_exit(127);
	}
	return pid;
}

static void through_nginx(int port, bool certificate)
{
	char text[64];

	tls("127.0.0.1", "ca.pem");
	snprintf(text, sizeof(text), "https://127.0.0.1:%d/200/nginx", port);
	assert_int_equal(skep_mock_option(&m, "url", text), 0);
	assert_int_equal(skep_mock_option(&m, "compression", "none"), 0);
	if (certificate)
		with_certificate();
	start();
}

static void test_nginx(void **state)
{
	const long life_s = skep_http_connection_life_s;
	char path[256], old[256];
	int port;
	pid_t pid = nginx_start(&port);

	(void)state;
	if (!pid) {
		puts("nginx is not here; remedy: apt-get install -y nginx-light");
		skip();
	}
	through_nginx(port, true);
	for (int i = 0; i < 2000 && send_one(2)->result == SKEP_BATCH_RETRY; i++)
		usleep(50000); /* until nginx listens */
	assert_int_equal(m.answer.result, SKEP_BATCH_ACK);
	assert_int_equal(send_one(100)->result, SKEP_BATCH_SPLIT); /* client_max_body_size */
	end();
	/*
	 * A sink that keeps sending uses a client certificate that replaced the old one under the same name, without a
	 * reload.
	 */
	skep_http_connection_life_s = 1;
	through_nginx(port, true);
	assert_int_equal(send_one(2)->result, SKEP_BATCH_ACK);
	snprintf(path, sizeof(path), "%s/client.pem", server.dir);
	snprintf(old, sizeof(old), "%s/client.old", server.dir);
	assert_int_equal(rename(path, old), 0);
	write_file("client.pem", "no certificate\n", path, sizeof(path));
	for (int i = 0; i < 200 && send_one(2)->result == SKEP_BATCH_ACK; i++)
		usleep(700000);
	assert_int_equal(m.answer.result, SKEP_BATCH_HOLD);
	end();
	assert_int_equal(rename(old, path), 0);
	skep_http_connection_life_s = life_s;
	/* nginx answers 400 to a bad certificate: the sink must not drop a batch for that */
	through_nginx(port, false);
	assert_int_equal(send_one(2)->result, SKEP_BATCH_HOLD);
	assert_int_equal(m.answer.status, 400);
	end();
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
}

/* ---- the table ---------------------------------------------------------------------------- */

static void test_classify(void **state)
{
	static const struct {
		CURLcode code;
		const char *text;
		enum skep_batch_result result;
	} errors[] = {
		{ CURLE_COULDNT_RESOLVE_HOST, "", SKEP_BATCH_RETRY },
		{ CURLE_COULDNT_CONNECT, "", SKEP_BATCH_RETRY },
		{ CURLE_OPERATION_TIMEDOUT, "", SKEP_BATCH_RETRY },
		{ CURLE_GOT_NOTHING, "", SKEP_BATCH_RETRY },
		{ CURLE_PARTIAL_FILE, "", SKEP_BATCH_RETRY },
		{ CURLE_OUT_OF_MEMORY, "", SKEP_BATCH_RETRY },
		{ CURLE_PEER_FAILED_VERIFICATION, "", SKEP_BATCH_HOLD },
		{ CURLE_SSL_CERTPROBLEM, "", SKEP_BATCH_HOLD },
		{ CURLE_SSL_CACERT_BADFILE, "", SKEP_BATCH_HOLD },
		{ CURLE_SSL_CONNECT_ERROR, "OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to h:1",
		  SKEP_BATCH_RETRY },
		{ CURLE_SSL_CONNECT_ERROR, "error:0A000126:SSL routines::unexpected eof while reading",
		  SKEP_BATCH_RETRY },
		{ CURLE_SSL_CONNECT_ERROR, "error:0A00010B:SSL routines::wrong version number", SKEP_BATCH_HOLD },
		{ CURLE_SSL_CONNECT_ERROR, "error:0A000410:SSL routines::sslv3 alert handshake failure",
		  SKEP_BATCH_HOLD },
		{ CURLE_RECV_ERROR, "error:0A00045C:SSL routines::tlsv13 alert certificate required", SKEP_BATCH_HOLD },
		{ CURLE_RECV_ERROR, "Recv failure: Connection reset by peer", SKEP_BATCH_RETRY },
	};
	static const char *const about_tls[] = {
		"<html>\r\n<head><title>400 No required SSL certificate was sent</title></head>\r\n<body>\r\n",
		"<html>\r\n<head><title>400 The SSL certificate error</title></head>\r\n<body>\r\n",
		"<html>\r\n<head><title>400 The plain HTTP request was sent to HTTPS port</title></head>\r\n",
		("<!DOCTYPE HTML PUBLIC \"-//IETF//DTD HTML 2.0//EN\">\n<html><head>\n<title>400 Bad Request</title>\n</head><body>\n"
		 "<h1>Bad Request</h1>\n<p>Your browser sent a request that this server could not understand.<br />\n"
		 "Reason: You're speaking plain HTTP to an SSL-enabled server port.<br />\n Instead use the HTTPS scheme"),
		"Client sent an HTTP request to an HTTPS server.\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (skep_http_classify_error(errors[i].code, errors[i].text) != errors[i].result)
			fail_msg("code %d \"%s\"", errors[i].code, errors[i].text);
	for (size_t i = 0; i < sizeof(about_tls) / sizeof(about_tls[0]); i++) {
		char quoted[600];

		assert_int_equal(skep_http_classify_status(400, about_tls[i]), SKEP_BATCH_HOLD);
		/* a receiver quotes the same words of a user */
		snprintf(quoted, sizeof(quoted), "cannot parse \"%s\"", about_tls[i]);
		assert_int_equal(skep_http_classify_status(400, quoted), SKEP_BATCH_REJECT);
		snprintf(quoted, sizeof(quoted), "<html><head><title>400 Bad Request</title></head>%s", about_tls[i]);
		assert_int_equal(skep_http_classify_status(400, quoted), SKEP_BATCH_REJECT);
	}
	for (long s = 100; s < 700; s++) {
		enum skep_batch_result r = skep_http_classify_status(s, "");

		assert_int_equal(r == SKEP_BATCH_ACK, s / 100 == 2);
		assert_int_equal(r == SKEP_BATCH_SPLIT, s == 413);
		assert_int_equal(r == SKEP_BATCH_SUSPECT, s == 500);
		if (r == SKEP_BATCH_REJECT) /* only a status about this very request */
			assert_int_equal(s / 100, 4);
	}
}

static void test_pages(void **state)
{
	static const struct {
		const char *body, *type;
		bool is_page;
	} cases[] = {
		{ "<!DOCTYPE html><html>", "text/html", true },
		{ " \r\n<!doctype HTML PUBLIC>", "", true },
		{ "<HTML><body>", "text/plain", true },
		{ "\xef\xbb\xbf\n<html>", "", true },
		{ "<meta http-equiv=refresh>", "text/html; charset=utf-8", true },
		{ "<!-- a portal --><html>", "Text/HTML", true },
		{ "", "text/html", false },
		{ "OK", "text/html", false }, /* PHP */
		{ "<?xml version=\"1.0\"?><ok/>", "application/xml", false },
		{ "{}", "application/json", false },
		{ "said <html>", "text/plain", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (skep_http_is_page(cases[i].body, cases[i].type) != cases[i].is_page)
			fail_msg("\"%s\", %s", cases[i].body, cases[i].type);
}

static int set_up(void **state)
{
	(void)state;
	return faultd_start(&server, true, true, "n") ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	faultd_stop(&server);
	return 0;
}

int main(void)
{
	static const struct CMUnitTest with_server[] = {
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_no_connection),
		cmocka_unit_test(test_retry_after),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_templates),
		cmocka_unit_test(test_token),
		cmocka_unit_test(test_token_race),
		cmocka_unit_test(test_echo),
		cmocka_unit_test(test_token_that_changes_quietly),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_reload_url),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_host_fails),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_tls),
		cmocka_unit_test(test_nginx),
		cmocka_unit_test(test_proxy),
	};
	static const struct CMUnitTest alone[] = {
		cmocka_unit_test(test_classify),
		cmocka_unit_test(test_pages),
	};

	return cmocka_run_group_tests_name("alone", alone, NULL, NULL) ||
	       cmocka_run_group_tests_name("with the fault server", with_server, set_up, tear_down);
}
