/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/collector_reload.c - applies another configuration to a running collector, completely or not at all.
 * The phases:
 *
 *   PLAN    reads, loads, checks and compares everything; starts new instances beside the old
 *   APPLY   calls reload() of instances that can change as they run
 *   SWITCH  exchanges instances of which only one can run at a time
 *           --- the point of no return: after it nothing can fail ---
 *   LEAVE   removed instances drain and stop
 *   BACK    instead of SWITCH's end: undoes all changes
 *
 * The phases run on the collector's fast timer, because sinks and worker threads take their time.
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
	/* The instance uses the new options' texts: a leak is better than a use after free. */
	log_at(SKEP_LOG_ERROR, old->name, "no memory to keep its new options in order");
	change->next = NULL;
}

/* Makes an entry's change final, and returns the instance that stays; NULL: none. */
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
		data_of(old)->retry_ns = 1; /* the next tick tries it */
		return old;
	case CHANGE_NONE:
		break;
	}
	return old;
}

static void settle_plugins(struct collector *c, struct reload *r)
{
	struct skep_instance **end;

	/* Each instance leaves the list, and the remaining ones form a new list in the order of the file. */
	for (size_t i = 0; i < r->n; i++) {
		struct change *change = &r->changes[i];
		struct skep_instance *inst = settle(c, change, r->next->drain_ns);

		if (!inst)
			continue;
		/* the operator may have mended the cause of a failure: a token, a certificate */
		if (data_of(inst)->sink)
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
	/* The reload frees the old tables at its end. */
	EXCHANGE(c->tools, r->tools);
	EXCHANGE(c->redact, r->redact);
	EXCHANGE(c->containers, r->containers);
	EXCHANGE(c->recognizers, r->recognizers);
	if (!c->options.runs_only)
		track_findings(c->track, &c->config->findings); /* it has its memory since the start */
	track_tools(c->track, c->tools);
	track_recognizers(c->track, c->recognizers);
	cgroups_identify(c->cgroups, c->containers);
	collector_boundaries(c);
	if (other_interval)
		collector_sample_timer(c);
}

/* ---- the phases ------------------------------------------------------------------------ */

/* Begins the last phase: the reload reports when every instance that must stop has stopped. */
static void leave(struct collector *c, struct reload *r)
{
	phase(r, RELOAD_LEAVE);
	reload_plan_free(c, r);
}

static void fail(struct reload *r, int err)
{
	r->err = err;
	reload_report_clear(&r->report); /* nothing has changed, so there is nothing to report */
	phase(r, RELOAD_BACK);
}

/* Applies the new rules: the last step that can fail. */
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

	/* Starts instances only without an earlier error. */
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
	/* Also without a reload: an aborted reload leaves instances here. */
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
	/*
	 * The collector stops: started new instances end, stopped old ones stay stopped, and each queue is offered once
	 * more.
	 */
	for (size_t i = 0; i < r->n; i++) {
		struct change *change = &r->changes[i];
		struct skep_instance *next;

		if (change->applied && !r->settled_all)
			settle_applied(change);
		next = change->next;
		if (change->paused && data_of(change->old)->sink)
			delivery_sink_pause(data_of(change->old)->sink, false);
		if (change->moved && next && data_of(next)->sink) {
			/* The new instance has the queue and keeps it: it ends like any instance of the list. */
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
