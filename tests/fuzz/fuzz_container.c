/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_container.c - cgroup paths and capture patterns of any kind: no crash, nothing read
 * beyond either, each found name lies within the path, and the same question has the same answer.
 *
 * Input: with a newline in it a pattern and a path, else a path for the built-in table.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/identify/capture.h"
#include "core/identify/container.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "fuzz_container: %s\n", what);
		abort();
	}
}

/* At the end of a heap block of its own: the sanitizer finds a read behind it. */
static char *copy_of(const uint8_t *data, size_t len, bool nul)
{
	char *copy = malloc(len + 1);

	must(copy != NULL, "no memory");
	memcpy(copy, data, len);
	if (nul) {
		copy[len] = '\0';
		return copy;
	}
	memmove(copy + 1, copy, len);
	return copy;
}

static void try_pattern(const char *pattern, const char *path, size_t len)
{
	static const char *const names[] = { "id", "step", "task", "user", NULL };
	struct capture_match m, again;
	char why[CAPTURE_ERROR_SIZE] = "";
	struct capture *c = NULL;
	int err = capture_new(pattern, names, &c, why);

	must(err == 0 || err == -EINVAL, "an error that is none of its own");
	if (err) {
		must(!c && strncmp(why, "character ", 10) == 0 && strlen(why) < CAPTURE_ERROR_SIZE, "no reason");
		return;
	}
	if (capture_find(c, path, len, &m)) {
		must(m.end <= len && m.end > 0, "ends nowhere");
		must(m.end == len || path[m.end] == '/', "ends within a segment");
		for (unsigned i = 0; i < 4; i++) {
			char *to;

			must(capture_has(c, i) == (m.spans[i].ptr != NULL), "a capture that is not there");
			if (!m.spans[i].ptr)
				continue;
			must(m.spans[i].ptr >= path && m.spans[i].ptr + m.spans[i].len <= path + m.end,
			     "a capture outside");
			must(!memchr(m.spans[i].ptr, '/', m.spans[i].len), "a capture over several segments");
			to = malloc(m.spans[i].len + 1);
			must(to != NULL, "no memory");
			must(capture_copy(&m.spans[i], to) <= m.spans[i].len, "longer than it was");
			free(to);
		}
		must(capture_find(c, path, len, &again) && again.end == m.end, "another answer to the same question");
		/*
		 * A cgroup below does not change the result of a pattern that does not mention it, unless it matches
		 * itself.
		 */
		must(capture_find(c, path, m.end, &again) && again.end == m.end, "depends on a cgroup below");
	}
	capture_free(c);
}

static void try_table(const char *path, size_t len)
{
	static struct containers *table;
	struct container *c;
	struct diag diag;

	if (!table) {
		diag_init(&diag);
		table = containers_new(NULL, &diag);
		diag_print(&diag, stderr);
		must(table != NULL, "no built-in table");
		diag_clear(&diag);
	}
	must(containers_find(table, path, len, &c) == 0, "no memory");
	for (unsigned k = 0; c && k < CONTAINER_KINDS; k++) {
		must((c->of[k].by.len > 0) == (c->of[k].id.len > 0), "something without a name");
		must(c->of[k].id.len <= len && c->of[k].step.len <= len, "longer than the path");
	}
	container_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
	char *pattern, *path;

	if (size > 4096)
		return 0;
	if (newline) {
		size_t n = (size_t)(newline - data);

		pattern = copy_of(data, n, true);
		path = copy_of(newline + 1, size - n - 1, false);
		try_pattern(pattern, path + 1, size - n - 1);
		free(pattern);
	} else {
		path = copy_of(data, size, false);
		try_table(path + 1, size);
	}
	free(path);
	return 0;
}
