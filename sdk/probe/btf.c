/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/btf.c - looks up tracepoints, functions and members in the kernel's type information.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <skep/btf.h>
#include <stdio.h>
#include <string.h>

int skep_btf_load(struct skep_instance *inst, const struct skep_host *host, struct btf **ret)
{
	struct btf *btf = btf__load_vmlinux_btf();

	if (!btf)
		return (host->fail)(
			inst, -EOPNOTSUPP,
			"the kernel carries no type information (/sys/kernel/btf/vmlinux): "
			"needs CONFIG_DEBUG_INFO_BTF, which distributions have had since 5.8");
	*ret = btf;
	return 0;
}

int skep_btf_need(struct skep_instance *inst, const struct skep_host *host, const struct btf *btf,
		  const char *const tracepoints[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!skep_btf_has_tracepoint(btf, tracepoints[i]))
			return (host->fail)(inst, -EOPNOTSUPP, "the kernel has no tracepoint %s", tracepoints[i]);
	return 0;
}

/* Returns the id of a tracepoint's BTF type, a typedef of a pointer to a function, or < 0. */
static int tracepoint_id(const struct btf *btf, const char *name)
{
	char type[128];

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	return btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF);
}

bool skep_btf_has_tracepoint(const struct btf *btf, const char *name)
{
	return tracepoint_id(btf, name) >= 0;
}

bool skep_btf_has_function(const struct btf *btf, const char *name)
{
	return btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) >= 0;
}

/* True when the struct or enum has a member of that name. */
static bool has_name(const struct btf *btf, const char *type, uint32_t kind, const char *name)
{
	int id = btf__find_by_name_kind(btf, type, kind);
	const struct btf_type *t = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);

	for (uint32_t i = 0; t && i < btf_vlen(t); i++) {
		uint32_t at = btf_is_enum(t) ? btf_enum(t)[i].name_off : btf_members(t)[i].name_off;

		if (strcmp(btf__name_by_offset(btf, at), name) == 0)
			return true;
	}
	return false;
}

bool skep_btf_has_member(const struct btf *btf, const char *type, const char *member)
{
	return has_name(btf, type, BTF_KIND_STRUCT, member);
}

bool skep_btf_has_helper(const struct btf *btf, const char *name)
{
	return has_name(btf, "bpf_func_id", BTF_KIND_ENUM, name);
}

/* Returns the function type of a tracepoint, or NULL. Its first parameter is the tracepoint's own void *. */
static const struct btf_type *function_of(const struct btf *btf, const char *tracepoint)
{
	int id = tracepoint_id(btf, tracepoint);
	const struct btf_type *t;

	if (id < 0)
		return NULL;
	t = btf__type_by_id(btf, btf__type_by_id(btf, (uint32_t)id)->type); /* pointer */
	t = btf__type_by_id(btf, t->type);                                  /* function */
	return btf_is_func_proto(t) && btf_vlen(t) >= 1 ? t : NULL;
}

int skep_btf_arguments(const struct btf *btf, const char *tracepoint)
{
	const struct btf_type *f = function_of(btf, tracepoint);

	return f ? btf_vlen(f) - 1 : -ENOENT;
}

static const struct btf_type *argument(const struct btf *btf, const struct btf_type *f, unsigned i)
{
	return f && i + 1 < btf_vlen(f) ? btf__type_by_id(btf, btf_params(f)[i + 1].type) : NULL;
}

bool skep_btf_argument_is_pointer(const struct btf *btf, const char *tracepoint, unsigned i)
{
	const struct btf_type *t = argument(btf, function_of(btf, tracepoint), i);

	return t && btf_is_ptr(t);
}

int skep_btf_argument(const struct btf *btf, const char *tracepoint, const char *type)
{
	const struct btf_type *f = function_of(btf, tracepoint), *t;

	for (unsigned i = 0; (t = argument(btf, f, i)); i++) {
		if (!btf_is_ptr(t))
			continue;
		t = btf__type_by_id(btf, t->type);
		while (btf_is_mod(t))
			t = btf__type_by_id(btf, t->type);
		if (btf_is_struct(t) && strcmp(btf__name_by_offset(btf, t->name_off), type) == 0)
			return (int)i;
	}
	return -ENOENT;
}
