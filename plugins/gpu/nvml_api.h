/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/nvml_api.h - the functions and structs of NVIDIA's management library that we use, declared from its
 * public API reference: we open the library at run time, and the build needs no NVIDIA header. A versioned struct
 * carries its size, with the version number in the top byte. The assertions below check the layouts.
 */
#ifndef SKEP_GPU_NVML_API_H
#define SKEP_GPU_NVML_API_H

#include <stddef.h>
#include <stdint.h>

typedef struct nvml_device *nvml_device; /* the library's type */
typedef struct nvml_gpm_sample *nvml_gpm_sample;
typedef struct nvml_event_set *nvml_event_set;

#define NVML_NONE (~0u) /* no such instance; an unavailable number */

enum nvml_return {
	NVML_OK = 0,
	NVML_INVALID_ARGUMENT = 2,
	NVML_NOT_SUPPORTED = 3,
	NVML_NO_PERMISSION = 4,
	NVML_NOT_FOUND = 6,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_TIMEOUT = 10,
	NVML_FUNCTION_NOT_FOUND = 13,
	NVML_GPU_IS_LOST = 15,
	NVML_UNKNOWN = 999,
};

enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2 };
enum { NVML_TEMPERATURE_GPU = 0 };
enum { NVML_ECC_CORRECTED = 0, NVML_ECC_UNCORRECTED = 1 };
enum { NVML_ECC_VOLATILE = 0, NVML_ECC_AGGREGATE = 1 };
enum { NVML_PCIE_TX = 0, NVML_PCIE_RX = 1 };
enum { NVML_SAMPLES_GPU = 1 };
enum { NVML_POLICY_POWER = 0, NVML_POLICY_THERMAL = 1 };
enum {
	NVML_FIELD_MEMORY_TEMPERATURE = 82,
	NVML_FIELD_NVLINK_TX_KIB = 138, /* with scope NVML_NONE: over all links */
	NVML_FIELD_NVLINK_RX_KIB = 139,
};
enum {
	NVML_VALUE_DOUBLE = 0,
	NVML_VALUE_UINT = 1,
	NVML_VALUE_ULONG = 2,
	NVML_VALUE_ULLONG = 3,
	NVML_VALUE_LLONG = 4,
	NVML_VALUE_INT = 5,
	NVML_VALUE_USHORT = 6,
};

#define NVML_EVENT_ECC_SINGLE 0x1ull
#define NVML_EVENT_ECC_DOUBLE 0x2ull
#define NVML_EVENT_XID 0x8ull

/* Reasons for reduced clocks: R535 calls them event reasons, earlier drivers throttle reasons. */
#define NVML_THROTTLE_IDLE 0x1ull
#define NVML_THROTTLE_SETTING 0x2ull
#define NVML_THROTTLE_SW_POWER 0x4ull
#define NVML_THROTTLE_HW_SLOWDOWN 0x8ull
#define NVML_THROTTLE_SYNC_BOOST 0x10ull
#define NVML_THROTTLE_SW_THERMAL 0x20ull
#define NVML_THROTTLE_HW_THERMAL 0x40ull
#define NVML_THROTTLE_HW_POWER_BRAKE 0x80ull
#define NVML_THROTTLE_DISPLAY 0x100ull

union nvml_value {
	double d;
	int i;
	unsigned int u;
	unsigned long ul;
	unsigned long long ull;
	long long ll;
	unsigned short us;
};

struct nvml_utilization {
	unsigned int gpu, memory; /* percent */
};

struct nvml_memory {
	unsigned long long total, free, used;
};

struct nvml_memory_v2 {
	unsigned int version;
	unsigned long long total, reserved, free, used;
};
#define NVML_MEMORY_V2 ((unsigned int)sizeof(struct nvml_memory_v2) | 2u << 24)

struct nvml_pci {
	char bus_id_legacy[16];
	unsigned int domain, bus, device, pci_device_id, pci_subsystem_id;
	char bus_id[32];
};

/* ..._v3 of the process lists, and ..._v2 of them */
struct nvml_process {
	unsigned int pid;
	unsigned long long memory; /* ~0: not available */
	unsigned int gpu_instance, compute_instance;
};

struct nvml_process_utilization {
	unsigned int pid;
	unsigned long long time_us;
	unsigned int sm, memory, encoder, decoder; /* percent */
};

struct nvml_accounting {
	unsigned int gpu, memory; /* percent of its time */
	unsigned long long max_memory;
	unsigned long long time_ms;  /* lifetime of its context; 0 while it runs */
	unsigned long long start_us; /* since 1970 */
	unsigned int running;
	unsigned int reserved[5];
};

struct nvml_sample {
	unsigned long long time_us;
	union nvml_value value;
};

struct nvml_field {
	unsigned int id, scope;
	long long time_us, latency_us;
	unsigned int type; /* NVML_VALUE_* */
	unsigned int error;
	union nvml_value value;
};

struct nvml_violation {
	unsigned long long reference_us, violation_ns;
};

struct nvml_event {
	nvml_device device;
	unsigned long long type, data;
	unsigned int gpu_instance, compute_instance;
};

/* The number of metrics grows (98, 210, 333 ...) under one version number: the library reads `count` of them. */
#define NVML_GPM_ROOM 512
#define NVML_GPM_VERSION 1u

struct nvml_gpm_metric {
	unsigned int id;
	unsigned int error;
	double value;
	char *short_name, *long_name, *unit;
};

struct nvml_gpm_metrics {
	unsigned int version;
	unsigned int count;
	nvml_gpm_sample before, after;
	struct nvml_gpm_metric metrics[NVML_GPM_ROOM];
};

struct nvml_gpm_support {
	unsigned int version;
	unsigned int supported;
};

enum nvml_gpm_id {
	NVML_GPM_GRAPHICS = 1, /* percent of the time, all of these */
	NVML_GPM_SM = 2,
	NVML_GPM_OCCUPANCY = 3,
	NVML_GPM_INTEGER = 4,
	NVML_GPM_TENSOR = 5,
	NVML_GPM_DRAM = 10,
	NVML_GPM_FP64 = 11,
	NVML_GPM_FP32 = 12,
	NVML_GPM_FP16 = 13,
	NVML_GPM_PCIE_TX = 20, /* MiB/s */
	NVML_GPM_PCIE_RX = 21,
	NVML_GPM_NVLINK_RX = 60,
	NVML_GPM_NVLINK_TX = 61,
};

#if __SIZEOF_POINTER__ == 8
_Static_assert(sizeof(struct nvml_memory_v2) == 40, "nvmlMemory_v2_t");
_Static_assert(sizeof(struct nvml_pci) == 68, "nvmlPciInfo_t");
_Static_assert(sizeof(struct nvml_process) == 24, "nvmlProcessInfo_v2_t");
_Static_assert(sizeof(struct nvml_process_utilization) == 32, "nvmlProcessUtilizationSample_t");
_Static_assert(sizeof(struct nvml_accounting) == 56, "nvmlAccountingStats_t");
_Static_assert(sizeof(struct nvml_sample) == 16, "nvmlSample_t");
_Static_assert(sizeof(struct nvml_field) == 40, "nvmlFieldValue_t");
_Static_assert(sizeof(struct nvml_event) == 32, "nvmlEventData_t");
_Static_assert(sizeof(struct nvml_gpm_metric) == 40, "nvmlGpmMetric_t");
_Static_assert(offsetof(struct nvml_gpm_metrics, metrics) == 24, "nvmlGpmMetricsGet_t");
#endif

/*
 * Every function that we call: NVML_FN(member, "symbol" or "newer|older", arguments). All but error_string return enum
 * nvml_return. A missing one disables only its signal.
 */
#define NVML_FUNCTIONS(FN) \
	FN(init, "nvmlInit_v2", (void)) \
	FN(shutdown, "nvmlShutdown", (void)) \
	FN(driver_version, "nvmlSystemGetDriverVersion", (char *, unsigned int)) \
	FN(count, "nvmlDeviceGetCount_v2", (unsigned int *)) \
	FN(by_index, "nvmlDeviceGetHandleByIndex_v2", (unsigned int, nvml_device *)) \
	FN(uuid, "nvmlDeviceGetUUID", (nvml_device, char *, unsigned int)) \
	FN(name, "nvmlDeviceGetName", (nvml_device, char *, unsigned int)) \
	FN(pci, "nvmlDeviceGetPciInfo_v3|nvmlDeviceGetPciInfo_v2", (nvml_device, struct nvml_pci *)) \
	FN(utilization, "nvmlDeviceGetUtilizationRates", (nvml_device, struct nvml_utilization *)) \
	FN(samples, "nvmlDeviceGetSamples", \
	   (nvml_device, unsigned int, unsigned long long, unsigned int *, unsigned int *, struct nvml_sample *)) \
	FN(encoder, "nvmlDeviceGetEncoderUtilization", (nvml_device, unsigned int *, unsigned int *)) \
	FN(decoder, "nvmlDeviceGetDecoderUtilization", (nvml_device, unsigned int *, unsigned int *)) \
	FN(memory_v2, "nvmlDeviceGetMemoryInfo_v2", (nvml_device, struct nvml_memory_v2 *)) \
	FN(memory, "nvmlDeviceGetMemoryInfo", (nvml_device, struct nvml_memory *)) \
	FN(power, "nvmlDeviceGetPowerUsage", (nvml_device, unsigned int *)) \
	FN(power_limit, "nvmlDeviceGetEnforcedPowerLimit", (nvml_device, unsigned int *)) \
	FN(energy, "nvmlDeviceGetTotalEnergyConsumption", (nvml_device, unsigned long long *)) \
	FN(clock, "nvmlDeviceGetClockInfo", (nvml_device, unsigned int, unsigned int *)) \
	FN(clock_max, "nvmlDeviceGetMaxClockInfo", (nvml_device, unsigned int, unsigned int *)) \
	FN(throttle, "nvmlDeviceGetCurrentClocksEventReasons|nvmlDeviceGetCurrentClocksThrottleReasons", \
	   (nvml_device, unsigned long long *)) \
	FN(violation, "nvmlDeviceGetViolationStatus", (nvml_device, unsigned int, struct nvml_violation *)) \
	FN(temperature, "nvmlDeviceGetTemperature", (nvml_device, unsigned int, unsigned int *)) \
	FN(ecc, "nvmlDeviceGetTotalEccErrors", (nvml_device, unsigned int, unsigned int, unsigned long long *)) \
	FN(remapped, "nvmlDeviceGetRemappedRows", \
	   (nvml_device, unsigned int *, unsigned int *, unsigned int *, unsigned int *)) \
	FN(pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration", (nvml_device, unsigned int *)) \
	FN(pcie_width, "nvmlDeviceGetCurrPcieLinkWidth", (nvml_device, unsigned int *)) \
	FN(pcie_replays, "nvmlDeviceGetPcieReplayCounter", (nvml_device, unsigned int *)) \
	FN(pcie_throughput, "nvmlDeviceGetPcieThroughput", (nvml_device, unsigned int, unsigned int *)) \
	FN(fields, "nvmlDeviceGetFieldValues", (nvml_device, int, struct nvml_field *)) \
	FN(mig_mode, "nvmlDeviceGetMigMode", (nvml_device, unsigned int *, unsigned int *)) \
	FN(mig_count, "nvmlDeviceGetMaxMigDeviceCount", (nvml_device, unsigned int *)) \
	FN(mig_by_index, "nvmlDeviceGetMigDeviceHandleByIndex", (nvml_device, unsigned int, nvml_device *)) \
	FN(gpu_instance, "nvmlDeviceGetGpuInstanceId", (nvml_device, unsigned int *)) \
	FN(compute_instance, "nvmlDeviceGetComputeInstanceId", (nvml_device, unsigned int *)) \
	FN(compute_processes, "nvmlDeviceGetComputeRunningProcesses_v3|nvmlDeviceGetComputeRunningProcesses_v2", \
	   (nvml_device, unsigned int *, struct nvml_process *)) \
	FN(graphics_processes, "nvmlDeviceGetGraphicsRunningProcesses_v3|nvmlDeviceGetGraphicsRunningProcesses_v2", \
	   (nvml_device, unsigned int *, struct nvml_process *)) \
	FN(mps_processes, "nvmlDeviceGetMPSComputeRunningProcesses_v3|nvmlDeviceGetMPSComputeRunningProcesses_v2", \
	   (nvml_device, unsigned int *, struct nvml_process *)) \
	FN(process_utilization, "nvmlDeviceGetProcessUtilization", \
	   (nvml_device, struct nvml_process_utilization *, unsigned int *, unsigned long long)) \
	FN(accounting_mode, "nvmlDeviceGetAccountingMode", (nvml_device, unsigned int *)) \
	FN(accounting_set, "nvmlDeviceSetAccountingMode", (nvml_device, unsigned int)) \
	FN(accounting_pids, "nvmlDeviceGetAccountingPids", (nvml_device, unsigned int *, unsigned int *)) \
	FN(accounting_room, "nvmlDeviceGetAccountingBufferSize", (nvml_device, unsigned int *)) \
	FN(accounting_stats, "nvmlDeviceGetAccountingStats", (nvml_device, unsigned int, struct nvml_accounting *)) \
	FN(gpm_support, "nvmlGpmQueryDeviceSupport", (nvml_device, struct nvml_gpm_support *)) \
	FN(gpm_alloc, "nvmlGpmSampleAlloc", (nvml_gpm_sample *)) \
	FN(gpm_free, "nvmlGpmSampleFree", (nvml_gpm_sample)) \
	FN(gpm_get, "nvmlGpmSampleGet", (nvml_device, nvml_gpm_sample)) \
	FN(gpm_mig_get, "nvmlGpmMigSampleGet", (nvml_device, unsigned int, nvml_gpm_sample)) \
	FN(gpm_metrics, "nvmlGpmMetricsGet", (struct nvml_gpm_metrics *)) \
	FN(event_set, "nvmlEventSetCreate", (nvml_event_set *)) \
	FN(event_free, "nvmlEventSetFree", (nvml_event_set)) \
	FN(event_types, "nvmlDeviceGetSupportedEventTypes", (nvml_device, unsigned long long *)) \
	FN(event_register, "nvmlDeviceRegisterEvents", (nvml_device, unsigned long long, nvml_event_set)) \
	FN(event_wait, "nvmlEventSetWait_v2", (nvml_event_set, struct nvml_event *, unsigned int))

struct nvml_lib {
	void *handle;
#define NVML_MEMBER(member_, symbol_, args_) unsigned int(*member_) args_;
	NVML_FUNCTIONS(NVML_MEMBER)
#undef NVML_MEMBER
	const char *(*error_string)(unsigned int);
};

/*
 * Opens the library and finds its functions; calls none. path NULL: libnvidia-ml.so.1 from the linker's search path. 0,
 * -ENOENT (why: the linker's message), or -ELIBBAD when an indispensable function is missing.
 */
int nvml_lib_open(struct nvml_lib *, const char *path, char *why, size_t why_size);
void nvml_lib_close(struct nvml_lib *); /* accepts a closed library */
const char *nvml_error(const struct nvml_lib *, unsigned int error);

#endif
