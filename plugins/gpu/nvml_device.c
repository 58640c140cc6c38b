/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/nvml_device.c - the figures of one device. A figure that the driver refuses ("not supported" is normal,
 * by class of device) stays NAN.
 */
#include <math.h>
#include <skep/values.h>
#include <stdio.h>
#include <string.h>

#include "nvml.h"

double nvml_value_number(union nvml_value v, unsigned int type)
{
	switch (type) {
	case NVML_VALUE_DOUBLE:
		return v.d;
	case NVML_VALUE_UINT:
		return v.u;
	case NVML_VALUE_ULONG:
		return (double)v.ul;
	case NVML_VALUE_ULLONG:
		return (double)v.ull;
	case NVML_VALUE_LLONG:
		return (double)v.ll;
	case NVML_VALUE_INT:
		return v.i;
	case NVML_VALUE_USHORT:
		return v.us;
	default:
		return NAN;
	}
}

double nvml_samples_mean(const struct nvml_sample *samples, uint32_t n, unsigned int value_type,
			 unsigned long long *ret_newest)
{
	double sum = 0;
	uint32_t good = 0;

	for (uint32_t i = 0; i < n; i++) {
		double v = nvml_value_number(samples[i].value, value_type);

		if (!(v >= 0 && v <= 100)) /* also NAN: the unused end of the buffer */
			continue;
		sum += v;
		good++;
		if (samples[i].time_us > *ret_newest)
			*ret_newest = samples[i].time_us;
	}
	return good ? sum / good / 100 : NAN;
}

void nvml_throttle_words(unsigned long long reasons, char *ret, size_t size)
{
	static const struct {
		unsigned long long bit;
		const char *word;
	} words[] = {
		{ NVML_THROTTLE_IDLE, "idle" },
		{ NVML_THROTTLE_SETTING, "setting" },
		{ NVML_THROTTLE_SW_POWER, "sw_power" },
		{ NVML_THROTTLE_HW_SLOWDOWN, "hw_slowdown" },
		{ NVML_THROTTLE_SYNC_BOOST, "sync_boost" },
		{ NVML_THROTTLE_SW_THERMAL, "sw_thermal" },
		{ NVML_THROTTLE_HW_THERMAL, "hw_thermal" },
		{ NVML_THROTTLE_HW_POWER_BRAKE, "hw_power_brake" },
		{ NVML_THROTTLE_DISPLAY, "display" },
	};
	size_t at = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i].word);

		if (!(reasons & words[i].bit))
			continue;
		reasons &= ~words[i].bit;
		if (at + n + 2 > size)
			return;
		if (at)
			ret[at++] = ',';
		memcpy(ret + at, words[i].word, n + 1);
		at += n;
	}
	if (reasons) /* bits that only a later driver has */
		snprintf(ret + at, size - at, "%s0x%llx", at ? "," : "", reasons);
}

/* The increase of a counter; after a reset (driver reloaded) it counts from zero. NAN on the first reading. */
static double grown(double *last, double now)
{
	double by = isnan(*last) || isnan(now) ? NAN : now >= *last ? now - *last : now;

	*last = now;
	return by;
}

/*
 * The share of time in which a kernel ran: the mean over the whole interval from GPM or the driver's samples; otherwise
 * the last sample period stands for the interval.
 */
static void read_utilization(struct nvml_state *s, struct nvml_gpu *g, struct device_record *r)
{
	const struct nvml_lib *l = &s->lib;
	struct nvml_utilization rates;
	unsigned int error = NVML_NOT_SUPPORTED;

	if (!isnan(g->gpm_graphics)) {
		r->utilization = g->gpm_graphics;
		r->busy_how = skep_text("gpm");
		error = NVML_OK;
	}
	if (l->samples && isnan(r->utilization)) {
		unsigned int type = NVML_VALUE_UINT, n = SAMPLES_ROOM;

		error = l->samples(g->handle, NVML_SAMPLES_GPU, g->samples_us, &type, &n, s->samples);
		if (error == NVML_OK && n <= SAMPLES_ROOM) {
			r->utilization = nvml_samples_mean(s->samples, n, type, &g->samples_us);
			if (!isnan(r->utilization))
				r->busy_how = skep_text("samples");
		}
	}
	if (l->utilization) {
		unsigned int e = l->utilization(g->handle, &rates);

		if (e == NVML_OK) {
			r->memory_active = rates.memory / 100.0;
			if (isnan(r->utilization)) {
				r->utilization = rates.gpu / 100.0;
				r->busy_how = skep_text("rates");
			}
		}
		if (isnan(r->utilization))
			error = e;
	}
	nvml_got(s, FEATURE_UTILIZATION, isnan(r->utilization) ? error : NVML_OK);
	if (!isnan(r->utilization) && g->read_ns)
		r->busy_ns = r->utilization * (double)r->interval_ns;
}

static void read_engines(struct nvml_state *s, struct nvml_gpu *g, struct device_record *r)
{
	unsigned int percent = 0, period = 0;

	if (s->lib.encoder && s->lib.encoder(g->handle, &percent, &period) == NVML_OK)
		r->encoder = percent / 100.0;
	if (s->lib.decoder && s->lib.decoder(g->handle, &percent, &period) == NVML_OK)
		r->decoder = percent / 100.0;
}

static void read_memory(struct nvml_state *s, struct nvml_gpu *g, struct device_record *r)
{
	struct nvml_memory_v2 v2 = { .version = NVML_MEMORY_V2 };
	struct nvml_memory v1;
	unsigned int error = NVML_FUNCTION_NOT_FOUND;

	if (s->lib.memory_v2) {
		error = s->lib.memory_v2(g->handle, &v2);
		if (error == NVML_OK) {
			r->memory_used = (double)v2.used;
			r->memory_limit = (double)v2.total;
			r->memory_reserved = (double)v2.reserved;
		}
	}
	if (error != NVML_OK && s->lib.memory) {
		error = s->lib.memory(g->handle, &v1);
		if (error == NVML_OK) {
			r->memory_used = (double)v1.used; /* includes reserved memory */
			r->memory_limit = (double)v1.total;
		}
	}
	nvml_got(s, FEATURE_MEMORY, error);
}

static void read_power(struct nvml_state *s, struct nvml_gpu *g, struct device_record *r)
{
	unsigned long long mj;
	unsigned int mw;

	if (s->lib.power && nvml_got(s, FEATURE_POWER, s->lib.power(g->handle, &mw)))
		r->power = mw / 1000.0;
	if (s->lib.power_limit && s->lib.power_limit(g->handle, &mw) == NVML_OK)
		r->power_limit = mw / 1000.0;
	if (s->lib.energy && nvml_got(s, FEATURE_ENERGY, s->lib.energy(g->handle, &mj)))
		r->energy = grown(&g->last_energy, (double)mj / 1000.0);
}

static void read_clocks(struct nvml_state *s, struct nvml_gpu *g, struct device_record *r)
{
	struct nvml_violation v;
	unsigned long long reasons;
	unsigned int mhz;

	if (s->lib.clock && nvml_got(s, FEATURE_CLOCKS, s->lib.clock(g->handle, NVML_CLOCK_SM, &mhz)))
		r->clock_sm = mhz * 1e6;
	if (s->lib.clock && s->lib.clock(g->handle, NVML_CLOCK_MEMORY, &mhz) == NVML_OK)
		r->clock_memory = mhz * 1e6;
	if (s->lib.clock_max && s->lib.clock_max(g->handle, NVML_CLOCK_SM, &mhz) == NVML_OK)
		r->clock_sm_max = mhz * 1e6;
	if (s->lib.throttle && nvml_got(s, FEATURE_THROTTLE, s->lib.throttle(g->handle, &reasons))) {
		nvml_throttle_words(reasons, g->throttle, sizeof(g->throttle));
		r->throttle = skep_text(g->throttle);
	}
	if (s->lib.violation && s->lib.violation(g->handle, NVML_POLICY_POWER, &v) == NVML_OK)
		r->throttled_power_ns = grown(&g->last_power_ns, (double)v.violation_ns);
	if (s->lib.violation && s->lib.violation(g->handle, NVML_POLICY_THERMAL, &v) == NVML_OK)
		r->throttled_thermal_ns = grown(&g->last_thermal_ns, (double)v.violation_ns);
}

static void read_health(struct nvml_state *s, struct nvml_gpu *g, struct device_record *r)
{
	unsigned int a, corrected, uncorrected, pending, failed;
	unsigned long long n;

	if (s->lib.temperature &&
	    nvml_got(s, FEATURE_TEMPERATURE, s->lib.temperature(g->handle, NVML_TEMPERATURE_GPU, &a)))
		r->temperature = a;
	if (s->lib.ecc && nvml_got(s, FEATURE_ECC, s->lib.ecc(g->handle, NVML_ECC_UNCORRECTED, NVML_ECC_VOLATILE, &n)))
		r->ecc_uncorrected = grown(&g->last_uncorrected, (double)n);
	if (s->lib.ecc && s->lib.ecc(g->handle, NVML_ECC_CORRECTED, NVML_ECC_VOLATILE, &n) == NVML_OK)
		r->ecc_corrected = grown(&g->last_corrected, (double)n);
	if (s->lib.remapped && s->lib.remapped(g->handle, &corrected, &uncorrected, &pending, &failed) == NVML_OK) {
		r->rows_remapped = (double)corrected + uncorrected;
		r->remap_pending = pending || failed;
	}
}

static void read_links(struct nvml_state *s, struct nvml_gpu *g, struct device_record *r)
{
	struct nvml_field fields[] = {
		{ .id = NVML_FIELD_MEMORY_TEMPERATURE },
		{ .id = NVML_FIELD_NVLINK_TX_KIB, .scope = NVML_NONE },
		{ .id = NVML_FIELD_NVLINK_RX_KIB, .scope = NVML_NONE },
	};
	double seconds = (double)r->interval_ns / 1e9;
	unsigned int a;

	if (s->lib.pcie_generation && s->lib.pcie_generation(g->handle, &a) == NVML_OK)
		r->pcie_generation = a;
	if (s->lib.pcie_width && s->lib.pcie_width(g->handle, &a) == NVML_OK)
		r->pcie_width = a;
	if (s->lib.pcie_replays && s->lib.pcie_replays(g->handle, &a) == NVML_OK)
		r->pcie_replays = grown(&g->last_replays, a);
	if (g->has_activity && !isnan(g->activity.pcie_tx)) { /* the mean over the interval */
		nvml_got(s, FEATURE_PCIE, NVML_OK);
		r->pcie_tx = g->activity.pcie_tx * seconds;
		r->pcie_rx = g->activity.pcie_rx * seconds;
	} else if (s->lib.pcie_throughput) { /* KiB/s over 20 ms, for which the library waits: the present rate */
		if (nvml_got(s, FEATURE_PCIE, s->lib.pcie_throughput(g->handle, NVML_PCIE_TX, &a)) && g->read_ns)
			r->pcie_tx = a * 1024.0 * seconds;
		if (s->lib.pcie_throughput(g->handle, NVML_PCIE_RX, &a) == NVML_OK && g->read_ns)
			r->pcie_rx = a * 1024.0 * seconds;
	}
	if (!s->lib.fields || s->lib.fields(g->handle, 3, fields) != NVML_OK)
		return;
	if (fields[0].error == NVML_OK)
		r->temperature_memory = nvml_value_number(fields[0].value, fields[0].type);
	if (nvml_got(s, FEATURE_NVLINK, fields[1].error))
		r->nvlink_tx = grown(&g->last_nvlink_tx, nvml_value_number(fields[1].value, fields[1].type) * 1024);
	if (fields[2].error == NVML_OK)
		r->nvlink_rx = grown(&g->last_nvlink_rx, nvml_value_number(fields[2].value, fields[2].type) * 1024);
}

void nvml_device_read(struct nvml_state *s, struct nvml_gpu *g, uint64_t now_ns)
{
	struct device_record *r = &g->record;
	double *numbers = &r->utilization;

	/* all numbers from utilization to the end are unknown until a reading sets them */
	_Static_assert((sizeof(*r) - offsetof(struct device_record, utilization)) % sizeof(double) == 0,
		       "only numbers");
	memset(r, 0, offsetof(struct device_record, utilization));
	for (size_t i = 0; i < (sizeof(*r) - offsetof(struct device_record, utilization)) / sizeof(double); i++)
		numbers[i] = NAN;
	r->id = skep_text(g->uuid);
	r->name = skep_text(g->name);
	r->vendor = skep_text("NVIDIA");
	r->pci = skep_text(g->pci);
	r->driver = skep_text(s->driver);
	if (g->parent >= 0)
		r->parent = skep_text(s->gpus[g->parent].uuid);
	r->gpu_instance = g->gpu_instance == NVML_NONE ? -1 : (int64_t)g->gpu_instance;
	r->compute_instance = g->compute_instance == NVML_NONE ? -1 : (int64_t)g->compute_instance;
	r->interval_ns = g->read_ns ? now_ns - g->read_ns : 0;
	read_utilization(s, g, r);
	read_memory(s, g, r);
	if (g->parent >= 0)
		return; /* the record of the whole device has the rest */
	read_engines(s, g, r);
	read_power(s, g, r);
	read_clocks(s, g, r);
	read_health(s, g, r);
	read_links(s, g, r);
}
