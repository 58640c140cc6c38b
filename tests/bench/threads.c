/* SPDX-License-Identifier: Apache-2.0 */
/* tests/bench/threads.c - creates and joins N threads, one after the other. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *nothing(void *arg)
{
	return arg;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 50000;

	for (long i = 0; i < n; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, nothing, NULL) || pthread_join(t, NULL)) {
			perror("threads");
			return 1;
		}
	}
	return 0;
}
