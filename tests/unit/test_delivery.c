/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_delivery.c - batches, many sinks, the bound over all queues, the ledger of records.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "core/delivery/batch.h"
#include "core/base/clock.h"
#include "core/delivery/delivery.h"
#include "core/process/records.h"

#define SECOND 1000000000ull

struct sink {
	struct delivery_sink *s;
	bool stuck;
	uint64_t batches, records, last_id;
	uint64_t renamed; /* records in batches of the host "node2" */
};

static struct {
	struct delivery *out;
	struct sink sinks[3];
	unsigned wakes;
	uint64_t now_ns;
	int stream, other;
} t;

static int submit(void *arg, const struct skep_batch *b)
{
	struct skep_batch_answer answer = { .size = sizeof(answer), .result = SKEP_BATCH_ACK };
	struct sink *s = arg;

	if (s->stuck)
		return 0;
	assert_true(b->id > s->last_id);
	assert_true(b->realtime_offset_ns != 0);
	s->last_id = b->id;
	s->batches++;
	s->records += b->n;
	s->renamed += strcmp(b->host_name, "node2") == 0 ? b->n : 0;
	return delivery_done(t.out, s->s, b, &answer, t.now_ns);
}

static void wake(void *arg)
{
	assert_ptr_equal(arg, &t);
	t.wakes++;
}

static void open_out(size_t max_bytes, int n)
{
	static const char *const names[] = { "a", "b", "c" };

	memset(&t, 0, sizeof(t));
	t.now_ns = clock_boot_ns();
	t.out = delivery_new(&(struct batch_origin){ "boot", "node1", "6.1.0" }, SECOND, max_bytes, wake, &t);
	for (int i = 0; i < n; i++)
		assert_int_equal(delivery_sink_add(t.out, names[i], 1, submit, &t.sinks[i], &t.sinks[i].s), 0);
	t.stream = delivery_stream_add(t.out, &record_stream_tool_sample);
	t.other = delivery_stream_add(t.out, &record_stream_loss);
	assert_int_equal(delivery_stream_add(t.out, &record_stream_tool_sample), t.stream);
}

static void emit(unsigned n, size_t text)
{
	static char big[5000];
	static unsigned number;
	struct record_tool_sample rec = { .tool = { big, (uint32_t)text, (uint32_t)text } };

	memset(big, 'x', sizeof(big));
	for (unsigned i = 0; i < n; i++) {
		number++; /* equal texts would share one copy */
		memcpy(big, &number, sizeof(number));
		delivery_emit(t.out, t.stream, NULL, 1, &rec, NULL);
	}
}

static struct delivery_count books(const char *sink)
{
	struct delivery_count c[16], found = { 0 };
	size_t n = delivery_counts(t.out, c, 16);

	assert_true(n <= 16);
	for (size_t i = 0; i < n; i++) {
		uint64_t lost = 0;

		for (int where = 0; where < DELIVERY_LOSSES; where++)
			lost += c[i].lost[where];
		assert_int_equal(c[i].seen, c[i].delivered + c[i].filtered + lost + c[i].pending);
		if (strcmp(c[i].sink, sink) == 0 && c[i].stream == &record_stream_tool_sample)
			found = c[i];
	}
	assert_non_null(found.stream);
	return found;
}

static void by_number_and_by_age(void **state)
{
	(void)state;
	open_out(64u << 20, 1);
	assert_int_equal(delivery_next_ns(t.out), UINT64_MAX);
	emit(1, 0);
	assert_int_equal(t.wakes, 1);
	assert_true(delivery_next_ns(t.out) > t.now_ns && delivery_next_ns(t.out) < t.now_ns + 10 * SECOND);
	delivery_tick(t.out, delivery_next_ns(t.out) - 1);
	assert_int_equal(t.sinks[0].batches, 0);
	assert_int_equal(books("a").pending, 1);
	delivery_tick(t.out, delivery_next_ns(t.out));
	assert_int_equal(t.sinks[0].records, 1);
	assert_int_equal(books("a").delivered, 1);
	emit(1200, 0);
	assert_int_equal(delivery_next_ns(t.out), 0); /* two batches are full: deliver them at once */
	delivery_tick(t.out, t.now_ns);
	assert_int_equal(t.sinks[0].records, 1001);
	delivery_flush(t.out);
	delivery_flush(t.out); /* nothing is open: the sink gets no empty batch */
	delivery_tick(t.out, t.now_ns);
	assert_int_equal(t.sinks[0].records, 1201);
	assert_int_equal(t.sinks[0].last_id, 4);
	assert_int_equal(delivery_last_id(t.out), 4);
	assert_true(delivery_sink_settled(t.sinks[0].s, 4));
	assert_int_equal(delivery_bytes(t.out), 0);
	t.out = delivery_free(t.out);
}

/* Records have the name that the host had when they were made. */
static void a_host_is_renamed(void **state)
{
	(void)state;
	open_out(64u << 20, 1);
	emit(3, 0);
	assert_int_equal(delivery_host_name(t.out, "node2"), 0);
	emit(4, 0);
	delivery_flush(t.out);
	delivery_tick(t.out, t.now_ns);
	assert_int_equal(t.sinks[0].records, 7);
	assert_int_equal(t.sinks[0].renamed, 4);
	t.out = delivery_free(t.out);
}

/* While half of the memory is taken, long texts are cut: 4,000 records find room where 2,000 whole ones would. */
static void long_texts_take_no_room_of_others(void **state)
{
	(void)state;
	open_out(8u << 20, 1);
	t.sinks[0].stuck = true;
	for (int i = 0; i < 16; i++) {
		emit(250, 4000);
		delivery_tick(t.out, t.now_ns);
	}
	assert_int_equal(books("a").pending, 4000);
	t.out = delivery_free(t.out);
}

static void a_stuck_sink_pays_alone(void **state)
{
	struct delivery_count c;

	(void)state;
	open_out(8u << 20, 3);
	t.sinks[1].stuck = true;
	for (int i = 0; i < 60; i++) {
		emit(500, 1000);
		delivery_tick(t.out, t.now_ns);
		assert_true(delivery_bytes(t.out) <= 8u << 20);
	}
	assert_int_equal(t.sinks[0].records, 30000);
	assert_int_equal(t.sinks[2].records, 30000);
	assert_int_equal(books("a").delivered, 30000);
	c = books("b");
	assert_int_equal(c.seen, 30000);
	assert_int_equal(c.delivered, 0);
	assert_true(c.lost[SKEP_LOSS_QUEUE] > 15000 && c.pending > 500);
	assert_int_equal(books("c").lost[SKEP_LOSS_QUEUE], 0);
	assert_int_equal(delivery_lost_total(t.out, SKEP_LOSS_QUEUE), c.lost[SKEP_LOSS_QUEUE]);
	assert_false(delivery_sink_settled(t.sinks[1].s, 1)); /* the batch in flight stays */
	delivery_sink_abandon(t.sinks[1].s);
	c = books("b");
	assert_int_equal(c.pending, 0);
	assert_int_equal(c.lost[SKEP_LOSS_QUEUE] + c.lost[SKEP_LOSS_SINK], 30000);
	assert_int_equal(delivery_bytes(t.out), 0);
	t.out = delivery_free(t.out);
}

/* Sinks begin and end while records flow: each gets the records of its time, and the sums agree. */
static void sinks_come_and_go(void **state)
{
	struct sink late = { 0 };

	(void)state;
	open_out(64u << 20, 2);
	emit(3, 0); /* these records are in the open batch when the third sink begins */
	assert_int_equal(delivery_sink_add(t.out, "late", 1, submit, &late, &late.s), 0);
	emit(2, 0);
	assert_int_equal(books("late").seen, 2);
	delivery_flush(t.out);
	delivery_tick(t.out, t.now_ns);
	assert_int_equal(late.records, 2);
	assert_int_equal(books("late").delivered, 2);
	assert_int_equal(books("late").pending, 0);
	assert_int_equal(books("a").delivered, 5);

	t.sinks[1].stuck = true;
	emit(4, 0);
	delivery_sink_retire(t.out, t.sinks[1].s); /* the open batch still goes to this sink, later ones do not */
	emit(10, 0);
	delivery_lost(t.out, t.stream, SKEP_LOSS_KERNEL, 1);
	delivery_flush(t.out);
	delivery_tick(t.out, t.now_ns);
	assert_int_equal(books("b").seen, 9);
	assert_int_equal(books("b").pending, 4);
	assert_true(delivery_sink_busy(t.sinks[1].s));
	assert_int_equal(delivery_sink_queue(t.sinks[1].s).batches, 1);
	delivery_sink_remove(t.out, t.sinks[1].s);
	assert_int_equal(delivery_lost_total(t.out, SKEP_LOSS_SINK), 4); /* the sink is gone, its loss counter stays */
	assert_int_equal(books("late").seen, 17);
	assert_int_equal(delivery_bytes(t.out), 0);

	/* the last sink goes, and another begins */
	delivery_sink_remove(t.out, late.s);
	late = (struct sink){ 0 };
	assert_int_equal(delivery_sink_add(t.out, "late", 1, submit, &late, &late.s), 0);
	emit(1, 0);
	assert_int_equal(books("late").seen, 1);
	t.out = delivery_free(t.out);
}

/* A new sink replaces a sink: it gets the batch in flight and the waiting batches, in order. */
static void a_sink_is_replaced(void **state)
{
	struct sink next = { 0 };

	(void)state;
	open_out(64u << 20, 1);
	t.sinks[0].stuck = true;
	for (int i = 0; i < 3; i++) {
		emit(2, 0);
		delivery_flush(t.out);
	}
	delivery_tick(t.out, t.now_ns);
	assert_int_equal(delivery_sink_queue(t.sinks[0].s).in_flight, 1);
	delivery_sink_pause(t.sinks[0].s, true);
	next.s = t.sinks[0].s;
	delivery_sink_move(t.sinks[0].s, "next", 5, &next);
	delivery_tick(t.out, t.now_ns);
	assert_int_equal(next.batches, 0);
	assert_int_equal(delivery_next_ns(t.out), UINT64_MAX); /* no sink has a time to wait for */
	delivery_sink_pause(next.s, false);
	delivery_tick(t.out, t.now_ns);
	assert_int_equal(next.batches, 3);
	assert_int_equal(next.last_id, 3);
	assert_int_equal(books("next").delivered, 6);
	assert_int_equal(t.sinks[0].batches, 0);
	t.out = delivery_free(t.out);
}

static unsigned n_losses;
static uint64_t sum_losses;

static void on_loss(void *arg, const char *sink, const struct skep_stream *stream, enum skep_loss where, uint64_t n)
{
	struct record_loss rec = { .count = n };

	assert_ptr_equal(arg, &t);
	assert_string_equal(sink, "a");
	assert_true(where == SKEP_LOSS_SINK || where == SKEP_LOSS_QUEUE);
	assert_ptr_equal(stream, &record_stream_tool_sample);
	n_losses++;
	sum_losses += n;
	delivery_emit(t.out, t.other, NULL, 1, &rec, NULL);
}

/* Each loss is reported once, even if streams and sinks were added meanwhile. */
static void losses_are_told_once(void **state)
{
	(void)state;
	n_losses = 0;
	sum_losses = 0;
	open_out(64u << 20, 1);
	t.sinks[0].stuck = true;
	emit(3, 0);
	delivery_flush(t.out);
	delivery_tick(t.out, t.now_ns);
	delivery_sink_abandon(t.sinks[0].s);
	delivery_losses(t.out, on_loss, &t);
	assert_int_equal(sum_losses, 3);
	assert_true(delivery_stream_add(t.out, &record_stream_run) >= 0);
	assert_int_equal(delivery_sink_add(t.out, "b", 1, submit, &t.sinks[1], &t.sinks[1].s), 0);
	delivery_losses(t.out, on_loss, &t);
	assert_int_equal(n_losses, 1);
	emit(2, 0);
	delivery_flush(t.out);
	delivery_tick(t.out, t.now_ns);
	delivery_sink_abandon(t.sinks[0].s); /* and the loss record about the first loss */
	t.out = delivery_free(t.out);
}

static void lost_before(void **state)
{
	(void)state;
	open_out(1u << 20, 2);
	delivery_lost(t.out, t.stream, SKEP_LOSS_KERNEL, 7);
	assert_int_equal(books("a").seen, 7);
	assert_int_equal(books("b").lost[SKEP_LOSS_KERNEL], 7);
	t.out = delivery_free(t.out);
	/* without a sink no record can be lost */
	open_out(1u << 20, 0);
	emit(600, 10);
	delivery_flush(t.out);
	assert_int_equal(delivery_counts(t.out, NULL, 0), 0);
	assert_int_equal(delivery_bytes(t.out), 0);
	t.out = delivery_free(t.out);
	/* closing drops the open batch and the queues */
	open_out(1u << 20, 2);
	t.sinks[0].stuck = true;
	emit(700, 10);
	delivery_tick(t.out, t.now_ns);
	assert_null(delivery_free(t.out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_number_and_by_age),
		cmocka_unit_test(a_host_is_renamed),
		cmocka_unit_test(long_texts_take_no_room_of_others), cmocka_unit_test(a_stuck_sink_pays_alone),
		cmocka_unit_test(sinks_come_and_go),
		cmocka_unit_test(a_sink_is_replaced),
		cmocka_unit_test(losses_are_told_once),
		cmocka_unit_test(lost_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
