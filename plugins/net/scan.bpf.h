/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/net/scan.bpf.h - the iterators that user space runs each interval, over tasks and over open sockets; and the
 * hook on a process's free, which reports what no later scan can find.
 */
#ifndef SKEP_NET_SCAN_BPF_H
#define SKEP_NET_SCAN_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/cgroup.bpf.h>
#include <skep/bpf/kept.bpf.h>
#include <skep/bpf/preempt.bpf.h>

#include "conn.bpf.h"
#include "conn_report.bpf.h"
#include "conn_table.bpf.h"
#include "process.bpf.h"
#include "ring.bpf.h"

#define S_IFMT 0170000
#define S_IFSOCK 0140000

static __always_inline void pass(struct sock *sk, struct conn *c, __u32 state)
{
	struct scratch *s = my_scratch(SCRATCH_PASS);

	if (!s || c->closed)
		return;
	totals_read(&s->t, sk, state);
	settle_bytes(c, sk, &s->t);
	describe(s, c, sk, bpf_ktime_get_boot_ns());
	settle_rest(s, c, 0, 0);
	/* only connections older than long_ns get a record while they are open */
	if (s->rec.h.time_ns - c->began_ns >= long_ns)
		record(s, c, 0);
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
	if (use_task_storage) {
		p = bpf_task_storage_get(&callers, t, 0, 0);
		if (p && unreported(p, &rec, key.pid, key.start_ns))
			report(p, &rec);
	}
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
	/* sends what the process did before all the same, as the kernel frees its storage with it */
	skep_unattended(SKEP_KEPT_UNCOUNTED);
	key.pid = t->tgid;
	key.start_ns = t->start_boottime;
	if (use_task_storage)
		from = bpf_task_storage_get(&callers, t, 0, 0);
	p = bpf_map_lookup_elem(&processes, &key);
	if (!from && !p)
		return 0;
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
 * At the start it finds the sockets that are open already, and the processes that hold them; each interval it reports
 * what went over connections since. Only descriptors lead to the sockets of all network namespaces: iter/tcp shows the
 * one of its opener, and iter/bpf_sk_storage_map, which would show just tracked sockets, panics 7.2 when the kernel
 * frees a socket meanwhile (__bpf_sk_storage_map_seq_show). A socket that several processes hold appears several times,
 * with nothing new after the first.
 */
SEC("iter/task_file")
int on_file(struct bpf_iter__task_file *ctx)
{
	struct task_struct *t = ctx->task, *leader;
	struct file *file = ctx->file;
	struct file___net *inside = (void *)file;
	struct socket *sock;
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
	leader = t->group_leader;
	state = BPF_CORE_READ(sk, __sk_common.skc_state);
	if (state == TCP_LISTEN) {
		struct listener_key key = { .netns = netns_of(sk), .port = local_port(sk) };
		struct net_process_key holder = { .pid = t->tgid, .start_ns = BPF_CORE_READ(leader, start_boottime) };

		bpf_map_update_elem(&listeners, &key, &holder, BPF_NOEXIST);
		return 0;
	}
	if (state == TCP_CLOSE || state == TCP_SYN_SENT)
		return 0;
	c = conn_get(sk, 1);
	if (!c)
		return 0;
	if (!c->known) {
		conn_met(c, sk);
		c->guessed = 1;
	}
	if (!c->pid && !(c->flags & NET_CONN_KERNEL)) {
		c->pid = t->tgid;
		c->start_ns = BPF_CORE_READ(leader, start_boottime);
		c->guessed = 1;
	}
	if (cgroups_wanted && c->pid == (__u32)t->tgid)
		c->cgroup_id = skep_cgroup_of_untyped(t);
	pass(sk, c, state);
	return 0;
}

#endif
