/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/pidns.h - are the pids that this program reads from /proc the ones that the kernel reports to BPF programs?
 *
 * BPF programs see pids of the initial pid namespace.  In a container with a pid namespace of its own /proc has other
 * numbers: the same number is another process there, or no process.
 * Link libskep-probe or libskep-sink (pkg-config skep-probe, skep-sink).
 */
#ifndef SKEP_PIDNS_H
#define SKEP_PIDNS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SKEP_PID_NS_INITIAL 4026531836ull /* PROC_PID_INIT_INO, include/linux/proc_ns.h */

/* link: /proc/PID/ns/pid.  The namespace's number; 0: the link cannot be read. */
unsigned long long skep_pid_ns(const char *link);

/* procfs: where it is mounted.  True as well where it does not say: a process can always read its own link. */
bool skep_initial_pid_ns(const char *procfs);

#ifdef __cplusplus
}
#endif

#endif
