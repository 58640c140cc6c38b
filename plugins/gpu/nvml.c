/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/nvml.c - the library's life, the list of devices and MIG instances, events.
 */
#include "nvml.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Drops old lives after so many passes: long after the driver's accounting has reported them. */
#define FORGET_PASSES 256

struct nvml_state *nvml_new(void)
{
	struct nvml_state *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->lives = lives_new();
	if (!s->lives) {
		free(s);
		return NULL;
	}
	return s;
}

struct nvml_state *nvml_free(struct nvml_state *s)
{
	if (!s)
		return NULL;
	nvml_close(s);
	free(s->lives);
	free(s);
	return NULL;
}

bool nvml_got(struct nvml_state *s, enum nvml_feature feature, unsigned int error)
{
	struct nvml_feature_state *f = &s->features[feature];

	f->asked++;
	if (error == NVML_OK) {
		f->given++;
		return true;
	}
	f->error = error;
	return false;
}

static void features_open(struct nvml_state *s)
{
	const struct nvml_lib *l = &s->lib;
	const bool symbols[N_FEATURES] = {
		[FEATURE_UTILIZATION] = l->utilization || l->samples,
		[FEATURE_MEMORY] = l->memory_v2 || l->memory,
		[FEATURE_POWER] = l->power,
		[FEATURE_ENERGY] = l->energy,
		[FEATURE_CLOCKS] = l->clock,
		[FEATURE_THROTTLE] = l->throttle,
		[FEATURE_TEMPERATURE] = l->temperature,
		[FEATURE_ECC] = l->ecc,
		[FEATURE_PCIE] = l->pcie_throughput || l->gpm_metrics,
		[FEATURE_NVLINK] = l->fields,
		[FEATURE_XID] = l->event_set && l->event_register && l->event_wait,
		[FEATURE_MIG] = l->mig_mode && l->mig_count && l->mig_by_index,
		[FEATURE_PROCESSES] = l->compute_processes || l->graphics_processes,
		[FEATURE_PROCESS_UTILIZATION] = l->process_utilization,
		[FEATURE_ACCOUNTING] = l->accounting_mode && l->accounting_pids && l->accounting_stats,
		[FEATURE_GPM] = l->gpm_support && l->gpm_alloc && l->gpm_free && l->gpm_get && l->gpm_metrics,
	};

	memset(s->features, 0, sizeof(s->features));
	for (int i = 0; i < N_FEATURES; i++)
		s->features[i].symbol = symbols[i];
}

/* Forgets the levels of the last pass. */
static void gpu_fresh(struct nvml_gpu *g)
{
	g->last_energy = g->last_power_ns = g->last_thermal_ns = NAN;
	g->last_corrected = g->last_uncorrected = g->last_replays = NAN;
	g->last_nvlink_tx = g->last_nvlink_rx = NAN;
	g->gpm_graphics = NAN;
}

/* A device that was lost for some passes gets its old slot, which has whether the probe switched accounting on. */
static struct nvml_gpu *gpu_add(struct nvml_state *s, nvml_device handle, const char *uuid)
{
	struct nvml_gpu *g = NULL;
	bool ours = false;

	for (uint32_t i = 0; i < s->n && !ours; i++) {
		struct nvml_gpu *unused = &s->gpus[i];

		if (unused->handle)
			continue;
		ours = unused->accounting_ours && strcmp(unused->uuid, uuid) == 0;
		if (ours || (!g && !unused->accounting_ours))
			g = unused;
	}
	if (!g) {
		if (s->n == DEVICES_MAX) {
			s->devices_overflow++;
			return NULL;
		}
		g = &s->gpus[s->n++];
	}
	memset(g, 0, sizeof(*g));
	g->handle = handle;
	g->parent = -1;
	g->gpu_instance = g->compute_instance = NVML_NONE;
	g->accounting_ours = ours;
	snprintf(g->uuid, sizeof(g->uuid), "%s", uuid);
	gpu_fresh(g);
	return g;
}

static struct nvml_gpu *gpu_find(struct nvml_state *s, const char *uuid)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->gpus[i].handle && strcmp(s->gpus[i].uuid, uuid) == 0)
			return &s->gpus[i];
	return NULL;
}

static void gpu_drop(struct nvml_state *s, struct nvml_gpu *g)
{
	nvml_gpm_close(s, g);
	g->handle = NULL;
}

/* Lists the devices again in each pass, since they come and go (hot plug, MIG). */
static void devices_find(struct nvml_state *s)
{
	unsigned int n = 0;

	if (s->lib.count(&n) != NVML_OK)
		return;
	for (unsigned int i = 0; i < n; i++) {
		struct nvml_pci pci = { 0 };
		nvml_device handle;
		struct nvml_gpu *g;
		char uuid[96] = "";

		if (s->lib.by_index(i, &handle) != NVML_OK)
			continue; /* lost, or not visible to us */
		if (s->lib.uuid(handle, uuid, sizeof(uuid)) != NVML_OK)
			snprintf(uuid, sizeof(uuid), "gpu%u", i);
		g = gpu_find(s, uuid);
		if (g) {
			g->handle = handle;
			g->pass = s->passes;
			continue;
		}
		g = gpu_add(s, handle, uuid);
		if (!g)
			return;
		g->pass = s->passes;
		if (s->lib.name)
			s->lib.name(handle, g->name, sizeof(g->name));
		if (s->lib.pci && s->lib.pci(handle, &pci) == NVML_OK)
			snprintf(g->pci, sizeof(g->pci), "%s", pci.bus_id[0] ? pci.bus_id : pci.bus_id_legacy);
		nvml_accounting_open(s, g);
		if (s->events && s->lib.event_register) {
			unsigned long long types = NVML_EVENT_XID | NVML_EVENT_ECC_SINGLE | NVML_EVENT_ECC_DOUBLE;
			unsigned long long can = types;

			if (s->lib.event_types && s->lib.event_types(handle, &can) == NVML_OK)
				types &= can;
			nvml_got(s, FEATURE_XID,
				 types ? s->lib.event_register(handle, types, s->events) : NVML_NOT_SUPPORTED);
		}
	}
}

static void instances_find(struct nvml_state *s, uint32_t parent)
{
	unsigned int now = 0, pending = 0, n = 0;

	s->gpus[parent].mig = false;
	if (!s->lib.mig_mode || !s->lib.mig_count || !s->lib.mig_by_index)
		return;
	if (!nvml_got(s, FEATURE_MIG, s->lib.mig_mode(s->gpus[parent].handle, &now, &pending)) || !now)
		return;
	s->gpus[parent].mig = true;
	if (s->lib.mig_count(s->gpus[parent].handle, &n) != NVML_OK)
		return;
	for (unsigned int i = 0; i < n; i++) {
		nvml_device handle;
		struct nvml_gpu *g;
		char uuid[96] = "";

		if (s->lib.mig_by_index(s->gpus[parent].handle, i, &handle) != NVML_OK ||
		    s->lib.uuid(handle, uuid, sizeof(uuid)) != NVML_OK)
			continue; /* some indices are unused */
		g = gpu_find(s, uuid);
		if (!g)
			g = gpu_add(s, handle, uuid);
		if (!g)
			return;
		g->handle = handle;
		g->pass = s->passes;
		g->parent = (int32_t)parent;
		memcpy(g->pci, s->gpus[parent].pci, sizeof(g->pci));
		if (!g->name[0] && s->lib.name)
			s->lib.name(handle, g->name, sizeof(g->name));
		if (s->lib.gpu_instance)
			s->lib.gpu_instance(handle, &g->gpu_instance);
		if (s->lib.compute_instance)
			s->lib.compute_instance(handle, &g->compute_instance);
	}
}

int nvml_open(struct nvml_state *s, const char *path)
{
	unsigned int error;
	int err;

	if (s->up)
		return 0;
	err = nvml_lib_open(&s->lib, path, s->why, sizeof(s->why));
	if (err)
		return err;
	error = s->lib.init();
	if (error != NVML_OK) {
		snprintf(s->why, sizeof(s->why), "nvmlInit: %s", nvml_error(&s->lib, error));
		nvml_lib_close(&s->lib);
		return -ENOENT;
	}
	s->up = true;
	s->n = 0;
	s->why[0] = '\0';
	features_open(s);
	if (!s->lib.driver_version || s->lib.driver_version(s->driver, sizeof(s->driver)) != NVML_OK)
		s->driver[0] = '\0';
	if (s->features[FEATURE_XID].symbol && s->lib.event_set(&s->events) != NVML_OK)
		s->events = NULL;
	return 0;
}

void nvml_close(struct nvml_state *s)
{
	if (!s->up)
		return;
	for (uint32_t i = 0; i < s->n; i++) {
		if (!s->gpus[i].handle)
			continue;
		nvml_accounting_close(s, &s->gpus[i]);
		gpu_drop(s, &s->gpus[i]);
	}
	if (s->events && s->lib.event_free)
		s->lib.event_free(s->events);
	s->events = NULL;
	s->n = 0;
	s->lib.shutdown();
	nvml_lib_close(&s->lib);
	s->up = false;
}

static void events_take(struct nvml_state *s)
{
	s->n_events = 0;
	while (s->events && s->n_events < EVENTS_MAX &&
	       s->lib.event_wait(s->events, &s->event[s->n_events], 0) == NVML_OK)
		s->n_events++;
}

void nvml_pass(struct nvml_state *s, struct tally *tally, uint64_t now_ns)
{
	if (!s->up)
		return;
	s->passes++;
	for (int i = 0; i < N_FEATURES; i++)
		if (i != FEATURE_XID && i != FEATURE_ACCOUNTING) /* queried once for each device */
			s->features[i].given = s->features[i].asked = 0;
	devices_find(s);
	for (uint32_t i = 0; i < s->n; i++)
		if (s->gpus[i].handle && s->gpus[i].parent < 0 && s->gpus[i].pass == s->passes)
			instances_find(s, i);
	for (uint32_t i = 0; i < s->n; i++) {
		struct nvml_gpu *g = &s->gpus[i];

		g->reported = g->has_activity = false;
		if (!g->handle)
			continue;
		if (g->pass != s->passes) {
			gpu_drop(s, g);
			continue;
		}
		if (s->want_gpm)
			nvml_gpm_read(s, g, now_ns);
		nvml_device_read(s, g, now_ns);
		nvml_processes_read(s, g, tally, now_ns);
		g->reported = g->read_ns != 0; /* the first pass is the baseline */
		g->read_ns = now_ns;
	}
	events_take(s);
	if (s->passes % FORGET_PASSES == 0)
		lives_forget(s->lives, s->passes - FORGET_PASSES);
}
