/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/collector_tick.c - the collector's housekeeping a few times a second, and the timer for batches that
 * become due.
 */
#include <string.h>
#include <sys/utsname.h>

#include "core/base/log.h"
#include "core/base/magic.h"
#include "core/collect/collector_priv.h"

#define TICK_MS 250u

static void on_pump(uv_timer_t *timer)
{
	struct collector *c = MAGIC_OBJECT(collector, timer->data);
	uint64_t now_ns = clock_boot_ns(), next_ns;

	delivery_tick(c->delivery, now_ns);
	next_ns = delivery_next_ns(c->delivery);
	if (next_ns == UINT64_MAX || uv_is_closing((uv_handle_t *)timer))
		return;
	/* At least a millisecond: delivery_tick() has just offered all due batches; the others wait for answers. */
	uv_timer_start(timer, on_pump, next_ns > now_ns ? (next_ns - now_ns) / MS_NS + 1 : 1, 0);
}

/* A queue has changed: offers its batches from the loop, never from inside a probe's callback. */
void collector_wake(void *arg)
{
	struct collector *c = MAGIC_OBJECT(collector, arg);
	uint64_t now_ns = clock_boot_ns(), next_ns = delivery_next_ns(c->delivery);

	if (next_ns != UINT64_MAX && !uv_is_closing((uv_handle_t *)&c->pump))
		uv_timer_start(&c->pump, on_pump, next_ns > now_ns ? (next_ns - now_ns) / MS_NS + 1 : 0, 0);
}

/* Measures how late the loop is: this tick was due TICK_MS after the last one. */
static void measure_lag(struct collector *c, uint64_t now_ns)
{
	uint64_t due_ns = c->ticked_ns + (uint64_t)TICK_MS * MS_NS;

	if (c->ticked_ns)
		c->lag_ns = now_ns > due_ns ? now_ns - due_ns : 0;
	if (c->lag_ns > c->lag_worst_ns)
		c->lag_worst_ns = c->lag_ns;
	c->ticked_ns = now_ns;
}

/* cloud-init and DHCP name a host minutes after its boot. */
static void look_at_host_name(struct collector *c)
{
	struct utsname name;

	if (uname(&name) < 0 || strcmp(name.nodename, c->host_name) == 0 ||
	    delivery_host_name(c->delivery, name.nodename) < 0)
		return;
	log_notice("this host is called \"%s\" from now on, before \"%s\"", name.nodename, c->host_name);
	snprintf(c->host_name, sizeof(c->host_name), "%s", name.nodename);
}

/* The life-cycle probe first: the records of the processes whose ends it reports wait for the facets of the others. */
void collector_drain(struct collector *c)
{
	for (int lifecycle = 1; lifecycle >= 0; lifecycle--)
		for (struct skep_instance *inst = c->instances; inst; inst = inst->next)
			if (((const struct instance_data *)inst->extra)->lifecycle == lifecycle)
				instance_drain(inst);
}

static void on_tick(uv_timer_t *timer)
{
	struct collector *c = MAGIC_OBJECT(collector, timer->data);
	uint64_t now_ns = clock_boot_ns();

	measure_lag(c, now_ns);
	look_at_host_name(c);
	collector_types_free(c);
	if (c->running && !c->reload) /* a reload may be about to replace a failed instance */
		for (struct skep_instance *inst = c->instances; inst; inst = inst->next) {
			struct instance_data *data = inst->extra;

			if (inst->state == INSTANCE_FAILED && data->retry_ns == 0)
				collector_retry_later(data); /* it failed while it ran */
			else if (inst->state == INSTANCE_FAILED && now_ns >= data->retry_ns)
				collector_retry(c, data);
			if (inst->state == INSTANCE_RUNNING)
				data->retry_ns = 0;
			else
				data->sweeping = false;
		}
	for (struct skep_instance *inst = c->instances; inst; inst = inst->next)
		instance_look_at_work(inst);
	for (struct skep_instance *inst = c->leaving; inst; inst = inst->next)
		instance_look_at_work(inst);
	if (c->leaving && !c->reload)
		collector_leaving(c);
	if (c->running && track_holds(c->track))
		collector_drain(c);
	collector_facets_drained(c);
	collector_details_tick(c, clock_boot_ns());
	cgroups_tick(c->cgroups, now_ns);
	collector_rules_tick(c, now_ns);
	track_tick(c->track, clock_boot_ns());
}

void collector_tick_start(struct collector *c)
{
	uv_timer_start(&c->tick, on_tick, TICK_MS, TICK_MS);
}
