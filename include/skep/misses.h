/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/misses.h - how often the kernel skipped a program.  Link libskep-probe (pkg-config skep-probe).
 */
#ifndef SKEP_MISSES_H
#define SKEP_MISSES_H

#include <stdint.h>

struct bpf_program; /* <bpf/libbpf.h> */

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Times that the kernel skipped the program since it was loaded, because it was running on that CPU already: report
 * them as loss.  0 for a program that is not loaded, and before 5.12, where the kernel does not count them.
 */
uint64_t skep_fd_misses(int fd);

uint64_t skep_program_misses(const struct bpf_program *prog);

#ifdef __cplusplus
}
#endif

#endif
