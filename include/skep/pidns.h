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
#include <string.h>
#include <unistd.h>

/* procfs: where it is mounted.  True as well where it does not say: a process can always read its own link. */
static inline bool skep_initial_pid_ns(const char *procfs)
{
	char path[512], link[64];
	ssize_t n;

	snprintf(path, sizeof(path), "%.400s/self/ns/pid", procfs);
	n = readlink(path, link, sizeof(link) - 1);
	if (n < 0)
		return true;
	link[n] = '\0';
	return strcmp(link, "pid:[4026531836]") == 0; /* PROC_PID_INIT_INO, include/linux/proc_ns.h */
}

#endif
