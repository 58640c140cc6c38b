/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/clock.h - the one clock of all records (CLOCK_BOOTTIME, as task_struct.start_boottime) and its offset to
 * the wall clock.  Any thread may call it.
 */
#ifndef SKEP_CORE_CLOCK_H
#define SKEP_CORE_CLOCK_H

#include <stdint.h>

#define CLOCK_BOOT_ID_SIZE 37

uint64_t clock_boot_ns(void);
uint64_t clock_realtime_ns(void); /* since 1970 */
/* CLOCK_REALTIME = boot time + this. */
int64_t clock_realtime_offset_ns(void);
/* The 36 characters of /proc/sys/kernel/random/boot_id; 0 or -errno. */
int clock_boot_id(char ret[CLOCK_BOOT_ID_SIZE]);

#endif
