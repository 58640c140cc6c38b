/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_scrape.c - bytes as if from a client of the scrape endpoint: a verdict, a path within the bytes,
 * and the same verdict when they come in two parts.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sinks/prometheus/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "fuzz_scrape: %s\n", what);
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1); /* exactly as long: the sanitizer finds a read beyond it */
	struct request r = { 0 };
	int status;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	status = request_parse(copy, size, &r);
	must(status == 0 || status == 200 || status == 400 || status == 405, "an unknown status");
	if (status == 200) {
		must(r.path >= copy && r.path + r.path_len <= copy + size && r.path_len > 0,
		     "a path outside of the request");
		must(*r.path == '/' && !memchr(r.path, ' ', r.path_len), "no path");
	}
	for (size_t n = 0; n < size; n++) {
		struct request part = { 0 };
		int early = request_parse(copy, n, &part);

		must(early == 0 || early == status, "less of it gives another verdict");
	}
	free(copy);
	return 0;
}
