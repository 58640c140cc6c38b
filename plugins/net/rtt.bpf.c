// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/net/rtt.bpf.c - distributions of TCP round trip times, for attachments of the detail rtt. skepd loads the
 * object with the first attachment.
 *
 * The samples are the kernel's own: RACK (RFC 8985, tcp_rack_advance) notes for each delivered segment how long ago the
 * kernel sent it, and skips retransmitted segments. The kernel calls tcp_probe at the begin of each segment that
 * arrives on an established connection, so the program then finds the previous segment's sample. It also looks at
 * changes of state, for the handshake and for the last acknowledgement. A sample is new when the kernel delivered a
 * segment that it sent later than all segments delivered before: then the segment's sending time, or its end, differs.
 * srtt does not show this, as a sample of the same value leaves srtt unchanged.
 *
 * net.bpf.c finds the owner of a connection.
 */
#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/hist.bpf.h>
#include <skep/bpf/scope.bpf.h>

#include "conn.bpf.h"
#include "rtt.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by user space before the load. */
const volatile __u32 use_sk_storage; /* as in net.bpf.c */

struct tcp_rack {
	__u64 mstamp;
	__u32 rtt_us;
	__u32 end_seq;
} __attribute__((preserve_access_index));

struct tcp_sock___rack {
	struct tcp_rack rack;
} __attribute__((preserve_access_index));

/* Placeholders: user space replaces them by the maps of net.bpf.c. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct conn);
} conns SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct conn);
} conns_by_address SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct rtt_conn);
} looks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space where it is used */
	__type(key, __u64);
	__type(value, struct rtt_conn);
} looks_by_address SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space, which adds the overflow rows */
	__type(key, struct rtt_key);
	__type(value, struct rtt_row);
} rows SEC(".maps");

/* A zeroed row to add; it is too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rtt_row);
} new_row SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RTT_NESTING); /* set by user space: RTT_NESTING for each CPU */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct rtt_cpu);
} cpus SEC(".maps");

#define ADD(field_, n_) __sync_fetch_and_add(&(field_), n_)

static __always_inline struct rtt_cpu *my_cpu(__u32 which)
{
	__u32 i = bpf_get_smp_processor_id() * RTT_NESTING + which;

	return bpf_map_lookup_elem(&cpus, &i);
}

/* An interrupt of a program in process context uses the second element. */
static __always_inline struct rtt_cpu *take(__u32 *which)
{
	struct rtt_cpu *c = my_cpu(0);

	*which = 0;
	if (c && c->busy) {
		*which = 1;
		c = my_cpu(1);
	}
	if (!c)
		return NULL;
	if (c->busy) {
		ADD(c->lost, 1);
		return NULL;
	}
	*(volatile __u64 *)&c->busy = 1;
	return c;
}

static __always_inline struct conn *conn_of(struct sock *sk)
{
	__u64 key = (__u64)sk;

	if (use_sk_storage)
		return bpf_sk_storage_get(&conns, sk, 0, 0);
	return bpf_map_lookup_elem(&conns_by_address, &key);
}

static const struct rtt_conn no_look;

static __always_inline struct rtt_conn *look_of(struct sock *sk)
{
	__u64 key = (__u64)sk;
	struct rtt_conn *l;

	if (use_sk_storage)
		return bpf_sk_storage_get(&looks, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	l = bpf_map_lookup_elem(&looks_by_address, &key);
	if (l)
		return l;
	bpf_map_update_elem(&looks_by_address, &key, &no_look, BPF_NOEXIST);
	return bpf_map_lookup_elem(&looks_by_address, &key);
}

/* Adds a sample to one attachment's row. Not static: the verifier then checks the function once. */
__noinline int add(__u32 slot, __u32 which)
{
	struct rtt_cpu *c = my_cpu(which & 1);
	struct rtt_row *r, *none;
	struct rtt_key others = { .others = 1 };
	__u32 zero = 0;
	__u64 at;

	if (!c)
		return 0;
	c->key.slot = slot;
	r = bpf_map_lookup_elem(&rows, &c->key);
	if (!r) {
		none = bpf_map_lookup_elem(&new_row, &zero);
		if (none)
			bpf_map_update_elem(&rows, &c->key, none, BPF_NOEXIST);
		r = bpf_map_lookup_elem(&rows, &c->key); /* also if another CPU added it first */
	}
	if (!r) {
		others.slot = slot;
		r = bpf_map_lookup_elem(&rows, &others);
		ADD(c->others, 1);
	}
	if (!r) /* cannot happen */
		return 0;
	at = *(volatile __u64 *)&c->at;
	/* keeps the value in one register: the verifier demands the bound next to the use */
	asm volatile("" : "+r"(at));
	if (at < SKEP_HIST_SLOTS) {
		ADD(r->slots[at], 1);
		ADD(r->sum_ns, c->ns);
	}
	return 0;
}

/* The service's port, as in net.peer. */
static __always_inline void describe(struct rtt_cpu *c, struct sock *sk, __u32 direction)
{
	struct inet_sock *inet = (void *)sk;
	__u32 local[4];

	c->key.family = BPF_CORE_READ(sk, __sk_common.skc_family);
	c->key.direction = direction;
	c->key.port = bpf_ntohs(direction == NET_IN ? BPF_CORE_READ(inet, inet_sport)
						    : BPF_CORE_READ(sk, __sk_common.skc_dport));
	addresses(sk, c->key.family, local, (__u32 *)c->key.remote);
}

static __always_inline void sample(struct sock *sk, struct rtt_conn *l, __u32 rtt_us)
{
	struct conn *owner = conn_of(sk);
	__u32 slots, which;
	struct rtt_cpu *c;

	/* net.bpf.c has deleted an ended connection from its map by address: use the values of the last look */
	if (owner && owner->known) {
		int kernel = owner->flags & NET_CONN_KERNEL;

		l->pid = kernel ? 0 : owner->pid;
		l->start_ns = kernel ? 0 : owner->start_ns;
		l->cgroup_id = kernel ? 0 : owner->cgroup_id;
		l->direction = owner->direction;
	}
	c = take(&which);
	if (!c)
		return;
	if (l->pid)
		slots = skep_slots_of_values(verdict_of(l->pid), l->pid, l->start_ns, l->cgroup_id, &c->matched);
	else /* connections without an owner, and the kernel's own, count for the host */
		slots = scopes.of_byte[VERDICT_COLLECT];
	slots &= scopes.of_kind[0];
	if (!slots)
		goto out;
	c->ns = (__u64)rtt_us * 1000;
	*(volatile __u64 *)&c->at = skep_hist_slot(c->ns);
	describe(c, sk, l->direction);
#pragma unroll
	for (__u32 i = 0; i < SKEP_SCOPE_SLOTS; i++)
		if (slots & 1u << i)
			add(i, which);
out:
	*(volatile __u64 *)&c->busy = 0;
}

/* begins: the connection has delivered no segment yet, so tcp_sock's values are not its own. */
static __always_inline void look(struct sock *sk, int begins)
{
	struct tcp_sock___rack *tp = (void *)bpf_skc_to_tcp_sock(sk);
	struct rtt_conn *l;
	__u64 mstamp;
	__u32 end_seq;
	int new;

	if (!tp)
		return;
	l = look_of(sk);
	if (!l) {
		struct rtt_cpu *c = my_cpu(0);

		if (c)
			ADD(c->lost, 1);
		return;
	}
	mstamp = tp->rack.mstamp;
	end_seq = tp->rack.end_seq;
	if (l->known && l->mstamp == mstamp && l->end_seq == end_seq)
		return;
	/* for a connection older than the attachment, the values at the first look are old */
	new = l->known && !begins;
	if (begins)
		__builtin_memset(l, 0, sizeof(*l));
	l->mstamp = mstamp;
	l->end_seq = end_seq;
	l->known = 1;
	if (new)
		sample(sk, l, tp->rack.rtt_us);
}

/* tcp_probe(sk, skb) */
SEC("tp_btf/tcp_probe")
int BPF_PROG(on_segment, struct sock *sk)
{
	if (scopes.of_kind[0])
		look(sk, 0);
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, struct sock *sk, int old, int new)
{
	if (sk->sk_protocol != IPPROTO_TCP || new == TCP_LISTEN || old == TCP_LISTEN ||
	    (old == TCP_CLOSE && new != TCP_SYN_SENT))
		return 0;
	if (scopes.of_kind[0])
		look(sk, new == TCP_SYN_SENT || old == TCP_SYN_RECV);
	if (!use_sk_storage && new == TCP_CLOSE) {
		__u64 key = (__u64)sk;

		bpf_map_delete_elem(&looks_by_address, &key);
	}
	return 0;
}
