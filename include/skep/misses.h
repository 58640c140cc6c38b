/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/misses.h - counts how often the kernel skipped a BPF program.  Link libskep-probe (pkg-config skep-probe).  Any
 * thread.
 */
#ifndef SKEP_MISSES_H
#define SKEP_MISSES_H

#include <stdint.h>

struct bpf_program; /* <bpf/libbpf.h> */

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Returns how often the kernel skipped the program since it was loaded, because the program was already running on that
 * CPU: report these events as loss.  0 for a program that is not loaded, and before 5.12, as the kernel does not count.
 */
uint64_t skep_fd_misses(int fd);

uint64_t skep_program_misses(const struct bpf_program *prog);

#ifdef __cplusplus
}
#endif

#endif
