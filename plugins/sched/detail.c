/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/sched/detail.c - the details runqlat, oncpu, offcpu: their attachments, and the counts of each since its last
 * record.
 */
#include <skep/clock.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

/* ---- records of the histograms ----------------------------------------------- */

static struct skep_str state_name(unsigned part)
{
	/* enum sched_state, from SCHED_IOWAIT on */
	static const char *const names[DETAIL_PARTS] = { "iowait", "blocked", "sleeping" };
	uint32_t len = (uint32_t)strlen(names[part]);

	return (struct skep_str){ .ptr = names[part], .len = len, .total = len };
}

/* One distribution: the sum over CPUs, less the part already reported. The hook counts on meanwhile. */
static void report_part(struct skep_instance *inst, struct sched_probe *st, unsigned slot, unsigned part,
			uint64_t now_ns)
{
	struct sched_details *d = &st->details;
	const struct skep_attached *a = &d->attached[slot];
	struct detail_hist *reported = &d->reported[slot].part[part];
	struct detail_hist now = { 0 };
	uint64_t delta[SKEP_HIST_SLOTS];
	struct detail_record rec = { .id = a->scope.id };

	for (unsigned cpu = 0; cpu < d->n_cpus; cpu++) {
		const struct detail_hist *h = &d->hists[(cpu * SKEP_SCOPE_SLOTS + slot) * DETAIL_PARTS + part];

		for (unsigned k = 0; k < SKEP_HIST_SLOTS; k++)
			now.slots[k] += __atomic_load_n(&h->slots[k], __ATOMIC_RELAXED);
		now.sum += __atomic_load_n(&h->sum, __ATOMIC_RELAXED);
	}
	for (unsigned k = 0; k < SKEP_HIST_SLOTS; k++) {
		delta[k] = now.slots[k] - reported->slots[k];
		rec.count += delta[k];
	}
	rec.sum_ns = now.sum - reported->sum;
	*reported = now;
	if (!inst || rec.count == 0)
		return;
	rec.duration = (struct skep_hist){ .slots = delta, .n = SKEP_HIST_SLOTS, .sum = rec.sum_ns };
	if (a->kind == DETAIL_OFFCPU)
		rec.state = state_name(part);
	/* we pass the process: at the last record the host may have forgotten which process had that pid */
	st->host->emit(inst, STREAM_DETAIL + a->kind, a->who.pid ? &a->who : NULL, now_ns, &rec);
}

/* inst NULL: only marks the present counts as reported. */
static void report(struct skep_instance *inst, struct sched_probe *st, unsigned slot, uint64_t now_ns)
{
	unsigned parts = st->details.attached[slot].kind == DETAIL_OFFCPU ? DETAIL_PARTS : 1;

	for (unsigned part = 0; part < parts; part++)
		report_part(inst, st, slot, part, now_ns);
}

static void report_lost(struct skep_instance *inst, struct sched_probe *st)
{
	struct sched_details *d = &st->details;
	uint64_t misses = detail_misses(st), missed = misses - d->misses;
	bool attached[DETAIL_KINDS] = { false };

	for (unsigned i = 0; i < SKEP_SCOPE_SLOTS; i++)
		if (d->attached[i].used)
			attached[d->attached[i].kind] = true;
	d->misses = misses;
	for (unsigned kind = 0; kind < DETAIL_KINDS; kind++) {
		uint64_t lost = 0, n;

		for (unsigned cpu = 0; cpu < d->n_cpus; cpu++)
			lost += __atomic_load_n(&d->cpus[cpu].lost[kind], __ATOMIC_RELAXED);
		/* a switch that the hook missed: at most one value less of each kind */
		n = lost - d->lost[kind] + (attached[kind] ? missed : 0);
		d->lost[kind] = lost;
		if (n == 0)
			continue;
		st->host->lost(inst, STREAM_DETAIL + kind, SKEP_LOSS_KERNEL, n);
		if (d->lost_counter)
			st->host->counter_add(d->lost_counter, n);
	}
}

/* ---- attached and detached ------------------------------------------------------ */

static void release(struct sched_probe *st)
{
	detail_unload(st);
	free(st->details.reported);
	st->details.reported = NULL;
}

static int acquire(struct skep_instance *inst, struct sched_probe *st)
{
	struct sched_details *d = &st->details;
	int err;

	if (d->bpf)
		return 0;
	d->reported = calloc(SKEP_SCOPE_SLOTS, sizeof(*d->reported));
	if (!d->reported)
		return st->host->fail(inst, -ENOMEM, "no memory for %u attachments", SKEP_SCOPE_SLOTS);
	memset(d->lost, 0, sizeof(d->lost));
	d->misses = 0;
	err = detail_load(inst, st);
	if (err) {
		free(d->reported);
		d->reported = NULL;
	}
	return err;
}

int details_attach(struct skep_instance *inst, void *state, unsigned detail, const struct skep_detail_scope *scope)
{
	struct sched_probe *st = state;
	struct sched_details *d = &st->details;
	unsigned slot = 0;
	int err;

	if (detail >= DETAIL_KINDS)
		return st->host->fail(inst, -EINVAL, "there is no detail number %u", detail);
	if (!d->kernel.hook || (detail != DETAIL_ONCPU && !d->kernel.run_delay))
		return st->host->fail(inst, -EOPNOTSUPP, "%s is not available here: %s", sched_details[detail].name,
				      d->kernel.missing);
	err = skep_attached_begin(inst, st->host, d->attached, detail, scope, &slot);
	if (err)
		return err;
	err = acquire(inst, st);
	if (err) {
		skep_attached_end(&d->attached[slot]);
		return err;
	}
	/* counts of an earlier attachment in this slot */
	report(NULL, st, slot, 0);
	skep_scopes_add(detail_scopes_of(st), slot, &d->attached[slot]);
	detail_kernel_tell(inst, st);
	return 0;
}

void details_detach(struct skep_instance *inst, void *state, uint64_t id)
{
	struct sched_probe *st = state;
	struct sched_details *d = &st->details;
	unsigned slot = skep_attached_find(d->attached, id);
	bool last = skep_attached_n(d->attached) == 1;

	if (slot == SKEP_SCOPE_SLOTS)
		return;
	skep_scopes_remove(detail_scopes_of(st), slot);
	if (last)
		detail_detach_hook(st);
	report(inst, st, slot, skep_boot_ns());
	report_lost(inst, st);
	skep_attached_end(&d->attached[slot]);
	if (last)
		release(st);
	detail_kernel_tell(inst, st);
}

void details_sample(struct skep_instance *inst, struct sched_probe *st, uint64_t now_ns)
{
	struct sched_details *d = &st->details;

	if (!d->bpf)
		return;
	for (unsigned i = 0; i < SKEP_SCOPE_SLOTS; i++) {
		struct skep_attached *a = &d->attached[i];
		bool ended;

		if (!a->used)
			continue;
		ended = skep_attached_ended(a);
		report(inst, st, i, now_ns);
		if (ended)
			skep_attached_over(inst, st->host, a);
	}
	report_lost(inst, st);
}

void details_close(struct sched_probe *st)
{
	for (unsigned i = 0; i < SKEP_SCOPE_SLOTS; i++)
		skep_attached_end(&st->details.attached[i]);
	release(st);
}
