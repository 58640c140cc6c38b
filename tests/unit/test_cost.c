/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/cost.c: bills of planted runs, computed by hand; times without a figure; and for any runs, that the parts of
 * a bill add up.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/cost.h"

#define SECOND UINT64_C(1000000000)
#define HOUR   (3600 * SECOND)
#define T      (UINT64_C(500000) * HOUR) /* the bill begins */
#define GIB_H  (UINT64_C(1048576) * 3600)
#define MILLI  (PRICE_NANO / 1000)

/* A machine of 8 cores and 32 GiB for an hour, in which A, with a task, and B ran. */
static struct lake_run runs[] = {
	{ .id = "A", .name = "first", .pipeline = "p", .host = "n1", .boot_id = "b1", .uid = 1, .start_ns = T, .end_ns = T + HOUR,
	  .parent_run = "", .cpus = 8, .totals = { .cpu_ns = 2 * HOUR } },
	{ .id = "B", .name = "second", .pipeline = "q", .host = "n1", .boot_id = "b1", .uid = 2, .start_ns = T, .end_ns = T + HOUR,
	  .parent_run = "", .cpus = 8, .totals = { .cpu_ns = 1 * HOUR } },
};
static struct lake_claims_task tasks[] = {
	{ .run = "A", .boot_id = "b1", .task = "align", .task_id = "1", .job = "", .start_ns = T, .end_ns = T + HOUR, .cpu_ns = 2 * HOUR,
	  .rss_peak_bytes = UINT64_C(8) << 30, .reserved_cpus = 4, .reserved_memory_bytes = UINT64_C(16) << 30 },
	{ .run = "B", .boot_id = "b1", .task = "sort", .task_id = "2", .job = "", .start_ns = T, .end_ns = T + HOUR, .cpu_ns = 1 * HOUR,
	  .rss_peak_bytes = UINT64_C(4) << 30, .reserved_cpus = 3, .reserved_memory_bytes = UINT64_C(8) << 30 },
};
static struct lake_claims_part parts[] = {
	{ LAKE_PART_MEMORY, "A", "b1", "", 8 * GIB_H },
	{ LAKE_PART_MEMORY, "B", "b1", "", 4 * GIB_H },
	{ LAKE_PART_TOOL, "A", "b1", "bwa", 3 },
	{ LAKE_PART_TOOL, "A", "b1", "sort", 7 },
	{ LAKE_PART_TOOL, "B", "b1", "sort", 1 },
	{ LAKE_PART_LABEL, "A", "b1", "", 1 },
	{ LAKE_PART_LABEL, "A", "b1", "team=red", 1 },
	{ LAKE_PART_LABEL, "B", "b1", "team=blue", 9 },
};
static struct lake_machine_row rows[] = {
	{ "n1", "b1", LAKE_MACHINE_CAPACITY, T, T + HOUR, HOUR, 720, 8 * (int64_t)HOUR },
	{ "n1", "b1", LAKE_MACHINE_IDLE, T, T + HOUR, HOUR, 720, 9 * (int64_t)HOUR / 2 },
	{ "n1", "b1", LAKE_MACHINE_ENERGY, T, T + HOUR, 0, 120, 1800000000 },     /* half a kWh */
	{ "n1", "b1", LAKE_MACHINE_GPU_ENERGY, T, T + HOUR, 0, 120, 900000000 },
};
static struct lake_machine machines[] = { { "n1", "", 8, UINT64_C(32) << 30 } };

static struct lake_runs all_runs(void)
{
	return (struct lake_runs){ sizeof(runs) / sizeof(runs[0]), runs };
}

static struct lake_claims all_claims(void)
{
	return (struct lake_claims){
		sizeof(parts) / sizeof(parts[0]), parts, 1, tasks, sizeof(rows) / sizeof(rows[0]), rows, 1, machines,
	};
}

static const struct price by_machine = { .name = "m",
					 .until_ns = PRICE_ALWAYS,
					 .by_machine = true,
					 .hour = { PRICE_NANO },
					 .split = { 75, 25 },
					 .overhead_ppm = 100000,
					 .has_energy = true,
					 .kwh = 400 * MILLI };

static struct price_table *prices_of(const struct price *list, size_t n)
{
	struct price_table *t = price_table_new("EUR");

	assert_non_null(t);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(price_table_add(t, &list[i]), 0);
	return t;
}

static struct cost *bill(const struct price *list, size_t n, const struct lake_claims *claims, struct cost_query q)
{
	struct price_table *t = prices_of(list, n);
	struct lake_runs r = all_runs();
	struct cost *c = NULL;

	q.since_ns = q.since_ns ? q.since_ns : T;
	q.until_ns = q.until_ns ? q.until_ns : T + HOUR;
	q.now_ns = T + 1000 * HOUR;
	assert_int_equal(cost_new(t, &r, claims, &q, &c), 0);
	c->currency = "";
	price_table_free(t);
	return c;
}

static void nano(int64_t value, int64_t want, const char *what)
{
	if (value != want)
		fail_msg("%s: %lld, expected %lld", what, (long long)value, (long long)want);
}

static void expect(const struct cost *c, int64_t used, int64_t reserved, int64_t idle, int64_t system, int64_t added)
{
	nano(c->used, used, "used");
	nano(c->reserved, reserved, "reserved");
	nano(c->idle, idle, "idle");
	nano(c->system, system, "system");
	nano(c->added, added, "added");
	nano(c->bill, used + reserved + idle + system + added, "bill");
}

static void expect_row(const struct cost *c, size_t i, const char *name, uint64_t uid, int64_t used, int64_t reserved)
{
	assert_true(i < c->n_rows);
	assert_string_equal(c->rows[i].name, name);
	assert_int_equal(c->rows[i].uid, uid);
	nano(c->rows[i].used, used, name);
	nano(c->rows[i].reserved, reserved, name);
}

static bool has_problem(const struct cost *c, enum cost_problem_kind kind)
{
	for (size_t i = 0; i < c->n_problems; i++)
		if (c->problems[i].kind == kind)
			return true;
	return false;
}

/*
 * By hand: 0.75 for 8 cores, 0.25 for 32 GiB. A: 2 cores 187.5, 8 GiB 62.5; asked for 2 cores and 8 GiB more: the same.
 * B: 93.75 and 31.25. Outside of runs: 8 - 4.5 - 3 core-hours, 46.875. Idle: 2.5 cores 234.375, 12 GiB 93.75.
 */
static void test_by_hand(void **state)
{
	struct lake_claims claims = all_claims();
	struct cost *c = bill(&by_machine, 1, &claims, (struct cost_query){ .by = COST_USER });

	(void)state;
	expect(c, 375 * MILLI, 250 * MILLI, 328125000, 46875000, 100 * MILLI);
	assert_int_equal(c->n_rows, 2);
	expect_row(c, 0, "", 1, 250 * MILLI, 250 * MILLI);
	expect_row(c, 1, "", 2, 125 * MILLI, 0);
	nano(c->energy, 300 * MILLI, "0.75 kWh of 0.40");
	assert_true(c->system_known && c->machine_ns == HOUR && !c->n_spread && !c->n_problems && c->n_hosts == 1);
	assert_int_equal(cost_round(c, 10 * MILLI), 0); /* to the cent; the largest remainders go up */
	expect(c, 370 * MILLI, 250 * MILLI, 330 * MILLI, 50 * MILLI, 100 * MILLI);
	expect_row(c, 1, "", 2, 120 * MILLI, 0);
	cost_free(c);
	c = bill(&by_machine, 1, &claims, (struct cost_query){ .by = COST_TOOL });
	expect_row(c, 0, "sort", 0, 175 * MILLI + 125 * MILLI, 175 * MILLI);
	expect_row(c, 1, "bwa", 0, 75 * MILLI, 75 * MILLI);
	cost_free(c);
	c = bill(&by_machine, 1, &claims, (struct cost_query){ .by = COST_LABEL });
	expect_row(c, 0, "", 0, 125 * MILLI, 125 * MILLI);
	expect_row(c, 1, "team=red", 0, 125 * MILLI, 125 * MILLI);
	expect_row(c, 2, "team=blue", 0, 125 * MILLI, 0);
	cost_free(c);
	c = bill(&by_machine, 1, &claims, (struct cost_query){ .by = COST_TASK, .run = "A" });
	expect(c, 375 * MILLI, 250 * MILLI, 328125000, 46875000, 100 * MILLI);
	expect_row(c, 0, "align", 0, 250 * MILLI, 250 * MILLI);
	assert_true(c->rows[c->n_rows - 1].others && c->rows[c->n_rows - 1].used == 125 * MILLI);
	cost_free(c);
}

/* The price trebles after half an hour: of all amounts half is at 1, half at 3. */
static void test_price_change(void **state)
{
	struct price list[2] = { by_machine, by_machine };
	struct lake_claims claims = all_claims();
	struct cost *c;

	(void)state;
	list[0].until_ns = list[1].from_ns = (int64_t)(T + HOUR / 2);
	list[1].hour[0] = 3 * PRICE_NANO;
	c = bill(list, 2, &claims, (struct cost_query){ .by = COST_PIPELINE });
	expect(c, 750 * MILLI, 500 * MILLI, 656250000, 93750000, 200 * MILLI);
	expect_row(c, 0, "p", 0, 500 * MILLI, 500 * MILLI);
	assert_int_equal(c->n_spread, 2);
	cost_free(c);
	list[1].from_ns = (int64_t)(T + 3 * HOUR / 4); /* a quarter of an hour has no price, and no figure */
	c = bill(list, 2, &claims, (struct cost_query){ .by = COST_PIPELINE });
	nano(c->bill, 1100 * MILLI * 5 / 4, "half an hour at 1, a quarter at 3");
	assert_int_equal(c->n_problems, 1);
	assert_true(c->problems[0].kind == COST_NO_PRICE && c->problems[0].from_ns == T + HOUR / 2 &&
		    c->problems[0].until_ns == T + 3 * HOUR / 4);
	cost_free(c);
}

/*
 * Cores, GiB and GPUs have prices: 8 x 0.01, 32 x 0.001, 2 x 0.5. The task of A asked for a GPU, and used it half of
 * the time.
 */
static void test_parts(void **state)
{
	struct price p = { .name = "parts", .until_ns = PRICE_ALWAYS, .hour = { 10 * MILLI, MILLI, 500 * MILLI }, .has = { .gpus = 2 } };
	struct lake_claims claims = all_claims();
	struct lake_claims_part more[] = { parts[0], parts[1], { LAKE_PART_GPU, "A", "b1", "", HOUR / 2 } };
	struct cost *c;

	(void)state;
	claims.parts = more;
	claims.n_parts = 3;
	tasks[0].reserved_gpus = 1;
	c = bill(&p, 1, &claims, (struct cost_query){ .by = COST_RUN });
	expect_row(c, 0, "A", 0, 20 * MILLI + 8 * MILLI + 250 * MILLI, 20 * MILLI + 8 * MILLI + 250 * MILLI);
	expect_row(c, 1, "B", 0, 14 * MILLI, 0);
	nano(c->bill, 1112 * MILLI, "bill");
	assert_false(has_problem(c, COST_NO_GPUS));
	cost_free(c);
	p.has.gpus = 0;
	c = bill(&p, 1, &claims, (struct cost_query){ .by = COST_RUN });
	nano(c->bill, 112 * MILLI, "without GPUs");
	assert_true(has_problem(c, COST_NO_GPUS));
	cost_free(c);
	tasks[0].reserved_gpus = 0;
}

/* What cannot be known is in no figure. */
static void test_no_figure(void **state)
{
	struct lake_claims claims = all_claims();
	struct price p = by_machine;
	struct cost *c;

	(void)state;
	claims.n_machines = 0; /* the cores are in the run's record, the memory is nowhere */
	c = bill(&p, 1, &claims, (struct cost_query){ .by = COST_RUN });
	nano(c->bill, 0, "without capacity");
	assert_true(c->n_problems == 1 && c->problems[0].kind == COST_NO_CAPACITY &&
		    c->problems[0].resource == PRICE_MEMORY);
	cost_free(c);
	p.has.memory_kib = 32 << 20;
	c = bill(&p, 1, &claims, (struct cost_query){ .by = COST_RUN });
	nano(c->bill, 1100 * MILLI, "the price says it");
	cost_free(c);
	claims = all_claims();
	c = bill(&by_machine, 1, &claims,
		 (struct cost_query){ .by = COST_RUN, .since_ns = T - HOUR, .until_ns = T + 4 * HOUR });
	nano(c->bill, 1100 * MILLI, "only the hour with records");
	assert_true(c->problems[0].kind == COST_NO_RECORDS && c->problems[0].lacking_ns == 4 * HOUR);
	cost_free(c);
	claims.n_rows = 0; /* no ledger, no energy: the runs alone show that the host was seen */
	c = bill(&by_machine, 1, &claims, (struct cost_query){ .by = COST_RUN });
	expect(c, 375 * MILLI, 250 * MILLI, 375 * MILLI, 0, 100 * MILLI);
	assert_true(!c->system_known && has_problem(c, COST_NO_SYSTEM) && has_problem(c, COST_NO_ENERGY) &&
		    c->energy == 0);
	cost_free(c);
	claims = all_claims();
	runs[1].boot_id = "b2"; /* at once with another boot of the same name */
	c = bill(&by_machine, 1, &claims, (struct cost_query){ .by = COST_RUN });
	nano(c->bill, 0, "two machines of one name");
	assert_true(c->n_problems == 1 && c->problems[0].kind == COST_TWO_HOSTS);
	cost_free(c);
	runs[1].boot_id = "b1";
	rows[2].start_ns = T + HOUR / 2;
	c = bill(&by_machine, 1, &claims, (struct cost_query){ .by = COST_RUN, .until_ns = T + 2 * HOUR });
	assert_true(has_problem(c, COST_PART_ENERGY) && has_problem(c, COST_NO_RECORDS));
	cost_free(c);
	rows[2].start_ns = T;
	tasks[0].reserved_cpus = 100; /* more than the machine has: idle is not below zero */
	c = bill(&by_machine, 1, &claims, (struct cost_query){ .by = COST_RUN });
	assert_true(has_problem(c, COST_CLAIMS_SCALED));
	nano(c->idle, 93750000, "memory only");
	nano(c->bill, 1100 * MILLI, "bill");
	cost_free(c);
	tasks[0].reserved_cpus = 4;
}

/*
 * B began in the task of A, and has a task itself. What A asked for is all that is held: B's use is a part of it, and
 * B's own request is in it. Of a resource that A did not ask for, B's request counts.
 */
static void test_within_a_request(void **state)
{
	struct lake_claims claims = all_claims();
	struct cost *c;

	(void)state;
	claims.n_tasks = 2;
	c = bill(&by_machine, 1, &claims, (struct cost_query){ .by = COST_RUN });
	expect_row(c, 1, "B", 0, 125 * MILLI, 187500000 + 31250000); /* side by side: 2 cores and 4 GiB more than its use */
	cost_free(c);
	tasks[0].inner_runs = 1;
	runs[1].parent_run = "A";
	c = bill(&by_machine, 1, &claims, (struct cost_query){ .by = COST_RUN });
	expect(c, 375 * MILLI, 125 * MILLI, 453125000, 46875000, 100 * MILLI);
	expect_row(c, 0, "A", 0, 250 * MILLI, 125 * MILLI);
	expect_row(c, 1, "B", 0, 125 * MILLI, 0);
	cost_free(c);
	tasks[0].reserved_memory_bytes = 0;
	c = bill(&by_machine, 1, &claims, (struct cost_query){ .by = COST_RUN });
	expect_row(c, 0, "A", 0, 250 * MILLI, 93750000);
	expect_row(c, 1, "B", 0, 125 * MILLI, 31250000);
	cost_free(c);
	tasks[0].reserved_memory_bytes = UINT64_C(16) << 30;
	tasks[0].inner_runs = 0; /* B began beside the task */
	c = bill(&by_machine, 1, &claims, (struct cost_query){ .by = COST_RUN });
	expect_row(c, 1, "B", 0, 125 * MILLI, 187500000 + 31250000);
	cost_free(c);
	runs[1].parent_run = "";
}

/*
 * A script and a rank of one job: the request of each is the job's 10 GiB, and 2 cores of its own.  The job holds
 * 10 GiB, of which A used 8; two jobs hold 10 GiB each.
 */
static void test_one_job(void **state)
{
	struct lake_claims_task two[2];
	struct lake_claims claims = all_claims();
	struct cost *c;

	(void)state;
	two[0] = tasks[0];
	two[0].job = "7";
	two[0].reserved_cpus = 2;
	two[0].cpu_ns = HOUR;
	two[0].rss_peak_bytes = UINT64_C(4) << 30;
	two[0].reserved_memory_bytes = UINT64_C(10) << 30;
	two[1] = two[0];
	two[1].task_id = "3";
	two[1].job = "7.0";
	claims.tasks = two;
	claims.n_tasks = 2;
	c = bill(&by_machine, 1, &claims, (struct cost_query){ .by = COST_RUN });
	expect_row(c, 0, "A", 0, 250 * MILLI, 187500000 + 15625000);
	cost_free(c);
	two[1].job = "8.0";
	c = bill(&by_machine, 1, &claims, (struct cost_query){ .by = COST_RUN });
	expect_row(c, 0, "A", 0, 250 * MILLI, 187500000 + 93750000);
	cost_free(c);
	/* the rank begins at a quarter, and outlives the script: each holds 5 GiB x h, less 3 and 2 */
	two[1].job = "7.0";
	two[0].end_ns = T + HOUR / 2;
	two[1].start_ns = T + HOUR / 4;
	c = bill(&by_machine, 1, &claims, (struct cost_query){ .by = COST_RUN });
	expect_row(c, 0, "A", 0, 250 * MILLI, 46875000 + 39062500);
	cost_free(c);
}

/* B's task is a job that A, the scheduler's run, holds: B joined it by its key, and did not begin in A. */
static void test_job_of_two_runs(void **state)
{
	struct lake_claims claims = all_claims();
	struct cost *c;

	(void)state;
	claims.n_tasks = 2;
	tasks[0].inner_runs = 1;
	tasks[0].job = tasks[1].job = "7";
	c = bill(&by_machine, 1, &claims, (struct cost_query){ .by = COST_RUN });
	expect_row(c, 0, "A", 0, 250 * MILLI, 125 * MILLI);
	expect_row(c, 1, "B", 0, 125 * MILLI, 0);
	cost_free(c);
	tasks[0].job = "8";
	c = bill(&by_machine, 1, &claims, (struct cost_query){ .by = COST_RUN });
	expect_row(c, 1, "B", 0, 125 * MILLI, 187500000 + 31250000);
	cost_free(c);
	tasks[0].job = tasks[1].job = "";
	tasks[0].inner_runs = 0;
}

/* ---- any runs --------------------------------------------------------------------------- */

static uint64_t seed = 88172645463325252;

static uint64_t any(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return below ? seed % below : 0;
}

#define MANY 60

static void random_bill(unsigned turn)
{
	static const char *const ids[] = { "r00", "r01", "r02", "r03", "r04", "r05", "r06", "r07", "r08", "r09", "r10", "r11" };
	static const char *const hosts[] = { "h0", "h1", "h2" }, *const jobs[] = { "", "7", "7.0", "8" };
	struct lake_run r[12] = { 0 };
	struct lake_claims_task t[MANY] = { 0 };
	struct lake_claims_part p[48] = { 0 };
	struct lake_machine_row m[12] = { 0 };
	struct lake_machine known[3] = { 0 };
	struct price price[3];
	struct lake_claims claims = { .parts = p, .tasks = t, .rows = m, .machines = known };
	struct lake_runs list = { 1 + any(12), r };
	struct cost_query q = { .by = (enum cost_by)(turn % 7), .since_ns = T + any(HOUR), .now_ns = T + 50 * HOUR };
	struct price_table *table;
	struct cost *c = NULL;

	q.until_ns = q.since_ns + 1 + any(5 * HOUR);
	q.run = turn % 5 == 0 ? "r00" : NULL;
	for (size_t i = 0; i < list.n; i++) {
		r[i] = (struct lake_run){ .id = ids[i], .name = "n", .pipeline = i % 2 ? "p" : "", .host = hosts[any(3)],
					  .boot_id = "b", .parent_run = any(2) ? ids[any(12)] : "", .uid = any(3), .start_ns = T + any(3 * HOUR), .cpus = 1 + any(64) };
		r[i].end_ns = any(4) ? r[i].start_ns + any(3 * HOUR) : 0;
		r[i].memory_peak_bytes = any(UINT64_C(1) << 40);
		r[i].totals.cpu_ns = any(100 * HOUR);
		for (uint64_t n = any(5); n > 0 && claims.n_tasks < MANY; n--) {
			struct lake_claims_task *one = &t[claims.n_tasks++];

			*one = (struct lake_claims_task) { .run = ids[i],
							   .boot_id = "b",
							   .task = n % 2 ? "a" : "b",
							   .task_id = "",
							   .job = jobs[any(4)],
							   .start_ns = T + any(3 * HOUR),
							   .cpu_ns = any(50 * HOUR),
							   .rss_peak_bytes = any(UINT64_C(1) << 38),
							   .inner_runs = any(2),
							   .reserved_memory_bytes = any(3) ? 0 : any(UINT64_MAX),
							   .reserved_gpus = any(3),
							   .reserved_cpus = (double)any(100) };
			one->end_ns = any(5) ? one->start_ns + any(HOUR) : 0;
		}
	}
	for (int kind = 0; kind < 4; kind++)
		for (size_t i = 0; i < list.n; i++)
			if (any(3))
				p[claims.n_parts++] = (struct lake_claims_part){ (enum lake_part)kind, ids[i], "b", "x",
										 any(30 * HOUR) };
	for (size_t i = 0; i < 12; i++) {
		m[i] = (struct lake_machine_row){ hosts[i / 4], "b", (enum lake_machine_sum)(i % 4), T, T + 1 + any(6 * HOUR), 0,
						  1 + any(9), (int64_t)any(400 * HOUR) };
		m[i].interval_ns = any(2 * (m[i].end_ns - m[i].start_ns));
	}
	claims.n_rows = 12;
	for (size_t i = 0; i < 3; i++) {
		known[i] = (struct lake_machine){ hosts[i], "", 1 + any(200), any(4) ? any(UINT64_C(1) << 42) : 0 };
		price[i] = (struct price) { .name = "x",
					    .from_ns = i ? (int64_t)(T + i * HOUR) : 0,
					    .by_machine = any(2),
					    .until_ns = i < 2 ? (int64_t)(T + (i + 1) * HOUR) : PRICE_ALWAYS,
					    .hour = { (int64_t)any(100 * PRICE_NANO), (int64_t)any(MILLI),
						      (int64_t)any(PRICE_NANO) },
					    .split = { 60, 30, 10 },
					    .has = { .gpus = any(9) },
					    .has_energy = any(2),
					    .kwh = (int64_t)any(PRICE_NANO),
					    .overhead_ppm = (uint32_t)any(1000000) };
	}
	claims.n_machines = any(5) ? 3 : 0;
	table = prices_of(price, 3);
	if (cost_new(table, &list, &claims, &q, &c) != 0) /* -EPROTO if they do not add up */
		fail_msg("turn %u: no bill", turn);
	for (int rounded = 0; rounded < 2; rounded++) {
		int64_t sum = c->idle + c->system + c->added;

		for (size_t i = 0; i < c->n_rows; i++) {
			sum += c->rows[i].used + c->rows[i].reserved;
			assert_true(c->rows[i].used >= 0 && c->rows[i].reserved >= 0);
		}
		assert_true(c->idle >= 0 && c->system >= 0 && c->added >= 0);
		nano(sum, c->bill, "all parts");
		nano(c->used + c->reserved + c->idle + c->system + c->added, c->bill, "sums");
		assert_int_equal(cost_round(c, PRICE_NANO / 100), 0);
		assert_true(c->bill % (PRICE_NANO / 100) == 0);
	}
	cost_free(c);
	price_table_free(table);
}

static void test_any_runs(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 5000; turn++)
		random_bill(turn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand), cmocka_unit_test(test_price_change), cmocka_unit_test(test_parts),
		cmocka_unit_test(test_one_job), cmocka_unit_test(test_job_of_two_runs),
		cmocka_unit_test(test_no_figure), cmocka_unit_test(test_within_a_request),
		cmocka_unit_test(test_any_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
