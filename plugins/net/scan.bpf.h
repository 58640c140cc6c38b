/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/net/scan.bpf.h - the iterators that user space runs each interval, over tasks and over open sockets; and the
 * hook on a process's free, which reports the amounts that no later scan can find.
 */
#ifndef SKEP_NET_SCAN_BPF_H
#define SKEP_NET_SCAN_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/cgroup.bpf.h>
#include <skep/bpf/kept.bpf.h>
#include <skep/bpf/preempt.bpf.h>

#include "conn.bpf.h"
#include "conn_report.bpf.h"
#include "conn_state.bpf.h"
#include "conn_table.bpf.h"
#include "process.bpf.h"
#include "ring.bpf.h"

#define S_IFMT 0170000
#define S_IFSOCK 0140000

static __always_inline void pass(struct sock *sk, struct conn *c, __u32 state)
{
	struct scratch *s = my_scratch(SCRATCH_PASS);

	/* With hooks on calls the first to use it becomes its owner, and has to have its records from the begin on. */
	if (!s || c->closed || (calls_counted && c->guessed && !c->held))
		return;
	report_conn(sk, c, s, c->held ?: state, c->held ? REPORT_LAST : REPORT_OPEN);
}

/* Fills r with the amounts that no record reported yet. 0: there are none. */
static __always_inline int unreported(struct net_process *p, struct net_process_record *r, __u32 pid, __u64 start_ns)
{
	__u64 *now = (__u64 *)&p->now, *reported = (__u64 *)&p->reported, *out = (__u64 *)&r->amounts, any = 0;

	r->h.type = NET_REC_PROCESS;
	r->h.pid = pid;
	r->h.start_ns = start_ns;
	r->h.time_ns = bpf_ktime_get_boot_ns();
	r->dead = 0;
	r->reserved = 0;
#pragma unroll
	for (__u32 i = 0; i < NET_AMOUNTS; i++) {
		out[i] = *(volatile __u64 *)&now[i] - reported[i];
		any |= out[i];
	}
	return any != 0;
}

static __always_inline void report(struct net_process *p, struct net_process_record *r)
{
	__u64 *reported = (__u64 *)&p->reported, *out = (__u64 *)&r->amounts;

	if (send(r, sizeof(*r))) {
		COUNT(process_dropped);
		return;
	}
#pragma unroll
	for (__u32 i = 0; i < NET_AMOUNTS; i++)
		reported[i] += out[i];
}

/* Reports processes with amounts in `processes`; a scan of the map costs less than one of all tasks. */
SEC("iter/bpf_map_elem")
int on_process(struct bpf_iter__bpf_map_elem *ctx)
{
	struct net_process_key *key = ctx->key;
	struct net_process *p = ctx->value;
	struct net_process_record rec;

	if (key && p && unreported(p, &rec, key->pid, key->start_ns))
		report(p, &rec);
	return 0;
}

/* With hooks on calls and task storage: reports processes with amounts there or in `processes`. */
SEC("iter/task")
int on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	struct net_process_record rec;
	struct net_process_key key = {};
	struct net_process *p;

	if (!t || t->pid != t->tgid || t->flags & PF_KTHREAD)
		return 0;
	key.pid = t->tgid;
	key.start_ns = t->start_boottime;
	p = bpf_task_storage_get(&callers, t, 0, 0);
	if (p && unreported(p, &rec, key.pid, key.start_ns))
		report(p, &rec);
	p = bpf_map_lookup_elem(&processes, &key);
	if (p && unreported(p, &rec, key.pid, key.start_ns))
		report(p, &rec);
	return 0;
}

static __always_inline int freed(struct task_struct *t)
{
	struct net_process_record rec;
	struct net_process_key key = {};
	struct net_process *p, *from = NULL;

	if (t->pid != t->tgid)
		return 0;
	/* ignores the result: sends the amounts even if no skepd reads, as the kernel frees the task's storage */
	skep_unattended(SKEP_KEPT_UNCOUNTED);
	key.pid = t->tgid;
	key.start_ns = t->start_boottime;
	/* most processes use no socket: no look-up for them */
	if (use_task_storage && ((struct task_struct___storage *)t)->bpf_storage)
		from = bpf_task_storage_get(&callers, t, 0, 0);
	p = processes_used ? bpf_map_lookup_elem(&processes, &key) : NULL;
	if (!from) {
		SKEP_LOAD_HERE(p); /* else clang computes from | p, which the verifier refuses */
		if (!p)
			return 0;
	}
	if (from && p) {
		/* one record for both */
		__u64 *now = (__u64 *)&p->now, *of = (__u64 *)&from->now, *reported = (__u64 *)&from->reported;

#pragma unroll
		for (__u32 i = 0; i < NET_AMOUNTS; i++)
			now[i] += of[i] - reported[i];
		from = NULL;
	}
	unreported(from ? from : p, &rec, key.pid, key.start_ns);
	rec.dead = 1;
	if (send(&rec, sizeof(rec)) == 0) {
		if (p)
			bpf_map_delete_elem(&processes, &key);
		return 0;
	}
	COUNT(process_dropped);
	if (from) {
		/* the kernel frees the storage with the task, so the amounts go to the map, which user space reads */
		p = process_of(key.start_ns, key.pid);
		if (p) {
			__u64 *now = (__u64 *)&p->now, *out = (__u64 *)&rec.amounts;

#pragma unroll
			for (__u32 i = 0; i < NET_AMOUNTS; i++)
				now[i] += out[i];
		}
	}
	return 0;
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *t)
{
	SKEP_UNPREEMPTED(freed(t));
	return 0;
}

/*
 * Without hooks on calls: true if the process `holder`, which has a descriptor of the connection, is its owner.  In a
 * scan of all processes the holder becomes the owner if no such scan has found one yet, or if the last one did not find
 * the owner with a descriptor; until then the bytes wait.  Processes come in the order of their pids, so usually a
 * parent comes before the child that inherited its descriptors.
 */
static __always_inline int owner_has(struct conn *c, struct task_struct *t, struct net_process_key *holder)
{
	if (c->pid != holder->pid || c->start_ns != holder->start_ns) {
		if (partial || (c->found && c->found + 1 >= scans))
			return 0;
		own(c, t, holder);
	}
	c->found = scans;
	c->guessed = 0;
	c->flags &= ~NET_CONN_KERNEL; /* a multipath listener's, but a process has it */
	return 1;
}

/*
 * At the start this iterator finds the sockets that are open already, and the processes that hold them. Each interval
 * it reports the traffic of connections since the last one. For user space it writes the ids of processes that own
 * connections: where the kernel can visit one process (6.1), the next scans visit only those (scan.c). Only descriptors
 * lead to the sockets of all network
 * namespaces: iter/tcp shows its opener's namespace only. iter/bpf_sk_storage_map would show just tracked sockets, but
 * panics 7.2 when the kernel frees a socket meanwhile (__bpf_sk_storage_map_seq_show). A socket that several processes
 * hold appears several times, with no new traffic after the first.
 */
SEC("iter/task_file")
int on_file(struct bpf_iter__task_file *ctx)
{
	struct task_struct *t = ctx->task;
	struct file *file = ctx->file;
	struct file___net *inside = (void *)file;
	struct socket *sock;
	struct net_process_key holder = {};
	struct sock *sk;
	struct conn *c;
	__u32 state;

	if (!t || !file)
		return 0;
	if (use_sk_storage) {
		sock = bpf_sock_from_file(file);
		if (!sock)
			return 0;
		sk = sock->sk;
	} else {
		/* an O_PATH descriptor of a socket's name in the file system has no socket */
		if ((BPF_CORE_READ(inside, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
			return 0;
		sock = BPF_CORE_READ(inside, private_data);
		if (!sock || BPF_CORE_READ(sock, file) != file)
			return 0;
		sk = BPF_CORE_READ(sock, sk);
	}
	if (!sk || BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP)
		return 0;
	if (BPF_CORE_READ(sk, __sk_common.skc_family) != AF_INET &&
	    BPF_CORE_READ(sk, __sk_common.skc_family) != AF_INET6)
		return 0;
	scanner = bpf_get_current_pid_tgid() >> 32;
	holder.pid = t->tgid;
	holder.start_ns = BPF_CORE_READ(t, group_leader, start_boottime);
	state = BPF_CORE_READ(sk, __sk_common.skc_state);
	if (state == TCP_LISTEN) {
		struct listener_key key = { .netns = netns_of(sk), .port = local_port(sk) };

		bpf_map_update_elem(&listeners, &key, &holder, BPF_NOEXIST);
		return 0;
	}
	if (state == TCP_SYN_SENT)
		return 0;
	c = conn_get(sk, state != TCP_CLOSE);
	if (!c || (state == TCP_CLOSE && (!c->held || c->closed)))
		return 0;
	if (!c->known) {
		conn_met(c, sk);
		c->guessed = 1;
	}
	if (!calls_counted) {
		if (!owner_has(c, t, &holder))
			return 0;
		/* without room for the id the kernel calls again for this descriptor */
		if (!partial && c->round != rounds &&
		    bpf_seq_write(ctx->meta->seq, &holder.pid, sizeof(holder.pid)))
			return 0;
		conn_found(c);
	}
	if (!c->pid && !(c->flags & NET_CONN_KERNEL)) {
		own(c, t, &holder);
		c->guessed = 1;
	}
	if (cgroups_wanted && c->pid == (__u32)t->tgid)
		c->cgroup_id = skep_cgroup_of_untyped(t);
	pass(sk, c, state);
	return 0;
}

#endif
