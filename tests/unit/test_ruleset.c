/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/ruleset: which rule decides, samples, refused rules, and who owns a set.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "filters/ruleset.h"

static const struct filter_field fields[] = {
	{ .name = "tool", .type = FILTER_TEXT, .of_parent = true },
	{ .name = "uid", .type = FILTER_UINT, .of_parent = true },
};
static const struct filter_schema schema = { fields, 2 };

struct process {
	const char *tool;
	uint64_t uid;
};

static enum filter_known get(const void *subject, uint32_t level, uint32_t field, union filter_value *ret)
{
	const struct process *p = subject;

	if (level)
		return FILTER_NOBODY;
	if (field == 0)
		ret->text = (struct filter_text){ p->tool, (uint32_t)strlen(p->tool) };
	else
		ret->u = p->uid;
	return FILTER_KNOWN;
}

static int add(struct ruleset *s, const char *id, const char *when, enum rule_verdict verdict,
	       struct filter_error *error)
{
	const struct rule_spec spec = {
		.id = id,
		.when = when,
		.when_len = when ? strlen(when) : 0,
		.verdict = verdict,
		.sample = 10,
		.file = "a.json",
		.line = 7,
	};

	return ruleset_add(s, &spec, error);
}

static struct rule_decision judge(const struct ruleset *s, const char *tool, uint64_t uid)
{
	const struct process p = { tool, uid };
	struct rule_decision d = { 0 };

	ruleset_evaluate(s, get, &p, rule_key(1, 2), &d);
	return d;
}

static uint64_t now_ns;

static uint64_t clock_of_tens(void)
{
	now_ns += 10;
	return now_ns;
}

struct tries {
	size_t n;
	uint64_t ns;
	const struct rule *last;
};

static void tried(void *arg, const struct rule *rule, uint64_t ns)
{
	struct tries *t = arg;

	t->n++;
	t->ns += ns;
	t->last = rule;
}

/* With a watcher the set decides the same, and names each rule that it tried, up to the matching rule. */
static void assert_watched(const struct ruleset *s, const char *tool, uint64_t uid)
{
	const struct rule_decision want = judge(s, tool, uid);
	const struct process p = { tool, uid };
	struct tries t = { 0 };
	const struct rule_watch watch = { clock_of_tens, tried, &t };
	struct rule_decision d = { 0 };

	ruleset_evaluate_watched(s, get, &p, rule_key(1, 2), &d, &watch);
	assert_ptr_equal(d.rule, want.rule);
	assert_int_equal(d.include, want.include);
	assert_int_equal(t.n, want.rule ? want.rule->number + 1 : ruleset_count(s));
	assert_int_equal(t.ns, 10 * t.n);
	if (want.rule)
		assert_ptr_equal(t.last, want.rule);
}

static void the_first_that_holds(void **state)
{
	struct ruleset *s = ruleset_new(&schema, RULE_INCLUDE);
	struct filter_error error;

	(void)state;
	assert_non_null(s);
	assert_null(judge(s, "date", 0).rule);
	assert_true(judge(s, "date", 0).include);
	assert_int_equal(add(s, "mine", "uid = 1000", RULE_INCLUDE, &error), 0);
	assert_int_equal(add(s, "noise", "tool in ('date', 'tr')", RULE_EXCLUDE, &error), 0);
	assert_int_equal(add(s, "late", "tool = 'date'", RULE_INCLUDE, &error), 0);
	assert_string_equal(judge(s, "date", 1000).rule->id, "mine");
	assert_true(judge(s, "date", 1000).include);
	assert_string_equal(judge(s, "date", 0).rule->id, "noise");
	assert_false(judge(s, "date", 0).include);
	assert_null(judge(s, "bwa", 0).rule);
	assert_watched(s, "date", 1000);
	assert_watched(s, "date", 0);
	assert_watched(s, "bwa", 0);
	assert_int_equal(ruleset_count(s), 3);
	assert_string_equal(ruleset_rule(s, 1)->id, "noise");
	assert_int_equal(ruleset_rule(s, 1)->number, 1);
	assert_string_equal(ruleset_rule(s, 1)->text, "tool in ('date', 'tr')");
	assert_null(ruleset_rule(s, 3));
	assert_ptr_equal(ruleset_find(s, "late"), ruleset_rule(s, 2));
	assert_null(ruleset_find(s, "lat"));
	assert_ptr_equal(ruleset_schema(s), &schema);
	assert_null(ruleset_unref(s));
}

static void the_default(void **state)
{
	struct ruleset *s = ruleset_new(&schema, RULE_EXCLUDE);
	struct filter_error error;

	(void)state;
	assert_non_null(s);
	assert_int_equal(ruleset_otherwise(s), RULE_EXCLUDE);
	assert_int_equal(add(s, "bwa", "tool = 'bwa'", RULE_INCLUDE, &error), 0);
	assert_false(judge(s, "date", 0).include);
	assert_null(judge(s, "date", 0).rule);
	assert_true(judge(s, "bwa", 0).include);
	assert_int_equal(add(s, "rest", NULL, RULE_INCLUDE, &error), 0); /* always */
	assert_string_equal(judge(s, "date", 0).rule->id, "rest");
	assert_string_equal(judge(s, "date", 0).rule->text, "");
	ruleset_unref(s);
}

static void samples(void **state)
{
	static const uint32_t of[] = { 1, 2, 3, 10, 100, 1000 };
	unsigned low = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		double share = 100000.0 / of[i], sd = __builtin_sqrt(share * (1 - 1.0 / of[i]));
		unsigned n = 0, m = 0;

		/* pids one after another at nearly the same time; and one pid at many times */
		for (uint32_t pid = 1; pid <= 100000; pid++) {
			n += rule_sampled(rule_key(pid, UINT64_C(5000000000) + pid / 64), of[i]);
			m += rule_sampled(rule_key(4711, UINT64_C(1000000) * pid), of[i]);
		}
		if (n < share - 5 * sd || n > share + 5 * sd || m < share - 5 * sd || m > share + 5 * sd)
			fail_msg("1 in %u of 100,000: %u and %u", of[i], n, m);
	}
	for (uint32_t pid = 1; pid <= 100000; pid++)
		low += rule_key(pid, 99) & 1;
	assert_in_range(low, 49000, 51000);
	/* fixed for ever: the kernel's half must compute the same */
	assert_int_equal(rule_key(1, 0), 0xe220a839);
	assert_int_equal(rule_key(0, 0), 0);
	assert_true(rule_sampled(0, 1000000));
	assert_true(rule_sampled(UINT32_MAX, 1));
	assert_false(rule_sampled(UINT32_MAX, 2));
	assert_true(rule_sampled(0x7fffffff, 2));
}

static void a_sample_decides(void **state)
{
	struct ruleset *s = ruleset_new(&schema, RULE_INCLUDE);
	const struct process p = { "date", 0 };
	struct filter_error error;
	struct rule_decision d;
	unsigned n = 0;

	(void)state;
	assert_non_null(s);
	assert_int_equal(add(s, "some", "tool = 'date'", RULE_SAMPLE, &error), 0);
	for (uint32_t pid = 1; pid <= 10000; pid++) {
		ruleset_evaluate(s, get, &p, rule_key(pid, 1), &d);
		assert_string_equal(d.rule->id, "some");
		assert_int_equal(d.include, rule_sampled(rule_key(pid, 1), 10));
		n += d.include;
	}
	assert_in_range(n, 850, 1150);
	ruleset_unref(s);
}

static void refused(void **state)
{
	static const struct rule_label good[] = { { "domain", "genomics" }, { "a.b-c_D", "" } };
	static const struct rule_label twice[] = { { "a", "1" }, { "a", "2" } };
	static const struct rule_label blank[] = { { "a b", "1" } };
	static const char long_id[] = "0123456789012345678901234567890123456789012345678901234567890123x";
	static const struct {
		struct rule_spec spec;
		const char *what;
		uint32_t line, column;
	} cases[] = {
		{ { .id = "", .verdict = RULE_EXCLUDE }, "\"\" is not an id", 0, 0 },
		{ { .id = NULL, .verdict = RULE_EXCLUDE }, "\"\" is not an id", 0, 0 },
		{ { .id = "a b", .verdict = RULE_EXCLUDE }, "\"a b\" is not an id: 1 to 64 letters", 0, 0 },
		{ { .id = long_id, .verdict = RULE_EXCLUDE }, "is not an id", 0, 0 },
		{ { .id = "a", .verdict = (enum rule_verdict)7 }, "a verdict is", 0, 0 },
		{ { .id = "a", .verdict = RULE_SAMPLE, .sample = 0 }, "1 in 0", 0, 0 },
		{ { .id = "a", .verdict = RULE_SAMPLE, .sample = 1000001 }, "1 in 1000000", 0, 0 },
		{ { .id = "a", .verdict = RULE_INCLUDE, .labels = twice, .n_labels = 2 },
		  "\"a\" appears twice",
		  0,
		  0 },
		{ { .id = "a", .verdict = RULE_INCLUDE, .labels = blank, .n_labels = 1 }, "\"a b\"", 0, 0 },
		{ { .id = "a", .verdict = RULE_INCLUDE, .labels = good, .n_labels = 33 }, "33 labels", 0, 0 },
		{ { .id = "a", .verdict = RULE_EXCLUDE, .labels = good, .n_labels = 1 }, "an excluded process has no record", 0, 0 },
		{ { .id = "a", .when = "tool =\n'x' nd", .when_len = 13, .verdict = RULE_EXCLUDE },
		  "joined by and, or",
		  2,
		  5 },
		{ { .id = "a", .when = "", .when_len = 0, .verdict = RULE_EXCLUDE }, "a condition is missing", 1, 1 },
	};
	struct ruleset *s = ruleset_new(&schema, RULE_INCLUDE);
	struct rule_spec spec = { .id = long_id + 1, .verdict = RULE_INCLUDE, .labels = good, .n_labels = 2 };
	struct filter_error error;

	(void)state;
	assert_non_null(s);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(ruleset_add(s, &cases[i].spec, &error), -EINVAL);
		if (!strstr(error.what, cases[i].what) || error.line != cases[i].line ||
		    error.column != cases[i].column)
			fail_msg("%zu: %u:%u %s", i, error.line, error.column, error.what);
	}
	assert_int_equal(ruleset_count(s), 0);
	assert_int_equal(ruleset_add(s, &spec, &error), 0);
	assert_string_equal(ruleset_rule(s, 0)->labels[0].value, "genomics");
	assert_ptr_not_equal(ruleset_rule(s, 0)->labels[0].value, good[0].value);
	assert_int_equal(ruleset_add(s, &spec, &error), -EEXIST);
	assert_non_null(strstr(error.what, "by rule 1"));
	assert_int_equal(add(s, "site/x", "uid = 1", RULE_EXCLUDE, &error), 0);
	assert_int_equal(add(s, "site/x", "uid = 2", RULE_EXCLUDE, &error), -EEXIST);
	assert_string_equal(error.what, "the id \"site/x\" is taken: a.json:7");
	assert_int_equal(error.line, 0);
	assert_int_equal(ruleset_count(s), 2);
	ruleset_unref(s);
}

/* All ancestors have the argument that a user has chosen. */
static enum filter_known get_chosen(const void *subject, uint32_t level, uint32_t field, union filter_value *ret)
{
	(void)level;
	if (field != 0)
		return FILTER_UNKNOWN;
	ret->text = *(const struct filter_text *)subject;
	return FILTER_KNOWN;
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Each text stays below its limit of steps; 128 ancestors took 20 s to minutes. */
static void a_budget(void **state)
{
	static const struct {
		const char *when, *unit;
	} chosen[] = {
		{ "any parent.tool matches '[a-z]*[a-z]*[0-9]c?b'",
		  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b " },
		{ "any parent.tool matches '(*NO_JIT)[a-z]*[a-z]*[0-9]c?b'",
		  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b " },
		/* one step passes over all spaces */
		{ "any parent.tool matches 'a.*? +bc'", "a          c" },
		{ "any parent.tool matches '(*NO_JIT)a.*? +bc'", "a          c" },
		{ "any parent.tool glob '*[a-z][a-z][a-z][a-z][a-z][a-z][a-z][a-z][a-z][a-z][a-z][a-z][a-z][a-z][a-z]9'",
		  "a" },
	};
	static const char cheap[] =
		"any parent.tool matches ('foo.*bar', '[.]py$', 'x[0-9]+y') or any parent.tool glob '*b*r'";
	static char text[32768];
	struct filter_text argument = { text, sizeof(text) };
	struct rule_decision d;
	struct filter_error error;

	(void)state;
	for (size_t i = 0; i < sizeof(chosen) / sizeof(chosen[0]); i++) {
		struct ruleset *s = ruleset_new(&schema, RULE_EXCLUDE);
		double before;

		assert_non_null(s);
		for (size_t at = 0; at < sizeof(text); at++)
			text[at] = chosen[i].unit[at % strlen(chosen[i].unit)];
		memcpy(text, ".py b ", 6);
		assert_int_equal(add(s, "chosen", chosen[i].when, RULE_EXCLUDE, &error), 0);
		for (unsigned n = 0; n < 100; n++) {
			char id[8];

			snprintf(id, sizeof(id), "r%u", n);
			assert_int_equal(add(s, id, chosen[i].when, RULE_EXCLUDE, &error), 0);
		}
		before = cpu_seconds();
		ruleset_evaluate(s, get_chosen, &argument, 1, &d);
		print_message("%s: %.1f ms\n", chosen[i].when, (cpu_seconds() - before) * 1e3);
		assert_true(cpu_seconds() - before < 10);
		assert_true(d.spent);
		assert_true(d.include);
		assert_null(d.rule);
		ruleset_unref(s);
	}
	for (unsigned otherwise = 0; otherwise < 2; otherwise++) {
		struct ruleset *s = ruleset_new(&schema, otherwise ? RULE_EXCLUDE : RULE_INCLUDE);

		assert_non_null(s);
		memset(text, 'f', sizeof(text));
		argument.len = 300; /* 0.1 ms for all ancestors: an emulated processor must not exceed the budget */
		assert_int_equal(add(s, "cheap", cheap, RULE_EXCLUDE, &error), 0);
		ruleset_evaluate(s, get_chosen, &argument, 1, &d);
		assert_false(d.spent);
		assert_int_equal(d.include, !otherwise);
		ruleset_unref(s);
	}
}

static void many_rules(void **state)
{
	struct ruleset *s = ruleset_new(&schema, RULE_INCLUDE);
	const struct rule *first;
	struct filter_error error;
	char id[16], when[32];

	(void)state;
	assert_non_null(s);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(id, sizeof(id), "r%u", i);
		snprintf(when, sizeof(when), "uid = %u", i);
		assert_int_equal(add(s, id, when, RULE_EXCLUDE, &error), 0);
		if (i == 0)
			first = ruleset_rule(s, 0);
	}
	assert_ptr_equal(first, ruleset_rule(s, 0)); /* rules keep their addresses */
	assert_string_equal(judge(s, "x", 999).rule->id, "r999");
	assert_null(judge(s, "x", 1000).rule);
	ruleset_unref(s);
}

/* The sanitizers check that the last owner frees the set, and no earlier one. */
static void references(void **state)
{
	struct ruleset *s = ruleset_new(&schema, RULE_INCLUDE), *other;
	struct filter_error error;

	(void)state;
	assert_non_null(s);
	assert_int_equal(add(s, "a", "tool matches '^d'", RULE_EXCLUDE, &error), 0);
	other = ruleset_ref(s);
	assert_ptr_equal(other, s);
	assert_null(ruleset_unref(s));
	assert_false(judge(other, "date", 0).include);
	assert_null(ruleset_unref(other));
	assert_null(ruleset_unref(NULL));
	assert_null(ruleset_ref(NULL));
}

static void the_same(void **state)
{
	static const struct rule_label red[] = { { "colour", "red" } }, blue[] = { { "colour", "blue" } };
	const struct rule_spec base = { .id = "a",
					.when = "uid = 1",
					.when_len = 7,
					.verdict = RULE_SAMPLE,
					.sample = 5,
					.inherit = true,
					.labels = red,
					.n_labels = 1,
					.why = "w",
					.file = "f",
					.line = 1 };
	struct rule_spec spec;
	struct filter_error error;

	(void)state;
	for (int what = 0; what < 10; what++) {
		struct ruleset *a = ruleset_new(&schema, RULE_INCLUDE), *b = ruleset_new(&schema, RULE_INCLUDE);

		spec = base;
		switch (what) {
		case 1: spec.file = "g"; spec.line = 9; break;
		case 2: spec.id = "b"; break;
		case 3: spec.when = "uid = 2"; break;
		case 4: spec.when = NULL; break;
		case 5: spec.sample = 6; break;
		case 6: spec.verdict = RULE_INCLUDE; break;
		case 7: spec.inherit = false; break;
		case 8: spec.labels = blue; break;
		case 9: spec.why = NULL; break;
		default: break;
		}
		assert_true(a && b);
		assert_int_equal(ruleset_add(a, &base, &error), 0);
		if (what == 1)
			assert_int_equal(add(b, "before", "uid = 9", RULE_EXCLUDE, &error), 0);
		assert_int_equal(ruleset_add(b, &spec, &error), 0);
		if (rule_same(ruleset_rule(a, 0), ruleset_rule(b, what == 1)) != (what < 2))
			fail_msg("change %d", what);
		ruleset_unref(a);
		ruleset_unref(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_that_holds), cmocka_unit_test(the_default), cmocka_unit_test(samples),
		cmocka_unit_test(a_sample_decides),	cmocka_unit_test(refused),     cmocka_unit_test(many_rules),
		cmocka_unit_test(references),		cmocka_unit_test(the_same),    cmocka_unit_test(a_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
