/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_histogram.c - distributions from JSON and as bars: the printed letters, and the refused inputs.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/live/histogram.h"

static int add(struct histogram *h, const char *text)
{
	json_t *o = json_loads(text, 0, NULL);
	int err;

	assert_non_null(o);
	err = histogram_add(h, o);
	json_decref(o);
	return err;
}

static void assert_printed(const struct histogram *h, const char *unit, bool unicode, const char *expected)
{
	struct paint p = { .width = 60, .unicode = unicode };
	char *text = NULL;
	size_t size;

	p.out = open_memstream(&text, &size);
	assert_non_null(p.out);
	histogram_print(h, unit, &p, 1);
	fclose(p.out);
	assert_string_equal(text, expected);
	free(text);
}

static void added(void **state)
{
	struct histogram h = { .sum = 0 };

	(void)state;
	/* offset -1: ones come first; bucket 0 is (1, 1.19] and holds only the rounded 2^(1/4), and so on */
	assert_int_equal(
		add(&h, "{\"count\":9,\"sum\":20,\"scale\":2,\"zero_count\":2,\"offset\":-1,\"counts\":[3,0,4]}"), 0);
	assert_int_equal(h.slots[0], 2);
	assert_int_equal(h.slots[1], 3);
	assert_int_equal(h.slots[2], 0);
	assert_int_equal(h.slots[3], 4);
	assert_int_equal(add(&h, "{\"count\":1,\"sum\":5,\"scale\":2,\"zero_count\":0,\"offset\":1,\"counts\":[1]}"),
			 0);
	assert_int_equal(h.slots[3], 5);
	assert_int_equal(h.sum, 25);
	assert_int_equal(histogram_count(&h), 10);
	/* the last slot there is */
	assert_int_equal(add(&h, "{\"count\":1,\"sum\":0,\"scale\":2,\"zero_count\":0,\"offset\":189,\"counts\":[1]}"),
			 0);
	assert_int_equal(h.slots[191], 1);
	assert_int_equal(add(&h, "{\"count\":0,\"sum\":0,\"scale\":2,\"zero_count\":0,\"offset\":0,\"counts\":[]}"), 0);
	assert_int_equal(histogram_count(&h), 11);
}

static void refused(void **state)
{
	static const char *const wrong[] = {
		"{}",
		"{\"count\":1,\"sum\":5,\"scale\":3,\"zero_count\":0,\"offset\":1,\"counts\":[1]}",
		"{\"count\":1,\"sum\":5,\"scale\":2,\"zero_count\":0,\"offset\":-2,\"counts\":[1]}",
		"{\"count\":1,\"sum\":5,\"scale\":2,\"zero_count\":0,\"offset\":190,\"counts\":[1]}",
		"{\"count\":1,\"sum\":5,\"scale\":2,\"zero_count\":0,\"offset\":9223372036854775807,\"counts\":[1]}",
		"{\"count\":1,\"sum\":5,\"scale\":2,\"zero_count\":0,\"offset\":1,\"counts\":[1,-1]}",
		"{\"count\":1,\"sum\":5,\"scale\":2,\"zero_count\":0,\"offset\":1,\"counts\":[1,\"2\"]}",
		"{\"count\":1,\"sum\":-5,\"scale\":2,\"zero_count\":0,\"offset\":1,\"counts\":[1]}",
		"{\"count\":1,\"sum\":5,\"scale\":2,\"zero_count\":-1,\"offset\":1,\"counts\":[1]}",
		"{\"count\":1,\"sum\":5,\"scale\":2,\"offset\":1,\"counts\":[1]}",
		"{\"count\":1,\"sum\":5,\"scale\":2,\"zero_count\":0,\"offset\":1,\"counts\":{}}",
	};
	struct histogram h = { .sum = 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (add(&h, wrong[i]) != -EINVAL)
			fail_msg("taken: %s", wrong[i]);
		assert_int_equal(histogram_count(&h), 0); /* a refused input adds nothing */
	}
}

static void summary(void **state)
{
	struct histogram h = { .sum = 0 };
	struct paint p = { .unicode = true };
	char text[200];

	(void)state;
	histogram_summary(&h, "ns", &p, text, sizeof(text));
	assert_string_equal(text, "no values");
	h.slots[skep_hist_slot_of(1000)] = 98;
	h.slots[skep_hist_slot_of(1000000)] = 2;
	h.sum = 98 * 1000 + 2 * 1000000;
	histogram_summary(&h, "ns", &p, text, sizeof(text));
	/*
	 * half of the hundred are 50/98 into (2^(39/4), 2^10], which holds 1000; 99 of them are in the middle of
	 * (2^(79/4), 2^20]
	 */
	assert_string_equal(text, "p50 944 ns  p90 1.01 µs  p99 965 µs  mean 21.0 µs");
}

static void bars(void **state)
{
	struct histogram h = { .sum = 0 };

	(void)state;
	assert_printed(&h, "ns", false, "");
	h.slots[0] = 1;
	h.slots[1] = 100;
	h.slots[5] = 1000;
	/* few buckets: one row each; a value draws at least one mark */
	assert_printed(&h, "By", false,
		       "   0      1  #\n"
		       " 1 B    100  #####\n"
		       " 2 B  1,000  ###############################################\n");
	/* values in the bucket (1, 1.19] are shown, although no rounding gives them */
	h.slots[2] = 50;
	assert_printed(&h, "By", false,
		       "   0      1  #\n"
		       " 1 B    100  #####\n"
		       " 2 B     50  ##\n"
		       " 2 B  1,000  ###############################################\n");
	memset(&h, 0, sizeof(h));
	h.slots[0] = 8;
	h.slots[2 + 4 * 10] = 3;     /* (1024, ...] and its neighbour: one row */
	h.slots[2 + 4 * 10 + 3] = 1; /* up to 2048 */
	h.slots[2 + 4 * 12] = 2;
	h.slots[SKEP_HIST_SLOTS - 1] = 1;
	assert_printed(&h, "1", true,
		       "                     0  8  █████████████████████████████████\n"
		       "                   ...\n"
		       "        1,024 to 2,048  4  ████████████████▌\n"
		       "        2,048 to 4,096  0  \n"
		       "        4,096 to 8,192  2  ████████▎\n"
		       "                   ...\n"
		       " > 140,737,488,355,328  1  ████▏\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(added),
		cmocka_unit_test(refused),
		cmocka_unit_test(summary),
		cmocka_unit_test(bars),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
