/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_sched.c - the probe "sched" without its kernel side: /proc/pressure, and the promises of its
 * descriptor.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "plugins/sched/state.h"

static void test_pressure(void **state)
{
	uint64_t some = 1, full = 1;

	(void)state;
	assert_int_equal(
		psi_parse(
			"some avg10=0.00 avg60=0.12 avg300=0.40 total=17\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
			&some, &full),
		0);
	assert_int_equal(some, 17);
	assert_int_equal(full, 5);
	/* before 5.13 cpu has no line "full" */
	assert_int_equal(psi_parse("some avg10=0.00 avg60=0.00 avg300=0.00 total=18446744073709551615\n", &some, &full),
			 0);
	assert_int_equal(some, UINT64_MAX);
	assert_int_equal(full, 0);
	some = full = 3;
	assert_int_equal(psi_parse("", &some, &full), -EBADMSG);
	assert_int_equal(psi_parse("some avg10=0.00\n", &some, &full), -EBADMSG);
	assert_int_equal(psi_parse("some avg10=0.00\nfull total=5\n", &some, &full), -EBADMSG);
	assert_int_equal(psi_parse("some total=1\nfull avg10=0.00\n", &some, &full), -EBADMSG);
	assert_int_equal(some, 3);
	assert_int_equal(full, 3);
}

/* The code emits a detail's records on the stream of the detail, whose first field is the id. */
static void test_details(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < DETAIL_KINDS; kind++) {
		const struct skep_stream *s = sched_streams[sched_details[kind].stream];

		assert_int_equal(sched_details[kind].stream, STREAM_DETAIL + kind);
		assert_int_equal(s->role, SKEP_ROLE_DETAIL);
		assert_string_equal(s->name + strlen("sched."), sched_details[kind].name);
		assert_string_equal(s->fields[0].name, "detail.id");
		assert_int_equal(s->fields[0].offset, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pressure),
		cmocka_unit_test(test_details),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
