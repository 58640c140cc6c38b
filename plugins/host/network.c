/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/network.c - the stream host.network, and the accounts "net.rx" and "net.tx".
 *
 * A packet can pass many interfaces of a host: a container's, its peer, a bridge, a bond, the card.  The account's
 * reference counts a packet once, where it enters or leaves the machine, at uplinks:
 *   - Interfaces with a device behind them: a card, virtio, a function of a card.  An interface whose master has a
 *     device too is no uplink, because the master counts its traffic as well (a virtual function below its synthetic
 *     interface on Azure, a fail-over pair).  Bridges, bonds, teams, VLANs, tunnels, taps and the host's ends of
 *     containers' pairs have no device.
 *   - If no interface has a device (in a container): interfaces whose other side is in another namespace, such as veth,
 *     macvlan, ipvlan.
 * The account shows loopback as memo.  Traffic between containers of one host passes no uplink and is not in the
 * account.
 */
#include <errno.h>
#include <fcntl.h>
#include <skep/clock.h>
#include <skep/values.h>
#include <string.h>
#include <unistd.h>

#include "state.h"

#define CLASSIFY_AGAIN_NS UINT64_C(60000000000) /* reading the speed takes the kernel's network lock */
#define CLASSIFY_AT_ONCE 16u /* five small files each, and a node may have hundreds of interfaces */

/* "  eth0: 1 2 ...": 16 numbers. Names have no colon (dev_valid_name, net/core/dev.c). */
int network_line(struct text line, struct text *ret_name, uint64_t value[N_NET])
{
	struct text name, rest;
	const char *colon = skep_text_len(line) ? memchr(line.at, ':', skep_text_len(line)) : NULL;

	if (!colon)
		return -EBADMSG;
	name = (struct text){ line.at, colon };
	while (name.at < name.end && *name.at == ' ')
		name.at++;
	line.at = colon + 1;
	for (unsigned i = 0; i < N_NET; i++)
		if (!skep_text_u64(&line, &value[i]))
			return -EBADMSG;
	if (skep_text_len(name) == 0 || skep_text_word(&line, &rest))
		return -EBADMSG;
	*ret_name = name;
	return 0;
}

static bool exists(const struct host_probe *st, const char *name, const char *what)
{
	char path[160];

	return skep_text_format(path, sizeof(path), "sys/class/net/%s/%s", name, what) &&
	       faccessat(st->root, path, F_OK, 0) == 0;
}

static bool read_u64(const struct host_probe *st, const char *name, const char *what, uint64_t *ret)
{
	char path[160];

	return skep_text_format(path, sizeof(path), "sys/class/net/%s/%s", name, what) &&
	       skep_text_u64_at(st->root, path, ret) == 0;
}

/* No interface of this namespace is the other side: the other side is in another namespace, or missing. */
static bool leads_out(const struct host_probe *st, const struct device *e)
{
	if (e->index == e->link)
		return false;
	for (uint32_t i = 0; i < st->interfaces.n; i++)
		if (st->interfaces.entry[i].index == e->link)
			return false;
	return true;
}

static void classify(const struct host_probe *st, struct device *e, uint64_t now_ns)
{
	char path[160], state[32];
	uint64_t mbit;

	e->classified_ns = now_ns;
	e->device = exists(st, e->name, "device");
	e->uplink = e->device && !exists(st, e->name, "master/device");
	e->index = e->link = 0;
	if (!read_u64(st, e->name, "ifindex", &e->index) || !read_u64(st, e->name, "iflink", &e->link))
		e->link = e->index;
	/* the file has -1, or reading fails with EINVAL, if the driver does not know the speed */
	e->speed = read_u64(st, e->name, "speed", &mbit) && mbit < 100000000 ? mbit * 125000 : 0;
	e->up = skep_text_format(path, sizeof(path), "sys/class/net/%s/operstate", e->name) &&
		skep_text_line_at(st->root, path, state, sizeof(state)) == 0 &&
		(strcmp(state, "up") == 0 || strcmp(state, "unknown") == 0);
}

/* If no interface has a device, as in a container, the interfaces that lead to another namespace are the uplinks. */
static void choose(struct host_probe *st)
{
	for (uint32_t i = 0; i < st->interfaces.n; i++)
		if (st->interfaces.entry[i].device)
			return;
	for (uint32_t i = 0; i < st->interfaces.n; i++)
		st->interfaces.entry[i].uplink = leads_out(st, &st->interfaces.entry[i]);
}

static void emit(struct skep_instance *inst, const struct host_probe *st, const struct device *e,
		 const uint64_t d[N_NET], uint64_t now_ns)
{
	st->host->emit(inst, STREAM_NETWORK, NULL, now_ns,
		       &(struct network_record){
			       .name = skep_text(e->name),
			       .uplink = e->uplink,
			       .up = e->up,
			       .speed = e->speed,
			       .rx_bytes = d[NET_RX_BYTES],
			       .tx_bytes = d[NET_TX_BYTES],
			       .rx_packets = d[NET_RX_PACKETS],
			       .tx_packets = d[NET_TX_PACKETS],
			       .rx_errors = d[NET_RX_ERRORS],
			       .tx_errors = d[NET_TX_ERRORS],
			       .rx_dropped = d[NET_RX_DROPPED],
			       .tx_dropped = d[NET_TX_DROPPED],
		       });
}

/* Adds what a known interface has counted since the last pass to the account, and reports it. */
static void advance(struct skep_instance *inst, struct host_probe *st, const struct device *e,
		    const uint64_t value[N_NET], uint64_t now_ns)
{
	uint64_t d[N_NET];
	bool any = false;

	for (unsigned i = 0; i < N_NET; i++) {
		d[i] = counter_delta(e->value[i], value[i]);
		any |= d[i] != 0;
	}
	if (e->uplink) {
		st->net_rx += d[NET_RX_BYTES];
		st->net_tx += d[NET_TX_BYTES];
	} else if (strcmp(e->name, "lo") == 0) {
		st->lo_rx += d[NET_RX_BYTES];
		st->lo_tx += d[NET_TX_BYTES];
	}
	if (any || e->uplink)
		emit(inst, st, e, d, now_ns);
}

static void pass(struct skep_instance *inst, struct host_probe *st, uint64_t now_ns, bool report)
{
	struct text text, line;
	unsigned classified = 0;

	if (!host_read(st, FILE_NET, &text))
		return;
	for (unsigned headings = 0; headings < 2; headings++)
		if (!skep_text_line(&text, &line)) {
			host_bad_line(st, 1);
			return;
		}
	device_table_begin(&st->interfaces);
	while (skep_text_line(&text, &line)) {
		uint64_t value[N_NET];
		struct device *e;
		struct text name;
		bool fresh;
		int err = network_line(line, &name, value) ?: device_table_find(&st->interfaces, name, &e, &fresh);

		if (err == -ENOSPC || err == -ENOMEM) {
			st->host->counter_add(st->left_out, 1);
			if (report)
				st->host->lost(inst, STREAM_NETWORK, SKEP_LOSS_QUEUE, 1);
			continue;
		}
		if (err) {
			host_bad_line(st, 1);
			continue;
		}
		if (!fresh && report)
			advance(inst, st, e, value, now_ns);
		if (fresh || (now_ns - e->classified_ns >= CLASSIFY_AGAIN_NS && classified < CLASSIFY_AT_ONCE)) {
			classify(st, e, now_ns);
			classified++;
		}
		memcpy(e->value, value, sizeof(value));
	}
	device_table_end(&st->interfaces);
	if (classified)
		choose(st);
}

static void post(struct skep_instance *inst, const struct host_probe *st, uint64_t now_ns)
{
	if (!st->have_net)
		return;
	host_post(inst, st, now_ns, "net.rx", "interfaces", (int64_t)st->net_rx, SKEP_LEDGER_REFERENCE);
	host_post(inst, st, now_ns, "net.tx", "interfaces", (int64_t)st->net_tx, SKEP_LEDGER_REFERENCE);
	host_post(inst, st, now_ns, "net.rx", "loopback", (int64_t)st->lo_rx, SKEP_LEDGER_MEMO);
	host_post(inst, st, now_ns, "net.tx", "loopback", (int64_t)st->lo_tx, SKEP_LEDGER_MEMO);
}

void network_start(struct skep_instance *inst, struct host_probe *st)
{
	uint64_t now_ns = skep_boot_ns();
	unsigned uplinks = 0;

	st->have_net = st->file[FILE_NET] >= 0;
	if (!st->have_net) {
		host_signal(inst, st, "host.network", SKEP_SIGNAL_MISSING, "/proc/net/dev", "the file is not readable");
		host_signal(inst, st, "ledger.net", SKEP_SIGNAL_MISSING, "/proc/net/dev", "the file is not readable");
		return;
	}
	pass(inst, st, now_ns, false);
	post(inst, st, now_ns);
	for (uint32_t i = 0; i < st->interfaces.n; i++)
		uplinks += st->interfaces.entry[i].uplink;
	host_signal(inst, st, "host.network", SKEP_SIGNAL_OK, "/proc/net/dev", NULL);
	if (uplinks)
		host_signal(inst, st, "ledger.net", SKEP_SIGNAL_OK, "/proc/net/dev, interfaces with a device", NULL);
	else
		host_signal(inst, st, "ledger.net", SKEP_SIGNAL_PARTIAL, "/proc/net/dev",
			    "no interface leads out of this machine: the reference is 0 until one appears");
}

void network_sample(struct skep_instance *inst, struct host_probe *st, uint64_t now_ns)
{
	pass(inst, st, now_ns, true);
	post(inst, st, now_ns);
}
