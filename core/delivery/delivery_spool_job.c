/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/delivery_spool_job.c - a sink's jobs for the spool's thread, and what the `done` functions of all
 * jobs share.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/delivery/delivery_spool_priv.h"

#define JUMP_NS 60000000000 /* a larger change: the clock was set, not only slewed */

void sink_job_free(struct sink_job *j)
{
	commit_gone_free(j->gone);
	commit_gone_free(j->expired);
	batch_unref(j->batch);
	free(j->name);
	free(j->old);
	free(j);
}

struct sink_job *sink_job_new(struct delivery *o, const struct delivery_sink *s, const char *name,
			      void (*work)(struct spooler_job *, struct spool_db *, struct spool_code *),
			      void (*done)(struct spooler_job *))
{
	struct sink_job *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->job.work = work;
	j->job.done = done;
	j->out = o;
	j->sink = s->serial;
	j->name = strdup(name);
	if (!j->name) {
		free(j);
		return NULL;
	}
	return j;
}

struct delivery_sink *sink_job_sink(const struct sink_job *j)
{
	for (struct delivery_sink *s = j->out->sinks; s; s = s->next)
		if (s->serial == j->sink)
			return s;
	return NULL;
}

void delivery_spool_done(struct delivery *o)
{
	struct delivery_spool *sp = o->spool;
	void (*ended)(void *) = sp->ended;

	if (!ended || sp->committing || spooler_under_way(sp->spooler) > 0)
		return;
	sp->ended = NULL;
	spooler_close(sp->spooler, ended, sp->ended_arg);
	sp->spooler = NULL;
}

/* Logs a failed read. The batches stay in the spool, and skepd reads them again after SPOOL_DOWN_NS. */
void delivery_spool_unreadable(struct delivery *o, int err)
{
	log_because(SKEP_LOG_ERROR, "spool", "read", "cannot read from the spool: %s; trying again in %d s",
		    strerror(-err), (int)(SPOOL_DOWN_NS / 1000000000));
	o->spool->unread_until_ns = clock_boot_ns() + SPOOL_DOWN_NS;
}

uint64_t delivery_spool_aged_upto(const struct delivery *o)
{
	int64_t jump = clock_realtime_offset_ns() - o->spool->offset_ns;

	return jump > JUMP_NS || jump < -JUMP_NS ? o->spool->first_id - 1 : UINT64_MAX;
}
