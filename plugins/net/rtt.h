/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/net/rtt.h - structs that the kernel side of the detail rtt and user space share.
 * Include skep/bpf/hist.bpf.h or skep/record.h before it: both say how many slots a histogram has.
 */
#ifndef SKEP_NET_RTT_H
#define SKEP_NET_RTT_H

#include "net.h"

/* A row of an attachment: connections with a peer, as in struct net_peer_key, or the overflow row. */
struct rtt_key {
	__u8 remote[16];
	__u16 port;
	__u8 direction; /* enum net_direction; 0: unknown */
	__u8 family;
	__u16 slot;     /* of the attachment */
	__u16 others;   /* 1: the overflow row; all other fields but the slot are 0 */
};

struct rtt_row {
	__u64 sum_ns;
	__u64 slots[SKEP_HIST_SLOTS];
};

/* A connection at the last look. */
struct rtt_conn {
	__u64 mstamp;    /* tcp_sock.rack: when the last delivered segment was sent, */
	__u32 end_seq;   /* and its end */
	__u32 known;     /* mstamp and end_seq are set */
	__u64 start_ns;  /* the owner's */
	__u64 cgroup_id;
	__u32 pid;       /* 0: unknown, or the kernel's */
	__u32 direction;
};

/* Two for each CPU: working memory, and counters of losses. */
struct rtt_cpu {
	__u64 busy;
	__u64 matched;    /* slots that match the process or cgroup */
	__u64 at;         /* slot of the histogram */
	__u64 ns;
	struct rtt_key key;
	__u64 lost;       /* no free element, or no room for a connection */
	__u64 others;     /* samples in the overflow row */
};
#define RTT_NESTING 2u

#endif
