/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/base/pidns.c - reads the number of a pid namespace.
 */
#include <skep/pidns.h>
#include <stdio.h>
#include <unistd.h>

unsigned long long skep_pid_ns(const char *link)
{
	unsigned long long number = 0;
	char text[64];
	ssize_t n = readlink(link, text, sizeof(text) - 1);

	if (n < 0)
		return 0;
	text[n] = '\0';
	return sscanf(text, "pid:[%llu]", &number) == 1 ? number : 0;
}

bool skep_initial_pid_ns(const char *procfs)
{
	unsigned long long number;
	char path[512];

	snprintf(path, sizeof(path), "%.400s/self/ns/pid", procfs);
	number = skep_pid_ns(path);
	return number == 0 || number == SKEP_PID_NS_INITIAL;
}
