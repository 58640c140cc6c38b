/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/cpus.c - counts the CPUs in the kernel's list, for maps with a value per CPU.
 */
#include <errno.h>
#include <skep/cpus.h>
#include <stdio.h>
#include <stdlib.h>

int skep_cpu_slots_of(const char *list)
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

int skep_cpu_slots(void)
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
