/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/sinkq.c - a sink's queue: offers, backoff, and the search for a record that the receiver fails with.
 */
#include "core/delivery/sinkq.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#define BACKOFF_FIRST_NS 100000000u   /* 0.1 s */
#define BACKOFF_MOST_NS 60000000000u  /* 60 s */
/* A held queue waits between half of this and all of it. When an operator mends the cause, a reload offers at once. */
#define HOLD_NS          30000000000u
#define AFTER_MOST_NS 3600000000000u  /* a receiver that answers "Retry-After: a week" gets an offer each hour */
/* A half of a batch to blame starts with this count, so it need not fail ten times again. */
#define SUSPECTS_OF_HALF (SINKQ_SUSPECTS - 2)
/*
 * The first ACK of another batch proves nothing about a single record: all batches may have failed, and the receiver
 * has only now come back.
 */
#define BLAMED_MOST 3
/*
 * An overloaded receiver answers 502 to many batches and accepts some, so blame for a doubtful batch needs more ACKs.
 */
#define BLAMED_OF_DOUBT 30

void sinkq_init(struct sinkq *q, uint32_t max_in_flight, int (*submit)(void *, const struct skep_batch *),
		void *submit_arg, void (*settled)(void *, const struct batch *, const struct sinkq_fate *),
		void *settled_arg)
{
	*q = (struct sinkq){
		.max_in_flight = max_in_flight ? max_in_flight : 1,
		.submit = submit,
		.submit_arg = submit_arg,
		.settled = settled,
		.settled_arg = settled_arg,
	};
	q->last = &q->first;
	if (getrandom(&q->random, sizeof(q->random), GRND_NONBLOCK) != (ssize_t)sizeof(q->random))
		q->random = (uint64_t)(uintptr_t)q;
}

int sinkq_push(struct sinkq *q, struct batch *b)
{
	struct sinkq_item *item = calloc(1, sizeof(*item));

	if (!item)
		return -ENOMEM;
	item->batch = batch_ref(b);
	*q->last = item;
	q->last = &item->next;
	q->n++;
	q->bytes += b->bytes;
	return 0;
}

static void take_out(struct sinkq *q, struct sinkq_item **at, const struct sinkq_fate *fate)
{
	struct sinkq_item *item = *at;

	*at = item->next;
	if (q->last == &item->next)
		q->last = at;
	q->n--;
	q->bytes -= item->batch->bytes;
	if (item->in_flight)
		q->in_flight--;
	q->settled(q->settled_arg, item->batch, fate);
	batch_unref(item->batch);
	free(item);
}

static struct sinkq_item **find(struct sinkq *q, const struct skep_batch *pub)
{
	for (struct sinkq_item **at = &q->first; *at; at = &(*at)->next)
		if (&(*at)->batch->pub == pub)
			return at;
	return NULL;
}

static void well(struct sinkq *q)
{
	q->failing = 0;
	q->held = false;
	q->quiet_ns = 0;
	q->why[0] = '\0';
}

static unsigned doubts_most(const struct sinkq *q)
{
	return q->any_order ? SINKQ_DOUBTS : SINKQ_DOUBTS_IN_ORDER;
}

/* Has the batch failed so often that it may be the cause? Others then pass it, and their answers show the cause. */
static bool is_passed(const struct sinkq *q, const struct sinkq_item *item)
{
	return item->suspects >= SINKQ_SUSPECTS || item->doubts >= doubts_most(q);
}

/*
 * Did the receiver put off this batch, rather than every batch?  Yes if the receiver got the batch: it answered, or the
 * connection broke after bytes were sent.  401 and 407 concern the token; 429, 503 and any Retry-After the load.
 */
static bool is_doubt(const struct skep_batch_answer *a)
{
	if (a->retry_after_ns || (a->result != SKEP_BATCH_RETRY && a->result != SKEP_BATCH_HOLD))
		return false;
	return a->status ? a->status != 401 && a->status != 407 && a->status != 429 && a->status != 503
			 : a->sent_bytes > 0;
}

static void lose(struct sinkq *q, struct sinkq_item **at, enum skep_loss where)
{
	const struct sinkq_fate fate = { .what = where };

	take_out(q, at, &fate);
}

/*
 * Full jitter: a random time in [0, ceiling].  So many hosts that lose one receiver at the same moment do not offer
 * again at the same moment.
 */
static uint64_t jitter(struct sinkq *q, unsigned attempts)
{
	uint64_t ceiling = BACKOFF_FIRST_NS;

	for (unsigned i = 0; i < attempts && ceiling < BACKOFF_MOST_NS; i++)
		ceiling *= 2;
	if (ceiling > BACKOFF_MOST_NS)
		ceiling = BACKOFF_MOST_NS;
	q->random = q->random * 6364136223846793005u + 1442695040888963407u;
	/* At least 1 ms: a sink that answers RETRY from inside submit() must not spin. */
	return 1000000 + (q->random >> 20) % ceiling;
}

static void back_off(struct sinkq *q, struct sinkq_item *item, const struct skep_batch_answer *answer, uint64_t now_ns)
{
	uint64_t wait = jitter(q, item->attempts), after = answer ? answer->retry_after_ns : 0;

	q->held = answer && answer->result == SKEP_BATCH_HOLD;
	if (q->held)
		wait = HOLD_NS / 2 + (q->random >> 20) % (HOLD_NS / 2);
	if (after > AFTER_MOST_NS)
		after = AFTER_MOST_NS;
	item->in_flight = false;
	item->failed = true;
	q->in_flight--;
	item->attempts++;
	item->retry_ns = now_ns + (after > wait ? after : wait);
	q->retries++;
	q->failing++;
	/*
	 * Batches that may pass each other have a backoff each. Without a common backoff, each of them would send its
	 * request to a receiver that is away.
	 */
	if (q->failing > 1 || after)
		q->quiet_ns = item->retry_ns;
	snprintf(q->why, sizeof(q->why), "%s", answer && answer->why ? answer->why : "");
}

/* Replaces the item by its two halves; false: it has a single record, or no memory. */
static bool halve(struct sinkq *q, struct sinkq_item *item, unsigned suspects, unsigned doubts)
{
	struct sinkq_item *second = item->batch->pub.n > 1 ? calloc(1, sizeof(*second)) : NULL;
	struct batch *halves[2] = { second ? batch_half(item->batch, 0) : NULL,
				    second ? batch_half(item->batch, 1) : NULL };

	if (!halves[0] || !halves[1]) {
		batch_unref(halves[0]);
		batch_unref(halves[1]);
		free(second);
		return false;
	}
	if (item->in_flight)
		q->in_flight--;
	q->n++;
	q->bytes += halves[0]->bytes + halves[1]->bytes - item->batch->bytes;
	batch_unref(item->batch);
	*second = (struct sinkq_item){
		.next = item->next, .batch = halves[1], .suspects = suspects, .doubts = doubts
	};
	*item = (struct sinkq_item){ .next = second, .batch = halves[0], .suspects = suspects, .doubts = doubts };
	if (q->last == &item->next)
		q->last = &second->next;
	return true;
}

/*
 * For an item of a single record, after an ACK of another batch.  True when this has happened often enough and the
 * record failed before each ACK.
 */
static bool is_to_blame(struct sinkq_item *item)
{
	bool suspect = item->suspects >= SINKQ_SUSPECTS;

	item->blamed += item->failed;
	item->failed = false;
	if (item->blamed >= (suspect ? BLAMED_MOST : BLAMED_OF_DOUBT))
		return true;
	if (suspect) {
		item->suspects = SUSPECTS_OF_HALF;
		item->attempts = 0;
		item->retry_ns = 0;
	}
	return false;
}

/* After an ACK: batches that failed so often are to blame, not the receiver. Halves them, drops a single record. */
static void split_suspects(struct sinkq *q)
{
	static const struct sinkq_fate fate = {
		.what = SKEP_LOSS_SINK,
		.why = "the receiver fails each time that it gets this record, and accepts others",
	};

	for (struct sinkq_item **at = &q->first; *at;) {
		struct sinkq_item *item = *at;
		unsigned doubts = item->doubts >= doubts_most(q) ? doubts_most(q) - 2 : item->doubts;
		unsigned suspects = item->suspects >= SINKQ_SUSPECTS ? SUSPECTS_OF_HALF : item->suspects;

		if (is_passed(q, item) && !item->in_flight && !halve(q, item, suspects, doubts) &&
		    item->batch->pub.n <= 1 && is_to_blame(item))
			take_out(q, at, &fate);
		else
			at = &item->next;
	}
}

/*
 * When every queued batch is a suspect, no new batch is loaded, and no ACK can name the culprit: each batch may hold a
 * record that the receiver fails with.  Halves the first batch: an ACK of one half proves the others to blame.
 */
static void try_a_part(struct sinkq *q)
{
	if (!q->first || q->n < SINKQ_STUCK || q->in_flight > 0)
		return;
	for (const struct sinkq_item *item = q->first; item; item = item->next)
		if (item->suspects < SINKQ_SUSPECTS)
			return;
	halve(q, q->first, SUSPECTS_OF_HALF, q->first->doubts);
}

static size_t most_in_flight(const struct sinkq *q)
{
	return q->failing ? 1 : q->max_in_flight;
}

/* Returns the next batch to offer; while the sink fails, the due batch with the fewest attempts. */
static struct sinkq_item *pick(const struct sinkq *q, uint64_t now_ns)
{
	struct sinkq_item *found = NULL;

	if (now_ns < q->quiet_ns)
		return NULL;
	for (struct sinkq_item *item = q->first; item; item = item->next) {
		/*
		 * In order: no batch overtakes a waiting batch. The exception is a waiting batch that may be the cause:
		 * the answer to the next batch shows whether it is.
		 */
		if (item->in_flight || (item->retry_ns > now_ns && is_passed(q, item)))
			continue;
		if (item->retry_ns > now_ns)
			break;
		if (!found || (q->failing && item->attempts < found->attempts))
			found = item;
		if (!q->failing || !is_passed(q, item))
			break;
	}
	return found;
}

void sinkq_pump(struct sinkq *q, uint64_t now_ns)
{
	struct sinkq_item *item;

	if (q->pumping || q->paused) /* pumping: called from inside submit(), and the loop below continues anyway */
		return;
	q->pumping = true;
	q->now_ns = now_ns;
	/* submit() may have removed any item, so pick() starts at the head each time; few items are in flight */
	while (q->in_flight < most_in_flight(q) && (item = pick(q, now_ns)) != NULL) {
		const struct skep_batch *pub = &item->batch->pub;
		struct sinkq_item **at;

		item->in_flight = true;
		q->in_flight++;
		if (q->submit(q->submit_arg, pub) < 0) {
			at = find(q, pub); /* the sink may also have answered, and the item may be freed */
			if (at && (*at)->in_flight)
				back_off(q, *at, NULL, now_ns);
		}
	}
	q->pumping = false;
}

uint64_t sinkq_next_ns(const struct sinkq *q)
{
	uint64_t next = SINKQ_NEVER;

	if (q->paused || q->in_flight >= most_in_flight(q))
		return SINKQ_NEVER;
	for (const struct sinkq_item *item = q->first; item; item = item->next) {
		if (item->in_flight)
			continue;
		if (item->retry_ns < next)
			next = item->retry_ns;
		if (!is_passed(q, item))
			break;
	}
	return next < q->quiet_ns ? q->quiet_ns : next;
}

bool sinkq_refused(const struct sinkq *q)
{
	return q->refusals >= SINKQ_REFUSALS;
}

/*
 * The receiver refuses a batch for ever.  A receiver that refuses everything is misconfigured, or it is the wrong
 * server: the queue is held, and offers a different batch each time.
 */
static void refuse(struct sinkq *q, struct sinkq_item **at, const struct skep_batch_answer *answer, uint64_t now_ns)
{
	const struct sinkq_fate fate = {
		.what = SKEP_LOSS_SINK,
		.status = answer->status,
		.why = answer->why ? answer->why : "no reason was given",
	};
	struct skep_batch_answer hold = { .result = SKEP_BATCH_HOLD, .status = answer->status };
	char why[sizeof(q->why)];

	if (++q->refusals < SINKQ_REFUSALS) {
		take_out(q, at, &fate);
		well(q);
		return;
	}
	snprintf(why, sizeof(why), "the receiver refused %u batches in a row: %s", q->refusals, fate.why);
	hold.why = why;
	(*at)->doubts = SINKQ_DOUBTS_IN_ORDER;
	back_off(q, *at, &hold, now_ns);
}

int sinkq_done(struct sinkq *q, const struct skep_batch *pub, const struct skep_batch_answer *answer, uint64_t now_ns)
{
	struct sinkq_item **at = find(q, pub);
	struct sinkq_fate fate = { .what = SINKQ_DELIVERED, .status = answer->status, .why = answer->why };

	if (!at || !(*at)->in_flight)
		return -ENOENT;
	q->sent_bytes += answer->sent_bytes;
	switch (answer->result) {
	case SKEP_BATCH_ACK:
		fate.rejected = answer->rejected < pub->n ? answer->rejected : pub->n;
		take_out(q, at, &fate);
		well(q);
		q->refusals = 0;
		split_suspects(q);
		break;
	case SKEP_BATCH_REJECT:
		refuse(q, at, answer, now_ns);
		break;
	case SKEP_BATCH_SPLIT:
		if (halve(q, *at, (*at)->suspects, (*at)->doubts))
			break;
		if (pub->n > 1) /* no memory */
			back_off(q, *at, answer, now_ns);
		else
			refuse(q, at, answer, now_ns);
		break;
	case SKEP_BATCH_SUSPECT:
		(*at)->suspects++;
		back_off(q, *at, answer, now_ns);
		try_a_part(q);
		break;
	default:
		(*at)->doubts += is_doubt(answer);
		back_off(q, *at, answer, now_ns);
	}
	return 0;
}

bool sinkq_drop_oldest(struct sinkq *q)
{
	for (struct sinkq_item **at = &q->first; *at; at = &(*at)->next)
		if (!(*at)->in_flight) {
			lose(q, at, SKEP_LOSS_QUEUE);
			return true;
		}
	return false;
}

void sinkq_drop_before(struct sinkq *q, uint64_t born_ns)
{
	for (struct sinkq_item **at = &q->first; *at;)
		if (!(*at)->in_flight && (*at)->batch->born_ns < born_ns)
			lose(q, at, SKEP_LOSS_SPOOL);
		else
			at = &(*at)->next;
}

void sinkq_kick(struct sinkq *q)
{
	for (struct sinkq_item *item = q->first; item; item = item->next)
		item->retry_ns = 0;
	well(q);
}

void sinkq_pause(struct sinkq *q, bool paused)
{
	q->paused = paused;
}

void sinkq_reclaim(struct sinkq *q)
{
	for (struct sinkq_item *item = q->first; item; item = item->next) {
		item->in_flight = false;
		item->retry_ns = 0;
	}
	q->in_flight = 0;
	well(q);
}

void sinkq_abandon(struct sinkq *q)
{
	while (q->first)
		lose(q, &q->first, SKEP_LOSS_SINK);
}

size_t sinkq_suspects(const struct sinkq *q)
{
	size_t n = 0;

	for (const struct sinkq_item *item = q->first; item; item = item->next)
		n += is_passed(q, item);
	return n;
}

uint64_t sinkq_oldest_id(const struct sinkq *q)
{
	return q->first ? q->first->batch->pub.id : UINT64_MAX;
}
