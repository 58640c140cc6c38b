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
	uint64_t mono_ns, boot_ns; /* just before it was read */
	uint64_t took_ns;          /* to read it */
	uint64_t task_ns;          /* on tasks since the boot, by the scheduler; 0: not known */
	uint64_t total[CPU_MODES]; /* in ticks, over all CPUs that the kernel knows, offline ones too */
	uint32_t online;
	uint32_t n, room;          /* cpu[0..n) */
	struct cpu_line *cpu;
};

/* The lines of /proc/stat that are not about one CPU. */
struct cpu_counts {
	uint64_t interrupts, switches, created, running, blocked;
};

/* What went by between two snapshots: ns. */
struct cpu_delta {
	uint64_t elapsed_ns;
	uint32_t cpus;  /* online in both */
	bool changed;   /* not the same ones: what follows is about those in both */
	bool odd;       /* more or less idle time than there was time: left out of the account */
	int64_t time_ns[CPU_MODES]; /* negative where a counter went back (iowait does) */
	bool task_known;  /* the next one is known */
	int64_t task_ns;
};

/* The account "cpu" since the probe began: ns. */
struct cpu_ledger {
	bool irq_is_part, steal_is_part; /* not within tasks' run time */
	int64_t capacity, idle, irq, steal;
	/* CPUs neither asleep nor with a task: interrupts and softirqs on them, and the way out of sleep and into it */
	int64_t wakeup;
};

/* 0; -EBADMSG when the line of all CPUs or all lines of single CPUs are missing; -ENOMEM. */
int cpu_parse(struct text, struct cpu_snapshot *, struct cpu_counts *, uint64_t *ret_bad);
void cpu_snapshot_free(struct cpu_snapshot *);
void cpu_difference(const struct cpu_snapshot *before, const struct cpu_snapshot *now, uint64_t tick_ns,
		    struct cpu_delta *ret);
void cpu_account(struct cpu_ledger *, const struct cpu_delta *);

/* What this kernel counts how: asked of its types (BTF) and its command line. account.c */
struct cpu_accounting {
	bool known;     /* there is BTF */
	bool irq_time;  /* CONFIG_IRQ_TIME_ACCOUNTING */
	bool steal_time; /* CONFIG_PARAVIRT_TIME_ACCOUNTING */
	bool tickless;  /* CONFIG_NO_HZ_COMMON */
	bool task_time;   /* root_cpuacct_cpuusage can be read: task_time.h */
	bool irq_time_off; /* switched off by the command line or an unstable TSC */
	bool tickless_off;
};
/* root: a directory's fd; path of BTF below opt_root. */
void cpu_accounting_ask(int root, const char *btf_path, struct cpu_accounting *ret);

#endif
