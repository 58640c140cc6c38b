/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/sweep.h over lakes that the sink wrote: of each kind of finding a planted case, and its guards.
 */
#include <math.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/sweep/sweep_print.h"
#include "lake/lake.h"
#include "tests/unit/folder.h"
#include "tests/unit/usage_records.h"

const struct skep_plugin *skep_plugin_entry(const struct skep_host *);

#define STEP (300 * SECOND) /* an interval of the host's records */
#define HOUR (3600 * SECOND)
#define GIB  (UINT64_C(1) << 30)
#define BOOT "00000000-1111-4222-8333-444444444444"

static char folder[] = "/tmp/test_sweep.XXXXXX";
static char path[256]; /* of the present test's lake */
static unsigned lakes;
static char why[1024];

/* ---- a world ------------------------------------------------------------------------ */

static struct {
	struct skep_mock mock;
	struct skep_mock_batch *batch;
	uint64_t n;
	const char *host;
} world;

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

static int begin(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "%s/lake%u", folder, ++lakes);
	skep_mock_init(&world.mock, skep_plugin_entry(NULL));
	world.mock.inline_work = true;
	world.mock.quiet = true;
	world.batch = NULL;
	world.n = 0;
	world.host = "node1";
	assert_int_equal(skep_mock_option(&world.mock, "path", path), 0);
	if (skep_mock_start(&world.mock) != 0)
		fail_msg("start: %s", world.mock.why);
	return 0;
}

static void send(void)
{
	const unsigned acks = world.mock.acks;

	if (!world.batch)
		return;
	assert_int_equal(skep_mock_submit(&world.mock, &world.batch->batch), 0);
	if (world.mock.acks != acks + 1)
		fail_msg("not acknowledged: %s", world.mock.why);
	world.batch = skep_mock_batch_free(world.batch);
}

static struct skep_mock_batch *batch(void)
{
	if (world.batch && world.batch->batch.n > 2000)
		send();
	if (!world.batch) {
		world.batch = skep_mock_batch_new(++world.n, RECORDS_OFFSET);
		world.batch->batch.host_name = world.host;
		world.batch->batch.boot_id = BOOT;
	}
	return world.batch;
}

static void host(const char *name)
{
	send();
	world.host = name;
}

/* Hours of the host; from, to: since the world's begin. */
static void hours_with(double from, double to, double cores, uint64_t bytes_per_s)
{
	for (uint64_t at = (uint64_t)(from * 3600) * SECOND + STEP; at <= (uint64_t)(to * 3600) * SECOND; at += STEP)
		usage_add_host(batch(), &(struct usage_of_host){ .end_ns = at,
								  .interval_ns = STEP,
								  .cpus = 16,
								  .cores = cores,
								  .rx_bytes = bytes_per_s * 300,
								  .tx_bytes = bytes_per_s * 300 / 4,
								  .memory_bytes = 2 * GIB,
								  .memory_limit_bytes = 64 * GIB });
}

static void hours(double from, double to, double cores)
{
	hours_with(from, to, cores, 50);
}

/* What processes of a tool did in that time. run "": outside of any. */
static void samples(double from, double to, const char *run, const char *tool, double cores, uint64_t processes)
{
	for (uint64_t at = (uint64_t)(from * 3600) * SECOND + STEP; at <= (uint64_t)(to * 3600) * SECOND; at += STEP)
		usage_add_sample(batch(), at, STEP, run, tool, cores, processes, GIB);
}

static void gpu(double from, double to, double busy, bool held)
{
	for (uint64_t at = (uint64_t)(from * 3600) * SECOND + 60 * SECOND; at <= (uint64_t)(to * 3600) * SECOND;
	     at += 60 * SECOND)
		usage_add_gpu(batch(), at, 60 * SECOND, "GPU-7", busy, held);
}

static void container(double from, double to, const char *id, double cores)
{
	for (uint64_t at = (uint64_t)(from * 3600) * SECOND + STEP; at <= (uint64_t)(to * 3600) * SECOND; at += STEP)
		usage_add_container(batch(), at, STEP, id, cores, 4 * GIB);
}

static void run_with(const char *id, double from, double to, void (*change)(struct record_run *))
{
	struct record_run r;
	static uint64_t processes;
	struct record_process p;

	records_run(id, to > 0 ? "ended" : "running", (uint64_t)(from * 3600) * SECOND + 1, &r);
	r.end_ns = to > 0 ? (uint64_t)(to * 3600) * SECOND : 0;
	r.host = skep_mock_text(world.host);
	r.boot_id = skep_mock_text(BOOT);
	r.origin = skep_mock_text("command");
	if (change)
		change(&r);
	records_add_run(batch(), &r);
	if (to <= 0)
		return;
	records_process(3 + 30 * processes++, id, &p); /* "bwa mem" */
	p.start_ns = r.start_ns;
	p.end_ns = r.end_ns;
	records_add_process(batch(), &p);
}

static void run(const char *id, double from, double to)
{
	run_with(id, from, to, NULL);
}

/* ---- a look ---------------------------------------------------------------------------- */

static const struct price_table *prices; /* NULL: none */
static struct sweep_look look;
static const struct sweep_finding *found;
static size_t n_found;

static void sweep_with(double until, const struct analysis_setting *settings, size_t n)
{
	struct lake *lake = NULL;

	send();
	sweep_look_free(&look);
	look.since_ns = (uint64_t)RECORDS_OFFSET;
	look.until_ns = (uint64_t)RECORDS_OFFSET + (uint64_t)(until * 3600) * SECOND;
	look.prices = prices;
	look.unit = prices ? price_currency(prices) : SWEEP_UNIT;
	if (lake_open(path, &lake, why, sizeof(why)) != 0 ||
	    sweep_look_at(lake, NULL, settings, n, &look, why, sizeof(why)) != 0)
		fail_msg("%s", why);
	lake_close(lake);
	n_found = sweep_findings(look.sweep, &found);
}

static void sweep(double until)
{
	sweep_with(until, NULL, 0);
}

static int end(void **state)
{
	(void)state;
	send();
	sweep_look_free(&look);
	return skep_mock_end(&world.mock);
}

static void none(double until, const char *what)
{
	sweep(until);
	if (n_found)
		fail_msg("%s: found %s of %s: %s", what, found[0].kind->id, found[0].host->name, found[0].evidence);
}

/* The only finding is of that kind, with that longest window. */
static const struct sweep_finding *one(double until, const char *kind, double from, double to)
{
	sweep(until);
	if (n_found != 1)
		fail_msg("%zu findings, expected %s alone; the first one: %s: %s", n_found, kind,
			 n_found ? found[0].kind->id : "", n_found ? found[0].evidence : "");
	assert_string_equal(found[0].kind->id, kind);
	if (fabs((double)(found[0].from_ns - (uint64_t)RECORDS_OFFSET) / 3600e9 - from) > 0.02 ||
	    fabs((double)(found[0].to_ns - (uint64_t)RECORDS_OFFSET) / 3600e9 - to) > 0.02)
		fail_msg("%s: from %.3f h to %.3f h, expected %.3f to %.3f", kind,
			 (double)(found[0].from_ns - (uint64_t)RECORDS_OFFSET) / 3600e9,
			 (double)(found[0].to_ns - (uint64_t)RECORDS_OFFSET) / 3600e9, from, to);
	return &found[0];
}

static void near(double value, double want)
{
	if (fabs(value - want) > 0.001 * fabs(want))
		fail_msg("%.6g, expected %.6g", value, want);
}

/* ---- idle hosts --------------------------------------------------------------------------- */

static void test_idle_host(void **state)
{
	const struct sweep_finding *f;

	(void)state;
	run("r1", 0, 2);
	hours(0, 2, 8);
	samples(0, 2, "r1", "bwa mem", 8, 1);
	hours(2, 60, 0.21);
	samples(2, 60, "", "systemd-journald", 0.2, 1); /* the system's own */
	f = one(60, "idle-host", 2, 60);
	assert_true(f->is_open);
	near(f->value, 0.01);
	near(f->amount.core_s, 58 * 3600 * 16.0);
	near(f->amount.byte_s, 58 * 3600 * 64.0 * (double)GIB);
	assert_string_equal(f->run->id, "r1");
	assert_string_equal(f->last_tool, "bwa mem");
	near((double)(f->last_ns - (uint64_t)RECORDS_OFFSET), 2 * 3600e9);
	near(f->worth, 58 * (16 + 0.13 * 64));
}

/* The price of the whole machine, which is the worth of all its cores and memory; and one that has ended. */
static void test_prices(void **state)
{
	const struct price machine = { .name = "m", .until_ns = PRICE_ALWAYS, .by_machine = true,
				       .hour = { 2 * PRICE_NANO }, .split = { 60, 40 } };
	const struct price ended = { .name = "e", .until_ns = 1, .hour = { PRICE_NANO } };
	const struct price *const each[] = { &machine, &ended };

	(void)state;
	run("r1", 0, 2);
	hours(0, 2, 8);
	samples(0, 2, "r1", "bwa mem", 8, 1);
	hours(2, 60, 0.21);
	samples(2, 60, "", "systemd-journald", 0.2, 1);
	for (size_t i = 0; i < 2; i++) {
		struct price_table *table = price_table_new("EUR");
		const struct sweep_finding *f;

		assert_non_null(table);
		assert_int_equal(price_table_add(table, each[i]), 0);
		prices = table;
		f = one(60, "idle-host", 2, 60);
		prices = NULL;
		price_table_free(table);
		assert_int_equal(f->unpriced, i);
		if (i)
			assert_true(f->worth <= 0);
		else
			near(f->worth, 58 * 2);
	}
}

/* A price by the instance type, which the probe identity reports: of a host with a run, and of one without. */
static void test_price_of_a_type(void **state)
{
	struct of_machine {
		struct skep_str type;
	} machine = { skep_mock_text("m5.4xlarge") };
	static const struct skep_field fields[] = {
		SKEP_FIELD(struct of_machine, type, "host.type", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
	};
	static const struct skep_stream identity = {
		.size = sizeof(identity), .field_size = sizeof(fields[0]), .name = "host.identity",
		.record_size = sizeof(machine), .n_fields = 1, .fields = fields,
	};
	const struct price by_type = { .name = "m5", .instance_type = "m5.*", .until_ns = PRICE_ALWAYS,
				       .hour = { PRICE_NANO } };

	(void)state;
	skep_mock_batch_add(batch(), &identity, NULL, SECOND, &machine, NULL);
	hours(0, 40, 0.01);
	for (size_t i = 0; i < 2; i++) {
		struct price_table *table = price_table_new("EUR");
		const struct sweep_finding *f;

		assert_non_null(table);
		assert_int_equal(price_table_add(table, &by_type), 0);
		prices = table;
		f = one(40, "idle-host", 0, 40);
		prices = NULL;
		price_table_free(table);
		assert_false(f->unpriced);
		near(f->worth, 40 * 16);
		run("r1", 0, 40); /* it names the host */
	}
}

static void test_idle_host_at_night(void **state)
{
	const struct sweep_finding *f;

	(void)state;
	hours(0, 40, 0.01);
	hours(40, 41, 4); /* a job of an hour is 2 % of the time */
	hours(41, 60, 0.01);
	f = one(60, "idle-host", 0, 60);
	assert_int_equal(f->n, 1);
}

static void test_not_idle_host(void **state)
{
	(void)state;
	host("busy-in-none-of-its-records");
	hours(0, 12, 0.01); /* 23 hours of records, in two halves: nothing is known of the time between */
	hours(20, 31, 0.01);
	host("served");
	hours_with(0, 40, 0.01, 3000);
	host("works");
	hours(0, 40, 0.5);
	host("gpu");
	hours(0, 40, 0.01);
	gpu(0, 40, 0.5, true);
	none(40, "no idle host");
}

/* Two machines of one name have twice the time. */
static void test_shared_name(void **state)
{
	(void)state;
	hours(0, 40, 0.01);
	host("node1");
	batch()->batch.boot_id = "99999999-1111-4222-8333-444444444444";
	for (uint64_t at = STEP; at <= 40 * HOUR; at += STEP) {
		usage_add_host(batch(), &(struct usage_of_host){
						.end_ns = at, .interval_ns = STEP, .cpus = 16, .cores = 0.01 });
		world.batch->batch.boot_id = "99999999-1111-4222-8333-444444444444";
	}
	none(40, "a shared name");
	assert_int_equal(look.usage->hosts[0].boots, 2);
	assert_int_equal(look.doubts.hours_shared, 40);
	assert_string_equal(look.doubts.shared, "node1");
}

/* ---- after a run ----------------------------------------------------------------------------- */

static void test_idle_after_run(void **state)
{
	const struct sweep_finding *f;

	(void)state;
	run("r1", 0, 1.5);
	hours(0, 1.5, 8);
	samples(0, 1.5, "r1", "bwa mem", 8, 1);
	hours(1.5, 7, 0.01);
	f = one(7, "idle-after-run", 1.5, 7);
	assert_true(f->is_open);
	assert_string_equal(f->run->id, "r1");
	assert_string_equal(f->last_tool, "bwa mem");
	near(f->amount.core_s, 5.5 * 3600 * 16);
	sweep_with(7, &(struct analysis_setting){ "idle-after-run.idle", 6 * 3600 }, 1);
	assert_int_equal(n_found, 0);
}

static void is_of_system(struct record_run *r)
{
	r->origin = skep_mock_text("origin");
	r->engine = skep_mock_text("cron");
	r->uid = 0;
}

/* The system's own clockwork is nobody's work; what a user's cron starts is. */
static void test_idle_after_run_of_cron(void **state)
{
	(void)state;
	run("r1", 0, 1);
	hours(0, 1, 8);
	samples(0, 1, "r1", "bwa mem", 8, 1);
	hours(1, 7, 0.01);
	run_with("cron1", 3, 3.01, is_of_system);
	(void)one(7, "idle-after-run", 1, 7);
}

static void test_not_idle_after_run(void **state)
{
	char ids[16][16];

	(void)state;
	host("pool"); /* a job every two hours, 45 minutes of waiting in between */
	for (unsigned i = 0; i < 10; i++) {
		snprintf(ids[i], sizeof(ids[i]), "pool-%u", i);
		run(ids[i], 2 * i, 2 * i + 1.25);
		hours(2 * i, 2 * i + 1.25, 8);
		samples(2 * i, 2 * i + 1.25, ids[i], "bwa mem", 8, 1);
		hours(2 * i + 1.25, 2 * i + 2, 0.01);
	}
	host("service");
	run("s1", 0, 1);
	hours(0, 1, 8);
	samples(0, 1, "s1", "bwa mem", 8, 1);
	hours(1, 20, 0.4); /* outside of any run */
	samples(1, 20, "", "postgres", 0.4, 8);
	host("off");
	run("o1", 0, 1);
	hours(0, 1, 8);
	samples(0, 1, "o1", "bwa mem", 8, 1);
	hours(1, 1.25, 0.01);
	host("live");
	run("l1", 0, 0);
	hours(0, 20, 0.01);
	host("busy");
	none(20, "after no run");
}

/* ---- containers ---------------------------------------------------------------------------------- */

#define C1 "1111111111111111111111111111111111111111111111111111111111111111"
#define C2 "2222222222222222222222222222222222222222222222222222222222222222"
#define C3 "3333333333333333333333333333333333333333333333333333333333333333"

static void in_c1(struct record_run *r)
{
	r->container = skep_mock_text(C1);
	r->container_name = skep_mock_text("align");
}

static void in_c2(struct record_run *r)
{
	r->container = skep_mock_text(C2);
	r->unit = skep_mock_text("portal.service");
}

static void in_c3(struct record_run *r)
{
	r->container = skep_mock_text(C3);
}

/* The host works for others all the time, so the container is the only waste. */
static void test_orphan_container(void **state)
{
	const struct sweep_finding *f;

	(void)state;
	hours(0, 12, 4);
	run_with("r1", 1, 2, in_c1);
	container(1, 2, C1, 3);
	container(2, 12, C1, 0.001);
	run("other", 0, 0);
	samples(0, 12, "other", "sort", 4, 1);
	f = one(12, "orphan-container", 2, 12);
	assert_string_equal(f->subject, "align");
	assert_true(f->is_open);
	near(f->value, 0.001);
	near(f->amount.byte_s, 10 * 3600 * 4.0 * (double)GIB);
	assert_string_equal(f->last_tool, "bwa mem");
}

static void test_not_orphan_container(void **state)
{
	(void)state;
	hours(0, 12, 4);
	run("other", 0, 0);
	samples(0, 12, "other", "sort", 4, 1);
	run_with("unit", 1, 2, in_c2);
	container(1, 12, C2, 0.001);
	run_with("within", 5, 6, in_c3); /* a notebook's container, in which runs come and go */
	container(0, 12, C3, 0.001);
	none(12, "services");
	run_with("r1", 1, 2, in_c1);
	container(1, 12, C1, 0.2);
	none(12, "a container that works");
	run_with("r2", 3, 0, in_c1);
	none(12, "a container with a run");
}

/* ---- what runs leave --------------------------------------------------------------------------------- */

static void is_session(struct record_run *r)
{
	r->origin = skep_mock_text("session");
}

static void test_leftover(void **state)
{
	const struct sweep_finding *f;

	(void)state;
	hours(0, 4, 4);
	samples(0, 4, "", "postgres", 4, 4);
	run("r1", 0, 1);
	samples(0, 1, "r1", "bwa mem", 1, 1);
	samples(0, 4, "r1", "redis-server", 0.001, 2);
	samples(0, 4, "r1", "ssh-agent", 0, 1);
	run("r2", 0, 1);
	samples(0, 1.0834, "r2", "tail", 0, 1); /* ends five minutes after its run, no later */
	run_with("login", 0, 1, is_session);
	samples(0, 4, "login", "redis-server", 0, 1);
	f = one(4, "leftover-process", 1, 4);
	assert_string_equal(f->subject, "redis-server");
	assert_string_equal(f->run->id, "r1");
	near(f->amount.byte_s, 3 * 3600 * (double)GIB);
	assert_non_null(strstr(f->evidence, "2 processes of run r1 live"));
}

/* ---- GPUs ------------------------------------------------------------------------------------------------ */

static void test_gpu_held(void **state)
{
	const struct sweep_finding *f;

	(void)state;
	hours(0, 4, 4);
	samples(0, 4, "", "postgres", 4, 4);
	gpu(0, 1.5, 0.8, true);
	usage_add_holder(batch(), (uint64_t)(1.4 * 3600) * SECOND, 77, "", "train.py", 60 * SECOND, 30 * SECOND);
	usage_add_holder(batch(), (uint64_t)(1.6 * 3600) * SECOND, 77, "", "train.py", 60 * SECOND, 0);
	gpu(1.5, 4, 0, true);
	f = one(4, "gpu-held-idle", 1.5, 4);
	assert_string_equal(f->subject, "GPU-7");
	assert_string_equal(f->last_tool, "train.py");
	near(f->amount.gpu_s, 2.5 * 3600);
	assert_int_equal(f->severity, FINDING_WARN);
	assert_non_null(strstr(f->evidence, "train.py holds it"));
}

static double gpu_hours(const char *kind)
{
	for (size_t i = 0; i < n_found; i++)
		if (strcmp(found[i].kind->id, kind) == 0)
			return found[i].amount.gpu_s / 3600;
	fail_msg("no %s", kind);
	return 0;
}

/* The finding of an idle host has the host's GPUs. A process that holds one has a finding too: the GPU counts once. */
static void test_gpu_of_idle_host(void **state)
{
	(void)state;
	hours(0, 10, 4);
	samples(0, 10, "", "postgres", 4, 4);
	hours(10, 40, 0.01);
	gpu(0, 40, 0, true);
	sweep(40);
	assert_int_equal(n_found, 2);
	near(gpu_hours("idle-host"), 30);
	near(gpu_hours("gpu-held-idle"), 10);
}

static void test_gpu_after_run(void **state)
{
	(void)state;
	run("r1", 0, 2);
	hours(0, 2, 8);
	samples(0, 2, "r1", "bwa mem", 8, 1);
	hours(2, 12, 0.01);
	gpu(0, 12, 0, true);
	sweep(12);
	assert_int_equal(n_found, 2);
	near(gpu_hours("idle-after-run"), 10);
	near(gpu_hours("gpu-held-idle"), 2);
}

static void test_gpu_not_held(void **state)
{
	(void)state;
	host("used");
	hours(0, 4, 4);
	samples(0, 4, "", "postgres", 4, 4);
	for (unsigned i = 0; i < 5; i++) { /* never half an hour in a row */
		gpu(0.8 * i, 0.8 * i + 0.4, 0, true);
		gpu(0.8 * i + 0.4, 0.8 * i + 0.8, 0.5, true);
	}
	host("free");
	hours(0, 4, 4);
	samples(0, 4, "", "postgres", 4, 4);
	gpu(0, 4, 0, false);
	host("gaps");
	hours(0, 4, 4);
	samples(0, 4, "", "postgres", 4, 4);
	for (unsigned i = 0; i < 4; i++)
		gpu(i, i + 0.45, 0, true);
	host("serves");
	hours(0, 4, 4);
	samples(0, 4, "", "postgres", 4, 4);
	gpu(0, 4, 0, true);
	usage_add_holder(batch(), 120 * SECOND, 78, "", "tritonserver", 60 * SECOND, 0);
	none(4, "no held GPU");
}

/* ---- runs that do nothing ----------------------------------------------------------------------------------- */

static void is_engine(struct record_run *r)
{
	r->engine = skep_mock_text("nextflow");
}

static void test_stuck(void **state)
{
	const struct sweep_finding *f;

	(void)state;
	hours(0, 3, 4);
	samples(0, 3, "", "postgres", 4, 4);
	run("r1", 0, 0);
	samples(0, 1, "r1", "bwa mem", 1, 1);
	samples(0, 3, "r1", "bash", 0, 1);
	samples(1, 3, "r1", "curl", 0, 1);
	run_with("head", 0, 0, is_engine);
	samples(0, 3, "head", "java", 0, 1);
	run("notebook", 0, 0);
	samples(0, 3, "notebook", "jupyter-lab", 0, 1);
	run("works", 0, 0);
	samples(0, 3, "works", "bwa mem", 0.5, 1);
	run("silent", 0, 0); /* its samples end long before the host's: its end was lost */
	samples(0, 1, "silent", "sleep", 0, 1);
	run("short", 2.9, 0);
	samples(2.9, 3, "short", "sleep", 0, 1);
	f = one(3, "stuck", 1, 3);
	assert_string_equal(f->run->id, "r1");
	assert_non_null(strstr(f->evidence, "2 processes"));
}

/* ---- the order, and doubts ------------------------------------------------------------------- */

static void test_order(void **state)
{
	(void)state;
	host("small"); /* 2 of 16 cores' worth: a container's memory */
	hours(0, 30, 4);
	samples(0, 30, "", "postgres", 4, 4);
	run_with("r1", 1, 2, in_c1);
	container(1, 30, C1, 0.001);
	host("large");
	hours(0, 30, 0.01);
	host("gpu");
	hours(0, 30, 4);
	samples(0, 30, "", "postgres", 4, 4);
	gpu(0, 30, 0, true); /* 30 GPU-hours outweigh 30 hours of 16 cores and 64 GiB */
	sweep(30);
	assert_int_equal(n_found, 3);
	assert_string_equal(found[0].host->name, "gpu");
	assert_string_equal(found[1].host->name, "large");
	assert_string_equal(found[2].host->name, "small");
}

static void test_doubts(void **state)
{
	(void)state;
	host("ahead");
	hours(0, 12, 4);
	host("silent");
	hours(0, 2, 4);
	host("runs-only");
	run("r1", 1, 5);
	sweep(5);
	assert_int_equal(look.usage->n_hosts, 3);
	assert_int_equal(look.doubts.hosts_without_hours, 1);
	assert_int_equal(look.doubts.hosts_ahead, 0); /* hours after the end of the time are not read */
	assert_int_equal(look.doubts.hosts_silent, 1);
	assert_string_equal(look.doubts.silent, "silent");
	sweep_doubts(look.usage, look.until_ns - HOUR, &look.doubts);
	assert_int_equal(look.doubts.hosts_ahead, 2);
	near(look.doubts.ahead_s, 3600);
}

/* A batch that comes again adds nothing. */
static void test_again(void **state)
{
	struct lake_hour first;

	(void)state;
	hours(0, 1, 2);
	send();
	sweep(1);
	first = look.usage->hours[0];
	world.n--;
	hours(0, 1, 2);
	sweep(1);
	assert_int_equal(first.known_ns, HOUR);
	assert_int_equal(look.usage->hours[0].known_ns, HOUR);
	assert_int_equal(look.usage->hours[0].busy_ns, 2 * HOUR);
	assert_int_equal(look.usage->hours[0].rx_bytes, 50 * 3600);
}

static void test_no_hosts(void **state)
{
	(void)state;
	none(10, "an empty lake");
	assert_int_equal(look.usage->n_hosts, 0);
}

static void test_settings(void **state)
{
	char near_name[ANALYSIS_SETTING_NAME];

	(void)state;
	assert_true(sweep_setting_known("stuck.idle", near_name));
	assert_false(sweep_setting_known("idle-hots.window", near_name));
	assert_string_equal(near_name, "idle-host.window");
}

#define T(f_) cmocka_unit_test_setup_teardown(f_, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_idle_host),
		T(test_prices),
		T(test_price_of_a_type),
		T(test_idle_host_at_night),
		T(test_not_idle_host),
		T(test_shared_name),
		T(test_idle_after_run),
		T(test_idle_after_run_of_cron),
		T(test_not_idle_after_run),
		T(test_orphan_container),
		T(test_not_orphan_container),
		T(test_leftover),
		T(test_gpu_held),
		T(test_gpu_of_idle_host),
		T(test_gpu_after_run),
		T(test_gpu_not_held),
		T(test_stuck),
		T(test_order),
		T(test_doubts),
		T(test_again),
		T(test_no_hosts),
		cmocka_unit_test(test_settings),
	};

	return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
