/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/net/rtt.h - what the detail rtt's kernel side and user space share.
 * Include skep/bpf/hist.bpf.h or skep/record.h before it: both say how many slots a histogram has.
 */
#ifndef SKEP_NET_RTT_H
#define SKEP_NET_RTT_H

#include "net.h"

/* One of an attachment's rows: connections with a peer, as in struct net_peer_key; or all that found no row. */
struct rtt_key {
	__u8 remote[16];
	__u16 port;
	__u8 direction; /* enum net_direction; 0: not known */
	__u8 family;
	__u16 slot;     /* of the attachment */
	__u16 others;   /* 1: the row of all that found none; the rest is zero but for the slot */
};

struct rtt_row {
	__u64 sum_ns;
	__u64 slots[SKEP_HIST_SLOTS];
};

/* A connection as it was when it was last looked at. */
struct rtt_conn {
	__u64 mstamp;    /* tcp_sock.rack: when the last segment that has been delivered was sent, */
	__u32 end_seq;   /* and its end */
	__u32 known;     /* these two are set */
	__u64 start_ns;  /* the owner's */
	__u64 cgroup_id;
	__u32 pid;       /* 0: nobody's, or the kernel's */
	__u32 direction;
};

/* Two a CPU: working memory, and what could not be kept. */
struct rtt_cpu {
	__u64 busy;
	__u64 matched;    /* slots found by process or cgroup */
	__u64 at;         /* slot of the histogram */
	__u64 ns;
	struct rtt_key key;
	__u64 lost;       /* both were in use, or no room for a connection */
	__u64 others;     /* samples that went to the row of all others */
};
#define RTT_NESTING 2u

#endif
