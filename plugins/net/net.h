/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/net/net.h - what the kernel side and user space share: amounts, records of the
 * ring, keys and values of the maps.  Little of it is text; all of it is 8-byte aligned.
 */
#ifndef SKEP_NET_H
#define SKEP_NET_H

#include <linux/types.h>

/* What carried a byte. Loopback is apart: no interface of the host sees it. */
enum net_class {
	NET_TCP,
	NET_TCP_LO,
	NET_UDP,
	NET_UDP_LO,
	NET_UNIX,
	NET_CLASSES,
};

enum net_way { NET_TX, NET_RX, NET_WAYS };

#define NET_SLOTS (NET_CLASSES * NET_WAYS)
#define NET_SLOT(class_, way_) ((class_)*NET_WAYS + (way_))

/* What a process has done. */
struct net_amounts {
	__u64 bytes[NET_SLOTS];
	__u64 connects;    /* TCP connections that it opened, and that were established */
	__u64 accepts;     /* TCP connections that came in and that it took */
	__u64 failures;    /* connects that came to nothing */
	__u64 retransmits; /* TCP segments sent again, of its connections */
};
#define NET_AMOUNTS (sizeof(struct net_amounts) / sizeof(__u64))

/*
 * Kept per process: in the storage of its leader's task_struct where calls of send and
 * recv are counted, and in the map `processes` where somebody else's context counts
 * (softirq, the iterator), or a kernel has no such storage.
 */
struct net_process {
	struct net_amounts now;
	struct net_amounts reported; /* of it, what user space has */
};

struct net_process_key {
	__u64 start_ns;
	__u32 pid; /* tgid */
	__u32 reserved;
};

enum net_direction { NET_OUT = 1, NET_IN = 2 };

#define NET_CONN_LOOPBACK 1u
#define NET_CONN_BEFORE 2u   /* was there before us: of its past nothing is known */
#define NET_CONN_FAILED 4u   /* was never established */
#define NET_CONN_CLOSED 8u   /* the last record of it */
#define NET_CONN_KERNEL 16u  /* the kernel's own: a network file system */
/* kernel side only */
#define NET_CONN_GUESSED \
	32u /* the owner is who listens, or holds the descriptor: the first to send or receive takes over */
#define NET_CONN_ACCEPTED 64u /* is in its owner's accepts */
#define NET_CONN_COUNTED 128u /* is in its peer's connections */
#define NET_CONN_ABORTED 256u /* came to nothing because the process itself gave up */

enum net_record_type { NET_REC_PROCESS = 1, NET_REC_CONN = 2 };

struct net_head {
	__u32 type; /* enum net_record_type */
	__u32 pid;  /* tgid; 0: nobody's */
	__u64 start_ns;
	__u64 time_ns;
};

/* What a process has done since the last such record. */
struct net_process_record {
	struct net_head h;
	__u32 dead; /* 1: nothing more will come of it */
	__u32 reserved;
	struct net_amounts amounts;
};

/* What went over a connection since the last such record. */
struct net_conn_record {
	struct net_head h;
	__u64 began_ns;   /* 0: not known */
	__u64 latency_ns; /* of its connect; 0: not known, or it came in */
	__u64 bytes[NET_WAYS];
	__u64 retransmits;
	__u32 srtt_us;
	__u32 netns;
	__s32 error;
	__u32 flags;     /* NET_CONN_* */
	__u16 family;
	__u16 direction; /* enum net_direction */
	__u16 local_port, remote_port;
	__u8 local[16], remote[16]; /* IPv4 as ::ffff:a.b.c.d */
};

/*
 * Connections of one process and one peer.  port: the port that stands for the service,
 * the peer's for those that went out and our own for those that came in; the other one is
 * one of many.  All zero: the sum of all for which there was no room.
 */
struct net_peer_key {
	__u64 start_ns;
	__u32 pid;
	__u32 netns;
	__u8 remote[16];
	__u16 port;
	__u16 direction;
	__u16 family;
	__u16 reserved; /* 0 */
};

struct net_peer {
	__u64 connections; /* that were established */
	__u64 failures;
	__u64 bytes[NET_WAYS];
	__u64 retransmits;
	__u64 latency_sum_ns; /* of connects */
	__u64 latency_n;
	__u64 duration_sum_ns; /* of those that ended */
	__u64 duration_n;
};

#define NET_SCRATCHES 3 /* for each CPU */

/* One for each CPU; sums since the load. */
struct net_counters {
	__u64 excluded[NET_SLOTS]; /* of processes that a rule excludes */
	__u64 kernel[NET_SLOTS];   /* of kernel threads and the kernel's own sockets */
	__u64 unowned[NET_SLOTS];  /* of connections that nobody was seen to hold */
	__u64 unplaced[NET_SLOTS]; /* of a process for which there was no room */
	__u64 headers[NET_WAYS];   /* TCP, not loopback: segments x size of their headers */
	__u64 resent_bytes;        /* TCP, not loopback: payload sent again */
	__u64 processes_full;      /* times there was no room for a process */
	__u64 conns_full;          /* connections for which there was no room */
	__u64 peers_full;          /* times that a peer went to the sum of all others */
	__u64 process_dropped;     /* records that the ring could not take; they were put off */
	__u64 conn_dropped;        /* records that the ring could not take */
	__u64 conn_summed;         /* connections that have no record of their own, only a peer's */
	/* changes of state for which there was no room to work in: four nested in each other */
	__u64 no_scratch;
	__u64 recovered;           /* changes of state that on_state missed and on_state_missed saw */
	__u64 peers_new;           /* keys that were put into peers_even and peers_odd */
};

/* Of counters that begin with the load, what has been told: the next skepd goes on from there. */
struct net_reported {
	struct net_counters counters;
	__u64 states_missed, calls_missed;
};

/* Of all that is in maps and in the ring: another number where any of it is read otherwise. */
#define NET_LAYOUT 1u
/* Kinds of struct skep_unattended. */
enum net_unattended { NET_UNATTENDED_CONN, NET_UNATTENDED_PROCESS, NET_UNATTENDED_KINDS };

#endif
