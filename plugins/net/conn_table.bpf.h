/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/net/conn_table.bpf.h - the table of TCP connections, in the storage of their sockets or in a hash map; and
 * the table of listeners, which own a connection until another process uses it.
 */
#ifndef SKEP_NET_CONN_TABLE_BPF_H
#define SKEP_NET_CONN_TABLE_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include "conn.bpf.h"
#include "ring.bpf.h"

/* Set by user space before the load. */
const volatile __u32 use_sk_storage;   /* sockets' storage in tracing programs: since 5.11 */

/* Changed by user space while the programs run. */
__u32 cgroups_wanted;    /* a detail is attached to a cgroup: the programs note owners' cgroups */

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
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* set by user space where it is used */
	__type(key, __u64);
	__type(value, __u64);
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
			bpf_map_delete_elem(&ended_by_address, &key); /* of a socket that had this address before */
			bpf_map_update_elem(&conns_by_address, &key, &no_conn, BPF_NOEXIST);
			c = bpf_map_lookup_elem(&conns_by_address, &key);
		}
	}
	if (!c && create)
		COUNT(conns_full);
	return c;
}

static __always_inline __u32 netns_of(struct sock *sk)
{
	return BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
}

/* Not skc_num, which is 0 again at the change to CLOSE. */
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

/* A connection that is older than the probe, or whose begin no program saw, counts from here on. */
static __always_inline void conn_met(struct conn *c, struct sock *sk)
{
	totals_read(&c->base, sk, BPF_CORE_READ(sk, __sk_common.skc_state));
	c->settled = c->base;
	c->recorded[NET_TX] = c->base.wire[NET_TX];
	c->recorded[NET_RX] = c->base.wire[NET_RX];
	c->recorded_retransmits = c->base.retransmits;
	c->direction = 0; /* direction_of() decides, once the listeners are known */
	c->flags = NET_CONN_BEFORE;
	route(c, sk);
	c->accounted = 1;
	c->counted = 1;
	c->known = 1;
}

static __always_inline __u16 direction_of(struct conn *c, struct sock *sk)
{
	if (!c->direction)
		c->direction = listener_of(sk) ? NET_IN : NET_OUT;
	return c->direction;
}

#endif
