/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/bench/many.c - N processes that sleep, until its standard input is closed. Prints "ready" when they are there.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000, started = 0;
	char c;

	setpgid(0, 0); /* the SIGTERM below is for this group only */

	for (; started < n; started++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
	printf("ready %ld\n", started);
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	while (wait(NULL) > 0)
		;
	return started == n ? 0 : 1;
}
