/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/ledger.c: levels, marks, differences, and refused posts.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/process/ledger.h"

static int post(struct ledger *l, const char *account, const char *item, int64_t amount, uint64_t flags)
{
	struct skep_ledger_post p = {
		.account = { account, (uint32_t)strlen(account), 0 },
		.item = { item, (uint32_t)strlen(item), 0 },
		.amount = amount,
		.flags = flags,
	};

	return ledger_post(l, &p);
}

static char lines[1024];

static void on_line(void *arg, const struct ledger_line *line)
{
	(void)arg;
	snprintf(lines + strlen(lines), sizeof(lines) - strlen(lines), "%s %s %s %lld\n", line->account, line->item,
		 ledger_kind_name(line->kind), (long long)line->amount);
}

static const char *between(const struct ledger_mark *a, const struct ledger_mark *b)
{
	lines[0] = '\0';
	ledger_between(a, b, on_line, NULL);
	return lines;
}

/* A probe restarts: one that counts from its start, and one that reads the kernel's count. */
static void another_posts(void **state)
{
	struct skep_ledger_post p = { .account = { "cpu", 3, 0 }, .item = { "kernel", 6, 0 } };
	struct ledger *l = ledger_new();
	static const struct {
		uint64_t by;
		int64_t said, level;
	} posts[] = { { 1, 100, 100 }, { 1, 150, 150 }, { 2, 5, 155 },  { 1, 160, 155 },
		      { 2, 30, 180 },  { 2, 20, 170 },  { 4, 25, 175 }, { 7, 10, 185 } };

	(void)state;
	for (size_t i = 0; i < sizeof(posts) / sizeof(posts[0]); i++) {
		p.amount = posts[i].said;
		p.amount = ledger_level(l, posts[i].by, &p);
		/* the first post makes the item; from then on the ledger knows its owner */
		assert_int_equal(p.amount, posts[i].level);
		assert_int_equal(ledger_post(l, &p), 0);
		if (i == 0) {
			p.amount = posts[i].said;
			assert_int_equal(ledger_level(l, posts[i].by, &p), posts[i].level);
		}
	}
	ledger_free(l);
}

static void differences(void **state)
{
	struct ledger *l = ledger_new();
	struct ledger_mark *a, *b;

	(void)state;
	post(l, "cpu", "idle", 500, 0);
	post(l, "cpu", "capacity", 10000, SKEP_LEDGER_REFERENCE);
	post(l, "cpu", "irq", 10, SKEP_LEDGER_MEMO);
	post(l, "other", "part", 7, 0); /* the account has no reference: no lines */
	a = ledger_mark(l, 1);
	assert_int_equal(ledger_mark_time(a), 1);
	post(l, "cpu", "capacity", 10100, SKEP_LEDGER_REFERENCE);
	post(l, "cpu", "idle", 540, 0);
	post(l, "cpu", "irq", 13, SKEP_LEDGER_MEMO);
	post(l, "cpu", "processes", 1000, 0); /* the first of its kind: its count begins here */
	post(l, "other", "part", 9, 0);
	b = ledger_mark(l, 2);
	assert_string_equal(between(a, b),
			    "cpu capacity reference 100\ncpu idle part 40\ncpu processes part 0\ncpu irq memo 3\n"
			    "cpu unattributed unattributed 60\n");
	post(l, "cpu", "processes", 1050, 0);
	post(l, "cpu", "idle", 535, 0); /* an item may decrease */
	ledger_mark_free(a);
	a = ledger_mark(l, 3);
	assert_string_equal(between(b, a),
			    "cpu capacity reference 0\ncpu idle part -5\ncpu processes part 50\ncpu irq memo 0\n"
			    "cpu unattributed unattributed -45\n");
	ledger_mark_free(a);
	ledger_mark_free(b);
	ledger_free(l);
}

/* An account whose reference began later is left out: its items have nothing to be compared with. */
static void late_reference(void **state)
{
	struct ledger *l = ledger_new();
	struct ledger_mark *a, *b, *c;

	(void)state;
	post(l, "net.rx", "tcp", 5, 0);
	a = ledger_mark(l, 1);
	post(l, "net.rx", "interfaces", 100, SKEP_LEDGER_REFERENCE);
	post(l, "net.rx", "tcp", 50, 0);
	b = ledger_mark(l, 2);
	assert_string_equal(between(a, b), "");
	post(l, "net.rx", "interfaces", 180, SKEP_LEDGER_REFERENCE);
	post(l, "net.rx", "tcp", 120, 0);
	c = ledger_mark(l, 3);
	assert_string_equal(
		between(b, c),
		"net.rx interfaces reference 80\nnet.rx tcp part 70\nnet.rx unattributed unattributed 10\n");
	ledger_mark_free(a);
	ledger_mark_free(b);
	ledger_mark_free(c);
	ledger_free(l);
}

static void refused(void **state)
{
	struct ledger *l = ledger_new();
	char name[16];

	(void)state;
	assert_int_equal(post(l, "", "x", 1, 0), -EINVAL);
	assert_int_equal(post(l, "x", "", 1, 0), -EINVAL);
	assert_int_equal(post(l, "a.name.that.is.much.too.long", "x", 1, 0), -EINVAL);
	for (unsigned i = 0; i < LEDGER_ITEMS; i++) {
		snprintf(name, sizeof(name), "item%u", i);
		assert_int_equal(post(l, "full", name, 1, 0), 0);
	}
	assert_int_equal(post(l, "full", "one more", 1, 0), -ENOSPC);
	for (unsigned i = 1; i < LEDGER_ACCOUNTS; i++) {
		snprintf(name, sizeof(name), "account%u", i);
		assert_int_equal(post(l, name, "x", 1, 0), 0);
	}
	assert_int_equal(post(l, "one more", "x", 1, 0), -ENOSPC);
	assert_int_equal(post(l, "full", "item3", 2, 0), 0);
	assert_int_equal(ledger_refused(l), 5);
	ledger_free(l);
	assert_null(ledger_free(NULL));
	assert_null(ledger_mark_free(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_posts),
		cmocka_unit_test(differences),
		cmocka_unit_test(late_reference),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
