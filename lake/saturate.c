/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/saturate.c - SQLite's sum(), but above 2^63 it stands at the largest integer.
 */
#include "lake/saturate.h"

#include <stdbool.h>
#include <stddef.h>

/* SQLite gives zeroed memory. */
struct sum {
	bool any, real; /* real: one of the values is one, and so is the sum */
	int64_t whole;
	double part; /* of the values that are no integers */
};

static void step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct sum *s = sqlite3_aggregate_context(context, sizeof(*s));
	int type = sqlite3_value_numeric_type(argv[0]);
	int64_t n;

	(void)argc;
	if (!s || type == SQLITE_NULL)
		return;
	s->any = true;
	if (type == SQLITE_INTEGER) {
		n = sqlite3_value_int64(argv[0]);
		if (__builtin_add_overflow(s->whole, n, &s->whole))
			s->whole = n > 0 ? INT64_MAX : INT64_MIN;
	} else {
		s->real = true;
		s->part += sqlite3_value_double(argv[0]);
	}
}

static void finish(sqlite3_context *context)
{
	const struct sum *s = sqlite3_aggregate_context(context, 0);

	if (s && s->real)
		sqlite3_result_double(context, (double)s->whole + s->part);
	else if (s && s->any)
		sqlite3_result_int64(context, s->whole);
}

int lake_saturate(sqlite3 *sql)
{
	return sqlite3_create_function_v2(sql, "sum", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, NULL, step, finish,
					  NULL);
}
