/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/misses.h - how often a program was not run.  Include <bpf/bpf.h> and <bpf/libbpf.h> before it.
 */
#ifndef SKEP_MISSES_H
#define SKEP_MISSES_H

#include <stdint.h>

/*
 * Times that the kernel skipped it since it was loaded, because it was running on that CPU already:
 * to be told as loss.  0 for a program that is not loaded, and before 5.12, where the kernel does not say.
 */
static inline uint64_t skep_fd_misses(int fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		return 0;
	return info.recursion_misses;
}

static inline uint64_t skep_program_misses(const struct bpf_program *prog)
{
	return skep_fd_misses(bpf_program__fd(prog));
}

#endif
