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
#include <skep/bpf/kernel.bpf.h>

/* In the order in which the skeleton attaches their programs. */
#include "conn_state.bpf.h"
#include "calls.bpf.h"
#include "scan.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* User space's own, for the skepd that comes after it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct net_reported);
} reported SEC(".maps");
