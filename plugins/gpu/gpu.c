/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/gpu.c - the probe "gpu": the activity of devices, and the processes behind it. The probe reads counters
 * that drivers keep anyway: NVIDIA's through its management library, opened at run time where it is installed, AMD's
 * and Intel's through fdinfo. None of that delays a process; uprobes on libcuda do, so they are a detail, on demand.
 */
#include <errno.h>
#include <skep/clock.h>
#include <skep/pidns.h>
#include <stdlib.h>

#include "state.h"

static int gpu_open(struct skep_instance *inst, void *state, const struct skep_host *host)
{
	struct gpu_probe *st = state;

	st->host = host;
	st->tally = tally_new();
	st->nvml = st->opt_nvml ? nvml_new() : NULL;
	st->drm = st->opt_drm ? drm_new(st->opt_procfs, st->opt_sysfs, (uint64_t)st->opt_drm_fds) : NULL;
	st->cuda = cuda_new(inst, &(struct cuda_config){
					  .host = host,
					  .procfs = st->opt_procfs,
					  .library = st->opt_cuda_library,
					  .max_share = (double)st->opt_cuda_max_percent / 100,
				  });
	if (!st->tally || !st->cuda || (st->opt_nvml && !st->nvml) || (st->opt_drm && !st->drm))
		return host->fail(inst, -ENOMEM, "no memory for the probe's tables");
	if (st->nvml) {
		st->nvml->want_accounting = st->opt_accounting;
		st->nvml->want_gpm = st->opt_gpm;
	}
	st->late = host->counter(inst, "passes_late",
				 "intervals without a pass, because the last pass was still under way");
	st->took = host->counter(inst, "pass_us", "duration of the last pass over all devices");
	st->unknown = host->counter(inst, "uses_unknown",
				    "uses of a device by unknown processes: excluded, or ended before");
	st->cut = host->counter(inst, "drm_processes_cut",
				"times that a process had more descriptors than drm_fds lets the probe read");
	return 0;
}

static int gpu_start(struct skep_instance *inst, void *state)
{
	struct gpu_probe *st = state;

	st->attributes = skep_initial_pid_ns(st->opt_procfs);
	gpu_pass_start(inst, st);
	hooks_start(&st->hooks, inst, st->host, st->opt_tracepoints, st->drm ? st->drm->present : true);
	return 0;
}

/* No driver and no device: no pass to wait for. The pass of each minute finds a driver that is installed later. */
static bool nothing_here(const struct gpu_probe *st, uint64_t now_ns)
{
	return !(st->nvml && (st->nvml->up || now_ns >= st->retry_ns)) && !(st->drm && st->drm->present);
}

static void gpu_sample(struct skep_instance *inst, void *state)
{
	struct gpu_probe *st = state;
	uint64_t now = skep_boot_ns();

	hooks_sample(&st->hooks, inst, st->host, now);
	cuda_sample(st->cuda, now);
	if (st->passing)
		st->host->counter_add(st->late, 1);
	else if (nothing_here(st, now))
		st->host->drained(inst, now);
	else
		gpu_pass_begin(inst, st);
}

/*
 * A run waits: every process that has ended by now must be reported. A pass under way may have read its devices before.
 */
static void gpu_flush(struct skep_instance *inst, void *state)
{
	struct gpu_probe *st = state;
	uint64_t now = skep_boot_ns();

	if (st->passing)
		st->again = true;
	else if (nothing_here(st, now))
		st->host->drained(inst, now);
	else
		gpu_pass_begin(inst, st);
}

/*
 * With a device, each interval's pass reports, as it asks the driver about every process.  The first pass, which looks
 * for a driver, begins here: else the records of processes that end before the first interval would wait for it.
 */
static void gpu_drain(struct skep_instance *inst, void *state)
{
	struct gpu_probe *st = state;
	uint64_t now = skep_boot_ns();
	bool has_device = (st->nvml && st->nvml->up) || (st->drm && st->drm->present);

	if (st->passing || has_device)
		return;
	if (nothing_here(st, now))
		st->host->drained(inst, now);
	else
		gpu_pass_begin(inst, st);
}

static int gpu_attach(struct skep_instance *inst, void *state, unsigned detail, const struct skep_detail_scope *scope)
{
	struct gpu_probe *st = state;

	(void)detail; /* the probe has only one */
	if (!st->attributes)
		return st->host->fail(inst, -ENOTSUP, "cuda: %s", GPU_OWN_PID_NS);
	return cuda_attach(st->cuda, scope);
}

static void gpu_detach(struct skep_instance *inst, void *state, uint64_t id)
{
	struct gpu_probe *st = state;

	(void)inst;
	cuda_detach(st->cuda, id);
}

static void gpu_stop(struct skep_instance *inst, void *state)
{
	struct gpu_probe *st = state;

	(void)inst;
	hooks_stop(&st->hooks);
	if (st->nvml)
		nvml_close(st->nvml); /* restores the driver's accounting mode */
}

static void gpu_close(struct skep_instance *inst, void *state)
{
	struct gpu_probe *st = state;

	(void)inst;
	hooks_stop(&st->hooks);
	st->cuda = cuda_free(st->cuda);
	st->nvml = nvml_free(st->nvml);
	st->drm = drm_free(st->drm);
	free(st->tally);
	st->tally = NULL;
}

#define AT(member_) offsetof(struct gpu_probe, member_)
static const struct skep_option options[] = {
	{ .name = "nvml",
	  .type = SKEP_O_BOOL,
	  .offset = AT(opt_nvml),
	  .default_value = "true",
	  .help = "ask NVIDIA's management library about its devices" },
	{ .name = "nvml_library",
	  .type = SKEP_O_STR,
	  .offset = AT(opt_library),
	  .help = "path of that library; default: libnvidia-ml.so.1 in the linker's search path" },
	{ .name = "accounting",
	  .type = SKEP_O_BOOL,
	  .offset = AT(opt_accounting),
	  .default_value = "true",
	  .help = "switch on the NVIDIA driver's accounting of finished processes where it is off (needs root); "
		  "restored at the end" },
	{ .name = "gpm",
	  .type = SKEP_O_BOOL,
	  .offset = AT(opt_gpm),
	  .default_value = "true",
	  .help = "activity of multiprocessors, tensor cores, memory and links, on Hopper and newer" },
	{ .name = "drm",
	  .type = SKEP_O_BOOL,
	  .offset = AT(opt_drm),
	  .default_value = "true",
	  .help = "read AMD, Intel and other DRM drivers, by /proc/PID/fdinfo and sysfs" },
	{ .name = "drm_fds",
	  .type = SKEP_O_INT,
	  .offset = AT(opt_drm_fds),
	  .default_value = "20000",
	  .min = 100,
	  .max = 10000000,
	  .help = "most descriptors that the probe reads in an interval, also of a single process, in search of DRM "
		  "devices" },
	{ .name = "tracepoints",
	  .type = SKEP_O_BOOL,
	  .offset = AT(opt_tracepoints),
	  .default_value = "true",
	  .help = "count the work of DRM drivers by the kernel's tracepoints, where there is a DRM device" },
	{ .name = "cuda_library",
	  .type = SKEP_O_STR,
	  .offset = AT(opt_cuda_library),
	  .default_value = "libcuda.so",
	  .help = "prefix of the name of the file that the detail cuda probes" },
	{ .name = "cuda_max_percent",
	  .type = SKEP_O_INT,
	  .offset = AT(opt_cuda_max_percent),
	  .default_value = "5",
	  .min = 0,
	  .max = 100,
	  .help = "end a detail cuda that costs more of a core than this; 0: never" },
	{ .name = "procfs",
	  .type = SKEP_O_STR,
	  .offset = AT(opt_procfs),
	  .default_value = "/proc",
	  .help = "the folder of the host's /proc" },
	{ .name = "sysfs",
	  .type = SKEP_O_STR,
	  .offset = AT(opt_sysfs),
	  .default_value = "/sys",
	  .help = "the folder of the host's /sys" },
	{ 0 },
};

static const struct skep_detail details[] = {
	{ .name = "cuda",
	  .help = "CUDA launches, copies, allocations and waits, by uprobes on libcuda: costs each call 1 to 10 us",
	  .stream = STREAM_CUDA,
	  .scopes = 1u << SKEP_SCOPE_GROUP | 1u << SKEP_SCOPE_PID },
};

static const struct skep_plugin gpu_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_PROBE,
	.name = "gpu",
	.version = PACKAGE_VERSION,
	.summary = "use of GPUs, by process: NVIDIA by NVML, AMD and Intel by DRM; CUDA calls on demand",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(options[0]),
	.streams = gpu_streams,
	.n_streams = N_STREAMS,
	.state_size = sizeof(struct gpu_probe),
	.open = gpu_open,
	.start = gpu_start,
	.sample = gpu_sample,
	.stop = gpu_stop,
	.close = gpu_close,
	.flush = gpu_flush,
	.drain = gpu_drain,
	.details = details,
	.detail_size = sizeof(details[0]),
	.n_details = sizeof(details) / sizeof(details[0]),
	.attach = gpu_attach,
	.detach = gpu_detach,
};
SKEP_PLUGIN(gpu_plugin, SKEP_KIND_PROBE, "gpu", PACKAGE_VERSION)
