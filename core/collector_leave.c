/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collector_leave.c - instances that a reload has removed or replaced: a sink may
 * still take what is in its queue, for a bounded time; then they stop, and what they had
 * lost stays in the books.
 */
#include <stdlib.h>

#include "core/collector_priv.h"
#include "core/log.h"

void collector_part_fold(struct collector *c, struct part *from, struct part *to)
{
	const struct skep_plugin *desc = from->inst->plugin->desc;

	for (uint32_t s = 0; s < desc->n_streams; s++)
		for (int where = 0; where < OUT_LOSSES; where++) {
			uint64_t n = from->lost[s][where];

			if (to) {
				to->lost[s][where] += n;
				to->told[s][where] += from->told[s][where];
			} else {
				if (from->streams[s] < 0) /* else it is in the way out's books */
					c->gone_lost[where] += n;
				if (where == SKEP_LOSS_KERNEL)
					c->gone_kernel += n;
				if (where == SKEP_LOSS_KERNEL && desc->streams[s]->role == SKEP_ROLE_PROC_FINAL)
					c->gone_finals += n;
			}
			from->lost[s][where] = from->told[s][where] = 0;
		}
}

void collector_leave(struct collector *c, struct skep_instance *inst, uint64_t drain_ns)
{
	struct part *part = inst->extra;

	for (struct skep_instance **at = &c->instances; *at; at = &(*at)->next)
		if (*at == inst) {
			*at = inst->next;
			break;
		}
	inst->next = c->leaving;
	c->leaving = inst;
	part->leave_ns = clock_boot_ns() + drain_ns;
	if (part->probe) {
		collector_details_end_of(c, inst, "its plugin was removed");
		instance_flush(inst);
		instance_stop(inst);
	} else if (part->sink) {
		out_sink_retire(c->out, part->sink);
		out_sink_kick(part->sink);
	}
	collector_fast(c);
}

/* What it has not taken is told to the others as lost there. */
static void sink_gone(struct collector *c, struct skep_instance *inst, struct part *part)
{
	uint64_t before = out_lost_total(c->out, SKEP_LOSS_SINK), n;

	out_sink_abandon(part->sink);
	n = out_lost_total(c->out, SKEP_LOSS_SINK) - before;
	collector_loss_out(c);
	out_sink_remove(c->out, part->sink);
	part->sink = NULL;
	if (n > 0)
		log_at(SKEP_LOG_WARNING, inst->name, "removed: it had not taken %llu records by then; they are lost there", (unsigned long long)n);
	collector_reload_removed(c, inst, n);
}

static bool gone(struct collector *c, struct skep_instance *inst)
{
	struct part *part = inst->extra;

	if (part->sink && !inst->stop_wanted) {
		/* One that does not run takes nothing any more. */
		if (inst->state == INSTANCE_RUNNING && !out_sink_settled(part->sink, UINT64_MAX - 1) && clock_boot_ns() < part->leave_ns)
			return false;
	}
	instance_stop(inst);
	if (!instance_stopped(inst))
		return false;
	if (part->sink)
		sink_gone(c, inst, part);
	else
		collector_reload_removed(c, inst, 0);
	collector_part_loss_out(c, part);
	collector_part_fold(c, part, NULL);
	return true;
}

bool collector_leaving(struct collector *c)
{
	struct skep_instance **at = &c->leaving;

	while (*at) {
		struct skep_instance *inst = *at;

		if (!gone(c, inst)) {
			at = &inst->next;
			continue;
		}
		*at = inst->next;
		collector_instance_free(inst);
	}
	return c->leaving != NULL;
}
