/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_intern.c - one copy of each string, freed with its last reference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/identify/program.h"

static struct skep_str of(const char *s, uint32_t len, uint32_t total)
{
	return (struct skep_str){ s, len, total };
}

static void one_copy(void **state)
{
	struct intern *in = intern_new();
	struct skep_str s = of("samtools sort", 8, 8), cut = of("samtools", 8, 20), empty = of("", 0, 0),
			none = of(NULL, 5, 5);
	const struct interned *a, *b;

	(void)state;
	a = intern_get(in, &s);
	b = intern_text(in, "samtools");
	assert_ptr_equal(a, b);
	assert_int_equal(a->refs, 2);
	assert_string_equal(a->text, "samtools");
	assert_ptr_not_equal(intern_get(in, &cut), a); /* a cut string is another string */
	assert_int_equal(intern_count(in), 2);
	assert_null(intern_get(in, &empty));
	assert_null(intern_get(in, &none));
	assert_null(intern_text(in, NULL));
	assert_int_equal(intern_str(NULL).len, 0);
	assert_int_equal(intern_str(a).len, 8);
	intern_unref(in, NULL);
	intern_unref(in, a);
	intern_unref(in, b);
	assert_int_equal(intern_count(in), 1);
	intern_free(in);
}

static void many(void **state)
{
	enum { N = 5000 };
	struct intern *in = intern_new();
	const struct interned **all = calloc(N, sizeof(*all));
	char text[64];

	(void)state;
	assert_non_null(all);
	for (int i = 0; i < N; i++) {
		snprintf(text, sizeof(text), "/some/where/far/away/%d%.*s", i * 7919, i % 20, "xxxxxxxxxxxxxxxxxxxx");
		all[i] = intern_text(in, text);
		assert_string_equal(all[i]->text, text);
	}
	assert_int_equal(intern_count(in), N);
	for (int i = 0; i < N; i++) {
		struct skep_str s = intern_str(all[i]);

		assert_ptr_equal(intern_get(in, &s), all[i]);
		intern_unref(in, all[i]);
		intern_unref(in, all[i]);
	}
	assert_int_equal(intern_count(in), 0);
	free(all);
	intern_free(in);
}

/*
 * 16,384 names chosen against a hash that multiplies and shifts: their words differ in bits that cancel each other
 * under every seed. The longest chain of the table stays short all the same.
 */
static void chosen_names(void **state)
{
	enum { BLOCKS = 14, CHOSEN = 1 << BLOCKS };
	/* against (h ^ word) * odd, then h ^= h >> 29 */
	const uint64_t flips[] = { 1ull << 63, 1ull << 63 | 1ull << 34 };
	struct intern *in = intern_new();
	uint64_t words[2 * BLOCKS];
	size_t longest = 0;

	(void)state;
	for (uint32_t n = 0; n < CHOSEN; n++) {
		struct skep_str s = of((const char *)words, sizeof(words), sizeof(words));

		for (unsigned i = 0; i < 2 * BLOCKS; i++)
			words[i] = 0x2f6e69622f727375u ^ (n >> i / 2 & 1 ? flips[i % 2] : 0);
		assert_non_null(intern_get(in, &s));
	}
	assert_int_equal(intern_count(in), CHOSEN);
	for (uint32_t n = 0; n < CHOSEN; n++) {
		struct skep_str s = of((const char *)words, sizeof(words), sizeof(words));
		size_t chain = 0;

		for (unsigned i = 0; i < 2 * BLOCKS; i++)
			words[i] = 0x2f6e69622f727375u ^ (n >> i / 2 & 1 ? flips[i % 2] : 0);
		for (const struct interned *at = intern_get(in, &s); at; at = at->next)
			chain++;
		longest = chain > longest ? chain : longest;
	}
	assert_true(longest <= 20);
	intern_free(in);
}

static void programs_share(void **state)
{
	struct intern *in = intern_new();
	struct skep_str exe = of("/bin/a", 6, 6), file = of("./a", 3, 3), argv = of("a\0b", 4, 900),
			none = of(NULL, 0, 0);
	struct program *p = program_new(in, &exe, &file, &argv, "a", true), *q;

	(void)state;
	assert_int_equal(p->argv_len, 4);
	assert_int_equal(p->argv_total, 900);
	assert_memory_equal(p->argv, "a\0b", 4);
	q = program_ref(p);
	program_unref(in, p);
	assert_string_equal(q->exe->text, "/bin/a");
	program_unref(in, q);
	assert_int_equal(intern_count(in), 0);
	p = program_new(in, &none, &none, &none, "?", false);
	assert_null(p->exe);
	assert_int_equal(p->argv_len, 0);
	program_unref(in, p);
	program_unref(in, NULL);
	assert_null(program_ref(NULL));
	intern_free(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_copy),
		cmocka_unit_test(many),
		cmocka_unit_test(chosen_names),
		cmocka_unit_test(programs_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
