/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/net/conn_table.bpf.h - the table of TCP connections, in the storage of their sockets or in a hash map; and
 * the table of listeners, which own a connection until another process uses it.
 */
#ifndef SKEP_NET_CONN_TABLE_BPF_H
#define SKEP_NET_CONN_TABLE_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/cgroup.bpf.h>

#include "conn.bpf.h"
#include "ring.bpf.h"

/* Set by user space before the load. */
const volatile __u32 use_sk_storage;   /* tracing programs may use socket storage: since 5.11 */
const volatile __u32 calls_counted;    /* a hook on send and recv counts calls, and finds owners */

/* Changed by user space while the programs run. */
__u32 scans;             /* scans of all processes that have begun */
__u32 partial;           /* the scan under way visits only processes that own connections */
__u32 rounds;            /* scans of either kind that have begun */
__u32 epoch;             /* user space has begun to count `owned` anew so many times */
__u32 scanner;           /* the process that reads the iterator on_file, which writes its id */
__u32 cgroups_wanted;    /* a detail is attached to a cgroup: the programs note owners' cgroups */

/* Without hooks on calls: user space learns from these counts whether it must scan all processes (scan.c). */
__u64 unowned;           /* open connections that no scan has found yet */
__u64 owned;             /* open connections that scans have found by a descriptor of their owner */
__u64 owned_now;         /* the number of these that the scan under way has found */
__u64 accepted_by_kernel; /* connections since the load; a multipath listener's get a descriptor later */
__u64 listeners_closed;  /* since the load */

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct conn);
} conns SEC(".maps");

/*
 * For kernels whose tracing programs have no socket storage (before 5.11): connections by the socket's address, from
 * the first state to the last.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space where it is used */
	__type(key, __u64);
	__type(value, struct conn);
} conns_by_address SEC(".maps");

/*
 * On the same kernels: bytes of ended connections that the owner was credited early, by the socket's address.  A call
 * under way when the peer's FIN ends the connection (release_sock() in recvmsg does that) returns after the connection
 * has left the map, and its bytes must not count twice.
 */
struct ended {
	__u64 early;
	__u64 start_ns; /* of the owner that has them */
	__u32 pid;      /* 0: no process has */
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* set by user space where it is used */
	__type(key, __u64);
	__type(value, struct ended);
} ended_by_address SEC(".maps");

/* Listening processes: each owns the connections that it accepts until another process uses them. */
struct listener_key {
	__u32 netns;
	__u32 port;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct listener_key);
	__type(value, struct net_process_key);
} listeners SEC(".maps");

static __always_inline struct conn *conn_get(struct sock *sk, int create)
{
	static const struct conn no_conn;
	struct conn *c;
	__u64 key;

	if (use_sk_storage)
		c = bpf_sk_storage_get(&conns, sk, 0, create ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	else {
		key = (__u64)sk;
		c = bpf_map_lookup_elem(&conns_by_address, &key);
		if (!c && create) {
			bpf_map_delete_elem(&ended_by_address, &key); /* left by the previous socket at this address */
			bpf_map_update_elem(&conns_by_address, &key, &no_conn, BPF_NOEXIST);
			c = bpf_map_lookup_elem(&conns_by_address, &key);
		}
	}
	if (!c && create)
		COUNT(conns_full);
	return c;
}

/* Deletes the entry of a socket that the kernel frees; it frees a socket's storage itself. */
static __always_inline void conn_forget(struct sock *sk)
{
	__u64 key = (__u64)sk;

	if (!use_sk_storage)
		bpf_map_delete_elem(&conns_by_address, &key);
}

static __always_inline __u32 netns_of(struct sock *sk)
{
	return BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
}

/* Reads inet_sport, as the kernel sets skc_num to 0 before the change to CLOSE. */
static __always_inline __u16 local_port(struct sock *sk)
{
	struct inet_sock *inet = (void *)sk;

	return bpf_ntohs(BPF_CORE_READ(inet, inet_sport));
}

static __always_inline struct net_process_key *listener_of(struct sock *sk)
{
	struct listener_key key = { .netns = netns_of(sk), .port = local_port(sk) };

	return bpf_map_lookup_elem(&listeners, &key);
}

/* Sets LOOPBACK and KERNEL, once the socket has a route. */
static __always_inline void route(struct conn *c, struct sock *sk)
{
	if (c->routed)
		return;
	if (loopback_by_route(sk))
		c->flags |= NET_CONN_LOOPBACK;
	if (BPF_CORE_READ_BITFIELD_PROBED(sk, sk_kern_sock))
		c->flags |= NET_CONN_KERNEL;
	c->routed = 1;
}

static __always_inline int is_mptcp(struct sock *sk)
{
	struct tcp_sock___mptcp *tp = (void *)sk;

	return bpf_core_field_exists(tp->is_mptcp) && BPF_CORE_READ(tp, is_mptcp);
}

static __always_inline void own(struct conn *c, struct task_struct *t, struct net_process_key *key)
{
	c->pid = key->pid;
	c->start_ns = key->start_ns;
	if (cgroups_wanted)
		c->cgroup_id = skep_cgroup_of_untyped(t);
}

/* Counts an established connection, for which only a scan can find the process that has a descriptor of it. */
static __always_inline void conn_awaits(struct conn *c, struct sock *sk)
{
	if (calls_counted || c->awaits || c->round)
		return;
	if (!(c->flags & NET_CONN_KERNEL)) {
		c->awaits = 1;
		add(&unowned, 1);
	} else if (c->direction == NET_IN && !is_mptcp(sk)) {
		add(&accepted_by_kernel, 1);
	}
}

static __always_inline void conn_awaits_no_more(struct conn *c)
{
	if (c->awaits)
		add(&unowned, -1);
	c->awaits = 0;
}

/* A scan has found the connection with a descriptor of its owner's. */
static __always_inline void conn_found(struct conn *c)
{
	conn_awaits_no_more(c);
	if (c->round == rounds)
		return;
	c->round = rounds;
	add(&owned_now, 1);
	if (c->epoch != epoch) {
		c->epoch = epoch;
		add(&owned, 1);
	}
}

/* The connection has ended, or its last descriptor is about to be closed. */
static __always_inline void conn_uncounted(struct conn *c)
{
	conn_awaits_no_more(c);
	if (!c->epoch || c->epoch != epoch)
		return;
	c->epoch = 0;
	add(&owned, -1);
	if (c->round == rounds)
		add(&owned_now, -1);
}

/* Sets up a connection that is older than the probe, or whose begin no program saw: its traffic counts from now on. */
static __always_inline void conn_met(struct conn *c, struct sock *sk)
{
	totals_read(&c->base, sk, BPF_CORE_READ(sk, __sk_common.skc_state));
	c->settled = c->base;
	c->recorded[NET_TX] = c->base.wire[NET_TX];
	c->recorded[NET_RX] = c->base.wire[NET_RX];
	c->recorded_retransmits = c->owners_retransmits = c->base.retransmits;
	c->direction = 0; /* direction_of() decides, once the listeners are known */
	c->flags = NET_CONN_BEFORE;
	route(c, sk);
	c->accounted = 1;
	c->counted = 1;
	c->known = 1;
	conn_awaits(c, sk);
}

static __always_inline __u16 direction_of(struct conn *c, struct sock *sk)
{
	if (!c->direction)
		c->direction = listener_of(sk) ? NET_IN : NET_OUT;
	return c->direction;
}

#endif
