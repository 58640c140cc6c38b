/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/trace.h: ids that other tools compute as well (the expected ids come from Python's hashlib), and valid and
 * invalid trace contexts; cli/run/run_trace.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/run/run_trace.h"

#define BOOT "01234567-89ab-cdef-0123-456789abcdef"
#define RUN "20261121T000000-aaaaaa"
#define GIVEN "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

static const char *hex(const uint8_t *p, size_t n)
{
	static char text[65];

	for (size_t i = 0; i < n; i++)
		snprintf(text + 2 * i, 3, "%02x", p[i]);
	return text;
}

/*
 * python3 -c 'import hashlib; h = lambda l, a, b: hashlib.sha256(l + b"\0" + bytes([len(a)]) + a + bytes([len(b)]) +
 * b).hexdigest(); t = h(b"skep.run", b"01234567-89ab-cdef-0123-456789abcdef", b"20261121T000000-aaaaaa")[:32]; T =
 * bytes.fromhex(t); print(t, h(b"skep.span.run", T, b"20261121T000000-aaaaaa")[:16], h(b"skep.span.process", T,
 * b"01234567-4711-3039.2")[:16])'
 */
static void ids(void **state)
{
	struct skep_upid upid = { .start_ns = 12345, .pid = 4711 };
	struct skep_trace t;
	uint8_t span[SKEP_SPAN_ID];

	(void)state;
	skep_trace_of_run(BOOT, RUN, strlen(RUN), &t);
	assert_string_equal(hex(t.trace, SKEP_TRACE_ID), "bc741a18a1a76fb17ffab69e16ada864");
	assert_string_equal(hex(t.parent, SKEP_SPAN_ID), "0000000000000000");
	skep_trace_run_span(t.trace, RUN, strlen(RUN), span);
	assert_string_equal(hex(span, SKEP_SPAN_ID), "c902cc52833d0a40");
	skep_trace_process_span(t.trace, BOOT, &upid, 2, span);
	assert_string_equal(hex(span, SKEP_SPAN_ID), "709cc0c2ceb1e636");
}

static void contexts(void **state)
{
	static const char *const wrong[] = {
		"",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-",
		"01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-zz",
		"00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	};
	struct skep_trace t;
	char text[SKEP_TRACEPARENT_SIZE];

	(void)state;
	assert_true(skep_traceparent_read(GIVEN, strlen(GIVEN), &t));
	assert_string_equal(hex(t.trace, SKEP_TRACE_ID), "0af7651916cd43dd8448eb211c80319c");
	assert_string_equal(hex(t.parent, SKEP_SPAN_ID), "b7ad6b7169203331");
	assert_int_equal(t.flags, 1);
	skep_traceparent_write(t.trace, t.parent, t.flags, text);
	assert_string_equal(text, GIVEN);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (skep_traceparent_read(wrong[i], strlen(wrong[i]), &t))
			fail_msg("taken: %s", wrong[i]);
	/* a context that is not sampled is still a context */
	assert_true(skep_traceparent_read("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", 55, &t));
}

static void of_a_run(void **state)
{
	char text[SKEP_TRACEPARENT_SIZE], again[SKEP_TRACEPARENT_SIZE];
	const char *adopted = NULL;
	struct skep_trace t;

	(void)state;
	setenv("TRACEPARENT", GIVEN, 1);
	assert_int_equal(run_trace(RUN, &adopted, text), 0);
	assert_string_equal(adopted, GIVEN);
	assert_memory_equal(text, GIVEN, 36); /* the same trace, and a span of ours */
	assert_memory_not_equal(text + 36, &GIVEN[36], 16);
	assert_string_equal(text + 52, "-01");
	setenv("TRACEPARENT", "nonsense", 1);
	assert_int_equal(run_trace(RUN, &adopted, text), 0);
	assert_null(adopted);
	assert_true(skep_traceparent_read(text, strlen(text), &t));
	unsetenv("TRACEPARENT");
	assert_int_equal(run_trace(RUN, &adopted, again), 0);
	assert_string_equal(text, again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids),
		cmocka_unit_test(contexts),
		cmocka_unit_test(of_a_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
