/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/device_table.c: devices that come and go, and the difference of their counters.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plugins/host/device_table.h"

static void deltas(void **state)
{
	(void)state;
	assert_int_equal(counter_delta(5, 9), 4);
	assert_int_equal(counter_delta(9, 9), 0);
	assert_int_equal(counter_delta(UINT32_MAX - 1, 3), 5);             /* 32 bits wrapped */
	assert_int_equal(counter_delta(1000, 3), 0);                       /* set back: a new device of that name */
	assert_int_equal(counter_delta(UINT64_C(1) << 40, 3), 0);          /* was larger than 32 bits */
	assert_true(counter_delta(0, UINT64_MAX) == UINT64_MAX);
}

static int find(struct device_table *s, const char *name, struct device **e, bool *fresh)
{
	return device_table_find(s, skep_text_of(name), e, fresh);
}

static void come_and_go(void **state)
{
	struct device_table s = { 0 };
	struct device *e;
	bool fresh;
	char name[80];

	(void)state;
	device_table_begin(&s);
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "veth%d", i);
		assert_int_equal(find(&s, name, &e, &fresh), 0);
		assert_true(fresh);
		e->value[0] = (uint64_t)i;
	}
	assert_int_equal(find(&s, "veth7", &e, &fresh), -EEXIST);
	assert_int_equal(find(&s, "", &e, &fresh), -EINVAL);
	memset(name, 'x', 64);
	name[64] = '\0';
	assert_int_equal(find(&s, name, &e, &fresh), -EINVAL);
	device_table_end(&s);

	/* half of them, from the end, and a new one */
	device_table_begin(&s);
	for (int i = 98; i >= 0; i -= 2) {
		snprintf(name, sizeof(name), "veth%d", i);
		assert_int_equal(find(&s, name, &e, &fresh), 0);
		assert_false(fresh);
		assert_int_equal(e->value[0], i);
	}
	assert_int_equal(find(&s, "eth0", &e, &fresh), 0);
	assert_true(fresh);
	device_table_end(&s);
	assert_int_equal(s.n, 51);

	/* one that was gone for a pass is new */
	device_table_begin(&s);
	assert_int_equal(find(&s, "veth1", &e, &fresh), 0);
	assert_true(fresh);
	assert_int_equal(e->value[0], 0);
	device_table_free(&s);
}

static void no_room(void **state)
{
	struct device_table s = { 0 };
	struct device *e;
	bool fresh;
	char name[32];

	(void)state;
	device_table_begin(&s);
	for (unsigned i = 0; i < DEVICE_MOST; i++) {
		snprintf(name, sizeof(name), "d%u", i);
		assert_int_equal(find(&s, name, &e, &fresh), 0);
	}
	assert_int_equal(find(&s, "more", &e, &fresh), -ENOSPC);
	device_table_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deltas),
		cmocka_unit_test(come_and_go),
		cmocka_unit_test(no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
