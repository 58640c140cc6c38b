/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_ucum.c - any text as a unit: no crash, and a valid unit is valid inside of a larger one and contains
 * only a unit's characters.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/dev/ucum.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "fuzz_ucum: %s\n", what);
		abort();
	}
}

static bool valid_with(const char *before, const char *unit, const char *between, const char *after)
{
	char *text;
	bool valid;

	must(asprintf(&text, "%s%s%s%s", before, unit, between, after) >= 0, "no memory");
	valid = ucum_valid(text);
	free(text);
	return valid;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *unit = malloc(size + 1); /* exactly this size: the sanitizer finds a read behind it */
	bool valid;

	must(unit != NULL, "no memory");
	memcpy(unit, data, size);
	unit[size] = '\0';
	valid = ucum_valid(unit);
	if (valid) {
		must(*unit != '\0', "nothing is a unit");
		for (const char *c = unit; *c; c++)
			must(*c > ' ' && *c <= '~', "a unit with a space or a control character");
		must(valid_with("", unit, "/", "s"), "a unit, but not by the second");
		must(!valid_with("", unit, "", "/"), "something by nothing");
		must(!valid_with("", unit, " ", ""), "a space at its end");
		if (*unit != '/') {
			must(valid_with("By.", unit, "", ""), "a unit, but not times one");
			must(valid_with("/", unit, "", ""), "a unit, but not one of it");
		}
	} else if (*unit != '\0' && *unit != '/') {
		must(!valid_with("/", unit, "", ""), "no unit, but one by it");
	}
	free(unit);
	return 0;
}
