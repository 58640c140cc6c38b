/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/host/task_time.h - CPU time of all tasks, kernel threads too, as the scheduler sums it.
 */
#ifndef SKEP_HOST_TASK_TIME_H
#define SKEP_HOST_TASK_TIME_H

/* numbers of CPUs for which one run of the program adds up the sums; the run has a bit for each CPU that exists */
#define TASK_TIME_CPUS 64u

#ifndef __bpf__
#include <skep/mountinfo.h>

struct task_time;

/*
 * variable: a BPF program can read the kernel's variable (struct cpu_accounting.task_time).  root: the folder with proc
 * and sys.  NULL: this kernel offers no source, or skepd lacks the privilege; *ret_why is the reason.
 */
struct task_time *task_time_new(bool variable, int root, const char **ret_why);
struct task_time *task_time_free(struct task_time *);
/* Since the boot, in ns, over all CPUs. 0 or a negative errno. */
int task_time_read(struct task_time *, uint64_t *ret_ns);
/* The source, for the signal's text. */
const char *task_time_how(const struct task_time *);

/* true: the whole hierarchy of cgroup v1's cpuacct */
bool task_time_mount(const struct skep_mount *);
/* Which of TASK_TIME_CPUS numbers from `first` on are in a list such as "0-3,8-11" (skep/cpus.h)? Bit 0: `first`. */
uint64_t task_time_cpus(const char *list, uint64_t first);
#endif

#endif
