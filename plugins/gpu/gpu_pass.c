/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/gpu_pass.c - a pass over all devices. It runs on a pool thread, because a driver may need milliseconds to
 * answer and seconds to wake up; the loop emits its records.
 */
#include <skep/clock.h>
#include <skep/values.h>
#include <string.h>
#include <time.h>

#include "state.h"

#define RETRY_NS UINT64_C(60000000000) /* look for a missing driver again */
#define SLACK_US 2000000               /* how far the driver's clock may differ from ours */

/* Real time is boot time plus this, in us. */
static int64_t realtime_offset_us(void)
{
	struct timespec real;

	clock_gettime(CLOCK_REALTIME, &real);
	return (int64_t)real.tv_sec * 1000000 + real.tv_nsec / 1000 - (int64_t)(skep_boot_ns() / 1000);
}

static void pass(void *arg)
{
	struct gpu_probe *st = arg;

	tally_clear(st->tally);
	if (st->nvml && !st->nvml->up && st->pass_ns >= st->retry_ns) {
		st->retry_ns = st->pass_ns + RETRY_NS;
		nvml_open(st->nvml, st->opt_library);
	}
	if (st->nvml)
		nvml_pass(st->nvml, st->tally, skep_boot_ns());
	if (st->drm)
		drm_pass(st->drm, st->tally, skep_boot_ns());
}

static bool nothing(const struct use_record *u)
{
	return !(u->busy_ns | u->memory_busy_ns | u->copy_ns | u->video_ns | u->memory_bytes | u->held_ns |
		 u->known_ns | u->idle_ns | u->accounted_ns | u->devices) &&
	       !(u->energy_j > 0);
}

static void emit_uses(struct skep_instance *inst, struct gpu_probe *st)
{
	const struct skep_host *host = st->host;
	int64_t offset_us = realtime_offset_us();

	for (uint32_t i = 0; i < st->tally->n; i++) {
		const struct tally_entry *e = &st->tally->entries[i];
		struct skep_upid who;

		if (nothing(&e->use))
			continue;
		/* Excluded, or ended long ago: its use belongs to no process. */
		if (!st->attributes || !host->process_by_pid(inst, e->pid, &who)) {
			host->counter_add(st->unknown, 1);
			continue;
		}
		/* A context cannot be older than its process: then another process has the pid now. */
		if (e->began_us && (int64_t)(who.start_ns / 1000) + offset_us > (int64_t)e->began_us + SLACK_US) {
			host->counter_add(st->unknown, 1);
			continue;
		}
		host->emit(inst, STREAM_USE, &who, st->pass_ns, &e->use);
	}
}

static void emit_events(struct skep_instance *inst, struct gpu_probe *st)
{
	const struct nvml_state *n = st->nvml;

	for (uint32_t i = 0; i < n->n_events; i++) {
		const struct nvml_event *e = &n->event[i];
		struct event_record rec = {
			.kind = skep_text(e->type == NVML_EVENT_XID          ? "xid"
					  : e->type == NVML_EVENT_ECC_SINGLE ? "ecc_single"
									     : "ecc_double"),
			.code = e->type == NVML_EVENT_XID ? e->data : 0,
			.gpu_instance = e->gpu_instance == NVML_NONE ? -1 : (int64_t)e->gpu_instance,
			.compute_instance = e->compute_instance == NVML_NONE ? -1 : (int64_t)e->compute_instance,
		};

		for (uint32_t k = 0; k < n->n; k++)
			if (n->gpus[k].handle == e->device)
				rec.id = skep_text(n->gpus[k].uuid);
		st->host->emit(inst, STREAM_EVENT, NULL, st->pass_ns, &rec);
	}
}

static void report_overflow(struct skep_instance *inst, struct gpu_probe *st)
{
	uint64_t n = st->tally->overflow;

	if (st->nvml)
		n += st->nvml->list_overflow + st->nvml->devices_overflow +
		     (st->nvml->lives ? st->nvml->lives->overflow : 0);
	if (st->drm) {
		n += st->drm->overflow;
		st->host->counter_set(st->cut, st->drm->cut);
	}
	if (n > st->seen_overflow) {
		st->host->lost(inst, STREAM_USE, SKEP_LOSS_QUEUE, n - st->seen_overflow);
		st->seen_overflow = n;
	}
}

static void done(struct skep_instance *inst, void *arg)
{
	struct gpu_probe *st = arg;

	st->passing = false;
	st->host->counter_set(st->took, (skep_boot_ns() - st->pass_ns) / 1000);
	if (st->nvml && st->nvml->up) {
		for (uint32_t i = 0; i < st->nvml->n; i++) {
			const struct nvml_gpu *g = &st->nvml->gpus[i];

			if (g->reported)
				st->host->emit(inst, STREAM_DEVICE, NULL, st->pass_ns, &g->record);
			if (g->has_activity)
				st->host->emit(inst, STREAM_ACTIVITY, NULL, st->pass_ns, &g->activity);
		}
		emit_events(inst, st);
	}
	for (uint32_t i = 0; st->drm && i < st->drm->n_cards; i++)
		if (st->drm->cards[i].reported)
			st->host->emit(inst, STREAM_DEVICE, NULL, st->pass_ns, &st->drm->cards[i].record);
	emit_uses(inst, st);
	report_overflow(inst, st);
	if (!st->reported)
		gpu_signals_devices(inst, st);
	st->reported = st->reported || (st->nvml && st->nvml->up && st->nvml->passes > 1) ||
		       (st->drm && st->drm->reported);
	st->host->drained(inst, st->pass_ns);
	if (st->again) {
		st->again = false;
		gpu_pass_begin(inst, st);
	}
}

void gpu_pass_begin(struct skep_instance *inst, struct gpu_probe *st)
{
	if (st->passing)
		return;
	st->pass_ns = skep_boot_ns();
	st->passing = true;
	if (st->host->work(inst, pass, done, st))
		st->passing = false; /* the probe is about to stop */
}

void gpu_pass_start(struct skep_instance *inst, struct gpu_probe *st)
{
	st->pass_ns = skep_boot_ns();
	st->retry_ns = 0;
	pass(st);
	gpu_signals_devices(inst, st);
}
