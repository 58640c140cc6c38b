/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_bundle.c - any text that goes into a support bundle: no crash, no write behind its end, never longer,
 * the same number of lines, and no secret of a known shape is left.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/bundle_redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PLANTED "get https://joe:xyzzyplughxyzzy@example.com/\n"

static void must(bool condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "fuzz_bundle: %s\n", what);
		abort();
	}
}

static size_t lines(const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n';
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bundle_redact *redact;
	size_t planted = sizeof(PLANTED) - 1, len = planted + 1 + size, before;
	char *text;

	if (!redact)
		redact = bundle_redact_new(NULL, 0);
	must(redact != NULL, "no tables");
	if (size > 65536)
		return 0;
	/* A heap block of exactly the permitted size: its text and the NUL behind it. */
	text = malloc(len + 1);
	must(text != NULL, "no memory");
	memcpy(text, PLANTED, planted);
	text[planted] = '\n';
	memcpy(text + planted + 1, data, size);
	text[len] = '\0';
	before = lines(text, len);
	bundle_redact_text(redact, text, &len);
	must(len <= planted + 1 + size, "longer than it was");
	must(lines(text, len) == before, "lines were lost, or made");
	must(!memchr(text, '\0', len), "a NUL in a text");
	must(!memmem(text, len < planted ? len : planted, "xyzzyplughxyzzy", 15), "a secret is still there");
	free(text);
	return 0;
}
