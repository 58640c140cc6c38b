/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_identity.c - feeds answers of a metadata service and texts of system files to the parsers of the
 * probe "identity".  The first byte selects. No parser may read beyond the input, and its results must agree.
 */
#include <stdlib.h>
#include <string.h>

#include "plugins/identity/identity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void http(const uint8_t *data, size_t size)
{
	struct http_reply r;
	/* exactly as long as the answer, so that the sanitizer sees a read beyond it */
	char *copy = malloc(size ? size : 1), value[CLOUD_VALUE];
	bool closed = size & 1;
	int err;

	check(copy);
	if (size)
		memcpy(copy, data, size);
	err = http_parse(copy, size, closed, &r);
	check(err == 0 || err == -EBADMSG || (err == -EAGAIN && !closed));
	if (err == 0) {
		check(r.status >= 100 && r.status <= 599);
		check(r.body.at >= copy && r.body.at <= r.body.end && r.body.end <= copy + size);
		if (cloud_value(r.body, value))
			check(strlen(value) > 0 && strlen(value) < CLOUD_VALUE && !strchr(value, '/'));
	}
	free(copy);
}

static void texts(struct text t)
{
	struct identity_os os = { 0 };
	struct identity_machine m = { 0 };
	char id[33], line[64];
	struct sockaddr_in to;

	identity_os_release(t, &os);
	identity_cpuinfo(t, &m);
	skep_text_copy(t, line, sizeof(line));
	if (identity_machine_id(line, id) == 0)
		check(strlen(id) == 32);
	http_endpoint(line, &to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy;

	if (size < 1)
		return 0;
	if (data[0] % 2 == 0) {
		http(data + 1, size - 1);
		return 0;
	}
	copy = malloc(size - 1 ? size - 1 : 1);
	if (!copy)
		return 0;
	memcpy(copy, data + 1, size - 1);
	texts((struct text){ copy, copy + size - 1 });
	free(copy);
	return 0;
}
