/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/nvml_gpm.c - GPM, on Hopper and newer: the activity of a device's units, from two snapshots of its
 * counters, without a profiler. A MIG instance is queried at the device by the number of its GPU instance, which all
 * its compute instances share.
 */
#include <math.h>
#include <string.h>

#include "nvml.h"

/* The library demands 100 ms between two snapshots. */
#define GPM_MIN_NS UINT64_C(100000000)

void nvml_gpm_close(struct nvml_state *s, struct nvml_gpu *g)
{
	for (int i = 0; i < 2; i++) {
		if (g->gpm[i] && s->lib.gpm_free)
			s->lib.gpm_free(g->gpm[i]);
		g->gpm[i] = NULL;
	}
	g->gpm_supported = g->gpm_have = false;
}

static unsigned int snapshot(struct nvml_state *s, struct nvml_gpu *g, nvml_gpm_sample into)
{
	if (g->parent < 0)
		return s->lib.gpm_get(g->handle, into);
	if (!s->lib.gpm_mig_get || g->gpu_instance == NVML_NONE)
		return NVML_NOT_SUPPORTED;
	return s->lib.gpm_mig_get(s->gpus[g->parent].handle, g->gpu_instance, into);
}

static unsigned int first(struct nvml_state *s, struct nvml_gpu *g)
{
	struct nvml_gpm_support support = { .version = NVML_GPM_VERSION };
	nvml_device device = g->parent < 0 ? g->handle : s->gpus[g->parent].handle;
	unsigned int error = s->lib.gpm_support(device, &support);

	if (error != NVML_OK)
		return error;
	if (!support.supported)
		return NVML_NOT_SUPPORTED;
	for (int i = 0; i < 2 && error == NVML_OK; i++)
		if (!g->gpm[i])
			error = s->lib.gpm_alloc(&g->gpm[i]);
	g->gpm_supported = error == NVML_OK;
	return error;
}

static void activity_of(struct nvml_state *s, struct nvml_gpu *g, uint64_t interval_ns)
{
	struct activity_record *a = &g->activity;
	const struct {
		unsigned int id;
		double *to;
		double scale;
	} wanted[] = {
		{ NVML_GPM_GRAPHICS, &a->graphics, 0.01 },
		{ NVML_GPM_SM, &a->sm, 0.01 },
		{ NVML_GPM_OCCUPANCY, &a->occupancy, 0.01 },
		{ NVML_GPM_INTEGER, &a->integer, 0.01 },
		{ NVML_GPM_TENSOR, &a->tensor, 0.01 },
		{ NVML_GPM_DRAM, &a->dram, 0.01 },
		{ NVML_GPM_FP64, &a->fp64, 0.01 },
		{ NVML_GPM_FP32, &a->fp32, 0.01 },
		{ NVML_GPM_FP16, &a->fp16, 0.01 },
		{ NVML_GPM_PCIE_TX, &a->pcie_tx, 1048576 },
		{ NVML_GPM_PCIE_RX, &a->pcie_rx, 1048576 },
		{ NVML_GPM_NVLINK_TX, &a->nvlink_tx, 1048576 },
		{ NVML_GPM_NVLINK_RX, &a->nvlink_rx, 1048576 },
	};
	const unsigned int n = sizeof(wanted) / sizeof(wanted[0]);
	struct nvml_gpm_metrics *m = &s->metrics;

	memset(m, 0, offsetof(struct nvml_gpm_metrics, metrics) + n * sizeof(m->metrics[0]));
	m->version = NVML_GPM_VERSION;
	m->count = n;
	m->before = g->gpm[0];
	m->after = g->gpm[1];
	for (unsigned int i = 0; i < n; i++)
		m->metrics[i].id = wanted[i].id;
	if (s->lib.gpm_metrics(m) != NVML_OK)
		return;
	memset(a, 0, sizeof(*a));
	for (unsigned int i = 0; i < n; i++)
		*wanted[i].to = m->metrics[i].error == NVML_OK ? m->metrics[i].value * wanted[i].scale : NAN;
	a->interval_ns = interval_ns;
	a->gpu_instance = g->gpu_instance == NVML_NONE ? -1 : (int64_t)g->gpu_instance;
	a->id = (struct skep_str){ g->uuid, (uint32_t)strlen(g->uuid), (uint32_t)strlen(g->uuid) };
	if (g->parent >= 0) {
		const char *uuid = s->gpus[g->parent].uuid;

		a->parent = (struct skep_str){ uuid, (uint32_t)strlen(uuid), (uint32_t)strlen(uuid) };
	}
	g->gpm_graphics = a->graphics;
	g->has_activity = true;
}

void nvml_gpm_read(struct nvml_state *s, struct nvml_gpu *g, uint64_t now_ns)
{
	unsigned int error = NVML_OK;
	nvml_gpm_sample older;

	g->gpm_graphics = NAN;
	if (!s->features[FEATURE_GPM].symbol)
		return;
	if (g->mig)
		return; /* its instances are queried: the whole device would need access to all of them */
	if (!g->gpm_supported)
		error = first(s, g);
	if (error == NVML_OK && g->gpm_have && now_ns - g->gpm_ns < GPM_MIN_NS)
		return;
	if (error == NVML_OK)
		error = snapshot(s, g, g->gpm[1]);
	nvml_got(s, FEATURE_GPM, error);
	if (error != NVML_OK)
		return;
	if (g->gpm_have)
		activity_of(s, g, now_ns - g->gpm_ns);
	older = g->gpm[0];
	g->gpm[0] = g->gpm[1];
	g->gpm[1] = older;
	g->gpm_have = true;
	g->gpm_ns = now_ns;
}
