/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_redact.c - redaction of any argument list: no crash, never longer, as
 * many arguments as before, only stars are added, and a second time changes nothing.
 *
 * Input: a line for exe, then the argument list with its NULs.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/identify/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "fuzz_redact: %s\n", what);
		abort();
	}
}

static size_t count(const char *list, size_t len, char c)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += list[i] == c;
	return n;
}

/* The rest is the original in the same order, with stars between. */
static void nothing_is_new(const char *before, size_t before_len, const char *after, size_t after_len)
{
	size_t i = 0;

	for (size_t k = 0; k < after_len; k++) {
		if (after[k] == '*')
			continue;
		while (i < before_len && before[i] != after[k])
			i++;
		must(i < before_len, "something that was not there before");
		i++;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct redact *redact;
	const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
	size_t exe_len = newline ? (size_t)(newline - data) : 0;
	char *exe, *list, *copy;
	uint32_t len, again;
	struct diag diag;
	unsigned n;

	if (!redact) {
		diag_init(&diag);
		redact = redact_new(NULL, &diag);
		diag_print(&diag, stderr);
		must(redact != NULL, "no built-in table");
		diag_clear(&diag);
	}
	if (size > 1u << 20)
		return 0;
	exe = strndup((const char *)data, exe_len);
	if (newline) {
		data += exe_len + 1;
		size -= exe_len + 1;
	}
	list = malloc(size ? size : 1);
	copy = malloc(size ? size : 1);
	must(exe && list && copy, "no memory");
	memcpy(list, data, size);
	len = (uint32_t)size;
	n = redact_argv(redact, exe, list, &len);
	must(len <= size, "longer than before");
	must(count(list, len, '\0') == count((const char *)data, size, '\0'), "another number of arguments");
	must(n > 0 || (len == size && memcmp(list, data, size) == 0), "a change that was not counted");
	nothing_is_new((const char *)data, size, list, len);
	memcpy(copy, list, len);
	again = len;
	must(redact_argv(redact, exe, list, &again) == 0 && again == len && memcmp(list, copy, len) == 0,
	     "a second time changes it again");
	free(exe);
	free(list);
	free(copy);
	return 0;
}
