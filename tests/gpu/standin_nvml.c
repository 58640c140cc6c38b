/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/gpu/standin_nvml.c - a stand-in for libnvidia-ml.so.1, for machines without an
 * NVIDIA device: it answers what a script says.  It tests how the probe finds functions,
 * asks, decodes and divides; that the real library answers like this is for
 * tests/gpu/real.sh to show, on a real device.
 *
 * The script, $STANDIN_NVML, is read anew each time the devices are counted (which begins
 * each pass); one command a line:
 *
 *   device UUID                  the next device
 *   set KEY VALUE                of the last device; see values[] below
 *   instance UUID GI CI          a MIG instance of the last device, which is divided by it; then it is the last
 *   holder PID BYTES             a process that holds the last device
 *   share PID TIME_US SM MEM ENC DEC
 *   sample TIME_US PERCENT
 *   account PID GPU MEM BYTES TIME_MS START_US RUNNING
 *   refuse KEY ERROR             the last device answers with that error
 *   event TYPE DATA              once
 *   init ERROR                   nvmlInit gives that
 *   stride 32                    lists of processes are written as drivers 535.43 to 535.86 do
 *
 * With -DSTANDIN_OLD it has only what drivers of long ago had.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/gpu/nvml_api.h"

#define EXPORT __attribute__((visibility("default")))
#define DEVICES 8
#define ENTRIES 16

struct nvml_device {
	char uuid[64];
	int parent; /* -1 */
	unsigned int gi, ci;
	unsigned int n_holders, n_shares, n_samples, n_accounts;
	struct nvml_process holders[ENTRIES];
	struct nvml_process_utilization shares[ENTRIES];
	struct nvml_sample samples[ENTRIES];
	struct nvml_accounting accounts[ENTRIES];
	unsigned int account_pids[ENTRIES];
	double values[64];
	unsigned int refused[64];
};

static const char *const values[] = {
	"util",    "mem_util", "mem_used",  "mem_total",  "power_mw",    "limit_mw", "energy_mj",  "sm_mhz",
	"mem_mhz", "throttle", "temp",      "ecc_corr",   "ecc_unc",     "power_ns", "pcie_tx",    "pcie_rx",
	"gpm",     "gpm_gfx",  "gpm_sm",    "gpm_tensor", "gpm_dram",    "mig",      "accounting", "memory_v2",
	"samples", "shares",   "nvlink_tx", "mem_temp",   "gpm_pcie_tx", "holders",  NULL,
};

static struct nvml_device devices[DEVICES];
static unsigned int accounting_set[DEVICES]; /* outlives the script: 0 untouched, 1 off, 2 on */
static unsigned int n_devices, n_stride = 24, init_error, n_events, events_given, initialized;
static struct nvml_event events[ENTRIES];
static unsigned int samples_alive;

static int index_of(const char *key)
{
	for (int i = 0; values[i]; i++)
		if (strcmp(values[i], key) == 0)
			return i;
	fprintf(stderr, "standin_nvml: no value \"%s\"\n", key);
	abort();
}

static double value(nvml_device d, const char *key)
{
	return d->values[index_of(key)];
}

static unsigned int refused(nvml_device d, const char *key)
{
	return d->refused[index_of(key)];
}

static void command(char *line)
{
	struct nvml_device *d = n_devices ? &devices[n_devices - 1] : NULL;
	char word[64], uuid[64];
	unsigned int a, b, c, e, f, g;
	unsigned long long t, u;
	double v;

	if (sscanf(line, "device %63s", uuid) == 1 && n_devices < DEVICES) {
		d = &devices[n_devices++];
		memset(d, 0, sizeof(*d));
		memcpy(d->uuid, uuid, sizeof(uuid));
		d->parent = -1;
		d->gi = d->ci = NVML_NONE;
	} else if (d && sscanf(line, "instance %63s %u %u", uuid, &a, &b) == 3 && n_devices < DEVICES) {
		int parent = d->parent < 0 ? (int)n_devices - 1 : d->parent;

		d = &devices[n_devices++];
		memset(d, 0, sizeof(*d));
		memcpy(d->uuid, uuid, sizeof(uuid));
		d->parent = parent;
		d->gi = a;
		d->ci = b;
		devices[parent].values[index_of("mig")] = 1;
	} else if (d && sscanf(line, "set %63s %lf", word, &v) == 2) {
		d->values[index_of(word)] = v;
	} else if (d && sscanf(line, "refuse %63s %u", word, &a) == 2) {
		d->refused[index_of(word)] = a;
	} else if (d && sscanf(line, "holder %u %llu", &a, &t) == 2 && d->n_holders < ENTRIES) {
		d->holders[d->n_holders++] = (struct nvml_process){ a, t, d->gi, d->ci };
	} else if (d && sscanf(line, "share %u %llu %u %u %u %u", &a, &t, &b, &c, &e, &f) == 6 &&
		   d->n_shares < ENTRIES) {
		d->shares[d->n_shares++] = (struct nvml_process_utilization){ a, t, b, c, e, f };
	} else if (d && sscanf(line, "sample %llu %u", &t, &a) == 2 && d->n_samples < ENTRIES) {
		d->samples[d->n_samples++] = (struct nvml_sample){ t, { .u = a } };
	} else if (d && sscanf(line, "account %u %u %u %llu %u %llu %u", &a, &b, &c, &t, &e, &u, &g) == 7 &&
		   d->n_accounts < ENTRIES) {
		d->account_pids[d->n_accounts] = a;
		d->accounts[d->n_accounts++] = (struct nvml_accounting){ b, c, t, e, u, g, { 0 } };
	} else if (d && sscanf(line, "event %llu %llu", &t, &u) == 2 && n_events < ENTRIES) {
		events[n_events++] = (struct nvml_event){ d, t, u, NVML_NONE, NVML_NONE };
	} else if (sscanf(line, "init %u", &a) == 1) {
		init_error = a;
	} else if (sscanf(line, "stride %u", &a) == 1) {
		n_stride = a;
	} else if (line[0] != '#' && line[0] != '\n') {
		fprintf(stderr, "standin_nvml: cannot read: %s", line);
		abort();
	}
}

static void script(void)
{
	const char *path = getenv("STANDIN_NVML");
	FILE *f = path ? fopen(path, "re") : NULL;
	char line[256];

	n_devices = n_events = init_error = 0;
	n_stride = 24;
	while (f && fgets(line, sizeof(line), f))
		command(line);
	if (f)
		fclose(f);
}

/* the value, or the error that refuses it */
static unsigned int give(nvml_device d, const char *key, unsigned int *ret)
{
	if (refused(d, key))
		return refused(d, key);
	*ret = (unsigned int)value(d, key);
	return NVML_OK;
}

static unsigned int give64(nvml_device d, const char *key, unsigned long long *ret)
{
	if (refused(d, key))
		return refused(d, key);
	*ret = (unsigned long long)value(d, key);
	return NVML_OK;
}

#define API EXPORT unsigned int
/* Functions missing in the old library: present here, but not exported. */
#ifdef STANDIN_OLD
#define NEW __attribute__((visibility("hidden"))) unsigned int
#else
#define NEW API
#endif

API nvmlInit_v2(void);
API nvmlInit_v2(void)
{
	script();
	events_given = 0;
	initialized += init_error == NVML_OK;
	return init_error;
}

API nvmlShutdown(void);
API nvmlShutdown(void)
{
	if (samples_alive) {
		fprintf(stderr, "standin_nvml: %u GPM samples were not freed\n", samples_alive);
		abort();
	}
	initialized--;
	return NVML_OK;
}

EXPORT const char *nvmlErrorString(unsigned int error);
EXPORT const char *nvmlErrorString(unsigned int error)
{
	return error == NVML_NOT_SUPPORTED ? "Not Supported" : error == NVML_DRIVER_NOT_LOADED ? "Driver Not Loaded" :
	       error == NVML_NO_PERMISSION ? "Insufficient Permissions" : "Some Error";
}

API nvmlDeviceGetCount_v2(unsigned int *ret);
API nvmlDeviceGetCount_v2(unsigned int *ret)
{
	if (!initialized)
		return 1;
	script();
	*ret = 0;
	for (unsigned int i = 0; i < n_devices; i++)
		*ret += devices[i].parent < 0;
	return NVML_OK;
}

API nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvml_device *ret);
API nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvml_device *ret)
{
	for (unsigned int i = 0; i < n_devices; i++)
		if (devices[i].parent < 0 && index-- == 0) {
			*ret = &devices[i];
			return NVML_OK;
		}
	return NVML_INVALID_ARGUMENT;
}

API nvmlDeviceGetUUID(nvml_device d, char *ret, unsigned int size);
API nvmlDeviceGetUUID(nvml_device d, char *ret, unsigned int size)
{
	snprintf(ret, size, "%s", d->uuid);
	return NVML_OK;
}

API nvmlDeviceGetUtilizationRates(nvml_device d, struct nvml_utilization *ret);
API nvmlDeviceGetUtilizationRates(nvml_device d, struct nvml_utilization *ret)
{
	ret->memory = (unsigned int)value(d, "mem_util");
	return give(d, "util", &ret->gpu);
}

API nvmlDeviceGetMemoryInfo(nvml_device d, struct nvml_memory *ret);
API nvmlDeviceGetMemoryInfo(nvml_device d, struct nvml_memory *ret)
{
	if (refused(d, "mem_used"))
		return refused(d, "mem_used");
	ret->total = (unsigned long long)value(d, "mem_total");
	ret->used = (unsigned long long)value(d, "mem_used");
	ret->free = ret->total - ret->used;
	return NVML_OK;
}

NEW nvmlSystemGetDriverVersion(char *ret, unsigned int size);
NEW nvmlSystemGetDriverVersion(char *ret, unsigned int size)
{
	snprintf(ret, size, "555.42");
	return NVML_OK;
}

NEW nvmlDeviceGetName(nvml_device d, char *ret, unsigned int size);
NEW nvmlDeviceGetName(nvml_device d, char *ret, unsigned int size)
{
	(void)d;
	snprintf(ret, size, "Stand-in 1000");
	return NVML_OK;
}

NEW nvmlDeviceGetPciInfo_v3(nvml_device d, struct nvml_pci *ret);
NEW nvmlDeviceGetPciInfo_v3(nvml_device d, struct nvml_pci *ret)
{
	memset(ret, 0, sizeof(*ret));
	snprintf(ret->bus_id, sizeof(ret->bus_id), "0000:%02x:00.0", (unsigned int)(d - devices) & 0xffu);
	return NVML_OK;
}

NEW nvmlDeviceGetSamples(nvml_device d, unsigned int type, unsigned long long since, unsigned int *ret_type,
			 unsigned int *count, struct nvml_sample *ret);
NEW nvmlDeviceGetSamples(nvml_device d, unsigned int type, unsigned long long since, unsigned int *ret_type,
			 unsigned int *count, struct nvml_sample *ret)
{
	unsigned int n = 0;

	if (refused(d, "samples") || type != NVML_SAMPLES_GPU)
		return NVML_NOT_SUPPORTED;
	for (unsigned int i = 0; i < d->n_samples && n < *count; i++)
		if (d->samples[i].time_us > since)
			ret[n++] = d->samples[i];
	*ret_type = NVML_VALUE_UINT;
	*count = n;
	return n ? NVML_OK : NVML_NOT_FOUND;
}

NEW nvmlDeviceGetMemoryInfo_v2(nvml_device d, struct nvml_memory_v2 *ret);
NEW nvmlDeviceGetMemoryInfo_v2(nvml_device d, struct nvml_memory_v2 *ret)
{
	if (ret->version != (40u | 2u << 24))
		return 25; /* NVML_ERROR_ARGUMENT_VERSION_MISMATCH */
	if (refused(d, "memory_v2"))
		return refused(d, "memory_v2");
	ret->total = (unsigned long long)value(d, "mem_total");
	ret->used = (unsigned long long)value(d, "mem_used");
	ret->reserved = 512;
	ret->free = ret->total - ret->used;
	return NVML_OK;
}

NEW nvmlDeviceGetPowerUsage(nvml_device d, unsigned int *ret);
NEW nvmlDeviceGetPowerUsage(nvml_device d, unsigned int *ret)
{
	return give(d, "power_mw", ret);
}

NEW nvmlDeviceGetEnforcedPowerLimit(nvml_device d, unsigned int *ret);
NEW nvmlDeviceGetEnforcedPowerLimit(nvml_device d, unsigned int *ret)
{
	return give(d, "limit_mw", ret);
}

NEW nvmlDeviceGetTotalEnergyConsumption(nvml_device d, unsigned long long *ret);
NEW nvmlDeviceGetTotalEnergyConsumption(nvml_device d, unsigned long long *ret)
{
	return give64(d, "energy_mj", ret);
}

NEW nvmlDeviceGetClockInfo(nvml_device d, unsigned int which, unsigned int *ret);
NEW nvmlDeviceGetClockInfo(nvml_device d, unsigned int which, unsigned int *ret)
{
	return give(d, which == NVML_CLOCK_SM ? "sm_mhz" : "mem_mhz", ret);
}

NEW nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device d, unsigned long long *ret);
NEW nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device d, unsigned long long *ret)
{
	return give64(d, "throttle", ret);
}

NEW nvmlDeviceGetViolationStatus(nvml_device d, unsigned int policy, struct nvml_violation *ret);
NEW nvmlDeviceGetViolationStatus(nvml_device d, unsigned int policy, struct nvml_violation *ret)
{
	ret->reference_us = 0;
	return policy == NVML_POLICY_POWER ? give64(d, "power_ns", &ret->violation_ns) : NVML_NOT_SUPPORTED;
}

NEW nvmlDeviceGetTemperature(nvml_device d, unsigned int which, unsigned int *ret);
NEW nvmlDeviceGetTemperature(nvml_device d, unsigned int which, unsigned int *ret)
{
	return which == NVML_TEMPERATURE_GPU ? give(d, "temp", ret) : NVML_INVALID_ARGUMENT;
}

NEW nvmlDeviceGetTotalEccErrors(nvml_device d, unsigned int type, unsigned int counter, unsigned long long *ret);
NEW nvmlDeviceGetTotalEccErrors(nvml_device d, unsigned int type, unsigned int counter, unsigned long long *ret)
{
	if (counter != NVML_ECC_VOLATILE)
		return NVML_INVALID_ARGUMENT;
	return give64(d, type == NVML_ECC_CORRECTED ? "ecc_corr" : "ecc_unc", ret);
}

NEW nvmlDeviceGetPcieThroughput(nvml_device d, unsigned int which, unsigned int *ret);
NEW nvmlDeviceGetPcieThroughput(nvml_device d, unsigned int which, unsigned int *ret)
{
	return give(d, which == NVML_PCIE_TX ? "pcie_tx" : "pcie_rx", ret);
}

NEW nvmlDeviceGetFieldValues(nvml_device d, int n, struct nvml_field *fields);
NEW nvmlDeviceGetFieldValues(nvml_device d, int n, struct nvml_field *fields)
{
	for (int i = 0; i < n; i++) {
		fields[i].error = NVML_NOT_SUPPORTED;
		if (fields[i].id == NVML_FIELD_MEMORY_TEMPERATURE) {
			fields[i].type = NVML_VALUE_UINT;
			fields[i].error = give(d, "mem_temp", &fields[i].value.u);
		} else if (fields[i].id == NVML_FIELD_NVLINK_TX_KIB && fields[i].scope == NVML_NONE) {
			fields[i].type = NVML_VALUE_ULLONG;
			fields[i].error = give64(d, "nvlink_tx", &fields[i].value.ull);
		}
	}
	return NVML_OK;
}

NEW nvmlDeviceGetMigMode(nvml_device d, unsigned int *now, unsigned int *pending);
NEW nvmlDeviceGetMigMode(nvml_device d, unsigned int *now, unsigned int *pending)
{
	*pending = (unsigned int)value(d, "mig");
	return give(d, "mig", now);
}

NEW nvmlDeviceGetMaxMigDeviceCount(nvml_device d, unsigned int *ret);
NEW nvmlDeviceGetMaxMigDeviceCount(nvml_device d, unsigned int *ret)
{
	(void)d;
	*ret = 7;
	return NVML_OK;
}

NEW nvmlDeviceGetMigDeviceHandleByIndex(nvml_device d, unsigned int index, nvml_device *ret);
NEW nvmlDeviceGetMigDeviceHandleByIndex(nvml_device d, unsigned int index, nvml_device *ret)
{
	for (unsigned int i = 0; i < n_devices; i++)
		if (devices[i].parent == (int)(d - devices) && index-- == 0) {
			*ret = &devices[i];
			return NVML_OK;
		}
	return NVML_NOT_FOUND;
}

NEW nvmlDeviceGetGpuInstanceId(nvml_device d, unsigned int *ret);
NEW nvmlDeviceGetGpuInstanceId(nvml_device d, unsigned int *ret)
{
	*ret = d->gi;
	return NVML_OK;
}

NEW nvmlDeviceGetComputeInstanceId(nvml_device d, unsigned int *ret);
NEW nvmlDeviceGetComputeInstanceId(nvml_device d, unsigned int *ret)
{
	*ret = d->ci;
	return NVML_OK;
}

NEW nvmlDeviceGetComputeRunningProcesses_v3(nvml_device d, unsigned int *count, struct nvml_process *ret);
NEW nvmlDeviceGetComputeRunningProcesses_v3(nvml_device d, unsigned int *count, struct nvml_process *ret)
{
	if (refused(d, "holders"))
		return refused(d, "holders");
	if (*count < d->n_holders) {
		*count = d->n_holders;
		return NVML_INSUFFICIENT_SIZE;
	}
	for (unsigned int i = 0; i < d->n_holders; i++) {
		memset((char *)ret + (size_t)i * n_stride, 0, n_stride);
		memcpy((char *)ret + (size_t)i * n_stride, &d->holders[i], sizeof(*ret));
	}
	*count = d->n_holders;
	return NVML_OK;
}

NEW nvmlDeviceGetProcessUtilization(nvml_device d, struct nvml_process_utilization *ret, unsigned int *count,
				    unsigned long long since);
NEW nvmlDeviceGetProcessUtilization(nvml_device d, struct nvml_process_utilization *ret, unsigned int *count,
				    unsigned long long since)
{
	unsigned int n = 0;

	if (refused(d, "shares"))
		return refused(d, "shares");
	for (unsigned int i = 0; i < d->n_shares && n < *count; i++)
		if (d->shares[i].time_us > since)
			ret[n++] = d->shares[i];
	*count = n;
	return n ? NVML_OK : NVML_NOT_FOUND;
}

NEW nvmlDeviceGetAccountingMode(nvml_device d, unsigned int *ret);
NEW nvmlDeviceGetAccountingMode(nvml_device d, unsigned int *ret)
{
	if (accounting_set[d - devices]) {
		*ret = accounting_set[d - devices] == 2;
		return NVML_OK;
	}
	return give(d, "accounting", ret);
}

NEW nvmlDeviceSetAccountingMode(nvml_device d, unsigned int mode);
NEW nvmlDeviceSetAccountingMode(nvml_device d, unsigned int mode)
{
	accounting_set[d - devices] = mode ? 2 : 1;
	return NVML_OK;
}

NEW nvmlDeviceGetAccountingPids(nvml_device d, unsigned int *count, unsigned int *ret);
NEW nvmlDeviceGetAccountingPids(nvml_device d, unsigned int *count, unsigned int *ret)
{
	for (unsigned int i = 0; i < d->n_accounts; i++)
		ret[i] = d->account_pids[i];
	*count = d->n_accounts;
	return NVML_OK;
}

NEW nvmlDeviceGetAccountingStats(nvml_device d, unsigned int pid, struct nvml_accounting *ret);
NEW nvmlDeviceGetAccountingStats(nvml_device d, unsigned int pid, struct nvml_accounting *ret)
{
	for (unsigned int i = 0; i < d->n_accounts; i++)
		if (d->account_pids[i] == pid) {
			*ret = d->accounts[i];
			return NVML_OK;
		}
	return NVML_NOT_FOUND;
}

NEW nvmlGpmQueryDeviceSupport(nvml_device d, struct nvml_gpm_support *ret);
NEW nvmlGpmQueryDeviceSupport(nvml_device d, struct nvml_gpm_support *ret)
{
	if (ret->version != 1)
		return NVML_INVALID_ARGUMENT;
	ret->supported = value(d, "gpm") != 0;
	return NVML_OK;
}

NEW nvmlGpmSampleAlloc(nvml_gpm_sample *ret);
NEW nvmlGpmSampleAlloc(nvml_gpm_sample *ret)
{
	*ret = malloc(1);
	samples_alive++;
	return NVML_OK;
}

NEW nvmlGpmSampleFree(nvml_gpm_sample s);
NEW nvmlGpmSampleFree(nvml_gpm_sample s)
{
	samples_alive--;
	free(s);
	return NVML_OK;
}

/* The metrics belong to the device that was sampled last. */
static nvml_device sampled;

NEW nvmlGpmSampleGet(nvml_device d, nvml_gpm_sample s);
NEW nvmlGpmSampleGet(nvml_device d, nvml_gpm_sample s)
{
	(void)s;
	sampled = d;
	return NVML_OK;
}

NEW nvmlGpmMigSampleGet(nvml_device d, unsigned int gi, nvml_gpm_sample s);
NEW nvmlGpmMigSampleGet(nvml_device d, unsigned int gi, nvml_gpm_sample s)
{
	(void)s;
	for (unsigned int i = 0; i < n_devices; i++)
		if (devices[i].parent == (int)(d - devices) && devices[i].gi == gi) {
			sampled = &devices[i];
			return NVML_OK;
		}
	return NVML_INVALID_ARGUMENT;
}

NEW nvmlGpmMetricsGet(struct nvml_gpm_metrics *m);
NEW nvmlGpmMetricsGet(struct nvml_gpm_metrics *m)
{
	if (m->version != 1 || m->before == m->after)
		return NVML_INVALID_ARGUMENT;
	for (unsigned int i = 0; i < m->count; i++) {
		struct nvml_gpm_metric *x = &m->metrics[i];

		x->error = NVML_OK;
		switch (x->id) {
		case NVML_GPM_GRAPHICS:
			x->value = value(sampled, "gpm_gfx");
			break;
		case NVML_GPM_SM:
			x->value = value(sampled, "gpm_sm");
			break;
		case NVML_GPM_TENSOR:
			x->value = value(sampled, "gpm_tensor");
			break;
		case NVML_GPM_DRAM:
			x->value = value(sampled, "gpm_dram");
			break;
		case NVML_GPM_PCIE_TX:
			x->value = value(sampled, "gpm_pcie_tx");
			break;
		default:
			x->error = NVML_NOT_SUPPORTED;
		}
	}
	return NVML_OK;
}

NEW nvmlEventSetCreate(nvml_event_set *ret);
NEW nvmlEventSetCreate(nvml_event_set *ret)
{
	*ret = malloc(1);
	return NVML_OK;
}

NEW nvmlEventSetFree(nvml_event_set s);
NEW nvmlEventSetFree(nvml_event_set s)
{
	free(s);
	return NVML_OK;
}

NEW nvmlDeviceRegisterEvents(nvml_device d, unsigned long long types, nvml_event_set s);
NEW nvmlDeviceRegisterEvents(nvml_device d, unsigned long long types, nvml_event_set s)
{
	(void)d;
	(void)s;
	return types & NVML_EVENT_XID ? NVML_OK : NVML_INVALID_ARGUMENT;
}

NEW nvmlEventSetWait_v2(nvml_event_set s, struct nvml_event *ret, unsigned int timeout);
NEW nvmlEventSetWait_v2(nvml_event_set s, struct nvml_event *ret, unsigned int timeout)
{
	(void)s;
	(void)timeout;
	if (events_given >= n_events)
		return NVML_TIMEOUT;
	*ret = events[events_given++];
	return NVML_OK;
}

