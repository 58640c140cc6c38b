/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/iolat.c - the detail iolat: its attachments, and their rows into records.  The first attachment loads the
 * program and the last one removes it; io.bpf.c passes each request to it.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <skep/clock.h>
#include <skep/load.h>
#include <skep/misses.h>
#include <skep/values.h>
#include <stdlib.h>

#include "plugins/io/io.skel.h"
#include "state.h"

#include "plugins/io/iolat.skel.h"

void iolat_signal(struct skep_instance *inst, const struct io_probe *st)
{
	static const char how[] = "raw_tp/block_rq_complete after disk.io's";
	const struct iolat *l = &st->iolat;

	if (!st->hooks)
		st->host->signal(inst, "io.iolat", SKEP_SIGNAL_MISSING, how, "needs disk.io");
	else if (!l->bpf)
		st->host->signal(inst, "io.iolat", SKEP_SIGNAL_OFF, how, "on demand: skep attach iolat");
	else if (!l->writers)
		st->host->signal(
			inst, "io.iolat", SKEP_SIGNAL_PARTIAL, how,
			"requests that the kernel writes back are in the host's distribution only: "
			"their writer is unknown (see cgroup.io.writeback)");
	else
		st->host->signal(inst, "io.iolat", SKEP_SIGNAL_OK, how, NULL);
}

/* ---- loaded --------------------------------------------------------------------- */

static void release(struct io_probe *st)
{
	struct iolat *l = &st->iolat;

	if (st->bpf)
		st->bpf->bss->details_wanted = 0;
	l->cpus = skep_view_free(l->cpus, l->cpus_size);
	iolat_bpf__destroy(l->bpf);
	l->bpf = NULL;
	free(l->reported);
	l->reported = NULL;
	l->n_reported = 0;
}

static int prepare(struct io_probe *st, struct iolat_bpf *bpf)
{
	int err = bpf_map__reuse_fd(bpf->maps.done, bpf_map__fd(st->bpf->maps.done));

	bpf->rodata->scope_cgroup_v1 = st->bpf->rodata->cgroup_v1_memory;
	bpf_map__set_max_entries(bpf->maps.rows, (uint32_t)st->opt_iolat_rows);
	bpf_map__set_max_entries(bpf->maps.cpus, st->n_cpus);
	err = err ?: skep_load_verdict(st->host, bpf->maps.verdict, &bpf->rodata->verdict_pids);
	return err ?: iolat_bpf__load(bpf);
}

static int acquire(struct skep_instance *inst, struct io_probe *st)
{
	struct iolat *l = &st->iolat;
	int err;

	if (l->bpf)
		return 0;
	l->reported = calloc((size_t)st->opt_iolat_rows, sizeof(*l->reported));
	if (!l->reported)
		return st->host->fail(inst, -ENOMEM, "no memory for %lld rows", (long long)st->opt_iolat_rows);
	l->bpf = iolat_bpf__open();
	err = l->bpf ? prepare(st, l->bpf) : -errno;
	if (err)
		goto out;
	l->cpus_size = st->n_cpus * sizeof(*l->cpus);
	l->cpus = skep_view_new(l->bpf->maps.cpus, l->cpus_size);
	if (!l->cpus) {
		err = -errno;
		goto out;
	}
	l->lost = l->full = l->misses = 0;
	err = iolat_bpf__attach(l->bpf);
	if (err)
		goto out;
	st->bpf->bss->details_wanted = 1;
	return 0;
out:
	release(st);
	return skep_detail_fail(inst, st->host, err, "the program of iolat on block_rq_complete");
}

/* ---- records ------------------------------------------------------------------------ */

static struct iolat_reported *reported_of(struct iolat *l, const struct iolat_key *key, size_t room)
{
	for (size_t i = 0; i < l->n_reported; i++)
		if (memcmp(&l->reported[i].key, key, sizeof(*key)) == 0)
			return &l->reported[i];
	if (l->n_reported == room) /* impossible: the map has no more rows */
		return NULL;
	l->reported[l->n_reported].key = *key;
	return &l->reported[l->n_reported++];
}

static struct skep_hist distribution(const struct iolat_row *new, enum iolat_time what)
{
	uint32_t n = IO_LATENCY_SLOTS;

	while (n > 0 && !new->times[what][n - 1])
		n--;
	return (struct skep_hist){ .slots = new->times[what], .n = n, .sum = new->sum_ns[what] };
}

void iolat_emit(struct skep_instance *inst, struct io_probe *st, const struct iolat_key *key,
		const struct iolat_row *new, uint64_t now_ns)
{
	const struct skep_attached *a = &st->iolat.attached[key->slot];
	const struct disk *d = disks_find(&st->disks, key->dev);
	char number[32];
	struct iolat_record rec = {
		.id = a->scope.id,
		.operation = skep_text(key->op < IO_OPS ? io_op_names[key->op] : "other"),
		.count = new->operations,
		.bytes = new->bytes,
		.errors = new->errors,
		.sum_ns = new->sum_ns[IOLAT_DURATION],
		.duration = distribution(new, IOLAT_DURATION),
		.queue = distribution(new, IOLAT_QUEUE),
		.service = distribution(new, IOLAT_SERVICE),
	};

	/* plugged in or out since the last pass */
	snprintf(number, sizeof(number), "%u:%u", key->dev >> 20, key->dev & 0xfffff);
	rec.device = skep_text(d ? d->name : number);
	/* from the attachment: at the last record the host may have forgotten the process of that pid */
	st->host->emit(inst, STREAM_IOLAT, a->who.pid ? &a->who : NULL, now_ns, &rec);
}

/*
 * Emits what a row has more than reported.  only: the slot whose rows count, or SKEP_SCOPE_SLOTS for all; silent: mark
 * as reported and emit nothing.
 */
static void emit_row(struct skep_instance *inst, struct io_probe *st, const struct iolat_key *key, unsigned only,
		     bool silent, uint64_t now_ns)
{
	int fd = bpf_map__fd(st->iolat.bpf->maps.rows);
	struct iolat_row now, new;
	struct iolat_reported *reported;
	const uint64_t *a = (const uint64_t *)&now;
	uint64_t *to = (uint64_t *)&new, *b;

	if (key->slot >= SKEP_SCOPE_SLOTS || (only < SKEP_SCOPE_SLOTS && key->slot != only))
		return;
	if (!silent && !st->iolat.attached[key->slot].used)
		return;
	reported = reported_of(&st->iolat, key, (size_t)st->opt_iolat_rows);
	if (!reported || bpf_map_lookup_elem(fd, key, &now))
		return;
	b = (uint64_t *)&reported->row;
	for (size_t i = 0; i < sizeof(now) / sizeof(*a); i++)
		to[i] = a[i] - b[i];
	reported->row = now;
	if (!silent && new.operations)
		iolat_emit(inst, st, key, &new, now_ns);
}

static void emit_rows(struct skep_instance *inst, struct io_probe *st, unsigned only, bool silent, uint64_t now_ns)
{
	int fd = bpf_map__fd(st->iolat.bpf->maps.rows);
	struct iolat_key key, next;
	bool first = true;

	/* no row goes while the map exists: each key leads to the next */
	while (bpf_map_get_next_key(fd, first ? NULL : &key, &next) == 0) {
		emit_row(inst, st, &next, only, silent, now_ns);
		key = next;
		first = false;
	}
}

static void report_losses(struct skep_instance *inst, struct io_probe *st)
{
	struct iolat *l = &st->iolat;
	uint64_t lost = 0, full = 0, missed = skep_program_misses(l->bpf->progs.on_done), n;

	for (unsigned cpu = 0; cpu < st->n_cpus; cpu++) {
		lost += __atomic_load_n(&l->cpus[cpu].lost, __ATOMIC_RELAXED);
		full += __atomic_load_n(&l->cpus[cpu].full, __ATOMIC_RELAXED);
	}
	n = lost - l->lost + full - l->full + missed - l->misses;
	if (n)
		st->host->lost(inst, STREAM_IOLAT, SKEP_LOSS_KERNEL, n);
	if (full != l->full)
		st->host->counter_add(st->c_iolat_full, full - l->full);
	l->lost = lost;
	l->full = full;
	l->misses = missed;
}

/* ---- attached and detached --------------------------------------------------------- */

int iolat_attach(struct skep_instance *inst, void *state, unsigned detail, const struct skep_detail_scope *scope)
{
	struct io_probe *st = state;
	struct iolat *l = &st->iolat;
	unsigned slot = 0;
	int err;

	(void)detail; /* the only one */
	if (!st->hooks)
		return st->host->fail(
			inst, -EOPNOTSUPP,
			"iolat needs the kernel's tracepoint block_rq_complete (CONFIG_BLOCK): this kernel has none");
	err = skep_attached_begin(inst, st->host, l->attached, 0, scope, &slot);
	if (err)
		return err;
	err = acquire(inst, st);
	if (err) {
		skep_attached_end(&l->attached[slot]);
		return err;
	}
	emit_rows(inst, st, slot, true, 0); /* rows of an earlier attachment in that slot */
	skep_scopes_add(&l->bpf->bss->scopes, slot, &l->attached[slot]);
	iolat_signal(inst, st);
	return 0;
}

void iolat_detach(struct skep_instance *inst, void *state, uint64_t id)
{
	struct io_probe *st = state;
	struct iolat *l = &st->iolat;
	unsigned slot = skep_attached_find(l->attached, id);
	bool last = skep_attached_n(l->attached) == 1;

	if (slot == SKEP_SCOPE_SLOTS)
		return;
	skep_scopes_remove(&l->bpf->bss->scopes, slot);
	if (last)
		iolat_bpf__detach(l->bpf);
	emit_rows(inst, st, slot, false, skep_boot_ns());
	report_losses(inst, st);
	skep_attached_end(&l->attached[slot]);
	if (last)
		release(st);
	iolat_signal(inst, st);
}

void iolat_sample(struct skep_instance *inst, struct io_probe *st, uint64_t now_ns)
{
	struct iolat *l = &st->iolat;
	bool ended[SKEP_SCOPE_SLOTS];

	if (!l->bpf)
		return;
	for (unsigned i = 0; i < SKEP_SCOPE_SLOTS; i++)
		ended[i] = skep_attached_ended(&l->attached[i]);
	emit_rows(inst, st, SKEP_SCOPE_SLOTS, false, now_ns);
	for (unsigned i = 0; i < SKEP_SCOPE_SLOTS; i++)
		if (ended[i])
			skep_attached_over(inst, st->host, &l->attached[i]);
	report_losses(inst, st);
}

void iolat_close(struct io_probe *st)
{
	for (unsigned i = 0; i < SKEP_SCOPE_SLOTS; i++)
		skep_attached_end(&st->iolat.attached[i]);
	release(st);
}
