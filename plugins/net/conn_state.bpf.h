/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/net/conn_state.bpf.h - the hook on changes of a connection's state: when it begins, is established and ends,
 * and which process owns it.
 */
#ifndef SKEP_NET_CONN_STATE_BPF_H
#define SKEP_NET_CONN_STATE_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/cgroup.bpf.h>
#include <skep/bpf/kept.bpf.h>
#include <skep/bpf/preempt.bpf.h>

#include "conn.bpf.h"
#include "conn_report.bpf.h"
#include "conn_table.bpf.h"
#include "process.bpf.h"
#include "ring.bpf.h"

/*
 * Without hooks on calls: the process that closes a connection, or shuts it down, owns it from then on, and gets the
 * bytes that no scan has credited.  The kernel does both in the context of that process.  Exception: if the process
 * closes the descriptor while the kernel visits it for on_file, the scanner's context closes the connection.
 */
static __always_inline void own_by_current(struct conn *c, struct sock *sk)
{
	struct net_process_key me = {};

	/* a kernel thread may close the last descriptor */
	if (calls_counted || !current_key(&me) || me.pid == scanner)
		return;
	own(c, (void *)bpf_get_current_task(), &me);
	c->guessed = 0;
	/* The kernel accepted it for a multipath listener, but it has a descriptor. */
	if (BPF_CORE_READ(sk, sk_socket, file) && !is_mptcp(sk))
		c->flags &= ~NET_CONN_KERNEL;
}

/* Reads the totals; of a connection that has ended only the bytes that processes read may still grow. */
static __always_inline void totals_now(struct scratch *s, struct conn *c, struct sock *sk, int state)
{
	struct totals *t = &s->t;
	__u64 app;

	s->sk = (__u64)sk;
	totals_of(s->self, state);
	if (!c->held)
		return;
	app = t->app[NET_RX];
	*t = c->end;
	if (app > t->app[NET_RX])
		t->app[NET_RX] = app;
}

/* Keeps the totals at a connection's end. */
static __always_inline void totals_at_end(struct conn *c, struct sock *sk, int old)
{
	struct scratch *s = scratch_take();

	if (!s) {
		COUNT(no_scratch);
		return;
	}
	s->sk = (__u64)sk;
	totals_of(s->self, old);
	c->end = s->t;
	scratch_give(s);
}

enum report {
	REPORT_OWNER, /* the owner's traffic: the process may be gone when the peer closes its side */
	REPORT_OPEN,  /* the traffic since the last report too */
	REPORT_LAST,  /* the last report of the connection */
};

/*
 * With hooks on calls: a process is in a call on this socket, or waits in one for room in the send buffer, so that the
 * totals may have bytes of a call that the hook counts at its end.  A scan leaves them: once the owner's record has
 * them they cannot be taken back.
 */
static __always_inline int in_call(struct sock *sk)
{
	return BPF_CORE_READ(sk, sk_lock.owned) || BPF_CORE_READ(sk, sk_write_pending);
}

/*
 * state: for REPORT_LAST the state before the connection's end.  One body for the three reports: the verifier follows
 * each that is inlined.
 */
static __always_inline void report_conn(struct sock *sk, struct conn *c, struct scratch *s, int state, enum report what)
{
	int failed = what == REPORT_LAST && (state == TCP_SYN_SENT || state == TCP_SYN_RECV);
	__u64 now;

	totals_now(s, c, sk, state);
	route(c, sk);
	if (!failed && !(calls_counted && what == REPORT_OPEN && in_call(sk)))
		settle_bytes(c, sk, &s->t);
	if (what == REPORT_OWNER) {
		settle_owner(c, &s->t, 0, direction_of(c, sk));
		return;
	}
	now = what == REPORT_LAST ? c->ended_ns : bpf_ktime_get_boot_ns();
	describe(s, c, sk, now);
	if (what == REPORT_LAST) {
		s->rec.flags |= NET_CONN_CLOSED;
		s->rec.error = c->error;
		if (failed)
			s->rec.flags |= c->error ? NET_CONN_FAILED : NET_CONN_FAILED | NET_CONN_ABORTED;
	}
	settle_rest(s, c, failed, what == REPORT_LAST);
	/* only connections older than long_ns get a record while they are open */
	if (what == REPORT_LAST || now - c->began_ns >= long_ns)
		record(s, c, what == REPORT_LAST);
	if (what == REPORT_LAST) {
		c->closed = 1;
		conn_uncounted(c);
	}
}

static __always_inline void settle(struct sock *sk, struct conn *c, int old, int over)
{
	struct scratch *s = scratch_take();

	if (!s) {
		COUNT(no_scratch);
		return;
	}
	report_conn(sk, c, s, old, over && !c->closed ? REPORT_LAST : REPORT_OWNER);
	scratch_give(s);
}

static __always_inline void connecting(struct sock *sk)
{
	struct conn *c = conn_get(sk, 1);
	struct net_process_key me = {};

	if (!c)
		return;
	/* on_state_missed may repeat the change. In the map by address, the entry may be of a previous socket. */
	if (use_sk_storage && c->known && !c->closed && !c->held)
		return;
	conn_uncounted(c);
	__builtin_memset(c, 0, sizeof(*c));
	if (current_key(&me))
		own(c, (void *)bpf_get_current_task(), &me);
	else
		c->flags = NET_CONN_KERNEL;
	c->found = scans;
	c->began_ns = bpf_ktime_get_boot_ns();
	c->direction = NET_OUT;
	c->base.app[NET_TX] = c->base.wire[NET_TX] = 1; /* our SYN */
	c->settled.wire[NET_TX] = c->recorded[NET_TX] = 1;
	c->known = 1;
}

static __always_inline void established(struct sock *sk, int old)
{
	struct conn *c = conn_get(sk, old == TCP_SYN_RECV);
	struct net_process_key *listener;
	__u64 now;

	if (!c)
		return;
	now = bpf_ktime_get_boot_ns();
	if (c->known && c->direction == NET_OUT) {
		/* from SYN_SENT, or from SYN_RECV when both sides connect at once */
		route(c, sk);
		if (!c->latency_ns)
			c->latency_ns = now - c->began_ns;
		conn_awaits(c, sk);
		return;
	}
	if (c->known)
		return;
	listener = listener_of(sk);
	if (listener) {
		c->pid = listener->pid;
		c->start_ns = listener->start_ns;
	}
	c->guessed = 1;
	c->began_ns = now;
	c->direction = NET_IN;
	route(c, sk);
	c->known = 1;
	conn_awaits(c, sk);
}

static __always_inline void listening(struct sock *sk)
{
	struct listener_key key = { .netns = netns_of(sk), .port = local_port(sk) };
	struct net_process_key me = {};

	if (current_key(&me))
		bpf_map_update_elem(&listeners, &key, &me, BPF_ANY);
}

static __always_inline void not_listening(struct sock *sk)
{
	struct listener_key key = { .netns = netns_of(sk), .port = local_port(sk) };

	bpf_map_delete_elem(&listeners, &key);
	add(&listeners_closed, 1); /* a scan puts in a listener that shares the port */
}

/* The connection has ended.  1: a process still has a descriptor of it. */
static __always_inline int ended(struct conn *c, struct sock *sk, int old)
{
	c->ended_ns = bpf_ktime_get_boot_ns();
	c->error = BPF_CORE_READ(sk, sk_err);
	if (calls_counted || old == TCP_SYN_SENT || old == TCP_SYN_RECV ||
	    BPF_CORE_READ(sk, __sk_common.skc_flags) & 1u << SOCK_DEAD_BIT)
		return 0;
	totals_at_end(c, sk, old);
	c->held = old;
	return 1;
}

/*
 * new: CLOSE, or the process has closed its side.  Then its bytes are credited now, while the process certainly lives.
 */
static __always_inline void closing(struct sock *sk, int old, int new)
{
	struct conn *c = conn_get(sk, 0);
	int over = new == TCP_CLOSE, waits;

	if (!c || !c->known || c->closed || (over && c->held))
		return;
	waits = over ? ended(c, sk, old) : 0;
	/* The current process closes its side, or it resets the connection or disconnects. */
	if (!over || (waits && c->guessed && !c->error))
		own_by_current(c, sk);
	if (waits && c->guessed)
		return; /* the other side did: on_destroy or a scan will know a process that has a descriptor */
	settle(sk, c, old, over);
	if (!over) {
		/* no process will move bytes over it, and usually none has a descriptor from here on */
		if ((BPF_CORE_READ(sk, sk_shutdown) & SHUTDOWN_MASK) == SHUTDOWN_MASK)
			conn_uncounted(c);
		return;
	}
	if (use_sk_storage || c->held)
		return;
	if (calls_counted) {
		struct ended e = { .early = c->extra[NET_RX], .start_ns = c->start_ns };
		__u64 key = (__u64)sk;

		e.pid = c->flags & NET_CONN_KERNEL ? 0 : c->pid;
		if (e.early)
			bpf_map_update_elem(&ended_by_address, &key, &e, BPF_ANY);
	}
	conn_forget(sk);
}

static __always_inline void changed(struct sock *sk, int old, int new)
{
	switch (new) {
	case TCP_SYN_SENT:
		connecting(sk);
		break;
	case TCP_ESTABLISHED:
		established(sk, old);
		break;
	case TCP_LISTEN:
		listening(sk);
		break;
	case TCP_FIN_WAIT1:
	case TCP_LAST_ACK:
	case TCP_CLOSE:
		if (old == TCP_LISTEN && new == TCP_CLOSE)
			not_listening(sk);
		else
			closing(sk, old, new);
		break;
	default:
		break;
	}
}

/* The change that on_state handles, or handled last. */
struct change {
	__u64 sk;
	__u32 old, new;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct change);
} changes SEC(".maps");

static __always_inline void state(struct sock *sk, int old, int new)
{
	__u32 zero = 0;
	struct change *at;

	if (sk->sk_protocol != IPPROTO_TCP ||
	    skep_unattended(new == TCP_CLOSE ? NET_UNATTENDED_CONN : SKEP_KEPT_UNCOUNTED))
		return;
	at = bpf_map_lookup_elem(&changes, &zero);
	if (!at)
		return;
	at->sk = (__u64)sk;
	at->old = old;
	at->new = new;
	changed(sk, old, new);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, struct sock *sk, int old, int new)
{
	SKEP_UNPREEMPTED(state(sk, old, new));
	return 0;
}

/*
 * The kernel skips a program that already runs on that CPU, so on_state misses a change in softirq that interrupts it.
 * The kernel calls on_state_missed after on_state for each change, and it handles the changes that on_state has not
 * seen. To handle a change twice does no harm.
 */
static __always_inline void state_missed(struct sock *sk, int old, int new)
{
	struct net_counters *k;
	__u32 zero = 0;
	struct change *at;

	if (sk->sk_protocol != IPPROTO_TCP || skep_asleep(SKEP_KEPT_UNCOUNTED))
		return;
	at = bpf_map_lookup_elem(&changes, &zero);
	if (!at || (at->sk == (__u64)sk && at->old == (__u32)old && at->new == (__u32)new))
		return;
	changed(sk, old, new);
	k = my_counters();
	if (k)
		add(&k->recovered, 1);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state_missed, struct sock *sk, int old, int new)
{
	SKEP_UNPREEMPTED(state_missed(sk, old, new));
	return 0;
}

/*
 * Without hooks on calls: the last process closes a socket whose connection has ended before.  Only now the probe knows
 * how many of the bytes that had arrived the processes have read, and, if no scan found one, which process had it.
 */
static __always_inline void destroyed(struct sock *sk)
{
	struct conn *c = conn_get(sk, 0);

	if (!c || !c->held || skep_asleep(SKEP_KEPT_UNCOUNTED))
		return;
	if (!c->closed)
		own_by_current(c, sk);
	settle(sk, c, c->held, 1);
	conn_forget(sk);
}

SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(on_destroy, struct sock *sk)
{
	SKEP_UNPREEMPTED(destroyed(sk));
	return 0;
}

#endif
