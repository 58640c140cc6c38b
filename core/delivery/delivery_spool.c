/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/delivery_spool.c - the durable store between batches and sinks.
 *
 * A closed batch waits for the next commit.  The commit stores the batch, each sink's offset and the collector's state
 * of live processes in one transaction.  Then the sinks get the batch from memory.  A sink whose queue is full is
 * behind: skepd reads its batches back from the disk later, a few at a time.  So memory does not grow with the lag.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/delivery/delivery_spool_priv.h"

/* Of batches in one sink's queue; further batches stay on disk. */
#define RESIDENT_BYTES (8u << 20)
#define EXPIRE_COMMITS 64u  /* after each this many commits skepd looks for batches that are too old */
#define LAG_NS 5000000000u  /* delivery_spool_tick reads the lags again after this time */

bool delivery_spooled(const struct delivery *o)
{
	return o->spool != NULL;
}

/* ---- begun ----------------------------------------------------------------------- */

int delivery_spool(struct delivery *o, struct spooler *spooler, const struct delivery_spool_env *env)
{
	struct delivery_spool *sp = calloc(1, sizeof(*sp));
	int err;

	if (!sp)
		return -ENOMEM;
	sp->spooler = spooler;
	sp->env = *env;
	sp->last_waiting = &sp->waiting;
	sp->committed_id = spool_last_id(spooler_db(spooler));
	sp->first_id = sp->committed_id + 1;
	sp->offset_ns = clock_realtime_offset_ns();
	sp->streams = commit_streams_new();
	err = sp->streams ? spooler_start(spooler) : -ENOMEM;
	if (err < 0) {
		commit_streams_free(sp->streams);
		free(sp);
		return err;
	}
	o->next_id = sp->committed_id + 1;
	o->spool = sp;
	return 0;
}

void delivery_spool_free(struct delivery *o)
{
	struct delivery_spool *sp = o->spool;

	if (!sp)
		return;
	commit_batches_free(sp->waiting);
	commit_streams_free(sp->streams);
	free(sp);
	o->spool = NULL;
}

/* ---- offered ------------------------------------------------------------------------ */

/* Pushes the batches to each sink that keeps up. A sink that is behind reads them from the disk later. */
static void offer_all(struct delivery *o, struct commit_batch *list, bool durable)
{
	for (struct commit_batch *c = list; c; c = c->next) {
		struct batch *b = c->batch;

		for (struct delivery_sink *s = o->sinks; s; s = s->next) {
			if (b->pub.id < s->first_id || b->pub.id > s->last_id)
				continue;
			if (c->refused) {
				delivery_count_lost(s, b, SKEP_LOSS_SPOOL);
				continue;
			}
			if (durable && (!s->begun || s->behind))
				continue;
			if (!s->begun || s->behind || (!durable && s->queue.bytes > DELIVERY_MAX_BYTES / 4)) {
				/* the batch is not on disk, and in memory it would overtake older batches on disk */
				delivery_count_lost(s, b, SKEP_LOSS_SPOOL);
				continue;
			}
			if (durable && s->queue.n > 0 && s->queue.bytes + b->bytes > RESIDENT_BYTES) {
				s->behind = true;
				continue;
			}
			s->taken_id = b->pub.id;
			delivery_offer(s, b);
		}
		o->spool->committed_id = b->pub.id;
	}
}

/* ---- batches that no sink needs ----------------------------------------------------- */

static void drop_step(struct delivery *o);

static void drop_done(struct spooler_job *job)
{
	struct commit_drop *d = (struct commit_drop *)job;
	struct delivery *o = d->out;
	struct delivery_spool *sp = o->spool;

	sp->dropping = false;
	delivery_spool_see_replaced(o, d->replaced);
	delivery_spool_see_gone(o, d->gone);
	if (d->err == 0 && !d->more) {
		sp->trimmed = d->trim;
		if (sp->expire_ns == d->expire_ns)
			sp->expire_ns = 0;
	}
	if (d->err == 0 && !sp->ending) /* after an error the next commit tries again */
		drop_step(o);
	commit_gone_free(d->gone);
	free(d);
	delivery_spool_done(o);
	o->wake(o->arg);
}

/* Posts the next step, if batches are left and no step is under way. */
static void drop_step(struct delivery *o)
{
	struct delivery_spool *sp = o->spool;
	struct commit_drop *d =
		sp->dropping || (sp->trim <= sp->trimmed && !sp->expire_ns) ? NULL : calloc(1, sizeof(*d));

	if (!d)
		return; /* without memory: after the next commit */
	d->job.work = commit_drop_work;
	d->job.done = drop_done;
	d->out = o;
	d->spooler = sp->spooler;
	d->trim = sp->trim;
	d->expire_ns = sp->expire_ns;
	d->aged_upto = delivery_spool_aged_upto(o);
	sp->dropping = true;
	spooler_post(sp->spooler, &d->job);
}

/* ---- commits ------------------------------------------------------------------------ */

static void commit(struct delivery *o);

static void commit_done(struct spooler_job *job)
{
	struct delivery_commit *c = (struct delivery_commit *)job;
	struct delivery *o = c->out;
	struct delivery_spool *sp = o->spool;
	bool durable = c->err == 0, replaced = c->replaced != sp->state.replaced;

	sp->committing = false;
	delivery_spool_see_replaced(o, c->replaced);
	sp->under_way = NULL;
	if (durable) {
		for (size_t i = 0; i < c->n_cursors; i++)
			for (struct delivery_sink *s = o->sinks; s; s = s->next)
				if (strcmp(s->name, c->cursors[i].name) == 0 &&
				    s->cursor <= c->cursors[i].id) {
					s->cursor = c->cursors[i].id;
					s->placed = !replaced; /* the new file may lack the offset: write it again */
				}
		if (sp->down_until_ns)
			log_notice("the spool is writable again");
		sp->down_until_ns = 0;
		sp->state.down = false;
		sp->state.commits++;
	} else {
		if (!sp->state.down)
			log_error(
				"cannot write to the spool: %s; sinks get new records from memory, and a record that "
				"a sink cannot accept at once is lost",
				c->why);
		snprintf(sp->state.why, sizeof(sp->state.why), "%s", c->why);
		sp->state.down = true;
		sp->state.errors++;
		sp->down_until_ns = clock_boot_ns() + SPOOL_DOWN_NS;
	}
	offer_all(o, c->batches, durable);
	delivery_spool_see_gone(o, c->gone); /* after offer_all: a sink may have a dropped batch from memory */
	if (sp->env.committed)
		sp->env.committed(sp->env.arg, c->number, durable);
	if (durable) { /* the offsets are stored: batches up to the oldest one can go */
		if (c->trim > sp->trim)
			sp->trim = c->trim;
		if (sp->env.max_age_ns && c->number % EXPIRE_COMMITS == 1)
			sp->expire_ns = (int64_t)(clock_boot_ns() + (uint64_t)clock_realtime_offset_ns() -
						  sp->env.max_age_ns);
		drop_step(o);
	}
	commit_free(c);
	if (sp->last) {
		sp->last = false;
		commit(o);
	}
	delivery_spool_done(o);
	o->wake(o->arg);
}

/* Does the spool's file have another offset of the sink than the present one, or none? */
static bool cursor_moved(const struct delivery_sink *s)
{
	return s->begun && !(s->placed && delivery_spool_cursor(s) == s->cursor);
}

/* Adds the offset of each sink whose stored offset differs, and the id up to which every sink has acknowledged all. */
static int add_cursors(struct delivery *o, struct delivery_commit *c)
{
	size_t n = 0;

	c->trim = UINT64_MAX;
	for (const struct delivery_sink *s = o->sinks; s; s = s->next)
		n++;
	c->cursors = calloc(n ? n : 1, sizeof(*c->cursors));
	if (!c->cursors)
		return -ENOMEM;
	for (struct delivery_sink *s = o->sinks; s; s = s->next) {
		uint64_t at = s->begun ? delivery_spool_cursor(s) : 0;

		if (at < c->trim)
			c->trim = at;
		if (!cursor_moved(s))
			continue;
		c->cursors[c->n_cursors].name = strdup(s->name);
		if (!c->cursors[c->n_cursors].name)
			return -ENOMEM;
		c->cursors[c->n_cursors++].id = at;
	}
	if (c->trim == UINT64_MAX)
		c->trim = 0;
	return 0;
}

static void commit(struct delivery *o)
{
	struct delivery_spool *sp = o->spool;
	struct delivery_commit *c = calloc(1, sizeof(*c));

	sp->soon = false;
	sp->waiting_since_ns = 0;
	if (!c)
		return; /* the next commit writes the batches */
	c->job.work = commit_work;
	c->job.done = commit_done;
	c->out = o;
	c->spooler = sp->spooler;
	c->number = ++sp->number;
	c->replaced = sp->state.replaced;
	c->err = add_cursors(o, c);
	if (sp->env.prepare)
		sp->env.prepare(sp->env.arg);
	/* Close the open batches directly before `collect`: its state then matches the records in the batches. */
	delivery_close_all(o);
	if (c->err == 0 && sp->env.collect)
		sp->env.collect(sp->env.arg, c);
	c->batches = sp->waiting;
	sp->waiting = NULL;
	sp->last_waiting = &sp->waiting;
	sp->n_waiting = 0;
	sp->waiting_bytes = 0;
	sp->waiting_since_ns = 0;
	sp->soon = false;
	sp->committing = true;
	sp->under_way = c;
	if (c->err < 0) {
		snprintf(c->why, sizeof(c->why), "no memory");
		commit_done(&c->job);
		return;
	}
	spooler_post(sp->spooler, &c->job);
}

/* Over the bound, drops the oldest waiting batches: the disk is too slow. */
static void keep_waiting_bound(struct delivery *o)
{
	struct delivery_spool *sp = o->spool;

	while (sp->waiting_bytes > WAITING_BYTES && sp->waiting) {
		struct commit_batch *c = sp->waiting;

		for (struct delivery_sink *s = o->sinks; s; s = s->next)
			if (c->batch->pub.id >= s->first_id && c->batch->pub.id <= s->last_id)
				delivery_count_lost(s, c->batch, SKEP_LOSS_SPOOL);
		sp->waiting = c->next;
		if (!sp->waiting)
			sp->last_waiting = &sp->waiting;
		sp->waiting_bytes -= c->batch->bytes;
		sp->n_waiting--;
		c->next = NULL;
		commit_batches_free(c);
	}
}

static bool any_moved(const struct delivery *o)
{
	for (const struct delivery_sink *s = o->sinks; s; s = s->next)
		if (cursor_moved(s))
			return true;
	return false;
}

void delivery_spool_tick(struct delivery *o, uint64_t now_ns)
{
	struct delivery_spool *sp = o->spool;

	if (sp->ending)
		return;
	keep_waiting_bound(o);
	if (!sp->waiting_since_ns && any_moved(o))
		sp->waiting_since_ns = now_ns;
	if (!sp->committing && (sp->soon || (sp->waiting_since_ns && now_ns >= sp->waiting_since_ns + o->age_ns)))
		commit(o);
	if (now_ns >= sp->lag_ns + LAG_NS) {
		sp->lag_ns = now_ns;
		delivery_spool_ask_lags(o);
	}
	if (sp->down_until_ns && now_ns >= sp->down_until_ns) {
		sp->down_until_ns = 0;
		delivery_commit_soon(o);
	}
	if (now_ns >= sp->unread_until_ns)
		sp->unread_until_ns = 0;
	for (struct delivery_sink *s = o->sinks; s; s = s->next) {
		delivery_spool_begin_again(o, s);
		delivery_spool_load(o, s);
	}
}

uint64_t delivery_spool_next_ns(const struct delivery *o)
{
	const struct delivery_spool *sp = o->spool;
	uint64_t next = UINT64_MAX;

	if (sp->ending)
		return UINT64_MAX;
	for (const struct delivery_sink *s = o->sinks; s; s = s->next)
		if (delivery_spool_loads(o, s))
			return 0;
	if (sp->down_until_ns)
		next = sp->down_until_ns;
	if (sp->unread_until_ns && sp->unread_until_ns < next)
		next = sp->unread_until_ns;
	if (!sp->committing && sp->soon)
		return 0;
	if (!sp->committing && sp->waiting_since_ns && sp->waiting_since_ns + o->age_ns < next)
		next = sp->waiting_since_ns + o->age_ns;
	if (!sp->waiting_since_ns && any_moved(o))
		return 0; /* the next tick sets waiting_since_ns */
	return next;
}

/* ---- the end ------------------------------------------------------------------------- */

void delivery_spool_end(struct delivery *o, void (*done)(void *arg), void *arg)
{
	struct delivery_spool *sp = o->spool;

	if (!sp || !sp->spooler) {
		done(arg);
		return;
	}
	sp->ended = done;
	sp->ended_arg = arg;
	sp->ending = true;
	if (!sp->committing)
		commit(o);
	else
		sp->last = true;
	for (struct delivery_sink *s = o->sinks; s; s = s->next)
		s->keeping = s->begun;
	delivery_spool_done(o);
}

bool delivery_spool_give_up(struct delivery *o)
{
	struct delivery_spool *sp = o->spool;

	if (!sp || !sp->ended)
		return false;
	sp->ended = NULL;
	return true;
}

void delivery_spool_state(const struct delivery *o, struct delivery_spool_state *ret)
{
	*ret = (struct delivery_spool_state){ 0 };
	if (!o->spool)
		return;
	*ret = o->spool->state;
	ret->waiting_batches = o->spool->n_waiting;
	ret->waiting_bytes = o->spool->waiting_bytes;
}
