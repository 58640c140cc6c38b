/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/base/types_ask.c - looks up tracepoints, functions and members in the kernel's type information.
 */
#include <errno.h>
#include <linux/btf.h>
#include <skep/types.h>
#include <stdio.h>
#include <string.h>

static const char *section(const struct skep_kernel_types *types, uint32_t offset)
{
	const struct btf_header *h = types->btf;

	return (const char *)types->btf + h->hdr_len + offset;
}

const struct btf_type *skep_types_at(const struct skep_kernel_types *types, uint32_t id)
{
	const struct btf_header *h = types->btf;

	return (const void *)(section(types, h->type_off) + types->offsets[id]);
}

const char *skep_types_text(const struct skep_kernel_types *types, uint32_t offset)
{
	const struct btf_header *h = types->btf;

	return offset < h->str_len ? section(types, h->str_off) + offset : "";
}

static uint32_t kind_of(const struct btf_type *t)
{
	return BTF_INFO_KIND(t->info);
}

uint32_t skep_types_find(const struct skep_kernel_types *types, const char *name, uint32_t kind)
{
	const uint32_t len = (uint32_t)strlen(name);
	uint32_t id = 0;

	do
		id = types->next(types, name, len, id);
	while (id && kind_of(skep_types_at(types, id)) != kind);
	return id;
}

/* Id of a tracepoint's type, a typedef of a pointer to a function, or 0. */
static uint32_t tracepoint_id(const struct skep_kernel_types *types, const char *name)
{
	char type[128];

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	return skep_types_find(types, type, BTF_KIND_TYPEDEF);
}

bool skep_types_has_tracepoint(const struct skep_kernel_types *types, const char *name)
{
	return tracepoint_id(types, name) != 0;
}

bool skep_types_has_function(const struct skep_kernel_types *types, const char *name)
{
	return skep_types_find(types, name, BTF_KIND_FUNC) != 0;
}

bool skep_types_has_member(const struct skep_kernel_types *types, const char *type, const char *member)
{
	uint32_t id = skep_types_find(types, type, BTF_KIND_STRUCT);
	const struct btf_type *t = id ? skep_types_at(types, id) : NULL;
	const struct btf_member *m = t ? (const void *)(t + 1) : NULL;

	for (uint32_t i = 0; t && i < BTF_INFO_VLEN(t->info); i++)
		if (strcmp(skep_types_text(types, m[i].name_off), member) == 0)
			return true;
	return false;
}

bool skep_types_has_helper(const struct skep_kernel_types *types, const char *name)
{
	uint32_t id = skep_types_find(types, "bpf_func_id", BTF_KIND_ENUM);
	const struct btf_type *t = id ? skep_types_at(types, id) : NULL;
	const struct btf_enum *e = t ? (const void *)(t + 1) : NULL;

	for (uint32_t i = 0; t && i < BTF_INFO_VLEN(t->info); i++)
		if (strcmp(skep_types_text(types, e[i].name_off), name) == 0)
			return true;
	return false;
}

/* The type that this one refers to, NULL for void. */
static const struct btf_type *referred(const struct skep_kernel_types *types, const struct btf_type *t)
{
	return t->type > 0 && t->type < types->count ? skep_types_at(types, t->type) : NULL;
}

/* The function type of a tracepoint, or NULL.  Its first parameter is the tracepoint's own void *. */
static const struct btf_type *function_of(const struct skep_kernel_types *types, const char *tracepoint)
{
	uint32_t id = tracepoint_id(types, tracepoint);
	const struct btf_type *t = id ? referred(types, skep_types_at(types, id)) : NULL; /* pointer */

	t = t && kind_of(t) == BTF_KIND_PTR ? referred(types, t) : NULL;
	return t && kind_of(t) == BTF_KIND_FUNC_PROTO && BTF_INFO_VLEN(t->info) >= 1 ? t : NULL;
}

int skep_types_arguments(const struct skep_kernel_types *types, const char *tracepoint)
{
	const struct btf_type *f = function_of(types, tracepoint);

	return f ? (int)BTF_INFO_VLEN(f->info) - 1 : -ENOENT;
}

/* The pointer that is argument i, or NULL. */
static const struct btf_type *pointer(const struct skep_kernel_types *types, const struct btf_type *f, unsigned i)
{
	const struct btf_param *p;
	const struct btf_type *t;

	if (!f || i + 1 >= BTF_INFO_VLEN(f->info))
		return NULL;
	p = (const void *)(f + 1);
	if (p[i + 1].type == 0 || p[i + 1].type >= types->count)
		return NULL;
	t = skep_types_at(types, p[i + 1].type);
	return kind_of(t) == BTF_KIND_PTR ? t : NULL;
}

bool skep_types_argument_is_pointer(const struct skep_kernel_types *types, const char *tracepoint, unsigned i)
{
	return pointer(types, function_of(types, tracepoint), i) != NULL;
}

static bool qualifies(uint32_t kind)
{
	return kind == BTF_KIND_CONST || kind == BTF_KIND_VOLATILE || kind == BTF_KIND_RESTRICT ||
	       kind == BTF_KIND_TYPE_TAG;
}

int skep_types_argument(const struct skep_kernel_types *types, const char *tracepoint, const char *type)
{
	const struct btf_type *f = function_of(types, tracepoint), *t;

	for (unsigned i = 0; f && i + 1 < BTF_INFO_VLEN(f->info); i++) {
		t = pointer(types, f, i);
		t = t ? referred(types, t) : NULL;
		while (t && qualifies(kind_of(t)))
			t = referred(types, t);
		if (t && kind_of(t) == BTF_KIND_STRUCT && strcmp(skep_types_text(types, t->name_off), type) == 0)
			return (int)i;
	}
	return -ENOENT;
}
