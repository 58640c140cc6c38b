/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/exact/storm.c - starts short processes at a given rate and adds up what wait4
 * says of each: the truth for a storm.
 *
 *   storm PROGRAM RATE SECONDS     prints {"processes": N, "cpu_us": SUM, "seconds": S}
 *
 * SIGTERM ends it earlier.
 * posix_spawn (vfork inside), one after the other; RATE 0: as fast as it goes.
 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static volatile sig_atomic_t over;

static void on_term(int sig)
{
	(void)sig;
	over = 1;
}

int main(int argc, char **argv)
{
	char *child[] = { argc > 1 ? argv[1] : NULL, (char *)"one", (char *)"two", (char *)"--three=3", NULL };
	double rate = argc > 2 ? atof(argv[2]) : 0, seconds = argc > 3 ? atof(argv[3]) : 0, begin = now();
	long long cpu_us = 0;
	long n = 0;

	if (argc != 4) {
		fprintf(stderr, "usage: storm PROGRAM RATE SECONDS\n");
		return 2;
	}
	signal(SIGTERM, on_term);
	while (!over && now() - begin < seconds) {
		struct rusage ru;
		pid_t pid;

		if (rate > 0 && (double)n / rate > now() - begin) {
			struct timespec nap = { 0, 200000 };

			nanosleep(&nap, NULL);
			continue;
		}
		errno = posix_spawn(&pid, argv[1], NULL, NULL, child, environ);
		if (errno || wait4(pid, NULL, 0, &ru) != pid) {
			perror("storm");
			return 1;
		}
		n++;
		cpu_us += (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000LL + ru.ru_utime.tv_usec +
			  ru.ru_stime.tv_usec;
	}
	printf("{\"processes\": %ld, \"cpu_us\": %lld, \"seconds\": %.3f}\n", n, cpu_us, now() - begin);
	return 0;
}
