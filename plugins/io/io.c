/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/io.c - the probe "io": block I/O of devices, cgroups and processes, reclaim and swap, and file systems
 * without a local device.
 *
 * The BPF programs add up in maps.  Every interval, and when skepd wants all records now (flush), this side reads the
 * sums and emits their differences.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <skep/clock.h>
#include <skep/drain.h>
#include <skep/misses.h>
#include <stdlib.h>
#include <unistd.h>

#include "plugins/io/io.skel.h"
#include "state.h"

static void lost(struct skep_instance *inst, const struct io_probe *st, unsigned stream, uint64_t n)
{
	if (n)
		st->host->lost(inst, stream, SKEP_LOSS_KERNEL, n);
}

void io_report_losses(struct skep_instance *inst, struct io_probe *st, const struct io_counters *now,
		      const struct io_counters *seen)
{
	lost(inst, st, STREAM_DISK, now->devices_full - seen->devices_full);
	lost(inst, st, STREAM_PROCESS,
	     now->processes_full + now->reclaims_full - seen->processes_full - seen->reclaims_full);
	lost(inst, st, STREAM_CGROUP, now->cgroups_full - seen->cgroups_full);
}

static void report_missed(struct skep_instance *inst, struct io_probe *st, unsigned stream, uint64_t now,
			  uint64_t *seen)
{
	if (now <= *seen)
		return;
	lost(inst, st, stream, now - *seen);
	st->host->counter_add(st->c_misses, now - *seen);
	*seen = now;
}

void io_report_misses(struct skep_instance *inst, struct io_probe *st, const int programs[IO_PROGRAMS],
		      struct io_missed *seen)
{
	uint64_t others = 0;

	for (int i = IO_ON_COMPLETE + 1; i < IO_PROGRAMS; i++)
		others += skep_fd_misses(programs[i]);
	report_missed(inst, st, STREAM_DISK, skep_fd_misses(programs[IO_ON_COMPLETE]), &seen->completions);
	report_missed(inst, st, STREAM_PROCESS, others, &seen->others);
}

static void check_losses(struct skep_instance *inst, struct io_probe *st)
{
	struct io_counters now = { 0 };

	skep_sums_of_view(st->counters, st->n_cpus, sizeof(now), &now);
	io_report_losses(inst, st, &now, &st->seen);
	io_report_misses(inst, st, st->programs, &st->seen_missed);
	st->host->counter_set(st->c_evicted, now.evicted);
	st->host->counter_set(st->c_recovered, now.recovered);
	st->host->counter_set(st->c_wrong, now.waits_wrong);
	st->seen = now;
	io_pinned_retry(st);
	io_pinned_touch(st);
}

static void drain(struct skep_instance *inst, struct io_probe *st, bool ageing)
{
	uint64_t now = skep_boot_ns(); /* before any read: drained() promises nothing later */

	st->ageing = ageing;
	io_devices_sample(inst, st, now);
	io_processes_drain(inst, st, now, true);
	io_cgroups_drain(inst, st, now);
	check_losses(inst, st);
	st->host->drained(inst, now);
}

static void io_sample(struct skep_instance *inst, void *state)
{
	struct io_probe *st = state;
	uint64_t now = skep_boot_ns();

	io_delayacct_look(inst, st);
	drain(inst, st, true);
	io_paging_sample(inst, st, now);
	io_filesystems_sample(inst, st, now);
	iolat_sample(inst, st, now);
}

static void io_flush(struct skep_instance *inst, void *state)
{
	drain(inst, state, false);
}

/* The map alone: without the delays of live threads, which take a pass over all threads. */
static void io_drain(struct skep_instance *inst, void *state)
{
	struct io_probe *st = state;
	uint64_t now = skep_boot_ns();

	st->ageing = false;
	io_processes_drain(inst, st, now, false);
	st->host->drained(inst, now);
}

static int io_open(struct skep_instance *inst, void *state, const struct skep_host *host)
{
	struct io_probe *st = state;

	st->host = host;
	st->inst = inst;
	st->root = st->opt_root ? st->opt_root : "";
	st->c_evicted = host->counter(inst, "issuers_evicted",
				      "requests whose issuer skep lost because too many requests were under way");
	st->c_recovered = host->counter(
		inst, "issuers_recovered",
		"requests that the first program missed because tasks preempted each other in it, and the second one saw");
	st->c_wrong = host->counter(inst, "impossible_waits",
				    "threads whose wait for storage was longer than they lived, and is left out (Linux 6.12)");
	st->c_misses = host->counter(inst, "recursion_misses",
				     "times that the kernel skipped a program because it was running already");
	st->c_bad_lines = host->counter(inst, "bad_lines", "lines of /proc that do not parse");
	st->c_iolat_full = host->counter(inst, "iolat_rows_full",
					 "requests without a row in the detail iolat: raise the option iolat_rows");
	return 0;
}

static void close_files(struct io_probe *st)
{
	if (st->vmstat)
		fclose(st->vmstat);
	st->vmstat = NULL;
	disks_free(&st->disks);
	filesystems_free(&st->filesystems);
	levels_free(&st->processes);
	levels_free(&st->cgroups);
}

static int io_start(struct skep_instance *inst, void *state)
{
	struct io_probe *st = state;
	struct disk_bytes before;
	char path[4096];
	int err;

	err = disks_pass(&st->disks, st->root, 0, &before);
	if (err)
		return st->host->fail(inst, err, "%s/proc/diskstats: %s", st->root, strerror(-err));
	snprintf(path, sizeof(path), "%.2048s/proc/vmstat", st->root);
	st->vmstat = st->opt_paging ? fopen(path, "re") : NULL;
	st->sampled_ns = skep_boot_ns();
	err = io_load(inst, st);
	if (err)
		goto out;
	err = io_devices_start(inst, st);
	if (err) {
		err = st->host->fail(inst, err, "reading the counters of devices: %s", strerror(-err));
		io_unload(st);
		goto out;
	}
	io_pinned_begin(inst, st);
	io_paging_sample(inst, st, st->sampled_ns);
	io_filesystems_sample(inst, st, st->sampled_ns);
	return 0;
out:
	close_files(st);
	return err;
}

static void io_stop(struct skep_instance *inst, void *state)
{
	struct io_probe *st = state;

	iolat_close(st);
	if (!st->bpf)
		return;
	if (!skep_pins_leave(&st->pins, st->host, inst, st->bpf->skeleton)) /* hooks off, maps stay */
		st->delays = false; /* its iterator is gone too */
	drain(inst, st, false);
	io_unload(st);
	close_files(st);
}

static void io_close(struct skep_instance *inst, void *state)
{
	struct io_probe *st = state;

	(void)inst;
	iolat_close(st);
	if (st->bpf)
		io_unload(st);
	close_files(st);
}

static const struct skep_option options[] = {
	{ .name = "requests",
	  .type = SKEP_O_INT,
	  .offset = offsetof(struct io_probe, opt_requests),
	  .default_value = "16384",
	  .min = 64,
	  .max = 1 << 20,
	  .help = "most block requests under way with a known issuer, rounded up to a power of two; 32 bytes each" },
	{ .name = "processes",
	  .type = SKEP_O_INT,
	  .offset = offsetof(struct io_probe, opt_processes),
	  .default_value = "8192",
	  .min = 64,
	  .max = 1 << 20,
	  .help = "most processes with block I/O or reclaim in an interval; 300 bytes each" },
	{ .name = "cgroups",
	  .type = SKEP_O_INT,
	  .offset = offsetof(struct io_probe, opt_cgroups),
	  .default_value = "4096",
	  .min = 64,
	  .max = 1 << 20,
	  .help = "most pairs of a cgroup and a kind of operation (up to 5) with block I/O; 100 bytes each" },
	{ .name = "iolat_rows",
	  .type = SKEP_O_INT,
	  .offset = offsetof(struct io_probe, opt_iolat_rows),
	  .default_value = "256",
	  .min = 16,
	  .max = 1024,
	  .help = "rows of the detail iolat, one for each attachment, device and kind of operation; 10 KiB each, while "
		  "it is attached" },
	{ .name = "delays",
	  .type = SKEP_O_BOOL,
	  .offset = offsetof(struct io_probe, opt_delays),
	  .default_value = "true",
	  .help = "read how long threads waited for I/O and memory, where the kernel accounts it "
		  "(kernel.task_delayacct)" },
	{ .name = "paging",
	  .type = SKEP_O_BOOL,
	  .offset = offsetof(struct io_probe, opt_paging),
	  .default_value = "true",
	  .help = "report page cache, swap and reclaim of the host (/proc/vmstat)" },
	{ .name = "filesystems",
	  .type = SKEP_O_BOOL,
	  .offset = offsetof(struct io_probe, opt_filesystems),
	  .default_value = "true",
	  .help = "report network, parallel and user-space file systems" },
	{ .name = "root",
	  .type = SKEP_O_STR,
	  .offset = offsetof(struct io_probe, opt_root),
	  .help = "folder in front of /proc and /sys, if the host's are mounted elsewhere (containers)" },
	{ 0 },
};

static const struct skep_plugin io_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_PROBE,
	.name = "io",
	.version = PACKAGE_VERSION,
	.summary =
		"block I/O of devices, cgroups and processes; reclaim, swap, network file systems; on demand how long "
		"requests take",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(options[0]),
	.streams = io_streams,
	.n_streams = N_STREAMS,
	.state_size = sizeof(struct io_probe),
	.open = io_open,
	.start = io_start,
	.sample = io_sample,
	.stop = io_stop,
	.close = io_close,
	.flush = io_flush,
	.drain = io_drain,
	.details = io_details,
	.detail_size = sizeof(struct skep_detail),
	.n_details = N_DETAILS,
	.attach = iolat_attach,
	.detach = iolat_detach,
};
SKEP_PLUGIN(io_plugin, SKEP_KIND_PROBE, "io", PACKAGE_VERSION)
