/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/reload_back.c - undoes the steps of a failed reload in the opposite order, so that the collector runs on
 * with the old configuration.
 */
#include <errno.h>
#include <string.h>

#include "core/base/log.h"
#include "core/config/options_diff.h"
#include "core/collect/reload_priv.h"

static struct instance_data *data_of(const struct skep_instance *inst)
{
	return inst->extra;
}

/* Applies the old options again.  true: done, false: waits. */
static bool unapply(struct change *change, bool late)
{
	const struct skep_plugin *desc = change->next->plugin->desc;
	struct skep_instance *old = change->old;
	char *why = NULL;
	int err = instance_reload(old, old->pristine, &why);

	if (err == -EBUSY && !late) {
		reload_pause_queue(change, true);
		return false;
	}
	if (err == 0) {
		options_copy(desc, change->next->data, old->pristine, old->data);
	} else {
		log_at(SKEP_LOG_WARNING, old->name, "keeps its new options (%s): it cannot go back to the old ones: %s",
		       change->options ? change->options : "", why ? why : strerror(-err));
		if (options_adopt(desc, old->pristine, change->next->data, old->memory, change->next->memory) < 0)
			change->next = NULL; /* a leak is better than a use after free */
	}
	free(why);
	change->applied = false;
	reload_pause_queue(change, false);
	return true;
}

/* The old instance's work does not return, so it can neither go on nor start again now: it starts after the return. */
static int wait_for_work(struct collector *c, struct skep_instance *old)
{
	instance_stop_recall(old);
	if (data_of(old)->left_behind)
		c->left_behind--;
	data_of(old)->left_behind = false;
	return -EBUSY;
}

/* Undoes one change.  late: no longer waits for answers and work.  true: done, false: waits. */
static bool back(struct collector *c, struct change *change, bool late)
{
	struct skep_instance *old = change->old, *next = change->next;
	int err;

	if (change->applied && !unapply(change, late))
		return false;
	if (change->moved) {
		if (change->started && delivery_sink_busy(data_of(next)->sink)) {
			if (!late)
				return false;
			if (!data_of(next)->held)
				delivery_sink_hold(data_of(next)->sink, &data_of(next)->held, &data_of(next)->n_held);
		}
		reload_move_queue(next, old);
		change->moved = false;
	}
	if (change->stopped) {
		if (next)
			instance_stop(next); /* the two cannot run side by side */
		if (!late && (!instance_stopped(old) || (next && !instance_stopped(next))))
			return false;
		change->stopped = false;
		err = instance_stopped(old) ? instance_restart(old) : wait_for_work(c, old);
		if (err < 0)
			log_at(SKEP_LOG_ERROR, old->name,
			       "no longer starts with its old options either: %s; trying again later",
			       old->reason ? old->reason : strerror(-err));
		if (data_of(old)->facet)
			data_of(old)->drained_ns = clock_boot_ns();
	}
	if (change->paused)
		reload_pause_queue(change, false);
	if (next && change->started) {
		change->started = false;
		change->next = NULL;
		collector_leave(c, next, 0);
	}
	return true;
}

bool reload_back(struct collector *c, struct reload *r)
{
	bool all = true, late = clock_boot_ns() >= r->deadline_ns;

	for (size_t i = r->n; i-- > 0;)
		all &= back(c, &r->changes[i], late);
	return all;
}
