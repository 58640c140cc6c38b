// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/net/net.bpf.c - the kernel side: counts bytes of processes, and TCP connections.
 *
 * No program runs for a packet. The programs count connections where they change state (inet_sock_set_state). They read
 * a connection's totals from tcp_sock when a process closes it (inet_sock_set_state, tcp_destroy_sock) and, while it is
 * open, in an iterator, and credit its owner with them.
 *
 * With the option `calls` the programs also count bytes where a process sends or receives (once a call: tp_btf
 * sock_send_length and sock_recv_length, since 6.3, or fexit of the families' own functions). The owner then gets only
 * the bytes that no call accounts for (splice out of a socket, readers in the kernel), so the sum is right in any case.
 * A subtraction yields them, so the iterator credits the bytes of a call under way early; when that call returns,
 * calls.bpf.h subtracts the early bytes from it.
 */
#include <skep/bpf/kernel.bpf.h>

/* In the order in which the skeleton attaches their programs. */
#include "conn_state.bpf.h"
#include "calls.bpf.h"
#include "scan.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* User space writes it for the next skepd; no program uses it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct net_reported);
} reported SEC(".maps");
