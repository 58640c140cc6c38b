/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/: random records of several hosts in a folder of SQLite files and in a ClickHouse server.  The clocks of the
 * hosts disagree and are set in between, batches arrive twice, records late, and the hosts' batches come in another
 * order at each lake.  Every command must print the same of both.  SKEP_TEST_SEED: other records.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/clickhouse_server.h"
#include "tests/unit/folder.h"
#include "tests/unit/lake_records.h"
#include "tests/unit/usage_records.h"

typedef const struct skep_plugin *entry_fn(const struct skep_host *);
const struct skep_plugin *skep_plugin_entry(const struct skep_host *); /* of the sink clickhouse */

#define HOSTS     3
#define BATCHES   5 /* of each host */
#define RUNS      3 /* of each host */
#define PROCESSES 60 /* of each batch */

static char folder[] = "/tmp/test_questions_random.XXXXXX";
static char address[128];
static uint64_t seed = 1;

/* ---- dice ----------------------------------------------------------------------------- */

static uint64_t state_of_dice;

/* The dice thrown from here on depend on these numbers alone, and not on the order of the batches. */
static void take_dice(uint64_t a, uint64_t b, uint64_t c)
{
	state_of_dice = seed * UINT64_C(0x9e3779b97f4a7c15) ^ a << 48 ^ b << 32 ^ c;
}

static uint64_t dice(uint64_t sides)
{
	uint64_t x = state_of_dice += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (x ^ x >> 31) % sides;
}

/* Small and large numbers, and 0 more often than chance gives it. */
static uint64_t amount(void)
{
	return dice(4) ? dice(UINT64_C(1) << dice(54)) : 0;
}

static struct skep_str text(void)
{
	static const char *const texts[] = { "", "plain", "it's", "a\tb\nc\\d", "\"q\"", "\xc3\xa9\xe2\x80\xae", "\\N", "-" };

	return skep_mock_text(texts[dice(sizeof(texts) / sizeof(texts[0]))]);
}

/* ---- records -------------------------------------------------------------------------- */

static const char *run_of(unsigned host, unsigned run)
{
	static char ids[HOSTS][RUNS][32];

	snprintf(ids[host][run], sizeof(ids[0][0]), "20261110T%02u-h%u", run, host);
	return ids[host][run];
}

static void add_process(struct skep_mock_batch *b, unsigned host, unsigned n)
{
	struct record_process p;
	uint64_t *const numbers[] = {
		&p.user_ns, &p.system_ns, &p.run_delay_ns, &p.run_count, &p.voluntary_switches,
		&p.involuntary_switches,
		&p.minor_faults, &p.major_faults, &p.rss_peak_bytes, &p.maxrss_bytes, &p.rchar_bytes, &p.wchar_bytes,
		&p.read_calls, &p.write_calls, &p.read_bytes, &p.write_bytes, &p.cancelled_write_bytes,
		&p.exe_size_bytes, &p.approx,
	};

	take_dice(host, 1, n);
	records_process(n, run_of(host, (unsigned)dice(RUNS)), &p);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		*numbers[i] = amount();
	p.approx &= 15;
	p.cpu_ns = p.user_ns + p.system_ns;
	p.image = dice(3);
	p.last = dice(4) != 0;
	p.execed = dice(4) != 0;
	p.wrapper = dice(8) == 0;
	p.core_dumped = dice(16) == 0;
	p.oom_killed = dice(16) == 0;
	p.state = skep_mock_text(p.last ? "exited" : "replaced");
	p.start_ns = (1000 + dice(2000)) * SECOND + dice(SECOND);
	p.upid.start_ns = p.start_ns - dice(2) * dice(SECOND);
	p.end_ns = dice(20) ? p.start_ns + amount() % (2000 * SECOND) : 0;
	p.exit_code = dice(3) ? 0 : (int64_t)dice(256) - 1;
	p.signal = p.exit_code < 0 ? dice(32) : 0;
	p.parent_upid.start_ns = dice(2) ? 999 * SECOND : p.start_ns - 1 - dice(1000);
	p.threads_peak = 1 + dice(100);
	p.task = dice(3) ? p.task : text();
	p.comm = text();
	p.cwd = text();
	p.container = dice(3) ? skep_mock_text("") : text();
	p.unit = dice(3) ? skep_mock_text("") : text();
	p.argv.total += (uint32_t)(dice(4) == 0 ? dice(9000) : 0);
	records_add_process(b, &p);
}

static void add_run(struct skep_mock_batch *b, unsigned host, unsigned n, bool ended)
{
	static const char *const engines[] = { "", "make", "snakemake" };
	static const char *const origins[] = { "command", "session", "shell" };
	struct record_run r;

	take_dice(host, 2, n);
	records_run(run_of(host, n), ended && dice(4) ? "ended" : "running", (900 + dice(100)) * SECOND, &r);
	r.name = text();
	r.pipeline = dice(2) ? r.pipeline : text();
	r.engine = skep_mock_text(engines[dice(3)]);
	r.origin = skep_mock_text(origins[dice(3)]);
	r.parent_run = skep_mock_text(n && dice(2) ? run_of(host, n - 1) : "");
	r.host = skep_mock_text(b->batch.host_name);
	r.boot_id = skep_mock_text(b->batch.boot_id);
	r.uid = 1000 + dice(2);
	r.exit_code = r.end_ns ? (int64_t)dice(3) - 1 : -1;
	r.signal = r.end_ns && r.exit_code < 0 ? 9 : 0;
	r.lost_kernel = dice(3) ? 0 : amount();
	r.rusage_cpu_ns = amount();
	r.memory_peak_bytes = amount();
	records_add_run(b, &r);
}

static void add_task(struct skep_mock_batch *b, unsigned host, unsigned n)
{
	struct record_task t;

	take_dice(host, 3, n);
	records_task(n, run_of(host, (unsigned)dice(RUNS)), &t);
	t.start_ns = (1000 + dice(2000)) * SECOND;
	t.root_upid.start_ns = t.start_ns;
	t.end_ns = t.start_ns + amount() % (500 * SECOND);
	t.cpu_ns = amount();
	t.rss_peak_bytes = amount();
	t.processes = dice(100);
	t.exit_code = dice(3) ? 0 : 1;
	t.attempt = dice(4);
	t.sample = text();
	t.requested_cpus = dice(2) ? 0 : (double)dice(1000) / 8;
	t.requested_memory_bytes = amount();
	t.granted_cpus = dice(2) ? 0 : (double)dice(1000) / 7;
	records_add_task(b, &t);
}

static void add_hour(struct skep_mock_batch *b, unsigned host, unsigned n)
{
	const uint64_t at = (1000 + 60 * (uint64_t)n) * SECOND;

	take_dice(host, 4, n);
	usage_add_host(b, &(struct usage_of_host){ .end_ns = at,
						   .interval_ns = 60 * SECOND,
						   .cpus = 1 + (double)dice(64),
						   .cores = (double)dice(1000) / 1000,
						   .rx_bytes = amount(),
						   .tx_bytes = amount(),
						   .memory_bytes = amount(),
						   .memory_limit_bytes = amount() });
	usage_add_sample(b, at, 60 * SECOND, dice(2) ? run_of(host, (unsigned)dice(RUNS)) : "",
			 dice(2) ? "awk" : "sort", (double)dice(1000) / 999, dice(9), amount());
	usage_add_gpu(b, at, 60 * SECOND, dice(2) ? "GPU-0" : "GPU-1", (double)dice(1000) / 999, dice(2));
	for (uint64_t cgroups = 1 + dice(4); cgroups; cgroups--)
		usage_add_container(b, at, dice(60 * SECOND), dice(2) ? "0123456789abcdef" : "fedcba9876543210",
				    (double)dice(1000) / 999, amount());
}

/*
 * Batch n of a host.  id: rises from batch to batch of a lake, as one skepd numbers them.  Processes are of any time
 * of a run, whose own records come after the first of them and at the end.
 */
static struct skep_mock_batch *batch(unsigned host, unsigned n, uint64_t id)
{
	static const char *const boots[HOSTS] = { SKEP_MOCK_BOOT_ID, "99999999-1111-4222-8333-444444444444",
						  "77777777-1111-4222-8333-444444444444" };
	static const char *const names[HOSTS] = { "alpha", "it's beta", "\xc3\xa9" };
	struct skep_mock_batch *b;

	take_dice(host, 5, n);
	/* a clock is hours off, and is set between two batches */
	b = skep_mock_batch_new(id, RECORDS_OFFSET + (int64_t)host * 5000000000000 + (int64_t)(dice(3) * 700000000));
	b->batch.host_name = names[host];
	b->batch.boot_id = boots[host];
	for (unsigned i = 0; i < RUNS; i++)
		if (n == 1 || n == BATCHES - 1)
			add_run(b, host, i, n > 1);
	for (unsigned i = 0; i < PROCESSES; i++)
		add_process(b, host, n * PROCESSES + i);
	for (unsigned i = 0; i < 8; i++)
		add_task(b, host, n / 2 * 8 + i);
	for (unsigned i = 0; i < 20; i++)
		add_hour(b, host, n * 20 + i);
	return b;
}

/* ---- both lakes ----------------------------------------------------------------------- */

/* The batches of a host come in their order; whose is next is chance, and each may come twice. */
static void write_all(struct skep_mock *m, uint64_t order)
{
	unsigned next[HOSTS] = { 0 };
	uint64_t id = 0;

	if (skep_mock_start(m) != 0)
		fail_msg("start: %s", m->why);
	for (unsigned left = HOSTS * BATCHES, step = 0; left; step++) {
		unsigned host;

		take_dice(order, 6, step);
		host = (unsigned)dice(HOSTS);
		if (next[host] == BATCHES)
			continue;
		id++;
		for (uint64_t times = 1 + (dice(5) == 0); times; times--)
			if (!records_send_take(m, batch(host, next[host], id)))
				fail_msg("not acknowledged: %s", m->why);
		next[host]++;
		left--;
	}
	assert_int_equal(skep_mock_end(m), 0);
}

static int fill(void **state)
{
	const char *plugins = getenv("SKEP_PLUGIN_DIRS"), *given = getenv("SKEP_TEST_SEED");
	char path[4096];
	struct skep_mock m;
	entry_fn *entry = NULL;
	void *library, *symbol;

	if (clickhouse_begin(state) != 0 || !mkdtemp(folder))
		return -1;
	if (!*clickhouse_url)
		return 0;
	seed = given ? strtoull(given, NULL, 10) : seed;
	snprintf(path, sizeof(path), "%s/lake.so", plugins ? plugins : "plugins-run");
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	symbol = library ? dlsym(library, "skep_plugin_entry") : NULL;
	if (!symbol) {
		print_error("%s: %s\n", path, dlerror());
		return -1;
	}
	memcpy(&entry, &symbol, sizeof(entry));
	skep_mock_init(&m, entry(NULL));
	m.inline_work = true;
	m.quiet = true;
	skep_mock_option(&m, "path", folder);
	write_all(&m, 1);
	clickhouse_fresh("questions_random");
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.quiet = true;
	skep_mock_option(&m, "url", clickhouse_url);
	skep_mock_option(&m, "database", "questions_random");
	write_all(&m, 2);
	snprintf(address, sizeof(address), "clickhouse://%s/questions_random", strstr(clickhouse_url, "://") + 3);
	return 0;
}

static int clean(void **state)
{
	folder_remove(folder);
	return clickhouse_end(state);
}

/* ---- the questions -------------------------------------------------------------------- */

/* What a command prints of a lake, with its exit status; the caller frees it. */
static char *printed(const char *command, const char *lake)
{
	const char *skep = getenv("SKEP");
	char line[1024], *all = NULL;
	size_t size, n;
	FILE *in, *out = open_memstream(&all, &size);

	snprintf(line, sizeof(line), "%s %s --lake '%s' 2>/dev/null; echo status $?", skep ? skep : "./skep", command, lake);
	in = popen(line, "r"); /* NOLINT(cert-env33-c,bugprone-command-processor): no input from outside */
	assert_non_null(in);
	assert_non_null(out);
	while ((n = fread(line, 1, sizeof(line), in)) > 0)
		fwrite(line, 1, n, out);
	assert_int_equal(pclose(in), 0);
	fclose(out);
	return all;
}

/* want: what the answer has at least. */
static void expect_equal(const char *command, const char *want)
{
	char *sqlite = printed(command, folder), *clickhouse = printed(command, address);
	size_t at = 0;

	while (sqlite[at] && sqlite[at] == clickhouse[at])
		at++;
	if (sqlite[at] || clickhouse[at]) {
		at = at > 300 ? at - 300 : 0;
		fail_msg("seed %llu: %s: SQLite answers\n...%.600s\nand ClickHouse\n...%.600s", (unsigned long long)seed, command,
			 sqlite + at, clickhouse + at);
	}
	if (!strstr(sqlite, want))
		fail_msg("seed %llu: %s: no '%s' in %.600s", (unsigned long long)seed, command, want, sqlite);
	free(sqlite);
	free(clickhouse);
}

static void test_runs(void **state)
{
	(void)state;
	clickhouse_need();
	expect_equal("runs --all --limit 0 --json", "20261110T00-h0");
	expect_equal("runs --limit 0", "status 0");
	expect_equal("runs --all --state failed --json", "status 0");
	expect_equal("runs --all --state running --json", "status 0");
	expect_equal("runs --all --host alpha --json", "20261110T00-h0");
	expect_equal("runs --all --pipeline variants --engine make --json", "status 0");
	expect_equal("runs --all --since 2026-11-10T01:00:00Z --until 2026-11-10T02:00:00Z --json", "status 0");
}

/* Everything of each run. */
static void test_reports(void **state)
{
	static const char *const commands[] = { "show --json --processes", "show --processes --width 200", "tune --json",
						"audit --json" };
	char line[128];

	(void)state;
	clickhouse_need();
	for (unsigned run = 0; run < HOSTS * RUNS; run++)
		for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
			snprintf(line, sizeof(line), "%s %s", commands[i], run_of(run / RUNS, run % RUNS));
			expect_equal(line, "status 0");
		}
}

static void test_comparisons(void **state)
{
	char line[128];

	(void)state;
	clickhouse_need();
	for (unsigned i = 0; i + 1 < HOSTS * RUNS; i++) {
		snprintf(line, sizeof(line), "diff --json --all %s %s", run_of(i / RUNS, i % RUNS),
			 run_of((i + 1) / RUNS, (i + 1) % RUNS));
		expect_equal(line, "status 0");
	}
	expect_equal("diff --width 200 20261110T00-h0 20261110T02-h2", "status 0");
}

static void test_hosts(void **state)
{
	(void)state;
	clickhouse_need();
	expect_equal("hosts --json --since 2026-11-09T00:00:00Z --until 2026-11-12T00:00:00Z", "it's beta");
	expect_equal("hosts --json --host alpha --since 2026-11-09T00:00:00Z --until 2026-11-12T00:00:00Z", "gpu/GPU-0");
	expect_equal("sweep --json --since 2026-11-09T00:00:00Z --until 2026-11-12T00:00:00Z", "status 0");
	expect_equal("top --json --at 2026-11-10T00:25:00Z", "status 0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_reports),
		cmocka_unit_test(test_comparisons),
		cmocka_unit_test(test_hosts),
	};

	return cmocka_run_group_tests(tests, fill, clean);
}
