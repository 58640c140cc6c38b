/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/pidns.c - see cli/run/pidns.h.
 *
 * BPF programs see pids of the initial pid namespace, and no system call gives a process its own pid there.  So CMD
 * itself runs a BPF program, before it executes its program: BPF_PROG_TEST_RUN runs a raw tracepoint program in the
 * calling process (Linux 5.10).
 */
#include "cli/run/pidns.h"

#include <errno.h>
#include <linux/bpf.h>
#include <skep/pidns.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int pidns_open(int *ret)
{
	/* r0 = bpf_get_current_pid_tgid() >> 32 */
	const struct bpf_insn program[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_current_pid_tgid },
		{ .code = BPF_ALU64 | BPF_RSH | BPF_K, .dst_reg = BPF_REG_0, .imm = 32 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	union bpf_attr attr;
	int fd;

	if (skep_initial_pid_ns("/proc")) {
		*ret = -1;
		return 0;
	}
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	attr.insns = (uintptr_t)program;
	attr.insn_cnt = sizeof(program) / sizeof(program[0]);
	attr.license = (uintptr_t) "Apache-2.0"; /* calls no GPL-only helper */
	fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr)); /* always with close-on-exec */
	/* Before 5.11 the kernel charges this to RLIMIT_MEMLOCK, for all processes of the user. */
	if (fd < 0 && errno == EPERM && setrlimit(RLIMIT_MEMLOCK, &all) == 0)
		fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	if (fd < 0)
		return -errno;
	*ret = fd;
	return 0;
}

int pidns_self(int fd, uint32_t *ret)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = (uint32_t)fd;
	if (syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr)) < 0)
		return -errno;
	*ret = attr.test.retval;
	return 0;
}
