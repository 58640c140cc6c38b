/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the names of metrics and labels from the names of fields.
 */
#include "sinks/prometheus/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maps UCUM units to the base units of Prometheus. strip: an ending of a field's name that repeats the unit. */
static const struct {
	const char *ucum, *word, *strip;
	double divisor; /* a divisor, because 1e9 is exact and 1e-9 is not */
} units[] = {
	{ "ns", "seconds", "_ns", 1e9 },
	{ "us", "seconds", "_us", 1e6 },
	{ "ms", "seconds", "_ms", 1e3 },
	{ "s", "seconds", "_s", 1 },
	{ "By", "bytes", "_bytes", 1 },
	{ "By/s", "bytes_per_second", "_rate", 1 },
	{ "J", "joules", "_joules", 1 },
	{ "W", "watts", "_watts", 1 },
	{ "Hz", "hertz", "_hz", 1 },
	{ "Cel", "celsius", "_celsius", 1 },
	{ "%", "ratio", "_percent", 100 },
};

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n > m && strcmp(s + n - m, end) == 0;
}

static bool is_conventional(const char *field)
{
	return strncmp(field, "system.", 7) == 0 || strncmp(field, "hw.", 3) == 0;
}

/* Replaces every character but letters and digits by '_'. first: the name must not begin with a digit. */
static void make_plain(char *s, bool first)
{
	for (size_t i = 0; s[i]; i++) {
		bool digit = s[i] >= '0' && s[i] <= '9';

		if (!((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || (digit && !(first && i == 0))))
			s[i] = '_';
	}
}

char *names_metric(const char *prefix, const char *field, const char *unit, bool counter, const char **ret_unit,
		   double *ret_divisor)
{
	const char *word = NULL, *end = "", *part = is_conventional(field) ? "" : prefix;
	double divisor = 1;
	size_t keep = strlen(field);
	char *name;

	for (size_t i = 0; unit && i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(unit, units[i].ucum) != 0)
			continue;
		word = units[i].word;
		divisor = units[i].divisor;
		if (ends_with(field, units[i].strip))
			keep -= strlen(units[i].strip);
		break;
	}
	if (counter && !word && ends_with(field, "_total"))
		keep -= strlen("_total");
	/* "_count" at a name's end would mark a part of a histogram (promtool check metrics) */
	if (!counter && !word && (ends_with(field, ".count") || ends_with(field, "_count"))) {
		keep -= strlen("count");
		end = "number";
	}
	if (asprintf(&name, "skep_%s%s%.*s%s%s%s%s", part, *part ? "_" : "", (int)keep, field, end, word ? "_" : "",
		     word ? word : "", counter ? "_total" : "") < 0)
		return NULL;
	make_plain(name, false);
	*ret_unit = word;
	*ret_divisor = divisor;
	return name;
}

char *names_label(const char *attribute)
{
	char *name;

	/* "le" is the label for the bound of a histogram's bucket */
	if (asprintf(&name, "%s%s", attribute, strcmp(attribute, "le") == 0 ? "_" : "") < 0)
		return NULL;
	make_plain(name, true);
	return name;
}
