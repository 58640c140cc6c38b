/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_pushdown.c - filters/pushdown.c and the kernel's half of a decision (include/skep/rules.h), compiled
 * here as in the kernel. On generated rules and processes the clauses decide as the whole expressions do, or leave the
 * decision to user space.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <skep/rules.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters/pushdown.h"

enum { NAME, PATH, UID, WORDS, FLAG, N };
static const struct filter_field fields[N] = {
	[NAME] = { .name = "name", .type = FILTER_TEXT, .of_parent = true },
	[PATH] = { .name = "path", .type = FILTER_TEXT, .of_parent = true },
	[UID] = { .name = "uid", .type = FILTER_UINT, .of_parent = true },
	[WORDS] = { .name = "words", .type = FILTER_LIST },
	[FLAG] = { .name = "flag", .type = FILTER_BOOL },
};
static const struct filter_schema schema = { fields, N };
/* name and path together, uid alone; words and flag have no clause */
static const uint8_t dimensions[N] = { 0, 0, 1, PUSHDOWN_NONE, PUSHDOWN_NONE };

struct subject {
	const char *name, *path; /* NULL: unknown */
	uint64_t uid;
	bool flag;
	const struct subject *parent;
};

static enum filter_known get(const void *subject, uint32_t level, uint32_t field, union filter_value *ret)
{
	const struct subject *s = subject;
	const char *text;

	for (; level && s; level--)
		s = s->parent;
	if (!s)
		return FILTER_NOBODY;
	switch (field) {
	case UID:
		ret->u = s->uid;
		return FILTER_KNOWN;
	case FLAG:
		ret->b = s->flag;
		return FILTER_KNOWN;
	case WORDS:
		ret->text = (struct filter_text){ "a\0b", 4 };
		return FILTER_KNOWN;
	default:
		text = field == NAME ? s->name : s->path;
		if (!text)
			return FILTER_UNKNOWN;
		ret->text = (struct filter_text){ text, (uint32_t)strlen(text) };
		return FILTER_KNOWN;
	}
}

static void add(struct ruleset *set, const char *id, const char *when, enum rule_verdict verdict)
{
	struct rule_spec spec = {
		.id = id,
		.when = when,
		.when_len = when ? strlen(when) : 0,
		.verdict = verdict,
		.sample = verdict == RULE_SAMPLE ? 3 : 0,
	};
	struct filter_error error;

	if (ruleset_add(set, &spec, &error) != 0)
		fail_msg("%s: %s", when, error.what);
}

/* As core/rules/rule_eval_kernel.c writes a set, and include/skep/bpf/rules.bpf.h reads it. */
static void decide(const struct pushdown *p, const struct subject *s, uint32_t key, struct skep_rules_decision *ret)
{
	const struct pushdown_clause *clauses;
	struct skep_rules_set set = { .generation = 1, .otherwise = 99 };
	size_t n = pushdown_clauses(p, &clauses);
	uint64_t yes = ~0ull, maybe = 0, y, m;

	assert_in_range(n, 0, SKEP_RULES_CLAUSES);
	for (size_t i = 0; i < n; i++) {
		set.clauses |= 1ull << i;
		if (!clauses[i].rule || !clauses[i].exact)
			set.ask |= 1ull << i;
		if (!clauses[i].rule)
			continue;
		set.clause[i].byte = clauses[i].rule->verdict == RULE_INCLUDE ? 0 : 200;
		set.clause[i].sample = clauses[i].rule->sample;
	}
	for (unsigned d = 0; d < 2; d++) {
		pushdown_ask(p, d, get, s, &y, &m);
		assert_int_equal((y | m) & ~pushdown_of(p, d), 0);
		assert_int_equal(y & m, 0);
		yes &= y | m | ~pushdown_of(p, d);
		maybe |= m;
	}
	memset(ret, 0, sizeof(*ret));
	skep_rules_decide(&set, yes, maybe, key, ret);
}

/* ---- generated -------------------------------------------------------------------------- */

static const char *const names[] = { "a", "b", "ab", "", NULL };
static const char *const paths[] = { "/bin/a", "/usr/bin/b", "/opt/x", NULL };

/* The same pseudo-random numbers in every run and everywhere (xorshift64). */
static uint32_t next_random(void)
{
	static uint64_t x = 4711;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (uint32_t)(x >> 32);
}

static int pick(int n)
{
	return (int)(next_random() % (uint32_t)n);
}

static void condition(char *to, size_t size, int depth)
{
	static const char *const tests[] = {
		"name = 'a'",
		"name in ('a', 'b')",
		"name != 'ab'",
		"name glob 'a*'",
		"path prefix '/usr'",
		"path suffix '/a'",
		"path != '/opt/x'",
		"uid = 0",
		"uid < 2",
		"uid in (1, 3)",
		"uid != 2",
		"words = 'a'",
		"words contains 'z'",
		"flag",
		"parent.uid = 1",
		"any parent.name = 'b'",
		"parent.path prefix '/usr'",
	};
	char a[300], b[300];

	if (depth == 0 || pick(3) == 0) {
		snprintf(to, size, "%s", tests[pick(sizeof(tests) / sizeof(tests[0]))]);
		return;
	}
	condition(a, sizeof(a), depth - 1);
	condition(b, sizeof(b), depth - 1);
	switch (pick(4)) {
	case 0:
		snprintf(to, size, "not (%s)", a);
		break;
	case 1:
		snprintf(to, size, "(%s) or (%s)", a, b);
		break;
	default:
		snprintf(to, size, "(%s) and (%s)", a, b);
		break;
	}
}

static void generated(void **state)
{
	unsigned long decided = 0, asked = 0;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		struct ruleset *set = ruleset_new(&schema, pick(2) ? RULE_INCLUDE : RULE_EXCLUDE);
		struct pushdown *p;
		int n = 1 + pick(round % 50 == 0 ? 120 : 6);
		char id[16], when[1000];

		for (int i = 0; i < n; i++) {
			snprintf(id, sizeof(id), "r%d", i);
			condition(when, sizeof(when), pick(4));
			add(set, id, pick(40) ? when : NULL,
			    (enum rule_verdict[]) { RULE_INCLUDE, RULE_EXCLUDE, RULE_EXCLUDE, RULE_SAMPLE }[pick(4)]);
		}
		p = pushdown_new(set, dimensions);
		assert_non_null(p);
		for (int k = 0; k < 30; k++) {
			struct subject grand = { names[pick(5)], paths[pick(4)], (uint64_t)pick(4), false, NULL };
			struct subject parent = { names[pick(5)], paths[pick(4)], (uint64_t)pick(4), false,
						  pick(2) ? &grand : NULL };
			struct subject s = { names[pick(5)], paths[pick(4)], (uint64_t)pick(4), pick(2),
					     pick(3) ? &parent : NULL };
			uint32_t key = next_random();
			struct skep_rules_decision d;
			struct rule_decision want;

			decide(p, &s, key, &d);
			ruleset_evaluate(set, get, &s, key, &want);
			if (d.ask) {
				asked++;
				continue;
			}
			decided++;
			if (d.clause < SKEP_RULES_CLAUSES) {
				const struct pushdown_clause *clauses;

				pushdown_clauses(p, &clauses);
				assert_ptr_equal(clauses[d.clause].rule, want.rule);
				assert_int_equal(d.byte == 0, want.include);
			} else {
				assert_null(want.rule);
				assert_int_equal(d.byte, 99);
			}
		}
		pushdown_free(p);
		ruleset_unref(set);
	}
	/* Both outcomes must occur, or the test shows nothing. */
	assert_true(decided > 20000);
	assert_true(asked > 10000);
}

/* ---- by hand ------------------------------------------------------------------------------ */

static struct skep_rules_decision one(const char *when, const struct subject *s)
{
	struct ruleset *set = ruleset_new(&schema, RULE_INCLUDE);
	struct skep_rules_decision d;
	struct pushdown *p;

	add(set, "r", when, RULE_EXCLUDE);
	p = pushdown_new(set, dimensions);
	decide(p, s, 0, &d);
	pushdown_free(p);
	ruleset_unref(set);
	return d;
}

static void what_is_asked(void **state)
{
	const struct subject a = { "a", "/bin/a", 1, true, NULL }, unknown = { NULL, "/bin/a", 1, true, NULL };

	(void)state;
	assert_int_equal(one("name = 'a'", &a).byte, 200);
	assert_int_equal(one("name = 'b'", &a).clause, SKEP_RULES_CLAUSES);
	/* a condition on another field goes to user space, unless the rest of the rule decides */
	assert_true(one("name = 'a' and words = 'a'", &a).ask);
	assert_false(one("name = 'b' and words = 'a'", &a).ask);
	assert_true(one("flag or name = 'b'", &a).ask);
	assert_int_equal(one("name = 'a' or flag", &a).byte, 200);
	assert_true(one("parent.name = 'a'", &a).ask);
	/* an unknown value: user space decides */
	assert_true(one("name != 'a'", &unknown).ask);
	assert_false(one("name != 'a' and uid = 7", &unknown).ask);
	assert_int_equal(one("not (name = 'b' or uid = 2)", &a).byte, 200);
	assert_int_equal(one(NULL, &a).byte, 200);
}

/* More rules than clauses: the first ones are decided here, the rest goes to user space. */
static void too_many(void **state)
{
	struct ruleset *set = ruleset_new(&schema, RULE_INCLUDE);
	const struct pushdown_clause *clauses;
	struct subject s = { "n7", "/x", 0, false, NULL };
	struct skep_rules_decision d;
	char id[16], when[32];
	struct pushdown *p;

	(void)state;
	for (int i = 0; i < 100; i++) {
		snprintf(id, sizeof(id), "r%d", i);
		snprintf(when, sizeof(when), "name = 'n%d'", i);
		add(set, id, when, RULE_EXCLUDE);
	}
	p = pushdown_new(set, dimensions);
	assert_int_equal(pushdown_clauses(p, &clauses), PUSHDOWN_CLAUSES);
	assert_null(clauses[PUSHDOWN_CLAUSES - 1].rule);
	decide(p, &s, 0, &d);
	assert_int_equal(d.byte, 200);
	assert_int_equal(d.clause, 7);
	s.name = "n80";
	decide(p, &s, 0, &d);
	assert_true(d.ask);
	s.name = "other";
	decide(p, &s, 0, &d);
	assert_true(d.ask);
	pushdown_free(p);
	ruleset_unref(set);
}

/* A rule with too large a disjunctive form goes to user space and does not use the clauses of others. */
static void too_wide(void **state)
{
	struct ruleset *set = ruleset_new(&schema, RULE_INCLUDE);
	const struct subject a = { "a", "/bin/a", 1, false, NULL };
	const struct pushdown_clause *clauses;
	struct skep_rules_decision d;
	struct pushdown *p;

	(void)state;
	add(set, "first", "uid = 1 and name = 'a'", RULE_EXCLUDE);
	add(set, "wide", "(uid=1 or uid=2 or uid=3) and (name='a' or name='b' or name='c') and (path='x' or path='y')",
	    RULE_EXCLUDE);
	add(set, "last", "uid = 9", RULE_EXCLUDE);
	p = pushdown_new(set, dimensions);
	assert_int_equal(pushdown_clauses(p, &clauses), 3);
	assert_true(clauses[0].exact);
	assert_false(clauses[1].exact);
	assert_true(clauses[2].exact);
	decide(p, &a, 0, &d);
	assert_int_equal(d.clause, 0);
	pushdown_free(p);
	ruleset_unref(set);
}

static void lowest(void **state)
{
	(void)state;
	assert_int_equal(skep_rules_lowest(0), 64);
	for (unsigned i = 0; i < 64; i++) {
		assert_int_equal(skep_rules_lowest(1ull << i), i);
		assert_int_equal(skep_rules_lowest(~0ull << i), i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_asked),
		cmocka_unit_test(too_many),
		cmocka_unit_test(too_wide),
		cmocka_unit_test(lowest),
		cmocka_unit_test(generated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
