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

#include "core/delivery/sinkq.h"

#define SECOND 1000000000ull

static struct {
	struct sinkq q;
	uint64_t offered[256];
	size_t n_offered;
	uint64_t fates[256][2]; /* id, fate */
	size_t n_fates;
	int answer; /* result of submit: an enum skep_batch_result, 0: no answer yet, -errno */
	char keys[256][32]; /* of the offered batches */
	uint64_t now_ns;
	const struct skep_batch *last;
} t;

static int done(const struct skep_batch *b, enum skep_batch_result result, uint64_t now_ns)
{
	struct skep_batch_answer answer = { .size = sizeof(answer), .result = result, .why = "as told" };

	return sinkq_done(&t.q, b, &answer, now_ns);
}

static int submit(void *arg, const struct skep_batch *b)
{
	assert_ptr_equal(arg, &t);
	snprintf(t.keys[t.n_offered % 256], sizeof(t.keys[0]), "%s", b->key);
	t.offered[t.n_offered++ % 256] = b->id;
	t.last = b;
	if (t.answer > 0)
		assert_int_equal(done(b, (enum skep_batch_result)t.answer, t.now_ns), 0);
	return t.answer < 0 ? t.answer : 0;
}

static void settled(void *arg, const struct batch *b, const struct sinkq_fate *fate)
{
	assert_ptr_equal(arg, &t.q);
	t.fates[t.n_fates][0] = b->pub.id;
	t.fates[t.n_fates++][1] = fate->what;
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

static struct batch *numbered(uint64_t id, uint64_t born_ns)
{
	char key[24];
	struct batch *b;

	snprintf(key, sizeof(key), "k:%llu", (unsigned long long)id);
	b = batch_restored(key, &(struct batch_origin){ "k", "h", "6.1" }, id, 0);
	if (b)
		b->born_ns = born_ns;
	return b;
}

static void push(uint64_t id)
{
	struct batch *b = numbered(id, 0);

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
	assert_int_equal(sinkq_next_ns(&t.q), SINKQ_NEVER); /* the queue waits for its answer */
	first = &t.q.first->batch->pub;
	assert_int_equal(done(t.last, SKEP_BATCH_ACK, t.now_ns), 0); /* 2 before 1 is fine */
	sinkq_pump(&t.q, t.now_ns);
	assert_int_equal(t.offered[2], 3);
	assert_int_equal(done(first, SKEP_BATCH_REJECT, t.now_ns), 0);
	assert_int_equal(t.fates[1][0], 1);
	assert_int_equal(t.fates[1][1], SKEP_LOSS_SINK);
	assert_int_equal(t.q.in_flight, 1);
}

static void answers_that_make_no_sense(void **state)
{
	struct skep_batch other = { .id = 1 };

	(void)state;
	push(1);
	assert_int_equal(done(&t.q.first->batch->pub, SKEP_BATCH_ACK, 0), -ENOENT); /* not offered yet */
	sinkq_pump(&t.q, t.now_ns);
	assert_int_equal(done(&other, SKEP_BATCH_ACK, 0), -ENOENT);
	assert_int_equal(done(t.last, SKEP_BATCH_ACK, 0), 0);
	assert_int_equal(t.n_fates, 1);
}

static void backs_off_without_end(void **state)
{
	uint64_t longest = 0, next;

	(void)state;
	push(1);
	push(2);
	for (int i = 0; i < 200; i++) {
		t.answer = i % 2 ? SKEP_BATCH_RETRY : -EIO; /* both answers mean the same */
		sinkq_pump(&t.q, t.now_ns);
		assert_int_equal(t.n_offered, i + 1);
		assert_int_equal(t.offered[i % 256], 1); /* no batch overtakes another */
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
	assert_int_equal(t.fates[0][0], 3); /* the sink owns 1 and 2 until it answers */
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

/* A batch of n records. */
static void push_records(uint64_t id, unsigned n)
{
	static const struct skep_field field = { .name = "n", .type = SKEP_T_U64, .semantics = SKEP_S_GAUGE };
	static const struct skep_stream stream = {
		.size = sizeof(stream),
		.field_size = sizeof(field),
		.name = "s",
		.record_size = sizeof(uint64_t),
		.n_fields = 1,
		.fields = &field,
	};
	struct batch *b = numbered(id, 0);

	assert_non_null(b);
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(batch_add(b, 0, &stream, NULL, i, &i, NULL), 0);
	assert_int_equal(sinkq_push(&t.q, b), 0);
	batch_unref(b);
}

static void too_large_goes_in_halves(void **state)
{
	static const char *const keys[] = { "k:1/1/0", "k:1/1/1" };
	const struct skep_batch *b;

	(void)state;
	push_records(1, 5);
	push(2);
	sinkq_pump(&t.q, t.now_ns);
	b = &t.q.first->batch->pub;
	assert_int_equal(done(b, SKEP_BATCH_SPLIT, t.now_ns), 0);
	assert_int_equal(t.q.n, 3);
	assert_int_equal(sinkq_oldest_id(&t.q), 1); /* not acknowledged before both halves are */
	t.n_offered = 0;
	sinkq_pump(&t.q, t.now_ns);
	assert_int_equal(t.n_offered, 1); /* 2 uses the other place in flight */
	assert_int_equal(t.last->n, 2);
	assert_int_equal(t.last->records[1]->time_ns, 1);
	assert_int_equal(done(t.last, SKEP_BATCH_ACK, t.now_ns), 0);
	sinkq_pump(&t.q, t.now_ns);
	assert_int_equal(t.last->n, 3);
	assert_int_equal(t.last->records[0]->time_ns, 2);
	assert_int_equal(done(t.last, SKEP_BATCH_SPLIT, t.now_ns), 0);
	t.answer = SKEP_BATCH_ACK;
	t.n_offered = 1;
	sinkq_pump(&t.q, t.now_ns);
	for (size_t i = 1; i <= 2; i++)
		assert_string_equal(t.keys[i], keys[i - 1]);
	assert_int_equal(sinkq_oldest_id(&t.q), 2);
}

static void one_record_that_is_too_large_is_refused(void **state)
{
	(void)state;
	push_records(1, 1);
	sinkq_pump(&t.q, t.now_ns);
	assert_int_equal(done(t.last, SKEP_BATCH_SPLIT, t.now_ns), 0);
	assert_int_equal(t.n_fates, 1);
	assert_int_equal(t.fates[0][1], SKEP_LOSS_SINK);
}

/* Advances the time to the next offer. */
static void next_offer(void)
{
	uint64_t next = sinkq_next_ns(&t.q);

	assert_int_not_equal(next, SINKQ_NEVER);
	if (next > t.now_ns)
		t.now_ns = next;
	sinkq_pump(&t.q, t.now_ns);
}

/* Answers for all batches in flight: the receiver fails with record 6 of batch 1, and accepts all others. */
static void answer_all(void)
{
	struct sinkq_item *item = t.q.first;

	while (item) {
		bool bad = false;

		if (!item->in_flight) {
			item = item->next;
			continue;
		}
		for (uint32_t i = 0; i < item->batch->pub.n; i++)
			bad = bad || (item->batch->pub.id == 1 && item->batch->pub.records[i]->time_ns == 6);
		assert_int_equal(done(&item->batch->pub, bad ? SKEP_BATCH_SUSPECT : SKEP_BATCH_ACK, t.now_ns), 0);
		item = t.q.first; /* the answer may free or divide that item */
	}
}

static void the_record_to_blame_is_found(void **state)
{
	unsigned offers = 0;
	uint64_t id = 2;
	size_t lost = 0;

	(void)state;
	push_records(1, 10);
	while (t.q.first && offers++ < 200) {
		if (t.q.n == 1 && t.q.first->batch->pub.id == 1)
			push(id++); /* keeps the queue filled, as in production */
		next_offer();
		answer_all();
	}
	assert_null(t.q.first);
	assert_in_range(offers, SINKQ_SUSPECTS + 1, 60);
	for (size_t i = 0; i < t.n_fates; i++)
		lost += t.fates[i][1] == SKEP_LOSS_SINK;
	assert_int_equal(lost, 1);
}

/* All batches fail: the receiver is the cause, and the queue gives up none. */
static void a_receiver_that_fails_with_all_loses_nothing(void **state)
{
	(void)state;
	push_records(1, 4);
	push_records(2, 4);
	t.answer = SKEP_BATCH_SUSPECT;
	for (int i = 0; i < 200; i++)
		next_offer();
	assert_int_equal(t.n_fates, 0);
	assert_int_equal(t.q.n, 2);
	t.answer = SKEP_BATCH_ACK;
	for (int i = 0; i < 40 && t.q.first; i++)
		next_offer();
	assert_int_equal(t.q.n, 0);
	for (size_t i = 0; i < t.n_fates; i++)
		assert_int_equal(t.fates[i][1], SINKQ_DELIVERED);
}

/* A record alone in its batch failed like all others: it is not to blame when the receiver is back. */
static void nor_does_one_that_is_back(void **state)
{
	(void)state;
	for (uint64_t id = 1; id <= 6; id++)
		push_records(id, 1);
	t.answer = SKEP_BATCH_SUSPECT;
	for (int i = 0; i < 200; i++)
		next_offer();
	assert_int_equal(t.q.n, 6);
	t.answer = SKEP_BATCH_ACK;
	for (int i = 0; i < 40 && t.q.first; i++)
		next_offer();
	assert_int_equal(t.n_fates, 6);
	for (size_t i = 0; i < t.n_fates; i++)
		assert_int_equal(t.fates[i][1], SINKQ_DELIVERED);
}

/* The receiver fails with the last record of each batch, and every batch has such a record. */
static void one_bad_record_in_each(void **state)
{
	unsigned offers = 0;
	size_t lost = 0;

	(void)state;
	for (uint64_t id = 1; id <= SINKQ_STUCK; id++)
		push_records(id, 4);
	while (t.q.first && offers++ < 3000) {
		struct sinkq_item *item = t.q.first;

		next_offer();
		while (item) {
			const struct skep_batch *b = &item->batch->pub;

			if (item->in_flight) {
				assert_int_equal(
					done(b,
					     b->records[b->n - 1]->time_ns == 3 ? SKEP_BATCH_SUSPECT : SKEP_BATCH_ACK,
					     t.now_ns),
					0);
				item = t.q.first; /* the answer may free or divide that item */
			} else {
				item = item->next;
			}
		}
		if (t.q.first && t.q.n < SINKQ_STUCK && sinkq_suspects(&t.q) == t.q.n)
			push_records(SINKQ_STUCK + 1, 3); /* keeps the queue filled, as in production */
	}
	assert_null(t.q.first);
	for (size_t i = 0; i < t.n_fates; i++)
		lost += t.fates[i][1] == SKEP_LOSS_SINK;
	assert_int_equal(lost, SINKQ_STUCK);
}

static void held_comes_back_slowly_and_at_once_when_mended(void **state)
{
	(void)state;
	push(1);
	t.answer = SKEP_BATCH_HOLD;
	for (int i = 0; i < 20; i++) {
		sinkq_pump(&t.q, t.now_ns);
		assert_true(t.q.held);
		assert_in_range(sinkq_next_ns(&t.q) - t.now_ns, 15 * SECOND, 30 * SECOND);
		t.now_ns = sinkq_next_ns(&t.q);
	}
	assert_int_equal(t.n_offered, 20);
	t.answer = SKEP_BATCH_ACK;
	sinkq_pump(&t.q, t.now_ns - 1);
	assert_int_equal(t.n_offered, 20);
	sinkq_kick(&t.q);
	sinkq_pump(&t.q, t.now_ns - 1);
	assert_int_equal(t.n_fates, 1);
	assert_false(t.q.held);
}

static void the_receivers_word_counts(void **state)
{
	struct skep_batch_answer answer = {
		.size = sizeof(answer), .result = SKEP_BATCH_RETRY, .retry_after_ns = 7 * SECOND, .why = "busy"
	};

	(void)state;
	push(1);
	sinkq_pump(&t.q, t.now_ns);
	assert_int_equal(sinkq_done(&t.q, t.last, &answer, t.now_ns), 0);
	assert_int_equal(sinkq_next_ns(&t.q), t.now_ns + 7 * SECOND);
	answer.retry_after_ns = 30 * 86400 * SECOND;
	t.now_ns += 7 * SECOND;
	sinkq_pump(&t.q, t.now_ns);
	assert_int_equal(sinkq_done(&t.q, t.last, &answer, t.now_ns), 0);
	assert_int_equal(sinkq_next_ns(&t.q), t.now_ns + 3600 * SECOND);
}

static void while_it_fails_one_is_offered(void **state)
{
	(void)state;
	for (uint64_t id = 1; id <= 4; id++)
		push(id);
	sinkq_pump(&t.q, t.now_ns);
	assert_int_equal(t.n_offered, 2);
	assert_int_equal(done(&t.q.first->batch->pub, SKEP_BATCH_RETRY, t.now_ns), 0);
	assert_int_equal(done(&t.q.first->next->batch->pub, SKEP_BATCH_RETRY, t.now_ns), 0);
	t.now_ns += 60 * SECOND;
	sinkq_pump(&t.q, t.now_ns);
	assert_int_equal(t.n_offered, 3);
	assert_int_equal(sinkq_next_ns(&t.q), SINKQ_NEVER);
	assert_int_equal(done(t.last, SKEP_BATCH_ACK, t.now_ns), 0);
	sinkq_pump(&t.q, t.now_ns);
	assert_int_equal(t.n_offered, 5); /* two in flight again */
}

/* Answers all batches in flight: batches of `put_off` are put off with that status, the others accepted. */
static void answer_in_flight(bool (*put_off)(const struct skep_batch *), const struct skep_batch_answer *later)
{
	struct sinkq_item *item = t.q.first;

	while (item) {
		const struct skep_batch *b = &item->batch->pub;

		if (!item->in_flight) {
			item = item->next;
			continue;
		}
		if (put_off(b))
			assert_int_equal(sinkq_done(&t.q, b, later, t.now_ns), 0);
		else
			assert_int_equal(done(b, SKEP_BATCH_ACK, t.now_ns), 0);
		item = t.q.first;
	}
}

static bool is_first(const struct skep_batch *b)
{
	return b->id == 1;
}

static bool is_any(const struct skep_batch *b)
{
	return b != NULL;
}

static bool holds_record_6(const struct skep_batch *b)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (b->id == 1 && b->records[i]->time_ns == 6)
			return true;
	return false;
}

static const struct skep_batch_answer put_off[] = {
	{ .size = sizeof(put_off[0]), .result = SKEP_BATCH_HOLD, .status = 403, .why = "no" },
	{ .size = sizeof(put_off[0]), .result = SKEP_BATCH_RETRY, .status = 409, .why = "conflict" },
	{ .size = sizeof(put_off[0]), .result = SKEP_BATCH_RETRY, .status = 502, .why = "gateway" },
	{ .size = sizeof(put_off[0]), .result = SKEP_BATCH_RETRY, .sent_bytes = 300, .why = "connection reset" },
};

/* A batch that is put off each time delays no other, and is not lost. */
static void one_that_is_put_off_each_time_is_passed(void **state)
{
	for (size_t i = 0; i < 4; i++)
		for (unsigned ordered = 0; ordered < 2; ordered++) {
			unsigned most = ordered ? SINKQ_DOUBTS_IN_ORDER : SINKQ_DOUBTS;

			set_up(state);
			t.q.any_order = !ordered;
			t.q.max_in_flight = 1;
			push_records(1, 1);
			for (uint64_t id = 2; id <= 20; id++)
				push_records(id, 1);
			for (unsigned n = 0; n < most; n++) {
				next_offer();
				answer_in_flight(is_first, &put_off[i]);
				assert_int_equal(t.n_fates, 0);
			}
			for (unsigned n = 0; n < 25 && t.q.n > 1; n++) {
				next_offer();
				answer_in_flight(is_first, &put_off[i]);
			}
			assert_int_equal(t.q.n, 1);
			assert_int_equal(t.n_fates, 19);
			for (unsigned n = 0; n < 15; n++) {
				push_records(21 + n, 1);
				next_offer();
				answer_in_flight(is_first, &put_off[i]);
			}
			assert_int_equal(t.q.first->batch->pub.id, 1);
			tear_down(state);
		}
	set_up(state);
}

/*
 * Of a batch that is put off each time the receiver gets the records that it accepts; the queue does not soon give up
 * the other record.
 */
static void the_record_that_is_put_off_is_alone(void **state)
{
	unsigned offers = 0;
	uint64_t id = 2;
	size_t lost = 0, from_1 = 0;

	(void)state;
	t.q.any_order = true;
	push_records(1, 10);
	while (t.q.first && offers++ < 3000) {
		if (t.q.n == 1 && (t.q.first->failed || t.q.first->doubts < SINKQ_DOUBTS))
			push(id++);
		next_offer();
		answer_in_flight(holds_record_6, &put_off[0]);
		if (t.q.n == 1 && t.q.first->batch->pub.n == 1 && !from_1) {
			for (size_t i = 0; i < t.n_fates; i++)
				from_1 += t.fates[i][0] == 1 && t.fates[i][1] == SINKQ_DELIVERED;
			assert_true(from_1 >= 2);
		}
	}
	assert_true(from_1 > 0);
	assert_null(t.q.first);
	assert_true(offers > 40);
	for (size_t i = 0; i < t.n_fates; i++)
		lost += t.fates[i][1] == SKEP_LOSS_SINK;
	assert_int_equal(lost, 1);
}

/* A receiver that puts all batches off gets one request per backoff, however many batches overtake each other. */
static void a_receiver_that_is_away_meets_one_request_at_a_time(void **state)
{
	uint64_t begin;

	(void)state;
	t.q.any_order = true;
	for (uint64_t id = 1; id <= 16; id++)
		push_records(id, 4);
	for (int i = 0; i < 200; i++) {
		next_offer();
		answer_in_flight(is_any, &put_off[0]);
	}
	begin = t.now_ns;
	for (int i = 0; i < 20; i++) {
		next_offer();
		answer_in_flight(is_any, &put_off[0]);
	}
	assert_true(t.now_ns - begin >= 19 * 15 * SECOND);
	assert_true(t.q.held);
	assert_int_equal(t.n_fates, 0);
	assert_int_equal(t.q.n, 16);
	t.answer = SKEP_BATCH_ACK;
	for (int i = 0; i < 100 && t.q.first; i++)
		next_offer();
	assert_null(t.q.first);
	for (size_t i = 0; i < t.n_fates; i++)
		assert_int_equal(t.fates[i][1], SINKQ_DELIVERED);
}

/* Neither load nor a wrong token is about one batch, and a delay that the receiver asks for counts for all batches. */
static void what_is_not_about_a_batch_lets_none_pass(void **state)
{
	static const struct skep_batch_answer later[] = {
		{ .size = sizeof(later[0]), .result = SKEP_BATCH_RETRY, .status = 429, .why = "busy" },
		{ .size = sizeof(later[0]), .result = SKEP_BATCH_RETRY, .status = 503, .why = "busy" },
		{ .size = sizeof(later[0]), .result = SKEP_BATCH_HOLD, .status = 401, .why = "token" },
		{ .size = sizeof(later[0]),
		  .result = SKEP_BATCH_RETRY,
		  .status = 502,
		  .retry_after_ns = SECOND,
		  .why = "later" },
		{ .size = sizeof(later[0]), .result = SKEP_BATCH_RETRY, .why = "connection refused" },
	};

	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
		set_up(state);
		t.q.any_order = true;
		t.q.max_in_flight = 1;
		push_records(1, 1);
		push_records(2, 1);
		for (unsigned n = 0; n < 3 * SINKQ_DOUBTS; n++) {
			next_offer();
			assert_int_equal(t.last->id, 1);
			answer_in_flight(is_any, &later[i]);
		}
		tear_down(state);
	}
	set_up(state);
}

/*
 * A receiver that refuses everything, or calls each record too large: the queue holds the sink, and the records stay.
 */
static void one_that_refuses_everything_is_held(void **state)
{
	static const enum skep_batch_result results[] = { SKEP_BATCH_REJECT, SKEP_BATCH_SPLIT };

	for (size_t i = 0; i < 2; i++) {
		size_t lost = 0;

		set_up(state);
		for (uint64_t id = 1; id <= 40; id++)
			push_records(id, 1);
		t.answer = results[i];
		for (int n = 0; n < 300; n++)
			next_offer();
		assert_int_equal(t.n_fates, SINKQ_REFUSALS - 1);
		assert_true(t.q.held);
		assert_non_null(strstr(t.q.why, "in a row: as told"));
		assert_true(sinkq_next_ns(&t.q) - t.now_ns >= 15 * SECOND);
		sinkq_kick(&t.q); /* a reload that repairs nothing drops nothing */
		next_offer();
		assert_int_equal(t.n_fates, SINKQ_REFUSALS - 1);
		t.answer = SKEP_BATCH_ACK;
		for (int n = 0; n < 300 && t.q.first; n++)
			next_offer();
		assert_null(t.q.first);
		for (size_t n = 0; n < t.n_fates; n++)
			lost += t.fates[n][1] == SKEP_LOSS_SINK;
		assert_int_equal(lost, SINKQ_REFUSALS - 1);
		tear_down(state);
	}
	set_up(state);
}

static bool is_below_30(const struct skep_batch *b)
{
	return b->id < 30;
}

/* Many bad batches in a row do not hold the sink for ever: the queue tries others, and the sink accepts them. */
static void bad_ones_in_a_row_do_not_hold_it_for_ever(void **state)
{
	static const struct skep_batch_answer never = { .size = sizeof(never),
							.result = SKEP_BATCH_REJECT,
							.why = "bad" };
	size_t lost = 0;

	(void)state;
	for (uint64_t id = 1; id <= 40; id++)
		push_records(id, 1);
	for (int n = 0; n < 300 && t.q.first; n++) {
		next_offer();
		answer_in_flight(is_below_30, &never);
	}
	assert_null(t.q.first);
	for (size_t n = 0; n < t.n_fates; n++)
		lost += t.fates[n][1] == SKEP_LOSS_SINK;
	assert_int_equal(lost, 29);
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
		TEST(too_large_goes_in_halves),
		TEST(one_record_that_is_too_large_is_refused),
		TEST(the_record_to_blame_is_found),
		TEST(a_receiver_that_fails_with_all_loses_nothing),
		TEST(nor_does_one_that_is_back),
		TEST(one_bad_record_in_each),
		TEST(held_comes_back_slowly_and_at_once_when_mended),
		TEST(the_receivers_word_counts),
		TEST(while_it_fails_one_is_offered),
		TEST(one_that_is_put_off_each_time_is_passed),
		TEST(the_record_that_is_put_off_is_alone),
		TEST(a_receiver_that_is_away_meets_one_request_at_a_time),
		TEST(what_is_not_about_a_batch_lets_none_pass),
		TEST(one_that_refuses_everything_is_held),
		TEST(bad_ones_in_a_row_do_not_hold_it_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
