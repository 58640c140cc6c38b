/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/pinned.c - the pinned BPF state of a previous skepd (skep/pins.h): continues the state of the same
 * build, or drains and removes the state of another build.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <skep/drain.h>
#include <skep/pins.h>
#include <string.h>
#include <unistd.h>

#include "proc.h"
#include "plugins/proc/proc.skel.h"
#include "state.h"

/* This skepd does not know the paths of cgroups, so the kernel side must send them again. */
static void forget_cgroups(const struct proc_state *st)
{
	int fd = bpf_map__fd(st->bpf->maps.cgroups_sent);
	uint64_t id;

	while (bpf_map_get_next_key(fd, NULL, &id) == 0)
		if (bpf_map_delete_elem(fd, &id))
			break;
	__atomic_fetch_add(&st->bpf->bss->cgroups_round, 1, __ATOMIC_SEQ_CST);
}

/* The stream that lost a record for each event that no hook recorded, by type of record. */
static struct skep_pins_kinds kinds(void)
{
	struct skep_pins_kinds k = { .n = PROC_TYPES };

	for (unsigned type = 0; type < PROC_TYPES; type++)
		k.stream[type] = proc_stream_of[type];
	return k;
}

void proc_pinned_reported(const struct proc_state *st, const struct proc_counters *counters, const uint64_t misses[4])
{
	struct proc_reported now = { .counters = *counters };
	uint32_t zero = 0;

	memcpy(now.misses, misses, sizeof(now.misses));
	bpf_map_update_elem(bpf_map__fd(st->bpf->maps.reported), &zero, &now, BPF_ANY);
}

void proc_pinned_begin(struct skep_instance *inst, struct proc_state *st)
{
	struct proc_reported before = { 0 };
	uint32_t zero = 0;

	bpf_map_lookup_elem(bpf_map__fd(st->bpf->maps.reported), &zero, &before);
	st->seen = before.counters;
	memcpy(st->seen_misses, before.misses, sizeof(st->seen_misses));
	proc_pinned_touch(st);
	if (!st->pins.adopted)
		return;
	forget_cgroups(st);
	st->host->log(
		inst, SKEP_LOG_NOTICE,
		"adopted the previous skepd's pinned BPF state: no event was missed, unless the ring was full");
}

void proc_pinned_touch(struct proc_state *st)
{
	const struct skep_pins_kinds k = kinds();

	if (!st->pins.folder[0])
		return;
	if (skep_pins_touch(&st->pins, st->host, st->inst, bpf_map__fd(st->bpf->maps.kept), PROC_LAYOUT,
			    bpf_map__fd(st->bpf->maps.unattended), &k))
		st->resync = true;
	if (!st->host->settles) /* else durable.c does it when the reports are durable */
		proc_pinned_reported(st, &st->seen, st->seen_misses);
}

/* ---- of another build ---------------------------------------------------------------- */

struct other {
	struct skep_instance *inst;
	struct proc_state *st;
	bool readable;
	uint64_t unread[PROC_TYPES];
};

static bool same_layout(const char *folder)
{
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);
	int fd = skep_pins_open(folder, "map", "layout");
	bool same = fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 && info.max_entries == PROC_LAYOUT;

	if (fd >= 0)
		close(fd);
	return same;
}

static int read_record(void *ctx, const void *data, size_t size)
{
	const struct proc_head *h = data;
	struct other *o = ctx;

	if (o->readable)
		proc_decode_ring(o->inst, o->st, data, size);
	else if (size >= sizeof(h->type) && h->type < PROC_TYPES)
		o->unread[h->type]++;
	return 0;
}

#define THREADS_SUMS (sizeof(struct proc_threads) / sizeof(uint64_t))

union threads_sums {
	struct proc_threads threads;
	uint64_t n[THREADS_SUMS];
};
_Static_assert(sizeof(union threads_sums) == sizeof(struct proc_threads),
	       "all of struct proc_threads are sums of 64 bits");

/*
 * Both kernel sides count threads that end while both are attached. The larger of each two sums counts no thread twice,
 * and misses at most the threads that ended since the other was detached.  All fields are sums.
 */
static void add_threads(int to, const struct proc_threads_key *key, const union threads_sums *theirs)
{
	union threads_sums ours = { 0 };

	if (bpf_map_update_elem(to, key, theirs, BPF_NOEXIST) == 0 || bpf_map_lookup_elem(to, key, &ours))
		return;
	for (size_t i = 0; i < THREADS_SUMS; i++)
		if (ours.n[i] < theirs->n[i])
			ours.n[i] = theirs->n[i];
	bpf_map_update_elem(to, key, &ours, BPF_ANY);
}

/* Copies the sums of freed threads, for totals that wait or are still to come. */
static void copy_threads(const struct proc_state *st, const char *folder)
{
	int from = skep_pins_open(folder, "map", "threads"), to = bpf_map__fd(st->bpf->maps.threads), err;
	struct proc_threads_key key, next;
	union threads_sums sum;

	err = from < 0 ? -1 : bpf_map_get_next_key(from, NULL, &next);
	while (!err) {
		key = next;
		if (bpf_map_lookup_elem(from, &key, &sum) == 0)
			add_threads(to, &key, &sum);
		err = bpf_map_get_next_key(from, &key, &next);
	}
	if (from >= 0)
		close(from);
}

/* Drains a map of that folder. */
static void drain_map(const struct other *o, const char *folder, const char *name,
		     void (*drain)(struct skep_instance *, struct proc_state *, int fd))
{
	int fd = skep_pins_open(folder, "map", name);

	if (fd < 0)
		return;
	drain(o->inst, o->st, fd);
	close(fd);
}

static void drain_ring(struct other *o, const char *folder)
{
	int fd = skep_pins_open(folder, "map", "ring");
	struct skep_ring ring;

	if (fd < 0)
		return;
	if (skep_ring_open(&ring, fd) == 0) {
		skep_ring_resume(&ring, o->st->host->mark.source, o->st->host->mark.position);
		skep_ring_read_last(&ring, read_record, o);
		skep_ring_close(&ring);
	}
	close(fd);
}

/* Reports the records that found its ring and maps full since a skepd last reported them. */
static void report_losses(const struct other *o, const char *folder, const int fds[4])
{
	int counters = skep_pins_open(folder, "map", "counters"), reported = skep_pins_open(folder, "map", "reported");
	struct proc_reported before = { 0 };
	struct proc_counters now = { 0 };
	uint64_t misses[4];
	uint32_t at = 0;

	if (reported >= 0 && counters >= 0 && bpf_map_lookup_elem(reported, &at, &before) == 0 &&
	    skep_sums_of_map(counters, sizeof(now), &now) == 0) {
		proc_report_losses(o->inst, o->st, &now, &before.counters);
		memcpy(misses, before.misses, sizeof(misses));
		proc_report_misses(o->inst, o->st, fds, &now, misses);
	}
	if (counters >= 0)
		close(counters);
	if (reported >= 0)
		close(reported);
}

static void drain_other(void *arg, const char *folder)
{
	const struct skep_pins_kinds k = kinds();
	struct other *o = arg;
	struct skep_kept kept = { 0 };
	int fds[4];

	o->readable = same_layout(folder);
	skep_pins_kept(folder, &kept);
	for (unsigned i = 0; i < 4; i++)
		fds[i] = skep_pins_program(&o->st->pins, folder, proc_program_names[i]);
	skep_pins_unpin(folder, "link_"); /* from here on it records no event */
	skep_pins_other_unattended(o->st->host, o->inst, folder, &kept, &k);
	if (o->readable) {
		report_losses(o, folder, fds);
		copy_threads(o->st, folder);
	}
	for (unsigned i = 0; i < 4; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	drain_ring(o, folder);
	if (o->readable) {
		drain_map(o, folder, "pending_forks", proc_pending_forks_drain);
		drain_map(o, folder, "unsent_exits", proc_unsent_drain);
		drain_map(o, folder, "unsent", proc_unsent_drain);
	}
	o->st->host->log(o->inst, SKEP_LOG_NOTICE,
			 "removed the previous skepd's pinned BPF state (another build, or expired): %s",
			 o->readable ? "its records were read to the end"
				     : "its records cannot be read and count as lost");
}

void proc_pinned_others(struct skep_instance *inst, struct proc_state *st)
{
	struct other o = { .inst = inst, .st = st };

	skep_pins_others(&st->pins, st->host, drain_other, &o);
	for (unsigned type = 0; type < PROC_TYPES; type++)
		if (o.unread[type])
			st->host->lost(inst, proc_stream_of[type], SKEP_LOSS_KERNEL, o.unread[type]);
}
