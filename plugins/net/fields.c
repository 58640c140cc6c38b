/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/net/fields.c - the probe's streams and their field tables, and names of errors.
 */
#include <errno.h>
#include <string.h>

#include "state.h"

#define COUNT_OF(a_) (sizeof(a_) / sizeof((a_)[0]))

#define P(member_, name_, unit_, help_) \
	SKEP_FIELD(struct process_record, member_, name_, SKEP_T_U64, SKEP_S_DELTA, unit_, help_)
static const struct skep_field process_fields[] = {
	P(rx_bytes, "rx_bytes", "By", "payload received over TCP and, with the option calls, UDP; loopback included"),
	P(tx_bytes, "tx_bytes", "By", "payload sent over TCP and, with the option calls, UDP; loopback included"),
	P(loopback_rx, "loopback_rx_bytes", "By", "part of rx_bytes that never left the host"),
	P(loopback_tx, "loopback_tx_bytes", "By", "part of tx_bytes that never left the host"),
	P(tcp_rx, "tcp_rx_bytes", "By", "payload received over TCP"),
	P(tcp_tx, "tcp_tx_bytes", "By", "payload sent over TCP"),
	P(udp_rx, "udp_rx_bytes", "By", "payload received over UDP; 0 without the option calls"),
	P(udp_tx, "udp_tx_bytes", "By", "payload sent over UDP; 0 without the option calls"),
	P(unix_rx, "unix_rx_bytes", "By", "received over Unix sockets; 0 without the option calls"),
	P(unix_tx, "unix_tx_bytes", "By", "sent over Unix sockets; 0 without the option calls"),
	P(connects, "connects", "{connection}", "TCP connections that it opened"),
	P(accepts, "accepts", "{connection}", "incoming TCP connections that it accepted"),
	P(failures, "connect_failures", "{connection}",
	  "attempted TCP connections that were never established"),
	P(retransmits, "retransmits", "{segment}", "retransmitted TCP segments of connections that it owns"),
};

static const struct skep_stream process_stream =
	SKEP_STREAM(struct process_record, process_fields, "net", SKEP_ROLE_FACET, 0,
		    "bytes and connections of a process");

#define C(member_, name_, type_, sem_, unit_, help_) \
	SKEP_FIELD(struct conn_record, member_, name_, type_, sem_, unit_, help_)
#define C_TEXT(member_, name_, help_) C(member_, name_, SKEP_T_STR, SKEP_S_ATTRIBUTE, "", help_)
#define C_SUM(member_, name_, unit_, help_) C(member_, name_, SKEP_T_U64, SKEP_S_DELTA, unit_, help_)
static const struct skep_field conn_fields[] = {
	C_TEXT(transport, "network.transport", "tcp"),
	C_TEXT(type, "network.type", "ipv4 or ipv6"),
	C(local, "network.local.address", SKEP_T_IP, SKEP_S_ATTRIBUTE, "", "our side"),
	C(local_port, "network.local.port", SKEP_T_U64, SKEP_S_ATTRIBUTE, "", "our side"),
	C(remote, "network.peer.address", SKEP_T_IP, SKEP_S_ATTRIBUTE, "", "the other side"),
	C(remote_port, "network.peer.port", SKEP_T_U64, SKEP_S_ATTRIBUTE, "", "the other side"),
	C_TEXT(direction, "direction", "out: this side opened it; in: it was accepted"),
	C_TEXT(state, "state", "open: more records follow; closed: its last record; failed: never established"),
	C_TEXT(error, "error.type",
	       "name of the error that ended it; aborted: the process gave up connecting; empty: none"),
	C(start_ns, "start", SKEP_T_TIME, SKEP_S_ATTRIBUTE, "",
	  "time of the connect, or when an incoming connection was established"),
	C(duration_ns, "duration_ns", SKEP_T_U64, SKEP_S_ATTRIBUTE, "ns", "from start to this record; 0: unknown"),
	C_SUM(rx_bytes, "rx_bytes", "By", "payload that arrived since its last record"),
	C_SUM(tx_bytes, "tx_bytes", "By", "payload that the other side has acknowledged since its last record"),
	C_SUM(retransmits, "retransmits", "{segment}", "retransmitted segments since its last record"),
	C(latency_ns, "connect_latency_ns", SKEP_T_U64, SKEP_S_ATTRIBUTE, "ns",
	  "from connect to established; 0: unknown, or an incoming connection"),
	C(srtt_ns, "srtt_ns", SKEP_T_U64, SKEP_S_GAUGE, "ns", "smoothed round trip time; 0: unknown"),
	C(netns, "netns", SKEP_T_U64, SKEP_S_ATTRIBUTE, "", "inode of its network namespace"),
	C(loopback, "loopback", SKEP_T_BOOL, SKEP_S_ATTRIBUTE, "", "never leaves the host"),
	C(before, "before", SKEP_T_BOOL, SKEP_S_ATTRIBUTE, "", "older than the probe: no record has its earlier bytes"),
};

static const struct skep_stream conn_stream =
	SKEP_STREAM(struct conn_record, conn_fields, "net.connection", SKEP_ROLE_NONE, 0,
		    "a TCP connection: when it ends and, if it lives longer, each interval");

#define R(member_, name_, type_, sem_, unit_, help_) \
	SKEP_FIELD(struct peer_record, member_, name_, type_, sem_, unit_, help_)
#define R_SUM(member_, name_, unit_, help_) R(member_, name_, SKEP_T_U64, SKEP_S_DELTA, unit_, help_)
static const struct skep_field peer_fields[] = {
	R(transport, "network.transport", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "tcp"),
	R(type, "network.type", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "ipv4 or ipv6"),
	R(remote, "network.peer.address", SKEP_T_IP, SKEP_S_ATTRIBUTE, "", "the other side"),
	R(port, "service_port", SKEP_T_U64, SKEP_S_ATTRIBUTE, "",
	  "remote port of outgoing connections, local port of incoming ones"),
	R(direction, "direction", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "out or in"),
	R(netns, "netns", SKEP_T_U64, SKEP_S_ATTRIBUTE, "", "inode of the network namespace"),
	R_SUM(connections, "connections", "{connection}", "established connections"),
	R_SUM(failures, "connect_failures", "{connection}", "connections that were never established"),
	R_SUM(rx_bytes, "rx_bytes", "By", "payload that arrived"),
	R_SUM(tx_bytes, "tx_bytes", "By", "payload that the other side has acknowledged"),
	R_SUM(retransmits, "retransmits", "{segment}", "retransmitted segments"),
	R_SUM(latency_sum_ns, "connect_latency_ns", "ns", "from connect to established, sum over connects_timed"),
	R_SUM(latency_n, "connects_timed", "{connection}", "connections with such a time"),
	R_SUM(duration_sum_ns, "duration_ns", "ns", "sum over ended"),
	R_SUM(duration_n, "ended", "{connection}", "ended connections whose begin is known"),
	R(other, "other", SKEP_T_BOOL, SKEP_S_ATTRIBUTE, "", "the row that sums all peers without a row of their own"),
};

static const struct skep_stream peer_stream =
	SKEP_STREAM(struct peer_record, peer_fields, "net.peer", SKEP_ROLE_NONE, SKEP_STREAM_SAMPLE,
		    "all TCP connections of a process with a peer, each interval");

#define T(member_, name_, type_, sem_, unit_, help_) \
	SKEP_FIELD(struct rtt_record, member_, name_, type_, sem_, unit_, help_)
static const struct skep_field rtt_fields[] = {
	T(id, "detail.id", SKEP_T_U64, SKEP_S_ATTRIBUTE, "", "id of the attachment"),
	T(peers, "peers", SKEP_T_STR, SKEP_S_ATTRIBUTE, "",
	  "all: the sum of the following records; one: a peer; others: all peers without a row"),
	T(direction, "direction", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "out or in; empty: unknown, or several peers"),
	T(remote, "network.peer.address", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "the other side; empty: several"),
	T(port, "service_port", SKEP_T_U64, SKEP_S_ATTRIBUTE, "",
	  "remote port of outgoing connections, local port of incoming ones; 0: several"),
	T(count, "count", SKEP_T_U64, SKEP_S_DELTA, "{sample}", "round trips measured since the last record"),
	T(sum_ns, "sum_ns", SKEP_T_U64, SKEP_S_DELTA, "ns", "sum of these round trips"),
	T(rtt, "rtt", SKEP_T_HIST, SKEP_S_DELTA, "ns",
	  "from sending a segment to its acknowledgement, in whole microseconds"),
};

static const struct skep_stream rtt_stream =
	SKEP_STREAM(struct rtt_record, rtt_fields, "net.rtt", SKEP_ROLE_DETAIL, SKEP_STREAM_SAMPLE,
		    "detail rtt: TCP round trip times, of all peers and of each");

const struct skep_detail net_details[N_DETAILS] = {
	[DETAIL_RTT] = {
		.name = "rtt",
		.help = "TCP round trip times, by peer; a hook on each segment that arrives",
		.stream = STREAM_RTT,
		.scopes = SKEP_SCOPE_ANY,
	},
};

static const struct skep_field ledger_fields[] = {
	SKEP_FIELD(struct skep_ledger_post, account, "account", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "net.rx, net.tx"),
	SKEP_FIELD(struct skep_ledger_post, item, "item", SKEP_T_STR, SKEP_S_ATTRIBUTE, "",
		   "tcp, udp, kernel, excluded, unowned, headers, retransmits"),
	SKEP_FIELD(struct skep_ledger_post, amount, "amount", SKEP_T_I64, SKEP_S_CUMULATIVE, "By",
		   "sum since the probe began"),
};

static const struct skep_stream ledger_stream =
	SKEP_STREAM(struct skep_ledger_post, ledger_fields, "net.ledger", SKEP_ROLE_LEDGER, 0,
		    "parts of the accounts net.rx and net.tx");

const struct skep_stream *const net_streams[N_STREAMS] = {
	[STREAM_PROCESS] = &process_stream,
	[STREAM_CONN] = &conn_stream,
	[STREAM_PEER] = &peer_stream,
	[STREAM_LEDGER] = &ledger_stream,
	[STREAM_RTT] = &rtt_stream,
};

/* The errors that TCP leaves in sk_err; strerrorname_np() needs glibc 2.32. */
const char *net_error_name(int error)
{
	static const struct {
		int error;
		const char *name;
	} names[] = {
		{ ECONNREFUSED, "ECONNREFUSED" },
		{ ECONNRESET, "ECONNRESET" },
		{ ECONNABORTED, "ECONNABORTED" },
		{ ETIMEDOUT, "ETIMEDOUT" },
		{ EHOSTUNREACH, "EHOSTUNREACH" },
		{ ENETUNREACH, "ENETUNREACH" },
		{ EHOSTDOWN, "EHOSTDOWN" },
		{ ENETDOWN, "ENETDOWN" },
		{ EADDRNOTAVAIL, "EADDRNOTAVAIL" },
		{ EPIPE, "EPIPE" },
		{ EPROTO, "EPROTO" },
		{ ENOPROTOOPT, "ENOPROTOOPT" },
		{ EOPNOTSUPP, "EOPNOTSUPP" },
		{ EMSGSIZE, "EMSGSIZE" },
		{ EACCES, "EACCES" },
		{ EPERM, "EPERM" },
		{ EINVAL, "EINVAL" },
		{ ENOBUFS, "ENOBUFS" },
		{ ENOMEM, "ENOMEM" },
		{ ENONET, "ENONET" },
	};

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (names[i].error == error)
			return names[i].name;
	return NULL;
}
