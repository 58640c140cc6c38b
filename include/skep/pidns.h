/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/pidns.h - checks whether /proc of this program has the same pids that the kernel reports to BPF programs.
 *
 * BPF programs see pids of the initial pid namespace.  In a container with a pid namespace of its own, /proc has other
 * pids: there the same number is another process, or none.
 * Link libskep-probe or libskep-sink (pkg-config skep-probe, skep-sink).
 */
#ifndef SKEP_PIDNS_H
#define SKEP_PIDNS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SKEP_PID_NS_INITIAL 4026531836ull /* PROC_PID_INIT_INO, include/linux/proc_ns.h */

/* link: /proc/PID/ns/pid.  Returns the namespace's number; 0: the link cannot be read.  Any thread. */
unsigned long long skep_pid_ns(const char *link);

/*
 * procfs: its mount point.  Is its pid namespace the initial one?  Also true without a readable link: a process can
 * always read its own link.  Any thread.
 */
bool skep_initial_pid_ns(const char *procfs);

#ifdef __cplusplus
}
#endif

#endif
