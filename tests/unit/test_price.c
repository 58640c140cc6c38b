/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/price.c and cli/base/price_file.c: files of prices with their errors, which price holds, and values to the
 * billionth.
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

#include "cli/base/moment.h"
#include "cli/base/price_file.h"

#define HOUR UINT64_C(3600000000000)

static struct price_table *table(const char *text)
{
	struct price_table *t = NULL;
	struct diag diag;

	diag_init(&diag);
	if (price_file_read(text, strlen(text), "p.json", &t, &diag) != 0)
		fail_msg("line %d: %s", diag.entries[0].line, diag.entries[0].text);
	assert_int_equal(diag.n, 0);
	diag_clear(&diag);
	return t;
}

/* The file has this error, alone, at this line. */
static void refused(const char *text, int line, const char *want)
{
	struct price_table *t = NULL;
	struct diag diag;

	diag_init(&diag);
	assert_int_equal(price_file_read(text, strlen(text), "p.json", &t, &diag), -EINVAL);
	assert_null(t);
	if (diag.n != 1 || diag.entries[0].line != line || !strstr(diag.entries[0].text, want))
		fail_msg("%zu errors; line %d: %s", diag.n, diag.entries[0].line, diag.entries[0].text);
	diag_clear(&diag);
}

static int64_t at(const char *text)
{
	uint64_t ns;

	assert_int_equal(moment(text, &ns), 0);
	return (int64_t)ns;
}

#define FILE_OF(prices) "{ \"currency\": \"EUR\",\n\"prices\": [\n" prices "\n] }"
#define UNITS           "\"core_hour\": 0.02"

static const char several[] =
	"{ \"currency\": \"EUR\", // c\n"
	"\"hosts\": [ { \"host\": \"n[12]\", \"labels\": { \"site\": \"a\", \"rack\": \"7\" } },\n"
	"  { \"host\": \"g*\", \"instance_type\": \"g5\" } ],\n"
	"\"prices\": [\n"
	"{ \"name\": \"rack\", \"match\": { \"labels\": { \"site\": \"a\", \"rack\": \"7\" } }, \"core_hour\": 0.1 },\n"
	"{ \"name\": \"early\", \"match\": { \"host\": \"n*\" }, \"until\": \"2026-03-01\", \"core_hour\": 0.2 },\n"
	"{ \"name\": \"g5\", \"match\": { \"instance_type\": \"g5\" }, \"gpu_hour\": 1 },\n"
	"{ \"name\": \"late\", \"match\": { \"host\": \"n*\" }, \"from\": \"2026-03-01T01:00:00+01:00\",\n"
	"  \"until\": \"2027-01-01\", \"core_hour\": 0.3 },\n"
	"{ \"name\": \"rest\", \"core_hour\": 0.4 } ] }";

static const char *holds(const struct price_table *t, const char *host, const char *type, const char *when)
{
	const struct price *p = price_find(t, &(struct price_machine){ .host = host, .instance_type = type }, at(when));

	return p ? p->name : "none";
}

static void test_selection(void **state)
{
	const struct price_machine n3 = { .host = "n3" };
	struct price_table *t = table(several);

	(void)state;
	assert_string_equal(price_currency(t), "EUR");
	assert_string_equal(holds(t, "n1", "", "2030-01-01T00:00:00Z"), "rack");
	assert_string_equal(holds(t, "n3", "", "2026-02-28T23:59:59.999Z"), "early");
	assert_string_equal(holds(t, "n3", "", "2026-03-01T00:00:00Z"), "late");
	assert_string_equal(holds(t, "n3", "", "2027-01-01T00:00:00Z"), "none"); /* not "rest": its machines decide */
	assert_string_equal(holds(t, "x", "g5", "2026-01-01T00:00:00Z"), "g5");
	assert_string_equal(holds(t, "gpu9", "", "2026-01-01T00:00:00Z"), "g5"); /* the type is of `hosts` */
	assert_string_equal(holds(t, "gpu9", "m5", "2026-01-01T00:00:00Z"), "rest"); /* the records' type comes first */
	assert_true(price_next_change(t, &n3, at("2026-01-01T00:00:00Z")) == at("2026-03-01T00:00:00Z"));
	assert_true(price_next_change(t, &n3, at("2026-03-01T00:00:00Z")) == at("2027-01-01T00:00:00Z"));
	assert_true(price_next_change(t, &n3, at("2027-01-01T00:00:00Z")) == PRICE_ALWAYS);
	price_table_free(t);
}

static void test_sample(void **state)
{
	const char *folder = getenv("abs_srcdir");
	struct price_table *t = NULL;
	struct diag diag;
	char path[4096];

	(void)state;
	snprintf(path, sizeof(path), "%s/etc/prices.json", folder ? folder : ".");
	diag_init(&diag);
	if (price_file_read(NULL, 0, path, &t, &diag) != 0)
		fail_msg("%s:%d: %s", path, diag.entries[0].line, diag.entries[0].text);
	assert_string_equal(holds(t, "node7", "", "2026-12-31T23:59:59Z"), "sample: machine in hall A, 2026");
	assert_string_equal(holds(t, "node7", "", "2027-01-01T00:00:00Z"), "sample: machine in hall A, from 2027 on");
	assert_string_equal(holds(t, "vm", "n2-standard-8", "2026-01-01T00:00:00Z"), "sample: Google Cloud n2");
	price_table_free(t);
}

static void test_refused(void **state)
{
	(void)state;
	refused(FILE_OF("{ \"until\": \"2026-03-01\", " UNITS " },\n{ \"from\": \"2026-02-01\", " UNITS " }"), 4,
		"prices[1]: overlaps prices[0] of line 3, which is for the same machines and holds until 2026-03-01: end that one "
		"with \"until\": \"2026-02-01\"");
	refused(FILE_OF("{ \"from\": \"2026-04-01\", " UNITS " },\n{ \"until\": \"2026-03-01\", " UNITS " }"), 3,
		"no price holds for these machines from 2026-03-01, where prices[1] of line 4 ends, to 2026-04-01: write "
		"\"from\": \"2026-03-01\"");
	refused(FILE_OF("{ " UNITS " },\n{ " UNITS " }"), 4, "overlaps prices[0]");
	refused(FILE_OF("{ " UNITS " },\n{ \"match\": { \"host\": \"a\" }, " UNITS " }"), 4,
		"never holds: prices[0] of line 3 is for all machines and comes first; move it to the end");
	refused(FILE_OF("{ \"from\": \"2026-03-01\",\n\"until\": \"2026-03-01\", " UNITS " }"), 4, "ends at 2026-03-01");
	refused(FILE_OF("{ \"from\": \"3d\", " UNITS " }"), 3, "prices[0].from: is no date");
	refused(FILE_OF("{ \"from\": \"2026-02-01x\", " UNITS " }"), 3, "is no date");
	refused(FILE_OF("{ \"machine_hour\": 1 }"), 3, "has machine_hour but no split");
	refused(FILE_OF("{ \"machine_hour\": 1,\n \"split\": { \"cpu\": 60, \"memory\": 30 } }"), 4, "adds up to 90 percent");
	refused(FILE_OF("{ \"machine_hour\": 1, \"split\": { \"cpu\": 50, \"gpu\": 50 } }"), 3, "has no `gpus`");
	refused(FILE_OF("{ \"machine_hour\": 1, \"split\": { \"cpu\": 100 },\n\"gib_hour\": 1 }"), 4, "beside machine_hour");
	refused(FILE_OF("{ \"core_hour\": -1 }"), 3, "is no price: give a number from 0 to 1000000");
	refused(FILE_OF("{ \"core_hour\": \"1\" }"), 3, "is no price");
	refused(FILE_OF("{ \"core_our\": 1, " UNITS " }"), 3, "did you mean \"core_hour\"?");
	refused(FILE_OF("{ \"match\": {} }"), 3, "has no price");
	refused(FILE_OF("{ \"overhead_percent\": 1e300, " UNITS " }"), 3, "is no share");
	refused(FILE_OF("{ \"memory\": \"12 parsecs\", " UNITS " }"), 3, "is no size of a memory");
	refused(FILE_OF("{ \"match\": { \"host\": \"[a\" }, " UNITS " }"), 3, "prices[0].match.host");
	refused("{ \"currency\": \"EUR\" }", 1, "has no `prices`");
	refused("{ \"prices\": [ { " UNITS " } ] }", 1, "has no `currency`");
	refused("{ \"currency\": \"EUR\", \"prices\": [] }", 1, "has no price in it");
	refused("[]", 1, "is an array");
	refused("{ \"currency\": /* ", 1, "no end");
}

/* By hand: a machine of 8 cores, 32 GiB, 2 GPUs. */
static void test_values(void **state)
{
	const struct price machine = { .by_machine = true, .hour = { PRICE_NANO }, .split = { 60, 30, 10 },
				       .overhead_ppm = 150000, .kwh = PRICE_NANO / 4 };
	const struct price parts = { .hour = { 25000000, 3000000, 800000000 } };
	const struct price_capacity c = { .cores = 8, .memory_kib = 32 << 20, .gpus = 2 }, none = { 0 };
	int64_t part[PRICE_RESOURCES], v;

	(void)state;
	assert_int_equal(price_of_machine(&machine, &c, HOUR, part, &v), 0);
	assert_true(v == PRICE_NANO && part[0] == 600000000 && part[1] == 300000000 && part[2] == 100000000);
	/* a third of a second: 92,592.59 billionths; what rounding leaves over is the cores' */
	assert_int_equal(price_of_machine(&machine, &c, 333333333, part, &v), 0);
	assert_true(v == 92593 && part[0] == 55557 && part[1] == 27777 && part[2] == 9259);
	assert_int_equal(price_of_machine(&parts, &c, HOUR / 2, part, &v), 0);
	assert_true(part[0] == 100000000 && part[1] == 48000000 && part[2] == 800000000 && v == 948000000);
	assert_int_equal(price_of_use(&machine, &c, PRICE_CPU, 4 * HOUR, &v), 0);
	assert_true(v == 300000000);
	assert_int_equal(price_of_use(&machine, &c, PRICE_MEMORY, UINT64_C(16) * 1048576 * 1800, &v), 0);
	assert_true(v == 75000000);
	assert_int_equal(price_of_use(&parts, &none, PRICE_CPU, 4 * HOUR, &v), 0);
	assert_true(v == 100000000);
	assert_int_equal(price_of_use(&parts, &none, PRICE_MEMORY, UINT64_C(16) * 1048576 * 3600, &v), 0);
	assert_true(v == 48000000);
	assert_int_equal(price_of_use(&machine, &none, PRICE_CPU, 1, &v), -ENODATA);
	assert_int_equal(price_of_machine(&machine, &none, HOUR, part, &v), -ENODATA);
	assert_true(price_overhead(&machine, 100) == 15);
	assert_int_equal(price_of_energy(&machine, UINT64_C(7200000000), &v), 0); /* 2 kWh */
	assert_true(v == PRICE_NANO / 2);
	assert_int_equal(price_of_machine(&(struct price){ .hour = { PRICE_MOST } },
					  &(struct price_capacity){ .cores = 1u << 20 }, UINT64_MAX, part, &v),
			 -ERANGE);
}

static void test_rounding(void **state)
{
	int64_t thirds[] = { 333333333, 333333333, 333333334 }, sum, many[1000];
	char buf[PRICE_TEXT_SIZE];

	(void)state;
	assert_int_equal(price_round(thirds, 3, PRICE_NANO / 100, &sum), 0);
	assert_true(sum == PRICE_NANO && thirds[0] == 330000000 && thirds[1] == 330000000 && thirds[2] == 340000000);
	srand(1); /* NOLINT(cert-msc32-c,cert-msc51-cpp): the same each time */
	for (int turn = 0; turn < 50; turn++) {
		int64_t exact = 0, added = 0;
		size_t n = (size_t)rand() % 1000; /* NOLINT(cert-msc30-c,cert-msc50-cpp) */

		for (size_t i = 0; i < n; i++)
			exact += many[i] =
				rand() % (turn % 2 ? 1000 : 1000000000); /* NOLINT(cert-msc30-c,cert-msc50-cpp) */
		assert_int_equal(price_round(many, n, PRICE_NANO / 100, &sum), 0);
		for (size_t i = 0; i < n; i++)
			added += many[i];
		assert_true(added == sum && sum % (PRICE_NANO / 100) == 0 && llabs(sum - exact) <= PRICE_NANO / 200);
	}
	assert_string_equal(price_text(1234567890, 2, buf), "1.23");
	assert_string_equal(price_text(1235000000, 2, buf), "1.24");
	assert_string_equal(price_text(1, 6, buf), "0.000000");
	assert_string_equal(price_text(-5000, 6, buf), "-0.000005");
	assert_string_equal(price_text(INT64_MAX, 0, buf), "9223372037");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_selection), cmocka_unit_test(test_sample), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_values),    cmocka_unit_test(test_rounding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
