/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/dev/ucum.h"

static void test_units(void **state)
{
	static const char *const good[] = { "1",    "ns",  "us",       "ms",     "s",     "By",      "KiBy",
					    "MiBy", "kBy", "bit/s",    "By/s",   "%",     "{fault}", "{request}/s",
					    "1/s",  "/s",  "m2",       "m/s2",   "m.s-2", "Cel",     "W.h",
					    "kW.h", "mV",  "By{disk}", "10",     "min",   "h",       "Hz",
					    "MHz",  "J",   "uJ",       "{a/b.c}" };
	static const char *const bad[] = { "",     "bytes", "sec", "B/s2x", "By/",          "By//s", "/",
					   ".",    "{",     "{}",  "{a",    "{CPU second}", "n s",   "Kmin",
					   "kmin", "%%",    "s-",  "m+",    "seconds",      "2x",    "by",
					   "NS",   "ns ",   " ns", "{a}{b}" };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!ucum_valid(good[i]))
			fail_msg("\"%s\" is a unit", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (ucum_valid(bad[i]))
			fail_msg("\"%s\" is no unit", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_units) };

	return cmocka_run_group_tests_name("ucum", tests, NULL, NULL);
}
