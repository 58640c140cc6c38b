/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/clickhouse under the mock host, and `skep lake init`, with a real server: Debian's clickhouse-server, which the
 * test starts, or the server that SKEP_TEST_CLICKHOUSE names (tests/faults/clickhouse.sh runs the current engine).
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/base/command.h"
#include "cli/base/skep.h"
#include "lake/http.h"
#include "lake/clickhouse.h"
#include "sinks/clickhouse/answer.h"
#include "sinks/clickhouse/columns.h"
#include "sinks/clickhouse/inserted.h"
#include "sinks/clickhouse/rows.h"
#include "tests/unit/carried.h"
#include "tests/unit/clickhouse_server.h"
#include "tests/unit/faultd.h"
#include "tests/unit/folder.h"
#include "tests/unit/lake_records.h"

const struct skep_plugin *skep_plugin_entry(const struct skep_host *);
extern const struct command cmd_lake;

static struct skep_mock m;

#define EXPECT(sql_, want_) assert_string_equal(clickhouse_ask(sql_), want_)

/* ---- the sink ------------------------------------------------------------------------ */

static unsigned answers(void)
{
	return m.acks + m.retries + m.rejects + m.holds + m.splits + m.suspects;
}

static void init(const char *database)
{
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.quiet = true;
	assert_int_equal(skep_mock_option(&m, "url", clickhouse_url), 0);
	assert_int_equal(skep_mock_option(&m, "database", database), 0);
}

static void start(void)
{
	if (skep_mock_start(&m) != 0)
		fail_msg("start: %s", m.why);
}

static void end(void)
{
	skep_mock_stop(&m);
	for (unsigned i = 0; skep_mock_defect(&m, i); i++)
		print_error("defect: %s\n", skep_mock_defect(&m, i));
	assert_int_equal(skep_mock_end(&m), 0);
}

static void await_answers(unsigned n)
{
	struct timespec from, to;

	for (int i = 0; i < 40000 && answers() < n; i++) {
		clock_gettime(CLOCK_MONOTONIC, &from);
		skep_mock_settle(&m);
		skep_mock_poll(&m, 5);
		clock_gettime(CLOCK_MONOTONIC, &to);
		skep_mock_advance(&m, (uint64_t)((to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec));
	}
	assert_int_equal(answers(), n);
}

static void send_batch(struct skep_mock_batch *b)
{
	unsigned before = answers();

	assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
	await_answers(before + 1);
}

static void expect(enum skep_batch_result want)
{
	if (m.answer.result != want)
		fail_msg("result %u, expected %u: %s", m.answer.result, want, m.why);
}

struct thing {
	uint64_t n;
	struct skep_str text;
};
static const struct skep_field fields[] = {
	SKEP_FIELD(struct thing, n, "n", SKEP_T_U64, SKEP_S_DELTA, "1", "a number"),
	SKEP_FIELD(struct thing, text, "text", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "a text"),
};
static const struct skep_stream things = {
	.size = sizeof(struct skep_stream),
	.field_size = sizeof(struct skep_field),
	.name = "site.thing",
	.help = "things",
	.record_size = sizeof(struct thing),
	.n_fields = 2,
	.fields = fields,
};

#define PROCESSES 500u

/* Processes, a run's begin or end, and records of a stream without a table. */
static struct skep_mock_batch *batch(uint64_t id, const char *state)
{
	struct skep_mock_batch *b = skep_mock_batch_new(id, RECORDS_OFFSET);
	struct thing thing = { .text = skep_mock_text("it's \"\\\n") };
	struct record_process p;
	struct record_run run;
	struct record_task task;

	for (unsigned i = 0; i < PROCESSES; i++) {
		records_process(id * PROCESSES + i, "run-1", &p);
		records_add_process(b, &p);
	}
	records_run("run-1", state, 1000 * SECOND, &run);
	run.engine = skep_mock_text("snakemake");
	records_add_run(b, &run);
	records_task(7, "run-1", &task); /* the second one completes the first */
	task.sample = skep_mock_text(id == 1 ? "early" : "late");
	task.task = skep_mock_text(id == 1 ? "?" : "align");
	skep_mock_batch_add(b, &record_stream_task, &task.root_upid, task.end_ns + id, &task, NULL);
	for (thing.n = 0; thing.n < 3; thing.n++)
		skep_mock_batch_add(b, &things, NULL, (5 + id) * SECOND, &thing, NULL);
	return b;
}

static void test_rows(void **state)
{
	struct skep_mock_batch *first = batch(1, "running"), *second = batch(2, "ended");
	uint64_t cpu = 0, argv = 0;
	char want[64];

	(void)state;
	clickhouse_need();
	clickhouse_fresh("skep_rows");
	init("skep_rows");
	start();
	send_batch(first);
	expect(SKEP_BATCH_ACK);
	send_batch(second);
	expect(SKEP_BATCH_ACK);
	send_batch(first); /* the answer was lost, so the host sends the batch again */
	expect(SKEP_BATCH_ACK);
	assert_int_equal(skep_mock_counter(&m, "inserts"),
			 skep_mock_counter(&m, "requests") > 12 ? skep_mock_counter(&m, "requests") : 12);
	assert_true(m.answer.sent_bytes > 10000);
	end();

	EXPECT("SELECT count() FROM skep_rows.proc FINAL", "1000");
	EXPECT("SELECT count(), uniqExact(uid) FROM skep_rows.record FINAL", "6\t6");
	EXPECT("SELECT run, state, engine FROM skep_rows.run FINAL", "run-1\tended\tsnakemake");
	EXPECT("SELECT task, task_id, sample, requested_cpus, granted_cpus, scopes, extra FROM skep_rows.task FINAL",
	       "align\t507-e8d4a51000.1\tlate\t2.5\t3.5\tcron > snakemake\t");
	EXPECT("SELECT uniqExact(task_id), any(step != ''), max(scopes), max(extra) FROM skep_rows.proc FINAL", "40\t1\tcron > snakemake > make\t");
	for (unsigned i = PROCESSES; i < 3 * PROCESSES; i++) {
		struct record_process p;

		records_process(i, "run-1", &p);
		cpu += p.cpu_ns;
		for (uint32_t k = 0; k < p.argv.len; k++)
			argv += p.argv.ptr[k] == '\0';
	}
	snprintf(want, sizeof(want), "%llu", (unsigned long long)cpu);
	EXPECT("SELECT sum(cpu_ns) FROM skep_rows.proc FINAL", want);
	snprintf(want, sizeof(want), "%llu", (unsigned long long)argv);
	EXPECT("SELECT sum(length(argv)) FROM skep_rows.proc FINAL", want);
	EXPECT("SELECT toUnixTimestamp(min(start)), max(end_ns > start_ns) FROM skep_rows.proc", "1794269810\t1");
	EXPECT("SELECT fields FROM skep_rows.record FINAL WHERE stream = 'site.thing' AND time_ns = 1794268806000000000 "
	       "ORDER BY fields LIMIT 1",
	       "{\"n\":0,\"text\":\"it\\'s \\\\\"\\\\\\\\\\\\n\"}");
	EXPECT("SELECT uniqExact(host), min(host = 'testhost'), any(boot_id) FROM skep_rows.proc",
	       "1\t1\t" SKEP_MOCK_BOOT_ID);
	/* roll-ups count a batch once that arrived twice; test_late_retry sends one that the server has forgotten */
	EXPECT("SELECT sum(images) FROM skep_rows.rollup_day", "1000");
	snprintf(want, sizeof(want), "%llu", (unsigned long long)cpu);
	EXPECT("SELECT sum(cpu_ns) FROM skep_rows.rollup_run_tool", want);
	skep_mock_batch_free(first);
	skep_mock_batch_free(second);
}

static void test_compressions(void **state)
{
	static const char *const ways[] = { "none", "gzip" };

	(void)state;
	clickhouse_need();
	clickhouse_fresh("skep_ways");
	for (unsigned i = 0; i < 2; i++) {
		struct skep_mock_batch *b = batch(i, "running");

		init("skep_ways");
		assert_int_equal(skep_mock_option(&m, "compression", ways[i]), 0);
		assert_int_equal(skep_mock_option_list(&m, "streams", (const char *[]){ "process.exit", NULL }), 0);
		start();
		send_batch(b);
		expect(SKEP_BATCH_ACK);
		end();
		skep_mock_batch_free(b);
	}
	EXPECT("SELECT count() FROM skep_ways.proc FINAL", "1000");
	EXPECT("SELECT count() FROM skep_ways.record", "0");
}

#define MANY 12u

/* Submits all batches at once; number `odd` has a record of a stream without a table. */
static void send_many(struct skep_mock_batch **b, unsigned odd)
{
	struct thing thing = { .text = skep_mock_text("") };
	unsigned before = answers();
	struct record_process p;

	for (unsigned k = 0; k < MANY; k++) {
		b[k] = skep_mock_batch_new(k + 1, RECORDS_OFFSET);
		for (unsigned i = 0; i < 20; i++) {
			records_process(k * 20 + i, "run-1", &p);
			records_add_process(b[k], &p);
		}
		if (k == odd)
			skep_mock_batch_add(b[k], &things, NULL, 5 * SECOND, &thing, NULL);
		assert_int_equal(skep_mock_submit(&m, &b[k]->batch), 0);
	}
	await_answers(before + MANY);
	for (unsigned k = 0; k < MANY; k++)
		skep_mock_batch_free(b[k]);
}

/* Waiting batches go in one INSERT. When the server refuses the INSERT because of one batch, only that batch fails. */
static void test_gather(void **state)
{
	struct skep_mock_batch *b[MANY];

	(void)state;
	clickhouse_need();
	clickhouse_fresh("skep_many");
	init("skep_many");
	assert_int_equal(skep_mock_option(&m, "gather", "always"), 0);
	start();
	send_many(b, MANY);
	assert_int_equal(m.acks, MANY);
	/* one INSERT of the first batch, perhaps two, then one of all others */
	assert_in_range(skep_mock_counter(&m, "inserts"), 2, 4);
	EXPECT("SELECT count() FROM skep_many.proc FINAL", "240");
	/* rows of another database do not count for this one */
	clickhouse_ask("DROP TABLE skep_many.record");
	clickhouse_ask("CREATE TABLE skep_many.record (uid UUID, host String, boot_id String, stream String, time_ns UUID, run String, upid String, "
	    "container String, fields String) ENGINE = MergeTree ORDER BY uid");
	send_many(b, 7);
	assert_int_equal(m.suspects, 1);
	assert_int_equal(m.acks, 2 * MANY - 1);
	EXPECT("SELECT count() FROM skep_many.proc FINAL", "240");
	EXPECT("SELECT count() FROM skep_many.record", "0");
	end();
	init("skep_many");
	assert_int_equal(skep_mock_option(&m, "gather", "often"), 0);
	assert_int_not_equal(skep_mock_open(&m), 0);
	assert_non_null(strstr(m.why, "expected auto, always or never"));
	assert_int_equal(skep_mock_end(&m), 0);
}

/* A batch that waited in the spool over a reboot: its rows name the boot that recorded them. */
static void test_boot_of_batch(void **state)
{
	static const char *const boots[] = { "0f0e0d0c-0b0a-4908-8706-050403020100", SKEP_MOCK_BOOT_ID };

	(void)state;
	clickhouse_need();
	clickhouse_fresh("skep_boots");
	init("skep_boots");
	start();
	for (unsigned i = 0; i < 2; i++) {
		struct skep_mock_batch *b = batch(1, "running"); /* the same processes by pid and start, in two boots */

		snprintf(b->key, sizeof(b->key), "%s:1:%u", boots[i], i);
		b->batch.boot_id = boots[i];
		send_batch(b);
		expect(SKEP_BATCH_ACK);
		skep_mock_batch_free(b);
	}
	end();
	EXPECT("SELECT count() FROM skep_boots.proc FINAL", "1000");
	EXPECT("SELECT count() FROM skep_boots.proc FINAL WHERE boot_id = '0f0e0d0c-0b0a-4908-8706-050403020100'",
	       "500");
	EXPECT("SELECT count() FROM skep_boots.proc FINAL WHERE boot_id = '" SKEP_MOCK_BOOT_ID "'", "500");
	EXPECT("SELECT count() FROM skep_boots.record FINAL WHERE boot_id = '0f0e0d0c-0b0a-4908-8706-050403020100'",
	       "3");
	/* two machines may have drawn the same run id: the table has two runs */
	EXPECT("SELECT count(), uniqExact(run), uniqExact(boot_id) FROM skep_boots.run FINAL", "2\t1\t2");
	EXPECT("SELECT count(), min(images) FROM (SELECT boot_id, sum(images) AS images FROM skep_boots.rollup_run_tool GROUP BY host, boot_id, run)",
	       "2\t500");
}

/* A run whose pipeline comes late has one row. */
static void test_late_pipeline(void **state)
{
	(void)state;
	clickhouse_need();
	clickhouse_fresh("skep_run");
	clickhouse_ask("INSERT INTO skep_run.run (uid, run, pipeline, start_ns, rev) VALUES "
	    "('00000000-0000-0000-0000-000000000001', 'r', '', 1794268800000000000, 0), "
	    "('00000000-0000-0000-0000-000000000001', 'r', 'late', 1794268800000000000, 7)");
	EXPECT("SELECT count(), max(pipeline) FROM skep_run.run FINAL", "1\tlate");
}

/* An init after a failed one makes the missing tables, and no row changes. */
static void test_init_again(void **state)
{
	(void)state;
	clickhouse_need();
	clickhouse_fresh("skep_again");
	clickhouse_ask("INSERT INTO skep_again.run (uid, run, start_ns) VALUES "
	    "('00000000-0000-0000-0000-000000000001', 'r', 1794268800000000000)");
	clickhouse_ask("DROP TABLE skep_again.usage_hour");
	clickhouse_ask("DROP TABLE skep_again.schema_version");
	assert_int_equal(clickhouse_lake_init("skep_again", NULL, NULL), 0);
	EXPECT("SELECT max(version) FROM skep_again.schema_version", "1");
	EXPECT("SELECT count() FROM skep_again.usage_hour", "0");
	EXPECT("SELECT run FROM skep_again.run FINAL", "r");
}

static bool knows_batches_again(void)
{
	struct clickhouse_server s = { 0 };

	sscanf(clickhouse_ask("SELECT version()"), "%u.%u", &s.major, &s.minor);
	return clickhouse_server_since(&s, 22, 3);
}

/* A retry arrives after the server has forgotten the batch: every sum stays the same. */
static void test_late_retry(void **state)
{
	static const char sums[] =
		"SELECT sum(processes), sum(images), sum(calls), sum(failures), sum(cpu_ns), sum(wall_ns), sum(read_bytes), "
		"max(rss_max_bytes) FROM skep_late.";
	static const char *const of[] = { "rollup_day", "rollup_run_tool" };
	struct skep_mock_batch *first = batch(1, "running");
	char before[2][512], sql[512], table[64];

	(void)state;
	clickhouse_need();
	clickhouse_fresh("skep_late");
	/* Roll-ups among them, where they are tables. (Each answer is one line: one name at a time.) */
	for (unsigned i = 0; knows_batches_again(); i++) {
		snprintf(sql, sizeof(sql),
			 "SELECT name FROM system.tables WHERE database = 'skep_late' AND engine LIKE '%%MergeTree' "
			 "AND name != 'schema_version' ORDER BY name LIMIT %u, 1",
			 i);
		snprintf(table, sizeof(table), "%s", clickhouse_ask(sql));
		if (!*table)
			break;
		snprintf(sql, sizeof(sql),
			 "ALTER TABLE skep_late.%s MODIFY SETTING non_replicated_deduplication_window = 2", table);
		clickhouse_ask(sql);
	}
	clickhouse_ask("SYSTEM STOP MERGES");
	init("skep_late");
	start();
	send_batch(first);
	expect(SKEP_BATCH_ACK);
	for (unsigned id = 2; id < 8; id++) { /* of other machines */
		struct skep_mock_batch *b = batch(id, "running");

		send_batch(b);
		expect(SKEP_BATCH_ACK);
		skep_mock_batch_free(b);
	}
	for (unsigned i = 0; i < 2; i++) {
		snprintf(sql, sizeof(sql), "%s%s", sums, of[i]);
		snprintf(before[i], sizeof(before[i]), "%s", clickhouse_ask(sql));
	}
	send_batch(first);
	expect(SKEP_BATCH_ACK);
	end();
	EXPECT("SELECT count() FROM skep_late.proc FINAL", "3500");
	/* this checks the test itself: the server inserted the forgotten batch again */
	EXPECT("SELECT count() > 3500 FROM skep_late.proc", "1");
	for (unsigned i = 0; i < 2; i++) {
		snprintf(sql, sizeof(sql), "%s%s", sums, of[i]);
		EXPECT(sql, before[i]);
	}
	clickhouse_ask("SYSTEM START MERGES");
	skep_mock_batch_free(first);
}

/*
 * 18.16 does not know this setting and names no alternative, so the sink holds its batches until an administrator
 * changes the option. A current server accepts every setting.
 */
static void test_async_insert(void **state)
{
	struct skep_mock_batch *b = batch(1, "running");

	(void)state;
	clickhouse_need();
	clickhouse_fresh("skep_async");
	init("skep_async");
	assert_int_equal(skep_mock_option(&m, "async_insert", "true"), 0);
	start();
	send_batch(b);
	if (clickhouse_is_own()) {
		expect(SKEP_BATCH_HOLD);
		if (!strstr(m.why, "leave out async_insert"))
			fail_msg("%s", m.why);
		assert_int_equal(skep_mock_option(&m, "async_insert", "false"), 0);
		assert_int_equal(skep_mock_reload(&m), 0);
		send_batch(b);
	}
	expect(SKEP_BATCH_ACK);
	end();
	EXPECT("SELECT count() FROM skep_async.proc FINAL", "500");
	skep_mock_batch_free(b);
}

static void test_failures(void **state)
{
	struct skep_mock_batch *b = batch(1, "running");

	(void)state;
	clickhouse_need();
	clickhouse_ask("DROP DATABASE IF EXISTS skep_none");
	init("skep_none");
	start();
	send_batch(b);
	expect(SKEP_BATCH_HOLD); /* the database is missing */
	if (!strstr(m.why, "skep lake init"))
		fail_msg("%s", m.why);
	clickhouse_fresh("skep_none");
	clickhouse_ask("DROP TABLE skep_none.record");
	send_batch(b);
	expect(SKEP_BATCH_HOLD); /* one of three tables */
	clickhouse_ask("DROP DATABASE skep_none");
	clickhouse_fresh("skep_none");
	send_batch(b);
	expect(SKEP_BATCH_ACK);
	EXPECT("SELECT count() FROM skep_none.proc FINAL", "500");
	end();

	init("skep_none");
	assert_int_equal(skep_mock_option(&m, "max_request", "4KiB"), 0);
	start();
	send_batch(b);
	expect(SKEP_BATCH_SPLIT);
	end();
	skep_mock_batch_free(b);
}

/* One table accepts its rows, another refuses: half of that batch then adds nothing to the first table. */
static void test_half_taken(void **state)
{
	struct skep_mock_batch *b = batch(1, "running");

	(void)state;
	clickhouse_need();
	clickhouse_fresh("skep_half");
	clickhouse_ask("DROP TABLE skep_half.record");
	clickhouse_ask("SYSTEM STOP MERGES");
	init("skep_half");
	start();
	send_batch(b);
	expect(SKEP_BATCH_HOLD);
	EXPECT("SELECT count() FROM skep_half.proc", "500");
	strncat(b->key, "/0", sizeof(b->key) - strlen(b->key) - 1);
	send_batch(b);
	expect(SKEP_BATCH_HOLD);
	EXPECT("SELECT count() FROM skep_half.proc", "500");
	end();
	clickhouse_ask("SYSTEM START MERGES");
	skep_mock_batch_free(b);
}

static void test_taken(void **state)
{
	struct inserted t = { 0 };
	char key[16];

	(void)state;
	inserted_note(&t, "k:1", 1);
	assert_int_equal(inserted_find(&t, "k:1", false), 0);
	assert_int_equal(inserted_find(&t, "k:1", true), 1);
	assert_int_equal(inserted_find(&t, "k:10", true), 0);
	assert_int_equal(inserted_find(&t, "k:1/0/1", false), 1);
	inserted_note(&t, "k:1/0", 3);
	assert_int_equal(inserted_find(&t, "k:1/0/1", false), 3);
	assert_int_equal(inserted_find(&t, "k:1/1", false), 1);
	for (int i = 2; i < 3 * INSERTED; i++) { /* the sink remembers keys that it looks up again */
		snprintf(key, sizeof(key), "k:%d", i);
		inserted_note(&t, key, 2);
		assert_int_equal(inserted_find(&t, "k:1/1", false), 1);
	}
	assert_int_equal(inserted_find(&t, "k:2/1", false), 0);
	inserted_forget(&t);
	assert_int_equal(inserted_find(&t, "k:1/1", false), 0);
}

static void test_password(void **state)
{
	struct skep_mock_batch *b = batch(1, "running");

	(void)state;
	clickhouse_need();
	if (!clickhouse_is_own())
		skip(); /* only the server that this test starts has these users */
	clickhouse_fresh("skep_users");
	init("skep_users");
	assert_int_equal(skep_mock_option(&m, "username", "ann"), 0);
	setenv("TEST_CH_PASSWORD", "wrong", 1);
	assert_int_equal(skep_mock_option(&m, "password_file", "env:TEST_CH_PASSWORD"), 0);
	start();
	send_batch(b);
	expect(SKEP_BATCH_HOLD);
	assert_null(strstr(m.why, "wrong"));
	setenv("TEST_CH_PASSWORD", "right", 1);
	assert_int_equal(skep_mock_option(&m, "async_insert", "false"), 0);
	assert_int_equal(skep_mock_option(&m, "timeout", "29s"), 0); /* a changed option makes the reload do something */
	assert_int_equal(skep_mock_reload(&m), 0);
	send_batch(b);
	expect(SKEP_BATCH_ACK);
	end();
	skep_mock_batch_free(b);
}

static void test_init(void **state)
{
	char sql[96];

	(void)state;
	clickhouse_need();
	clickhouse_fresh("skep_init");
	snprintf(sql, sizeof(sql), "%u", clickhouse_schema_version());
	EXPECT("SELECT max(version) FROM skep_init.schema_version", sql);
	assert_int_equal(clickhouse_lake_init("skep_init", NULL, NULL), 0);
	EXPECT("SELECT count() FROM skep_init.schema_version", "1");
	/* a schema of a newer skep: init changes nothing */
	clickhouse_ask("INSERT INTO skep_init.schema_version SELECT toUInt32(1000), now()");
	assert_int_equal(clickhouse_lake_init("skep_init", NULL, NULL), SKEP_EXIT_RUNTIME);
	assert_int_equal(clickhouse_lake_init("bad-name", NULL, NULL), SKEP_EXIT_USAGE);
	assert_int_equal(clickhouse_lake_init("skep_init", "--keep", "soon"), SKEP_EXIT_USAGE);
	assert_int_equal(clickhouse_lake_init("skep_init", "--keep", "30000"), SKEP_EXIT_USAGE); /* ends after DateTime does */
	clickhouse_fresh("skep_init");
	if (clickhouse_is_own()) { /* 18.16 has no TTL on these tables: init says so and names another way */
		assert_int_equal(clickhouse_lake_init("skep_init", "--keep", "30"), SKEP_EXIT_RUNTIME);
	} else {
		assert_int_equal(clickhouse_lake_init("skep_init", "--keep", "30"), 0);
		assert_non_null(strstr(clickhouse_ask("SHOW CREATE TABLE skep_init.proc"), "toIntervalDay(30)"));
		assert_int_equal(clickhouse_lake_init("skep_init", "--keep", "0"), 0);
		assert_null(strstr(clickhouse_ask("SHOW CREATE TABLE skep_init.proc"), "toIntervalDay(30)"));
	}
}

/* ---- without a server ------------------------------------------------------------------ */

static void test_codes(void **state)
{
	const char *remedy;

	(void)state;
	assert_int_equal(answer_code("", "Code: 60. DB::Exception: Table skep.proc does not exist."), 60);
	assert_int_equal(answer_code("", "Code: 115, e.displayText() = DB::Exception: Unknown setting x"), 115);
	assert_int_equal(answer_code("", "no code"), 0);
	assert_int_equal(answer_code("", "Error Code: 502. Bad gateway"), 0);
	assert_int_equal(answer_code("209", ""), 209);
	assert_int_equal(answer_code("241", "Code: 60. DB::Exception: x"), 241);
	assert_int_equal(answer_code("", "1\t2\nCode: 241. DB::Exception: Memory limit"), 241);
	assert_int_equal(answer_code("", "Poco::Exception. Code: 1000, e.code() = 111"), 1000);
	assert_true(answer_is_success(200, 0, ""));
	assert_true(answer_is_success(200, 0, "\n"));
	assert_false(answer_is_success(200, 209, ""));
	assert_false(answer_is_success(200, 0, "Ok.\n"));
	assert_false(answer_is_success(202, 0, ""));
	assert_int_equal(answer_classify(SKEP_BATCH_ACK, 209, &remedy), SKEP_BATCH_RETRY);
	assert_int_equal(answer_classify(SKEP_BATCH_ACK, 0, &remedy), SKEP_BATCH_HOLD);
	assert_non_null(remedy);
	assert_int_equal(answer_classify(SKEP_BATCH_SUSPECT, 252, &remedy), SKEP_BATCH_RETRY);
	assert_int_equal(answer_classify(SKEP_BATCH_REJECT, 60, &remedy), SKEP_BATCH_HOLD);
	assert_non_null(remedy);
	assert_int_equal(answer_classify(SKEP_BATCH_REJECT, 27, &remedy), SKEP_BATCH_SUSPECT);
	assert_int_equal(answer_classify(SKEP_BATCH_RETRY, 0, &remedy), SKEP_BATCH_RETRY);
	assert_null(remedy);
	assert_int_equal(answer_worse(SKEP_BATCH_ACK, SKEP_BATCH_RETRY), SKEP_BATCH_RETRY);
	assert_int_equal(answer_worse(SKEP_BATCH_REJECT, SKEP_BATCH_RETRY), SKEP_BATCH_RETRY);
	assert_int_equal(answer_worse(SKEP_BATCH_HOLD, SKEP_BATCH_REJECT), SKEP_BATCH_HOLD);
}

/* A 200 that stands for no success: the rows have not arrived, and the sink does not count them. */
static void test_lies(void **state)
{
	static const struct {
		const char *script;
		enum skep_batch_result result;
		const char *why;
	} cases[] = {
		{ "code:209", SKEP_BATCH_RETRY, "answers 200, with the exception code 209" },
		{ "code:60", SKEP_BATCH_HOLD, "skep lake init" },
		{ "code:27", SKEP_BATCH_SUSPECT, "exception code 27" },
		{ "says:Code:%20241.%20DB::Exception:%20Memory%20limit%20exceeded", SKEP_BATCH_RETRY, "Memory limit exceeded" },
		{ "says:7%20rows.%20Code:%20516.%20DB::Exception:%20ann", SKEP_BATCH_HOLD, "mend username" },
		{ "says:Ok.", SKEP_BATCH_HOLD, "answers 200: Ok.; ClickHouse answers an INSERT with 200 and no text" },
		{ "page", SKEP_BATCH_HOLD, "Your session has ended." },
		{ "empty:202", SKEP_BATCH_HOLD, "is url ClickHouse's HTTP interface?" },
		{ "empty:204", SKEP_BATCH_HOLD, "is url ClickHouse's HTTP interface?" },
		{ "503", SKEP_BATCH_RETRY, "answers 503" },
	};
	struct faultd server;
	json_t *log;

	(void)state;
	assert_true(faultd_start(&server, false, false, "n"));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct skep_mock_batch *b = batch(1, "running");
		char url[160];

		skep_mock_init(&m, skep_plugin_entry(NULL));
		m.quiet = true;
		snprintf(url, sizeof(url), "http://127.0.0.1:%d/%s,empty/%zu", server.http, cases[i].script, i);
		assert_int_equal(skep_mock_option(&m, "url", url), 0);
		assert_int_equal(skep_mock_option_list(&m, "streams", (const char *[]){ "process.exit", NULL }), 0);
		start();
		send_batch(b);
		if (m.answer.result != cases[i].result || !strstr(m.why, cases[i].why))
			fail_msg("%s: result %u: %s", cases[i].script, m.answer.result, m.why);
		assert_int_equal(skep_mock_counter(&m, "rows"), 0);
		send_batch(b); /* the same rows again, to a server that has come to its senses */
		expect(SKEP_BATCH_ACK);
		assert_int_equal(skep_mock_counter(&m, "rows"), PROCESSES);
		end();
		skep_mock_batch_free(b);
	}
	/* the server answers when the rows are in the table, also if the user's profile has async_insert */
	log = faultd_log(&server);
	assert_non_null(strstr(json_string_value(json_object_get(json_array_get(log, 0), "path")), "&wait_for_async_insert=1"));
	json_decref(log);
	faultd_stop(&server);
}

/*
 * The sink leaves out one setting at a time: the setting that the server names first, not a setting that the server
 * suggests.
 */
static void test_unknown_settings(void **state)
{
	(void)state;
	assert_int_equal(
		answer_setting(
			"Code: 115, e.displayText() = DB::Exception: Unknown setting insert_deduplication_token, e.what() = x"),
		SETTING_TOKEN);
	assert_int_equal(
		answer_setting(
			"Code: 115. DB::Exception: Unknown setting deduplicate_blocks_in_dependent_materialized_views: "
			"Maybe you meant ['insert_deduplication_token']. (UNKNOWN_SETTING)"),
		SETTING_VIEWS);
	assert_int_equal(
		answer_setting(
			"Code: 115. DB::Exception: Setting async_insert_deduplicate is neither a builtin setting nor started "
			"with the prefix 'SQL_'"),
		SETTING_ASYNC);
	assert_int_equal(
		answer_setting(
			"Code: 115. DB::Exception: Unknown setting async_insert: Maybe you meant ['async_insert_deduplicate']"),
		SETTINGS);
	assert_int_equal(answer_setting("Code: 115, e.displayText() = DB::Exception: Unknown setting wait_for_async_insert"),
			 SETTING_WAIT);
	assert_int_equal(answer_setting("Code: 115. DB::Exception: Unknown setting insert_deduplication_tokens"),
			 SETTINGS);
	assert_int_equal(answer_setting("Code: 115"), SETTINGS);
}

static int one_statement(void *arg, unsigned version, const char *sql)
{
	char *all = arg;

	(void)version;
	strcat(all, sql);
	return 0;
}

/* The schema has each column of the sink in the same place, with a type that reads the column's bytes. */
static void test_schema(void **state)
{
	static const char *const types[] = {
		[CH_UUID] = "UUID", [CH_U8] = "UInt8",    [CH_U32] = "UInt32",         [CH_U64] = "UInt64",
		[CH_I32] = "Int32", [CH_F64] = "Float64", [CH_TEXT] = "String", [CH_LIST] = "Array(String)",
	};
	char *all = calloc(1, 1 << 20);

	(void)state;
	assert_int_equal(clickhouse_statements(&(struct clickhouse_server){ 18, 16 }, one_statement, all), 0);
	assert_null(strstr(all, "LowCardinality"));
	assert_null(strstr(all, "MATERIALIZED"));
	for (unsigned t = 0; t < TABLES; t++) {
		char begin[64];
		char *from, *to;

		snprintf(begin, sizeof(begin), "CREATE TABLE IF NOT EXISTS %s (", tables[t].name);
		from = strstr(all, begin);
		assert_non_null(from);
		to = strstr(from, "\n) ENGINE");
		assert_non_null(to);
		*to = '\0';
		for (size_t c = 0; c < tables[t].n; c++) {
			char line[128], added[192];

			snprintf(line, sizeof(line), "\n\t%s %s,", tables[t].columns[c].name,
				 types[tables[t].columns[c].type]);
			snprintf(added, sizeof(added), "ALTER TABLE %s ADD COLUMN %s %s", tables[t].name,
				 tables[t].columns[c].name, types[tables[t].columns[c].type]);
			if (!strstr(from, line) && !strstr(to + 1, added))
				fail_msg("table %s has no column like: %s", tables[t].name, line);
		}
		*to = '\n';
	}
	all[0] = '\0';
	assert_int_equal(clickhouse_statements(&(struct clickhouse_server){ 24, 8 }, one_statement, all), 0);
	assert_non_null(strstr(all, "\thost LowCardinality(String),"));
	assert_non_null(strstr(all, "non_replicated_deduplication_window"));
	assert_null(strstr(all, "MATERIALIZED"));
	free(all);
}

/* Each field that the page lists has the column that the page names, and its value is in the row. */
/* The uid of the row of a process, on a host of that name. */
static void uid_on(const char *host, unsigned char ret[16])
{
	struct rows rows = { .host = host, .boot_id = "boot" };
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct record_process p;
	size_t t = 0;

	records_process(1, "run-1", &p);
	records_add_process(b, &p);
	rows_begin(&rows);
	assert_int_equal(rows_add(&rows, b->batch.records[0], 0), 0);
	while (!rows.table[t].n)
		t++;
	memcpy(ret, rows.table[t].bytes.buf, 16);
	rows_free(&rows);
	skep_mock_batch_free(b);
}

/* A process that lived before its virtual machine was cloned has one pid, start time and boot id in both. */
static void test_clones(void **state)
{
	unsigned char one[16], again[16], other[16];

	(void)state;
	uid_on("node1", one);
	uid_on("node1", again);
	uid_on("node2", other);
	assert_memory_equal(one, again, 16);
	assert_memory_not_equal(one, other, 16);
}

static void test_carried(void **state)
{
	struct rows rows = { .host = "node1", .boot_id = "boot" };
	union carried_record records[3];
	struct skep_mock_batch *b = carried_batch(records);
	const struct carried *all;
	size_t n = carried_read(&all);

	(void)state;
	rows_begin(&rows);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(rows_add(&rows, b->batch.records[i], 0), 0);
	for (size_t i = 0; i < n; i++) {
		const struct binding *binding = rows.bindings;
		const struct table *t;
		size_t c = 0;

		while (binding && binding->stream != all[i].stream)
			binding = binding->next;
		if (!binding) {
			fail_msg("no row of %s", all[i].stream->name);
			return;
		}
		t = &tables[binding->table];
		while (c < t->n && strcmp(t->columns[c].name, all[i].clickhouse) != 0)
			c++;
		if (c == t->n || binding->field[c] != all[i].field)
			fail_msg("%s.%s is not in column %s", all[i].stream->name, all[i].field->name, all[i].clickhouse);
		if (all[i].field->type == SKEP_T_STR &&
		    !memmem(rows.table[binding->table].bytes.buf, rows.table[binding->table].bytes.len, all[i].value,
			    strlen(all[i].value)))
			fail_msg("%s: no value", all[i].value);
	}
	rows_free(&rows);
	skep_mock_batch_free(b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clones),
		cmocka_unit_test(test_carried),
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_schema),
		cmocka_unit_test(test_init),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_compressions),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_half_taken),
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_password),
		cmocka_unit_test(test_gather),
		cmocka_unit_test(test_boot_of_batch),
		cmocka_unit_test(test_late_pipeline),
		cmocka_unit_test(test_init_again),
		cmocka_unit_test(test_late_retry),
		cmocka_unit_test(test_async_insert),
		cmocka_unit_test(test_unknown_settings),
	};

	return cmocka_run_group_tests(tests, clickhouse_begin, clickhouse_end);
}
