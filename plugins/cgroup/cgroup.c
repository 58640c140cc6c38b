/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/cgroup/cgroup.c - the probe "cgroup": the usage and the limits of cgroups with live processes, each interval,
 * and the paths of cgroups as they begin, for the containers of processes. A pass over a thousand cgroups takes longer
 * than a callback may: the probe divides it into slices.
 */
#include <errno.h>
#include <skep/clock.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "state.h"

#define SLICE_NS 2000000u /* of a callback's budget of 5 ms */
#define SLICE_EVERY_MS 10u

/* ---- passes over live cgroups ------------------------------------------------------- */

static void sample_one(struct cgroup_state *st, struct group *g, uint64_t now_ns)
{
	struct cgroup_record rec;
	int err = group_sample(&st->reader, g, now_ns, &rec);

	if (err == 0) {
		st->host->emit(st->inst, STREAM_CGROUP, NULL, g->sampled_ns, &rec);
	} else if (err == -ENOENT) {
		/* Removed a moment ago, or outside of our mounts. The event of its end brings its last record. */
		if (!st->ring)
			group_remove(&st->groups, &st->reader, g);
	} else {
		st->host->lost(st->inst, STREAM_CGROUP, SKEP_LOSS_QUEUE, 1);
	}
}

/* false: more to do */
static bool slice(struct cgroup_state *st, uint64_t budget_ns)
{
	uint64_t end = skep_boot_ns() + budget_ns;

	while (st->groups.next) {
		struct group *g = st->groups.next;

		st->groups.next = g->next;
		/* All records of a pass have its time: by it a sink adds up the cgroups of a container. */
		if (g->live && g->pass == st->pass && g->sampled_ns < st->pass_ns)
			sample_one(st, g, st->pass_ns);
		if (st->groups.next && budget_ns != UINT64_MAX && skep_boot_ns() >= end)
			return false;
	}
	return true;
}

static void end_pass(struct cgroup_state *st)
{
	if (st->timer)
		st->host->timer_close(st->timer);
	st->timer = NULL;
	if (st->c_known) {
		st->host->counter_set(st->c_known, st->groups.n);
		st->host->counter_set(st->c_files, st->reader.files_open);
	}
}

static void on_slice(struct skep_instance *inst, void *arg)
{
	struct cgroup_state *st = arg;

	(void)inst;
	if (slice(st, SLICE_NS))
		end_pass(st);
}

static void named(struct cgroup_state *st, uint64_t id, const struct skep_str *path)
{
	if (path->len > 0 && cgroup_mounts_name(&st->reader.mounts, id, path))
		cgroup_say_signals(st->inst, st);
}

static void on_live(void *arg, uint64_t id, const struct skep_str *path)
{
	struct cgroup_state *st = arg;
	struct group *g = group_find(&st->groups, id);

	if (path)
		named(st, id, path);
	if (!g && path && path->len > 0) {
		g = group_add(&st->groups, &st->reader, id, path->ptr, path->len);
		if (!g) {
			st->host->lost(st->inst, STREAM_CGROUP, SKEP_LOSS_QUEUE, 1);
			if (st->c_full)
				st->host->counter_add(st->c_full, 1);
		}
	}
	if (!g)
		return; /* its path is unknown: it is gone, or outside of our hierarchy */
	g->live = g->lived = true;
	g->wanted = true;
	g->pass = st->pass;
}

/* Cgroups that the host no longer names close their files, which frees descriptors for others. */
static void rest_quiet(struct cgroup_state *st)
{
	struct group *next;

	for (struct group *g = st->groups.first; g; g = next) {
		next = g->next;
		if (!g->live || g->pass == st->pass)
			continue;
		g->live = false;
		g->opened = false;
		cgroup_files_close(&st->reader, &g->files);
		if (!st->ring) /* no event will report its end */
			group_remove(&st->groups, &st->reader, g);
	}
}

static void begin_pass(struct cgroup_state *st)
{
	st->pass++;
	st->pass_ns = skep_boot_ns();
	st->reader.devices.n = 0; /* device numbers are reused */
	st->host->cgroups_live(st->inst, on_live, st);
	rest_quiet(st);
	st->groups.next = st->groups.first;
}

static void cgroup_sample(struct skep_instance *inst, void *state)
{
	struct cgroup_state *st = state;

	cgroup_drain(st);
	if (st->groups.next && !slice(st, SLICE_NS))
		return; /* the last pass still runs: the interval is too short for this machine */
	begin_pass(st);
	if (slice(st, SLICE_NS)) {
		end_pass(st);
		return;
	}
	if (!st->timer && st->host->timer(inst, SLICE_EVERY_MS, SLICE_EVERY_MS, on_slice, st, &st->timer))
		slice(st, UINT64_MAX); /* a late pass is better than none */
}

static void cgroup_flush(struct skep_instance *inst, void *state)
{
	struct cgroup_state *st = state;

	(void)inst;
	cgroup_drain(st);
	slice(st, UINT64_MAX);
	begin_pass(st);
	slice(st, UINT64_MAX);
	end_pass(st);
}

/* ---- lives -------------------------------------------------------------------------- */

static void begun(struct cgroup_state *st, const struct cgroup_event *e, const char *path, uint32_t len)
{
	struct group *g = group_find(&st->groups, e->id);

	if (g && e->type == CGROUP_RENAMED) {
		if (group_rename(g, &st->reader, path, len))
			st->host->lost(st->inst, STREAM_CGROUP, SKEP_LOSS_QUEUE, 1);
		return;
	}
	if (g || e->type != CGROUP_BEGUN)
		return;
	g = group_add(&st->groups, &st->reader, e->id, path, len);
	if (!g)
		return; /* it counts when it turns out to have live processes */
	g->based = true; /* its counters began at 0 */
	g->wanted = e->flags & CGROUP_WANTED;
	g->sampled_ns = e->time_ns;
}

static void gone(struct cgroup_state *st, const struct cgroup_event *e, const char *path, uint32_t len)
{
	struct group *g = group_find(&st->groups, e->id);
	struct cgroup_record rec;

	/* A cgroup that never had a process or memory has no record: slices and the like. */
	if (((g && g->wanted) || (e->flags & CGROUP_WANTED)) && (e->peak_pages > 0 || (g && g->lived))) {
		group_last(g, e, st->page_size, &rec);
		rec.cgroup = (struct skep_str){ path, len, len };
		st->host->emit(st->inst, STREAM_CGROUP, NULL, e->time_ns, &rec);
	}
	if (g)
		group_remove(&st->groups, &st->reader, g);
}

void cgroup_event(struct cgroup_state *st, const void *data, size_t size)
{
	const struct cgroup_event *e = data;
	struct skep_str path;
	struct group *g;

	if (size < sizeof(*e) || e->path_len > size - sizeof(*e) || e->path_len < 2)
		return; /* a record needs a path */
	path.ptr = (const char *)(e + 1);
	path.len = path.total = (uint32_t)strnlen(path.ptr, e->path_len - 1);
	if (e->id == 0 || path.len == 0)
		return;
	st->host->cgroup_known(st->inst, e->id, &path);
	named(st, e->id, &path);
	switch (e->type) {
	case CGROUP_BEGUN:
	case CGROUP_RENAMED:
		begun(st, e, path.ptr, path.len);
		break;
	case CGROUP_EMPTY:
		/* Reads it before its maker removes it: no pass may ever have seen a container of 100 ms. */
		g = group_find(&st->groups, e->id);
		if (g) {
			g->wanted = g->lived = true;
			sample_one(st, g, skep_boot_ns());
		}
		break;
	case CGROUP_GONE:
		gone(st, e, path.ptr, path.len);
		break;
	default:
		break;
	}
}

/* ---- the plugin ---------------------------------------------------------------------- */

static int cgroup_open(struct skep_instance *inst, void *state, const struct skep_host *host)
{
	struct cgroup_state *st = state;
	struct rlimit files;
	int err;

	st->host = host;
	st->inst = inst;
	st->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	st->groups.most = (size_t)st->opt_most;
	st->reader.root = st->opt_root ? st->opt_root : "";
	st->reader.devices.root = st->reader.root;
	st->reader.files_most = (unsigned)st->opt_files;
	/* Half of the process's limit; the probe never raises the limit itself. */
	if (st->opt_files == 0 && getrlimit(RLIMIT_NOFILE, &files) == 0)
		st->reader.files_most = files.rlim_cur > 32768 ? 16384 : (unsigned)(files.rlim_cur / 2);
	st->reader.text = malloc(CGROUP_TEXT_ROOM);
	if (!st->reader.text)
		return host->fail(inst, -ENOMEM, "no memory for %u bytes", CGROUP_TEXT_ROOM);
	err = cgroup_mounts_find(st->reader.root, &st->reader.mounts);
	if (err == -ENOENT)
		return host->fail(
			inst, err,
			"no cgroups: neither cgroup v2 nor the memory controller of v1 is mounted according to "
			"%s/proc/self/mountinfo; mount -t cgroup2 none /sys/fs/cgroup",
			st->reader.root);
	if (err)
		return host->fail(inst, err, "cannot find the mounts of cgroups: %s", strerror(-err));
	return 0;
}

static int cgroup_start(struct skep_instance *inst, void *state)
{
	struct cgroup_state *st = state;

	st->c_known = st->host->counter(inst, "cgroups", "cgroups that are known");
	st->c_files = st->host->counter(inst, "files_open", "files of cgroups that are kept open");
	st->c_full =
		st->host->counter(inst, "cgroups_full",
				  "times that a cgroup was left out because max_cgroups others had live processes");
	st->c_seen_full = st->host->counter(inst, "seen_full",
					    "cgroups whose end may not be reported because the kernel side's map was full");
	cgroup_load(inst, st);
	cgroup_say_signals(inst, st);
	return 0;
}

static void cgroup_stop(struct skep_instance *inst, void *state)
{
	struct cgroup_state *st = state;

	(void)inst;
	cgroup_drain(st);
	if (st->timer)
		st->host->timer_close(st->timer);
	st->timer = NULL;
	cgroup_unload(st);
}

static void cgroup_close(struct skep_instance *inst, void *state)
{
	struct cgroup_state *st = state;

	(void)inst;
	cgroup_unload(st);
	groups_free(&st->groups, &st->reader);
	cgroup_mounts_free(&st->reader.mounts);
	free(st->reader.text);
	st->reader.text = NULL;
}

static const struct skep_option options[] = {
	{ .name = "max_cgroups",
	  .type = SKEP_O_INT,
	  .offset = offsetof(struct cgroup_state, opt_most),
	  .default_value = "8192",
	  .min = 16,
	  .max = 65536,
	  .help = "most cgroups at a time; the probe leaves out further ones with live processes, and counts them" },
	{ .name = "max_files",
	  .type = SKEP_O_INT,
	  .offset = offsetof(struct cgroup_state, opt_files),
	  .default_value = "0",
	  .min = 0,
	  .max = 1000000,
	  .help = "files kept open (about 12 a cgroup); the probe opens others each time. 0: half of the process's "
		  "limit" },
	{ .name = "root",
	  .type = SKEP_O_STR,
	  .offset = offsetof(struct cgroup_state, opt_root),
	  .help = "a folder in place of /, with proc and sys in it: for tests" },
	{ 0 },
};

static const struct skep_plugin cgroup_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_PROBE,
	.name = "cgroup",
	.version = PACKAGE_VERSION,
	.summary = "memory, CPU, I/O and pressure of cgroups; their paths, for short-lived containers",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(options[0]),
	.streams = cgroup_streams,
	.n_streams = N_STREAMS,
	.state_size = sizeof(struct cgroup_state),
	.open = cgroup_open,
	.start = cgroup_start,
	.sample = cgroup_sample,
	.stop = cgroup_stop,
	.close = cgroup_close,
	.flush = cgroup_flush,
};
SKEP_PLUGIN(cgroup_plugin, SKEP_KIND_PROBE, "cgroup", PACKAGE_VERSION)
