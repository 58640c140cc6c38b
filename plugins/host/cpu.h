/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/cpu.h - /proc/stat, and CPU time between two readings of it.
 */
#ifndef SKEP_HOST_CPU_H
#define SKEP_HOST_CPU_H

#include "host.h"
#include "sdk/probe/text.h"

#define CPU_MOST 8192u /* NR_CPUS is at most this on any kernel */

struct cpu_line {
	bool online;
	uint64_t ticks[CPU_MODES];
};

struct cpu_snapshot {
	uint64_t mono_ns, boot_ns; /* just before the file was read */
	uint64_t took_ns;          /* reading took so long */
	uint64_t task_ns;          /* CPU time of all tasks since the boot, by the scheduler; 0: unknown */
	uint64_t total[CPU_MODES]; /* in ticks, over all possible CPUs, offline ones too */
	uint32_t online;
	uint32_t n, room;          /* cpu[0..n) */
	struct cpu_line *cpu;
};

/* The lines of /proc/stat that count for the whole machine. */
struct cpu_counts {
	uint64_t interrupts, switches, created, running, blocked;
};

/* Differences between two snapshots, in ns. */
struct cpu_delta {
	uint64_t elapsed_ns;
	uint32_t cpus;  /* online in both */
	bool changed;   /* a CPU went online or offline: times are of the CPUs in both */
	bool odd;       /* idle time is negative or exceeds elapsed time: the account leaves the interval out */
	int64_t time_ns[CPU_MODES]; /* negative if a counter went back (iowait does) */
	bool task_known;  /* task_ns is valid */
	int64_t task_ns;
};

/* The account "cpu" since the probe began: ns. */
struct cpu_ledger {
	bool irq_is_part, steal_is_part; /* tasks' run time does not include them */
	bool irq_ended; /* from now on it does: irq stays as it is */
	int64_t capacity, idle, irq, steal;
	/* CPUs that are neither asleep nor on a task: interrupts, softirqs, the way out of sleep and into it */
	int64_t wakeup;
};

/* 0; -EBADMSG when the line of all CPUs or all lines of single CPUs are missing; -ENOMEM. */
int cpu_parse(struct text, struct cpu_snapshot *, struct cpu_counts *, uint64_t *ret_bad);
void cpu_snapshot_free(struct cpu_snapshot *);
void cpu_difference(const struct cpu_snapshot *before, const struct cpu_snapshot *now, uint64_t tick_ns,
		    struct cpu_delta *ret);
void cpu_account(struct cpu_ledger *, const struct cpu_delta *);

/* account.c: how this kernel counts, by its types (BTF) and its command line. */
struct cpu_accounting {
	bool known;     /* this kernel has BTF */
	bool irq_time;  /* CONFIG_IRQ_TIME_ACCOUNTING */
	bool steal_time; /* CONFIG_PARAVIRT_TIME_ACCOUNTING */
	bool tickless;  /* CONFIG_NO_HZ_COMMON */
	bool task_time;   /* a BPF program can read root_cpuacct_cpuusage: task_time.h */
	bool irq_time_off; /* switched off by the command line or an unstable TSC */
	bool tickless_off;
};
/* root: descriptor of the option root; btf_path: the file, with the option root in front. */
void cpu_accounting_read(int root, const struct skep_kernel_types *types, struct cpu_accounting *ret);
/* Does the kernel time interrupts now, if it can? */
bool cpu_irq_timed(int root);

#endif
