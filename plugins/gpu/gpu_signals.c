/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/gpu_signals.c - the method of each signal of the devices on this machine, or why it is missing.
 */
#include <stdio.h>

#include "state.h"

static const struct {
	const char *signal, *how;
} features[N_FEATURES] = {
	[FEATURE_UTILIZATION] = { "gpu.utilization", "nvmlDeviceGetSamples, nvmlDeviceGetUtilizationRates; GPM" },
	[FEATURE_MEMORY] = { "gpu.memory", "nvmlDeviceGetMemoryInfo" },
	[FEATURE_POWER] = { "gpu.power", "nvmlDeviceGetPowerUsage" },
	[FEATURE_ENERGY] = { "gpu.energy", "nvmlDeviceGetTotalEnergyConsumption" },
	[FEATURE_CLOCKS] = { "gpu.clocks", "nvmlDeviceGetClockInfo" },
	[FEATURE_THROTTLE] = { "gpu.throttle", "nvmlDeviceGetCurrentClocksEventReasons" },
	[FEATURE_TEMPERATURE] = { "gpu.temperature", "nvmlDeviceGetTemperature" },
	[FEATURE_ECC] = { "gpu.ecc", "nvmlDeviceGetTotalEccErrors" },
	[FEATURE_PCIE] = { "gpu.pcie", "GPM, nvmlDeviceGetPcieThroughput" },
	[FEATURE_NVLINK] = { "gpu.nvlink", "nvmlDeviceGetFieldValues" },
	[FEATURE_XID] = { "gpu.xid", "nvmlEventSetWait" },
	[FEATURE_MIG] = { "gpu.mig", "nvmlDeviceGetMigMode" },
	[FEATURE_PROCESSES] = { "gpu.processes", "nvmlDeviceGetComputeRunningProcesses" },
	[FEATURE_PROCESS_UTILIZATION] = { "gpu.process_utilization", "nvmlDeviceGetProcessUtilization" },
	[FEATURE_ACCOUNTING] = { "gpu.accounting", "nvmlDeviceGetAccountingStats" },
	[FEATURE_GPM] = { "gpu.activity", "nvmlGpmMetricsGet" },
};

static void say(struct skep_instance *inst, const struct skep_host *host, const char *name,
		enum skep_signal_state state, const char *how, const char *why)
{
	host->signal(inst, name, state, how, why);
}

static void nvml_signals(struct skep_instance *inst, const struct gpu_probe *st)
{
	const struct nvml_state *n = st->nvml;
	const struct skep_host *host = st->host;
	char why[400];

	for (int i = 0; i < N_FEATURES; i++) {
		const struct nvml_feature_state *f = n ? &n->features[i] : NULL;
		const char *name = features[i].signal, *how = features[i].how;

		if (!n) {
			say(inst, host, name, SKEP_SIGNAL_OFF, how, "option nvml is false");
		} else if (!n->up) {
			say(inst, host, name, SKEP_SIGNAL_MISSING, how, n->why);
		} else if (!f->symbol) {
			say(inst, host, name, SKEP_SIGNAL_MISSING, how, "this version of the library does not have it");
		} else if ((i == FEATURE_ACCOUNTING && !st->opt_accounting && !f->given) ||
			   (i == FEATURE_GPM && !st->opt_gpm)) {
			snprintf(why, sizeof(why), "option %s is false", i == FEATURE_GPM ? "gpm" : "accounting");
			say(inst, host, name, SKEP_SIGNAL_OFF, how, why);
		} else if (!f->given) {
			snprintf(why, sizeof(why), "%s", !f->asked ? "no device" : nvml_error(&n->lib, f->error));
			say(inst, host, name, SKEP_SIGNAL_MISSING, how, why);
		} else if (f->given < f->asked) {
			snprintf(why, sizeof(why), "%u of %u devices: %s", f->given, f->asked,
				 nvml_error(&n->lib, f->error));
			say(inst, host, name, SKEP_SIGNAL_PARTIAL, how, why);
		} else if (i == FEATURE_PROCESSES && !st->attributes) {
			say(inst, host, name, SKEP_SIGNAL_PARTIAL, how,
			    GPU_OWN_PID_NS);
		} else {
			say(inst, host, name, SKEP_SIGNAL_OK, how, NULL);
		}
	}
}

void gpu_signals_devices(struct skep_instance *inst, const struct gpu_probe *st)
{
	const struct skep_host *host = st->host;
	static const char how[] = "/proc/PID/fdinfo";

	nvml_signals(inst, st);
	if (!st->drm)
		say(inst, host, "gpu.drm", SKEP_SIGNAL_OFF, how, "option drm is false");
	else if (!st->drm->present)
		say(inst, host, "gpu.drm", SKEP_SIGNAL_MISSING, how, "no DRM device here (/sys/class/drm)");
	else if (!st->attributes)
		say(inst, host, "gpu.drm", SKEP_SIGNAL_PARTIAL, how, GPU_OWN_PID_NS);
	else if (!st->drm->reported)
		say(inst, host, "gpu.drm", SKEP_SIGNAL_PARTIAL, how,
		    "found no process that holds a device whose driver reports its engines");
	else
		say(inst, host, "gpu.drm", SKEP_SIGNAL_OK, how, NULL);
	say(inst, host, "gpu.cuda", st->attributes ? SKEP_SIGNAL_OFF : SKEP_SIGNAL_MISSING, "uprobes on libcuda",
	    st->attributes ? "a detail, on demand: cuda" : GPU_OWN_PID_NS);
}
