/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/net/signals.c - reports once, at the start, how this kernel provides each signal.
 */
#include <skep/load.h>
#include <stdio.h>
#include <string.h>

#include "state.h"

static void calls_missing(struct skep_instance *inst, const struct net_state *st)
{
	static const char off[] = "the probe counts no calls; \"calls\": true counts them, some 0.2 us each";
	const struct skep_host *host = st->host;
	char why[256];

	host->signal(inst, "net.tcp.bytes", SKEP_SIGNAL_PARTIAL,
		     "tcp_sock counters at tp_btf/inet_sock_set_state, tcp_destroy_sock and by iterator",
		     "of a connection that several processes use, one that holds it at an interval's end, or the one that "
		     "closes it, has the bytes of all");
	if (!st->opt_calls) {
		host->signal(inst, "net.udp.bytes", SKEP_SIGNAL_OFF, "", off);
		host->signal(inst, "net.unix.bytes", SKEP_SIGNAL_OFF, "", off);
		return;
	}
	snprintf(
		why, sizeof(why),
		"the kernel has no tracepoint sock_send_length (since 6.3), and it refuses fexit of the sockets' own functions: %s",
		st->sender_err == -SKEP_ENOTSUPP ? "not supported (arm64 attaches such programs since 6.4)" :
		st->sender_err ? strerror(-st->sender_err) : "its type information lacks them");
	host->signal(inst, "net.udp.bytes", SKEP_SIGNAL_MISSING, "", why);
	host->signal(inst, "net.unix.bytes", SKEP_SIGNAL_MISSING, "", why);
}

void net_signals(struct skep_instance *inst, struct net_state *st)
{
	const struct skep_host *host = st->host;
	const char *how = st->calls == NET_CALLS_TRACEPOINT ? "tp_btf/sock_send_length, sock_recv_length" :
							      "fexit of inet_sendmsg, inet_recvmsg and their like";

	if (st->calls == NET_CALLS_NONE || (st->calls == NET_CALLS_FEXIT && !st->fexits)) {
		calls_missing(inst, st);
	} else {
		host->signal(inst, "net.tcp.bytes", SKEP_SIGNAL_OK, how, NULL);
		host->signal(inst, "net.udp.bytes", SKEP_SIGNAL_PARTIAL, how,
			     "only a socket that is connected, or bound to a loopback address, counts as loopback");
		host->signal(inst, "net.unix.bytes", SKEP_SIGNAL_PARTIAL, how,
			     "no hook sees bytes that splice(2) reads from a Unix socket");
	}
	host->signal(inst, "net.tcp.connections", SKEP_SIGNAL_OK, "tp_btf/inet_sock_set_state", NULL);
	host->signal(inst, "net.tcp.failures", SKEP_SIGNAL_PARTIAL, "tp_btf/inet_sock_set_state",
		     "no hook sees a connect that fails for want of a route: it changes no state");
	host->signal(inst, "net.tcp.open", SKEP_SIGNAL_OK,
		     st->way == NET_IN_HASHES ? "iter/task_file, a hash map" : "iter/task_file, storage of sockets",
		     NULL);
	host->signal(inst, "net.tcp.owner", SKEP_SIGNAL_OK,
		     st->calls == NET_CALLS_NONE
			     ? "the process that connected, that iter/task_file finds with a descriptor, or that closed it"
			     : "the process that connected, or the first to send or receive; "
			       "at the start iter/task_file",
		     NULL);
	host->signal(inst, "ledger.net", SKEP_SIGNAL_PARTIAL,
		     st->calls == NET_CALLS_NONE ? "payload and headers from tcp_sock counters"
						 : "payload by calls, headers from tcp_sock segment counters",
		     st->calls == NET_CALLS_NONE ? "no part has UDP and forwarded packets"
						 : "no part has the headers of UDP and of forwarded packets");
}
