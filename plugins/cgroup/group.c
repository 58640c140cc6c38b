/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/cgroup/group.c - the table of cgroups, their last values, and one more reading.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

/* Samples. Limits and controllers change rarely, and reading limits walks up the whole tree. */
#define LOOK_EVERY 12u

/* ---- the table ------------------------------------------------------------------ */

static struct group **bucket(struct groups *g, uint64_t id)
{
	return &g->buckets[skep_hash_number(&g->key, id) % GROUP_BUCKETS];
}

struct group *group_find(struct groups *g, uint64_t id)
{
	struct group *at = *bucket(g, id);

	while (at && at->id != id)
		at = at->hash_next;
	return at;
}

static void release(struct cgroup_reader *r, struct group *group)
{
	cgroup_files_close(r, &group->files);
	free(group->path);
	free(group);
}

void group_remove(struct groups *g, struct cgroup_reader *r, struct group *group)
{
	struct group **at = bucket(g, group->id);

	while (*at != group)
		at = &(*at)->hash_next;
	*at = group->hash_next;
	if (g->next == group)
		g->next = group->next;
	if (group->prev)
		group->prev->next = group->next;
	else
		g->first = group->next;
	if (group->next)
		group->next->prev = group->prev;
	else
		g->last = group->prev;
	release(r, group);
	g->n--;
}

struct group *group_add(struct groups *g, struct cgroup_reader *r, uint64_t id, const char *path, size_t len)
{
	struct group *group;

	if (g->n >= g->most) {
		struct group *old = g->first;

		while (old && old->live)
			old = old->next;
		if (!old)
			return NULL;
		group_remove(g, r, old);
	}
	group = calloc(1, sizeof(*group));
	if (!group)
		return NULL;
	group->path = strndup(path, len);
	if (!group->path) {
		free(group);
		return NULL;
	}
	if (g->n == 0) /* a user who may make cgroups could make them until their ids collide */
		g->key = skep_hash_key_new();
	group->id = id;
	cgroup_files_init(&group->files);
	group->hash_next = *bucket(g, id);
	*bucket(g, id) = group;
	group->prev = g->last;
	if (g->last)
		g->last->next = group;
	else
		g->first = group;
	g->last = group;
	g->n++;
	return group;
}

int group_rename(struct group *group, struct cgroup_reader *r, const char *path, size_t len)
{
	char *copy;

	if (strlen(group->path) == len && memcmp(group->path, path, len) == 0)
		return 0;
	copy = strndup(path, len);
	if (!copy)
		return -ENOMEM;
	free(group->path);
	group->path = copy;
	cgroup_files_close(r, &group->files);
	group->opened = false;
	return 0;
}

void groups_free(struct groups *g, struct cgroup_reader *r)
{
	struct group *next;

	for (struct group *group = g->first; group; group = next) {
		next = group->next;
		release(r, group);
	}
	memset(g->buckets, 0, sizeof(g->buckets));
	g->first = g->last = g->next = NULL;
	g->n = 0;
}

/* ---- one reading ------------------------------------------------------------------ */

/* bits of the readable figures */
enum { HAS_MEMORY = 1, HAS_CPU = 2, HAS_IO = 4, HAS_PIDS = 8, HAS_PRESSURE = 16 };

static struct skep_str controllers(unsigned has)
{
#define M "memory"
#define C "cpu"
#define I "io"
#define P "pids"
#define S "pressure"
	static const char *const text[32] = {
		"",
		M,
		C,
		M "," C,
		I,
		M "," I,
		C "," I,
		M "," C "," I,
		P,
		M "," P,
		C "," P,
		M "," C "," P,
		I "," P,
		M "," I "," P,
		C "," I "," P,
		M "," C "," I "," P,
		S,
		M "," S,
		C "," S,
		M "," C "," S,
		I "," S,
		M "," I "," S,
		C "," I "," S,
		M "," C "," I "," S,
		P "," S,
		M "," P "," S,
		C "," P "," S,
		M "," C "," P "," S,
		I "," P "," S,
		M "," I "," P "," S,
		C "," I "," P "," S,
		M "," C "," I "," P "," S,
	};
	const char *s = text[has & 31];

	return (struct skep_str){ s, (uint32_t)strlen(s), (uint32_t)strlen(s) };
}

struct reading {
	struct cgroup_reader *r;
	struct group *g;
	struct cgroup_totals totals;
	unsigned has;
	bool gone;
};

/* Is the file missing? Then its controller is off, and the kernel's counters begin at 0 when it is on again. */
static bool is_off(const struct reading *x, enum cgroup_file file)
{
	return x->g->files.fd[file] == FILE_ABSENT;
}

static bool read_file(struct reading *x, enum cgroup_file file)
{
	int err = cgroup_file_read(x->r, &x->g->files, file);

	if (err == -ENODEV)
		x->gone = true;
	return err == 0;
}

static bool number_of(struct reading *x, enum cgroup_file file, uint64_t *ret)
{
	return read_file(x, file) && cgroup_number(x->r->text, ret) == 0;
}

static void read_memory(struct reading *x)
{
	struct group *g = x->g;
	struct cgroup_totals *t = &x->totals;
	const char *text = x->r->text;
	uint64_t peak = 0;

	if (!number_of(x, FILE_MEMORY, &g->memory_bytes)) {
		if (is_off(x, FILE_MEMORY))
			t->memory_high_events = t->memory_max_events = t->oom_events = t->oom_kills = 0;
		return;
	}
	x->has |= HAS_MEMORY;
	if (!number_of(x, FILE_MEMORY_PEAK, &peak))
		peak = g->memory_bytes; /* before 5.19: the largest sample; exact when the cgroup ends */
	if (peak > g->memory_peak_bytes)
		g->memory_peak_bytes = peak;
	if (read_file(x, FILE_MEMORY_EVENTS)) {
		cgroup_key(text, "high", &t->memory_high_events);
		cgroup_key(text, "max", &t->memory_max_events);
		cgroup_key(text, "oom", &t->oom_events); /* v1's oom_control has only oom_kill, since 4.13 */
		cgroup_key(text, "oom_kill", &t->oom_kills);
	}
	number_of(x, FILE_MEMORY_FAILCNT, &t->memory_max_events);
}

static void read_cpu(struct reading *x)
{
	struct cgroup_totals *t = &x->totals;
	const char *text = x->r->text;
	uint64_t us;

	if (read_file(x, FILE_CPU)) {
		if (cgroup_key(text, "usage_usec", &us) == 0) {
			t->cpu_ns = us * 1000;
			x->has |= HAS_CPU;
		}
		if (cgroup_key(text, "user_usec", &us) == 0)
			t->user_ns = us * 1000;
		if (cgroup_key(text, "system_usec", &us) == 0)
			t->system_ns = us * 1000;
		/* v2 has these only while the controller is on: its counters begin at 0 each time */
		t->periods = t->throttled_periods = t->throttled_ns = 0;
		cgroup_key(text, "nr_periods", &t->periods);
		cgroup_key(text, "nr_throttled", &t->throttled_periods);
		if (cgroup_key(text, "throttled_usec", &us) == 0)
			t->throttled_ns = us * 1000;
		else
			cgroup_key(text, "throttled_time", &t->throttled_ns); /* v1, in ns */
	}
	if (number_of(x, FILE_CPU_USAGE, &t->cpu_ns)) {
		x->has |= HAS_CPU;
		number_of(x, FILE_CPU_USER, &t->user_ns);
		number_of(x, FILE_CPU_SYSTEM, &t->system_ns);
	}
}

static void read_io(struct reading *x)
{
	struct cgroup_totals *t = &x->totals;
	struct cgroup_devices *d = &x->r->devices;
	const char *text = x->r->text;

	if (!read_file(x, FILE_IO)) {
		if (is_off(x, FILE_IO))
			t->io = (struct cgroup_io){ 0 };
		return;
	}
	if (x->r->mounts.of[CTL_IO].version == 2) {
		if (cgroup_io_stat(text, cgroup_device_counts, d, &t->io) == 0)
			x->has |= HAS_IO;
		return;
	}
	if (cgroup_blkio(text, cgroup_device_counts, d, &t->io.read_bytes, &t->io.write_bytes) == 0)
		x->has |= HAS_IO;
	if (read_file(x, FILE_IO_CALLS))
		cgroup_blkio(text, cgroup_device_counts, d, &t->io.read_calls, &t->io.write_calls);
}

static void read_pressure(struct reading *x)
{
	static const enum cgroup_file files[] = { FILE_PRESSURE_CPU, FILE_PRESSURE_MEMORY, FILE_PRESSURE_IO };

	for (int i = 0; i < 3; i++)
		if (read_file(x, files[i]) &&
		    cgroup_pressure(x->r->text, &x->totals.some_us[i], &x->totals.full_us[i]) == 0)
			x->has |= HAS_PRESSURE;
}

/* A counter that decreased: its file was unreadable now, or a user reset it. */
static uint64_t since(uint64_t before, uint64_t now)
{
	return now > before ? now - before : 0;
}

static void put_sums(const struct cgroup_totals *a, const struct cgroup_totals *b, struct cgroup_record *ret)
{
	ret->memory_high_events = since(a->memory_high_events, b->memory_high_events);
	ret->memory_max_events = since(a->memory_max_events, b->memory_max_events);
	ret->oom_events = since(a->oom_events, b->oom_events);
	ret->oom_kills = since(a->oom_kills, b->oom_kills);
	ret->cpu_ns = since(a->cpu_ns, b->cpu_ns);
	ret->user_ns = since(a->user_ns, b->user_ns);
	ret->system_ns = since(a->system_ns, b->system_ns);
	ret->cpu_periods = since(a->periods, b->periods);
	ret->cpu_throttled_periods = since(a->throttled_periods, b->throttled_periods);
	ret->cpu_throttled_ns = since(a->throttled_ns, b->throttled_ns);
	ret->read_bytes = since(a->io.read_bytes, b->io.read_bytes);
	ret->write_bytes = since(a->io.write_bytes, b->io.write_bytes);
	ret->read_calls = since(a->io.read_calls, b->io.read_calls);
	ret->write_calls = since(a->io.write_calls, b->io.write_calls);
	ret->pids_max_events = since(a->pids_max_events, b->pids_max_events);
	ret->cpu_some_ns = since(a->some_us[0], b->some_us[0]) * 1000;
	ret->cpu_full_ns = since(a->full_us[0], b->full_us[0]) * 1000;
	ret->memory_some_ns = since(a->some_us[1], b->some_us[1]) * 1000;
	ret->memory_full_ns = since(a->full_us[1], b->full_us[1]) * 1000;
	ret->io_some_ns = since(a->some_us[2], b->some_us[2]) * 1000;
	ret->io_full_ns = since(a->full_us[2], b->full_us[2]) * 1000;
}

int group_sample(struct cgroup_reader *r, struct group *g, uint64_t now_ns, struct cgroup_record *ret)
{
	struct reading x = { .r = r, .g = g, .totals = g->totals };
	uint64_t pids = 0;
	int err;

	if (!g->opened) {
		err = cgroup_files_open(r, g->path, &g->files);
		if (err)
			return err;
		g->opened = true;
		g->age = 0;
	}
	if (g->age % LOOK_EVERY == 0)
		cgroup_files_look_again(&g->files);
	read_memory(&x);
	read_cpu(&x);
	read_io(&x);
	if (number_of(&x, FILE_PIDS, &pids)) {
		x.has |= HAS_PIDS;
		if (read_file(&x, FILE_PIDS_EVENTS))
			cgroup_key(r->text, "max", &x.totals.pids_max_events);
	} else if (is_off(&x, FILE_PIDS)) {
		x.totals.pids_max_events = 0;
	}
	read_pressure(&x);
	if (x.gone)
		return -ENOENT;
	if (g->age++ % LOOK_EVERY == 0)
		cgroup_limits_read(r, &g->files, &g->limits);
	*ret = (struct cgroup_record){
		.cgroup_id = g->id,
		.cgroup = { g->path, (uint32_t)strlen(g->path), (uint32_t)strlen(g->path) },
		.controllers = controllers(x.has),
		.interval_ns = g->sampled_ns && now_ns > g->sampled_ns ? now_ns - g->sampled_ns : 0,
		.memory_bytes = x.has & HAS_MEMORY ? g->memory_bytes : 0,
		.memory_peak_bytes = g->memory_peak_bytes,
		.memory_limit_bytes = g->limits.memory_bytes,
		.cpu_limit = g->limits.cpus,
		.pids = pids,
		.pids_limit = g->limits.pids,
	};
	if (g->based)
		put_sums(&g->totals, &x.totals, ret);
	g->based = true;
	g->totals = x.totals;
	g->sampled_ns = now_ns;
	return 0;
}

void group_last(const struct group *g, const struct cgroup_event *e, uint64_t page_size, struct cgroup_record *ret)
{
	static const struct cgroup_totals zero;
	struct cgroup_totals totals = g ? g->totals : zero;
	unsigned has = 0;

	if (e->flags & CGROUP_MEMORY) {
		totals.memory_high_events = e->high_events;
		totals.memory_max_events = e->max_events;
		totals.oom_events = e->oom_events;
		totals.oom_kills = e->oom_kills;
		has |= HAS_MEMORY;
	}
	if (e->flags & CGROUP_CPU) {
		totals.periods = e->periods;
		totals.throttled_periods = e->throttled_periods;
		totals.throttled_ns = e->throttled_ns;
		has |= HAS_CPU;
	}
	*ret = (struct cgroup_record){
		.cgroup_id = e->id,
		.controllers = controllers(has),
		.gone = true,
		.interval_ns = g && g->sampled_ns && e->time_ns > g->sampled_ns ? e->time_ns - g->sampled_ns : 0,
		.memory_bytes = e->usage_pages * page_size,
		.memory_peak_bytes = e->peak_pages * page_size,
		.memory_limit_bytes = g ? g->limits.memory_bytes : 0,
		.cpu_limit = g ? g->limits.cpus : 0,
		.pids_limit = g ? g->limits.pids : 0,
	};
	if (g && g->memory_peak_bytes > ret->memory_peak_bytes)
		ret->memory_peak_bytes = g->memory_peak_bytes;
	if (ret->memory_limit_bytes == 0 && (e->flags & CGROUP_MEMORY) && e->limit_pages > 0 &&
	    e->limit_pages < (INT64_MAX / page_size)) /* PAGE_COUNTER_MAX means no limit */
		ret->memory_limit_bytes = e->limit_pages * page_size;
	/* Counts from before the probe knew the cgroup do not belong to this interval. */
	if (g ? g->based : (e->flags & CGROUP_BORN) != 0)
		put_sums(g ? &g->totals : &zero, &totals, ret);
}
