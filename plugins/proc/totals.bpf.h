/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/proc/totals.bpf.h - adds up a process's totals: the sums of ended threads in signal_struct, the task's own
 * counters, and a map of the counters of freed threads that signal_struct lacks (proc.h, struct proc_threads).
 */
#ifndef SKEP_PROC_TOTALS_BPF_H
#define SKEP_PROC_TOTALS_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include "proc.h"
#include "ring.bpf.h"

/* The counters of freed threads: proc.h, struct proc_threads. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space */
	__type(key, struct proc_threads_key);
	__type(value, struct proc_threads);
} threads SEC(".maps");

struct proc_others others; /* user space maps it */

/* Reads the sums of ended threads in signal_struct. Their I/O, run delay and last slices are in `threads`. */
static __always_inline void sums_of_dead(struct proc_sums *s, struct signal_struct *sig)
{
	__builtin_memset(s, 0, sizeof(*s));
	s->cpu_ns = sig->sum_sched_runtime;
	s->utime_ns = sig->utime;
	s->stime_ns = sig->stime;
	s->nvcsw = sig->nvcsw;
	s->nivcsw = sig->nivcsw;
	s->min_flt = sig->min_flt;
	s->maj_flt = sig->maj_flt;
}

static __always_inline void sums_add_io(struct proc_sums *s, struct task_struct *t)
{
	s->rchar += t->ioac.rchar;
	s->wchar += t->ioac.wchar;
	s->syscr += t->ioac.syscr;
	s->syscw += t->ioac.syscw;
	s->read_bytes += t->ioac.read_bytes;
	s->write_bytes += t->ioac.write_bytes;
	s->cancelled_write_bytes += t->ioac.cancelled_write_bytes;
}

static __always_inline void sums_add_own(struct proc_sums *s, struct task_struct *t)
{
	s->cpu_ns += t->se.sum_exec_runtime;
	s->utime_ns += t->utime;
	s->stime_ns += t->stime;
	s->run_delay_ns += t->sched_info.run_delay;
	s->run_count += t->sched_info.pcount;
	s->nvcsw += t->nvcsw;
	s->nivcsw += t->nivcsw;
	s->min_flt += t->min_flt;
	s->maj_flt += t->maj_flt;
	sums_add_io(s, t);
}

static __always_inline void sums_add_gone_threads(struct proc_sums *s, struct signal_struct *sig, __u32 pid)
{
	struct proc_threads_key key = { .signal = (__u64)sig, .pid = pid };
	struct proc_threads *t = bpf_map_lookup_elem(&threads, &key);

	if (t) {
		s->run_delay_ns += t->run_delay_ns;
		s->run_count += t->run_count;
		s->rchar += t->rchar;
		s->wchar += t->wchar;
		s->syscr += t->syscr;
		s->syscw += t->syscw;
		s->read_bytes += t->read_bytes;
		s->write_bytes += t->write_bytes;
		s->cancelled_write_bytes += t->cancelled_write_bytes;
	}
}

static __always_inline void thread_free(struct task_struct *t, struct signal_struct *sig, __u32 pid)
{
	struct proc_threads_key key = { .signal = (__u64)sig, .pid = pid };
	struct proc_threads zero = {}, *sum = bpf_map_lookup_elem(&threads, &key);

	if (!sum) {
		if (bpf_map_update_elem(&threads, &key, &zero, BPF_NOEXIST) < 0) {
			/* the map is full, or another CPU added the entry first */
		}
		sum = bpf_map_lookup_elem(&threads, &key);
		if (!sum) {
			COUNT(threads_full);
			return;
		}
	}
	__sync_fetch_and_add(&sum->n, 1);
	__sync_fetch_and_add(&sum->cpu_ns, t->se.sum_exec_runtime);
	__sync_fetch_and_add(&sum->run_delay_ns, t->sched_info.run_delay);
	__sync_fetch_and_add(&sum->run_count, t->sched_info.pcount);
	__sync_fetch_and_add(&sum->switches, t->nvcsw + t->nivcsw);
	__sync_fetch_and_add(&sum->faults, t->min_flt + t->maj_flt);
	if (t->ioac.syscr + t->ioac.syscw + t->ioac.read_bytes + t->ioac.write_bytes) {
		__sync_fetch_and_add(&sum->rchar, t->ioac.rchar);
		__sync_fetch_and_add(&sum->wchar, t->ioac.wchar);
		__sync_fetch_and_add(&sum->syscr, t->ioac.syscr);
		__sync_fetch_and_add(&sum->syscw, t->ioac.syscw);
		__sync_fetch_and_add(&sum->read_bytes, t->ioac.read_bytes);
		__sync_fetch_and_add(&sum->write_bytes, t->ioac.write_bytes);
		__sync_fetch_and_add(&sum->cancelled_write_bytes, t->ioac.cancelled_write_bytes);
	}
}

#endif
