/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fill_fleet HOSTS DAYS OPTION=VALUE... - writes a lake of a fleet through the sink: each host has 16 to 64 cores and
 * four runs a day, which use half of them, and 0.3 cores of a service all the time.  Three wastes are planted: host
 * "node-0003" has had no work for the last 20 days (of 30; two thirds of the days), "node-0007" has held its GPU idle
 * for the last 10 days, "node-0011" stays on after its last run, since two days, with traffic.
 *
 *	tests/bench/fill_fleet 100 30 path=/tmp/fleet/lake
 *	skep sweep --lake /tmp/fleet/lake --until 2026-11-10T00:00:00Z
 *
 * In a folder of SQLite files the hours come as rows of usage_hour, which the sink would make of 4,320 intervals a host
 * and day; in ClickHouse as records of an hour each.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/usage_records.h"

#define BATCH 5000
#define HOUR  (3600 * SECOND)
#define GIB   (UINT64_C(1) << 30)
#define TEXTS 65536 /* more than a batch needs */

const struct skep_plugin *skep_plugin_entry(const struct skep_host *);

static struct {
	struct skep_mock mock;
	struct skep_mock_batch *batch;
	uint64_t n_batches, n_processes, days;
	int64_t offset;
	char host[32], boot[40];
	sqlite3_stmt *add; /* NULL: through the sink */
	sqlite3 *sql;
} fill;

static struct skep_str text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static struct skep_str text(const char *fmt, ...)
{
	static char ring[TEXTS][32];
	static unsigned at;
	char *s = ring[at++ % TEXTS];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s, sizeof(ring[0]), fmt, ap);
	va_end(ap);
	return skep_mock_text(s);
}

static _Noreturn void leave(const char *why)
{
	fprintf(stderr, "fill_fleet: %s\n", why);
	exit(1);
}

static void send(void)
{
	if (fill.batch && !records_send_take(&fill.mock, fill.batch))
		leave(fill.mock.why);
	fill.batch = NULL;
}

static struct skep_mock_batch *batch(void)
{
	if (fill.batch && fill.batch->batch.n >= BATCH)
		send();
	if (!fill.batch) {
		fill.batch = skep_mock_batch_new(++fill.n_batches, fill.offset);
		fill.batch->batch.host_name = fill.host;
		fill.batch->batch.boot_id = fill.boot;
	}
	return fill.batch;
}

/* ---- hours ------------------------------------------------------------------------------ */

static void sql(const char *statement)
{
	if (sqlite3_exec(fill.sql, statement, NULL, NULL, NULL) != SQLITE_OK)
		leave(sqlite3_errmsg(fill.sql));
}

/* A row of usage_hour; numbers: from capacity_ns on, without the times. */
static void add_row(uint64_t hour, const char *item, uint64_t capacity, uint64_t busy, uint64_t idle, uint64_t runs,
		    uint64_t memory, uint64_t limit, uint64_t traffic, uint64_t idle_minutes, uint64_t other_minutes)
{
	const uint64_t start = ((uint64_t)fill.offset + hour * HOUR) / HOUR;
	const uint64_t value[] = {
		start * HOUR, start * HOUR + HOUR, HOUR, capacity, busy,         idle,         runs, 0, memory, limit,
		traffic,      traffic / 4,         4096, 8192,     idle_minutes, other_minutes
	};

	sqlite3_bind_int64(fill.add, 1, (int64_t)start);
	sqlite3_bind_text(fill.add, 2, fill.host, -1, SQLITE_STATIC);
	sqlite3_bind_text(fill.add, 3, item, -1, SQLITE_STATIC);
	sqlite3_bind_text(fill.add, 4, fill.boot, -1, SQLITE_STATIC);
	for (int i = 0; i < 16; i++)
		sqlite3_bind_int64(fill.add, 5 + i, (int64_t)value[i]);
	if (sqlite3_step(fill.add) != SQLITE_DONE)
		leave(sqlite3_errmsg(fill.sql));
	sqlite3_reset(fill.add);
}

static void add_hour(uint64_t hour, double cpus, double cores, double runs, bool traffic)
{
	const struct usage_of_host u = {
		.end_ns = (hour + 1) * HOUR - 1,
		.interval_ns = HOUR - 1,
		.cpus = cpus,
		.cores = cores,
		.rx_bytes = traffic ? 100 << 20 : 4096,
		.tx_bytes = traffic ? 25 << 20 : 1024,
		.memory_bytes = 8 * GIB,
		.memory_limit_bytes = (uint64_t)cpus * 4 * GIB,
	};

	if (fill.add) {
		add_row(hour, "", (uint64_t)(cpus * 3600e9), (uint64_t)(cores * 3600e9),
			(uint64_t)((cpus - cores) * 3600e9), (uint64_t)(runs * 3600e9), u.memory_bytes,
			u.memory_limit_bytes, u.rx_bytes, 0, 0);
		return;
	}
	usage_add_host(batch(), &u);
	if (runs > 0)
		usage_add_sample(batch(), u.end_ns, u.interval_ns, "run", "bwa mem", runs, 1, GIB);
}

static void add_gpu_hour(uint64_t hour, bool held)
{
	const uint64_t minutes = (UINT64_C(1) << 60) - 1;

	if (fill.add) {
		add_row(hour, "gpu/GPU-5f1c", 0, held ? 0 : HOUR / 2, held ? HOUR : 0, 0, GIB, 80 * GIB, 0,
			held ? minutes : 0, held ? 0 : minutes);
		return;
	}
	for (unsigned m = 1; m <= 60; m++)
		usage_add_gpu(batch(), hour * HOUR + m * 60 * SECOND - 1, 60 * SECOND, "GPU-5f1c", held ? 0 : 0.5,
			      true);
}

/* ---- a host -------------------------------------------------------------------------------- */

static void add_run(uint64_t host, uint64_t n, uint64_t from_h, uint64_t to_h)
{
	struct record_run r;
	struct record_process p;
	const struct skep_str id = text("run-%04" PRIu64 "-%05" PRIu64, host, n);

	records_run(id.ptr, "ended", from_h * HOUR + 1, &r);
	r.end_ns = to_h * HOUR;
	r.host = skep_mock_text(fill.host);
	r.boot_id = skep_mock_text(fill.boot);
	r.origin = skep_mock_text("workflow");
	r.engine = skep_mock_text("snakemake");
	records_add_run(batch(), &r);
	records_process(fill.n_processes++ * 30 + 3, id.ptr, &p); /* "bwa mem" */
	p.start_ns = r.start_ns;
	p.end_ns = r.end_ns;
	records_add_process(batch(), &p);
}

static void add_host(uint64_t host)
{
	const uint64_t n_hours = fill.days * 24;
	const double cpus = (double)(16 << host % 3);
	/* hours without work at the end */
	const uint64_t off = host == 3 ? n_hours * 2 / 3 : host == 11 ? 48 : 0;

	send();
	snprintf(fill.host, sizeof(fill.host), "node-%04" PRIu64, host);
	snprintf(fill.boot, sizeof(fill.boot), "%08" PRIx64 "-1111-4222-8333-444444444444",
		 host * 2654435761u & 0xffffffff);
	for (uint64_t h = 0; h < n_hours; h++) {
		const bool works = h % 6 < 4 && h + off < n_hours;

		/* the service of the host "node-0003" goes with its work */
		add_hour(h, cpus, (h + off >= n_hours ? 0.01 : 0.3) + (works ? cpus / 2 : 0), works ? cpus / 2 : 0,
			 h + off < n_hours || host == 11);
		if (host == 7)
			add_gpu_hour(h, h + n_hours / 3 >= n_hours);
		if (h % 6 == 0 && h + 4 + off <= n_hours)
			add_run(host, h / 6, h, h + 4);
	}
}

int main(int argc, char **argv)
{
	const uint64_t hosts = argc > 3 ? strtoull(argv[1], NULL, 10) : 0;
	const char *folder = NULL;
	char file[512];

	fill.days = argc > 3 ? strtoull(argv[2], NULL, 10) : 0;
	if (!hosts || !fill.days) {
		fprintf(stderr, "usage: %s HOSTS DAYS OPTION=VALUE...\n", argv[0]);
		return 2;
	}
	skep_mock_init(&fill.mock, skep_plugin_entry(NULL));
	fill.mock.quiet = true;
	fill.mock.inline_work = strcmp(fill.mock.plugin->name, "lake") == 0;
	fill.offset = RECORDS_OFFSET - (int64_t)(fill.days * 24 * HOUR);
	for (int i = 3; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (value)
			*value++ = '\0';
		if (!value || skep_mock_option(&fill.mock, argv[i], value) != 0)
			leave(value ? fill.mock.why : "expected OPTION=VALUE");
		if (strcmp(argv[i], "path") == 0)
			folder = value;
	}
	if (skep_mock_start(&fill.mock) != 0)
		leave(fill.mock.why);
	if (folder && fill.mock.inline_work) { /* the sink has made this month's file; the rows may be of any month */
		char name[512] = "";
		FILE *in;

		snprintf(file, sizeof(file), "ls %s/lake-*.db | head -1", folder);
		in = popen(file, "r"); /* NOLINT(cert-env33-c,bugprone-command-processor): a tool for measurements */
		if (!in || !fgets(name, sizeof(name), in))
			leave("the sink has made no file");
		pclose(in);
		name[strcspn(name, "\n")] = '\0';
		if (sqlite3_open(name, &fill.sql) != SQLITE_OK)
			leave("cannot open the file");
		sqlite3_busy_timeout(fill.sql, 10000);
		sql("CREATE TEMP TABLE hours (hour, host, item, boot, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, "
		    "v16)");
		if (sqlite3_prepare_v2(
			    fill.sql,
			    "INSERT INTO hours VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,"
			    "?18,?19,?20)",
			    -1, &fill.add, NULL) != SQLITE_OK)
			leave(sqlite3_errmsg(fill.sql));
	}
	for (uint64_t i = 0; i < hosts; i++)
		add_host(i);
	send();
	if (fill.sql) {
		sqlite3_finalize(fill.add);
		sql("INSERT OR IGNORE INTO dict (s) SELECT DISTINCT host FROM hours UNION SELECT DISTINCT item FROM hours "
		    "UNION SELECT DISTINCT boot FROM hours");
		sql("INSERT INTO usage_hour SELECT (SELECT id FROM dict WHERE s = host), (SELECT id FROM dict WHERE s = item), hour, "
		    "(SELECT id FROM dict WHERE s = boot), v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, v16, 0, 0, 0 "
		    "FROM hours ORDER BY 1, 2, 3, 4");
		sqlite3_close(fill.sql);
	}
	return skep_mock_end(&fill.mock) != 0;
}
