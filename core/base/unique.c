/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/unique.c - 64 random bits.
 */
#include "core/base/unique.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

uint64_t unique_u64(void)
{
	struct timespec now = { 0 };
	uint64_t random;
	ssize_t n;

	/*
	 * getrandom() waits until the kernel's generator is seeded, a second at most since Linux 5.6.  It never returns
	 * fewer than 8 bytes.
	 */
	do
		n = getrandom(&random, sizeof(random), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(random)) {
		/*
		 * Only a seccomp filter can refuse this call.  Any other number might be another host's, and would
		 * merge its runs with this host's.
		 */
		fprintf(stderr, "skep: getrandom: %s; allow that system call\n", strerror(errno));
		abort();
	}
	/*
	 * If the hypervisor does not announce a clone to the kernel (VMGENID, Linux 5.18), clones of one snapshot get
	 * the same numbers until the kernel seeds their generators again, up to five minutes.  Their clocks differ by
	 * then.
	 */
	clock_gettime(CLOCK_REALTIME, &now);
	return random ^ ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) * UINT64_C(0x9e3779b97f4a7c15);
}
