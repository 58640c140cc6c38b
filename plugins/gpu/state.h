/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/state.h - the probe's state.
 */
#ifndef SKEP_GPU_STATE_H
#define SKEP_GPU_STATE_H

#include <skep/plugin.h>

#include "cuda.h"
#include "drm.h"
#include "hooks.h"
#include "nvml.h"
#include "records.h"
#include "tally.h"

#define GPU_OWN_PID_NS \
	"skepd runs in a pid namespace of its own, so a pid here is another process on the host: use is of no process; start skepd in " \
	"the host's pid namespace (hostPID: true, --pid=host)"

struct gpu_probe {
	/* options */
	bool opt_nvml, opt_accounting, opt_gpm, opt_drm, opt_tracepoints;
	const char *opt_library, *opt_cuda_library, *opt_procfs, *opt_sysfs;
	int64_t opt_drm_fds, opt_cuda_max_percent;

	const struct skep_host *host;
	struct nvml_state *nvml;
	struct drm_state *drm;
	struct tally *tally;
	struct hooks hooks;
	struct cuda_state *cuda;

	bool attributes;       /* pids of drivers and /proc are those of the records: skep/pidns.h */
	bool passing;          /* a pass is under way on the pool and owns nvml, drm and tally */
	bool again;            /* a flush waits: begin another pass at once */
	bool reported;         /* the devices' signals were reported while a device was present */
	uint64_t pass_ns;      /* the pass's beginning */
	uint64_t retry_ns;     /* when to look for a driver again */
	uint64_t seen_overflow;
	struct skep_counter *late, *took, *unknown, *cut;
};

/* gpu_pass.c */
/* Opens the driver if it is installed, and reads the baseline: the first record covers the time since. */
void gpu_pass_start(struct skep_instance *, struct gpu_probe *);
/* Begins a pass on the pool. Its end emits the records, which complete everything up to now. */
void gpu_pass_begin(struct skep_instance *, struct gpu_probe *);

/* gpu_signals.c */
void gpu_signals_devices(struct skep_instance *, const struct gpu_probe *);

#endif
