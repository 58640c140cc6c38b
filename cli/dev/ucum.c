/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/dev/ucum.c - UCUM's grammar, case sensitive, with the atoms that measure machines.
 *
 *	unit      = ["/"] term { ("." | "/") term }
 *	term      = simple [annotation] | annotation | number
 *	simple    = [prefix] atom [["+" | "-"] digits]
 */
#include "cli/dev/ucum.h"

#include <stddef.h>
#include <string.h>

/* Atoms that may have a prefix. */
static const char *const metric[] = {
	"s", "m",   "g", "By", "bit", "Bd", "A",   "K",   "V",  "W",  "J", "Hz", "Pa", "N",  "C",
	"F", "Ohm", "T", "Wb", "l",   "L",  "Cel", "mol", "cd", "eV", "B", "lm", "lx", NULL,
};

/* Atoms without a prefix. */
static const char *const plain[] = {
	"%", "min", "h", "d", "wk", "mo", "a", "deg", "'", "''", "[ppm]", "[ppb]", "[degF]", NULL,
};

static const char *const prefixes[] = {
	"da", "Ki", "Mi", "Gi", "Ti", "Y", "Z", "E", "P", "T", "G",  "M",
	"k",  "h",  "d",  "c",  "m",  "u", "n", "p", "f", "a", NULL,
};

static bool is_one_of(const char *const *list, const char *s, size_t len)
{
	for (; *list; list++)
		if (strlen(*list) == len && memcmp(*list, s, len) == 0)
			return true;
	return false;
}

static bool is_atom(const char *s, size_t len)
{
	if (is_one_of(metric, s, len) || is_one_of(plain, s, len))
		return true;
	for (const char *const *p = prefixes; *p; p++) {
		size_t n = strlen(*p);

		if (len > n && memcmp(s, *p, n) == 0 && is_one_of(metric, s + n, len - n))
			return true;
	}
	return false;
}

/* Length of an annotation such as "{fault}"; 0: there is none at s. */
static size_t annotation(const char *s)
{
	const char *end = *s == '{' ? strchr(s, '}') : NULL;

	if (!end || end == s + 1)
		return 0;
	for (const char *c = s + 1; c < end; c++)
		if (*c <= ' ' || *c > '~' || *c == '{')
			return 0;
	return (size_t)(end - s) + 1;
}

static bool is_term(const char *s, size_t len)
{
	size_t digits = strspn(s, "0123456789"), n = 0, note;

	if (len > 0 && digits > 0)
		return digits == len || (digits < len && annotation(s + digits) == len - digits);
	note = annotation(s);
	if (note > 0)
		return note == len;
	while (n < len && s[n] != '{' && s[n] != '+' && s[n] != '-' && !(s[n] >= '0' && s[n] <= '9'))
		n++;
	if (!is_atom(s, n))
		return false;
	if (n < len && (s[n] == '+' || s[n] == '-'))
		if (!(s[++n] >= '0' && s[n] <= '9'))
			return false;
	while (n < len && s[n] >= '0' && s[n] <= '9')
		n++;
	return n == len || annotation(s + n) == len - n;
}

bool ucum_valid(const char *unit)
{
	if (*unit == '/')
		unit++;
	for (;;) {
		size_t len = 0;

		/* an annotation in braces may hold any character */
		for (bool in = false; unit[len] && (in || (unit[len] != '.' && unit[len] != '/')); len++)
			in = unit[len] == '{' || (in && unit[len] != '}');
		if (len == 0 || !is_term(unit, len))
			return false;
		unit += len;
		if (!*unit)
			return true;
		unit++;
	}
}
