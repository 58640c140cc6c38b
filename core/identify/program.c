/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/program.c - creates and releases reference-counted programs, one allocation each.
 */
#include "core/identify/program.h"

#include <stdlib.h>
#include <string.h>

struct program *program_new(struct intern *in, const struct skep_str *exe, const struct skep_str *filename,
			    const struct skep_str *argv, const char *tool, bool wrapper)
{
	uint32_t len = argv->ptr ? argv->len : 0;
	struct program *p = malloc(sizeof(*p) + len);

	if (!p)
		return NULL;
	p->refs = 1;
	p->wrapper = wrapper;
	p->exe_size_bytes = p->exe_modified_ns = p->saved = 0;
	p->exe = intern_get(in, exe);
	p->filename = intern_get(in, filename);
	p->tool = intern_text(in, tool);
	p->argv_len = len;
	p->argv_total = argv->total > len ? argv->total : len;
	if (len > 0)
		memcpy(p->argv, argv->ptr, len);
	return p;
}

struct program *program_ref(struct program *p)
{
	if (p)
		p->refs++;
	return p;
}

void program_unref(struct intern *in, struct program *p)
{
	if (!p || --p->refs > 0)
		return;
	intern_unref(in, p->exe);
	intern_unref(in, p->filename);
	intern_unref(in, p->tool);
	free(p);
}
