/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/misses.c - asks the kernel how often it skipped a program.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <skep/misses.h>

uint64_t skep_fd_misses(int fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		return 0;
	return info.recursion_misses;
}

uint64_t skep_program_misses(const struct bpf_program *prog)
{
	return skep_fd_misses(bpf_program__fd(prog));
}
