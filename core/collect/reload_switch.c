/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/reload_switch.c - starts, changes and exchanges plugins.  reload_back.c undoes it.
 *
 * A new instance runs beside the old one until all new instances have proved to work.  So the probes miss no event, and
 * the process table drops the second report of an event by two life-cycle probes
 * (core/process/track_event.c).  If the two cannot run side by side, for example because of a lock, the old one stops
 * first, at the very end.  If the new one then fails, the old one starts again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/config/options_diff.h"
#include "core/collect/reload_priv.h"

static struct instance_data *data_of(const struct skep_instance *inst)
{
	return inst->extra;
}

/* ---- new ones start ------------------------------------------------------------------ */

static bool replaces(const struct change *change)
{
	return change->old && change->old->state == INSTANCE_RUNNING;
}

/* Handles a failure to open or start.  Returns err if it ends the reload, else 0. */
static int not_started(struct collector *c, struct reload *r, struct change *change, const char *doing, int err)
{
	struct skep_instance *next = change->next;

	if (!replaces(change)) /* as at a start: fatal if it is required */
		return collector_failed(c, next, doing, err, &r->diag);
	/* Required or not: skepd does not replace a working instance by one that fails. */
	diag_add(&r->diag, DIAG_ERROR, NULL, 0, 0,
		 "%s %s does not %s with its new options: %s; it keeps the old ones",
		 collector_instance_kind(next), next->name, doing, next->reason ? next->reason : strerror(-err));
	return err;
}

static bool because_of_old(int err)
{
	return err == -EBUSY || err == -EADDRINUSE || err == -EAGAIN;
}

static int start_opened(struct collector *c, struct reload *r, struct change *change)
{
	struct instance_data *data = data_of(change->next);
	int err;

	if (data->facet) /* the new probe has no facets of the time before its start */
		data->drained_ns = clock_boot_ns();
	err = instance_start(change->next);
	if (err < 0 && replaces(change) && because_of_old(err)) {
		change->in_turn = true;
		return 0;
	}
	change->started = err == 0;
	return err < 0 ? not_started(c, r, change, "start", err) : 0;
}

static int start(struct collector *c, struct reload *r, struct change *change)
{
	int err = instance_open(change->next);

	if (err < 0)
		return not_started(c, r, change, "open", err);
	change->last = replaces(change) && data_of(change->next)->lifecycle;
	return r->check || change->last ? 0 : start_opened(c, r, change);
}

/* Makes process records longer for new facets. */
static int widen(struct collector *c)
{
	const struct skep_stream *process = NULL, *sample = NULL;
	int err = track_reserve(c->track, facets_record_size(c->facets, &record_stream_process),
				facets_record_size(c->facets, &record_stream_process_sample));

	if (err < 0)
		return err;
	/* After each swap, records of that kind have the new length. */
	err = facets_build(c->facets, FACETS_OF_SAMPLE, &record_stream_process_sample, &sample);
	if (err == 0 && sample) {
		delivery_stream_swap(c->delivery, c->stream_process_sample, sample);
		track_layout(c->track, track_process_size(c->track), sample->record_size);
		err = facets_build(c->facets, FACETS_OF_IMAGE, &record_stream_process, &process);
	}
	if (err == 0 && process) {
		delivery_stream_swap(c->delivery, c->stream_process, process);
		track_layout(c->track, process->record_size, track_sample_size(c->track));
	}
	return err;
}

static int start_kind(struct collector *c, struct reload *r, bool probes)
{
	int err, first = 0;

	for (size_t i = 0; i < r->n; i++) {
		struct change *change = &r->changes[i];

		if ((change->what != CHANGE_ADD && change->what != CHANGE_RESTART) ||
		    data_of(change->next)->probe != probes)
			continue;
		err = start(c, r, change);
		if (err < 0 && first == 0)
			first = err;
	}
	return first;
}

static int streams(struct collector *c, struct reload *r)
{
	int err = 0;

	for (size_t i = 0; i < r->n && err == 0; i++)
		/* Also for instances that apply options in place: some decline, and restart. */
		if (r->changes[i].next && data_of(r->changes[i].next)->probe && r->changes[i].what != CHANGE_NONE)
			err = collector_streams_add(c, r->changes[i].next, &r->diag);
	if (err == 0)
		err = widen(c);
	if (err < 0)
		diag_add(&r->diag, DIAG_ERROR, NULL, 0, 0, "no memory for the streams of new plugins");
	return err;
}

int reload_start(struct collector *c, struct reload *r)
{
	int err = r->check ? 0 : streams(c, r), more;

	if (err < 0)
		return err;
	/* Sinks first, so that records which probes emit at once have a queue. */
	err = start_kind(c, r, false);
	more = start_kind(c, r, true);
	return err < 0 ? err : more;
}

/* ---- applied in place ------------------------------------------------------------------ */

void reload_pause_queue(struct change *change, bool paused)
{
	struct delivery_sink *sink = data_of(change->old)->sink ? data_of(change->old)->sink
				     : change->next             ? data_of(change->next)->sink
								: NULL;

	if (sink && change->paused != paused)
		delivery_sink_pause(sink, paused);
	change->paused = paused;
}

/* reload() has declined: plans a restart instead. */
static int restart_instead(struct collector *c, struct reload *r, struct change *change, int err, const char *why)
{
	if (err != -ENOTSUP)
		log_at(SKEP_LOG_INFO, change->old->name, "cannot apply its new options while it runs: %s; restarting it",
		       why ? why : strerror(-err));
	reload_pause_queue(change, false);
	change->what = CHANGE_RESTART;
	memcpy(change->next->data, change->next->pristine, change->next->plugin->desc->state_size);
	return start(c, r, change);
}

static int apply(struct collector *c, struct reload *r, struct change *change, bool late)
{
	const struct skep_plugin *desc = change->next->plugin->desc;
	struct skep_instance *old = change->old;
	char *why = NULL;
	int err;

	options_share(desc, old->pristine, change->next->data);
	err = instance_reload(old, change->next->data, &why);
	if (err == 0) {
		options_copy(desc, old->pristine, change->next->data, old->data);
		change->applied = true;
		reload_pause_queue(change, false);
	} else if (err == -EBUSY && !late) {
		reload_pause_queue(change, true); /* the sink gets no new batch meanwhile */
		return 0;
	} else {
		err = restart_instead(c, r, change, err, why);
	}
	free(why);
	return err < 0 ? err : 1;
}

int reload_apply(struct collector *c, struct reload *r)
{
	bool late = clock_boot_ns() >= r->deadline_ns, waits = false;
	int err;

	for (size_t i = 0; i < r->n; i++) {
		if (r->changes[i].what != CHANGE_APPLY || r->changes[i].applied)
			continue;
		err = apply(c, r, &r->changes[i], late);
		if (err < 0)
			return err;
		waits |= err == 0;
	}
	return waits ? 0 : 1;
}

/* ---- exchanged ------------------------------------------------------------------------- */

void reload_move_queue(struct skep_instance *from, struct skep_instance *to)
{
	struct delivery_sink *sink = data_of(from)->sink;
	const struct skep_sink_ops *ops = to->plugin->desc->sink;

	if (!sink)
		return;
	delivery_sink_move(sink, to->name, ops ? ops->max_in_flight : 1, to);
	data_of(to)->sink = sink;
	data_of(from)->sink = NULL;
}

static int start_in_turn(struct reload *r, struct change *change)
{
	struct skep_instance *next = change->next;
	struct instance_data *data = data_of(next);
	int err;

	if (data->facet)
		data->drained_ns = clock_boot_ns();
	/* It may have failed once because the old one was running. */
	err = next->state == INSTANCE_OPEN ? instance_start(next) : instance_retry(next);
	if (err < 0) {
		diag_add(&r->diag, DIAG_ERROR, NULL, 0, 0,
			 "%s %s does not start with its new options: %s; starting it with the old ones",
			 collector_instance_kind(next), next->name, next->reason ? next->reason : strerror(-err));
		return err;
	}
	change->started = true;
	return 0;
}

/* 1: done, 0: waits. */
static int exchange(struct collector *c, struct reload *r, struct change *change)
{
	struct skep_instance *old = change->old;
	struct delivery_sink *sink = data_of(old)->sink;
	uint64_t now_ns = clock_boot_ns();
	int err;

	if (sink && !change->paused) {
		reload_pause_queue(change, true);
		r->deadline_ns = now_ns + RELOAD_SETTLE_NS;
	}
	if (sink && !change->stopped && delivery_sink_busy(sink)) {
		if (now_ns < r->deadline_ns && old->stuck_ns == 0)
			return 0;
		/* The queue offers its batches to the new instance, once the old one can no longer answer. */
		log_at(SKEP_LOG_WARNING, old->name,
		       "has not answered for a batch in time; skepd stops it and gives the batch to its successor");
		change->in_turn = true;
	}
	if (change->in_turn && !change->stopped) {
		collector_details_end_of(c, old, "its plugin is restarted with other options");
		if (data_of(old)->probe)
			instance_flush(old);
		instance_stop(old);
		change->stopped = true;
		r->deadline_ns = now_ns + RELOAD_SETTLE_NS;
	}
	if (change->stopped && instance_waits_for_work(old) && (old->stuck_ns > 0 || now_ns >= r->deadline_ns))
		collector_leave_behind(c, old);
	if (change->stopped && !instance_stopped(old) && !data_of(old)->left_behind)
		return 0;
	if (!change->started) {
		err = start_in_turn(r, change);
		if (err < 0)
			return err;
	}
	if (sink) {
		reload_move_queue(old, change->next);
		change->moved = true;
	}
	return 1;
}

static bool to_exchange(const struct change *change)
{
	if (change->what != CHANGE_RESTART || change->moved ||
	    (change->started && !data_of(change->next)->probe && !data_of(change->old)->sink))
		return false;
	if (data_of(change->next)->probe)
		return change->in_turn && !change->started;
	return true;
}

/*
 * Starts the new life-cycle probes.  The old one emits its remaining records before the new one emits any, and stops
 * before the loop turns again.  So a process's records come in order.
 */
static int start_last(struct collector *c, struct reload *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct change *change = &r->changes[i];
		int err;

		if (!change->last || change->started || change->what != CHANGE_RESTART)
			continue;
		if (!change->in_turn) {
			data_of(change->next)->after = change->old;
			err = start_opened(c, r, change);
			data_of(change->next)->after = NULL;
			if (err < 0)
				return err;
		}
		if (change->in_turn) {
			err = exchange(c, r, change);
			if (err <= 0)
				return err;
		}
	}
	return 1;
}

int reload_switch(struct collector *c, struct reload *r)
{
	/* Exchanges one after the other, because each may have to wait. */
	for (size_t i = 0; i < r->n; i++) {
		struct change *change = &r->changes[i];
		int err;

		if (!to_exchange(change))
			continue;
		if (!change->started && !change->in_turn) { /* neither runs: the queue waits for the new instance */
			reload_move_queue(change->old, change->next);
			change->moved = true;
			continue;
		}
		err = exchange(c, r, change);
		if (err <= 0)
			return err;
	}
	return start_last(c, r);
}
