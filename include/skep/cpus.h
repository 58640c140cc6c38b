/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/cpus.h - how many entries an array needs that a BPF program indexes by bpf_get_smp_processor_id().
 *
 * CPU numbers can have gaps: "0-3,8-11" in /sys/devices/system/cpu/possible (hot-plug slots, some firmware's tables).
 * libbpf_num_possible_cpus() counts CPUs, 8 there: the right length for values of per-CPU maps, which the kernel copies
 * without gaps (bpf_percpu_array_copy).  An array that is indexed by CPU number needs 12 entries there.
 * Link libskep-probe (pkg-config skep-probe).
 */
#ifndef SKEP_CPUS_H
#define SKEP_CPUS_H

#ifdef __cplusplus
extern "C" {
#endif

#define SKEP_CPUS_MAX 65536ul /* the kernel's NR_CPUS is 8192 at most */

/* Returns the highest number of a list such as "0-3,8-11", plus 1; -EINVAL: not a list.  Any thread. */
int skep_cpu_slots_of(const char *list);

/* Returns the number of entries that an array needs on this machine, or -errno.  Any thread. */
int skep_cpu_slots(void);

#ifdef __cplusplus
}
#endif

#endif
