/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/collector_sample.c - takes samples: at each interval, and when an end needs one.
 */
#include "core/collect/collector_priv.h"

#define INTERVAL_DEFAULT_NS 5000000000ull
#define FAST_MS 5u

static void sample_kind(struct collector *c, bool lifecycle)
{
	for (struct skep_instance *inst = c->instances; inst; inst = inst->next) {
		const struct instance_data *data = inst->extra;

		if (data->probe && data->lifecycle == lifecycle && inst->state == INSTANCE_RUNNING)
			instance_sample(inst);
	}
}

bool collector_sweeping(const struct collector *c)
{
	for (const struct skep_instance *inst = c->instances; inst; inst = inst->next)
		if (((const struct instance_data *)inst->extra)->sweeping)
			return true;
	return false;
}

void collector_sweep(struct collector *c)
{
	sample_kind(c, true);
}

void collector_swept(struct collector *c)
{
	/*
	 * Reads the ledger's references when the sum of processes is known, because a sweep of a busy host takes a
	 * while.
	 */
	sample_kind(c, false);
	collector_sample_out(c);
}

void collector_sample_now(struct collector *c)
{
	if (c->sample_due) /* a sweep that never ended must not stop the samples */
		collector_swept(c);
	/* The sweep brings figures of live processes, and may take several turns of the loop. */
	c->sample_due = true;
	collector_sweep(c);
	if (!collector_sweeping(c) && c->sample_due)
		collector_swept(c);
}

static void on_sample(uv_timer_t *timer)
{
	collector_sample_now(MAGIC_OBJECT(collector, timer->data));
}

uint64_t collector_interval(const struct config *config)
{
	return config->interval_ns ? config->interval_ns : INTERVAL_DEFAULT_NS;
}

void collector_sample_timer(struct collector *c)
{
	uint64_t interval_ms = c->interval_ns / MS_NS ? c->interval_ns / MS_NS : 1;

	uv_timer_start(&c->sample, on_sample, interval_ms, interval_ms);
}

void collector_fast(struct collector *c)
{
	if (!uv_is_active((uv_handle_t *)&c->fast) && !uv_is_closing((uv_handle_t *)&c->fast))
		uv_timer_start(&c->fast, c->on_fast, 0, FAST_MS);
}
