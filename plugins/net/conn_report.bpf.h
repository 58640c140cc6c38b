/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/net/conn_report.bpf.h - reports a connection's traffic: to its owner, to the row of its peer, and in a record
 * of its own while the interval has room for one.
 */
#ifndef SKEP_NET_CONN_REPORT_BPF_H
#define SKEP_NET_CONN_REPORT_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/verdict.bpf.h>

#include "conn.bpf.h"
#include "conn_table.bpf.h"
#include "process.bpf.h"
#include "ring.bpf.h"

/* Set by user space before the load. */
const volatile __u64 big_bytes = 1 << 20;      /* a connection with this many bytes gets a record before smaller ones */
const volatile __u64 long_ns = 1000000000;

/* Changed by user space while the programs run. */
__s64 records_left;      /* records of connections that this interval has room for */
__s64 records_small_left; /* of those, for connections that are neither big nor long nor failed */
__u32 phase;             /* 0: the programs write peers_even, 1: peers_odd */

/* Two maps: user space empties one while the programs write the other, so it never removes an entry in use. */
struct peer_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4097); /* one row for the sum of all others */
	__type(key, struct net_peer_key);
	__type(value, struct net_peer);
} peers_even SEC(".maps"), peers_odd SEC(".maps");

/*
 * Buffers for records, three for each CPU: one for a change of state, one for a change that interrupts it (in softirq),
 * and one for the iterator, which both interrupt.
 */
struct scratch {
	__u64 busy;
	__u64 sk;   /* address of the socket, as a number: functions that are not static accept no typed pointer */
	__u32 self; /* its index in the map */
	__u32 reserved;
	struct net_conn_record rec;
	struct net_peer_key key;
	struct net_peer peer;
	struct totals t;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NET_SCRATCHES); /* set by user space: NET_SCRATCHES for each CPU */
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");
enum { SCRATCH_STATE, SCRATCH_NESTED, SCRATCH_PASS };

static __always_inline struct scratch *my_scratch(__u32 which)
{
	__u32 i = bpf_get_smp_processor_id() * NET_SCRATCHES + which;
	struct scratch *s = bpf_map_lookup_elem(&scratches, &i);

	if (s)
		s->self = i;
	return s;
}

/* An interrupting program ends before this one continues, so the test and the write need not be atomic. */
static __always_inline struct scratch *scratch_take(void)
{
	struct scratch *s = my_scratch(SCRATCH_STATE);

	if (s && s->busy)
		s = my_scratch(SCRATCH_NESTED);
	if (!s || s->busy)
		return NULL;
	*(volatile __u64 *)&s->busy = 1;
	return s;
}

static __always_inline void scratch_give(struct scratch *s)
{
	*(volatile __u64 *)&s->busy = 0;
}

/*
 * Credits the owner of a connection with bytes that no call accounts for.  flags: NET_CONN_*.
 *
 * Not static, so that the verifier checks the function once, by itself; likewise the others here.  Inlined, their
 * branches multiply with those of the callers: 7,000 steps for on_state instead of 1,500.  Up to 5.12 such a function
 * takes numbers only, so records are in a scratch, whose index is an argument.
 */
__noinline int credit(__u32 flags, __u32 pid, __u64 start_ns, __u32 number, __u64 n)
{
	struct net_counters *k = my_counters();
	struct net_process *p;
	__u64 slot = number;

	/* 64 bits, and kept in one register: the verifier knows a bound only of the register that was compared */
	asm volatile("" : "+r"(slot));
	if (!k || slot >= NET_SLOTS)
		return 0;
	if (flags & NET_CONN_KERNEL) {
		add(&k->kernel[slot], n);
	} else if (!pid) {
		add(&k->unowned[slot], n);
	} else if (excluded(pid)) {
		add(&k->excluded[slot], n);
	} else {
		p = process_of(start_ns, pid);
		add(p ? &p->now.bytes[slot] : &k->unplaced[slot], n);
	}
	return 0;
}

static __always_inline void settle_way(struct conn *c, struct totals *t, __u32 way)
{
	__u64 done = c->base.app[way] + c->calls[way] + c->extra[way];
	__u64 n;

	if (t->app[way] <= done)
		return;
	n = t->app[way] - done;
	credit(c->flags, c->pid, c->start_ns,
	       (c->flags & NET_CONN_LOOPBACK ? NET_SLOT(NET_TCP_LO, NET_TX) : NET_SLOT(NET_TCP, NET_TX)) + way, n);
	c->extra[way] += n;
}

static __always_inline void settle_bytes(struct conn *c, struct sock *sk, struct totals *t)
{
	/* on_send and on_recv count a process's calls at its MPTCP socket, and the kernel's calls at this one */
	if (calls_counted && (c->flags & NET_CONN_KERNEL || is_mptcp(sk)))
		return;
	settle_way(c, t, NET_TX);
	settle_way(c, t, NET_RX);
}

static const struct net_peer no_peer;

/* map: a constant in each call, as verifiers before 5.13 demand. */
static __always_inline struct net_peer *peer_in(void *map, struct net_peer_key *key, struct net_counters *k)
{
	struct net_peer *p = bpf_map_lookup_elem(map, key);

	if (p)
		return p;
	if (bpf_map_update_elem(map, key, &no_peer, BPF_NOEXIST) == 0)
		add(&k->peers_new, 1);
	p = bpf_map_lookup_elem(map, key);
	if (p)
		return p;
	/* the overflow row: user space added it */
	add(&k->peers_full, 1);
	__builtin_memset(key, 0, sizeof(*key));
	return bpf_map_lookup_elem(map, key);
}

static __always_inline void peer_add(struct net_peer *to, struct net_peer *n)
{
	add(&to->bytes[NET_TX], n->bytes[NET_TX]);
	add(&to->bytes[NET_RX], n->bytes[NET_RX]);
	if (n->connections)
		add(&to->connections, n->connections);
	if (n->failures)
		add(&to->failures, n->failures);
	if (n->retransmits)
		add(&to->retransmits, n->retransmits);
	if (n->latency_n) {
		add(&to->latency_sum_ns, n->latency_sum_ns);
		add(&to->latency_n, n->latency_n);
	}
	if (n->duration_n) {
		add(&to->duration_sum_ns, n->duration_sum_ns);
		add(&to->duration_n, n->duration_n);
	}
}

/* Reads the totals of the scratch's socket into it.  Not static: see credit(). */
__noinline int totals_of(__u32 scratch, __u32 state)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &scratch);

	if (s)
		totals_read(&s->t, (void *)s->sk, state);
	return 0;
}

/* Fills the identity of that socket into the record: addresses, network namespace.  Not static: see credit(). */
__noinline int describe_socket(__u32 scratch)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &scratch);
	struct net_conn_record *r;
	struct sock *sk;

	if (!s)
		return 0;
	sk = (void *)s->sk;
	r = &s->rec;
	r->netns = netns_of(sk);
	r->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	r->local_port = local_port(sk);
	r->remote_port = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	addresses(sk, r->family, (__u32 *)r->local, (__u32 *)r->remote);
	return 0;
}

/* Fills the identity of the connection into the record: addresses, owner, direction. */
static __always_inline void describe(struct scratch *s, struct conn *c, struct sock *sk, __u64 now)
{
	struct net_conn_record *r = &s->rec;

	describe_socket(s->self);
	r->h.type = NET_REC_CONN;
	r->h.pid = c->flags & NET_CONN_KERNEL ? 0 : c->pid;
	r->h.start_ns = c->flags & NET_CONN_KERNEL ? 0 : c->start_ns;
	r->h.time_ns = now;
	r->began_ns = c->began_ns;
	r->latency_ns = c->latency_ns;
	r->error = 0;
	r->flags = c->flags & (NET_CONN_LOOPBACK | NET_CONN_BEFORE | NET_CONN_KERNEL);
	r->direction = direction_of(c, sk);
}

/* Adds the amounts in the scratch to the row of the peer.  Not static: see credit(). */
__noinline int peer_report(__u32 scratch)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &scratch);
	struct net_counters *k = my_counters();
	struct net_conn_record *r;
	struct net_peer_key *key;
	struct net_peer *peer;

	if (!s || !k)
		return 0;
	r = &s->rec;
	key = &s->key;
	key->start_ns = r->h.start_ns;
	key->pid = r->h.pid;
	key->netns = r->netns;
	__builtin_memcpy(key->remote, r->remote, 16);
	key->port = r->direction == NET_IN ? r->local_port : r->remote_port;
	key->direction = r->direction;
	key->family = r->family;
	key->reserved = 0;
	if (phase & 1)
		peer = peer_in(&peers_odd, key, k);
	else
		peer = peer_in(&peers_even, key, k);
	if (peer)
		peer_add(peer, &s->peer);
	return 0;
}

/* Adds to the owner of a connection.  begun: NET_IN, NET_OUT, or 0.  Not static: see credit(). */
__noinline int account(__u64 start_ns, __u32 pid, __u32 retransmits, __u32 failures, __u32 begun)
{
	struct net_process *p = process_of(start_ns, pid);

	if (!p)
		return 0;
	if (retransmits)
		add(&p->now.retransmits, retransmits);
	if (failures)
		add(&p->now.failures, failures);
	if (begun)
		add(begun == NET_IN ? &p->now.accepts : &p->now.connects, 1);
	return 0;
}

/* Adds what changed since the last time to the owner.  0: a rule excludes the owner. */
static __always_inline int settle_owner(struct conn *c, struct totals *t, int failed, __u32 direction)
{
	__u32 resegs = t->retransmits - c->owners_retransmits;

	if (!c->pid || c->flags & NET_CONN_KERNEL)
		return 1;
	if (excluded(c->pid))
		return 0;
	if (resegs || failed || !c->accounted)
		account(c->start_ns, c->pid, resegs, failed, failed || c->accounted ? 0 : direction);
	c->owners_retransmits = t->retransmits;
	c->accounted = 1;
	return 1;
}

/* Adds what changed since the last report to the peer, to the owner and to the sum of headers. */
static __always_inline void settle_rest(struct scratch *s, struct conn *c, int failed, int over)
{
	struct net_conn_record *r = &s->rec;
	struct net_counters *k = my_counters();
	struct net_peer *n = &s->peer;
	struct totals *t = &s->t;
	__u32 resegs = t->retransmits - c->settled.retransmits;

	if (!k)
		return;
	if (!(c->flags & NET_CONN_LOOPBACK)) {
		__u32 header = 14 + t->header + (r->family == AF_INET6 ? 40 : 20);

		add(&k->headers[NET_TX], (__u64)(t->segs_out - c->settled.segs_out) * header);
		add(&k->headers[NET_RX], (__u64)(t->segs_in - c->settled.segs_in) * header);
		add(&k->resent_bytes, beyond(t->resent, c->settled.resent));
	}
	__builtin_memset(n, 0, sizeof(*n));
	n->bytes[NET_TX] = beyond(t->wire[NET_TX], c->settled.wire[NET_TX]);
	n->bytes[NET_RX] = beyond(t->wire[NET_RX], c->settled.wire[NET_RX]);
	n->retransmits = resegs;
	n->failures = failed;
	if (!failed && !c->counted) {
		n->connections = 1;
		c->counted = 1;
		if (c->latency_ns) {
			n->latency_sum_ns = c->latency_ns;
			n->latency_n = 1;
		}
	}
	if (over && !failed && c->began_ns) {
		n->duration_sum_ns = r->h.time_ns - c->began_ns;
		n->duration_n = 1;
	}
	c->settled = *t;
	if (!settle_owner(c, t, failed, r->direction))
		return;
	if (!n->bytes[NET_TX] && !n->bytes[NET_RX] && !n->retransmits && !n->failures && !n->connections &&
	    !n->duration_n)
		return;
	peer_report(s->self);
}

/* Sends a record of the connection, while this interval has room for one. */
static __always_inline void record(struct scratch *s, struct conn *c, int over)
{
	struct net_conn_record *r = &s->rec;
	struct totals *t = &s->t;
	int notable = r->flags & NET_CONN_FAILED || c->listed;

	if (c->pid && !(c->flags & NET_CONN_KERNEL) && excluded(c->pid))
		return;
	r->bytes[NET_TX] = beyond(t->wire[NET_TX], c->recorded[NET_TX]);
	r->bytes[NET_RX] = beyond(t->wire[NET_RX], c->recorded[NET_RX]);
	r->retransmits = t->retransmits - c->recorded_retransmits;
	r->srtt_us = t->srtt_us;
	if (r->bytes[NET_TX] + r->bytes[NET_RX] >= big_bytes || r->h.time_ns - c->began_ns >= long_ns)
		notable = 1;
	if (!over && !r->bytes[NET_TX] && !r->bytes[NET_RX] && !r->retransmits)
		return; /* idle */
	if (records_left <= 0 || (!notable && records_small_left <= 0)) {
		if (over)
			COUNT(conn_summed);
		return;
	}
	add((__u64 *)&records_left, -1);
	if (!notable)
		add((__u64 *)&records_small_left, -1);
	if (send(r, sizeof(*r))) {
		if (over)
			COUNT(conn_dropped);
		return;
	}
	c->recorded[NET_TX] = t->wire[NET_TX];
	c->recorded[NET_RX] = t->wire[NET_RX];
	c->recorded_retransmits = t->retransmits;
	c->listed = 1;
}

#endif
