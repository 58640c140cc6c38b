/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/delivery_spool_load.c - reads the batches that a sink still needs back from the disk, a few at a
 * time, and counts the records of batches that the disk has lost.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/delivery/delivery_spool_priv.h"

/* Bound of the queue while the receiver refuses everything: it may refuse old batches and accept new ones. */
#define REFUSED_BATCHES 64u
#define LOADED_BATCHES \
	4u /* batches read ahead; one more for each suspect: an ACK of another batch blames a suspect */

static void load_work(struct spooler_job *job, struct spool_db *db, struct spool_code *code)
{
	struct sink_job *j = (struct sink_job *)job;

	/* Without a file no batch is left to load. */
	j->err = db ? commit_load(db, code, j->out->spool->streams, &j->ask, &j->batch, &j->gone, &j->expired) : 0;
	if (j->err == -EBADMSG)
		spooler_replace(j->out->spool->spooler);
	j->replaced = spooler_replaced(j->out->spool->spooler);
}

static void count_batch(uint64_t *here, const struct batch *b)
{
	for (uint32_t i = 0; b && i < b->pub.n; i++)
		here[b->streams[i]]++;
}

/*
 * Counts the sink's records that the disk has lost: records counted as pending that are neither in its queue nor on the
 * way to the disk.
 */
static void lost_on_disk(struct delivery *o, struct delivery_sink *s)
{
	uint64_t *here = calloc((size_t)o->n_streams + 1, sizeof(*here));

	if (!here)
		return;
	for (const struct commit_batch *b = o->spool->waiting; b; b = b->next)
		count_batch(here, b->batch);
	for (const struct commit_batch *b = o->spool->under_way ? o->spool->under_way->batches : NULL; b; b = b->next)
		count_batch(here, b->batch);
	count_batch(here, o->open[0]);
	count_batch(here, o->open[1]);
	for (const struct sinkq_item *item = s->queue.first; item; item = item->next)
		count_batch(here, item->batch);
	for (int i = 0; i < o->n_streams; i++) {
		struct delivery_count *c = &s->counts[i];

		if (c->pending > here[i]) {
			c->lost[SKEP_LOSS_SPOOL] += c->pending - here[i];
			c->pending = here[i];
		}
	}
	free(here);
}

void delivery_spool_see_replaced(struct delivery *o, unsigned replaced)
{
	if (replaced == o->spool->state.replaced)
		return;
	o->spool->state.replaced = replaced;
	for (struct delivery_sink *s = o->sinks; s; s = s->next) {
		s->placed = false;
		if (s->behind)
			lost_on_disk(o, s);
	}
}

struct gone_at {
	struct delivery *out;
	struct delivery_sink *sink;
	bool counted;
};

static void gone_stream(void *arg, const char *stream, uint64_t n)
{
	struct gone_at *at = arg;

	for (int i = 0; i < at->out->n_streams; i++) {
		struct delivery_count *c = &at->sink->counts[i];

		if (strcmp(at->out->streams[i]->name, stream) != 0)
			continue;
		if (!at->counted)
			c->seen += n;
		else
			c->pending -= c->pending < n ? c->pending : n;
		c->lost[SKEP_LOSS_SPOOL] += n;
		return;
	}
}

/* Counts batches that the disk no longer holds as lost to each sink that has not got them. */
void delivery_spool_see_gone(struct delivery *o, const struct commit_gone *list)
{
	uint64_t n = 0;

	for (const struct commit_gone *g = list; g; g = g->next)
		for (struct delivery_sink *s = o->sinks; s; s = s->next) {
			struct gone_at at = { o, s, g->id >= s->first_id };

			if (!s->begun || g->id <= s->taken_id)
				continue;
			commit_gone_counts(g, gone_stream, &at);
			n += g->n;
		}
	if (n > 0)
		log_because(SKEP_LOG_WARNING, "spool", "room",
			    "the spool is full: %llu records are lost to sinks that had not acknowledged "
			    "them", (unsigned long long)n);
}

/* Sets the stream number of each record. The stream of a plugin that no longer runs gets a new number. 0 or -errno. */
static int number_streams(struct delivery *o, struct batch *b)
{
	for (uint32_t i = 0; i < b->pub.n; i++) {
		const struct skep_stream *s = b->records[i]->stream;
		int number = i > 0 && b->records[i - 1]->stream == s ? b->streams[i - 1] : delivery_stream_add(o, s);

		if (number < 0)
			return number;
		b->streams[i] = (uint16_t)number;
	}
	return 0;
}

/* Counts batches older than the sink's max_age as lost, and passes over them. */
static void see_expired(struct delivery *o, struct delivery_sink *s, const struct commit_gone *list)
{
	uint64_t n = 0;

	for (const struct commit_gone *g = list; g; g = g->next) {
		struct gone_at at = { o, s, g->id >= s->first_id };

		commit_gone_counts(g, gone_stream, &at);
		n += g->n;
		if (g->id > s->taken_id)
			s->taken_id = g->id;
	}
	if (n > 0)
		log_because(SKEP_LOG_WARNING, s->name, "max_age",
			    "%llu records are older than max_age; dropped", (unsigned long long)n);
}

static void take(struct delivery *o, struct delivery_sink *s, struct batch *b)
{
	if (b->pub.id < s->first_id)
		for (uint32_t i = 0; i < b->pub.n; i++) {
			s->counts[b->streams[i]].seen++;
			s->counts[b->streams[i]].pending++;
		}
	s->taken_id = b->pub.id;
	batch_account(b, &o->bytes);
	delivery_offer(s, b);
}

static void load_done(struct spooler_job *job)
{
	struct sink_job *j = (struct sink_job *)job;
	struct delivery *o = j->out;
	struct delivery_sink *s = sink_job_sink(j);

	delivery_spool_see_replaced(o, j->replaced);
	delivery_spool_see_gone(o, j->gone);
	if (s) {
		int err = j->err;

		s->loading = false;
		see_expired(o, s, j->expired);
		if (j->batch && err == 0)
			err = number_streams(o, j->batch);
		if (j->batch && err == 0) {
			take(o, s, j->batch);
		} else if (err == 0 || err == -EBADMSG) {
			/* Jobs run in order: this read saw every commit up to committed_id. The disk has no more. */
			s->behind = j->ask.more;
			if (!j->ask.more && o->spool->committed_id > s->taken_id)
				s->taken_id = o->spool->committed_id;
		} else {
			delivery_spool_unreadable(o, err);
		}
	}
	sink_job_free(j);
	delivery_spool_done(o);
	o->wake(o->arg);
}

bool delivery_spool_loads(const struct delivery *o, const struct delivery_sink *s)
{
	size_t n = s->queue.n, most = sinkq_refused(&s->queue) ? REFUSED_BATCHES : SINKQ_STUCK;

	return s->begun && s->behind && !s->loading && n < most && n < LOADED_BATCHES + sinkq_suspects(&s->queue) &&
	       !o->spool->ending && !o->spool->unread_until_ns;
}

void delivery_spool_load(struct delivery *o, struct delivery_sink *s)
{
	struct sink_job *j = delivery_spool_loads(o, s) ? sink_job_new(o, s, s->name, load_work, load_done) : NULL;

	if (!j)
		return;
	j->ask.after = s->taken_id;
	j->ask.upto = s->last_id;
	j->ask.aged_upto = delivery_spool_aged_upto(o);
	if (s->terms.max_age_ns)
		j->ask.before_ns = clock_realtime_offset_ns() + (int64_t)(clock_boot_ns() - s->terms.max_age_ns);
	s->loading = true;
	spooler_post(o->spool->spooler, &j->job);
}
