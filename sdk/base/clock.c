/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/base/clock.c - the kernel's clocks, in any time namespace.
 */
#include <pthread.h>
#include <skep/clock.h>
#include <skep/namespaces.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* What our time namespace adds. */
static int64_t monotonic, boottime;
static int64_t start; /* to field 22 of /proc/PID/stat: do_task_stat() adds it since 5.11 */

static void read_shifts(void)
{
	char line[128], name[32];
	unsigned major, minor;
	struct utsname kernel;
	long long s, ns;
	FILE *f;

	if (skep_namespace_is_initial(SKEP_NAMESPACE_TIME))
		return;
	f = fopen("/proc/self/timens_offsets", "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%31s %lld %lld", name, &s, &ns) == 3)
			*(strcmp(name, "boottime") == 0 ? &boottime : &monotonic) = (int64_t)(s * 1000000000 + ns);
	if (f)
		fclose(f);
	if (uname(&kernel) == 0 && sscanf(kernel.release, "%u.%u", &major, &minor) == 2 &&
	    (major > 5 || (major == 5 && minor >= 11)))
		start = boottime;
}

/* A process enters a time namespace by fork or exec, never later: setns() refuses a process with threads. */
static uint64_t unshifted(clockid_t clock, const int64_t *shift)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct timespec ts;

	pthread_once(&once, read_shifts);
	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec - (uint64_t)*shift;
}

uint64_t skep_boot_ns(void)
{
	return unshifted(CLOCK_BOOTTIME, &boottime);
}

uint64_t skep_monotonic_ns(void)
{
	return unshifted(CLOCK_MONOTONIC, &monotonic);
}

uint64_t skep_start_ticks(uint64_t start_ns)
{
	(void)skep_boot_ns(); /* reads the shift */
	return (start_ns + (uint64_t)start) / (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}
