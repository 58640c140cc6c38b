/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/pinned.c - pinned state of the previous skepd (skep/pins.h).  State of the same build continues; state of
 * another build is put to sleep, read and removed.
 *
 * The BPF programs only add up.  So user space saves the reported sums of each process and cgroup in maps of its own,
 * pinned beside theirs.  It saves before it reports: when skepd dies between the two, the record is lost, and no record
 * comes twice.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <skep/clock.h>
#include <string.h>
#include <unistd.h>

#include "plugins/io/io.skel.h"
#include "state.h"

static const struct skep_pins_kinds kinds = {
	.n = IO_UNATTENDED_KINDS,
	.stream = { [IO_UNATTENDED_DISK] = STREAM_DISK, [IO_UNATTENDED_PROCESS] = STREAM_PROCESS },
};

static void touch(struct io_probe *st)
{
	skep_pins_touch(&st->pins, st->host, st->inst, bpf_map__fd(st->bpf->maps.kept), IO_LAYOUT,
			bpf_map__fd(st->bpf->maps.unattended), &kinds);
}

void io_pinned_touch(struct io_probe *st)
{
	const struct io_reported now = { .counters = st->seen, .misses = st->seen_missed.completions,
					 .other_misses = st->seen_missed.others, .unsaved = st->unsaved };
	uint32_t zero = 0;

	if (!st->pins.folder[0])
		return;
	touch(st);
	bpf_map_update_elem(bpf_map__fd(st->bpf->maps.reported), &zero, &now, BPF_ANY);
}

/* ---- reported sums ------------------------------------------------------------------- */

/*
 * Saves the reported sums of an entry.  Both errors are temporary: E2BIG, the map is full, and ENOMEM, as the map
 * allocates when it grows.  The next skepd must not report the entry a second time: it takes the entry's sums as
 * reported (begin_unsaved).  So keep() writes `unsaved` to the map "reported" before the record leaves.
 */
static void keep(struct io_probe *st, int fd, struct level *l, const void *value)
{
	int err;

	if (!st->pins.folder[0])
		return;
	err = bpf_map_update_elem(fd, l->key, value, BPF_ANY) ? -errno : 0;
	l->saved = err ? LEVEL_UNSAVED : LEVEL_SAVED;
	if (!err || st->unsaved)
		return;
	st->unsaved = true;
	io_pinned_touch(st);
	st->host->log(
		st->inst, SKEP_LOG_WARNING,
		"cannot save the reported I/O of a process or cgroup: %s; "
		"a restart of skepd now loses some I/O and counts it as lost; raise the options processes and cgroups",
		strerror(-err));
}

void io_pinned_process(struct io_probe *st, struct level *l)
{
	struct io_process_told reported;

	memcpy(&reported.last, l->last, sizeof(reported.last));
	memcpy(reported.delay_ns, IO_DELAYS_REPORTED(l), sizeof(reported.delay_ns));
	keep(st, bpf_map__fd(st->bpf->maps.processes_told), l, &reported);
}

void io_pinned_process_over(const struct io_probe *st, const struct level *l)
{
	bpf_map_delete_elem(bpf_map__fd(st->bpf->maps.processes_told), l->key);
}

void io_pinned_cgroup(struct io_probe *st, struct level *l)
{
	keep(st, bpf_map__fd(st->bpf->maps.cgroups_told), l, l->last);
}

void io_pinned_cgroup_over(const struct io_probe *st, const struct level *l)
{
	bpf_map_delete_elem(bpf_map__fd(st->bpf->maps.cgroups_told), l->key);
}

/* Tries again: other entries may have made room. */
void io_pinned_retry(struct io_probe *st)
{
	bool unsaved = false;

	if (!st->unsaved)
		return;
	for (size_t i = 0; i < st->processes.room; i++) {
		struct level *l = &st->processes.at[i];

		if (l->used && l->saved == LEVEL_UNSAVED)
			io_pinned_process(st, l);
		unsaved = unsaved || (l->used && l->saved == LEVEL_UNSAVED);
	}
	for (size_t i = 0; i < st->cgroups.room; i++) {
		struct level *l = &st->cgroups.at[i];

		if (l->used && l->saved == LEVEL_UNSAVED)
			io_pinned_cgroup(st, l);
		unsaved = unsaved || (l->used && l->saved == LEVEL_UNSAVED);
	}
	st->unsaved = unsaved;
}

static void found_process(void *arg, const void *key, const void *value)
{
	const struct io_process_told *reported = value;
	struct io_probe *st = arg;
	struct level *l;

	l = levels_get(&st->processes, key);
	if (!l)
		return;
	memcpy(l->last, &reported->last, sizeof(reported->last));
	memcpy(IO_DELAYS_REPORTED(l), reported->delay_ns, sizeof(reported->delay_ns));
	l->saved = LEVEL_SAVED;
}

static void found_cgroup(void *arg, const void *key, const void *value)
{
	struct io_probe *st = arg;
	struct level *l;

	l = levels_get(&st->cgroups, key);
	if (!l)
		return;
	memcpy(l->last, value, sizeof(struct io_cgroup));
	l->saved = LEVEL_SAVED;
}

static int reported_before(struct io_probe *st, int processes, int cgroups)
{
	int err = skep_drain_map(&st->batch, processes, sizeof(struct io_process_key), sizeof(struct io_process_told),
				 found_process, st);

	return err
		       ?: skep_drain_map(&st->batch, cgroups, sizeof(struct io_cgroup_key), sizeof(struct io_cgroup),
					 found_cgroup, st);
}

static void begin_process(void *arg, const void *key, const void *value)
{
	struct io_probe *st = arg;
	struct level *l;

	l = levels_get(&st->processes, key);
	if (l && l->saved == LEVEL_UNREPORTED)
		memcpy(l->last, value, sizeof(struct io_process));
}

static void begin_cgroup(void *arg, const void *key, const void *value)
{
	struct io_probe *st = arg;
	struct level *l;

	l = levels_get(&st->cgroups, key);
	if (!l || l->saved != LEVEL_UNREPORTED)
		return;
	memcpy(l->last, value, sizeof(struct io_cgroup));
	l->saved = LEVEL_UNSAVED;
	st->host->lost(st->inst, STREAM_CGROUP, SKEP_LOSS_KERNEL, 1);
}

/*
 * The previous skepd had no room to save the reported sums of some entries.  An entry without saved state is such an
 * entry, or a new one from while no skepd ran.  Its sums up to now count as reported, and as one lost record.
 */
static int begin_unsaved(struct io_probe *st, int processes, int cgroups)
{
	int err = skep_drain_map(&st->batch, processes, sizeof(struct io_process_key), sizeof(struct io_process),
				 begin_process, st);
	uint64_t lost = 0;

	err = err
		      ?: skep_drain_map(&st->batch, cgroups, sizeof(struct io_cgroup_key), sizeof(struct io_cgroup),
					begin_cgroup, st);
	if (st->delays)
		io_delays_read(st->inst, st);
	for (size_t i = 0; i < st->processes.room; i++) {
		struct level *l = &st->processes.at[i];
		const struct io_process *last = (const struct io_process *)l->last;

		if (!l->used || l->saved != LEVEL_UNREPORTED)
			continue;
		for (unsigned d = 0; d < IO_DELAYS; d++)
			IO_DELAYS_REPORTED(l)[d] = last->delay_ns[d] + l->extra[d];
		l->saved = LEVEL_UNSAVED;
		lost++;
	}
	if (lost)
		st->host->lost(st->inst, STREAM_PROCESS, SKEP_LOSS_KERNEL, lost);
	st->unsaved = true; /* until io_pinned_retry() */
	return err;
}

static void go_on(struct skep_instance *inst, struct io_probe *st)
{
	struct io_reported before;
	uint32_t zero = 0;
	int err;

	err = bpf_map_lookup_elem(bpf_map__fd(st->bpf->maps.reported), &zero, &before) ? -errno : 0;
	if (!err) {
		st->seen = before.counters;
		st->seen_missed = (struct io_missed){ before.misses, before.other_misses };
	}
	err = err
		      ?: reported_before(st, bpf_map__fd(st->bpf->maps.processes_told),
				     bpf_map__fd(st->bpf->maps.cgroups_told));
	if (!err && before.unsaved)
		err = begin_unsaved(st, bpf_map__fd(st->bpf->maps.processes), bpf_map__fd(st->bpf->maps.cgroups));
	if (err)
		st->host->log(inst, SKEP_LOG_WARNING,
			      "cannot read what the previous skepd reported: %s; skepd may report some I/O twice",
			      strerror(-err));
	else
		st->host->log(inst, SKEP_LOG_NOTICE,
			      "adopted the previous skepd's pinned BPF state: no event was missed");
}

/* ---- state of another build ------------------------------------------------------------------- */

enum { PROCESSES, CGROUPS, PROCESSES_TOLD, CGROUPS_TOLD, COUNTERS, REPORTED, MAPS };

/* The reported sums of the other build are not ours; but the delays of live threads are in the maps of neither. */
static void ours_begin(struct io_probe *st)
{
	for (size_t i = 0; i < st->processes.room; i++) {
		struct level *l = &st->processes.at[i];
		const struct io_process *gone = (const struct io_process *)l->last;

		if (!l->used)
			continue;
		for (unsigned d = 0; d < IO_DELAYS; d++) {
			uint64_t *reported = &IO_DELAYS_REPORTED(l)[d];

			*reported -= gone->delay_ns[d] < *reported ? gone->delay_ns[d] : *reported;
		}
		memset(l->last, 0, sizeof(l->last));
		io_pinned_process(st, l);
	}
	for (size_t i = 0; i < st->cgroups.room; i++)
		if (st->cgroups.at[i].used)
			io_pinned_cgroup_over(st, &st->cgroups.at[i]);
	levels_free(&st->cgroups);
}

/* Reports losses and misses of the pinned programs since the previous skepd did. 0 or -errno. */
static int take_losses(struct io_probe *st, const int fds[MAPS], const int programs[IO_PROGRAMS],
		       struct io_reported *ret)
{
	struct io_missed missed;
	struct io_counters now;
	uint32_t zero = 0;
	int err;

	if (bpf_map_lookup_elem(fds[REPORTED], &zero, ret))
		return -errno;
	err = skep_sums_of_map(fds[COUNTERS], sizeof(now), &now);
	if (err)
		return err;
	io_report_losses(st->inst, st, &now, &ret->counters);
	missed = (struct io_missed){ ret->misses, ret->other_misses };
	io_report_misses(st->inst, st, programs, &missed);
	return 0;
}

static int take(struct skep_instance *inst, struct io_probe *st, const int fds[MAPS], const int programs[IO_PROGRAMS])
{
	struct io_reported before;
	uint64_t now = skep_boot_ns();
	int err;

	err = take_losses(st, fds, programs, &before);
	err = err ?: reported_before(st, fds[PROCESSES_TOLD], fds[CGROUPS_TOLD]);
	if (!err && before.unsaved)
		err = begin_unsaved(st, fds[PROCESSES], fds[CGROUPS]);
	err = err ?: io_processes_take(inst, st, fds[PROCESSES], now);
	err = err ?: io_cgroups_take(inst, st, fds[CGROUPS], now);
	ours_begin(st);
	return err;
}

static void take_other(void *arg, const char *folder)
{
	static const char *const names[MAPS] = { "processes",    "cgroups",  "processes_told",
						 "cgroups_told", "counters", "reported" };
	struct io_probe *st = arg;
	int fds[MAPS], programs[IO_PROGRAMS], err = 0;

	for (int i = 0; i < IO_PROGRAMS; i++)
		programs[i] = skep_pins_program(&st->pins, folder, io_program_names[i]);
	if (!skep_pins_take_over(st->host, st->inst, folder, bpf_map__fd(st->bpf->maps.kept), IO_LAYOUT, &kinds))
		err = -EBADMSG;
	skep_pins_unpin(folder, "link_");
	for (int i = 0; i < MAPS; i++) {
		fds[i] = skep_pins_open(folder, "map", names[i]);
		err = err ?: fds[i] < 0 ? fds[i] : 0;
	}
	err = err ?: take(st->inst, st, fds, programs);
	for (int i = 0; i < IO_PROGRAMS; i++)
		if (programs[i] >= 0)
			close(programs[i]);
	for (int i = 0; i < MAPS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (err)
		st->host->log(
			st->inst, SKEP_LOG_WARNING,
			"cannot read the previous skepd's pinned BPF state: %s; removed it: "
			"the I/O that it counted is missing",
			strerror(-err));
	else
		st->host->log(
			st->inst, SKEP_LOG_NOTICE,
			"removed the previous skepd's pinned BPF state (another build, or expired): "
			"its records were read to the end");
}

void io_pinned_begin(struct skep_instance *inst, struct io_probe *st)
{
	if (st->pins.adopted)
		go_on(inst, st);
	skep_pins_others(&st->pins, st->host, take_other, st);
	touch(st);
}
