/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/object_cast.c - replaces the calls of skep/cast.h by what this kernel has: bpf_rdonly_cast(), or nothing.
 *
 * The number of that function, and those of types, differ by kernel.  libbpf would find the function, but reads all of
 * the kernel's types for it, and 1.1 refuses an object whose function the kernel lacks.
 */
#include "sdk/probe/object_types.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <skep/cast.h>
#include <skep/types.h>
#include <stdlib.h>
#include <string.h>

#define IS(type_) { SKEP_CAST_##type_, #type_ }
static const struct {
	int32_t number;
	const char *name;
} casts[] = { IS(task_struct), IS(request) };

/* Which machines can call functions of the kernel has changed with time; these two could before the function came. */
static uint32_t function(const struct skep_kernel_types *types)
{
#if defined(__x86_64__) || defined(__aarch64__)
	return skep_types_find(types, "bpf_rdonly_cast", BTF_KIND_FUNC);
#else
	(void)types;
	return 0;
#endif
}

/* r2 = number of the type */
static bool is_number(const struct bpf_insn *insn)
{
	return insn->code == (BPF_ALU64 | BPF_MOV | BPF_K) || insn->code == (BPF_ALU | BPF_MOV | BPF_K);
}

static bool is_call(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == 0 && insn->imm == SKEP_CAST;
}

static void replace(const struct skep_kernel_types *types, uint32_t cast, struct bpf_insn *insn)
{
	if (is_call(insn) && cast)
		*insn = (struct bpf_insn){ .code = BPF_JMP | BPF_CALL,
					   .src_reg = BPF_PSEUDO_KFUNC_CALL,
					   .imm = (int32_t)cast };
	else if (is_call(insn)) /* r0 = r1 */
		*insn = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 0, .src_reg = 1 };
	for (size_t i = 0; is_number(insn) && i < sizeof(casts) / sizeof(casts[0]); i++)
		if (insn->imm == casts[i].number)
			insn->imm = (int32_t)skep_types_find(types, casts[i].name, BTF_KIND_STRUCT);
}

static int replace_in(const struct skep_kernel_types *types, struct bpf_program *program)
{
	const struct bpf_insn *before = bpf_program__insns(program);
	size_t n = bpf_program__insn_cnt(program);
	struct bpf_insn *insns = NULL;
	uint32_t cast = 0;
	int err = 0;

	for (size_t i = 0; i < n && !insns; i++)
		if (is_call(&before[i])) {
			insns = malloc(n * sizeof(*insns));
			if (!insns)
				return -ENOMEM;
		}
	if (!insns)
		return 0;
	memcpy(insns, before, n * sizeof(*insns));
	cast = function(types);
	for (size_t i = 0; i < n; i++)
		replace(types, cast, &insns[i]);
	err = bpf_program__set_insns(program, insns, n);
	free(insns);
	return err;
}

int skep_object_cast(const struct skep_kernel_types *types, struct bpf_object *object)
{
	struct bpf_program *program;
	int err = 0;

	bpf_object__for_each_program(program, object)
		if (!err && bpf_program__autoload(program))
			err = replace_in(types, program);
	return err;
}
