/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/net/net.h - structs that the kernel side and user space share: amounts, records of the ring, keys and values
 * of the maps. All are 8-byte aligned.
 */
#ifndef SKEP_NET_H
#define SKEP_NET_H

#include <linux/types.h>

/* The protocol of a byte. Loopback is separate, as no interface of the host counts it. */
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

/* Amounts of a process. */
struct net_amounts {
	__u64 bytes[NET_SLOTS];
	__u64 connects;    /* TCP connections that it opened, once established */
	__u64 accepts;     /* incoming TCP connections that it accepted */
	__u64 failures;    /* connects that failed */
	__u64 retransmits; /* retransmitted TCP segments of its connections */
};
#define NET_AMOUNTS (sizeof(struct net_amounts) / sizeof(__u64))

/*
 * The kernel side stores it for each process: in the storage of the leader's task_struct for calls of send and recv; in
 * the map `processes` for what a program counts in another context (softirq, the iterator), or on a kernel without such
 * storage.
 */
struct net_process {
	struct net_amounts now;
	struct net_amounts reported; /* the part that user space has */
};

struct net_process_key {
	__u64 start_ns;
	__u32 pid; /* tgid */
	__u32 reserved;
};

enum net_direction { NET_OUT = 1, NET_IN = 2 };

#define NET_CONN_LOOPBACK 1u
#define NET_CONN_BEFORE 2u   /* older than the probe: its past is unknown */
#define NET_CONN_FAILED 4u   /* never established */
#define NET_CONN_CLOSED 8u   /* its last record */
#define NET_CONN_KERNEL 16u  /* the kernel's own: a network file system */
#define NET_CONN_ABORTED 256u /* failed because the process itself gave up */

enum net_record_type { NET_REC_PROCESS = 1, NET_REC_CONN = 2 };

struct net_head {
	__u32 type; /* enum net_record_type */
	__u32 pid;  /* tgid; 0: no process's */
	__u64 start_ns;
	__u64 time_ns;
};

/* Amounts of a process since its last record. */
struct net_process_record {
	struct net_head h;
	__u32 dead; /* 1: the process's last record */
	__u32 reserved;
	struct net_amounts amounts;
};

/* Amounts of a connection since its last record. */
struct net_conn_record {
	struct net_head h;
	__u64 began_ns;   /* 0: unknown */
	__u64 latency_ns; /* of its connect; 0: unknown, or an incoming connection */
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
 * Connections of one process and one peer. port: the service's port, which is the peer's for outgoing connections and
 * our own for incoming ones; the other port is one of many. All zero: the row of all others, which found no room.
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
	__u64 connections; /* established ones */
	__u64 failures;
	__u64 bytes[NET_WAYS];
	__u64 retransmits;
	__u64 latency_sum_ns; /* of connects */
	__u64 latency_n;
	__u64 duration_sum_ns; /* of ended connections */
	__u64 duration_n;
};

#define NET_SCRATCHES 3 /* for each CPU */

/* One for each CPU; sums since the load. */
struct net_counters {
	__u64 excluded[NET_SLOTS]; /* of processes that a rule excludes */
	__u64 kernel[NET_SLOTS];   /* of kernel threads and the kernel's own sockets */
	__u64 unowned[NET_SLOTS];  /* of connections without a known owner */
	__u64 unplaced[NET_SLOTS]; /* of processes that the map had no room for */
	__u64 headers[NET_WAYS];   /* TCP, not loopback: segments x size of their headers */
	__u64 resent_bytes;        /* TCP, not loopback: retransmitted payload */
	__u64 processes_full;      /* times that the map had no room for a process */
	__u64 conns_full;          /* connections that the map had no room for */
	__u64 peers_full;          /* times that the row of all others counted a peer */
	__u64 process_dropped;     /* records that found the ring full, and came later */
	__u64 conn_dropped;        /* records that found the ring full */
	__u64 conn_summed;         /* connections that have no record of their own, only a peer's */
	/* changes of state without a free buffer: four nested in each other */
	__u64 no_scratch;
	__u64 recovered;           /* changes of state that only on_state_missed saw */
	__u64 peers_new;           /* new keys in peers_even and peers_odd */
};

/* The reported part of counters that begin with the load: the next skepd continues from it. */
struct net_reported {
	struct net_counters counters;
	__u64 states_missed, calls_missed;
};

/* The layout of maps and ring: a change of any struct in them raises the number. */
#define NET_LAYOUT 2u
/* Kinds of struct skep_unattended. */
enum net_unattended { NET_UNATTENDED_CONN, NET_UNATTENDED_PROCESS, NET_UNATTENDED_KINDS };

#endif
