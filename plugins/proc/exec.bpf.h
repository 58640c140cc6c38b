/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/proc/exec.bpf.h - the exec hook: puts a record of the new program together, from its paths, arguments and
 * environment, and sends it unless the rules exclude the process.
 */
#ifndef SKEP_PROC_EXEC_BPF_H
#define SKEP_PROC_EXEC_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/kept.bpf.h>
#include <skep/bpf/path.bpf.h>

#include "environ.bpf.h"
#include "exec_buffer.bpf.h"
#include "exec_verdict.bpf.h"
#include "pending_forks.bpf.h"
#include "ring.bpf.h"
#include "skipped.bpf.h"
#include "task.bpf.h"
#include "totals.bpf.h"

/* Cgroups whose path a record carried. When the map is full, records carry paths more often than needed. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, __u8);
} cgroups_sent SEC(".maps");

static __always_inline int executed(struct task_struct *p, int old_pid, struct linux_binprm *bprm, __u32 which)
{
	__u32 buffer = bpf_get_smp_processor_id() * PROC_BUFFERS + which, pid = p->tgid, off, next, flags = 0;
	struct task_struct *real_parent, *parent_leader;
	unsigned long arg_start, arg_end;
	__u32 byte = verdict_of(pid), verdict;
	struct signal_struct *sig;
	struct kernfs_node *node;
	const struct cred *cred;
	struct proc_exec *rec;
	struct fs_struct *fs;
	struct mm_struct *mm;
	struct buffer *b;
	__u64 cgroup_id, size;
	long n;

	if (stays_excluded(byte) || skep_unattended(PROC_EXEC))
		return 0;
	b = bpf_map_lookup_elem(&buffers, &buffer);
	if (!b) {
		COUNT(no_buffer);
		return 0;
	}
	rec = &b->exec;
	sig = p->signal;
	mm = p->mm;
	fs = p->fs;
	cred = p->real_cred;

	head(&rec->h, PROC_EXEC, p);
	__builtin_memcpy(rec->comm, p->comm, sizeof(rec->comm));
	b->walk.off = 0;
	skep_path_put(&b->walk, b->data, HEAD_ROOM, __builtin_preserve_access_index(&mm->exe_file->f_path),
		      __builtin_preserve_access_index(&fs->root));
	rec->exe_len = b->walk.off;
	flags |= b->walk.cut ? PROC_EXEC_EXE_CUT : 0;
	b->verdict = verdict = judge_exec(buffer, byte);
	if (verdict & JUDGED_EXCLUDED)
		return byte < SKEP_VERDICT_EXCLUDED ? now_excluded(p, sig, b->rules.generation, verdict & JUDGED_BYTE)
						    : 0;
	if (pending_forks_used && byte < SKEP_VERDICT_EXCLUDED)
		pending_fork_end(pid);

	rec->uid = cred->uid.val;
	rec->gid = cred->gid.val;
	rec->mount_ns = BPF_CORE_READ(p, nsproxy, mnt_ns, ns.inum);
	rec->pid_ns = BPF_CORE_READ(p, nsproxy, pid_ns_for_children, ns.inum);
	node = cgroup_node(p);
	cgroup_id = node_id(node);
	rec->cgroup_id = cgroup_id;

	off = b->walk.off & (HEAD_ROOM - 1);
	n = bpf_probe_read_kernel_str(b->data + off, PROC_PATH_MAX, BPF_CORE_READ(bprm, filename));
	rec->filename_len = n > 0 ? n : 0;
	off += rec->filename_len;
	b->walk.off = off;

	real_parent = p->real_parent;
	parent_leader = real_parent->group_leader;
	rec->parent_pid = real_parent->tgid;
	rec->parent_start_ns = parent_leader->start_boottime;
	if (byte >= SKEP_VERDICT_EXCLUDED)
		parent_of_excluded(buffer);
	sums_of_dead(&rec->sums, sig);
	if (rec->sums.cpu_ns) /* a thread of the process has ended */
		sums_add_gone_threads(&rec->sums, sig, pid);
	sums_add_own(&rec->sums, p);
	rec->maxrss_pages = sig->maxrss;
	rec->session = session_of(p);
	rec->tid = old_pid;
	rec->ns_pid = ns_pid_of(p);

	skep_path_put(&b->walk, b->data, HEAD_ROOM, __builtin_preserve_access_index(&fs->pwd),
		      __builtin_preserve_access_index(&fs->root));
	rec->cwd_len = b->walk.off - off;
	flags |= b->walk.cut ? PROC_EXEC_CWD_CUT : 0;
	off = b->walk.off;

	rec->cgroup_len = 0;
	if (!bpf_map_lookup_elem(&cgroups_sent, &cgroup_id)) {
		put_cgroup(&b->walk, b->data, HEAD_ROOM, node);
		rec->cgroup_len = b->walk.off - off;
		off = b->walk.off;
	}

	/* exec has just written them, so they are resident, unless a page was swapped out since */
	arg_start = mm->arg_start;
	arg_end = mm->arg_end;
	next = 0;
	rec->argv_total = 0;
	if (arg_end > arg_start) {
		__u64 total = arg_end - arg_start;

		rec->argv_total = total > 0xffffffffu ? 0xffffffffu : total;
		next = total > PROC_ARGV_MAX ? PROC_ARGV_MAX : total;
		if (next > PROC_ARGV_SPARE && crowded()) {
			next = PROC_ARGV_SPARE;
			COUNT(argv_spared);
		}
		off &= HEAD_ROOM - 1;
		/* shows the verifier the bound where the program uses it */
		asm volatile("" : "+r"(next));
		if (next > PROC_ARGV_MAX)
			next = PROC_ARGV_MAX;
		if (bpf_probe_read_user(b->data + off, next, (void *)arg_start)) {
			next = 0;
			flags |= PROC_EXEC_ARGV_FAULT;
			COUNT(argv_faults);
		}
	}
	rec->argv_len = next;
	off = (off & (HEAD_ROOM - 1)) + next;
	rec->environ_len = 0;
	if (environ_names && read_environ(&b->environ, buffer, mm->env_start, mm->env_end) > 0) {
		/* 64 bits: with fewer, clang compares another register than it uses */
		__u64 len = b->environ.found_len, at = off;

		asm volatile("" : "+r"(len), "+r"(at));
		if (len > PROC_ENVIRON_MAX)
			len = PROC_ENVIRON_MAX;
		if (at > HEAD_ROOM + PROC_ARGV_MAX)
			at = HEAD_ROOM + PROC_ARGV_MAX;
		bpf_probe_read_kernel(b->data + at, len, b->environ.found);
		rec->environ_len = len;
		off = at + len;
	}
	if (environ_names && b->environ.fault) {
		flags |= PROC_EXEC_ENVIRON_FAULT;
		COUNT(environ_faults);
	}
	verdict = b->verdict;
	flags |= verdict & JUDGED_DECIDED ? PROC_EXEC_JUDGED : 0;
	flags |= byte >= SKEP_VERDICT_EXCLUDED ? PROC_EXEC_WAS_EXCLUDED : 0;
	rec->flags = flags | (verdict >> JUDGED_UNKNOWN_SHIFT & 255) << PROC_EXEC_UNKNOWN_SHIFT;
	size = off + sizeof(*rec);
	asm volatile("" : "+r"(size));
	if (size > sizeof(*rec) + sizeof(b->data))
		size = sizeof(*rec) + sizeof(b->data);
	if (!send_long(rec, size, PROC_EXEC) && rec->cgroup_len) {
		__u8 one = 1;

		bpf_map_update_elem(&cgroups_sent, &cgroup_id, &one, BPF_ANY);
	}
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *p, int old_pid, struct linux_binprm *bprm)
{
	seen(p, PROC_EXEC);
	return executed(p, old_pid, bprm, 0);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec_missed, struct task_struct *p, int old_pid, struct linux_binprm *bprm)
{
	if (seen_by_first(p, PROC_EXEC))
		return 0;
	return executed(p, old_pid, bprm, 1);
}

#endif
