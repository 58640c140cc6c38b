/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_net_decode.c - the probe "net": records from bytes of its kernel side, without a kernel side; its
 * items of the ledger; names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "plugins/net/state.h"

static struct net_state st;
static struct {
	unsigned n, stream;
	bool has_who;
	struct skep_upid who;
	uint64_t time_ns;
	union {
		struct process_record process;
		struct conn_record conn;
	};
	char error[32];
} got;
static struct {
	char account[16], item[16];
	int64_t amount;
} posts[32];
static unsigned n_posts;

static void emit(struct skep_instance *inst, unsigned stream, const struct skep_upid *who, uint64_t time_ns,
		 const void *rec)
{
	(void)inst;
	if (stream == STREAM_LEDGER) {
		const struct skep_ledger_post *p = rec;

		memcpy(posts[n_posts].account, p->account.ptr, p->account.len);
		memcpy(posts[n_posts].item, p->item.ptr, p->item.len);
		posts[n_posts++].amount = p->amount;
		return;
	}
	got.n++;
	got.stream = stream;
	got.has_who = who != NULL;
	if (who)
		got.who = *who;
	got.time_ns = time_ns;
	if (stream == STREAM_PROCESS)
		got.process = *(const struct process_record *)rec;
	if (stream == STREAM_CONN) {
		got.conn = *(const struct conn_record *)rec;
		/* the text of an unnamed error lives no longer than the call */
		memset(got.error, 0, sizeof(got.error));
		if (got.conn.error.len)
			memcpy(got.error, got.conn.error.ptr, got.conn.error.len);
	}
}

static const struct skep_host host = { .size = sizeof(host), .emit = emit };

static int setup(void **state)
{
	(void)state;
	memset(&st, 0, sizeof(st));
	memset(&got, 0, sizeof(got));
	memset(posts, 0, sizeof(posts));
	n_posts = 0;
	st.host = &host;
	return 0;
}

static struct net_process_record process(void)
{
	struct net_process_record r = {
		.h = { .type = NET_REC_PROCESS, .pid = 42, .start_ns = 1000, .time_ns = 5000 }
	};

	for (unsigned i = 0; i < NET_SLOTS; i++)
		r.amounts.bytes[i] = 1ull << (4 * i);
	r.amounts.connects = 2;
	r.amounts.accepts = 3;
	r.amounts.failures = 4;
	r.amounts.retransmits = 5;
	return r;
}

static void process_amounts(void **state)
{
	struct net_process_record r = process();
	const __u64 *b = r.amounts.bytes;

	(void)state;
	assert_int_equal(net_decode(NULL, &st, &r, sizeof(r)), 0);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.stream, STREAM_PROCESS);
	assert_int_equal(got.who.pid, 42);
	assert_int_equal(got.who.start_ns, 1000);
	assert_int_equal(got.time_ns, 5000);
	assert_int_equal(got.process.tcp_tx, b[NET_SLOT(NET_TCP, NET_TX)] + b[NET_SLOT(NET_TCP_LO, NET_TX)]);
	assert_int_equal(got.process.tcp_rx, b[NET_SLOT(NET_TCP, NET_RX)] + b[NET_SLOT(NET_TCP_LO, NET_RX)]);
	assert_int_equal(got.process.udp_tx, b[NET_SLOT(NET_UDP, NET_TX)] + b[NET_SLOT(NET_UDP_LO, NET_TX)]);
	assert_int_equal(got.process.udp_rx, b[NET_SLOT(NET_UDP, NET_RX)] + b[NET_SLOT(NET_UDP_LO, NET_RX)]);
	assert_int_equal(got.process.unix_tx, b[NET_SLOT(NET_UNIX, NET_TX)]);
	assert_int_equal(got.process.unix_rx, b[NET_SLOT(NET_UNIX, NET_RX)]);
	assert_int_equal(got.process.loopback_tx, b[NET_SLOT(NET_TCP_LO, NET_TX)] + b[NET_SLOT(NET_UDP_LO, NET_TX)]);
	assert_int_equal(got.process.loopback_rx, b[NET_SLOT(NET_TCP_LO, NET_RX)] + b[NET_SLOT(NET_UDP_LO, NET_RX)]);
	assert_int_equal(got.process.tx_bytes, got.process.tcp_tx + got.process.udp_tx);
	assert_int_equal(got.process.rx_bytes, got.process.tcp_rx + got.process.udp_rx);
	assert_int_equal(got.process.connects, 2);
	assert_int_equal(got.process.accepts, 3);
	assert_int_equal(got.process.failures, 4);
	assert_int_equal(got.process.retransmits, 5);
}

static int64_t posted(const char *account, const char *item)
{
	for (unsigned i = 0; i < n_posts; i++)
		if (strcmp(posts[i].account, account) == 0 && strcmp(posts[i].item, item) == 0)
			return posts[i].amount;
	return -1;
}

/* The bytes that processes moved outside of loopback, and the kernel side's sums. */
static void ledger(void **state)
{
	struct net_counters cpus[2] = { 0 };
	struct net_process_record r = process();

	(void)state;
	cpus[0].excluded[NET_SLOT(NET_TCP, NET_RX)] = 10;
	cpus[1].excluded[NET_SLOT(NET_UDP, NET_RX)] = 20;
	cpus[1].excluded[NET_SLOT(NET_TCP_LO, NET_RX)] = 999;
	cpus[1].excluded[NET_SLOT(NET_UNIX, NET_RX)] = 999;
	cpus[0].kernel[NET_SLOT(NET_TCP, NET_TX)] = 30;
	cpus[0].unowned[NET_SLOT(NET_TCP, NET_TX)] = 40;
	cpus[1].unplaced[NET_SLOT(NET_UDP, NET_TX)] = 50;
	cpus[0].headers[NET_TX] = 60;
	cpus[1].headers[NET_TX] = 1;
	cpus[0].headers[NET_RX] = 70;
	cpus[0].resent_bytes = 80;
	st.counters = cpus;
	st.n_cpus = 2;
	assert_int_equal(net_decode(NULL, &st, &r, sizeof(r)), 0);
	assert_int_equal(net_decode(NULL, &st, &r, sizeof(r)), 0);
	net_ledger_post(NULL, &st, 1);
	assert_int_equal(posted("net.tx", "tcp"), 2 * r.amounts.bytes[NET_SLOT(NET_TCP, NET_TX)]);
	assert_int_equal(posted("net.rx", "tcp"), 2 * r.amounts.bytes[NET_SLOT(NET_TCP, NET_RX)]);
	assert_int_equal(posted("net.tx", "udp"), 2 * r.amounts.bytes[NET_SLOT(NET_UDP, NET_TX)]);
	assert_int_equal(posted("net.rx", "udp"), 2 * r.amounts.bytes[NET_SLOT(NET_UDP, NET_RX)]);
	assert_int_equal(posted("net.rx", "excluded"), 30);
	assert_int_equal(posted("net.tx", "excluded"), 0);
	assert_int_equal(posted("net.tx", "kernel"), 30);
	assert_int_equal(posted("net.tx", "unowned"), 90);
	assert_int_equal(posted("net.tx", "headers"), 61);
	assert_int_equal(posted("net.rx", "headers"), 70);
	assert_int_equal(posted("net.tx", "retransmits"), 80);
	assert_int_equal(posted("net.rx", "retransmits"), -1);
}

static struct net_conn_record conn(void)
{
	return (struct net_conn_record){
		.h = { .type = NET_REC_CONN, .pid = 42, .start_ns = 1000, .time_ns = 9000 },
		.began_ns = 2000,
		.latency_ns = 300,
		.bytes = { 11, 22 },
		.retransmits = 3,
		.srtt_us = 7,
		.netns = 4026531840u,
		.family = AF_INET6,
		.direction = NET_IN,
		.local_port = 443,
		.remote_port = 50000,
		.local = { [15] = 1 },
		.remote = { [15] = 2 },
		.flags = NET_CONN_CLOSED,
	};
}

#define TEXT_EQUAL(str_, text_)                                                \
	do {                                                                   \
		assert_int_equal((str_).len, strlen(text_));                   \
		assert_memory_equal((str_).ptr, text_, strlen(text_));         \
	} while (0)

static void connection(void **state)
{
	struct net_conn_record r = conn();

	(void)state;
	assert_int_equal(net_decode(NULL, &st, &r, sizeof(r)), 0); /* no room to hold the record: sent at once */
	assert_int_equal(got.stream, STREAM_CONN);
	assert_true(got.has_who);
	assert_int_equal(got.who.pid, 42);
	TEXT_EQUAL(got.conn.transport, "tcp");
	TEXT_EQUAL(got.conn.type, "ipv6");
	TEXT_EQUAL(got.conn.direction, "in");
	TEXT_EQUAL(got.conn.state, "closed");
	assert_int_equal(got.conn.error.len, 0);
	assert_int_equal(got.conn.duration_ns, 7000);
	assert_int_equal(got.conn.tx_bytes, 11);
	assert_int_equal(got.conn.rx_bytes, 22);
	assert_int_equal(got.conn.retransmits, 3);
	assert_int_equal(got.conn.latency_ns, 300);
	assert_int_equal(got.conn.srtt_ns, 7000);
	assert_int_equal(got.conn.netns, 4026531840u);
	assert_int_equal(got.conn.local_port, 443);
	assert_int_equal(got.conn.remote_port, 50000);
	assert_int_equal(got.conn.local[15], 1);
	assert_int_equal(got.conn.remote[15], 2);
	assert_false(got.conn.loopback);
	assert_false(got.conn.before);
}

static void connection_states(void **state)
{
	struct net_conn_record r = conn();

	(void)state;
	r.flags = 0;
	r.h.pid = 0;
	r.began_ns = 0;
	net_decode(NULL, &st, &r, sizeof(r));
	assert_false(got.has_who);
	TEXT_EQUAL(got.conn.state, "open");
	assert_int_equal(got.conn.duration_ns, 0);
	r.flags = NET_CONN_CLOSED | NET_CONN_LOOPBACK | NET_CONN_BEFORE;
	r.error = ECONNRESET;
	net_decode(NULL, &st, &r, sizeof(r));
	TEXT_EQUAL(got.conn.state, "closed");
	assert_string_equal(got.error, "ECONNRESET");
	assert_true(got.conn.loopback);
	assert_true(got.conn.before);
	r.flags = NET_CONN_CLOSED | NET_CONN_FAILED;
	r.error = 4242;
	net_decode(NULL, &st, &r, sizeof(r));
	TEXT_EQUAL(got.conn.state, "failed");
	assert_string_equal(got.error, "4242");
	r.flags |= NET_CONN_ABORTED;
	r.error = 0;
	net_decode(NULL, &st, &r, sizeof(r));
	assert_string_equal(got.error, "aborted");
}

/* Records wait until life-cycle probes have had their turn; a record without room goes at once, and none is lost. */
static void held(void **state)
{
	static struct net_conn_record room[NET_HELD_MAX];
	struct net_conn_record r = conn();

	(void)state;
	st.held = room;
	for (unsigned i = 0; i < NET_HELD_MAX; i++)
		net_decode(NULL, &st, &r, sizeof(r));
	assert_int_equal(got.n, 0);
	net_decode(NULL, &st, &r, sizeof(r));
	assert_int_equal(got.n, NET_HELD_MAX);
	net_emit_held(NULL, &st);
	assert_int_equal(got.n, NET_HELD_MAX + 1);
	net_emit_held(NULL, &st);
	assert_int_equal(got.n, NET_HELD_MAX + 1);
	st.held = NULL;
}

static void too_short(void **state)
{
	struct net_process_record p = process();
	struct net_conn_record c = conn();

	(void)state;
	for (size_t n = 0; n < sizeof(p); n++)
		assert_int_equal(net_decode(NULL, &st, &p, n), -EBADMSG);
	for (size_t n = 0; n < sizeof(c); n++)
		assert_int_equal(net_decode(NULL, &st, &c, n), -EBADMSG);
	c.h.type = 99;
	assert_int_equal(net_decode(NULL, &st, &c, sizeof(c)), -EBADMSG);
	assert_int_equal(got.n, 0);
}

static void tables(void **state)
{
	(void)state;
	assert_string_equal(net_error_name(ECONNREFUSED), "ECONNREFUSED");
	assert_string_equal(net_error_name(ETIMEDOUT), "ETIMEDOUT");
	assert_null(net_error_name(0));
	for (unsigned i = 0; i < N_STREAMS; i++) {
		const struct skep_stream *s = net_streams[i];

		for (uint32_t k = 0; k < s->n_fields; k++) {
			uint32_t size = s->fields[k].type == SKEP_T_BOOL                                    ? 1
					: s->fields[k].type == SKEP_T_STR || s->fields[k].type == SKEP_T_IP ? 16
													    : 8;

			assert_true(s->fields[k].offset + size <= s->record_size);
			for (uint32_t j = 0; j < k; j++)
				assert_string_not_equal(s->fields[k].name, s->fields[j].name);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(process_amounts, setup), cmocka_unit_test_setup(ledger, setup),
		cmocka_unit_test_setup(connection, setup),      cmocka_unit_test_setup(connection_states, setup),
		cmocka_unit_test_setup(held, setup),            cmocka_unit_test_setup(too_short, setup),
		cmocka_unit_test_setup(tables, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
