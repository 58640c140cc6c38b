// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/net/net.bpf.c - bytes of processes, and TCP connections.
 *
 * No hook sees packets.  Bytes are counted where a process sends or receives (one event a
 * call: tp_btf sock_send_length and sock_recv_length, since 6.3, or fexit of the families'
 * own functions), connections where they change state (inet_sock_set_state).  What went
 * over a connection is read from tcp_sock when it ends and, while it lives, by an iterator.
 *
 * A connection's bytes that no call accounts for (splice out of a socket, in-kernel
 * readers, a kernel that has no hook for calls) go to the connection's owner, so the sum
 * is right in any case.  It is found by subtraction, so a call that is under way while the
 * iterator passes is credited early; when it returns, that much of it is taken as done.
 */
#include "conn.bpf.h"

#include <skep/bpf/cgroup.bpf.h>
#include <skep/bpf/kept.bpf.h>
#include <skep/bpf/preempt.bpf.h>
#include <skep/bpf/verdict.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define MSG_PEEK 2
#define MSG_ERRQUEUE 0x2000
#define S_IFMT 0170000
#define S_IFSOCK 0140000

/* Set by user space before the load. */
const volatile __u32 use_sk_storage;   /* sockets' storage in tracing programs: since 5.11 */
const volatile __u32 use_task_storage; /* tasks' storage: since 6.2 (load.c says why) */
const volatile __u32 calls_counted;    /* some hook sees send and recv */
const volatile __u64 wake_at = 1 << 18;
const volatile __u64 big_bytes = 1 << 20;      /* connections from here on have records of their own before others */
const volatile __u64 long_ns = 1000000000;

/* Changed by user space while we run. */
__s64 records_left;      /* records of connections in this interval */
__s64 records_small_left; /* and of connections that are neither big nor long nor failed */
__u32 phase;             /* 0: peers_even is being written, 1: peers_odd */
__u32 cgroups_wanted;    /* a detail is attached to a cgroup: owners' are noted */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set by user space */
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by user space: one a CPU */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct net_counters);
} counters SEC(".maps");

/* User space's own, for the skepd that comes after it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct net_reported);
} reported SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct conn);
} conns SEC(".maps");

/*
 * Where tracing programs have no storage of sockets (before 5.11): by address of the socket, from its first state to
 * its last.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space where it is used */
	__type(key, __u64);
	__type(value, struct conn);
} conns_by_address SEC(".maps");

/*
 * There, too: what was credited of connections that have ended, by address.  A call that is
 * under way when the peer's FIN ends the connection (release_sock() in recvmsg does that)
 * returns after the connection has left the map, and its bytes must not count again.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* set by user space where it is used */
	__type(key, __u64);
	__type(value, __u64);
} ended_by_address SEC(".maps");

/* Of leaders; gone with them. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct net_process);
} callers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct net_process_key);
	__type(value, struct net_process);
} processes SEC(".maps");

/* Two, so that user space empties one while the other is written: an entry that is being added to is never removed. */
struct peer_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4097); /* the sum of all others has one */
	__type(key, struct net_peer_key);
	__type(value, struct net_peer);
} peers_even SEC(".maps"), peers_odd SEC(".maps");

/* Who listens: accepted connections are theirs until somebody uses them. */
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

/*
 * Where records are put together: three for each CPU.  One for a change of state, one for a
 * change that interrupts it (in softirq), one for the iterator, which both interrupt.
 */
struct scratch {
	__u64 busy;
	struct net_conn_record rec;
	struct net_peer_key key;
	struct net_peer peer;
	struct totals t;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NET_SCRATCHES); /* set by user space: so many for each CPU */
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");
enum { SCRATCH_STATE, SCRATCH_NESTED, SCRATCH_PASS };

static __always_inline struct net_counters *my_counters(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&counters, &cpu);
}

static __always_inline struct scratch *my_scratch(__u32 which)
{
	__u32 i = bpf_get_smp_processor_id() * NET_SCRATCHES + which;

	return bpf_map_lookup_elem(&scratches, &i);
}

/* What interrupts us is done before we go on: so looking and setting need not be one step. */
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

static __always_inline void add(__u64 *to, __u64 n)
{
	__sync_fetch_and_add(to, n);
}

#define COUNT(field_)                                     \
	do {                                              \
		struct net_counters *c_ = my_counters();  \
		if (c_)                                   \
			add(&c_->field_, 1);              \
	} while (0)

static __always_inline int send(void *rec, __u32 len)
{
	__u64 flag = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= wake_at ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;

	return bpf_ringbuf_output(&ring, rec, len, flag);
}

/* ---- processes -------------------------------------------------------------- */

/* false: a kernel thread, which is no process of anybody. */
static __always_inline int current_key(struct net_process_key *key)
{
	struct task_struct *t = (void *)bpf_get_current_task();

	if (BPF_CORE_READ(t, flags) & PF_KTHREAD)
		return 0;
	key->pid = bpf_get_current_pid_tgid() >> 32;
	key->start_ns = BPF_CORE_READ(t, group_leader, start_boottime);
	key->reserved = 0;
	return 1;
}

static const struct net_process no_process;

static __always_inline struct net_process *process_of(__u64 start_ns, __u32 pid)
{
	struct net_process_key key = { .start_ns = start_ns, .pid = pid };
	struct net_process *p = bpf_map_lookup_elem(&processes, &key);

	if (p)
		return p;
	bpf_map_update_elem(&processes, &key, &no_process, BPF_NOEXIST);
	p = bpf_map_lookup_elem(&processes, &key);
	if (!p)
		COUNT(processes_full);
	return p;
}

/* Of the process that is running. */
static __always_inline struct net_process *my_process(void)
{
	struct net_process_key key = {};

	if (use_task_storage) {
		struct task_struct *t = bpf_get_current_task_btf();
		struct net_process *p =
			bpf_task_storage_get(&callers, t->group_leader, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

		if (p)
			return p;
		/* no memory, or another program of this CPU is at it */
	}
	if (!current_key(&key))
		return NULL;
	return process_of(key.start_ns, key.pid);
}

/* ---- connections ------------------------------------------------------------ */

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
			bpf_map_delete_elem(&ended_by_address, &key); /* another socket's, that had this address */
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

/* skc_num is 0 again when the change to CLOSE is told. */
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

/* Once it has a route: where it goes is known from then on. */
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

/* A connection that was there before us, or whose beginning was missed: it counts from here on. */
static __always_inline void conn_met(struct conn *c, struct sock *sk)
{
	totals_read(&c->base, sk, BPF_CORE_READ(sk, __sk_common.skc_state));
	c->settled = c->base;
	c->recorded[NET_TX] = c->base.wire[NET_TX];
	c->recorded[NET_RX] = c->base.wire[NET_RX];
	c->recorded_retransmits = c->base.retransmits;
	c->direction = 0; /* by whether somebody listens on its port, once that is known */
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

/* Bytes that no call of a process accounts for. */
static __always_inline void credit(struct conn *c, __u32 slot, __u64 n)
{
	struct net_counters *k = my_counters();
	struct net_process *p;

	if (!k || slot >= NET_SLOTS)
		return;
	if (c->flags & NET_CONN_KERNEL) {
		add(&k->kernel[slot], n);
	} else if (!c->pid) {
		add(&k->unowned[slot], n);
	} else if (excluded(c->pid)) {
		add(&k->excluded[slot], n);
	} else {
		p = process_of(c->start_ns, c->pid);
		add(p ? &p->now.bytes[slot] : &k->unplaced[slot], n);
	}
}

static __always_inline void settle_way(struct conn *c, struct totals *t, __u32 way)
{
	__u64 total = way == NET_TX || calls_counted ? t->app[way] : t->wire[way];
	__u64 base = way == NET_TX || calls_counted ? c->base.app[way] : c->base.wire[way];
	__u64 done = c->calls[way] + c->extra[way];
	__u64 n;

	if (total <= base + done)
		return;
	n = total - base - done;
	if (c->flags & NET_CONN_LOOPBACK)
		credit(c, NET_SLOT(NET_TCP_LO, NET_TX) + way, n);
	else
		credit(c, NET_SLOT(NET_TCP, NET_TX) + way, n);
	c->extra[way] += n;
}

static __always_inline void settle_bytes(struct conn *c, struct sock *sk, struct totals *t)
{
	/* calls on a multipath connection are counted at its own socket, and those of the kernel at this one */
	if (calls_counted && (c->flags & NET_CONN_KERNEL || is_mptcp(sk)))
		return;
	settle_way(c, t, NET_TX);
	settle_way(c, t, NET_RX);
}

static const struct net_peer no_peer;

/* The map is a constant in each call: a verifier before 5.13 wants it so. */
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
	/* the sum of all that found no room, which user space has put there */
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

/* Who it is with, for records and peers. */
static __always_inline void describe(struct scratch *s, struct conn *c, struct sock *sk, __u64 now)
{
	struct net_conn_record *r = &s->rec;

	r->h.type = NET_REC_CONN;
	r->h.pid = c->flags & NET_CONN_KERNEL ? 0 : c->pid;
	r->h.start_ns = c->flags & NET_CONN_KERNEL ? 0 : c->start_ns;
	r->h.time_ns = now;
	r->began_ns = c->began_ns;
	r->latency_ns = c->latency_ns;
	r->netns = netns_of(sk);
	r->error = 0;
	r->flags = c->flags & (NET_CONN_LOOPBACK | NET_CONN_BEFORE | NET_CONN_KERNEL);
	r->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	r->direction = direction_of(c, sk);
	r->local_port = local_port(sk);
	r->remote_port = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	addresses(sk, r->family, (__u32 *)r->local, (__u32 *)r->remote);
}

/* What has happened since the last time goes to its peer, its owner and the sum of headers. */
static __always_inline void settle_rest(struct scratch *s, struct conn *c, int failed, int over)
{
	struct net_conn_record *r = &s->rec;
	struct net_counters *k = my_counters();
	struct net_peer_key *key = &s->key;
	struct net_peer *peer, *n = &s->peer;
	struct totals *t = &s->t;
	struct net_process *p;
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
	if (c->pid && !(c->flags & NET_CONN_KERNEL)) {
		if (excluded(c->pid))
			return;
		if (resegs || failed || (!c->accounted && !failed)) {
			p = process_of(c->start_ns, c->pid);
			if (p) {
				if (resegs)
					add(&p->now.retransmits, resegs);
				if (failed)
					add(&p->now.failures, 1);
				else if (!c->accounted)
					add(r->direction == NET_IN ? &p->now.accepts : &p->now.connects, 1);
			}
			c->accounted = 1;
		}
	}
	if (!n->bytes[NET_TX] && !n->bytes[NET_RX] && !n->retransmits && !n->failures && !n->connections &&
	    !n->duration_n)
		return;
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
		peer_add(peer, n);
}

/* A record of its own, while there is room for it in this interval. */
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
		return; /* it was idle */
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

/* ---- changes of state -------------------------------------------------------- */

static __always_inline void connecting(struct sock *sk)
{
	struct conn *c = conn_get(sk, 1);
	struct net_process_key me = {};

	if (!c)
		return;
	/* told twice (on_state_missed); by its address another socket that had it before may be meant */
	if (use_sk_storage && c->known && !c->closed)
		return;
	__builtin_memset(c, 0, sizeof(*c));
	if (current_key(&me)) {
		c->pid = me.pid;
		c->start_ns = me.start_ns;
		if (cgroups_wanted)
			c->cgroup_id = skep_cgroup_of_untyped((void *)bpf_get_current_task());
	} else {
		c->flags = NET_CONN_KERNEL;
	}
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
		/* also by way of SYN_RECV, when both sides have connected at once */
		route(c, sk);
		if (!c->latency_ns)
			c->latency_ns = now - c->began_ns;
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
}

static __always_inline void closed(struct sock *sk, int old)
{
	struct conn *c = conn_get(sk, 0);
	int failed = old == TCP_SYN_SENT || old == TCP_SYN_RECV;
	struct scratch *s;

	if (!c || !c->known || c->closed)
		return;
	s = scratch_take();
	if (!s) {
		COUNT(no_scratch);
		return;
	}
	totals_read(&s->t, sk, old);
	route(c, sk);
	if (!failed)
		settle_bytes(c, sk, &s->t);
	describe(s, c, sk, bpf_ktime_get_boot_ns());
	s->rec.flags |= NET_CONN_CLOSED;
	s->rec.error = BPF_CORE_READ(sk, sk_err);
	if (failed)
		s->rec.flags |= s->rec.error ? NET_CONN_FAILED : NET_CONN_FAILED | NET_CONN_ABORTED;
	settle_rest(s, c, failed, 1);
	record(s, c, 1);
	c->closed = 1;
	scratch_give(s);
	if (!use_sk_storage) {
		__u64 key = (__u64)sk, early = c->extra[NET_RX];

		if (early)
			bpf_map_update_elem(&ended_by_address, &key, &early, BPF_ANY);
		bpf_map_delete_elem(&conns_by_address, &key);
	}
}

/*
 * Of n bytes that a call has read from a connection that is not kept any more: those that nobody has been credited
 * with.
 */
static __always_inline __u64 not_credited(struct sock *sk, __u64 n)
{
	__u64 key = (__u64)sk, early, *credited = bpf_map_lookup_elem(&ended_by_address, &key);

	if (!credited)
		return n;
	early = *credited;
	if (early > n) {
		*credited = early - n;
		return 0;
	}
	bpf_map_delete_elem(&ended_by_address, &key);
	return n - early;
}

/* The process has said its last: what it has written goes to it now, while it surely is there. */
static __always_inline void ending(struct sock *sk, int old)
{
	struct conn *c = conn_get(sk, 0);
	struct scratch *s;

	if (!c || !c->known || c->closed)
		return;
	s = scratch_take();
	if (!s) {
		COUNT(no_scratch);
		return;
	}
	totals_read(&s->t, sk, old);
	route(c, sk);
	settle_bytes(c, sk, &s->t);
	scratch_give(s);
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
	case TCP_FIN_WAIT1:
	case TCP_LAST_ACK:
		ending(sk, old);
		break;
	case TCP_LISTEN:
		listening(sk);
		break;
	case TCP_CLOSE:
		if (old == TCP_LISTEN)
			not_listening(sk);
		else
			closed(sk, old);
		break;
	default:
		break;
	}
}

/* What on_state is at, or was at last. */
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
 * A program is skipped while it is already running on that CPU: so a change in softirq that
 * interrupts on_state would be missed.  This one is called after it for each change, and
 * takes care of those that on_state has not seen.  Seen twice does no harm.
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

/* ---- calls ------------------------------------------------------------------- */

/* Somebody uses a connection: it is theirs if it was nobody's. */
static __always_inline void used(struct conn *c, struct sock *sk, struct net_process *me, __u32 pid)
{
	struct net_process_key key = {};

	if (!c->pid || c->guessed) {
		if (!current_key(&key)) {
			c->flags |= NET_CONN_KERNEL;
		} else {
			c->pid = key.pid;
			c->start_ns = key.start_ns;
			if (cgroups_wanted)
				c->cgroup_id = skep_cgroup_of_untyped((void *)bpf_get_current_task());
			/* accepted by way of a multipath listener: a process has it all the same */
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
			 * one that has ended may still be read; where it is kept by address nobody would remove it
			 * again
			 */
			c = conn_get(sk, sk->__sk_common.skc_state != TCP_CLOSE);
			if (c && !c->known) {
				conn_met(c, sk);
				/* this call is in the totals already */
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
		/* credited by the iterator while the call was under way */
		if (early) {
			if (early > n)
				early = n;
			c->extra[way] -= early;
			n -= early;
		}
	} else if (!use_sk_storage && tcp && way == NET_RX) {
		n = not_credited(sk, n);
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

/* Before 6.3: what sockets' own operations return.  sock_sendmsg and sock_recvmsg themselves may have been inlined. */
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

/* Since 5.14 what datagrams and sequenced packets have in common; before, the one calls the other. */
SEC("fexit/__unix_dgram_recvmsg")
int BPF_PROG(on_unix_packets_recvmsg, struct sock *sk, void *msg, unsigned long size, int flags, int ret)
{
	SKEP_UNPREEMPTED(moved(sk, ret, flags, NET_RX));
	return 0;
}

/* ---- passes of iterators ------------------------------------------------------- */

static __always_inline void pass(struct sock *sk, struct conn *c, __u32 state)
{
	struct scratch *s = my_scratch(SCRATCH_PASS);

	if (!s || c->closed)
		return;
	totals_read(&s->t, sk, state);
	settle_bytes(c, sk, &s->t);
	describe(s, c, sk, bpf_ktime_get_boot_ns());
	settle_rest(s, c, 0, 0);
	/* a record of its own is for those that live longer than this pass */
	if (s->rec.h.time_ns - c->began_ns >= long_ns)
		record(s, c, 0);
}

/* What has not been told; 0: all has. */
static __always_inline int untold(struct net_process *p, struct net_process_record *r, __u32 pid, __u64 start_ns)
{
	__u64 *now = (__u64 *)&p->now, *told = (__u64 *)&p->told, *out = (__u64 *)&r->amounts, any = 0;

	r->h.type = NET_REC_PROCESS;
	r->h.pid = pid;
	r->h.start_ns = start_ns;
	r->h.time_ns = bpf_ktime_get_boot_ns();
	r->dead = 0;
	r->reserved = 0;
#pragma unroll
	for (__u32 i = 0; i < NET_AMOUNTS; i++) {
		out[i] = *(volatile __u64 *)&now[i] - told[i];
		any |= out[i];
	}
	return any != 0;
}

static __always_inline void tell(struct net_process *p, struct net_process_record *r)
{
	__u64 *told = (__u64 *)&p->told, *out = (__u64 *)&r->amounts;

	if (send(r, sizeof(*r))) {
		COUNT(process_dropped);
		return;
	}
#pragma unroll
	for (__u32 i = 0; i < NET_AMOUNTS; i++)
		told[i] += out[i];
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
		if (p && untold(p, &rec, key.pid, key.start_ns))
			tell(p, &rec);
	}
	p = bpf_map_lookup_elem(&processes, &key);
	if (p && untold(p, &rec, key.pid, key.start_ns))
		tell(p, &rec);
	return 0;
}

static __always_inline int freed(struct task_struct *t)
{
	struct net_process_record rec;
	struct net_process_key key = {};
	struct net_process *p, *from = NULL;

	if (t->pid != t->tgid)
		return 0;
	/* what the process did before is sent all the same: its storage goes with it */
	skep_unattended(SKEP_KEPT_UNCOUNTED);
	key.pid = t->tgid;
	key.start_ns = t->start_boottime;
	if (use_task_storage)
		from = bpf_task_storage_get(&callers, t, 0, 0);
	p = bpf_map_lookup_elem(&processes, &key);
	if (!from && !p)
		return 0;
	if (from && p) {
		/* both into one record */
		__u64 *now = (__u64 *)&p->now, *of = (__u64 *)&from->now, *told = (__u64 *)&from->told;

#pragma unroll
		for (__u32 i = 0; i < NET_AMOUNTS; i++)
			now[i] += of[i] - told[i];
		from = NULL;
	}
	untold(from ? from : p, &rec, key.pid, key.start_ns);
	rec.dead = 1;
	if (send(&rec, sizeof(rec)) == 0) {
		if (p)
			bpf_map_delete_elem(&processes, &key);
		return 0;
	}
	COUNT(process_dropped);
	if (from) {
		/* the storage goes with the task: user space finds it in the map instead */
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
 * At the start: sockets that are there already, and who holds them.  Each interval: what has
 * gone over connections since.  Descriptors are the way to the sockets of all network
 * namespaces: iter/tcp shows that of its opener only, and iter/bpf_sk_storage_map, which would
 * show just ours, panics 7.2 when a socket goes meanwhile (__bpf_sk_storage_map_seq_show).
 * A socket that several processes hold comes several times, and has nothing new to tell.
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
		struct net_process_key who = { .pid = t->tgid, .start_ns = BPF_CORE_READ(leader, start_boottime) };

		bpf_map_update_elem(&listeners, &key, &who, BPF_NOEXIST);
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
