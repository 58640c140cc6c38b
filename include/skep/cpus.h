/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/cpus.h - how many entries an array needs that a BPF program indexes by bpf_get_smp_processor_id().
 *
 * CPU numbers can have gaps: "0-3,8-11" in /sys/devices/system/cpu/possible (hot-plug slots, some firmware's tables).
 * libbpf_num_possible_cpus() counts CPUs, 8 there: the right length for values of per-CPU maps, which the kernel copies
 * without gaps (bpf_percpu_array_copy).  An array that is indexed by CPU number needs 12 entries there.
 */
#ifndef SKEP_CPUS_H
#define SKEP_CPUS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SKEP_CPUS_MAX 65536ul /* the kernel's NR_CPUS is 8192 at most */

/* Of a list as in that file: its highest number plus 1. -EINVAL: not such a list. */
static inline int skep_cpu_slots_of(const char *list)
{
	unsigned long highest = 0;

	do {
		char *end;
		unsigned long first, last;

		if (*list < '0' || *list > '9')
			return -EINVAL;
		first = last = strtoul(list, &end, 10);
		if (*end == '-') {
			list = end + 1;
			if (*list < '0' || *list > '9')
				return -EINVAL;
			last = strtoul(list, &end, 10);
		}
		if (first > last || last >= SKEP_CPUS_MAX)
			return -EINVAL;
		if (last > highest)
			highest = last;
		list = end;
	} while (*list++ == ',');
	return list[-1] == '\0' || list[-1] == '\n' ? (int)highest + 1 : -EINVAL;
}

/* Of this machine; or -errno. */
static inline int skep_cpu_slots(void)
{
	char list[4096];
	FILE *f = fopen("/sys/devices/system/cpu/possible", "re");
	int n;

	if (!f)
		return -errno;
	n = fgets(list, sizeof(list), f) ? skep_cpu_slots_of(list) : -EIO;
	fclose(f);
	return n;
}

#endif
