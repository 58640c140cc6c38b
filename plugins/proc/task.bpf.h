/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/proc/task.bpf.h - reads a task's values for records, beside its totals: cgroup and its path, session, pid in
 * its own namespace, wait status, resident memory.
 */
#ifndef SKEP_PROC_TASK_BPF_H
#define SKEP_PROC_TASK_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/cgroup.bpf.h>
#include <skep/bpf/path.bpf.h>

#include "proc.h"

static __always_inline __u32 session_of(struct signal_struct *sig)
{
	struct pid *sid = sig->pids[PIDTYPE_SID];

	return sid->numbers[0].nr;
}

static __always_inline __u32 group_of(struct signal_struct *sig)
{
	struct pid *group = sig->pids[PIDTYPE_PGID];

	return group->numbers[0].nr;
}

/*
 * The user who answers for a process (struct skep_process_fork).  A namespace that root made (nspawn, dockerd) may hold
 * users of all kinds: those inside answer for themselves.  The kernel nests 32 below the first (create_user_ns).
 */
static __always_inline __u32 payer_of(const struct cred *cred)
{
	struct user_namespace *ns = cred->user_ns;
	__u32 payer = cred->uid.val;

#pragma clang loop unroll(disable)
	for (int i = 0; i <= 32 && ns->level; i++) {
		if (ns->owner.val)
			payer = ns->owner.val;
		ns = ns->parent;
	}
	return payer;
}

static __always_inline __u32 ns_pid_of(struct pid *pid)
{
	__u32 level = pid->level;
	int nr = 0;

	if (!level)
		return pid->numbers[0].nr;
	/* numbers[] ends the struct, one for each nested namespace: at most 32 (MAX_PID_NS_LEVEL) */
	if (level > 32)
		return 0;
	bpf_probe_read_kernel(&nr, sizeof(nr),
			      (void *)pid + bpf_core_field_offset(struct pid, numbers[0].nr) +
				      level * bpf_core_type_size(struct upid));
	return nr;
}

static __always_inline struct kernfs_node *node_parent(struct kernfs_node *kn)
{
	struct kernfs_node___rcu *after = (void *)kn;
	struct kernfs_node___parent *before = (void *)kn;

	if (bpf_core_field_exists(after->__parent))
		return BPF_CORE_READ(after, __parent);
	return BPF_CORE_READ(before, parent);
}

/*
 * Adds one component to a cgroup's path, leaf first as skep/bpf/path.bpf.h does; room: a power of two. 1: the walk
 * ends. w->cut: the path lacks its beginning so far.
 */
static __always_inline int cgroup_up(struct skep_walk *w, char *data, __u32 room)
{
	struct kernfs_node *kn = (void *)w->dentry, *up = node_parent(kn);
	__u32 off = w->off;
	long n;

	w->cut = up != NULL;
	if (!up || off > room - PROC_NAME_MAX)
		return 1;
	n = bpf_probe_read_kernel_str(data + (off & (room - 1)), PROC_NAME_MAX, BPF_CORE_READ(kn, name));
	if (n <= 0)
		return 1;
	w->off = off + n;
	w->dentry = (__u64)up;
	w->cut = node_parent(up) != NULL; /* the name of the topmost one is not part of a path */
	return 0;
}

/* The status that wait4 returns for the process (kernel/exit.c, wait_task_zombie). */
static __always_inline __u32 wait_status(struct task_struct *leader, struct signal_struct *sig)
{
	return sig->flags & SIGNAL_GROUP_EXIT ? sig->group_exit_code : leader->exit_code;
}

static __always_inline __u64 rss_pages(struct mm_struct *mm)
{
	struct mm_struct___percpu *after = (void *)mm;
	struct mm_struct___atomic *before = (void *)mm;
	__s64 sum = 0, file = 0, anon = 0, shmem = 0;

	/* MM_FILEPAGES 0, MM_ANONPAGES 1, MM_SHMEMPAGES 3 (include/linux/mm_types_task.h, since 4.5) */
	/*
	 * Asks for the field, not for the type: libbpf 1.1 looks for a type that the kernel lacks in the modules' BTF,
	 * which needs CAP_SYS_ADMIN (BPF_BTF_GET_NEXT_ID).
	 */
	if (bpf_core_field_exists(before->rss_stat.count)) {
		file = BPF_CORE_READ(before, rss_stat.count[0].counter);
		anon = BPF_CORE_READ(before, rss_stat.count[1].counter);
		shmem = BPF_CORE_READ(before, rss_stat.count[3].counter);
	} else if (bpf_core_field_exists(after->rss_stat)) {
		file = BPF_CORE_READ(after, rss_stat[0].count);
		anon = BPF_CORE_READ(after, rss_stat[1].count);
		shmem = BPF_CORE_READ(after, rss_stat[3].count);
	}
	sum += file > 0 ? file : 0;
	sum += anon > 0 ? anon : 0;
	sum += shmem > 0 ? shmem : 0;
	return sum;
}

#endif
