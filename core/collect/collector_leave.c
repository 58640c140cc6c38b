/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/collector_leave.c - instances that a reload has removed or replaced.  For a bounded time a sink may
 * still send the batches of its queue.  Then the instance stops, and the collector's sums keep its losses.
 *
 * An instance whose work() does not return cannot stop.  The collector abandons it and no longer waits: the instance
 * occupies only a thread of its own.  Its memory stays, since the thread uses it.  If the call returns after all, the
 * instance stops like any other.
 */
#include <stdlib.h>

#include "core/base/log.h"
#include "core/collect/reload_priv.h"

void collector_data_fold(struct collector *c, struct instance_data *from, struct instance_data *to)
{
	const struct skep_plugin *desc = from->inst->plugin->desc;

	for (uint32_t s = 0; s < desc->n_streams; s++)
		for (int where = 0; where < DELIVERY_LOSSES; where++) {
			uint64_t n = from->lost[s][where];

			if (to) {
				to->lost[s][where] += n;
				to->reported[s][where] += from->reported[s][where];
			} else {
				if (from->streams[s] < 0) /* else delivery has counted it */
					c->gone_lost[where] += n;
				if (where == SKEP_LOSS_KERNEL)
					c->gone_kernel += n;
				if (where == SKEP_LOSS_KERNEL && desc->streams[s]->role == SKEP_ROLE_PROC_FINAL)
					c->gone_finals += n;
			}
			from->lost[s][where] = from->reported[s][where] = 0;
		}
}

void collector_leave(struct collector *c, struct skep_instance *inst, uint64_t drain_ns)
{
	struct instance_data *data = inst->extra;

	for (struct skep_instance **at = &c->instances; *at; at = &(*at)->next)
		if (*at == inst) {
			*at = inst->next;
			break;
		}
	inst->next = c->leaving;
	c->leaving = inst;
	data->leave_ns = clock_boot_ns() + drain_ns;
	if (data->probe) {
		collector_details_end_of(c, inst, "its plugin was removed");
		instance_flush(inst);
		instance_stop(inst);
	} else if (data->sink) {
		delivery_sink_retire(c->delivery, data->sink);
		delivery_sink_kick(data->sink);
	}
	collector_fast(c);
}

/* Adds the instance to the report of the reload that removed it, if that reload is still under way. */
static void report_removed(struct collector *c, const struct skep_instance *inst, uint64_t lost)
{
	struct reload *r = c->reload;

	for (size_t i = 0; r && i < r->n_removed; i++) {
		if (r->removed[i] != inst)
			continue;
		if (lost > 0)
			reload_report_add(&r->report, RELOAD_REMOVED, collector_instance_kind(inst), inst->name,
					  "%llu records that it had not acknowledged are lost there",
					  (unsigned long long)lost);
		else
			reload_report_add(&r->report, RELOAD_REMOVED, collector_instance_kind(inst), inst->name, "%s",
					  "");
	}
}

/*
 * Removes a sink.  Counts the records that it has not acknowledged as lost there, and reports the loss to the other
 * sinks.
 */
static void sink_gone(struct collector *c, struct skep_instance *inst, struct instance_data *data)
{
	uint64_t before = delivery_lost_total(c->delivery, SKEP_LOSS_SINK), n;

	delivery_sink_lose(c->delivery, data->sink);
	n = delivery_lost_total(c->delivery, SKEP_LOSS_SINK) - before;
	collector_loss_out(c);
	delivery_sink_remove(c->delivery, data->sink);
	data->sink = NULL;
	if (n > 0)
		log_at(SKEP_LOG_WARNING, inst->name,
		       "removed: %llu records that it had not acknowledged are lost there", (unsigned long long)n);
	report_removed(c, inst, n);
}

void collector_leave_behind(struct collector *c, struct skep_instance *inst)
{
	struct instance_data *data = inst->extra;

	if (data->left_behind)
		return;
	data->left_behind = true;
	c->left_behind++;
	if (data->sweeping && c->track)
		track_sweep_end(c->track, false, clock_boot_ns());
	data->sweeping = false;
	if (data->sink)
		delivery_sink_hold(data->sink, &data->held, &data->n_held);
	log_at(SKEP_LOG_WARNING, inst->name,
	       "abandoned: its work has not returned for %.1f s (a file system or a server may not answer)%s",
	       (double)workers_oldest_ns(inst->workers) / 1e9,
	       data->sink ? "; the batches that it has not acknowledged count as not delivered" : "");
}

/* Whether the collector has waited long enough for the instance's work(); less long while skepd itself stops. */
static bool too_late(const struct collector *c, const struct skep_instance *inst)
{
	uint64_t more_ns = c->stop == STOP_NOT ? RELOAD_SETTLE_NS : 0;

	return instance_waits_for_work(inst) &&
	       (inst->stuck_ns > 0 ||
		clock_boot_ns() >= ((const struct instance_data *)inst->extra)->leave_ns + more_ns);
}

static void account(struct collector *c, struct skep_instance *inst)
{
	struct instance_data *data = inst->extra;

	if (data->accounted)
		return;
	data->accounted = true;
	if (data->sink)
		sink_gone(c, inst, data);
	else
		report_removed(c, inst, 0);
	collector_data_loss_out(c, data);
	collector_data_fold(c, data, NULL);
}

static bool gone(struct collector *c, struct skep_instance *inst)
{
	const struct instance_data *data = inst->extra;

	if (data->sink && !inst->stop_wanted && inst->stuck_ns == 0) {
		/* A sink that does not run accepts no more batches. */
		if (inst->state == INSTANCE_RUNNING && !delivery_sink_settled(data->sink, UINT64_MAX - 1) &&
		    clock_boot_ns() < data->leave_ns)
			return false;
	}
	instance_stop(inst);
	if (too_late(c, inst))
		collector_leave_behind(c, inst);
	if (!instance_stopped(inst) && !data->left_behind)
		return false;
	account(c, inst);
	return instance_stopped(inst);
}

bool collector_leaving(struct collector *c)
{
	struct skep_instance **at = &c->leaving;
	bool any = false;

	while (*at) {
		struct skep_instance *inst = *at;

		if (!gone(c, inst)) {
			any |= !((const struct instance_data *)inst->extra)->left_behind;
			at = &inst->next;
			continue;
		}
		*at = inst->next;
		collector_instance_free(inst);
	}
	return any;
}
