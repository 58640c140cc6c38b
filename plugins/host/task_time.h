/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/host/task_time.h - the scheduler's own sum of what all tasks have run.
 */
#ifndef SKEP_HOST_TASK_TIME_H
#define SKEP_HOST_TASK_TIME_H

#define TASK_TIME_CPUS 64u /* that one run of the program adds up */

#ifndef __bpf__
#include "sdk/probe/text.h"

struct task_time;

/*
 * variable: the kernel has one that a program can read (struct cpu_accounting).  root: the
 * directory below which proc and sys are.  NULL: it cannot be had; *ret_why says why.
 */
struct task_time *task_time_new(bool variable, int root, struct text_buffer *, const char **ret_why);
struct task_time *task_time_free(struct task_time *);
/* Since the boot, in ns, over all CPUs. 0 or a negative errno. */
int task_time_read(struct task_time *, uint64_t *ret_ns);
/* How, for people. */
const char *task_time_how(const struct task_time *);

/* A line of mountinfo: is it the whole hierarchy of version 1's cpuacct? Then where it is. */
bool task_time_mount(struct text line, struct text *ret_path);
#endif

#endif
