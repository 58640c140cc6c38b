/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/proc/exec_verdict.bpf.h - evaluates the rules at an exec: which verdict the process gets, and what becomes of
 * a process that the exec excludes, or collects again.
 */
#ifndef SKEP_PROC_EXEC_VERDICT_BPF_H
#define SKEP_PROC_EXEC_VERDICT_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/rules.bpf.h>
#include <skep/bpf/verdict.bpf.h>

#include "exec_buffer.bpf.h"
#include "pending_forks.bpf.h"
#include "ring.bpf.h"
#include "task.bpf.h"
#include "totals.bpf.h"

/*
 * The exec excludes a process that skep collected before: sends its totals up to now. Builds the record in `data`,
 * which no other record needs any more: a third of the stack is too much beside the frames of environ.bpf.h.
 */
static __always_inline int now_excluded(struct buffer *b, struct task_struct *p, struct signal_struct *sig, __u32 byte)
{
	struct proc_excluded *rec = (void *)b->data;

	if (pending_fork_exclude(p, (void *)b->data))
		return 0;
	__builtin_memset(rec, 0, sizeof(*rec));
	head(&rec->h, PROC_EXCLUDED, p);
	sums_of_dead(&rec->sums, sig);
	if (rec->sums.cpu_ns)
		sums_add_gone_threads(&rec->sums, sig, p->tgid);
	sums_add_own(&rec->sums, p);
	rec->maxrss_pages = sig->maxrss;
	rec->byte = byte;
	rec->generation = b->rules.generation;
	send(rec, sizeof(*rec), PROC_EXCLUDED);
	return 0;
}

/* 1: the process is excluded, and its exec changes nothing. Not static: see judge_exec. */
__noinline int stays_excluded(__u32 byte)
{
	struct skep_rules_set *set;
	struct skep_rules *r;

	if (byte < SKEP_VERDICT_EXCLUDED)
		return 0;
	r = rules_now();
	set = r ? rules_set(r) : NULL;
	return !set || rules_settled(set, byte);
}

/*
 * A process that was excluded is collected from this exec on: the record names its nearest collected ancestor as the
 * parent. Not static: see judge_exec.
 */
__noinline int parent_of_excluded(__u32 buffer)
{
	struct proc_pending_fork *pending;
	struct buffer *b;
	__u32 pid;

	b = bpf_map_lookup_elem(&buffers, &buffer);
	if (!b)
		return 0;
	pid = b->exec.h.pid;
	pending = bpf_map_lookup_elem(&pending_forks, &pid);
	if (!pending || !pending->excluded)
		return 0;
	b->exec.parent_pid = pending->fork.parent_pid;
	b->exec.parent_start_ns = pending->fork.parent_start_ns;
	bpf_map_delete_elem(&pending_forks, &pid);
	return 1;
}

#define JUDGED_EXCLUDED (1u << 31)
#define JUDGED_DECIDED (1u << 30)
#define JUDGED_BYTE 0xffu
#define JUDGED_UNKNOWN_SHIFT 8

/* Decides by the values in the buffer.  number: of the set.  Not static: see judge_exec. */
__noinline int judge_values(__u32 buffer, __u32 number)
{
	struct skep_rules *r = rules_now();
	struct skep_rules_set *set = r ? rules_set_of(r, number) : NULL;
	struct buffer *b = bpf_map_lookup_elem(&buffers, &buffer);

	if (set && b)
		rules_judge(&b->rules, set, b->exec.h.pid, b->exec.h.start_ns);
	return 0;
}

/*
 * Evaluates the rules for the current task, whose program's path begins that buffer. Returns the verdict's byte,
 * JUDGED_*, and the dimensions that user space must report. It reads only the values that the rules ask for: an
 * excluded process then costs no more. Not static, so that the verifier checks the function once, by itself. Inlined,
 * its branches multiply with the caller's: 231,693 steps instead of some thousand. Up to 5.12 such a function takes
 * numbers only.
 */
__noinline int judge_exec(__u32 buffer, __u32 byte)
{
	struct skep_rules *r = rules_now();
	__u32 number = r ? r->current : 0;
	struct skep_rules_set *set = r ? rules_set_of(r, number) : NULL;
	struct buffer *b = bpf_map_lookup_elem(&buffers, &buffer);
	struct task_struct *p = (void *)bpf_get_current_task();
	__u32 pid, exe_len, verdict_byte, hit, judged = 0;
	struct rules_work *w;
	__u8 *v = verdicts();

	if (!set || !b || !v || rules_settled(set, byte))
		return byte & JUDGED_BYTE;
	w = &b->rules;
	pid = b->exec.h.pid;
	if (pid >= verdict_pids)
		return byte & JUDGED_BYTE;
	__builtin_memset(&w->program, 0, sizeof(w->program));
	__builtin_memcpy(w->program.comm, b->exec.comm, sizeof(w->program.comm));
	exe_len = b->exec.exe_len;
	if (exe_len <= SKEP_RULES_PATH && !b->walk.cut) {
		w->program.len = exe_len;
		exe_len &= 255; /* shows the verifier (5.10) a bound */
		asm volatile("" : "+r"(exe_len));
		bpf_probe_read_kernel(w->program.path, exe_len & 255, b->data);
	}
	if (set->dimensions & 1u << SKEP_RULES_USER) {
		w->uid = BPF_CORE_READ(p, real_cred, uid.val);
		w->gid = BPF_CORE_READ(p, real_cred, gid.val);
	}
	if (set->dimensions & 1u << SKEP_RULES_CGROUP)
		w->cgroup_id = skep_cgroup_of_untyped(p);
	if (set->dimensions & 1u << SKEP_RULES_NAMESPACES) {
		w->mount_ns = BPF_CORE_READ(p, nsproxy, mnt_ns, ns.inum);
		w->pid_ns = BPF_CORE_READ(p, nsproxy, pid_ns_for_children, ns.inum);
	}
	judge_values(buffer, number);
	if (w->decision.ask) {
		__sync_fetch_and_add(&r->asked, 1);
		verdict_byte = 0;
	} else {
		verdict_byte = w->decision.byte & JUDGED_BYTE;
		hit = w->decision.clause;
		if (hit > SKEP_RULES_CLAUSES)
			hit = SKEP_RULES_CLAUSES;
		__sync_fetch_and_add(&set->hits[hit], 1);
		judged = JUDGED_DECIDED;
	}
	b->rules.generation = set->generation;
	/* A group belongs to the run: the process stays in it, whichever program it executes. */
	if (verdict_byte < SKEP_VERDICT_EXCLUDED && byte < SKEP_VERDICT_KEEP)
		verdict_byte |= byte;
	v[pid] = verdict_byte;
	if (verdict_byte >= SKEP_VERDICT_EXCLUDED)
		judged |= JUDGED_EXCLUDED;
	return verdict_byte | (w->decision.unknown & 255) << JUDGED_UNKNOWN_SHIFT | judged;
}

#endif
