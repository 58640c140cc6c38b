/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/pidns.h - are the pids that this program reads from /proc the ones that the kernel reports to BPF programs?
 *
 * BPF programs see pids of the initial pid namespace.  In a container with a pid namespace of its own /proc has other
 * numbers: the same number is another process there, or no process.
 */
#ifndef SKEP_PIDNS_H
#define SKEP_PIDNS_H

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define SKEP_PID_NS_INITIAL 4026531836ull /* PROC_PID_INIT_INO, include/linux/proc_ns.h */

/* link: /proc/PID/ns/pid.  The namespace's number; 0: the link cannot be read. */
static inline unsigned long long skep_pid_ns(const char *link)
{
	unsigned long long number = 0;
	char text[64];
	ssize_t n = readlink(link, text, sizeof(text) - 1);

	if (n < 0)
		return 0;
	text[n] = '\0';
	return sscanf(text, "pid:[%llu]", &number) == 1 ? number : 0;
}

/* procfs: where it is mounted.  True as well where it does not say: a process can always read its own link. */
static inline bool skep_initial_pid_ns(const char *procfs)
{
	unsigned long long number;
	char path[512];

	snprintf(path, sizeof(path), "%.400s/self/ns/pid", procfs);
	number = skep_pid_ns(path);
	return number == 0 || number == SKEP_PID_NS_INITIAL;
}

#endif
