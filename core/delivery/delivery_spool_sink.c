/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/delivery_spool_sink.c - each sink's offset in the spool, from its first start to its removal; its
 * dead letters; its lag.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/delivery/delivery_spool_priv.h"

/* ---- sinks begin, get a new name, are removed -------------------------------------- */

#define NOT_READ UINT64_MAX /* value of a cursor */

static void begin_work(struct spooler_job *job, struct spool_db *db, struct spool_code *code)
{
	struct sink_job *j = (struct sink_job *)job;

	(void)code;
	j->cursor = NOT_READ;
	j->err = db ? spool_sink_begin(db, j->name, j->behind, &j->cursor) : -EBADMSG;
	if (j->cursor == NOT_READ ? j->err == -EBADMSG : j->cursor > j->behind)
		/* Begin as a new sink. A cursor beyond the last batch belongs to a file that was replaced. */
		j->cursor = j->behind;
}

static void begin_done(struct spooler_job *job)
{
	struct sink_job *j = (struct sink_job *)job;
	struct delivery *o = j->out;
	struct delivery_sink *s = sink_job_sink(j);

	if (s)
		s->beginning = false;
	if (s && j->cursor == NOT_READ) {
		delivery_spool_unreadable(o, j->err); /* the spool keeps the sink's batches */
	} else if (s) {
		s->begun = true;
		s->placed = j->err == 0;
		s->cursor = s->taken_id = j->cursor;
		s->behind = true; /* until a load finds no further batch on disk */
	}
	sink_job_free(j);
	delivery_spool_done(o);
	o->wake(o->arg);
}

void delivery_spool_begin(struct delivery *o, struct delivery_sink *s)
{
	s->first_id = o->next_id;
	delivery_spool_begin_again(o, s);
}

void delivery_spool_begin_again(struct delivery *o, struct delivery_sink *s)
{
	struct sink_job *j = s->begun || s->beginning || o->spool->unread_until_ns
				     ? NULL
				     : sink_job_new(o, s, s->name, begin_work, begin_done);

	if (!j)
		return; /* until the sink begins, its batches stay in the spool */
	j->behind = s->first_id - 1;
	s->beginning = true;
	spooler_post(o->spool->spooler, &j->job);
}

static void rename_work(struct spooler_job *job, struct spool_db *db, struct spool_code *code)
{
	struct sink_job *j = (struct sink_job *)job;

	(void)code;
	if (db && spool_sink_move(db, j->name, j->cursor) == 0 && j->old)
		spool_sink_forget(db, j->old);
}

static void nothing_done(struct spooler_job *job)
{
	struct sink_job *j = (struct sink_job *)job;
	struct delivery *o = j->out;

	sink_job_free(j);
	delivery_spool_done(o);
}

void delivery_spool_rename(struct delivery *o, struct delivery_sink *s, const char *old)
{
	struct sink_job *j = strcmp(s->name, old) != 0 ? sink_job_new(o, s, s->name, rename_work, nothing_done) : NULL;

	if (!j)
		return;
	s->placed = false; /* nothing checks the result of this job: the next commit writes the offset again */
	j->old = strdup(old);
	j->cursor = delivery_spool_cursor(s);
	spooler_post(o->spool->spooler, &j->job);
}

static void forget_work(struct spooler_job *job, struct spool_db *db, struct spool_code *code)
{
	struct sink_job *j = (struct sink_job *)job;

	(void)code;
	if (!db)
		return;
	(void)spool_records(db, j->cursor, j->behind, &j->left); /* else they are not counted */
	(void)spool_sink_forget(db, j->name); /* else its row stays until the spool is full */
}

static void forget_done(struct spooler_job *job)
{
	struct sink_job *j = (struct sink_job *)job;
	struct delivery *o = j->out;

	o->gone_lost[SKEP_LOSS_SINK] += j->left;
	if (j->left)
		log_at(SKEP_LOG_WARNING, j->name,
		       "removed: %llu records of earlier starts that it had not acknowledged are lost there",
		       (unsigned long long)j->left);
	sink_job_free(j);
	delivery_spool_done(o);
}

void delivery_spool_gone(struct delivery *o, struct delivery_sink *s)
{
	struct sink_job *j = sink_job_new(o, s, s->name, forget_work, forget_done);

	for (int i = 0; i < o->n_streams; i++) {
		s->counts[i].lost[SKEP_LOSS_SINK] += s->counts[i].pending;
		s->counts[i].pending = 0;
	}
	if (!j)
		return;
	j->cursor = delivery_spool_cursor(s);
	j->behind = s->begun ? s->first_id - 1 : 0; /* its place is not known: nothing is counted */
	spooler_post(o->spool->spooler, &j->job);
}

uint64_t delivery_spool_cursor(const struct delivery_sink *s)
{
	uint64_t oldest = sinkq_oldest_id(&s->queue);

	return oldest <= s->taken_id ? oldest - 1 : s->taken_id;
}

/* ---- dead letters ----------------------------------------------------------------- */

static void dead_work(struct spooler_job *job, struct spool_db *db, struct spool_code *code)
{
	struct sink_job *j = (struct sink_job *)job;
	const void *body;
	size_t size;

	if (db && spool_encode(code, &j->batch->pub, &body, &size, NULL) == 0)
		spool_dead_add(db, j->batch->pub.id, j->name, j->status, j->old, j->batch->pub.n, body, size);
}

void delivery_spool_dead(struct delivery *o, const struct delivery_sink *s, const struct batch *b,
			 const struct sinkq_fate *fate)
{
	struct sink_job *j = o->spool->spooler ? sink_job_new(o, s, s->name, dead_work, nothing_done) : NULL;

	if (!j)
		return;
	j->old = strdup(fate->why);
	j->status = fate->status;
	j->batch = batch_ref((struct batch *)b);
	spooler_post(o->spool->spooler, &j->job);
}

/* ---- lag ---------------------------------------------------------------------------- */

struct lag_job {
	struct spooler_job job;
	struct delivery *out;
	size_t n;
	struct {
		char *name;
		struct spool_lag lag;
	} at[];
};

static void lag_work(struct spooler_job *job, struct spool_db *db, struct spool_code *code)
{
	struct lag_job *j = (struct lag_job *)job;

	(void)code;
	for (size_t i = 0; i < j->n && db; i++)
		if (j->at[i].name)
			spool_sink_lag(db, j->at[i].name, &j->at[i].lag);
}

static void lag_done(struct spooler_job *job)
{
	struct lag_job *j = (struct lag_job *)job;
	struct delivery *o = j->out;

	for (size_t i = 0; i < j->n; i++) {
		for (struct delivery_sink *s = o->sinks; s && j->at[i].name; s = s->next)
			if (strcmp(s->name, j->at[i].name) == 0)
				s->lag = j->at[i].lag;
		free(j->at[i].name);
	}
	free(j);
	delivery_spool_done(o);
}

void delivery_spool_ask_lags(struct delivery *o)
{
	struct lag_job *j;
	size_t n = 0;

	for (const struct delivery_sink *s = o->sinks; s; s = s->next)
		n++;
	j = calloc(1, sizeof(*j) + n * sizeof(j->at[0]));
	if (!j)
		return;
	j->job.work = lag_work;
	j->job.done = lag_done;
	j->out = o;
	for (const struct delivery_sink *s = o->sinks; s; s = s->next)
		j->at[j->n++].name = strdup(s->name);
	spooler_post(o->spool->spooler, &j->job);
}
