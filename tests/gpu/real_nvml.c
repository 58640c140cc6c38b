/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/gpu/real_nvml.c - the probe's NVML side against the real library, without BPF and
 * without a host: real_nvml SECONDS [PID]. A pass each half second; prints what devices
 * tell, and at the end PID's sums as "sum KEY VALUE". Exit status 77: no driver here.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "plugins/gpu/nvml.h"

static const char *const names[N_FEATURES] = {
	[FEATURE_UTILIZATION] = "utilization",
	[FEATURE_MEMORY] = "memory",
	[FEATURE_POWER] = "power",
	[FEATURE_ENERGY] = "energy",
	[FEATURE_CLOCKS] = "clocks",
	[FEATURE_THROTTLE] = "throttle",
	[FEATURE_TEMPERATURE] = "temperature",
	[FEATURE_ECC] = "ecc",
	[FEATURE_PCIE] = "pcie",
	[FEATURE_NVLINK] = "nvlink",
	[FEATURE_XID] = "xid",
	[FEATURE_MIG] = "mig",
	[FEATURE_PROCESSES] = "processes",
	[FEATURE_PROCESS_UTILIZATION] = "process_utilization",
	[FEATURE_ACCOUNTING] = "accounting",
	[FEATURE_GPM] = "gpm",
};

static uint64_t boot_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 5;
	uint32_t pid = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
	struct nvml_state *s = nvml_new();
	struct tally *t = tally_new();
	struct use_record sum = { 0 };
	uint64_t until, slowest = 0;
	double energy = 0, device_busy = 0;

	if (!s || !t)
		return 1;
	s->want_accounting = s->want_gpm = true;
	if (nvml_open(s, NULL)) {
		printf("skip: %s\n", s->why);
		return 77;
	}
	printf("driver %s\n", s->driver);
	until = boot_now() + (uint64_t)(seconds * 1e9);
	for (int pass = 0; boot_now() < until; pass++) {
		uint64_t begun = boot_now();

		tally_clear(t);
		nvml_pass(s, t, begun);
		begun = boot_now() - begun;
		if (pass > 0 && begun > slowest)
			slowest = begun;
		for (uint32_t i = 0; i < s->n; i++) {
			const struct device_record *r = &s->gpus[i].record;
			const struct activity_record *a = &s->gpus[i].activity;

			if (!s->gpus[i].reported)
				continue;
			printf("device %s %s parent '%.*s' by %.*s util %.3f mem_active %.3f mem %.0f/%.0f W %.1f/%.1f J %.2f sm %.0f MHz "
			       "throttle '%.*s' temp %.0f/%.0f ecc %.0f/%.0f pcie %.0f/%.0f gen %.0f x%.0f nvlink %.0f/%.0f holders %.0f "
			       "busy %.0f unattributed %.0f idle_held %.0f\n",
			       s->gpus[i].uuid, s->gpus[i].name, (int)r->parent.len, r->parent.ptr ? r->parent.ptr : "",
			       (int)r->busy_how.len, r->busy_how.ptr ? r->busy_how.ptr : "", r->utilization,
			       r->memory_active, r->memory_used, r->memory_limit, r->power, r->power_limit, r->energy,
			       r->clock_sm / 1e6, (int)r->throttle.len, r->throttle.ptr ? r->throttle.ptr : "",
			       r->temperature, r->temperature_memory, r->ecc_corrected, r->ecc_uncorrected, r->pcie_tx,
			       r->pcie_rx, r->pcie_generation, r->pcie_width, r->nvlink_tx, r->nvlink_rx, r->processes,
			       r->busy_ns, r->unattributed_ns, r->idle_held_ns);
			energy += isnan(r->energy) ? 0 : r->energy;
			device_busy += isnan(r->busy_ns) ? 0 : r->busy_ns;
			if (s->gpus[i].has_activity)
				printf("activity sm %.3f occupancy %.3f tensor %.3f fp64 %.3f fp32 %.3f fp16 %.3f int %.3f dram %.3f pcie %.0f/%.0f "
				       "nvlink %.0f/%.0f\n",
				       a->sm, a->occupancy, a->tensor, a->fp64, a->fp32, a->fp16, a->integer, a->dram,
				       a->pcie_tx, a->pcie_rx, a->nvlink_tx, a->nvlink_rx);
		}
		for (uint32_t i = 0; i < t->n; i++) {
			const struct use_record *u = &t->entries[i].use;

			printf("use pid %u busy %llu held %llu idle %llu known %llu memory %llu accounted %llu J %.2f\n",
			       t->entries[i].pid, (unsigned long long)u->busy_ns, (unsigned long long)u->held_ns,
			       (unsigned long long)u->idle_ns, (unsigned long long)u->known_ns,
			       (unsigned long long)u->memory_bytes, (unsigned long long)u->accounted_ns, u->energy_j);
			if (t->entries[i].pid != pid)
				continue;
			sum.busy_ns += u->busy_ns;
			sum.held_ns += u->held_ns;
			sum.idle_ns += u->idle_ns;
			sum.known_ns += u->known_ns;
			sum.accounted_ns += u->accounted_ns;
			sum.energy_j += isnan(u->energy_j) ? 0 : u->energy_j;
			if (u->memory_bytes > sum.memory_bytes)
				sum.memory_bytes = u->memory_bytes;
		}
		fflush(stdout);
		usleep(500000);
	}
	for (int i = 0; i < N_FEATURES; i++)
		printf("signal %s: %s\n", names[i],
		       !s->features[i].symbol ? "no function" :
		       s->features[i].given   ? "ok" :
		       s->features[i].asked   ? nvml_error(&s->lib, s->features[i].error) : "not asked");
	printf("sum busy_ns %llu\nsum held_ns %llu\nsum idle_ns %llu\nsum known_ns %llu\nsum accounted_ns %llu\nsum memory_bytes %llu\n",
	       (unsigned long long)sum.busy_ns, (unsigned long long)sum.held_ns, (unsigned long long)sum.idle_ns,
	       (unsigned long long)sum.known_ns, (unsigned long long)sum.accounted_ns,
	       (unsigned long long)sum.memory_bytes);
	printf("sum energy_mj %.0f\nsum devices_energy_mj %.0f\nsum devices_busy_ns %.0f\nsum slowest_pass_ns %llu\n",
	       sum.energy_j * 1e3, energy * 1e3, device_busy, (unsigned long long)slowest);
	nvml_free(s);
	free(t);
	return 0;
}
