/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/net/peers.c - the table of an interval's peers: a fixed number of rows, found by key, and by process when the
 * process ends (while its context is known).
 */
#include <stdlib.h>
#include <string.h>

#include "state.h"

static uint32_t *of_process(const struct peer_table *t, uint32_t pid, uint64_t start_ns)
{
	uint64_t words[] = { pid, start_ns };

	return &t->by_process[skep_hash(&t->key, words, sizeof(words)) & (t->buckets - 1)];
}

static uint32_t *of_key(const struct peer_table *t, const struct net_peer_key *key)
{
	return &t->by_key[skep_hash(&t->key, key, sizeof(*key)) & (t->buckets - 1)];
}
_Static_assert(sizeof(struct net_peer_key) % sizeof(uint64_t) == 0, "hashed and compared by bytes: no padding");

int net_peers_new(struct peer_table *t, uint32_t rows)
{
	uint32_t buckets = 64;

	while (buckets < rows)
		buckets *= 2;
	memset(t, 0, sizeof(*t));
	t->rows = calloc(rows, sizeof(*t->rows));
	t->by_key = calloc(buckets, sizeof(*t->by_key));
	t->by_process = calloc(buckets, sizeof(*t->by_process));
	if (!t->rows || !t->by_key || !t->by_process) {
		net_peers_free(t);
		return -ENOMEM;
	}
	t->key = skep_hash_key_new();
	t->room = rows;
	t->buckets = buckets;
	return 0;
}

void net_peers_free(struct peer_table *t)
{
	free(t->rows);
	free(t->by_key);
	free(t->by_process);
	memset(t, 0, sizeof(*t));
}

static void sum(struct net_peer *to, const struct net_peer *n)
{
	to->connections += n->connections;
	to->failures += n->failures;
	to->bytes[NET_TX] += n->bytes[NET_TX];
	to->bytes[NET_RX] += n->bytes[NET_RX];
	to->retransmits += n->retransmits;
	to->latency_sum_ns += n->latency_sum_ns;
	to->latency_n += n->latency_n;
	to->duration_sum_ns += n->duration_sum_ns;
	to->duration_n += n->duration_n;
}

static bool is_other(const struct net_peer_key *key)
{
	return key->family == 0;
}

bool net_peers_add(struct peer_table *t, const struct net_peer_key *key, const struct net_peer *n)
{
	uint32_t *bucket, i;
	struct peer_row *row;

	if (is_other(key)) {
		sum(&t->other, n);
		return false; /* the kernel side has counted it */
	}
	bucket = of_key(t, key);
	for (i = *bucket; i; i = t->rows[i - 1].next_of_key) {
		row = &t->rows[i - 1];
		if (memcmp(&row->key, key, sizeof(*key)) == 0) {
			sum(&row->sum, n);
			return false;
		}
	}
	if (t->free) {
		i = t->free;
		t->free = t->rows[i - 1].next_of_key;
	} else if (t->n < t->room) {
		i = ++t->n;
	} else {
		sum(&t->other, n);
		return true;
	}
	row = &t->rows[i - 1];
	row->key = *key;
	row->sum = *n;
	row->used = 1;
	row->next_of_key = *bucket;
	*bucket = i;
	bucket = of_process(t, key->pid, key->start_ns);
	row->next_of_process = *bucket;
	*bucket = i;
	return false;
}

static void emit(struct skep_instance *inst, struct net_state *st, const struct net_peer_key *key,
		 const struct net_peer *sum_of, uint64_t now_ns)
{
	struct skep_upid who = { .pid = key->pid, .start_ns = key->start_ns };
	struct peer_record rec = {
		.transport = { "tcp", 3, 3 },
		.port = key->port,
		.netns = key->netns,
		.connections = sum_of->connections,
		.failures = sum_of->failures,
		.rx_bytes = sum_of->bytes[NET_RX],
		.tx_bytes = sum_of->bytes[NET_TX],
		.retransmits = sum_of->retransmits,
		.latency_sum_ns = sum_of->latency_sum_ns,
		.latency_n = sum_of->latency_n,
		.duration_sum_ns = sum_of->duration_sum_ns,
		.duration_n = sum_of->duration_n,
		.other = is_other(key),
	};

	if (!rec.other) {
		rec.type = net_family_text(key->family);
		rec.direction = net_direction_text(key->direction);
	}
	memcpy(rec.remote, key->remote, sizeof(rec.remote));
	st->host->emit(inst, STREAM_PEER, who.pid ? &who : NULL, now_ns, &rec);
}

static void unlink_key(struct peer_table *t, uint32_t index)
{
	uint32_t *at = of_key(t, &t->rows[index - 1].key);

	while (*at != index)
		at = &t->rows[*at - 1].next_of_key;
	*at = t->rows[index - 1].next_of_key;
}

void net_peers_emit_process(struct skep_instance *inst, struct net_state *st, uint32_t pid, uint64_t start_ns,
			    uint64_t now_ns)
{
	struct peer_table *t = &st->peers;
	uint32_t *at, i;

	if (!t->buckets)
		return;
	at = of_process(t, pid, start_ns);
	while ((i = *at)) {
		struct peer_row *row = &t->rows[i - 1];

		if (row->key.pid != pid || row->key.start_ns != start_ns) {
			at = &row->next_of_process;
			continue;
		}
		emit(inst, st, &row->key, &row->sum, now_ns);
		*at = row->next_of_process;
		unlink_key(t, i);
		row->used = 0;
		row->next_of_key = t->free;
		t->free = i;
	}
}

void net_peers_emit_all(struct skep_instance *inst, struct net_state *st, uint64_t now_ns)
{
	static const struct net_peer none;
	struct peer_table *t = &st->peers;

	for (uint32_t i = 0; i < t->n; i++)
		if (t->rows[i].used)
			emit(inst, st, &t->rows[i].key, &t->rows[i].sum, now_ns);
	if (memcmp(&t->other, &none, sizeof(none)) != 0) {
		static const struct net_peer_key other;

		emit(inst, st, &other, &t->other, now_ns);
	}
	memset(&t->other, 0, sizeof(t->other));
	memset(t->by_key, 0, t->buckets * sizeof(*t->by_key));
	memset(t->by_process, 0, t->buckets * sizeof(*t->by_process));
	t->n = t->free = 0;
}
