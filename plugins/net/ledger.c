/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/net/ledger.c - attributes the bytes that interfaces count.
 *
 * Processes account for payload without loopback. Beyond it interfaces count headers and retransmissions, which the
 * kernel side computes from the counters of tcp_sock (segs_in, segs_out, bytes_retrans) when it scans a connection, and
 * when one ends. A segment's header counts as Ethernet 14 + IP 20 or 40 + TCP as negotiated. A card that segments by
 * itself (TSO) may count one header for many, so the part is an upper bound. UDP sockets count no packets, so no part
 * has their headers.
 */
#include <skep/drain.h>
#include <string.h>

#include "state.h"

static void post(struct skep_instance *inst, const struct net_state *st, uint64_t now_ns, enum net_way way,
		 const char *item, uint64_t amount)
{
	const char *account = way == NET_TX ? "net.tx" : "net.rx";
	uint32_t len = (uint32_t)strlen(item);
	struct skep_ledger_post p = { .account = { account, 6, 6 },
				      .item = { item, len, len },
				      .amount = (int64_t)amount };

	st->host->emit(inst, STREAM_LEDGER, NULL, now_ns, &p);
}

static uint64_t outside(const __u64 *slots, enum net_way way)
{
	return slots[NET_SLOT(NET_TCP, way)] + slots[NET_SLOT(NET_UDP, way)];
}

void net_ledger_begin(struct net_state *st)
{
	skep_sums_of_view(st->counters, st->n_cpus, sizeof(st->ledger_begin), &st->ledger_begin);
	memset(st->ledger, 0, sizeof(st->ledger));
}

static void since_begin(struct net_counters *c, const struct net_counters *begin)
{
	const __u64 *from = (const __u64 *)begin;
	__u64 *to = (__u64 *)c;

	for (size_t i = 0; i < sizeof(*c) / sizeof(*to); i++)
		to[i] -= from[i];
}

void net_ledger_post(struct skep_instance *inst, struct net_state *st, uint64_t now_ns)
{
	struct net_counters c;

	skep_sums_of_view(st->counters, st->n_cpus, sizeof(c), &c);
	since_begin(&c, &st->ledger_begin);
	for (enum net_way way = NET_TX; way < NET_WAYS; way++) {
		post(inst, st, now_ns, way, "tcp", (uint64_t)st->ledger[NET_SLOT(NET_TCP, way)]);
		post(inst, st, now_ns, way, "udp", (uint64_t)st->ledger[NET_SLOT(NET_UDP, way)]);
		post(inst, st, now_ns, way, "excluded", outside(c.excluded, way));
		post(inst, st, now_ns, way, "kernel", outside(c.kernel, way));
		post(inst, st, now_ns, way, "unowned", outside(c.unowned, way) + outside(c.unplaced, way));
		post(inst, st, now_ns, way, "headers", c.headers[way]);
	}
	post(inst, st, now_ns, NET_TX, "retransmits", c.resent_bytes);
}
