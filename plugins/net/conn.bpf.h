/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/net/conn.bpf.h - struct conn, which the kernel side stores for a TCP connection; functions that read the
 * kernel's own totals, addresses and route of a connection.
 *
 * tcp_sock itself counts the payload of a connection to the byte:
 *   written by the process    bytes_acked + (write_seq - snd_una)
 *   acknowledged by the peer  bytes_acked
 *   arrived in order          bytes_received
 *   read by the process       bytes_received - (rcv_nxt - copied_seq)
 * SYN and FIN count as one byte in each of these; totals_read() subtracts them.  (RFC 4898's tcpEStatsAppHC counters,
 * in the kernel since 4.1.)
 */
#ifndef SKEP_NET_CONN_BPF_H
#define SKEP_NET_CONN_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include <bpf/bpf_endian.h>

#include "net.h"

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define IPPROTO_UDPLITE 136
#define IPPROTO_MPTCP 262
#define IFF_LOOPBACK 8
#define SOCK_DEAD_BIT 0 /* enum sock_flags: no process holds the socket; first since 2.6 */
#define SOCK_DONE_BIT 1 /* the peer's FIN has arrived; second since 2.6 */
#define SHUTDOWN_MASK 3 /* sk_shutdown: closed in both directions */

/* include/net/tcp_states.h, never renumbered */
enum {
	TCP_ESTABLISHED = 1,
	TCP_SYN_SENT,
	TCP_SYN_RECV,
	TCP_FIN_WAIT1,
	TCP_FIN_WAIT2,
	TCP_TIME_WAIT,
	TCP_CLOSE,
	TCP_CLOSE_WAIT,
	TCP_LAST_ACK,
	TCP_LISTEN,
	TCP_CLOSING,
	TCP_NEW_SYN_RECV,
};
#define FIN_SENT \
	((1u << TCP_FIN_WAIT1) | (1u << TCP_FIN_WAIT2) | (1u << TCP_TIME_WAIT) | (1u << TCP_LAST_ACK) | \
	 (1u << TCP_CLOSING))

/* The totals of tcp_sock. */
struct totals {
	__u64 app[NET_WAYS];  /* written and read by processes */
	__u64 wire[NET_WAYS]; /* acknowledged, arrived */
	__u64 resent;
	__u32 retransmits, segs_in, segs_out, header;
	__u32 srtt_us;
};

struct conn {
	__u64 start_ns;  /* the owner's; pid 0: unknown */
	__u64 cgroup_id; /* likewise, while a detail needs it (cgroups_wanted); 0: unknown */
	__u32 pid;
	__u32 flags;     /* NET_CONN_*: LOOPBACK, BEFORE, KERNEL */
	__u64 began_ns;
	__u64 latency_ns;
	/* calls: bytes that processes moved by calls; extra: further bytes that credit() gave to the owner */
	__u64 calls[NET_WAYS];
	__u64 extra[NET_WAYS];
	struct totals base;      /* to subtract from the totals: our SYN, or all from before the probe started */
	struct totals settled;   /* of the totals, the part that peers, retransmits and headers include */
	__u64 recorded[NET_WAYS]; /* of the totals, the part that records of the connection include */
	struct totals end; /* at its end, if it is held: a later disconnect resets tcp_sock */
	__u64 ended_ns;
	__u32 recorded_retransmits;
	__u32 owners_retransmits; /* of the totals, the part that the owner's include */
	__s32 error;     /* at its end */
	__u32 found;     /* the last scan of all processes that found the owner with a descriptor; 0: none did */
	__u32 round;     /* the last scan, of all or of some processes, that found it; 0: none did */
	__u32 epoch;     /* equal to `epoch`: counted in `owned` */
	__u16 direction; /* 0: unknown */
	/* bytes, not bits: each has its own writer, and these may run at the same time */
	__u8 known;    /* set up */
	__u8 guessed;  /* the owner listens, or held a descriptor at the start: a process that uses it replaces it */
	__u8 accounted; /* the owner's connects or accepts include it */
	__u8 counted;  /* the peer's connections include it */
	__u8 closed;
	__u8 held;     /* it ended while a process had a descriptor; the value is the state before */
	__u8 listed;   /* a record of the connection went out */
	__u8 routed;   /* the flags LOOPBACK and KERNEL are set */
	__u8 awaits;   /* counted in `unowned` */
};

static __always_inline __u64 beyond(__u64 a, __u64 b)
{
	return a > b ? a - b : 0;
}

/*
 * state: the state that the numbers belong to; during a change of state the old state.  An ACK or a segment may arrive
 * between two reads.  In this order the sums then lack bytes, which the next call adds.  In another order they have
 * bytes too many: up to a window of them, if the process moves no more.
 */
static __always_inline void totals_read(struct totals *t, struct sock *sk, __u32 state)
{
	struct tcp_sock *tp = (void *)sk;
	__u64 acked = BPF_CORE_READ(tp, bytes_acked), received = BPF_CORE_READ(tp, bytes_received);
	__u32 una = BPF_CORE_READ(tp, snd_una), end = BPF_CORE_READ(tp, write_seq);
	__u32 copied = BPF_CORE_READ(tp, copied_seq), next = BPF_CORE_READ(tp, rcv_nxt);
	__u32 fin_sent = ((1u << (state & 15)) & FIN_SENT) != 0;
	__u32 fin_come = (BPF_CORE_READ(sk, __sk_common.skc_flags) >> SOCK_DONE_BIT) & 1;

	t->app[NET_TX] = beyond(acked + (__u32)(end - una), fin_sent);
	t->app[NET_RX] = beyond(beyond(received, (__u32)(next - copied)), fin_come && next == copied);
	t->wire[NET_TX] = beyond(acked, fin_sent && una == end);
	t->wire[NET_RX] = beyond(received, fin_come);
	t->resent = BPF_CORE_READ(tp, bytes_retrans);
	t->retransmits = BPF_CORE_READ(tp, total_retrans);
	t->segs_in = BPF_CORE_READ(tp, segs_in);
	t->segs_out = BPF_CORE_READ(tp, segs_out);
	t->header = BPF_CORE_READ(tp, tcp_header_len);
	t->srtt_us = BPF_CORE_READ(tp, srtt_us) >> 3;
}

static __always_inline int is_loopback4(__u32 addr)
{
	return (addr & bpf_htonl(0xff000000)) == bpf_htonl(0x7f000000);
}

static __always_inline int is_loopback6(const __u32 *a)
{
	if (a[0] || a[1])
		return 0;
	if (a[2] == bpf_htonl(0xffff))
		return is_loopback4(a[3]);
	return a[2] == 0 && a[3] == bpf_htonl(1);
}

/* The socket's two addresses, IPv4 as ::ffff:a.b.c.d. */
static __always_inline void addresses(struct sock *sk, __u16 family, __u32 *local, __u32 *remote)
{
	if (family == AF_INET) {
		local[0] = local[1] = remote[0] = remote[1] = 0;
		local[2] = remote[2] = bpf_htonl(0xffff);
		local[3] = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
		remote[3] = BPF_CORE_READ(sk, __sk_common.skc_daddr);
	} else {
		struct sock_common___v6 *common = (void *)sk + bpf_core_field_offset(struct sock, __sk_common);

		bpf_core_read(local, 16, &common->skc_v6_rcv_saddr);
		bpf_core_read(remote, 16, &common->skc_v6_daddr);
	}
}

/* Compares addresses only, as an unconnected socket has no route. */
static __always_inline int loopback_by_address(struct sock *sk, __u16 family)
{
	if (family == AF_INET) {
		__u32 local = sk->__sk_common.skc_rcv_saddr, remote = sk->__sk_common.skc_daddr;

		return is_loopback4(local) || is_loopback4(remote) || (remote && remote == local);
	} else {
		__u32 local[4] = {}, remote[4] = {};

		addresses(sk, family, local, remote);
		if (is_loopback6(local) || is_loopback6(remote))
			return 1;
		return (remote[0] | remote[1] | remote[2] | remote[3]) && remote[0] == local[0] &&
		       remote[1] == local[1] && remote[2] == local[2] && remote[3] == local[3];
	}
}

/* Looks at the route, as a connection to one of the host's own addresses uses the loopback device as well. */
static __always_inline int loopback_by_route(struct sock *sk)
{
	struct dst_entry *dst = BPF_CORE_READ(sk, sk_dst_cache);

	return dst && (BPF_CORE_READ(dst, dev, flags) & IFF_LOOPBACK);
}

#endif
