/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake through its plugin entry: rows, months, retries, damage, readers, kill -9, full disk. The test checks the
 * lake's content with plain SQL.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sinks/lake/idcache.h"
#include "tests/unit/dead_mount.h"
#include "tests/unit/folder.h"
#include "tests/unit/carried.h"
#include "tests/unit/lake_records.h"

const struct skep_plugin *skep_plugin_entry(const struct skep_host *);

static char folder[] = "/tmp/test_lake_sink.XXXXXX";
static char lake[256]; /* of the present test */
static unsigned lakes;

static int set_up_all(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down_all(void **state)
{
	(void)state;
	return folder_remove(folder);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(lake, sizeof(lake), "%s/lake%u", folder, ++lakes);
	return 0;
}

static void begin(struct skep_mock *m)
{
	skep_mock_init(m, skep_plugin_entry(NULL));
	m->inline_work = true;
	m->quiet = true;
	assert_int_equal(skep_mock_option(m, "path", lake), 0);
	if (skep_mock_start(m) != 0)
		fail_msg("start: %s", m->why);
}

static const char *month_file(const char *month)
{
	static char path[400];

	snprintf(path, sizeof(path), "%s/lake-%s.db", lake, month);
	return path;
}
#define NOVEMBER month_file("2026-11")

static const char *wal_file(void)
{
	static char path[400];

	snprintf(path, sizeof(path), "%s/lake-2026-11.db-wal", lake);
	return path;
}

/* The first column of the first row, as text; "" for NULL or no row. */
static const char *ask(const char *path, const char *sql)
{
	static char answer[4][512];
	static unsigned turn;
	char *ret = answer[turn++ % 4];
	sqlite3_stmt *s = NULL;
	sqlite3 *db = NULL;
	const char *text;

	/* a writer killed while making the file leaves a journal that only a writer may roll back */
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	sqlite3_busy_timeout(db, 5000);
	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		fail_msg("%s: %s: %s", path, sql, sqlite3_errmsg(db));
	ret[0] = '\0';
	if (sqlite3_step(s) == SQLITE_ROW) {
		text = (const char *)sqlite3_column_text(s, 0);
		snprintf(ret, sizeof(answer[0]), "%s", text ? text : "");
	}
	sqlite3_finalize(s);
	sqlite3_close(db);
	return ret;
}

static long long count(const char *path, const char *sql)
{
	return atoll(ask(path, sql));
}

/* A batch with rows n..n+rows-1 of a run. */
static struct skep_mock_batch *batch_of(uint64_t id, uint64_t n, uint64_t rows, const char *run)
{
	struct skep_mock_batch *b = skep_mock_batch_new(id, RECORDS_OFFSET);
	struct record_process p;

	for (uint64_t i = 0; i < rows; i++) {
		records_process(n + i, run, &p);
		records_add_process(b, &p);
	}
	return b;
}

static void send(struct skep_mock *m, struct skep_mock_batch *b)
{
	unsigned acks = m->acks;

	assert_int_equal(skep_mock_submit(m, &b->batch), 0);
	skep_mock_settle(m);
	if (m->acks != acks + 1)
		fail_msg("not acknowledged: %s", m->why);
	skep_mock_batch_free(b);
}

/* A batch that waited in the spool over a reboot: its rows name the boot that recorded them. */
static void test_boot_of_batch(void **state)
{
	struct skep_mock_batch *b = batch_of(1, 0, 3, "run1");
	struct skep_mock m;

	(void)state;
	begin(&m);
	b->batch.boot_id = "0f0e0d0c-0b0a-4908-8706-050403020100";
	send(&m, b);
	send(&m, batch_of(2, 0, 2, "run2"));
	assert_int_equal(
		count(NOVEMBER,
		      "SELECT count(*) FROM proc JOIN dict b ON b.id = boot WHERE b.s = '0f0e0d0c-0b0a-4908-8706-050403020100'"),
		3);
	assert_int_equal(count(NOVEMBER,
			       "SELECT count(*) FROM proc JOIN dict b ON b.id = boot WHERE b.s = '" SKEP_MOCK_BOOT_ID
			       "'"),
			 2);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void test_rows(void **state)
{
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct record_tool_sample sample;
	struct record_loss loss;
	struct record_process p;
	struct record_run r;
	struct skep_mock m;

	(void)state;
	begin(&m);
	records_run("run1", "running", 1000 * SECOND, &r);
	records_add_run(b, &r);
	records_process(97, "run1", &p); /* exit_code 1 */
	records_add_process(b, &p);
	sample = (struct record_tool_sample){
		.run = skep_mock_text("run1"),
		.tool = skep_mock_text("fastqc"),
		.start_ns = 1001 * SECOND,
		.interval_ns = SECOND,
		.cpu_ns = SECOND / 2,
		.rss_bytes = 7,
		.processes = 2,
	};
	skep_mock_batch_add(b, &record_stream_tool_sample, NULL, 1002 * SECOND, &sample, NULL);
	loss = (struct record_loss){ .instance = skep_mock_text("proc"),
				   .stream = skep_mock_text("process.exit"),
				   .where = skep_mock_text("kernel"),
				   .count = 3 };
	skep_mock_batch_add(b, &record_stream_loss, NULL, 1003 * SECOND, &loss, NULL);
	records_run("run1", "ended", 1000 * SECOND, &r);
	records_add_run(b, &r);
	records_run("run1", "running", 1000 * SECOND, &r); /* arrives again, late */
	records_add_run(b, &r);
	send(&m, b);
	assert_string_equal(
		ask(NOVEMBER,
		    "SELECT state || ' ' || name || ' ' || exit_code || ' ' || root_pid FROM run WHERE run = 'run1'"),
		"ended nightly 0 999");
	assert_int_equal(count(NOVEMBER, "SELECT end_ns - start_ns FROM run"), 600 * SECOND);
	assert_int_equal(count(NOVEMBER, "SELECT start_ns FROM run"), RECORDS_OFFSET + (int64_t)(1000 * SECOND));
	assert_string_equal(
		ask(NOVEMBER,
		    "SELECT t.s || '|' || k.s || '|' || e.s || '|' || s.s || '|' || b.s FROM proc p JOIN dict t ON "
		    "t.id = tool "
		    "JOIN dict k ON k.id = task JOIN dict e ON e.id = exe JOIN dict s ON s.id = state JOIN dict b ON "
		    "b.id = boot"),
		"gzip|align_sample_13|/opt/conda/envs/ngs/bin/gzip|exited|" SKEP_MOCK_BOOT_ID);
	records_process(97, "run1", &p);
	assert_int_equal(count(NOVEMBER, "SELECT cpu_ns FROM proc"), p.cpu_ns);
	assert_int_equal(count(NOVEMBER, "SELECT start_boot_ns FROM proc"), p.upid.start_ns);
	assert_int_equal(count(NOVEMBER, "SELECT start_ns FROM proc"), RECORDS_OFFSET + (int64_t)p.start_ns);
	assert_int_equal(count(NOVEMBER, "SELECT length(argv) FROM proc"), p.argv.len);
	assert_int_equal(count(NOVEMBER, "SELECT argv_total FROM proc"), p.argv.total);
	assert_int_equal(count(NOVEMBER, "SELECT run = (SELECT id FROM run) FROM sample"), 1);
	assert_int_equal(count(NOVEMBER, "SELECT cpu_ns FROM sample"), SECOND / 2);
	assert_string_equal(ask(NOVEMBER, "SELECT s || ' ' || count FROM loss JOIN dict ON dict.id = place"),
			    "kernel 3");
	assert_string_equal(
		ask(NOVEMBER,
		    "SELECT calls || ' ' || failures || ' ' || cpu_ns || ' ' || processes FROM rollup_run_tool"),
		"1 1 127300000 1");
	assert_string_equal(ask(NOVEMBER, "SELECT date(day * 86400, 'unixepoch') || ' ' || p.s || ' ' || calls FROM "
					  "rollup_day JOIN dict p ON p.id "
					  "= pipeline"),
			    "2026-11-10 variants 1");
	assert_string_equal(ask(NOVEMBER, "PRAGMA page_size"), "8192");
	assert_string_equal(ask(NOVEMBER, "PRAGMA journal_mode"), "wal");
	assert_int_equal(count(NOVEMBER, "PRAGMA user_version"),
			 count(NOVEMBER, "SELECT value FROM meta WHERE key = 'schema_version'"));
	assert_int_equal(skep_mock_counter(&m, "rows"), 6);
	assert_int_equal(skep_mock_end(&m), 0);
	/* at the end: only the group may read the file, and the last writer removes the -wal */
	struct stat st;
	assert_int_equal(stat(NOVEMBER, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(access(wal_file(), F_OK), -1);
}

/* Each field that the page lists is where the page says. */
static void test_carried(void **state)
{
	union carried_record records[3];
	const struct carried *all;
	size_t n = carried_read(&all);
	struct skep_mock m;

	(void)state;
	begin(&m);
	send(&m, carried_batch(records));
	for (size_t i = 0; i < n; i++) {
		bool process = all[i].stream == &record_stream_process, run = all[i].stream == &record_stream_run;
		const char *table = process ? "proc" : run ? "run" : "task", *name = all[i].lake;
		char sql[400], want[120];

		if (!*name)
			continue;
		if (all[i].field->type == SKEP_T_STR)
			snprintf(want, sizeof(want), "%s", all[i].value);
		else
			snprintf(want, sizeof(want), "%.*f", all[i].field->type == SKEP_T_F64, all[i].number);
		if (strcmp(name, "run") == 0)
			snprintf(sql, sizeof(sql), "SELECT run FROM run WHERE id = %s",
				 run ? "(SELECT id FROM run WHERE state = 'ended')" : process ? "(SELECT run FROM proc)"
												: "(SELECT run FROM task)");
		else if (all[i].facet)
			snprintf(sql, sizeof(sql), "SELECT value FROM proc_facet JOIN dict ON id = name WHERE s = '%s'", name);
		else
			snprintf(sql, sizeof(sql), process ? "SELECT s FROM %s t JOIN dict ON dict.id = t.%s"
					     : run     ? "SELECT t.%2$s FROM %1$s t WHERE state = 'ended'"
						       : "SELECT t.%2$s FROM %1$s t",
				 table, name);
		if (strcmp(ask(NOVEMBER, sql), want) != 0)
			fail_msg("%s: %s, expected %s", sql, ask(NOVEMBER, sql), want);
	}
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM task"), 1);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void test_rollups_add_up(void **state)
{
	struct skep_mock m;

	(void)state;
	begin(&m);
	for (uint64_t id = 1; id <= 6; id++)
		send(&m, batch_of(id, id * 500, 500, id % 2 ? "odd" : "even"));
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM proc"), 3000);
	static const char *const sums[][2] = {
		{ "SELECT sum(cpu_ns) FROM proc", "sum(cpu_ns)" },
		{ "SELECT count(*) FROM proc", "sum(calls)" },
		{ "SELECT sum(exit_code > 0) FROM proc", "sum(failures)" },
		{ "SELECT sum(end_ns - start_ns) FROM proc", "sum(wall_ns)" },
		{ "SELECT sum(read_bytes) FROM proc", "sum(read_bytes)" },
		{ "SELECT max(rss_peak_bytes) FROM proc", "max(rss_max_bytes)" },
	};
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		char sql[200];

		snprintf(sql, sizeof(sql), "SELECT %s FROM rollup_run_tool", sums[i][1]);
		assert_int_equal(count(NOVEMBER, sql), count(NOVEMBER, sums[i][0]));
		snprintf(sql, sizeof(sql), "SELECT %s FROM rollup_day", sums[i][1]);
		assert_int_equal(count(NOVEMBER, sql), count(NOVEMBER, sums[i][0]));
	}
	assert_int_equal(count(NOVEMBER, "SELECT count(DISTINCT run) FROM rollup_run_tool"), 2);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void test_applied_once(void **state)
{
	struct skep_mock_batch *b = batch_of(7, 0, 50, "r");
	struct skep_mock m;

	(void)state;
	begin(&m);
	for (int i = 0; i < 3; i++)
		assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
	assert_int_equal(m.acks, 3);
	assert_int_equal(skep_mock_end(&m), 0);
	begin(&m); /* after a restart as well */
	assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
	assert_int_equal(m.acks, 1);
	assert_int_equal(skep_mock_counter(&m, "batches_seen"), 1);
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM proc"), 50);
	assert_int_equal(count(NOVEMBER, "SELECT sum(calls) FROM rollup_day"), 50);
	skep_mock_batch_free(b);
}

static void test_process_before_its_run(void **state)
{
	struct skep_mock_batch *b = batch_of(1, 0, 3, "early");
	struct record_run r;
	struct skep_mock m;

	(void)state;
	begin(&m);
	send(&m, b);
	assert_string_equal(ask(NOVEMBER, "SELECT '<' || state || '>' FROM run WHERE run = 'early'"), "<>");
	b = skep_mock_batch_new(2, RECORDS_OFFSET);
	records_run("early", "running", 900 * SECOND, &r);
	records_add_run(b, &r);
	send(&m, b);
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM run"), 1);
	assert_string_equal(ask(NOVEMBER, "SELECT state FROM run"), "running");
	assert_int_equal(
		count(NOVEMBER, "SELECT count(*) FROM proc WHERE run = (SELECT id FROM run WHERE run = 'early')"), 3);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void run_sql(const char *path, const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void assert_sums_of_rows(const char *rollup)
{
	static const char *const sums[][2] = {
		{ "sum(last)", "sum(processes)" },     { "sum(cpu_ns)", "sum(cpu_ns)" },
		{ "count(*)", "sum(calls)" },          { "sum(exit_code > 0)", "sum(failures)" },
		{ "sum(end_ns - start_ns)", "sum(wall_ns)" }, { "sum(rchar_bytes)", "sum(rchar_bytes)" },
	};
	char rows[128], sql[200];

	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		snprintf(rows, sizeof(rows), "SELECT %s FROM proc", sums[i][0]);
		snprintf(sql, sizeof(sql), "SELECT %s FROM %s", sums[i][1], rollup);
		assert_int_equal(count(NOVEMBER, sql), count(NOVEMBER, rows));
	}
}

/*
 * A rule excludes a process and another includes it again, or skepd restarts without its saved state: an image number
 * comes twice.  Each record is a row, beside a run of `skep run` too.
 */
static void test_image_number_twice(void **state)
{
	static const char *const states[] = { "excluded", "replaced", "replaced", "exited" };
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct record_process p;
	struct record_run r;
	struct skep_mock m;

	(void)state;
	begin(&m);
	records_run("r", "running", 1000 * SECOND, &r);
	r.origin = skep_mock_text("command");
	records_add_run(b, &r);
	records_process(1, "r", &p);
	p.image = 1;
	for (int i = 0; i < 4; i++) {
		p.state = skep_mock_text(states[i]);
		p.last = i == 3;
		p.cpu_ns += 1000;
		records_add_process(b, &p);
	}
	send(&m, b);
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM proc"), 4);
	assert_int_equal(count(NOVEMBER, "SELECT sum(last) FROM proc"), 1);
	assert_sums_of_rows("rollup_day");
	assert_sums_of_rows("rollup_run_tool");
	assert_sums_of_rows("rollup_run");
	assert_int_equal(skep_mock_end(&m), 0);
}

#define DAY (86400 * SECOND)

static void add_process_at(struct skep_mock_batch *b, const char *run, uint64_t start)
{
	struct record_process p;

	records_process(1, run, &p);
	p.upid.start_ns = p.start_ns = start;
	p.end_ns = start + SECOND;
	records_add_process(b, &p);
}

static void test_months(void **state)
{
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct record_run r;
	struct skep_mock m;

	(void)state;
	begin(&m);
	records_run("long", "running", 10 * DAY, &r); /* 20 November */
	records_add_run(b, &r);
	send(&m, b);
	assert_int_equal(skep_mock_end(&m), 0);
	begin(&m); /* the new sink remembers no run: it finds the run in the run's file */
	b = skep_mock_batch_new(2, RECORDS_OFFSET);
	add_process_at(b, "long", 40 * DAY); /* December, by its own time */
	add_process_at(b, "", 40 * DAY);
	add_process_at(b, "", 70 * DAY);  /* January */
	add_process_at(b, "", 100 * DAY); /* February: more files than the sink keeps open */
	add_process_at(b, "", 130 * DAY);
	add_process_at(b, "new", 130 * DAY);
	add_process_at(b, "long", 41 * DAY);
	/* twice: the sink finds a retry in every file */
	assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
	send(&m, b);
	assert_int_equal(m.acks, 2);
	b = skep_mock_batch_new(3, RECORDS_OFFSET);
	records_run("long", "ended", 10 * DAY, &r);
	records_add_run(b, &r);
	records_run("new", "running", 130 * DAY, &r);
	records_add_run(b, &r);
	send(&m, b);
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM proc"), 2);
	assert_string_equal(ask(NOVEMBER, "SELECT state FROM run WHERE run = 'long'"), "ended");
	assert_int_equal(count(month_file("2026-12"), "SELECT count(*) FROM proc"), 1);
	assert_int_equal(count(month_file("2026-12"), "SELECT count(*) FROM run"), 0);
	assert_int_equal(count(month_file("2027-01"), "SELECT count(*) FROM proc"), 1);
	assert_int_equal(count(month_file("2027-02"), "SELECT count(*) FROM proc"), 1);
	assert_int_equal(count(month_file("2027-03"), "SELECT count(*) FROM proc"), 2);
	assert_string_equal(ask(month_file("2027-03"), "SELECT state FROM run WHERE run = 'new'"), "running");
}

/* A stream whose table this code has never seen, by another version of the header. */
struct wide_field {
	struct skep_field field;
	uint64_t later;
};
struct odd_record {
	uint64_t cpu_ns;
	struct skep_str exe;
	struct skep_str run;
	double net_rtt;
	uint64_t net_bytes;
	struct skep_str label;
	uint8_t hash[16];
	struct skep_str exit_code; /* known name, other type */
};
#define WIDE(member, type)                                                                     \
	{                                                                                      \
		SKEP_FIELD(struct odd_record, member, #member, type, SKEP_S_DELTA, "1", ""), 1 \
	}
static const struct wide_field odd_fields[] = {
	WIDE(cpu_ns, SKEP_T_U64),
	WIDE(exe, SKEP_T_STR),
	WIDE(run, SKEP_T_STR),
	WIDE(net_rtt, SKEP_T_F64),
	WIDE(net_bytes, SKEP_T_U64),
	WIDE(label, SKEP_T_STR),
	WIDE(hash, SKEP_T_HASH),
	WIDE(exit_code, SKEP_T_STR),
	{ { .name = "beyond", .type = SKEP_T_U64, .offset = sizeof(struct odd_record) - 4 }, 1 },
	{ { .name = "unknown_type", .type = 99, .offset = 0 }, 1 },
	{ { .name = NULL, .type = SKEP_T_U64, .offset = 0 }, 1 },
};
#define ODD(stream_name)                                                                                            \
	{                                                                                                           \
		.size = sizeof(struct skep_stream), .field_size = sizeof(struct wide_field), .name = (stream_name), \
		.record_size = sizeof(struct odd_record), .n_fields = sizeof(odd_fields) / sizeof(odd_fields[0]),   \
		.fields = &odd_fields[0].field,                                                                     \
	}
static const struct skep_stream odd_process = ODD("process.exit");
static const struct skep_stream odd_other = ODD("net.connect");
static const struct skep_stream odd_loss = ODD("loss");
static const struct skep_stream no_name = { .size = sizeof(struct skep_stream), .record_size = 8 };
static const struct skep_stream short_stream = { .size = offsetof(struct skep_stream, fields),
						 .name = "short",
						 .record_size = 8 };

static void test_unknown_fields_and_streams(void **state)
{
	static const char bad[] = "\xff\xfe\0bin";
	struct odd_record o = {
		.cpu_ns = UINT64_MAX, /* more than SQL's integer */
		.exe = { .ptr = bad, .len = sizeof(bad) - 1, .total = 5000 },
		.run = skep_mock_text("r"),
		.net_rtt = 0.25,
		.net_bytes = 12,
		.label = skep_mock_text("blue"),
		.hash = { 0xab },
		.exit_code = skep_mock_text("nine"),
	};
	const struct skep_context context = { .size = sizeof(context), .run = skep_mock_text("other") };
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct skep_upid who = { .start_ns = 5, .pid = 77 };
	struct skep_mock m;

	(void)state;
	begin(&m);
	skep_mock_batch_add(b, &odd_process, &who, SECOND, &o, NULL);
	skep_mock_batch_add(b, &odd_other, &who, SECOND, &o, &context);
	skep_mock_batch_add(b, &odd_loss, NULL, SECOND, &o, NULL);
	o = (struct odd_record){ .label = { .ptr = NULL, .len = 9, .total = 9 } };
	skep_mock_batch_add(b, &odd_process, NULL, 0, &o, &context);
	skep_mock_batch_add(b, &no_name, NULL, UINT64_MAX, "12345678", NULL);
	skep_mock_batch_add(b, &short_stream, NULL, SECOND, "12345678", NULL);
	skep_mock_batch_add(b, &odd_other, NULL, SECOND, &o, NULL);
	free((void *)b->records[6]->data);
	b->records[6]->data = NULL;
	skep_mock_batch_add(b, &odd_other, NULL, SECOND, &o, NULL);
	b->records[7]->stream = NULL;
	send(&m, b);
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM proc"), 1);
	assert_string_equal(ask(NOVEMBER, "SELECT cpu_ns FROM proc WHERE pid = 77"), "9223372036854775807");
	assert_string_equal(ask(NOVEMBER, "SELECT coalesce(end_ns, 'missing') FROM proc WHERE pid = 77"), "missing");
	assert_string_equal(ask(NOVEMBER, "SELECT hex(s) FROM proc JOIN dict ON dict.id = exe WHERE pid = 77"),
			    "EFBFBDEFBFBD0062696E");
	assert_string_equal(ask(NOVEMBER, "SELECT group_concat(s || '=' || value, ' ') FROM (SELECT s, value FROM "
					  "proc_facet JOIN dict ON dict.id = "
					  "name ORDER BY s)"),
			    "exe_total=5000 exit_code=nine hash=\"ab000000000000000000000000000000\" label=blue "
			    "net_bytes=12 net_rtt=0.25");
	assert_int_equal(
		count(NOVEMBER, "SELECT count(*) FROM record JOIN dict ON dict.id = stream WHERE s = 'net.connect'"),
		2);
	assert_string_equal(
		ask(NOVEMBER, "SELECT upid FROM record JOIN dict ON dict.id = stream WHERE s = 'net.connect'"),
		"01234567-77-5");
	assert_string_equal(ask(NOVEMBER,
				"SELECT json_extract(fields, '$.net_rtt') FROM record JOIN dict ON dict.id = stream "
				"WHERE s = 'net.connect'"),
			    "0.25");
	/* a stream with a table and fields that have no column: row and record */
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM loss"), 1);
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM record JOIN dict ON dict.id = stream WHERE s = 'loss'"),
			 1);
	/* without a time: goes into the first month; without data: stored all the same */
	assert_int_equal(count(month_file("1970-01"),
			       "SELECT count(*) FROM proc JOIN run ON run.id = proc.run WHERE run.run = 'other'"),
			 1);
	assert_int_equal(count(month_file("1970-01"), "SELECT count(*) FROM record"), 1);
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM record"), 4);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void spoil(const char *path, off_t at, size_t n)
{
	char junk[4096];
	int fd = open(path, O_WRONLY);

	memset(junk, 0x5a, sizeof(junk));
	assert_true(fd >= 0);
	for (; n; n -= n < sizeof(junk) ? n : sizeof(junk), at += sizeof(junk))
		assert_true(pwrite(fd, junk, n < sizeof(junk) ? n : sizeof(junk), at) > 0);
	close(fd);
}

static unsigned files_like(const char *part)
{
	char command[600], line[64] = "";
	FILE *f;

	snprintf(command, sizeof(command), "ls %s | grep -c -- '%s'", lake, part);
	f = popen(command, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	pclose(f);
	return (unsigned)atoi(line);
}

static void test_damaged_header(void **state)
{
	struct skep_mock m;

	(void)state;
	begin(&m);
	send(&m, batch_of(1, 0, 100, "r"));
	assert_int_equal(skep_mock_end(&m), 0);
	spoil(NOVEMBER, 0, 4096);
	begin(&m);
	struct skep_mock_batch *b = batch_of(2, 100, 100, "r");
	for (int i = 0; i < 3 && !m.acks; i++)
		assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
	assert_int_equal(m.acks, 1);
	assert_int_equal(m.rejects, 0);
	assert_true(m.errors_logged >= 1);
	assert_non_null(strstr(m.logged, ".corrupt-"));
	assert_int_equal(skep_mock_counter(&m, "files_set_aside"), 1);
	skep_mock_batch_free(b);
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(files_like("2026-11.db.corrupt-"), 1);
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM proc"), 100);
	assert_string_equal(ask(NOVEMBER, "PRAGMA integrity_check"), "ok");
}

static void test_damaged_middle(void **state)
{
	struct skep_mock_batch *b;
	struct skep_mock m;
	struct stat st;

	(void)state;
	begin(&m);
	for (uint64_t id = 1; id <= 10; id++)
		send(&m, batch_of(id, id * 500, 500, "r"));
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(stat(NOVEMBER, &st), 0);
	spoil(NOVEMBER, 8192, (size_t)st.st_size - 8192); /* every page but the first */
	begin(&m);
	b = batch_of(11, 0, 500, "r");
	for (int i = 0; i < 3 && !m.acks; i++)
		assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
	assert_int_equal(m.acks, 1);
	assert_int_equal(m.rejects, 0);
	skep_mock_batch_free(b);
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(files_like("2026-11.db.corrupt-"), 1);
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM proc"), 500);
}

/* This month's file: what start() opens. */
static const char *this_month(void)
{
	char month[16];
	time_t now = time(NULL);
	struct tm tm;

	assert_true(gmtime_r(&now, &tm) && strftime(month, sizeof(month), "%Y-%m", &tm));
	return month_file(month);
}

static void test_refused_files(void **state)
{
	struct skep_mock m;

	(void)state;
	begin(&m);
	assert_int_equal(skep_mock_end(&m), 0);
	run_sql(this_month(), "PRAGMA user_version = 2");
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	skep_mock_option(&m, "path", lake);
	assert_int_equal(skep_mock_start(&m), -ENOTSUP);
	assert_non_null(strstr(m.why, "schema version 2, this skep writes version 1"));
	assert_non_null(strstr(m.why, "upgrade skep"));
	assert_int_equal(skep_mock_end(&m), 0);
	run_sql(this_month(), "PRAGMA user_version = 0");
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	skep_mock_option(&m, "path", lake);
	assert_int_equal(skep_mock_start(&m), -ENOTSUP);
	assert_non_null(strstr(m.why, "schema version 0, this skep writes version 1; move it away"));
	assert_int_equal(skep_mock_end(&m), 0);
	run_sql(this_month(), "PRAGMA user_version = 1; PRAGMA application_id = 3");
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	skep_mock_option(&m, "path", lake);
	assert_int_equal(skep_mock_start(&m), -ENOTSUP);
	assert_non_null(strstr(m.why, "another program"));
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(count(this_month(), "SELECT count(*) FROM dict"), 1); /* untouched */
}

/* A task's record that comes again, or completes an earlier one, replaces it. */
static void test_tasks(void **state)
{
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct record_process p;
	struct record_task t;
	struct record_run run;
	struct skep_mock m;

	(void)state;
	begin(&m);
	records_run("r", "running", 1000 * SECOND, &run);
	run.engine = skep_mock_text("snakemake");
	run.origin = skep_mock_text("workflow");
	run.parent_run = skep_mock_text("slurm-1");
	records_add_run(b, &run);
	records_process(0, "r", &p);
	p.step = skep_mock_text("make: a.o");
	records_add_process(b, &p);
	for (unsigned i = 0; i < 3; i++) {
		records_task(i, "r", &t);
		records_add_task(b, &t);
	}
	t.sample = skep_mock_text("sample=late");
	records_add_task(b, &t);
	t.sample = skep_mock_text("sample=early");
	t.end_ns = 0;
	records_add_task(b, &t);
	/* a name that came late, by a clock that was set back a little; the first record then comes again */
	records_task(1, "r", &t);
	t.sample = skep_mock_text("sample=file");
	t.name_source = skep_mock_text("file");
	t.end_ns -= 5;
	records_add_task(b, &t);
	records_task(1, "r", &t);
	records_add_task(b, &t);
	records_task(0, "another", &t);
	records_add_task(b, &t);
	send(&m, b);
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM task"), 4);
	assert_string_equal(ask(NOVEMBER, "SELECT group_concat(sample) FROM (SELECT sample FROM task t JOIN run r ON r.id = "
					  "t.run WHERE r.run = 'r' ORDER BY task_id)"),
			    "sample=a,sample=file,sample=late");
	assert_string_equal(ask(NOVEMBER, "SELECT engine || origin || parent_run FROM run WHERE run = 'r'"),
			    "snakemakeworkflowslurm-1");
	assert_string_equal(ask(NOVEMBER, "SELECT t.requested_cpus || ' ' || t.granted_cpus || ' ' || t.granted_source || ' ' || t.scopes || ' ' || s.s || ' ' || e.s FROM proc p JOIN dict i "
					  "ON i.id = p.task_id JOIN dict s ON s.id = p.step JOIN dict e ON e.id = p.scopes JOIN task t ON t.run = p.run "
					  "AND t.task_id = i.s"),
			    "2.5 3.5 job cron > snakemake make: a.o cron > snakemake");
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM proc_facet"), 0);
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM record JOIN dict ON dict.id = stream WHERE s = 'task'"), 0);
	assert_int_equal(skep_mock_end(&m), 0);
}

/* ---- bounds ------------------------------------------------------------------- */

#define MIB (UINT64_C(1) << 20)

static uint64_t folder_bytes(void)
{
	uint64_t sum = 0;
	struct dirent *e;
	struct stat st;
	DIR *d = opendir(lake);

	assert_non_null(d);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' && fstatat(dirfd(d), e->d_name, &st, 0) == 0)
			sum += (uint64_t)st.st_size;
	closedir(d);
	return sum;
}

#define SUBORDINATE 1000 /* a user whose processes have subordinate uids, as in a rootless container */

/* rows processes, now, each with an argument of its own of 6 KiB. */
static struct skep_mock_batch *large_batch(uint64_t id, uint64_t rows, uint64_t uid)
{
	static char argv[512][6144];
	struct skep_mock_batch *b;
	struct record_process p;
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	b = skep_mock_batch_new(id, ts.tv_sec * INT64_C(1000000000) - (int64_t)(50000 * SECOND));
	assert_true(rows <= 512);
	for (uint64_t i = 0; i < rows; i++) {
		records_process(i, i % 2 ? "long" : "", &p);
		memset(argv[i], 'a', sizeof(argv[i]));
		snprintf(argv[i], 64, "%llu-%llu", (unsigned long long)id, (unsigned long long)i);
		argv[i][sizeof(argv[i]) - 1] = '\0';
		p.argv = (struct skep_str){ .ptr = argv[i], .len = sizeof(argv[i]), .total = sizeof(argv[i]) };
		p.upid.start_ns = p.start_ns = 50000 * SECOND + id * 1000 + i;
		p.end_ns = p.start_ns + 1000;
		p.uid = uid == SUBORDINATE ? 100000 + i : uid; /* each process of its container has another uid */
		records_add_process_of(b, &p, uid);
	}
	return b;
}

/* Over all existing files. */
static long long count_all(const char *sql)
{
	long long sum = 0;
	struct dirent *e;
	char path[600];
	DIR *d = opendir(lake);

	assert_non_null(d);
	while ((e = readdir(d))) {
		if (strlen(e->d_name) < 3 || strcmp(e->d_name + strlen(e->d_name) - 3, ".db") != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", lake, e->d_name);
		sum += count(path, sql);
	}
	closedir(d);
	return sum;
}

static void test_bounded(void **state)
{
	uint64_t cpu = 0, most = 0;
	const char *how = "";
	sqlite3_stmt *s = NULL;
	sqlite3 *reader = NULL;
	struct record_process p;
	struct skep_mock m;

	(void)state;
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	m.quiet = true;
	skep_mock_option(&m, "path", lake);
	skep_mock_option(&m, "max_bytes", "64MiB");
	skep_mock_option(&m, "min_free", "0");
	assert_int_equal(skep_mock_start(&m), 0);
	for (uint64_t id = 1; id <= 60; id++) {
		send(&m, large_batch(id, 500, id % 40)); /* of many users, each below a user's budget */
		if (folder_bytes() > most)
			most = folder_bytes();
		if (id == 1) { /* a reader in the file that the sink removes first */
			assert_int_equal(sqlite3_open_v2(this_month(), &reader, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
			assert_int_equal(sqlite3_prepare_v2(reader, "SELECT id FROM proc", -1, &s, NULL), SQLITE_OK);
			assert_int_equal(sqlite3_step(s), SQLITE_ROW);
		}
	}
	assert_int_equal(skep_mock_signal(&m, "retention", &how, NULL), SKEP_SIGNAL_OK);
	assert_non_null(strstr(how, " of 64.0 MiB; oldest is lake-20"));
	assert_non_null(strstr(how, ", which goes next"));
	/*
	 * the sink removed the oldest file without disturbing its reader, and no file exceeds its share by more than
	 * one look's growth
	 */
	assert_int_equal(access(this_month(), F_OK), -1);
	for (int i = 1; i < 500; i++)
		assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	assert_int_equal(sqlite3_step(s), SQLITE_DONE);
	sqlite3_finalize(s);
	sqlite3_close(reader);
	assert_true(skep_mock_counter(&m, "files_removed") > 3);
	if (most > 64 * MIB + 16 * MIB)
		fail_msg("the lake had %llu MiB", (unsigned long long)(most / MIB));
	assert_true(folder_bytes() <= 64 * MIB + 4 * MIB);
	assert_true(count_all("SELECT count(*) FROM proc") > 3000);
	assert_true(count_all("SELECT count(*) FROM proc") < 12000);
	/* sums per day outlive the rows */
	for (uint64_t i = 0; i < 500; i++) {
		records_process(i, "", &p);
		cpu += p.cpu_ns;
	}
	assert_int_equal(count_all("SELECT sum(calls) FROM rollup_day"), 60 * 500);
	assert_int_equal(count_all("SELECT sum(cpu_ns) FROM rollup_day"), 60 * cpu);
	assert_int_equal(skep_mock_end(&m), 0);
	assert_true(folder_bytes() <= 64 * MIB);
}

/* A user with a range of subordinate uids writes without end; the rows of others stay, and the sums are exact. */
static void test_budget_of_a_user(void **state)
{
	uint64_t refused = 0, cpu = 0;
	struct skep_mock_batch *b;
	struct record_process p;
	struct skep_mock m;

	(void)state;
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	m.quiet = true;
	skep_mock_option(&m, "path", lake);
	skep_mock_option(&m, "max_bytes", "64MiB");
	skep_mock_option(&m, "min_free", "0");
	assert_int_equal(skep_mock_start(&m), 0);
	send(&m, large_batch(1, 100, 7));
	for (uint64_t id = 2; id <= 51; id++) {
		b = large_batch(id, 500, SUBORDINATE);
		memset(&m.answer, 0, sizeof(m.answer));
		send(&m, b);
		if (m.answer.rejected)
			assert_non_null(strstr(m.why, "share of the lake"));
		refused += m.answer.rejected;
	}
	send(&m, large_batch(52, 100, 8));
	assert_int_equal(count_all("SELECT count(*) FROM proc WHERE uid IN (7, 8) AND length(argv) = 6144"), 200);
	assert_int_equal(
		count_all("SELECT count(*) FROM proc WHERE uid >= 100000 AND length(argv) < 200 AND argv_total = 6144"),
		skep_mock_counter(&m, "rows_cut"));
	assert_in_range(count_all("SELECT sum(length(argv)) FROM proc WHERE uid >= 100000"), 12 * MIB, 19 * MIB);
	assert_true(refused > 0);
	/* every record is stored or refused, and in the sums */
	assert_int_equal(count_all("SELECT count(*) FROM proc") + refused, 50 * 500 + 200);
	assert_int_equal(skep_mock_counter(&m, "rows"), 50 * 500 + 200 - refused);
	for (uint64_t i = 0; i < 500; i++) {
		records_process(i, "", &p);
		cpu += p.cpu_ns * (i < 100 ? 52 : 50);
	}
	assert_int_equal(count_all("SELECT sum(calls) FROM rollup_day"), 50 * 500 + 200);
	assert_int_equal(count_all("SELECT sum(cpu_ns) FROM rollup_day"), cpu);
	assert_int_equal(count_all("SELECT sum(cpu_ns) FROM rollup_run_tool"), cpu);
	assert_true(folder_bytes() < 48 * MIB);
	assert_int_equal(skep_mock_counter(&m, "files_removed"), 0);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void test_applied_once_in_parts(void **state)
{
	struct skep_mock_batch *last = NULL;
	struct skep_mock m;
	uint64_t id = 0;
	long long rows;

	(void)state;
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	m.quiet = true;
	skep_mock_option(&m, "path", lake);
	skep_mock_option(&m, "max_bytes", "64MiB");
	assert_int_equal(skep_mock_start(&m), 0);
	while (files_like("[.]1[.]db$") == 0) {
		id++;
		last = large_batch(id, 500, id);
		assert_int_equal(skep_mock_submit(&m, &last->batch), 0);
		if (files_like("[.]1[.]db$") == 0)
			skep_mock_batch_free(last);
		assert_true(id < 20);
	}
	rows = count_all("SELECT count(*) FROM proc");
	assert_int_equal(rows, id * 500);
	/* the answer was lost, and by now the month continues in another file */
	assert_int_equal(skep_mock_submit(&m, &last->batch), 0);
	assert_int_equal(skep_mock_end(&m), 0);
	begin(&m);
	assert_int_equal(skep_mock_submit(&m, &last->batch), 0);
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(count_all("SELECT count(*) FROM proc"), rows);
	skep_mock_batch_free(last);
}

static void begin_bounded(struct skep_mock *m, const char *max_bytes, const char *min_free)
{
	skep_mock_init(m, skep_plugin_entry(NULL));
	m->inline_work = true;
	m->quiet = true;
	skep_mock_option(m, "path", lake);
	skep_mock_option(m, "max_bytes", max_bytes);
	skep_mock_option(m, "min_free", min_free);
	assert_int_equal(skep_mock_start(m), 0);
}

/* A batch reaches into a file and the next: neither part counts as a repetition. A damaged file stops nothing. */
static void test_batch_in_two_parts(void **state)
{
	struct skep_mock_batch *both, *last;
	struct skep_mock m;
	uint64_t id = 0;
	long long rows;

	(void)state;
	begin_bounded(&m, "64MiB", "0");
	while (files_like("[.]1[.]db$") == 0) {
		id++;
		assert_true(id < 20);
		send(&m, large_batch(id, 500, id));
	}
	rows = count_all("SELECT count(*) FROM proc");
	both = large_batch(id + 1, 2, 0); /* a process without a run, and one of the run in the first file */
	assert_int_equal(skep_mock_submit(&m, &both->batch), 0);
	assert_int_equal(skep_mock_submit(&m, &both->batch), 0);
	assert_int_equal(m.acks, id + 2);
	skep_mock_batch_free(both);
	assert_int_equal(count_all("SELECT count(*) FROM proc"), rows + 2);
	assert_int_equal(count(this_month(), "SELECT count(*) FROM proc"), rows + 1);
	assert_int_equal(skep_mock_end(&m), 0);

	spoil(this_month(), 8192, MIB); /* the first file opens, but not its tables */
	begin_bounded(&m, "64MiB", "0");
	last = large_batch(id + 2, 1, 0);
	for (int i = 0; i < 3 && !m.acks; i++)
		assert_int_equal(skep_mock_submit(&m, &last->batch), 0);
	assert_int_equal(m.acks, 1);
	assert_int_equal(skep_mock_counter(&m, "files_set_aside"), 1);
	skep_mock_batch_free(last);
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(count_all("SELECT count(*) FROM proc"), 2);
}

static void mount_lake(const char *size)
{
	assert_int_equal(mkdir(lake, 0750), 0);
	if (mount("tmpfs", lake, "tmpfs", 0, size) != 0) {
		print_message("skipped: cannot mount a tmpfs (%s)\n", strerror(errno));
		skip();
	}
}

/* Fills the rest of the lake's file system but for `left` bytes. */
static void fill_disk(uint64_t left)
{
	char path[400];
	struct statvfs fs;
	uint64_t avail;
	int fd;

	assert_int_equal(statvfs(lake, &fs), 0);
	avail = (uint64_t)fs.f_bavail * fs.f_frsize;
	assert_true(avail > left);
	snprintf(path, sizeof(path), "%s/ballast", lake);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	assert_int_equal(posix_fallocate(fd, 0, (off_t)(avail - left)), 0);
	close(fd);
}

static void empty_disk(void)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/ballast", lake);
	assert_int_equal(unlink(path), 0);
}

/* Another program fills the disk: the lake removes nothing, its records wait, and go on when there is room. */
static void test_others_fill_the_disk(void **state)
{
	static const struct {
		const char *min_free;
		uint64_t left;
	} cases[] = { { "8MiB", 7 * MIB }, { "0", 0 } };

	(void)state;
	for (size_t c = 0; c < 2; c++) {
		bool held = c == 0;
		const char *how = "", *hint = "";
		struct skep_mock_batch *b;
		struct skep_mock m;
		uint64_t id;

		mount_lake("size=420m");
		begin_bounded(&m, "96MiB", cases[c].min_free);
		for (id = 1; folder_bytes() < 66 * MIB; id++) /* above the 64 MiB that a lake always gets */
			send(&m, large_batch(id, 500, id));
		fill_disk(cases[c].left);
		b = large_batch(id, 500, id);
		for (int i = 0; i < 4; i++)
			assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
		assert_int_equal(m.acks, id - 1);
		assert_int_equal(held ? m.holds : m.retries, 4);
		assert_int_equal(skep_mock_counter(&m, "holds"), held ? 4 : 0);
		assert_int_equal(skep_mock_counter(&m, "files_removed"), 0);
		if (held) {
			assert_non_null(strstr(m.why, "7 MiB free, less than min_free (8 MiB)"));
			assert_int_equal(skep_mock_signal(&m, "retention", &how, &hint), SKEP_SIGNAL_PARTIAL);
			assert_non_null(strstr(hint, "records wait"));
		}
		empty_disk();
		assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
		assert_int_equal(m.acks, id);
		assert_int_equal(skep_mock_signal(&m, "retention", &how, &hint), SKEP_SIGNAL_OK);
		assert_int_equal(count_all("SELECT count(*) FROM proc"), 500 * id);
		skep_mock_batch_free(b);
		assert_int_equal(skep_mock_end(&m), 0);
		assert_int_equal(umount(lake), 0);
		assert_int_equal(rmdir(lake), 0);
	}
}

/* On a small disk the lake keeps to its share, so that its host has room. */
static void test_share_of_the_disk(void **state)
{
	const char *how = "";
	struct skep_mock m;

	(void)state;
	mount_lake("size=320m");
	begin_bounded(&m, "10GiB", "8MiB");
	for (uint64_t id = 1; id <= 45; id++)
		send(&m, large_batch(id, 500, id));
	assert_true(skep_mock_counter(&m, "files_removed") > 0);
	assert_int_equal(skep_mock_signal(&m, "retention", &how, NULL), SKEP_SIGNAL_OK);
	assert_non_null(strstr(how, " of 80.0 MiB; "));
	assert_true(folder_bytes() <= 100 * MIB);
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(umount(lake), 0);
}

static const char *old_file(const char *suffix)
{
	static char path[600];

	snprintf(path, sizeof(path), "%s/lake-2019-11.db%s", lake, suffix);
	return path;
}

static void test_old_months_go(void **state)
{
	static const char *const users[] = { ".gz", ".bak", "x", ".recovered" };
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct timespec back[2] = { { .tv_sec = 1700000000 }, { .tv_sec = 1700000000 } };
	struct timespec hour[2] = { { .tv_sec = time(NULL) - 3600 }, { .tv_sec = time(NULL) - 3600 } };
	struct record_process p;
	struct record_run r;
	struct skep_mock m;
	char old[400], kept[400];
	long long calls;

	(void)state;
	begin(&m);
	add_process_at(b, "", 10 * DAY);
	records_run("gone", "ended", 10 * DAY, &r);
	records_add_run(b, &r);
	records_process(3, "", &p);
	skep_mock_batch_add(b, &record_stream_process, &p.upid, 0, &p, NULL); /* without a time */
	send(&m, b);
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(utimensat(AT_FDCWD, month_file("1970-01"), hour, 0), 0);
	snprintf(old, sizeof(old), "%s/lake-2019-11.db", lake);
	assert_int_equal(rename(NOVEMBER, old), 0);
	assert_int_equal(utimensat(AT_FDCWD, old, back, 0), 0);
	snprintf(kept, sizeof(kept), "%s.kept", lake);
	assert_int_equal(link(old, kept), 0);
	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++)
		close(open(old_file(users[i]), O_CREAT | O_WRONLY, 0600));
	close(open(old_file(".corrupt-20191101T000000Z"), O_CREAT | O_WRONLY, 0600));
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	m.quiet = true;
	skep_mock_option(&m, "path", lake);
	skep_mock_option(&m, "max_age", "0");
	assert_int_equal(skep_mock_start(&m), 0);
	send(&m, large_batch(2, 1, 0));
	assert_int_equal(access(old, F_OK), 0);
	skep_mock_option(&m, "max_age", "400d"); /* max_age is 400d by default */
	assert_int_equal(skep_mock_reload(&m), 0);
	send(&m, large_batch(3, 1, 0));
	assert_int_equal(access(old, F_OK), -1);
	assert_int_equal(access(old_file(".corrupt-20191101T000000Z"), F_OK), -1);
	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++)
		assert_int_equal(access(old_file(users[i]), F_OK), 0);
	assert_int_equal(access(month_file("1970-01"), F_OK), 0); /* written to an hour ago */
	/* a crash between the sums and the removal, and a later write to the file: the sink adds nothing twice */
	calls = count(this_month(), "SELECT sum(calls) FROM rollup_day");
	assert_true(calls > 2);
	assert_int_equal(rename(kept, old), 0);
	assert_int_equal(utimensat(AT_FDCWD, old, back, 0), 0);
	skep_mock_option(&m, "max_age", "399d");
	assert_int_equal(skep_mock_reload(&m), 0);
	sleep(1); /* the inode's ctime must differ by a second */
	assert_int_equal(chmod(old, 0640), 0);
	send(&m, large_batch(4, 1, 0));
	assert_int_equal(access(old, F_OK), -1);
	assert_int_equal(count(this_month(), "SELECT sum(calls) FROM rollup_day"), calls + 1);
	skep_mock_option(&m, "max_bytes", "1MiB");
	assert_int_equal(skep_mock_reload(&m), -EINVAL);
	assert_non_null(strstr(m.why, "64MiB"));
	assert_int_equal(skep_mock_end(&m), 0);
}

static void test_options(void **state)
{
	struct skep_mock m;
	struct stat st;
	int fd;

	(void)state;
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	assert_int_equal(skep_mock_open(&m), -EINVAL);
	assert_non_null(strstr(m.why, "path"));
	assert_int_equal(skep_mock_end(&m), 0);
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	skep_mock_option(&m, "path", lake);
	skep_mock_option(&m, "synchronous", "sometimes");
	assert_int_equal(skep_mock_open(&m), -EINVAL);
	assert_non_null(strstr(m.why, "\"sometimes\""));
	assert_int_equal(skep_mock_end(&m), 0);
	fd = open(lake, O_CREAT | O_WRONLY, 0600); /* a file where the folder should be */
	assert_true(fd >= 0);
	close(fd);
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	skep_mock_option(&m, "path", lake);
	assert_int_equal(skep_mock_start(&m), -ENOTDIR);
	assert_non_null(strstr(m.why, "not a folder"));
	assert_int_equal(skep_mock_end(&m), 0);
	unlink(lake);
	strcat(lake, "/a/b");
	begin(&m);
	assert_int_equal(stat(lake, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void test_busy_and_removed(void **state)
{
	struct skep_mock_batch *b = batch_of(2, 50, 50, "r");
	sqlite3 *other = NULL;
	struct skep_mock m;

	(void)state;
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	m.quiet = true;
	skep_mock_option(&m, "path", lake);
	skep_mock_option(&m, "busy_timeout", "50ms");
	assert_int_equal(skep_mock_start(&m), 0);
	send(&m, batch_of(1, 0, 50, "r"));
	assert_int_equal(sqlite3_open(NOVEMBER, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
	assert_int_equal(m.retries, 1);
	assert_non_null(strstr(m.why, "locked by another program"));
	assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(other);
	assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
	assert_int_equal(m.acks, 2);
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM proc"), 100);
	/* a person removes the file while the sink has it open */
	assert_int_equal(unlink(NOVEMBER), 0);
	send(&m, batch_of(3, 100, 20, "r"));
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM proc"), 20);
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM run"), 1);
	skep_mock_batch_free(b);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void test_threads(void **state)
{
	struct skep_mock_batch *b[4];
	struct skep_mock m;

	(void)state;
	begin(&m);
	m.inline_work = false;
	assert_true(m.plugin->sink->max_in_flight >= 1 && m.plugin->sink->max_in_flight <= 4);
	for (uint64_t i = 0; i < 4; i++)
		b[i] = batch_of(i + 1, i * 200, 200, "r");
	for (uint64_t i = 0; i < 4; i += m.plugin->sink->max_in_flight) {
		for (uint64_t k = i; k < 4 && k < i + m.plugin->sink->max_in_flight; k++)
			assert_int_equal(skep_mock_submit(&m, &b[k]->batch), 0);
		skep_mock_settle(&m);
	}
	assert_int_equal(m.acks, 4);
	m.fail_work = -ENOMEM;
	skep_mock_submit(&m, &b[0]->batch);
	assert_int_equal(m.retries, 1);
	for (int i = 0; i < 4; i++)
		skep_mock_batch_free(b[i]);
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM proc"), 800);
}

static off_t wal_size(void)
{
	struct stat st;

	return stat(wal_file(), &st) == 0 ? st.st_size : 0;
}

/* A reader in a long transaction: the writer continues, and later cuts the WAL back. */
static void test_reader_does_not_block(void **state)
{
	sqlite3_stmt *s = NULL;
	sqlite3 *reader = NULL;
	off_t held, after;
	uint64_t id = 1;
	struct skep_mock m;

	(void)state;
	begin(&m);
	send(&m, batch_of(id++, 0, 500, "r"));
	assert_int_equal(sqlite3_open_v2(NOVEMBER, &reader, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(reader, "SELECT count(*) FROM proc", -1, &s, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(reader, "BEGIN", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(s, 0), 500);
	sqlite3_reset(s);
	for (int i = 0; i < 100; i++, id++)
		send(&m, batch_of(id, id * 2000, 2000, "r"));
	assert_int_equal(m.retries, 0);
	/* the reader still sees the moment at which it began */
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(s, 0), 500);
	sqlite3_finalize(s);
	held = wal_size();
	assert_int_equal(sqlite3_exec(reader, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	for (int i = 0; i < 3; i++, id++)
		send(&m, batch_of(id, id * 2000, 2000, "r"));
	after = wal_size();
	/*
	 * while the reader held it the WAL grew with every batch; afterwards the sink starts it anew and cuts it to the
	 * limit
	 */
	print_message("WAL with a reader %lld, after it %lld bytes\n", (long long)held, (long long)after);
	assert_true(held > 64 << 20);
	assert_true(after <= 64 << 20);
	sqlite3_close(reader);
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM proc"), 500 + 2000 * (int)(id - 2));
}

#define KILL_BATCHES 400
#define KILL_ROWS    60

static void write_until_killed(void)
{
	struct skep_mock m;

	begin(&m);
	for (uint64_t id = 1; id <= KILL_BATCHES; id++) {
		struct skep_mock_batch *b = batch_of(id, id * KILL_ROWS, KILL_ROWS, "r");

		skep_mock_submit(&m, &b->batch);
		skep_mock_batch_free(b);
	}
	_exit(m.acks == KILL_BATCHES ? 0 : 1);
}

static void test_kill_9(void **state)
{
	unsigned killed = 0;
	struct skep_mock m;

	(void)state;
	for (unsigned round = 0; round < 6; round++) {
		struct timespec pause = { 0, 8000000 + round * 17000000 };
		int status;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid)
			write_until_killed();
		nanosleep(&pause, NULL);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		killed += WIFSIGNALED(status);
		if (access(NOVEMBER, F_OK) != 0)
			continue; /* the writer was killed before */
		/* whole batches only; the file is empty until its tables exist */
		if (count(NOVEMBER, "SELECT count(*) FROM sqlite_schema") == 0)
			continue;
		assert_string_equal(ask(NOVEMBER, "PRAGMA integrity_check"), "ok");
		assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM proc"),
				 KILL_ROWS * count(NOVEMBER, "SELECT count(*) FROM batch_seen"));
	}
	assert_true(killed > 0);
	begin(&m); /* the host never got the acknowledgements, so it offers all batches again */
	for (uint64_t id = 1; id <= KILL_BATCHES; id++)
		send(&m, batch_of(id, id * KILL_ROWS, KILL_ROWS, "r"));
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM proc"), KILL_BATCHES * KILL_ROWS);
	assert_int_equal(count(NOVEMBER, "SELECT count(DISTINCT start_boot_ns) FROM proc"), KILL_BATCHES * KILL_ROWS);
	assert_int_equal(count(NOVEMBER, "SELECT sum(calls) FROM rollup_run_tool"), KILL_BATCHES * KILL_ROWS);
	assert_string_equal(ask(NOVEMBER, "PRAGMA integrity_check"), "ok");
}

static void test_full_disk(void **state)
{
	struct skep_mock_batch *b = NULL, *large;
	uint64_t id;
	struct skep_mock m;

	(void)state;
	mount_lake("size=6m");
	begin_bounded(&m, "64MiB", "0");
	for (id = 1; id < 200; id++) {
		b = batch_of(id, id * 500, 500, "r");
		assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
		if (m.acks != id)
			break;
		b = skep_mock_batch_free(b);
	}
	assert_true(id > 1 && id < 200);
	assert_int_equal(m.retries, 1);
	assert_non_null(strstr(m.why, lake));
	assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
	assert_int_equal(m.retries, 2);
	assert_int_equal(m.rejects, 0);
	assert_int_equal(files_like("corrupt"), 0);
	/* a failed attempt uses nothing of a user's share of 16 MiB */
	large = large_batch(1000, 500, 7);
	for (int i = 0; i < 9; i++)
		assert_int_equal(skep_mock_submit(&m, &large->batch), 0);
	assert_int_equal(m.retries, 11);
	/* room again: the sink stores the same batch once */
	assert_int_equal(mount("tmpfs", lake, "tmpfs", MS_REMOUNT, "size=64m"), 0);
	assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
	assert_int_equal(m.acks, id);
	skep_mock_batch_free(b);
	send(&m, large);
	assert_int_equal(skep_mock_counter(&m, "rows_cut"), 0);
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM proc WHERE uid != 7"), 500 * (int)id);
	assert_string_equal(ask(NOVEMBER, "PRAGMA integrity_check"), "ok");
	assert_int_equal(umount(lake), 0);
}

/* start() does not wait for a file system whose server is gone; records reach the lake when the server is back. */
static void test_dead_file_system(void **state)
{
	struct skep_mock_batch *b = batch_of(1, 0, 20, "r");
	time_t began = time(NULL);
	struct skep_mock m;
	int fuse;

	(void)state;
	fuse = dead_mount(lake);
	if (fuse < 0)
		skip();
	alarm(120); /* without the thread start() never returns */
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.quiet = true;
	skep_mock_option(&m, "path", lake);
	assert_int_equal(skep_mock_start(&m), 0);
	assert_in_range(time(NULL) - began, 1, 120);
	assert_non_null(strstr(m.logged, lake));
	assert_non_null(strstr(m.logged, "does not answer"));
	assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
	assert_int_equal(m.holds, 1);
	assert_non_null(strstr(m.why, lake));
	assert_non_null(strstr(m.why, "does not answer"));
	dead_mount_end(fuse, lake);
	skep_mock_settle(&m); /* opening fails late; the next batch opens the file */
	assert_non_null(strstr(m.logged, "opened again with the next batch"));
	send(&m, b);
	assert_int_equal(count(NOVEMBER, "SELECT count(*) FROM proc"), 20);
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(access(wal_file(), F_OK), -1); /* a thread closed the file completely */
	alarm(0);
}

/* Names chosen to collide with a name in a cache without a key do not push that name out. */
static void test_chosen_names(void **state)
{
	struct idcache *c = idcache_new();
	char name[32];
	int64_t id;

	(void)state;
	assert_non_null(c);
	idcache_put(c, "bash", 4, 7);
	for (unsigned i = 0, n = 0; n < 64; i++) {
		uint64_t h = 0xcbf29ce484222325u, bash = 0xcbf29ce484222325u; /* FNV-1a */
		size_t len = (size_t)snprintf(name, sizeof(name), "x%u", i);

		for (size_t k = 0; k < len; k++)
			h = (h ^ (unsigned char)name[k]) * 0x100000001b3u;
		for (size_t k = 0; k < 4; k++)
			bash = (bash ^ (unsigned char)"bash"[k]) * 0x100000001b3u;
		if (((h ^ h >> 32) - (bash ^ bash >> 32)) % 2048 != 0)
			continue;
		idcache_put(c, name, len, (int64_t)i);
		n++;
	}
	assert_true(idcache_get(c, "bash", 4, &id));
	assert_int_equal(id, 7);
	idcache_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chosen_names),
		cmocka_unit_test_setup(test_boot_of_batch, set_up),
		cmocka_unit_test_setup(test_rows, set_up),
		cmocka_unit_test_setup(test_carried, set_up),
		cmocka_unit_test_setup(test_rollups_add_up, set_up),
		cmocka_unit_test_setup(test_applied_once, set_up),
		cmocka_unit_test_setup(test_process_before_its_run, set_up),
		cmocka_unit_test_setup(test_bounded, set_up),
		cmocka_unit_test_setup(test_budget_of_a_user, set_up),
		cmocka_unit_test_setup(test_applied_once_in_parts, set_up),
		cmocka_unit_test_setup(test_batch_in_two_parts, set_up),
		cmocka_unit_test_setup(test_others_fill_the_disk, set_up),
		cmocka_unit_test_setup(test_share_of_the_disk, set_up),
		cmocka_unit_test_setup(test_old_months_go, set_up),
		cmocka_unit_test_setup(test_image_number_twice, set_up),
		cmocka_unit_test_setup(test_months, set_up),
		cmocka_unit_test_setup(test_unknown_fields_and_streams, set_up),
		cmocka_unit_test_setup(test_damaged_header, set_up),
		cmocka_unit_test_setup(test_damaged_middle, set_up),
		cmocka_unit_test_setup(test_refused_files, set_up),
		cmocka_unit_test_setup(test_tasks, set_up),
		cmocka_unit_test_setup(test_options, set_up),
		cmocka_unit_test_setup(test_busy_and_removed, set_up),
		cmocka_unit_test_setup(test_threads, set_up),
		cmocka_unit_test_setup(test_reader_does_not_block, set_up),
		cmocka_unit_test_setup(test_dead_file_system, set_up),
		cmocka_unit_test_setup(test_kill_9, set_up),
		cmocka_unit_test_setup(test_full_disk, set_up),
	};

	return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
