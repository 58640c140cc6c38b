/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/kept.c - a kernel side that another skepd has left behind (skep/pins.h): one that is
 * ours to the last byte goes on, one of another make is emptied and taken out.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <skep/pins.h>
#include <string.h>
#include <unistd.h>

#include "proc.h"
#include "proc.skel.h"
#include "state.h"

/* The next skepd does not know the paths of cgroups: they are to be told anew. */
static void forget_cgroups(const struct proc_state *st)
{
	int fd = bpf_map__fd(st->bpf->maps.cgroups_told);
	uint64_t id;

	while (bpf_map_get_next_key(fd, NULL, &id) == 0)
		if (bpf_map_delete_elem(fd, &id))
			break;
}

void proc_kept_begin(struct skep_instance *inst, struct proc_state *st)
{
	struct proc_kept *kept = &st->bpf->bss->kept;

	st->seen = kept->reported;
	memcpy(st->seen_misses, kept->reported_misses, sizeof(st->seen_misses));
	proc_kept_touch(st);
	if (!st->pins.adopted)
		return;
	forget_cgroups(st);
	st->host->log(inst, SKEP_LOG_NOTICE, "goes on with what the skepd before has left in the kernel: nothing was missed, unless the ring was full");
}

void proc_kept_touch(struct proc_state *st)
{
	if (st->pins.folder[0])
		st->bpf->bss->kept.until_ns = proc_now() + skep_pins_for_ns(st->host);
	if (st->host->settles)
		return; /* when it is durable that it was told: mark.c */
	st->bpf->bss->kept.reported = st->seen;
	memcpy(st->bpf->bss->kept.reported_misses, st->seen_misses, sizeof(st->seen_misses));
}

bool proc_kept_asleep(const struct proc_state *st)
{
	return st->pins.adopted && st->bpf->bss->kept.until_ns < proc_now();
}

/* ---- of another make ----------------------------------------------------------------- */

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

static int take_record(void *ctx, const void *data, size_t size)
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
_Static_assert(sizeof(union threads_sums) == sizeof(struct proc_threads), "all of struct proc_threads are sums of 64 bits");

/*
 * Both have counted the threads that ended while both were attached: the larger of each two sums counts none twice, and
 * misses at most what ended since the other was detached.  All fields are sums.
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

/* What threads that are gone have left there, for finals that are still to come, or wait. */
static void take_threads(const struct proc_state *st, const char *folder)
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

/* What that map there holds, by one that takes it out. */
static void take_map(const struct other *o, const char *folder, const char *name,
		     void (*take)(struct skep_instance *, struct proc_state *, int fd))
{
	int fd = skep_pins_open(folder, "map", name);

	if (fd < 0)
		return;
	take(o->inst, o->st, fd);
	close(fd);
}

static void take_ring(struct other *o, const char *folder)
{
	int fd = skep_pins_open(folder, "map", "ring");
	struct skep_ring ring;

	if (fd < 0)
		return;
	if (skep_ring_open(&ring, fd) == 0) {
		skep_ring_resume(&ring, o->st->host->mark.source, o->st->host->mark.position);
		skep_ring_read(&ring, take_record, o);
		skep_ring_close(&ring);
	}
	close(fd);
}

static void take_other(void *arg, const char *folder)
{
	struct other *o = arg;

	o->readable = same_layout(folder);
	skep_pins_unpin(folder, "link_"); /* it records no more */
	if (o->readable)
		take_threads(o->st, folder);
	take_ring(o, folder);
	if (o->readable) {
		take_map(o, folder, "births", proc_births_take);
		take_map(o, folder, "unsent_exits", proc_unsent_take);
		take_map(o, folder, "unsent", proc_unsent_take);
	}
	o->st->host->log(o->inst, SKEP_LOG_NOTICE, "another make of the kernel side was left behind: %s, and taken out",
			 o->readable ? "it has been read to its end" : "its records cannot be read and are counted as lost");
}

void proc_kept_others(struct skep_instance *inst, struct proc_state *st)
{
	struct other o = { .inst = inst, .st = st };

	skep_pins_others(&st->pins, st->host, take_other, &o);
	for (unsigned type = 0; type < PROC_TYPES; type++)
		if (o.unread[type])
			st->host->lost(inst, proc_stream_of[type], SKEP_LOSS_KERNEL, o.unread[type]);
}
