/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/skeleton.h - opens one of two BPF objects that differ in code only, with one skeleton.
 */
#ifndef SKEP_SKELETON_H
#define SKEP_SKELETON_H

#include <stdlib.h>

/*
 * Defines `static struct NAME_bpf *function(void)`, which opens the object of OTHER with the
 * skeleton of NAME: programs and maps have the same names in both.  Loop thread.  The caller
 * owns the object, for NAME_bpf__destroy(); NULL: no memory, or libbpf refused it.  Include both
 * skeletons before.
 */
#define SKEP_SKELETON_OF(function_, name_, other_)                                                 \
	static struct name_##_bpf *function_(void)                                                 \
	{                                                                                          \
		struct name_##_bpf *bpf = calloc(1, sizeof(*bpf));                                 \
                                                                                                   \
		if (!bpf)                                                                          \
			return NULL;                                                               \
		if (name_##_bpf__create_skeleton(bpf))                                             \
			goto out;                                                                  \
		bpf->skeleton->data = (void *)other_##_bpf__elf_bytes(&bpf->skeleton->data_sz);    \
		if (!bpf_object__open_skeleton(bpf->skeleton, NULL))                               \
			return bpf;                                                                \
	out:                                                                                       \
		name_##_bpf__destroy(bpf);                                                         \
		return NULL;                                                                       \
	}

#endif
