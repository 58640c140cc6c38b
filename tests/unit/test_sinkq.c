/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_sinkq.c - one sink's queue: order, backoff, answers from inside submit.
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

#include "core/sinkq.h"

#define SECOND 1000000000ull

static struct {
	struct sinkq q;
	uint64_t offered[256];
	size_t n_offered;
	uint64_t fates[256][2]; /* id, fate */
	size_t n_fates;
	int answer; /* what submit does: an enum skep_batch_result, 0: nothing yet, -errno */
	uint64_t now_ns;
	const struct skep_batch *last;
} t;

static int submit(void *arg, const struct skep_batch *b)
{
	assert_ptr_equal(arg, &t);
	t.offered[t.n_offered++ % 256] = b->id;
	t.last = b;
	if (t.answer > 0)
		assert_int_equal(sinkq_done(&t.q, b, (enum skep_batch_result)t.answer, t.now_ns), 0);
	return t.answer < 0 ? t.answer : 0;
}

static void settled(void *arg, const struct batch *b, unsigned fate)
{
	assert_ptr_equal(arg, &t.q);
	t.fates[t.n_fates][0] = b->pub.id;
	t.fates[t.n_fates++][1] = fate;
}

static int set_up(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	sinkq_init(&t.q, 2, submit, &t, settled, &t.q);
	t.now_ns = 100 * SECOND;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sinkq_abandon(&t.q);
	return 0;
}

static void push(uint64_t id)
{
	struct batch *b = batch_new("k", id, 0);

	assert_non_null(b);
	assert_int_equal(sinkq_push(&t.q, b), 0);
	batch_unref(b);
}

static void in_order(void **state)
{
	(void)state;
	t.answer = SKEP_BATCH_ACK;
	for (uint64_t id = 1; id <= 5; id++)
		push(id);
	assert_int_equal(sinkq_oldest_id(&t.q), 1);
	assert_int_equal(sinkq_next_ns(&t.q), 0);
	sinkq_pump(&t.q, t.now_ns);
	assert_int_equal(t.n_fates, 5);
	for (uint64_t i = 0; i < 5; i++) {
		assert_int_equal(t.offered[i], i + 1);
		assert_int_equal(t.fates[i][1], SINKQ_DELIVERED);
	}
	assert_int_equal(sinkq_next_ns(&t.q), SINKQ_NEVER);
	assert_int_equal(sinkq_oldest_id(&t.q), UINT64_MAX);
	assert_int_equal(t.q.n + t.q.in_flight + t.q.bytes, 0);
}

static void bounded_in_flight(void **state)
{
	const struct skep_batch *first;

	(void)state;
	push(1);
	push(2);
	push(3);
	sinkq_pump(&t.q, t.now_ns);
	assert_int_equal(t.n_offered, 2);
	assert_int_equal(sinkq_next_ns(&t.q), SINKQ_NEVER); /* its answer is what is waited for */
	first = &t.q.first->batch->pub;
	assert_int_equal(sinkq_done(&t.q, t.last, SKEP_BATCH_ACK, t.now_ns), 0); /* 2 before 1 is fine */
	sinkq_pump(&t.q, t.now_ns);
	assert_int_equal(t.offered[2], 3);
	assert_int_equal(sinkq_done(&t.q, first, SKEP_BATCH_REJECT, t.now_ns), 0);
	assert_int_equal(t.fates[1][0], 1);
	assert_int_equal(t.fates[1][1], SKEP_LOSS_SINK);
	assert_int_equal(t.q.in_flight, 1);
}

static void answers_that_make_no_sense(void **state)
{
	struct skep_batch other = { .id = 1 };

	(void)state;
	push(1);
	assert_int_equal(sinkq_done(&t.q, &t.q.first->batch->pub, SKEP_BATCH_ACK, 0), -ENOENT); /* not offered yet */
	sinkq_pump(&t.q, t.now_ns);
	assert_int_equal(sinkq_done(&t.q, &other, SKEP_BATCH_ACK, 0), -ENOENT);
	assert_int_equal(sinkq_done(&t.q, t.last, SKEP_BATCH_ACK, 0), 0);
	assert_int_equal(t.n_fates, 1);
}

static void backs_off_without_end(void **state)
{
	uint64_t longest = 0, next;

	(void)state;
	push(1);
	push(2);
	for (int i = 0; i < 200; i++) {
		t.answer = i % 2 ? SKEP_BATCH_RETRY : -EIO; /* the same thing said in two ways */
		sinkq_pump(&t.q, t.now_ns);
		assert_int_equal(t.n_offered, i + 1);
		assert_int_equal(t.offered[i % 256], 1); /* nothing overtakes */
		assert_int_equal(t.q.in_flight, 0);
		next = sinkq_next_ns(&t.q);
		assert_true(next > t.now_ns);
		assert_true(next - t.now_ns <= 61 * SECOND);
		if (i == 0)
			assert_true(next - t.now_ns <= SECOND / 5);
		if (next - t.now_ns > longest)
			longest = next - t.now_ns;
		sinkq_pump(&t.q, next - 1);
		assert_int_equal(t.n_offered, i + 1);
		t.now_ns = next;
	}
	assert_true(longest > 30 * SECOND);
	assert_int_equal(t.q.retries, 200);
	sinkq_kick(&t.q);
	t.answer = SKEP_BATCH_ACK;
	sinkq_pump(&t.q, t.now_ns);
	assert_int_equal(t.n_fates, 2);
}

static void drops_what_is_not_in_flight(void **state)
{
	(void)state;
	for (uint64_t id = 1; id <= 4; id++)
		push(id);
	sinkq_pump(&t.q, t.now_ns);
	assert_true(sinkq_drop_oldest(&t.q));
	assert_int_equal(t.fates[0][0], 3); /* 1 and 2 are the sink's until it answers */
	assert_int_equal(t.fates[0][1], SKEP_LOSS_QUEUE);
	assert_true(sinkq_drop_oldest(&t.q));
	assert_false(sinkq_drop_oldest(&t.q));
	push(5); /* the tail is still sound */
	assert_int_equal(t.q.n, 3);
	sinkq_abandon(&t.q);
	assert_int_equal(t.n_fates, 5);
	assert_int_equal(t.fates[4][1], SKEP_LOSS_SINK);
	assert_int_equal(t.q.n + t.q.in_flight + t.q.bytes, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(in_order),
		TEST(bounded_in_flight),
		TEST(answers_that_make_no_sense),
		TEST(backs_off_without_end),
		TEST(drops_what_is_not_in_flight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
