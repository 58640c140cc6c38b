/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/clock.c - boot time, its offset to the wall clock, the boot id.
 */
#include "core/base/clock.h"

#include <errno.h>
#include <skep/clock.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t realtime_ns(void)
{
	struct timespec ts = { 0 };

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

uint64_t clock_boot_ns(void)
{
	return skep_boot_ns();
}

uint64_t clock_realtime_ns(void)
{
	return (uint64_t)realtime_ns();
}

int64_t clock_realtime_offset_ns(void)
{
	int64_t best = INT64_MAX, offset = 0;

	/* No call reads two clocks at once.  Of a few brackets, the narrowest has the smallest error. */
	for (int i = 0; i < 8; i++) {
		int64_t before = (int64_t)skep_boot_ns();
		int64_t real = realtime_ns();
		int64_t width = (int64_t)skep_boot_ns() - before;

		if (width < best) {
			best = width;
			offset = real - (before + width / 2);
		}
	}
	return offset;
}

int clock_boot_id(char ret[CLOCK_BOOT_ID_SIZE])
{
	char text[64];
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
	size_t n;

	if (!f)
		return -errno;
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	if (n < CLOCK_BOOT_ID_SIZE - 1)
		return -EIO;
	memcpy(ret, text, CLOCK_BOOT_ID_SIZE - 1);
	ret[CLOCK_BOOT_ID_SIZE - 1] = '\0';
	return 0;
}
