/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/net/calls.bpf.h - the hooks on send and receive: add the bytes of each call to the process that called.
 */
#ifndef SKEP_NET_CALLS_BPF_H
#define SKEP_NET_CALLS_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/kept.bpf.h>
#include <skep/bpf/preempt.bpf.h>
#include <skep/bpf/verdict.bpf.h>

#include "conn.bpf.h"
#include "conn_table.bpf.h"
#include "process.bpf.h"
#include "ring.bpf.h"

#define MSG_PEEK 2
#define MSG_ERRQUEUE 0x2000

/*
 * Takes bytes back from the owner of a connection, to whom credit() gave them while this call was under way: they are
 * the caller's.  0: they stay where they are, since a report has them already, or they are not a process's.
 *
 * Not static: see credit().
 */
__noinline int take_back(__u32 pid, __u64 start_ns, __u32 number, __u64 n)
{
	struct net_process_key key = { .start_ns = start_ns, .pid = pid };
	struct net_process *p = bpf_map_lookup_elem(&processes, &key);
	__u64 slot = number;

	asm volatile("" : "+r"(slot)); /* as in credit() */
	if (!p || slot >= NET_SLOTS || p->now.bytes[slot] - p->reported.bytes[slot] < n)
		return 0;
	add(&p->now.bytes[slot], -n);
	return 1;
}

/* Returns how many of the n bytes, read from a connection that has left the map, are still the caller's to count. */
static __always_inline __u64 not_credited(struct sock *sk, __u64 n, __u32 pid, __u32 slot)
{
	__u64 key = (__u64)sk, early;
	struct ended *e = bpf_map_lookup_elem(&ended_by_address, &key);
	struct ended was;

	if (!e)
		return n;
	was = *e;
	early = was.early > n ? n : was.early;
	if (was.early > n)
		e->early = was.early - n;
	else
		bpf_map_delete_elem(&ended_by_address, &key);
	return was.pid && was.pid != pid && take_back(was.pid, was.start_ns, slot, early) ? n : n - early;
}

/* The current process uses a connection: it becomes the owner if there is none, or only a guessed one. */
static __always_inline void used(struct conn *c, struct sock *sk, struct net_process *me, __u32 pid)
{
	struct net_process_key key = {};

	if (!c->pid || c->guessed) {
		if (!current_key(&key)) {
			c->flags |= NET_CONN_KERNEL;
		} else {
			own(c, (void *)bpf_get_current_task(), &key);
			/* the kernel accepted it for a multipath listener, but a process uses it */
			c->flags &= ~NET_CONN_KERNEL;
		}
		c->guessed = 0;
	}
	if (!c->accounted && me && c->pid == pid) {
		add(direction_of(c, sk) == NET_IN ? &me->now.accepts : &me->now.connects, 1);
		c->accounted = 1;
	}
}

static __always_inline int moved(struct sock *sk, int ret, int flags, int way)
{
	__u32 pid, slot, protocol;
	struct net_process *me = NULL;
	struct net_counters *k;
	struct conn *c = NULL;
	__u64 n = (__u32)ret;
	int kernel, out, tcp = 0;
	__u16 family;

	if (ret <= 0 || !sk || (way == NET_RX && flags & (MSG_PEEK | MSG_ERRQUEUE)) ||
	    skep_asleep(NET_UNATTENDED_PROCESS))
		return 0;
	family = sk->__sk_common.skc_family;
	if (family == AF_UNIX) {
		slot = NET_SLOT(NET_UNIX, NET_TX);
	} else if (family == AF_INET || family == AF_INET6) {
		protocol = sk->sk_protocol;
		if (protocol == IPPROTO_UDP || protocol == IPPROTO_UDPLITE) {
			slot = loopback_by_address(sk, family) ? NET_SLOT(NET_UDP_LO, NET_TX)
							       : NET_SLOT(NET_UDP, NET_TX);
		} else if (protocol == IPPROTO_TCP) {
			tcp = 1;
			/*
			 * A process may still read a connection that has ended; no program would remove a new entry
			 * for it from the map by address.
			 */
			c = conn_get(sk, sk->__sk_common.skc_state != TCP_CLOSE);
			if (c && !c->known) {
				conn_met(c, sk);
				/* the totals include this call already */
				c->base.app[way] = beyond(c->base.app[way], n);
				c->guessed = 1;
			}
			if (c)
				route(c, sk);
			if (c ? c->flags & NET_CONN_LOOPBACK : loopback_by_address(sk, family))
				slot = NET_SLOT(NET_TCP_LO, NET_TX);
			else
				slot = NET_SLOT(NET_TCP, NET_TX);
		} else if (protocol == IPPROTO_MPTCP) {
			slot = loopback_by_address(sk, family) ? NET_SLOT(NET_TCP_LO, NET_TX)
							       : NET_SLOT(NET_TCP, NET_TX);
		} else {
			return 0;
		}
	} else {
		return 0;
	}
	slot += way;
	if (use_task_storage) {
		struct task_struct *t = bpf_get_current_task_btf();

		kernel = (t->flags & PF_KTHREAD) != 0;
		pid = t->tgid;
	} else {
		struct task_struct *t = (void *)bpf_get_current_task();

		kernel = (BPF_CORE_READ(t, flags) & PF_KTHREAD) != 0;
		pid = bpf_get_current_pid_tgid() >> 32;
	}
	out = excluded(pid);
	if (!kernel && !out)
		me = my_process();
	if (c) {
		__u64 early = c->extra[way];

		used(c, sk, me, pid);
		add(&c->calls[way], n);
		/* the iterator, or the connection's end, credited these bytes while the call was under way */
		if (early) {
			if (early > n)
				early = n;
			c->extra[way] -= early;
			if (c->flags & NET_CONN_KERNEL || c->pid == pid || !take_back(c->pid, c->start_ns, slot, early))
				n -= early;
		}
	} else if (!use_sk_storage && tcp && way == NET_RX) {
		n = not_credited(sk, n, pid, slot);
	}
	if (slot >= NET_SLOTS)
		return 0;
	if (me) {
		add(&me->now.bytes[slot], n);
		return 0;
	}
	k = my_counters();
	if (k)
		add(kernel ? &k->kernel[slot] : out ? &k->excluded[slot] : &k->unplaced[slot], n);
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(on_send, struct sock *sk, int ret, int flags)
{
	SKEP_UNPREEMPTED(moved(sk, ret, flags, NET_TX));
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_recv, struct sock *sk, int ret, int flags)
{
	SKEP_UNPREEMPTED(moved(sk, ret, flags, NET_RX));
	return 0;
}

/* Before 6.3: the results of the families' own functions, as compilers may inline sock_sendmsg and sock_recvmsg. */
#define SENDS(function_)                                                                                   \
	SEC("fexit/" #function_)                                                                           \
	int BPF_PROG(on_##function_, struct socket *sock, void *msg, unsigned long size, int ret)          \
	{                                                                                                  \
		SKEP_UNPREEMPTED(moved(sock->sk, ret, 0, NET_TX));                                         \
		return 0;                                                                                  \
	}
#define RECEIVES(function_)                                                                                          \
	SEC("fexit/" #function_)                                                                                     \
	int BPF_PROG(on_##function_, struct socket *sock, void *msg, unsigned long size, int flags, int ret)         \
	{                                                                                                            \
		SKEP_UNPREEMPTED(moved(sock->sk, ret, flags, NET_RX));                                               \
		return 0;                                                                                            \
	}

SENDS(inet_sendmsg)
SENDS(inet6_sendmsg)
SENDS(unix_stream_sendmsg)
SENDS(unix_dgram_sendmsg)
RECEIVES(inet_recvmsg)
RECEIVES(inet6_recvmsg)
RECEIVES(unix_stream_recvmsg)
RECEIVES(unix_dgram_recvmsg)

/* Since 5.14 datagrams and sequenced packets share this function; before, one calls the other. */
SEC("fexit/__unix_dgram_recvmsg")
int BPF_PROG(on_unix_packets_recvmsg, struct sock *sk, void *msg, unsigned long size, int flags, int ret)
{
	SKEP_UNPREEMPTED(moved(sk, ret, flags, NET_RX));
	return 0;
}

#endif
