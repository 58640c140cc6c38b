/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/units.c - parses and formats sizes and times of a configuration: one unit, no fractions, no blanks
 * ("64MiB", "250ms").  Writes them as regular expressions, too, for the schema.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"

struct unit {
	const char *name;
	uint64_t factor;
};

/* Ascending: units_format uses the last that divides. */
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
 * Digits, then one of units; bare: a number without a unit is right, too.  Not strtoull, which accepts blanks, a sign
 * and the locale's digits.
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

/* ---- as a pattern ---------------------------------------------------------------------- */

/* first and last have the same number of digits; from some digit on first has only zeros and last only nines. */
static void print_digits(FILE *out, uint64_t first, uint64_t last)
{
	char a[24], b[24];
	unsigned any = 0;

	snprintf(a, sizeof(a), "%" PRIu64, first);
	snprintf(b, sizeof(b), "%" PRIu64, last);
	for (unsigned i = 0; a[i]; i++) {
		if (a[i] == '0' && b[i] == '9')
			any++;
		else if (a[i] == b[i])
			fputc(a[i], out);
		else
			fprintf(out, "[%c-%c]", a[i], b[i]);
	}
	if (any > 1)
		fprintf(out, "[0-9]{%u}", any);
	else if (any)
		fputs("[0-9]", out);
}

/* The end of the longest run of numbers from `first` on, up to `last`, that print_digits can write. */
static uint64_t run_end(uint64_t first, uint64_t last)
{
	uint64_t step = 1, end = first;

	/*
	 * A nine more at the end for each zero at the end of first, while the result stays within last.
	 */
	while (first % (step * 10) == 0 && first != 0 && first + (step * 10 - 1) <= last && step < UINT64_MAX / 100)
		step *= 10;
	/* the digit before them may grow, up to nine */
	for (uint64_t next = first + step - 1; next <= last; next += step) {
		end = next;
		if (next / step % 10 == 9 || next > UINT64_MAX - step)
			break;
	}
	return end;
}

/* Numbers from min to max (at most INT64_MAX), with any zeros before them. */
static void print_range(FILE *out, uint64_t min, uint64_t max)
{
	fputs("0*(", out);
	for (uint64_t first = min;;) {
		uint64_t last = run_end(first, max);

		print_digits(out, first, last);
		if (last >= max)
			break;
		fputc('|', out);
		first = last + 1;
	}
	fputc(')', out);
}

static char *units_pattern(const struct unit *units, bool bare, uint64_t min, uint64_t max)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fputs(min == 0 && !bare ? "^(0+" : "^(", out);
	for (const struct unit *u = units; u->name; u++) {
		uint64_t least = min / u->factor + (min % u->factor != 0), most = max / u->factor;

		if (least > most)
			continue;
		if (u != units || (min == 0 && !bare))
			fputc('|', out);
		print_range(out, least, most);
		fprintf(out, "%s%s", u->name, bare && u->factor == 1 ? "?" : "");
	}
	fputs(")$", out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

char *config_size_pattern(uint64_t min, uint64_t max)
{
	return units_pattern(size_units, true, min, max);
}

char *config_time_pattern(uint64_t min, uint64_t max)
{
	return units_pattern(time_units, false, min, max);
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
