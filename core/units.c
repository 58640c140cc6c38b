/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/units.c - sizes and times as people write them in a configuration, both ways.
 * One unit, no fractions, no blanks: "64MiB", "250ms".
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/config.h"

struct unit {
	const char *name;
	uint64_t factor;
};

/* Ascending: the writers take the last that divides. */
static const struct unit size_units[] = {
	{ "B", 1 },
	{ "kB", 1000 },
	{ "KiB", 1ull << 10 },
	{ "MB", 1000ull * 1000 },
	{ "MiB", 1ull << 20 },
	{ "GB", 1000ull * 1000 * 1000 },
	{ "GiB", 1ull << 30 },
	{ "TB", 1000ull * 1000 * 1000 * 1000 },
	{ "TiB", 1ull << 40 },
	{ NULL, 0 },
};

static const struct unit time_units[] = {
	{ "ns", 1 },
	{ "us", 1000 },
	{ "ms", 1000ull * 1000 },
	{ "s", 1000ull * 1000 * 1000 },
	{ "m", 60ull * 1000 * 1000 * 1000 },
	{ "h", 3600ull * 1000 * 1000 * 1000 },
	{ "d", 86400ull * 1000 * 1000 * 1000 },
	{ NULL, 0 },
};

/*
 * Digits, then one of units; bare: the number alone will do.  By hand and not by
 * strtoull, which takes blanks, a sign and the locale's idea of a number.
 */
static int units_parse(const char *text, const struct unit *units, bool bare, uint64_t *ret)
{
	uint64_t value = 0;
	bool overflow = false;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			overflow = true;
	if (p == text)
		return -EINVAL;
	if (*p != '\0') {
		for (; units->name && strcmp(p, units->name) != 0; units++)
			;
		if (!units->name)
			return -EINVAL;
		if (__builtin_mul_overflow(value, units->factor, &value))
			overflow = true;
	} else if (!bare && (value != 0 || overflow)) {
		return -EINVAL; /* 0 needs no unit */
	}
	if (overflow)
		return -ERANGE;
	*ret = value;
	return 0;
}

static void units_format(uint64_t value, const struct unit *units, char ret[CONFIG_UNITS_SIZE])
{
	const struct unit *best = units;

	for (const struct unit *unit = units; unit->name; unit++)
		if (value != 0 && value % unit->factor == 0)
			best = unit;
	snprintf(ret, CONFIG_UNITS_SIZE, "%" PRIu64 "%s", value / best->factor, best->name);
}

int config_size(const char *text, uint64_t *ret_bytes)
{
	return units_parse(text, size_units, true, ret_bytes);
}

int config_time(const char *text, uint64_t *ret_ns)
{
	return units_parse(text, time_units, false, ret_ns);
}

void config_size_format(uint64_t bytes, char ret[CONFIG_UNITS_SIZE])
{
	units_format(bytes, size_units, ret);
}

void config_time_format(uint64_t ns, char ret[CONFIG_UNITS_SIZE])
{
	units_format(ns, time_units, ret);
}
