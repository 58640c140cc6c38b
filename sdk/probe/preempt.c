/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/preempt.c - reads from BTF whether the kernel preempts tracepoint programs.
 */
#include <bpf/btf.h>
#include <skep/preempt.h>
#include <skep/types.h>

bool skep_kernel_preempts_programs(const struct btf *vmlinux)
{
	return btf__find_by_name_kind(vmlinux, "tracepoint_srcu_srcu_data", BTF_KIND_VAR) > 0 &&
	       btf__find_by_name_kind(vmlinux, "srcu_ctr", BTF_KIND_STRUCT) > 0;
}

bool skep_types_preempt_programs(const struct skep_kernel_types *types)
{
	return skep_types_find(types, "tracepoint_srcu_srcu_data", BTF_KIND_VAR) &&
	       skep_types_find(types, "srcu_ctr", BTF_KIND_STRUCT);
}
