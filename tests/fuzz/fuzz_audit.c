/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_audit.c - any bytes as an audit's file: no crash; a break is named, with a line of the file; a chain
 * that holds is found broken when one of its bytes changes; and a line of the canonical form has its members.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/audit/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "fuzz_audit: %s\n", what);
		abort();
	}
}

static enum verify_break check(const uint8_t *data, size_t size, struct verify *v)
{
	FILE *in = fmemopen((void *)(uintptr_t)data, size, "r");

	must(in != NULL, "no memory");
	must(verify_chain(in, NULL, v) == 0, "an error");
	fclose(in);
	free(v->bodies);
	return v->broken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct canon_line l;
	struct verify v;
	const char *why = NULL;
	uint64_t lines = 1;
	size_t at = 0;
	uint8_t *copy;

	if (!size || size > 65536)
		return 0;
	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	copy = malloc(size); /* exactly its size, for the address sanitizer */
	must(copy != NULL, "no memory");
	memcpy(copy, data, size);
	if (canon_read((const char *)copy, size, &l, &at, &why) == 0)
		must(l.hash && l.prev && l.kind && l.hash_at.end < size && l.seq <= CANON_NUMBER_MOST, "a member is missing");
	else
		must(why && at <= size, "no reason");
	if (check(copy, size, &v) != VERIFY_WHOLE) {
		must(*v.why && v.line >= 1 && v.line <= lines, "no reason, or no line of the file");
	} else {
		at = (size_t)(data[size / 2] * 251u + size) % size;
		copy[at] ^= 1;
		must(check(copy, size, &v) != VERIFY_WHOLE, "a changed byte was not found");
	}
	free(copy);
	return 0;
}
