/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/kept.c - a kernel side that another skepd has left behind (skep/pins.h): one that is
 * ours to the last byte goes on, one of another make is emptied and taken out.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
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
		st->bpf->bss->kept.until_ns = proc_now() + PROC_KEPT_NS;
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

static int map_in(const char *folder, const char *name)
{
	char path[SKEP_PINS_PATH + 96];

	return skep_pins_path(path, folder, "map", name) ? -1 : bpf_obj_get(path);
}

static bool same_layout(const char *folder)
{
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);
	int fd = map_in(folder, "layout");
	bool same = fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 && info.max_entries == PROC_LAYOUT;

	if (fd >= 0)
		close(fd);
	return same;
}

/* It records no more: without its links the programs are detached. */
static void detach(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (strncmp(e->d_name, "link_", 5) == 0)
			unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
}

static int take_record(void *ctx, void *data, size_t size)
{
	const struct proc_head *h = data;
	struct other *o = ctx;

	if (o->readable)
		proc_decode_ring(o->inst, o->st, data, size);
	else if (size >= sizeof(h->type) && h->type < PROC_TYPES)
		o->unread[h->type]++;
	return 0;
}

/* What threads that are gone have left there, for finals that are still to come, or wait. */
static void take_threads(const struct proc_state *st, const char *folder)
{
	int from = map_in(folder, "threads"), to = bpf_map__fd(st->bpf->maps.threads), err;
	struct proc_threads_key key, next;
	struct proc_threads sum;

	err = from < 0 ? -1 : bpf_map_get_next_key(from, NULL, &next);
	while (!err) {
		key = next;
		if (bpf_map_lookup_elem(from, &key, &sum) == 0)
			bpf_map_update_elem(to, &key, &sum, BPF_NOEXIST);
		err = bpf_map_get_next_key(from, &key, &next);
	}
	if (from >= 0)
		close(from);
}

static void take_other(void *arg, const char *folder)
{
	struct other *o = arg;
	int ring = map_in(folder, "ring"), births = map_in(folder, "births"), unsent = map_in(folder, "unsent");
	struct ring_buffer *reader = ring >= 0 ? ring_buffer__new(ring, take_record, o, NULL) : NULL;

	o->readable = same_layout(folder);
	detach(folder);
	if (o->readable)
		take_threads(o->st, folder);
	if (reader)
		ring_buffer__consume(reader);
	if (o->readable && births >= 0)
		proc_births_take(o->inst, o->st, births);
	if (o->readable && unsent >= 0)
		proc_unsent_take(o->inst, o->st, unsent);
	ring_buffer__free(reader);
	for (unsigned i = 0; i < 3; i++) {
		int fd = i == 0 ? ring : i == 1 ? births : unsent;

		if (fd >= 0)
			close(fd);
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
