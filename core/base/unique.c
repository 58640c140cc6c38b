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
	 * Waits until the kernel's generator is seeded, which since Linux 5.6 takes it a second at most. Of 8 bytes
	 * none is ever missing.
	 */
	do
		n = getrandom(&random, sizeof(random), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(random)) {
		/*
		 * Only a seccomp filter can do that. Any other number might be another host's, and merge its runs with
		 * ours.
		 */
		fprintf(stderr, "skep: getrandom: %s; allow that system call\n", strerror(errno));
		abort();
	}
	/*
	 * Where the hypervisor does not tell the kernel of a clone (VMGENID, Linux 5.18), clones of one snapshot get
	 * the same numbers until their generators are seeded anew, up to five minutes.  Their clocks differ by then.
	 */
	clock_gettime(CLOCK_REALTIME, &now);
	return random ^ ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) * UINT64_C(0x9e3779b97f4a7c15);
}
