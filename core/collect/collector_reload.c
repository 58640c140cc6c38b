/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/collector_reload.c - another configuration for a collector that runs, all of it or
 * nothing.  The phases:
 *
 *   PLAN    reads, loads, checks and compares everything; starts new instances beside the old
 *   APPLY   calls reload() of instances that can change as they run
 *   SWITCH  those of which there can be only one are exchanged
 *           --- the point of no return: from here on nothing can fail ---
 *   LEAVE   removed instances drain and stop
 *   BACK    instead of SWITCH's end: undoes all changes
 *
 * On the collector's fast timer, because sinks and worker threads take their time.
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

static void phase(struct reload *r, enum reload_phase to)
{
	r->phase = to;
	r->deadline_ns = clock_boot_ns() + RELOAD_SETTLE_NS;
}

/* ---- for good ------------------------------------------------------------------------ */

static int new_sinks(struct collector *c, struct reload *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct change *change = &r->changes[i];
		int err;

		if (change->what != CHANGE_ADD || data_of(change->next)->probe)
			continue;
		err = collector_sink_add(c, change->next);
		if (err < 0) {
			diag_add(&r->diag, DIAG_ERROR, NULL, 0, 0, "sink %s: no memory for its queue",
				 change->next->name);
			return err;
		}
	}
	return 0;
}

static void settle_applied(struct change *change)
{
	struct skep_instance *old = change->old;

	if (options_adopt(old->plugin->desc, old->pristine, change->next->data, old->memory, change->next->memory) == 0)
		return;
	/* Its texts are in use: better lost than used after they were freed. */
	log_at(SKEP_LOG_ERROR, old->name, "no memory to keep its new options in order");
	change->next = NULL;
}

/* The instance that stays of that entry; old ones that do not go. */
static struct skep_instance *settle(struct collector *c, struct change *change, uint64_t drain_ns)
{
	struct skep_instance *old = change->old, *next = change->next;

	switch (change->what) {
	case CHANGE_ADD:
		change->next = NULL;
		return next;
	case CHANGE_RESTART:
		collector_details_end_of(c, old, "its plugin is restarted with other options");
		collector_data_loss_out(c, data_of(old));
		collector_data_fold(c, data_of(old), data_of(next));
		if (change->paused && data_of(next)->sink)
			delivery_sink_pause(data_of(next)->sink, false);
		if (data_of(next)->sink)
			delivery_sink_kick(data_of(next)->sink);
		change->next = NULL;
		collector_leave(c, old, drain_ns);
		return next;
	case CHANGE_REMOVE:
		collector_leave(c, old, drain_ns);
		return NULL;
	case CHANGE_APPLY:
		settle_applied(change);
		return old;
	case CHANGE_RETRY:
		data_of(old)->retries = 0;
		data_of(old)->retry_ns = 1; /* by the next tick */
		return old;
	case CHANGE_NONE:
		break;
	}
	return old;
}

static void settle_plugins(struct collector *c, struct reload *r)
{
	struct skep_instance **end;

	/* Each leaves the list or is taken out of it; then it is put together anew, in the order of the file. */
	for (size_t i = 0; i < r->n; i++) {
		struct change *change = &r->changes[i];
		struct skep_instance *inst = settle(c, change, r->next->drain_ns);

		if (!inst)
			continue;
		if (data_of(inst)->sink) /* the operator may have mended the cause: a token, a certificate */
			delivery_sink_kick(data_of(inst)->sink);
		for (struct skep_instance **at = &c->instances; *at; at = &(*at)->next)
			if (*at == inst) {
				*at = inst->next;
				break;
			}
		inst->next = NULL;
		inst->required = change->required;
		inst->terms = change->terms;
		if (data_of(inst)->sink)
			delivery_sink_terms(data_of(inst)->sink, &inst->terms);
		inst->host.interval_ns = collector_interval(r->next);
		for (end = &r->settled; *end; end = &(*end)->next)
			;
		*end = inst;
	}
	c->instances = r->settled;
	r->settled = NULL;
}

#define EXCHANGE(a_, b_)                 \
	do {                             \
		__typeof__(a_) t_ = a_;  \
		(a_) = b_;               \
		(b_) = t_;               \
	} while (0)

static void settle_settings(struct collector *c, struct reload *r)
{
	bool other_interval = collector_interval(r->next) != c->interval_ns;

	c->config = r->next;
	c->interval_ns = collector_interval(r->next);
	/* Old tables go with the reload. */
	EXCHANGE(c->tools, r->tools);
	EXCHANGE(c->redact, r->redact);
	EXCHANGE(c->containers, r->containers);
	track_tools(c->track, c->tools);
	cgroups_identify(c->cgroups, c->containers);
	if (other_interval)
		collector_sample_timer(c);
}

/* ---- the phases ------------------------------------------------------------------------ */

/* Begins the end: reports when every instance that has to stop has stopped. */
static void leave(struct collector *c, struct reload *r)
{
	phase(r, RELOAD_LEAVE);
	reload_plan_free(c, r);
}

static void fail(struct reload *r, int err)
{
	r->err = err;
	reload_report_clear(&r->report); /* nothing has changed */
	phase(r, RELOAD_BACK);
}

/* The last that can fail. */
static int new_rules(struct collector *c, struct reload *r)
{
	int err;

	if (!c->rule_eval)
		return 0;
	rule_eval_tools(c->rule_eval, r->tools);
	err = collector_rules(c, r->rules);
	if (err < 0) {
		rule_eval_tools(c->rule_eval, c->tools);
		diag_add(&r->diag, DIAG_ERROR, NULL, 0, 0, "no memory for the rules");
	}
	return err;
}

static void commit(struct collector *c, struct reload *r)
{
	int err = new_sinks(c, r);

	if (err == 0)
		err = new_rules(c, r);
	if (err < 0) {
		fail(r, err);
		return;
	}
	reload_say(r);
	settle_plugins(c, r);
	settle_settings(c, r);
	collector_facets_drained(c);
	r->settled_all = true;
	leave(c, r);
}

static void plan(struct collector *c, struct reload *r)
{
	int err = r->next ? reload_plan(c, r) : -EINVAL, more = 0;

	/* Starts instances only if there is no error so far. */
	if (err == 0)
		more = reload_start(c, r);
	err = err < 0 ? err : more;
	if (err < 0) {
		fail(r, err);
	} else if (r->check) {
		reload_say(r);
		leave(c, r);
	} else {
		phase(r, RELOAD_APPLY);
	}
}

static void finish(struct collector *c, struct reload *r)
{
	c->reload = NULL;
	r->report.took_ns = clock_boot_ns() - r->began_ns;
	r->done(r->arg, r->err, &r->diag, &r->report);
	diag_clear(&r->diag);
	reload_report_clear(&r->report);
	free(r->removed);
	free(r);
}

void collector_reload_step(struct collector *c)
{
	struct reload *r = c->reload;
	int err;

	if (r && r->phase == RELOAD_PLAN)
		plan(c, r);
	if (r && r->phase == RELOAD_APPLY) {
		err = reload_apply(c, r);
		if (err < 0)
			fail(r, err);
		else if (err > 0)
			phase(r, RELOAD_SWITCH);
	}
	if (r && r->phase == RELOAD_SWITCH) {
		err = reload_switch(c, r);
		if (err < 0)
			fail(r, err);
		else if (err > 0)
			commit(c, r);
	}
	if (r && r->phase == RELOAD_BACK && reload_back(c, r))
		leave(c, r);
	/* Also without a reload: one that was broken off leaves some behind. */
	if (!collector_leaving(c) && r && r->phase == RELOAD_LEAVE)
		finish(c, r);
}

bool collector_reloading(const struct collector *c)
{
	for (const struct skep_instance *inst = c->leaving; inst; inst = inst->next)
		if (!data_of(inst)->left_behind)
			return true;
	return c->reload;
}

int collector_reload(struct collector *c, const struct config *next, bool check, collector_reload_done done, void *arg)
{
	struct reload *r;

	if (!c->running || c->stop != STOP_NOT)
		return -ESHUTDOWN;
	if (c->reload)
		return -EBUSY;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->next = next;
	r->check = check;
	r->done = done;
	r->arg = arg;
	r->began_ns = clock_boot_ns();
	diag_init(&r->diag);
	c->reload = r;
	collector_fast(c);
	return 0;
}

void collector_reload_abort(struct collector *c)
{
	uint64_t latest_ns = clock_boot_ns() + c->drain_ns;
	struct reload *r = c->reload;

	for (struct skep_instance *inst = c->leaving; inst; inst = inst->next)
		if (data_of(inst)->leave_ns > latest_ns)
			data_of(inst)->leave_ns = latest_ns;
	if (!r)
		return;
	/* The collector stops: ends the started instances, leaves the stopped ones, offers each queue once more. */
	for (size_t i = 0; i < r->n; i++) {
		struct change *change = &r->changes[i];
		struct skep_instance *next;

		if (change->applied && !r->settled_all)
			settle_applied(change);
		next = change->next;
		if (change->paused && data_of(change->old)->sink)
			delivery_sink_pause(data_of(change->old)->sink, false);
		if (change->moved && next && data_of(next)->sink) {
			/* It has the queue, and keeps it: the new one ends as if it had been there all the time. */
			delivery_sink_pause(data_of(next)->sink, false);
			next->next = c->instances;
			c->instances = next;
			change->next = NULL;
		}
	}
	if (!r->settled_all) {
		r->err = -ESHUTDOWN;
		reload_report_clear(&r->report);
		diag_add(&r->diag, DIAG_ERROR, NULL, 0, 0, "skepd is stopping");
	}
	reload_plan_free(c, r);
	finish(c, r);
}
