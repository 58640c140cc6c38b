/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/reload_back.c - undoes the steps of a reload that has failed, in the opposite order: the collector
 * runs on with the configuration of before.
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

/* The old options once more. true: done, false: waits. */
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
			change->next = NULL; /* better lost than used after it was freed */
	}
	free(why);
	change->applied = false;
	reload_pause_queue(change, false);
	return true;
}

/* true: done, false: waits. */
/* Its work does not return, so it can neither go on nor start anew: it starts when the work has returned. */
static int wait_for_work(struct collector *c, struct skep_instance *old)
{
	instance_stop_recall(old);
	if (data_of(old)->left_behind)
		c->left_behind--;
	data_of(old)->left_behind = false;
	return -EBUSY;
}

/* late: what does not answer or return by now is not waited for. */
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
			instance_stop(next); /* two of them do not go together */
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
