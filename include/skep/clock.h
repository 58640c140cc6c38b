/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/clock.h - the kernel's clocks, as BPF programs and records have them.
 *
 * A time namespace (Linux 5.6; a container may have one) shifts CLOCK_BOOTTIME, CLOCK_MONOTONIC and, since 5.11, the
 * start times in /proc for its processes, but no time that a BPF program reads.  These functions take the shift of our
 * own time namespace off.  Any thread.
 * Link libskep-probe or libskep-sink (pkg-config skep-probe, skep-sink).
 */
#ifndef SKEP_CLOCK_H
#define SKEP_CLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The clock of all records: bpf_ktime_get_boot_ns(), task_struct.start_boottime. */
uint64_t skep_boot_ns(void);
/* bpf_ktime_get_ns(): stands still while the host is suspended. */
uint64_t skep_monotonic_ns(void);
/* The start time that /proc/PID/stat (field 22) shows us for a process with that start_boottime: USER_HZ ticks. */
uint64_t skep_start_ticks(uint64_t start_ns);

#ifdef __cplusplus
}
#endif

#endif
