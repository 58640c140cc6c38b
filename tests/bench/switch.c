/* SPDX-License-Identifier: Apache-2.0 */
/* tests/bench/switch.c - ROUNDS round trips of a byte between two processes on one CPU: two context switches each. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 100000;
	int there[2], back[2];
	cpu_set_t one;
	char c = 0;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (sched_setaffinity(0, sizeof(one), &one) || pipe(there) || pipe(back)) {
		perror("switch");
		return 1;
	}
	if (fork() == 0) {
		for (long i = 0; i < rounds; i++)
			if (read(there[0], &c, 1) != 1 || write(back[1], &c, 1) != 1)
				_exit(1);
		_exit(0);
	}
	for (long i = 0; i < rounds; i++)
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			return 1;
	wait(NULL);
	return 0;
}
