/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_price.c - any text as a file of prices: an error with a message, or a table in which a price holds
 * until the next change and the parts of a machine's price add up to it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/base/price_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "fuzz_price: %s\n", what);
		abort();
	}
}

static void price_is_sound(const struct price *p, const struct price_machine *m, int64_t at_ns)
{
	const struct price_capacity has = price_capacity(p, m);
	int64_t parts[PRICE_RESOURCES], sum = 0, use = 0;

	must(p->from_ns <= at_ns && at_ns < p->until_ns, "a price that does not hold");
	if (price_of_machine(p, &has, 3600000000001, parts, &sum) != 0)
		return;
	must(sum == parts[PRICE_CPU] + parts[PRICE_MEMORY] + parts[PRICE_GPU] && sum >= 0, "parts that do not add up");
	if (price_of_use(p, &has, PRICE_CPU, has.cores * 3600000000001, &use) == 0)
		must(use <= parts[PRICE_CPU], "all cores cost more than the machine's");
	must(price_overhead(p, sum) >= 0, "overhead below zero");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct price_machine machines[] = {
		{ "node1", "", { 8, 1 << 25, 0 } },
		{ "", "m5.2xlarge", { 0, 0, 0 } },
	};
	struct price_table *t = NULL;
	struct diag diag;
	int err;

	diag_init(&diag);
	err = price_file_read(size ? (const char *)data : "", size, "fuzz", &t, &diag);
	must((err != 0) == (diag.n_errors > 0) && (err != 0) == (t == NULL), "no message, or a table with one");
	for (size_t i = 0; t && i < sizeof(machines) / sizeof(machines[0]); i++) {
		int64_t at_ns = 0;

		for (int turns = 0; turns < 100 && at_ns != PRICE_ALWAYS; turns++) {
			const struct price *p = price_find(t, &machines[i], at_ns);
			const int64_t next = price_next_change(t, &machines[i], at_ns);

			if (p)
				price_is_sound(p, &machines[i], at_ns);
			must(next > at_ns, "time stands still");
			must(next == PRICE_ALWAYS || price_find(t, &machines[i], next - 1) == p, "a price changed unseen");
			at_ns = next;
		}
	}
	diag_clear(&diag);
	price_table_free(t);
	return 0;
}
