/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_cgroup.c - bytes as if from a cgroup's files, and as if from the kernel side of the probe "cgroup".
 * The first byte chooses; the parsers read nothing beyond the input, and emitted records have valid strings.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/cgroup/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned touched;

static void must(bool condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "fuzz_cgroup: %s\n", what);
		abort();
	}
}

static void touch(const struct skep_str *s)
{
	for (uint32_t i = 0; i < s->len; i++)
		touched += (unsigned char)s->ptr[i];
}

static void emit(struct skep_instance *inst, unsigned stream, const struct skep_upid *who, uint64_t time_ns,
		 const void *rec)
{
	const struct cgroup_record *r = rec;

	(void)inst;
	must(stream == STREAM_CGROUP && !who, "a record of something else");
	touched += (unsigned)time_ns;
	touch(&r->cgroup);
	touch(&r->controllers);
	must(r->cgroup_id != 0 && r->cgroup.len > 0, "a record of no cgroup");
}

static void lost(struct skep_instance *inst, unsigned stream, enum skep_loss where, uint64_t n)
{
	(void)inst;
	(void)stream;
	(void)where;
	touched += (unsigned)n;
}

static bool known(struct skep_instance *inst, uint64_t id, const struct skep_str *path)
{
	(void)inst;
	must(id != 0 && path && path->len > 0, "a path of nothing");
	touch(path);
	return true;
}

static bool counts(void *arg, unsigned major, unsigned minor)
{
	(void)arg;
	return (major + minor) % 3 != 0;
}

static void files(const char *text, size_t len)
{
	uint64_t a = 0, b = 0;
	struct cgroup_io io;
	struct skep_str s;
	double cpus;

	cgroup_number(text, &a);
	cgroup_key(text, "oom_kill", &a);
	cgroup_key(text, "usage_usec", &a);
	if (cgroup_cpu_max(text, &cpus) == 0)
		must(cpus >= 0, "a negative quota");
	cgroup_pressure(text, &a, &b);
	cgroup_io_stat(text, counts, NULL, &io);
	cgroup_blkio(text, counts, NULL, &a, &b);
	for (int c = 0; c < CONTROLLERS; c++)
		if (cgroup_of_process(text, cgroup_controller_names[c], &s) == 0) {
			must(s.ptr >= text && s.ptr + s.len <= text + len, "a path outside");
			touch(&s);
		}
}

/* The records of a ring: a byte with the length (times 8), then so many bytes. */
static void events(const uint8_t *data, size_t size)
{
	static const struct skep_host host = {
		.size = sizeof(host), .emit = emit, .lost = lost, .cgroup_known = known
	};
	struct cgroup_state st = {
		.host = &host, .page_size = 4096, .groups = { .most = 4 }, .reader = { .root = "/nonexistent" }
	};

	while (size > 0) {
		size_t n = (size_t)data[0] * 8 < size - 1 ? (size_t)data[0] * 8 : size - 1;
		void *copy = malloc(n ? n : 1); /* exactly as long: the sanitizer finds every read beyond it */

		must(copy != NULL, "no memory");
		memcpy(copy, data + 1, n);
		cgroup_event(&st, copy, n);
		free(copy);
		data += n + 1;
		size -= n + 1;
		must(st.groups.n <= st.groups.most, "more than the bound");
	}
	groups_free(&st.groups, &st.reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size < 1 || size > 65536)
		return 0;
	if (data[0] & 1) {
		events(data + 1, size - 1);
		return 0;
	}
	text = malloc(size);
	must(text != NULL, "no memory");
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	files(text, size - 1);
	free(text);
	return 0;
}
