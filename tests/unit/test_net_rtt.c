/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_net_rtt.c - the detail rtt without its kernel side: rows into records, and the promises of the table
 * of details.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <sys/socket.h>

#include <skep/hist.h>

#include "plugins/net/state.h"

static struct got {
	struct skep_upid who;
	struct rtt_record rec;
	char peers[8], direction[4], remote[64];
	uint64_t in_slots;
} got[8];
static unsigned n_got;

static void copy(char *to, size_t size, const struct skep_str *s)
{
	snprintf(to, size, "%.*s", (int)s->len, s->ptr ? s->ptr : "");
}

static void on_emit(struct skep_instance *inst, unsigned stream, const struct skep_upid *who, uint64_t time_ns,
		    const void *rec)
{
	struct got *g = &got[n_got++];

	(void)inst;
	assert_int_equal(stream, STREAM_RTT);
	assert_int_equal(time_ns, 99);
	assert_in_range(n_got, 1, sizeof(got) / sizeof(got[0]));
	g->who = who ? *who : (struct skep_upid){ 0 };
	memcpy(&g->rec, rec, sizeof(g->rec));
	copy(g->peers, sizeof(g->peers), &g->rec.peers);
	copy(g->direction, sizeof(g->direction), &g->rec.direction);
	copy(g->remote, sizeof(g->remote), &g->rec.remote);
	g->in_slots = skep_hist_count(&g->rec.rtt);
}

static const struct skep_host host = { .size = sizeof(host), .emit = on_emit };

static const uint8_t four[16] = { [10] = 0xff, [11] = 0xff, 10, 9, 0, 2 }, six[16] = { 0xfd, 0x91, [15] = 1 };

static void fill(struct rtt_reported *t, uint16_t slot, const uint8_t remote[16], uint16_t port, uint8_t direction,
		 uint64_t n, uint64_t ns)
{
	t->key = (struct rtt_key){ .slot = slot, .port = port, .direction = direction, .others = !remote };
	if (remote)
		memcpy(t->key.remote, remote, 16);
	t->new.slots[skep_hist_slot_of(ns)] = n;
	t->new.sum_ns = n * ns;
}

static void test_rows(void **state)
{
	struct rtt_reported reported[5] = { 0 };
	struct net_state st = { .host = &host, .rtt = { .reported = reported, .n_reported = 5 } };

	(void)state;
	n_got = 0;
	fill(&reported[0], 2, NULL, 0, 0, 3, 1000);          /* the row of all other connections */
	fill(&reported[1], 2, four, 80, NET_OUT, 10, 20000);
	fill(&reported[2], 7, four, 80, NET_OUT, 50, 20000); /* belongs to another attachment */
	fill(&reported[3], 2, six, 22, NET_IN, 1, 5000000);
	fill(&reported[4], 2, six, 23, NET_IN, 0, 0);        /* no new samples */
	st.rtt.attached[2] = (struct skep_attached){ .used = true, .scope.id = 11, .who = { .pid = 5, .start_ns = 6 } };
	rtt_tell(NULL, &st, 2, 99);
	assert_int_equal(n_got, 4);
	assert_string_equal(got[0].peers, "all");
	assert_int_equal(got[0].rec.count, 14);
	assert_int_equal(got[0].rec.sum_ns, 3 * 1000 + 10 * 20000 + 5000000);
	assert_string_equal(got[0].remote, "");
	assert_string_equal(got[1].peers, "others");
	assert_int_equal(got[1].rec.count, 3);
	assert_int_equal(got[1].rec.port, 0);
	assert_string_equal(got[2].peers, "one");
	assert_string_equal(got[2].remote, "10.9.0.2");
	assert_string_equal(got[2].direction, "out");
	assert_int_equal(got[2].rec.port, 80);
	assert_int_equal(got[2].rec.count, 10);
	assert_string_equal(got[3].remote, "fd91::1");
	assert_string_equal(got[3].direction, "in");
	for (unsigned i = 0; i < n_got; i++) {
		assert_int_equal(got[i].rec.id, 11);
		assert_int_equal(got[i].who.pid, 5);
		assert_int_equal(got[i].in_slots, got[i].rec.count);
	}
}

static void test_nothing(void **state)
{
	struct net_state st = { .host = &host };

	(void)state;
	n_got = 0;
	rtt_tell(NULL, &st, 0, 99);
	assert_int_equal(n_got, 0);
}

/* A detail's stream has its name, and the id comes first. */
static void test_details(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_DETAILS; i++) {
		const struct skep_stream *s;

		assert_in_range(net_details[i].stream, 0, N_STREAMS - 1);
		s = net_streams[net_details[i].stream];
		assert_int_equal(s->role, SKEP_ROLE_DETAIL);
		assert_string_equal(s->name + strlen("net."), net_details[i].name);
		assert_string_equal(s->fields[0].name, "detail.id");
		assert_int_equal(s->fields[0].offset, 0);
		assert_int_not_equal(net_details[i].scopes, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_details),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
