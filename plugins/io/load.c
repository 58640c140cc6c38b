/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/load.c - loads the BPF programs: asks the kernel's BTF for the hooks, sizes the maps, attaches, and
 * unloads.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <skep/load.h>
#include <skep/object.h>
#include <skep/preempt.h>
#include <skep/types.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plugins/io/io.skel.h"
#include "sdk/probe/hierarchy.h"
#include "state.h"

#define WAYS 4u
#define SHARDS_MAX 8u
#define DEVICES_MAX 8192u    /* entries of 2.7 KB */
#define DISKS_TO_COME 8u     /* devices that can be plugged in later, at least */
#define DISKS_STEP 16u
#define DELAYACCT "/proc/sys/kernel/task_delayacct"

/* The first line of the file below the root.  false: there is no such file. */
static bool line_of(const struct io_probe *st, const char *file, char ret[4096])
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%.1024s%s", st->root, file);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(ret, 4096, f))
		ret[0] = '\0';
	fclose(f);
	return true;
}

/* Does the kernel account delays? 1, 0, or -1: it cannot.  By sysctl since 5.14, before by its command line. */
static int delayacct(const struct io_probe *st, const struct skep_kernel_types *types)
{
	char text[4096];

	if (!skep_types_has_member(types, "task_struct", "delays"))
		return -1;
	if (line_of(st, DELAYACCT, text))
		return text[0] == '1';
	return line_of(st, "/proc/cmdline", text) && !strstr(text, "nodelayacct");
}

void io_delayacct_look(struct skep_instance *inst, struct io_probe *st)
{
	char text[4096];
	int now;

	if (st->delayacct < 0 || !st->opt_delays || !line_of(st, DELAYACCT, text))
		return;
	now = text[0] == '1';
	if (now == st->delayacct)
		return;
	st->delayacct = now;
	st->delays = now && st->delays_attached;
	st->host->log(inst, st->delays ? SKEP_LOG_NOTICE : SKEP_LOG_WARNING,
		      !now		  ? "kernel.task_delayacct is off now: processes have no block_delay_ns from now on"
		      : st->delays ? "kernel.task_delayacct is on again"
				   : "kernel.task_delayacct is on now, but was off when the probe started; remedy: restart skepd");
	io_signal_delay(inst, st);
}

static void find_hooks(struct io_probe *st, const struct skep_kernel_types *types, struct io_hooks *h)
{
	int getrq = skep_types_argument(types, "block_getrq", "bio"),
	    merge = skep_types_argument(types, "block_bio_frontmerge", "bio");

	h->complete = skep_types_has_tracepoint(types, "block_rq_complete");
	h->start = skep_types_has_tracepoint(types, "block_io_start");
	h->start_missed = h->start && skep_types_preempt_programs(types);
	h->getrq = !h->start && (getrq == 0 || getrq == 1);
	h->merge = h->getrq && (merge == 0 || merge == 2);
	h->reclaim = skep_types_has_tracepoint(types, "mm_vmscan_direct_reclaim_begin") &&
		     skep_types_has_tracepoint(types, "mm_vmscan_direct_reclaim_end");
	h->memcg_reclaim = skep_types_has_tracepoint(types, "mm_vmscan_memcg_reclaim_begin") &&
			   skep_types_has_tracepoint(types, "mm_vmscan_memcg_reclaim_end");
	h->blkcg_v2 = !skep_hierarchy_v1(st->root, "blkio") && skep_types_has_member(types, "bio", "bi_blkg");
	h->memory_v1 = skep_hierarchy_v1(st->root, "memory") != 0;
	st->delayacct = delayacct(st, types);
	st->bpf->rodata->getrq_bio_arg = getrq == 1;
	st->bpf->rodata->merge_bio_arg = merge == 2;
}

static uint32_t power_of_two(uint64_t at_least)
{
	uint32_t n = 1;

	while (n < at_least && n < 1u << 30)
		n <<= 1;
	return n;
}

static void choose(struct io_probe *st, const struct io_hooks *h)
{
	struct io_bpf *bpf = st->bpf;

	bpf->rodata->by_bio = !h->start;
	bpf->rodata->blkcg_v2 = h->blkcg_v2;
	bpf->rodata->cgroup_v1_memory = h->memory_v1;
	bpf_program__set_autoload(bpf->progs.on_complete, h->complete);
	bpf_program__set_autoload(bpf->progs.on_start, h->complete && h->start);
	bpf_program__set_autoload(bpf->progs.on_start_missed, h->complete && h->start_missed);
	bpf_program__set_autoload(bpf->progs.on_getrq, h->complete && h->getrq);
	bpf_program__set_autoload(bpf->progs.on_frontmerge, h->complete && h->merge);
	bpf_program__set_autoload(bpf->progs.on_reclaim_begin, h->reclaim);
	bpf_program__set_autoload(bpf->progs.on_reclaim_end, h->reclaim);
	bpf_program__set_autoload(bpf->progs.on_memcg_reclaim_begin, h->memcg_reclaim);
	bpf_program__set_autoload(bpf->progs.on_memcg_reclaim_end, h->memcg_reclaim);
	st->hooks = h->complete;
	st->delays = st->delays_attached = st->opt_delays && st->delayacct == 1;
	bpf_program__set_autoload(bpf->progs.on_exit, st->delays);
	bpf_program__set_autoload(bpf->progs.on_task, st->delays);
}

static void size_maps(struct io_probe *st)
{
	uint32_t buckets = power_of_two(((uint64_t)st->opt_requests + WAYS - 1) / WAYS),
		 shards = power_of_two(st->n_cpus), devices;
	uint32_t known = DISKS_TO_COME;
	struct io_bpf *bpf = st->bpf;

	for (size_t i = 0; i < st->disks.n; i++)
		known += !st->disks.at[i].partition;
	/* In steps: to skep_pins_load() another size of a map is another build, and one disk more must not make one. */
	known = (known + DISKS_STEP - 1) / DISKS_STEP * DISKS_STEP;
	if (shards > SHARDS_MAX)
		shards = SHARDS_MAX;
	/* shards for reads and writes only: the others are rare */
	while (shards > 1 && known * (2 * shards + IO_OPS - 2) > DEVICES_MAX)
		shards >>= 1;
	devices = known * (2 * shards + IO_OPS - 2);
	bpf->rodata->shard_mask = shards - 1;
	bpf->rodata->bucket_mask = buckets - 1;
	bpf_map__set_max_entries(bpf->maps.slots, buckets);
	bpf_map__set_max_entries(bpf->maps.devices, devices);
	bpf_map__set_max_entries(bpf->maps.processes, (uint32_t)st->opt_processes);
	bpf_map__set_max_entries(bpf->maps.cgroups, (uint32_t)st->opt_cgroups);
	bpf_map__set_max_entries(bpf->maps.processes_told, 2 * (uint32_t)st->opt_processes);
	bpf_map__set_max_entries(bpf->maps.cgroups_told, (uint32_t)st->opt_cgroups);
	bpf_map__set_max_entries(bpf->maps.counters, st->n_cpus);
}

static int prepare(struct skep_instance *inst, struct io_probe *st, struct io_hooks *hooks,
		   const struct skep_kernel_types *types)
{
	int err;

	find_hooks(st, types, hooks);
	choose(st, hooks);
	size_maps(st);
	err = skep_load_verdict(st->host, st->bpf->maps.verdict, &st->bpf->rodata->verdict_pids);
	if (err)
		err = st->host->fail(inst, err, "cannot use the verdict map of skepd: %s", strerror(-err));
	return err;
}

static int batch_for_all(struct io_probe *st)
{
	size_t key = sizeof(struct io_process_key), value = sizeof(struct io_device);

	_Static_assert(sizeof(struct io_device) >= sizeof(struct io_process), "the largest value decides the room");
	_Static_assert(sizeof(struct io_device) >= sizeof(struct io_process_told),
		       "the largest value decides the room");
	_Static_assert(sizeof(struct io_device) >= sizeof(struct io_cgroup), "the largest value decides the room");
	return skep_drain_new(&st->batch, key, value);
}

/* Opens, prepares, and loads or adopts.  -ESTALE: the pinned state to adopt is gone; try once more. */
static int place(struct skep_instance *inst, struct io_probe *st, struct io_hooks *hooks)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	const struct skep_kernel_types *types;
	struct skep_object object;
	int err;

	err = skep_types_get(inst, st->host, &types);
	if (err)
		return err;
	skep_object_begin(&object, types);
	opts.btf_custom_path = object.path;
	st->bpf = io_bpf__open_opts(&opts);
	if (!st->bpf) {
		err = -errno;
		st->host->fail(inst, err, "cannot open the BPF object: %s", strerror(-err));
		goto out;
	}
	err = prepare(inst, st, hooks, types);
	if (err)
		goto out;
	err = skep_object_ready(&object, st->bpf->obj);
	if (err) {
		st->host->fail(inst, err, "cannot write the kernel's types: %s", strerror(-err));
		goto out;
	}
	err = skep_pins_load(&st->pins, st->host, "io", st->bpf->skeleton);
	if (err && err != -ESTALE)
		err = skep_load_fail(inst, st->host, err, "loading the BPF programs");
out:
	skep_object_end(&object);
	skep_types_put(inst, st->host, types);
	return err;
}

const char *const io_program_names[IO_PROGRAMS] = {
	[IO_ON_COMPLETE] = "on_complete",
	[IO_ON_EXIT] = "on_exit",
	[IO_ON_RECLAIM_BEGIN] = "on_reclaim_begin",
	[IO_ON_RECLAIM_END] = "on_reclaim_end",
	[IO_ON_MEMCG_RECLAIM_BEGIN] = "on_memcg_reclaim_begin",
	[IO_ON_MEMCG_RECLAIM_END] = "on_memcg_reclaim_end",
};

static void open_programs(struct io_probe *st)
{
	const struct io_bpf *bpf = st->bpf;
	const struct bpf_program *const programs[IO_PROGRAMS] = {
		[IO_ON_COMPLETE] = bpf->progs.on_complete,
		[IO_ON_EXIT] = bpf->progs.on_exit,
		[IO_ON_RECLAIM_BEGIN] = bpf->progs.on_reclaim_begin,
		[IO_ON_RECLAIM_END] = bpf->progs.on_reclaim_end,
		[IO_ON_MEMCG_RECLAIM_BEGIN] = bpf->progs.on_memcg_reclaim_begin,
		[IO_ON_MEMCG_RECLAIM_END] = bpf->progs.on_memcg_reclaim_end,
	};

	for (int i = 0; i < IO_PROGRAMS; i++)
		st->programs[i] = skep_pins_own_program(&st->pins, programs[i], io_program_names[i]);
}

static int attach(struct skep_instance *inst, struct io_probe *st)
{
	int err, unpinned;

	/* new programs sleep until those of the previous skepd do (pinned.c) */
	err = st->pins.adopted ? 0 : skep_kept_sleep(bpf_map__fd(st->bpf->maps.kept), IO_LAYOUT);
	err = err ?: skep_pins_attach(&st->pins, st->bpf->skeleton, &unpinned);
	if (err)
		return skep_load_fail(inst, st->host, err, "attaching the BPF programs");
	skep_pins_warn(st->host, inst, unpinned, "counted");
	open_programs(st);
	return 0;
}

static void close_programs(struct io_probe *st)
{
	for (int i = 0; i < IO_PROGRAMS; i++) {
		if (st->programs[i] > 0)
			close(st->programs[i]);
		st->programs[i] = -1;
	}
}

int io_load(struct skep_instance *inst, struct io_probe *st)
{
	struct io_hooks hooks = { 0 };
	int err;

	err = skep_load_cpus(inst, st->host, &st->n_cpus);
	if (err)
		return err;
	close_programs(st);
	err = place(inst, st, &hooks);
	if (err == -ESTALE) {
		io_bpf__destroy(st->bpf);
		err = place(inst, st, &hooks);
	}
	if (err)
		goto out;
	err = batch_for_all(st);
	if (err) {
		err = st->host->fail(inst, err, "no memory for reading the maps");
		goto out;
	}
	st->counters_size = st->n_cpus * sizeof(struct io_counters);
	st->counters = skep_view_new(st->bpf->maps.counters, st->counters_size);
	if (!st->counters) {
		err = -errno;
		err = st->host->fail(inst, err, "cannot map the counters: %s", strerror(-err));
		goto out;
	}
	st->bpf->bss->details_wanted = 0; /* details of the previous skepd ended with it */
	err = attach(inst, st);
	if (err)
		goto out;
	st->iolat.writers = hooks.blkcg_v2 && !hooks.memory_v1;
	io_signals(inst, st, &hooks);
	iolat_signal(inst, st);
	return 0;
out:
	io_unload(st);
	return err;
}

void io_unload(struct io_probe *st)
{
	st->counters = skep_view_free(st->counters, st->counters_size);
	close_programs(st);
	io_bpf__destroy(st->bpf);
	st->bpf = NULL;
	skep_drain_free(&st->batch);
}
