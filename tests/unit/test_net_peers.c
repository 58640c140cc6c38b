/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_net_peers.c - the probe "net": the table of peers, also compared with a plain list under random
 * operations. No byte gets lost, whether or not the table has a row for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "plugins/net/state.h"

static struct net_state st;
static struct {
	struct skep_upid who;
	struct peer_record rec;
} got[4096];
static unsigned n_got;

static void emit(struct skep_instance *inst, unsigned stream, const struct skep_upid *who, uint64_t time_ns,
		 const void *rec)
{
	(void)inst;
	(void)time_ns;
	assert_int_equal(stream, STREAM_PEER);
	assert_true(n_got < sizeof(got) / sizeof(got[0]));
	got[n_got].who = who ? *who : (struct skep_upid){ 0 };
	got[n_got++].rec = *(const struct peer_record *)rec;
}

static const struct skep_host host = { .size = sizeof(host), .emit = emit };

static void begin(uint32_t rows)
{
	memset(&st, 0, sizeof(st));
	st.host = &host;
	n_got = 0;
	assert_int_equal(net_peers_new(&st.peers, rows), 0);
}

static struct net_peer_key key(uint32_t pid, uint8_t host_, uint16_t port)
{
	return (struct net_peer_key) { .start_ns = pid * 10ull,
				       .pid = pid,
				       .netns = 1,
				       .remote = { [15] = host_ },
				       .port = port,
				       .direction = NET_OUT,
				       .family = AF_INET };
}

static struct net_peer bytes(uint64_t n)
{
	return (struct net_peer) { .connections = 1,
				   .bytes = { n, 2 * n },
				   .latency_sum_ns = 5,
				   .latency_n = 1,
				   .duration_sum_ns = 9,
				   .duration_n = 1 };
}

static void sums(void **state)
{
	struct net_peer_key a = key(1, 1, 80), b = key(1, 1, 81);
	struct net_peer n = bytes(100);

	(void)state;
	begin(16);
	assert_false(net_peers_add(&st.peers, &a, &n));
	assert_false(net_peers_add(&st.peers, &a, &n));
	assert_false(net_peers_add(&st.peers, &b, &n));
	net_peers_emit_process(NULL, &st, 1, 10, 0);
	assert_int_equal(n_got, 2);
	for (unsigned i = 0; i < 2; i++) {
		unsigned times = got[i].rec.port == 80 ? 2 : 1;

		assert_int_equal(got[i].who.pid, 1);
		assert_int_equal(got[i].who.start_ns, 10);
		assert_int_equal(got[i].rec.tx_bytes, 100 * times);
		assert_int_equal(got[i].rec.rx_bytes, 200 * times);
		assert_int_equal(got[i].rec.connections, times);
		assert_int_equal(got[i].rec.latency_sum_ns, 5 * times);
		assert_int_equal(got[i].rec.duration_n, times);
		assert_false(got[i].rec.other);
	}
	/* reported once */
	net_peers_emit_process(NULL, &st, 1, 10, 0);
	net_peers_emit_all(NULL, &st, 0);
	assert_int_equal(n_got, 2);
	net_peers_free(&st.peers);
}

static void no_room(void **state)
{
	static const struct net_peer_key other;
	struct net_peer n = bytes(1);

	(void)state;
	begin(16);
	for (unsigned i = 0; i < 16; i++) {
		struct net_peer_key k = key(i + 1, 1, 80);

		assert_false(net_peers_add(&st.peers, &k, &n));
	}
	for (unsigned i = 16; i < 100; i++) {
		struct net_peer_key k = key(i + 1, 1, 80);

		assert_true(net_peers_add(&st.peers, &k, &n));
	}
	assert_false(net_peers_add(&st.peers, &other, &n)); /* the kernel side had no room for this peer */
	net_peers_emit_all(NULL, &st, 0);
	assert_int_equal(n_got, 17);
	assert_true(got[16].rec.other);
	assert_int_equal(got[16].who.pid, 0);
	assert_int_equal(got[16].rec.tx_bytes, 100 - 16 + 1);
	n_got = 0;
	net_peers_emit_all(NULL, &st, 0);
	assert_int_equal(n_got, 0);
	/* rows are free again */
	for (unsigned i = 0; i < 16; i++) {
		struct net_peer_key k = key(i + 200, 1, 80);

		assert_false(net_peers_add(&st.peers, &k, &n));
	}
	net_peers_free(&st.peers);
}

/* The table uses rows of dead processes again, and chains stay whole. */
static void random_operations(void **state)
{
	static uint64_t in_table[64][8];
	uint64_t other = 0;
	unsigned seed = 1;

	(void)state;
	begin(40);
	memset(in_table, 0, sizeof(in_table));
	for (unsigned round = 0; round < 20000; round++) {
		unsigned pid, port;

		seed = seed * 1103515245 + 12345;
		pid = seed >> 16 & 63;
		port = seed >> 24 & 7;
		n_got = 0;
		if (seed >> 8 & 15) {
			struct net_peer_key k = key(pid, 7, (uint16_t)(port + 1));
			struct net_peer n = bytes(seed & 255);

			if (net_peers_add(&st.peers, &k, &n))
				other += seed & 255;
			else
				/* the high half says that the row exists */
				in_table[pid][port] += (seed & 255) + (1ull << 32);
			continue;
		}
		net_peers_emit_process(NULL, &st, pid, pid * 10ull, 0);
		for (unsigned i = 0; i < n_got; i++) {
			uint64_t *want = &in_table[pid][got[i].rec.port - 1];

			assert_int_equal(got[i].rec.tx_bytes, (uint32_t)*want);
			assert_int_equal(got[i].rec.connections, *want >> 32);
			*want = 0;
		}
		for (unsigned i = 0; i < 8; i++)
			assert_int_equal(in_table[pid][i], 0);
	}
	n_got = 0;
	net_peers_emit_all(NULL, &st, 0);
	for (unsigned i = 0; i < n_got; i++) {
		if (got[i].rec.other) {
			assert_int_equal(got[i].rec.tx_bytes, other);
			other = 0;
		} else {
			in_table[got[i].who.pid][got[i].rec.port - 1] = 0;
		}
	}
	assert_int_equal(other, 0);
	for (unsigned pid = 1; pid < 64; pid++)
		for (unsigned i = 0; i < 8; i++)
			assert_int_equal(in_table[pid][i], 0);
	net_peers_free(&st.peers);
}

/* A hash of the same words without a secret. */
static uint64_t without_key(const struct net_peer_key *k)
{
	uint64_t words[sizeof(*k) / sizeof(uint64_t)], h = 0;

	memcpy(words, k, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		uint64_t x = h ^ words[i];

		x = (x ^ x >> 32) * 0x9e3779b97f4a7c15u;
		h += x ^ x >> 29;
	}
	return h;
}

/* A program connects to addresses that fall into one chain of such a hash. */
static void chosen_addresses(void **state)
{
	enum { ROWS = 512 };
	struct net_peer n = bytes(1);
	uint32_t rows = 0, longest = 0;

	(void)state;
	begin(ROWS);
	for (uint32_t i = 0; rows < ROWS / 2; i++) {
		struct net_peer_key k = key(7, 0, 80);

		memcpy(k.remote, &i, sizeof(i));
		if (without_key(&k) % ROWS != 0)
			continue;
		assert_false(net_peers_add(&st.peers, &k, &n));
		rows++;
	}
	for (uint32_t b = 0; b < st.peers.buckets; b++) {
		uint32_t chain = 0;

		for (uint32_t i = st.peers.by_key[b]; i; i = st.peers.rows[i - 1].next_of_key)
			chain++;
		longest = chain > longest ? chain : longest;
	}
	assert_true(longest > 0 && longest <= 20);
	net_peers_free(&st.peers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums),
		cmocka_unit_test(no_room),
		cmocka_unit_test(random_operations),
		cmocka_unit_test(chosen_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
