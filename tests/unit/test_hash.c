/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_hash.c - skep/hash.h: the values of SipHash-1-3, and keys chosen to collide in a hash without a
 * secret.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <skep/hash.h>

#define N 4096u

/* As CPython 3.11 has them: PYTHONHASHSEED=0 python3 -c 'print(hash(bytes(range(15))))', whose key is 0. */
static void values(void **state)
{
	static const struct {
		size_t len;
		uint64_t hash;
	} known[] = {
		{ 1, 0x68a914128e01e473 },  { 7, 0x2f098ab0c751325a },  { 8, 0xead411e67ebe2eea },
		{ 9, 0x75927f9d95124362 },  { 15, 0xf30eb725bb91c9ea }, { 16, 0x8972188433a5c5b7 },
		{ 63, 0x385d3e39e5f37359 },
	};
	const struct skep_hash_key none = { 0 };
	unsigned char bytes[64];

	(void)state;
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)i;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_true(skep_hash(&none, bytes, known[i].len) == known[i].hash);
#else
	(void)known;
	skip();
#endif
}

static void keys_differ(void **state)
{
	struct skep_hash_key a = skep_hash_key_new(), b = skep_hash_key_new();

	(void)state;
	assert_true(a.k0 != b.k0 && a.k1 != b.k1);
	assert_true(skep_hash(&a, "name", 4) != skep_hash(&b, "name", 4));
	assert_true(skep_hash(&a, "name", 4) == skep_hash(&a, "name", 4));
	assert_true(skep_hash(&a, "a", 1) != skep_hash(&a, "a\0", 2));
}

static unsigned longest;

static void add(unsigned *chains, uint64_t hash)
{
	unsigned n = ++chains[hash % N];

	if (n > longest)
		longest = n;
}

/* With N keys in N chains, the longest chain has more than 20 once in 10^12 times. */
static void chosen(void **state)
{
	struct skep_hash_key key = skep_hash_key_new();
	unsigned *chains = calloc(N, sizeof(*chains));
	uint64_t inverse = 0x9e3779b97f4a7c15u;

	(void)state;
	assert_non_null(chains);
	/* Newton's method: each round doubles the number of correct bits. */
	for (int i = 0; i < 6; i++)
		inverse *= 2 - 0x9e3779b97f4a7c15u * inverse;
	assert_true(inverse * 0x9e3779b97f4a7c15u == 1);
	longest = 0;
	for (uint64_t i = 0; i < N; i++) { /* multiplied by that constant all land in one chain: bits 32 to 43 are 0 */
		uint64_t number = (i << 44 | i) * inverse;

		assert_int_equal((number * 0x9e3779b97f4a7c15u >> 32) % N, 0);
		add(chains, skep_hash_number(&key, number));
	}
	assert_true(longest <= 20);
	free(chains);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(keys_differ),
		cmocka_unit_test(chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
