// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/sched/sched_detail.bpf.c - distributions of the times that threads slept, waited for a CPU and ran between
 * two departures from a CPU.  skepd loads the program while a detail is attached.
 *
 * The program runs at each context switch, and not at wake-ups, and looks at the thread that leaves (prev).  By then
 * the kernel has booked the thread's wait (sched_info.run_delay, including waits on other CPUs before a migration) and
 * its run (se.sum_exec_runtime).  The thread arrived at the time of the previous switch on this CPU.  The rest of the
 * time since its last departure is its sleep.  So sleep + wait + run is the time between two departures.
 *
 * The program counts a value when the stint after it ends.  A thread's first departure after the attach only sets the
 * starting point, unless it is the first of the thread's life.
 */
#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/hist.bpf.h>
#include <skep/bpf/scope.bpf.h>

#include "detail.h"
#include "taskstate.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by user space before the load. */
const volatile __u32 has_prev_state;   /* sched_switch(preempt, prev, next, prev_state): since 5.18 */
const volatile __u32 has_task_storage; /* 0: threads_by_task instead */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by user space: one a CPU */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct detail_cpu);
} cpus SEC(".maps");

/* By CPU, so that no two CPUs write to one cache line. Not a per-CPU map, because user space maps the array. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by user space */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct detail_hist);
} hists SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct detail_thread);
} threads SEC(".maps");

/* By the task's address, which is unique until the task is dead and leaves the map. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space */
	__type(key, __u64);
	__type(value, struct detail_thread);
} threads_by_task SEC(".maps");

/*
 * The hook runs with interrupts off, and never within itself: a CPU's elements have one writer. Not static, so that the
 * verifier checks the function once and not at each call. The function reads its values from memory: in registers the
 * verifier would follow each of the 192 slots through all later code, with 691,335 steps instead of 6,000, and an
 * attach would take seconds instead of 40 ms.
 */
__noinline int count(__u32 mask, __u32 cpu, __u32 part, __u64 v)
{
	struct detail_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	__u64 at;

	if (!c)
		return 0;
	*(volatile __u64 *)&c->slot = skep_hist_slot(v);
	at = *(volatile __u64 *)&c->slot;
	if (at >= SKEP_HIST_SLOTS)
		return 0;
#pragma unroll
	for (__u32 i = 0; i < SKEP_SCOPE_SLOTS; i++) {
		__u32 index = (cpu * SKEP_SCOPE_SLOTS + i) * DETAIL_PARTS + part;
		struct detail_hist *h;

		if (!(mask & (1u << i)))
			continue;
		h = bpf_map_lookup_elem(&hists, &index);
		if (h) {
			h->slots[at]++;
			h->sum += v;
		}
	}
	return 0;
}

static __always_inline struct detail_thread *thread_of(struct task_struct *p, int create)
{
	struct detail_thread zero = {}, *t;
	__u64 key = (__u64)p;

	if (has_task_storage)
		return bpf_task_storage_get(&threads, p, NULL, create ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	t = bpf_map_lookup_elem(&threads_by_task, &key);
	if (!t && create && !bpf_map_update_elem(&threads_by_task, &key, &zero, BPF_NOEXIST))
		t = bpf_map_lookup_elem(&threads_by_task, &key);
	return t;
}

/*
 * Returns the state in which prev leaves; running: prev still wants the CPU. A preempted thread may have set its state
 * to sleeping already, but is still on the run queue.
 */
static __always_inline unsigned int leaves_as(struct task_struct *prev, int preempt, __u64 *ctx)
{
	struct task_struct___sched *s = (void *)prev;
	unsigned int state;

	if (preempt)
		return 0;
	if (has_prev_state)
		return (unsigned int)ctx[3];
	/*
	 * Before 5.18 the state may have changed already: another CPU wakes the thread up (TASK_WAKING, then running).
	 * Off the run queue the thread did go to sleep; the kind of sleep is then unknown.
	 */
	state = state_word(prev);
	return state || s->on_rq ? state : 1;
}

/*
 * How long it was away before this stint, including the wait for a CPU. A kernel may skip the hook in a switch (seen in
 * the context of one protected daemon): then the run time replaces the unknown time of arrival, which is less exact by
 * the time of interrupts.
 */
static __always_inline __u64 away(struct detail_thread *t, __u64 arrived, __u64 now, __u64 ran)
{
	__u64 back = arrived ? arrived : now - ran;

	return back > t->left_ns ? back - t->left_ns : 0;
}

/* sched_switch(bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state) */
SEC("tp_btf/sched_switch")
int on_switch(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	__u32 cpu = bpf_get_smp_processor_id(), mask, waits, runs, sleeps;
	struct detail_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	__u64 now, arrived, had_run, on_it, stints, delay, run;
	struct detail_thread *t = NULL;
	unsigned int state;
	int same, known = 0;

	if (!c)
		return 0;
	now = scopes.of_kind[DETAIL_OFFCPU] ? bpf_ktime_get_ns() : 0;
	on_it = c->task;
	same = on_it == (__u64)prev;
	arrived = same ? c->arrived_ns : 0;
	had_run = c->exec_ns;
	c->task = (__u64)next;
	c->arrived_ns = now;
	c->exec_ns = next->se.sum_exec_runtime;
	if (!prev->pid) /* idle */
		return 0;
	state = leaves_as(prev, ctx[0] & 1, ctx);
	mask = skep_slots_of(prev, &c->matched);
	runs = mask & scopes.of_kind[DETAIL_ONCPU];
	waits = mask & scopes.of_kind[DETAIL_RUNQLAT];
	sleeps = mask & scopes.of_kind[DETAIL_OFFCPU];
	run = prev->se.sum_exec_runtime;
	if (!(waits | sleeps) || !bpf_core_field_exists(prev->sched_info.run_delay))
		goto runs;
	stints = prev->sched_info.pcount;
	delay = prev->sched_info.run_delay;
	/* a thread at its only departure needs no element */
	t = thread_of(prev, !(state & TASK_DEAD));
	if (t && t->stints && t->pid != (__u32)prev->pid)
		*t = (struct detail_thread){}; /* the hook missed the end of the thread that had this address */
	known = t ? t->stints + 1 == stints : stints == 1;
	if (!same && known) {
		same = 1;
		had_run = t ? t->exec_ns : 0;
	}
	if (known) {
		__u64 wait = t ? delay - t->run_delay_ns : delay;

		if (waits)
			count(waits, cpu, 0, wait);
		if (sleeps && t && t->left_ns) {
			__u64 gone = away(t, arrived, now, run - t->exec_ns);

			/*
			 * Two clocks, the scheduler's being read a little earlier: an immediate wake-up may give a
			 * value below zero.
			 */
			count(sleeps, cpu, t->part, gone > wait ? gone - wait : 0);
		}
	} else if (t && t->stints && stints > t->stints) {
		/*
		 * Departures that the hook missed do not matter to an attachment that the thread was not in. With an
		 * equal number none was missed: a thread preempted on its way to sleep is queued without being booked
		 * (sched_info_depart), so neither its wait nor its sleep is known.
		 */
		if (waits & t->slots)
			c->lost[DETAIL_RUNQLAT] += stints - t->stints;
		if (sleeps & t->slots)
			c->lost[DETAIL_OFFCPU] += stints - t->stints;
	}
	if (t) {
		t->pid = prev->pid;
		t->stints = stints;
		t->run_delay_ns = delay;
		t->exec_ns = run;
		t->left_ns = state ? now : 0;
		t->part = state ? kind_of_sleep(prev, state) - SCHED_IOWAIT : 0;
		t->slots = mask;
	} else if (!(state & TASK_DEAD)) {
		/* the next value is unknown */
		if (waits)
			c->lost[DETAIL_RUNQLAT]++;
		if (sleeps && state)
			c->lost[DETAIL_OFFCPU]++;
	}
runs:
	if (runs && same)
		count(runs, cpu, 0, run - had_run);
	else if (runs && on_it) /* unknown on a CPU's first switch */
		c->lost[DETAIL_ONCPU]++;
	if (!has_task_storage && state & TASK_DEAD) {
		__u64 key = (__u64)prev;

		bpf_map_delete_elem(&threads_by_task, &key);
	}
	return 0;
}
