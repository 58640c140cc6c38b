/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/net/decode.c - turns bytes of the ring into records.
 */
#include <skep/values.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "state.h"

struct skep_str net_family_text(uint16_t family)
{
	return skep_text(family == AF_INET6 ? "ipv6" : "ipv4");
}

struct skep_str net_direction_text(uint16_t direction)
{
	return skep_text(direction == NET_IN ? "in" : "out");
}

void net_emit_process(struct skep_instance *inst, struct net_state *st, const struct skep_upid *who, uint64_t time_ns,
		      const struct net_amounts *a)
{
	const __u64 *b = a->bytes;
	struct process_record rec = {
		.loopback_rx = b[NET_SLOT(NET_TCP_LO, NET_RX)] + b[NET_SLOT(NET_UDP_LO, NET_RX)],
		.loopback_tx = b[NET_SLOT(NET_TCP_LO, NET_TX)] + b[NET_SLOT(NET_UDP_LO, NET_TX)],
		.tcp_rx = b[NET_SLOT(NET_TCP, NET_RX)] + b[NET_SLOT(NET_TCP_LO, NET_RX)],
		.tcp_tx = b[NET_SLOT(NET_TCP, NET_TX)] + b[NET_SLOT(NET_TCP_LO, NET_TX)],
		.udp_rx = b[NET_SLOT(NET_UDP, NET_RX)] + b[NET_SLOT(NET_UDP_LO, NET_RX)],
		.udp_tx = b[NET_SLOT(NET_UDP, NET_TX)] + b[NET_SLOT(NET_UDP_LO, NET_TX)],
		.unix_rx = b[NET_SLOT(NET_UNIX, NET_RX)],
		.unix_tx = b[NET_SLOT(NET_UNIX, NET_TX)],
		.connects = a->connects,
		.accepts = a->accepts,
		.failures = a->failures,
		.retransmits = a->retransmits,
	};

	rec.rx_bytes = rec.tcp_rx + rec.udp_rx;
	rec.tx_bytes = rec.tcp_tx + rec.udp_tx;
	for (unsigned i = 0; i < NET_SLOTS; i++)
		st->ledger[i] = (int64_t)((uint64_t)st->ledger[i] + b[i]);
	st->host->emit(inst, STREAM_PROCESS, who, time_ns, &rec);
}

static void conn(struct skep_instance *inst, struct net_state *st, const struct net_conn_record *r)
{
	struct skep_upid who = { .pid = r->h.pid, .start_ns = r->h.start_ns };
	const char *name = r->error ? net_error_name(r->error) : NULL;
	char number[16];
	struct conn_record rec = {
		.transport = skep_text("tcp"),
		.type = net_family_text(r->family),
		.state = skep_text(r->flags & NET_CONN_FAILED   ? "failed"
				   : r->flags & NET_CONN_CLOSED ? "closed"
								: "open"),
		.direction = net_direction_text(r->direction),
		.local_port = r->local_port,
		.remote_port = r->remote_port,
		.netns = r->netns,
		.start_ns = r->began_ns,
		.duration_ns = r->began_ns && r->h.time_ns > r->began_ns ? r->h.time_ns - r->began_ns : 0,
		.rx_bytes = r->bytes[NET_RX],
		.tx_bytes = r->bytes[NET_TX],
		.retransmits = r->retransmits,
		.latency_ns = r->latency_ns,
		.srtt_ns = (uint64_t)r->srtt_us * 1000,
		.loopback = !!(r->flags & NET_CONN_LOOPBACK),
		.before = !!(r->flags & NET_CONN_BEFORE),
	};

	memcpy(rec.local, r->local, sizeof(rec.local));
	memcpy(rec.remote, r->remote, sizeof(rec.remote));
	if (r->error && !name) {
		snprintf(number, sizeof(number), "%d", r->error);
		name = number;
	} else if (r->flags & NET_CONN_ABORTED) {
		name = "aborted";
	}
	if (name)
		rec.error = skep_text(name);
	st->host->emit(inst, STREAM_CONN, who.pid ? &who : NULL, r->h.time_ns, &rec);
}

void net_emit_held(struct skep_instance *inst, struct net_state *st)
{
	for (uint32_t i = 0; i < st->n_held; i++)
		conn(inst, st, &st->held[i]);
	st->n_held = 0;
}

static void hold(struct skep_instance *inst, struct net_state *st, const struct net_conn_record *r)
{
	if (st->n_held == NET_HELD_MAX)
		net_emit_held(inst, st);
	if (st->held)
		st->held[st->n_held++] = *r;
	else
		conn(inst, st, r);
}

int net_decode(struct skep_instance *inst, struct net_state *st, const void *data, size_t size)
{
	const struct net_head *h = data;
	struct skep_upid who;

	if (size < sizeof(*h))
		return -EBADMSG;
	if (h->type == NET_REC_PROCESS) {
		const struct net_process_record *r = data;

		if (size < sizeof(*r))
			return -EBADMSG;
		who = (struct skep_upid){ .pid = h->pid, .start_ns = h->start_ns };
		net_emit_process(inst, st, &who, h->time_ns, &r->amounts);
		if (r->dead)
			net_dead_later(inst, st, &who, h->time_ns);
		return 0;
	}
	if (h->type == NET_REC_CONN && size >= sizeof(struct net_conn_record)) {
		hold(inst, st, data);
		return 0;
	}
	return -EBADMSG;
}
