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

#include "boundary.bpf.h"
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

__u32 cgroups_round; /* user space adds 1 after it has deleted entries of cgroups_sent */

static __always_inline int cgroup_sent(struct buffer *b, __u64 id)
{
	__u32 round = *(volatile __u32 *)&cgroups_round;

	if (b->cgroup_id == id && b->cgroup_round == round)
		return 1;
	if (!bpf_map_lookup_elem(&cgroups_sent, &id))
		return 0;
	b->cgroup_id = id;
	b->cgroup_round = round; /* as it was before the look-up */
	return 1;
}

/*
 * byte: the verdict so far of the process, which is its parent's unless an exec changed it.  A parent that rules
 * exclude has no record, so this record has its name: recognizers know a job by its parent.
 */
static __always_inline void put_origin(struct proc_origin *origin, struct signal_struct *sig,
				       struct task_struct *parent, __u32 byte, __u32 parent_pid)
{
	origin->tty = sig->tty != NULL;
	origin->group = origin->tty ? group_of(sig) : 0; /* two reads that most execs of a batch machine save */
	if (byte >= SKEP_VERDICT_EXCLUDED && excluded(parent_pid))
		__builtin_memcpy(origin->parent_comm, parent->comm, sizeof(origin->parent_comm));
	else
		__builtin_memset(origin->parent_comm, 0, sizeof(origin->parent_comm));
}

static __always_inline void put_file(struct proc_file *file, struct file *exe)
{
	struct inode___file *inode = ((struct file___open *)exe)->f_inode;

	file->size_bytes = inode->i_size;
	if (bpf_core_field_exists(struct inode___split, i_mtime_sec))
		file->modified_ns = ((struct inode___split *)inode)->i_mtime_sec * 1000000000 +
				    ((struct inode___split *)inode)->i_mtime_nsec;
	else if (bpf_core_field_exists(struct inode___private, __i_mtime))
		file->modified_ns = ((struct inode___private *)inode)->__i_mtime.tv_sec * 1000000000 +
				    ((struct inode___private *)inode)->__i_mtime.tv_nsec;
	else
		file->modified_ns = ((struct inode___mtime *)inode)->i_mtime.tv_sec * 1000000000 +
				    ((struct inode___mtime *)inode)->i_mtime.tv_nsec;
}

/* Appends the arguments. exec has just written them: they are resident unless the kernel swapped out a page since. */
static __always_inline void put_argv(struct buffer *b, struct mm_struct *mm)
{
	__u64 start = mm->arg_start, end = mm->arg_end, total = end > start ? end - start : 0, len, off;
	struct proc_exec *rec = &b->exec;

	rec->argv_total = total > 0xffffffffu ? 0xffffffffu : total;
	rec->argv_len = total > PROC_ARGV_MAX ? PROC_ARGV_MAX : total;
	if (total > PROC_ARGV_SPARE && crowded()) {
		rec->argv_len = PROC_ARGV_SPARE;
		COUNT(argv_spared);
	}
	SKEP_FROM_MEMORY();
	len = rec->argv_len;
	off = b->walk.off & (HEAD_ROOM - 1);
	/* shows the verifier the bound where the program uses it */
	asm volatile("" : "+r"(len));
	if (len > PROC_ARGV_MAX)
		len = PROC_ARGV_MAX;
	if (len && bpf_probe_read_user(b->data + off, len, (void *)start)) {
		rec->argv_len = 0;
		rec->flags |= PROC_EXEC_ARGV_FAULT;
		COUNT(argv_faults);
	}
	SKEP_FROM_MEMORY();
	b->walk.off = off + rec->argv_len;
}

/* Appends the variables of the environment that user space names. */
static __always_inline void put_environ(struct buffer *b, __u32 buffer, struct mm_struct *mm)
{
	struct environ_walk *w = &b->environ;
	struct proc_exec *rec = &b->exec;
	__u32 now = boundaries.now, boundary = b->boundary;
	__u64 len, at;

	rec->environ_len = 0;
	if (!(now & (boundary ? PROC_BOUNDARY_ALL : PROC_BOUNDARY_PLAIN)))
		return;
	read_environ(w, buffer, (now & PROC_BOUNDARY_PAIR) | (boundary ? 1 : 0), mm->env_start, mm->env_end);
	len = w->found_len;
	at = b->walk.off; /* 64 bits: with fewer, clang compares another register than it uses */
	asm volatile("" : "+r"(len), "+r"(at));
	if (len > PROC_ENVIRON_MAX)
		len = PROC_ENVIRON_MAX;
	if (at > HEAD_ROOM + PROC_ARGV_MAX)
		at = HEAD_ROOM + PROC_ARGV_MAX;
	bpf_probe_read_kernel(b->data + at, len, w->found);
	rec->environ_len = len;
	b->walk.off = at + len;
	rec->flags |= boundary ? PROC_EXEC_BOUNDARY : 0;
	if (w->fault) {
		rec->flags |= PROC_EXEC_ENVIRON_FAULT;
		COUNT(environ_faults);
	}
	if (w->full) {
		rec->flags |= PROC_EXEC_ENVIRON_FAULT;
		COUNT(environ_full);
	}
}

static __always_inline int executed(struct task_struct *p, int old_pid, struct linux_binprm *bprm, __u32 which)
{
	__u32 buffer = bpf_get_smp_processor_id() * PROC_BUFFERS + which, pid = p->tgid, off;
	struct task_struct *real_parent, *parent_leader, *its = SKEP_UNTRUSTED(task_struct, p);
	__u32 byte, verdict;
	struct css_set *cgroups, *parent_cgroups;
	struct signal_struct *sig = its->signal;
	struct nsproxy *nsproxy = its->nsproxy;
	const struct cred *cred = its->real_cred;
	struct fs_struct *fs = its->fs;
	struct mm_struct *mm = its->mm;
	struct pid *thread_pid = its->thread_pid;
	struct kernfs_node *node;
	struct dentry *dentry;
	struct proc_exec *rec;
	struct buffer *b;
	struct file *exe;
	__u64 cgroup_id, size, comm[2];
	const __u64 fixed = sizeof(*rec);
	long n;

	real_parent = its->real_parent;
	parent_leader = real_parent->group_leader;
	cgroups = its->cgroups;
	parent_cgroups = real_parent->cgroups;
	node = skep_cgroup_node(its);
	SKEP_LOAD_HERE(sig);
	SKEP_LOAD_HERE(nsproxy);
	SKEP_LOAD_HERE(cred);
	SKEP_LOAD_HERE(fs);
	SKEP_LOAD_HERE(mm);
	SKEP_LOAD_HERE(real_parent);
	SKEP_LOAD_HERE(parent_leader);
	SKEP_LOAD_HERE(cgroups);
	SKEP_LOAD_HERE(parent_cgroups);
	SKEP_LOAD_HERE(node);
	SKEP_LOAD_HERE(thread_pid);
	byte = verdict_of(pid);
	SKEP_HIDE(byte, pid);
	if (stays_excluded(byte) || skep_unattended(PROC_EXEC))
		return 0;
	b = bpf_map_lookup_elem(&buffers, &buffer);
	if (!b) {
		COUNT(no_buffer);
		return 0;
	}
	rec = &b->exec;

	head(&rec->h, PROC_EXEC, p);
	comm[0] = ((const __u64 *)(const void *)p->comm)[0];
	comm[1] = ((const __u64 *)(const void *)p->comm)[1];
	__builtin_memcpy(rec->comm, comm, sizeof(rec->comm));
	b->walk.off = 0;
	exe = mm->exe_file;
	dentry = exe->f_path.dentry;
	skep_path_from(&b->walk, dentry, exe->f_path.mnt, fs->root.dentry, fs->root.mnt);
	skep_path_unhashed(&b->walk, dentry->d_hash.pprev, dentry->d_parent);
	walk_path(buffer);
	rec->exe_len = b->walk.off;
	rec->flags = b->walk.cut ? PROC_EXEC_EXE_CUT : 0;
	b->verdict = verdict = judge_exec(buffer, byte);
	if (verdict & JUDGED_EXCLUDED)
		return byte < SKEP_VERDICT_EXCLUDED ? now_excluded(b, p, sig, verdict & JUDGED_BYTE) : 0;
	if (pending_forks_used && byte < SKEP_VERDICT_EXCLUDED)
		pending_fork_end(pid);
	SKEP_FROM_MEMORY();

	rec->uid = cred->uid.val;
	rec->gid = cred->gid.val;
	rec->payer = payer_of(cred);
	rec->reserved = 0;
	rec->mount_ns = nsproxy->mnt_ns->ns.inum;
	rec->pid_ns = nsproxy->pid_ns_for_children->ns.inum;
	cgroup_id = node->id;
	rec->cgroup_id = cgroup_id;

	off = b->walk.off & (HEAD_ROOM - 1);
	n = bpf_probe_read_kernel_str(b->data + off, PROC_PATH_MAX, BPF_CORE_READ(bprm, filename));
	rec->filename_len = n > 0 ? n : 0;
	SKEP_FROM_MEMORY();
	b->walk.off = off + rec->filename_len;

	rec->parent_pid = real_parent->tgid;
	rec->parent_start_ns = parent_leader->start_boottime;
	sums_of_dead(&rec->sums, sig);
	if (rec->sums.cpu_ns) /* a thread of the process has ended */
		sums_add_gone_threads(&rec->sums, sig, pid);
	sums_add_own(&rec->sums, p);
	SKEP_FROM_MEMORY();
	rec->maxrss_pages = sig->maxrss;
	rec->session = session_of(sig);
	rec->tid = old_pid;
	rec->ns_pid = ns_pid_of(thread_pid);
	b->boundary = is_boundary(parent_leader, cgroups != parent_cgroups, pid, rec->session, comm);
	put_origin(&rec->origin, sig, parent_leader, byte, rec->parent_pid);
	SKEP_FROM_MEMORY();
	put_file(&rec->file, exe);
	if (byte >= SKEP_VERDICT_EXCLUDED)
		parent_of_excluded(buffer);

	off = b->walk.off;
	dentry = fs->pwd.dentry;
	skep_path_from(&b->walk, dentry, fs->pwd.mnt, fs->root.dentry, fs->root.mnt);
	skep_path_unhashed(&b->walk, dentry->d_hash.pprev, dentry->d_parent);
	walk_path(buffer);
	rec->cwd_len = b->walk.off - off;
	rec->flags |= b->walk.cut ? PROC_EXEC_CWD_CUT : 0;
	off = b->walk.off;

	rec->cgroup_len = 0;
	if (!cgroup_sent(b, cgroup_id)) {
		b->walk.dentry = (__u64)node;
		walk_cgroup(buffer);
		rec->cgroup_len = b->walk.off - off;
		rec->flags |= b->walk.cut ? PROC_EXEC_CGROUP_CUT : 0;
	}
	SKEP_FROM_MEMORY();
	put_argv(b, mm);
	put_environ(b, buffer, mm);
	SKEP_FROM_MEMORY();
	verdict = b->verdict;
	rec->flags |= (verdict & JUDGED_DECIDED ? PROC_EXEC_JUDGED : 0) |
		      (byte >= SKEP_VERDICT_EXCLUDED ? PROC_EXEC_WAS_EXCLUDED : 0) |
		      (verdict >> JUDGED_UNKNOWN_SHIFT & 255) << PROC_EXEC_UNKNOWN_SHIFT;
	SKEP_FROM_MEMORY();
	size = b->walk.off + fixed;
	asm volatile("" : "+r"(size));
	if (size > fixed + sizeof(b->data))
		size = fixed + sizeof(b->data);
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
