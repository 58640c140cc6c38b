/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_tool.c - tool recognition on any command line: no crash, and a name
 * that is never empty, never too long, and has nothing in it that a terminal obeys.
 *
 * Input: a line each for exe, filename and comm, then the argument list with its NULs.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/identify/tool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "fuzz_tool: %s\n", what);
		abort();
	}
}

/* A part of the input at the end of a heap block of its own: the sanitizer finds a read behind it. */
static struct skep_str part(const uint8_t *data, size_t len)
{
	char *copy = malloc(len ? len : 1);

	must(copy != NULL, "no memory");
	memcpy(copy, data, len);
	return (struct skep_str){ .ptr = copy, .len = (uint32_t)len, .total = (uint32_t)len };
}

static struct skep_str line(const uint8_t **data, size_t *size)
{
	const uint8_t *newline = *size ? memchr(*data, '\n', *size) : NULL;
	size_t len = newline ? (size_t)(newline - *data) : *size;
	struct skep_str ret = part(*data, len);

	*data += newline ? len + 1 : len;
	*size -= newline ? len + 1 : len;
	return ret;
}

static void name_is_sound(const struct tool_name *ret)
{
	const unsigned char *name = (const unsigned char *)ret->name;
	size_t len = strnlen(ret->name, sizeof(ret->name));

	must(len > 0 && len < sizeof(ret->name), "no name, or one without an end");
	for (size_t i = 0; i < len; i++) {
		must(name[i] >= 0x20 && name[i] != 0x7f, "a control character");
		must(name[i] != 0xc2 || i + 1 >= len || name[i + 1] < 0x80 || name[i + 1] >= 0xa0,
		     "a C1 control character");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct tools *tools;
	struct skep_str exe, filename, comm, argv, none = { .len = 0 };
	struct tool_name ret, again;
	struct diag diag;

	if (!tools) {
		diag_init(&diag);
		tools = tools_new(NULL, &diag);
		diag_print(&diag, stderr);
		must(tools != NULL, "no built-in table");
		diag_clear(&diag);
	}
	if (size > 1u << 20)
		return 0;
	exe = line(&data, &size);
	filename = line(&data, &size);
	comm = line(&data, &size);
	argv = part(data, size);
	memset(&ret, 0xa5, sizeof(ret));
	memset(&again, 0x5a, sizeof(again));
	tools_recognize(tools, &exe, &filename, &argv, &comm, &ret);
	name_is_sound(&ret);
	tools_recognize(tools, &exe, &filename, &argv, &comm, &again);
	must(strcmp(ret.name, again.name) == 0 && ret.wrapper == again.wrapper, "another answer to the same question");
	/* Each part may be missing. */
	argv.total = argv.len + 1;
	tools_recognize(tools, &exe, &none, &argv, &none, &ret);
	name_is_sound(&ret);
	tools_recognize(tools, &none, &filename, &argv, &none, &ret);
	name_is_sound(&ret);
	tools_recognize(tools, &none, &none, &argv, &comm, &ret);
	name_is_sound(&ret);
	tools_recognize(tools, &exe, &filename, &none, &comm, &ret);
	name_is_sound(&ret);
	free((void *)exe.ptr);
	free((void *)filename.ptr);
	free((void *)comm.ptr);
	free((void *)argv.ptr);
	return 0;
}
