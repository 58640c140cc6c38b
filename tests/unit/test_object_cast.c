/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/object_cast.c, on the programs of the probe proc and on types that the test makes.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <setjmp.h>
#include <skep/cast.h>
#include <skep/types.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plugins/proc/proc.h"
#include "plugins/proc/proc.skel.h"
#include "sdk/probe/object_types.h"

/* The object's instructions with that code, these registers and that number. */
static size_t count(const struct bpf_object *object, __u8 code, unsigned to, unsigned from, __s32 number)
{
	struct bpf_program *program;
	size_t found = 0;

	bpf_object__for_each_program(program, object)
		for (size_t i = 0; i < bpf_program__insn_cnt(program); i++) {
			const struct bpf_insn *insn = &bpf_program__insns(program)[i];

			found += insn->code == code && insn->dst_reg == to && insn->src_reg == from &&
				 insn->imm == number;
		}
	return found;
}

static size_t calls(const struct bpf_object *object, unsigned kind, __s32 number)
{
	return count(object, BPF_JMP | BPF_CALL, 0, kind, number);
}

/* of that number as the second argument */
static size_t arguments(const struct bpf_object *object, __s32 number)
{
	return count(object, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, number) +
	       count(object, BPF_ALU | BPF_MOV | BPF_K, BPF_REG_2, 0, number);
}

/* A program gives up the kernel's trust in a pointer by the kernel's function where there is one, else keeps it. */
static void casts(void **state)
{
	for (int has = 0; has < 2; has++) {
		struct proc_bpf *bpf = proc_bpf__open();
		struct btf *btf = btf__new_empty();
		struct skep_kernel_types *kernel;
		__s32 cast = 0, task;
		const void *raw;
		uint32_t size;
		size_t before;

		(void)state;
		assert_true(bpf && btf);
		task = btf__add_struct(btf, "task_struct", 4);
		if (has)
			cast = btf__add_func(btf, "bpf_rdonly_cast", BTF_FUNC_GLOBAL, btf__add_func_proto(btf, 0));
		raw = btf__raw_data(btf, &size);
		assert_non_null(raw);
		assert_int_equal(skep_types_of(raw, size, &kernel), 0);
		before = calls(bpf->obj, 0, SKEP_CAST);
		assert_true(before > 0);
		assert_int_equal(skep_object_cast(kernel, bpf->obj), 0);
		assert_int_equal(calls(bpf->obj, 0, SKEP_CAST), 0);
#if defined(__x86_64__) || defined(__aarch64__)
		assert_int_equal(calls(bpf->obj, BPF_PSEUDO_KFUNC_CALL, cast), has ? before : 0);
#endif
		assert_true(arguments(bpf->obj, task) >= before);
		assert_int_equal(arguments(bpf->obj, SKEP_CAST_task_struct), 0);
		skep_types_free(kernel);
		btf__free(btf);
		proc_bpf__destroy(bpf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(casts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
