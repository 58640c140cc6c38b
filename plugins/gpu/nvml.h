/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/nvml.h - the NVIDIA side: devices, their activity and their processes, from NVIDIA's management library.
 * All functions but nvml_new() run on one thread at a time, because the library may need milliseconds (a driver that
 * wakes up: seconds).
 */
#ifndef SKEP_GPU_NVML_H
#define SKEP_GPU_NVML_H

#include "nvml_api.h"
#include "records.h"
#include "tally.h"

#define DEVICES_MAX 256 /* MIG instances included: 8 devices of 7 are 64 */
#define EVENTS_MAX 64   /* read in one pass; the rest waits in the library */
#define LIST_ROOM 1024  /* processes on one device */
#define SAMPLES_ROOM 4096
#define ACCOUNTED_ROOM 8192 /* NVML keeps 4,000 pids */

/* Features of a device: each may be missing alone. */
enum nvml_feature {
	FEATURE_UTILIZATION,
	FEATURE_MEMORY,
	FEATURE_POWER,
	FEATURE_ENERGY,
	FEATURE_CLOCKS,
	FEATURE_THROTTLE,
	FEATURE_TEMPERATURE,
	FEATURE_ECC,
	FEATURE_PCIE,
	FEATURE_NVLINK,
	FEATURE_XID,
	FEATURE_MIG,
	FEATURE_PROCESSES,
	FEATURE_PROCESS_UTILIZATION,
	FEATURE_ACCOUNTING,
	FEATURE_GPM,
	N_FEATURES,
};

struct nvml_feature_state {
	bool symbol;        /* the library has the function */
	unsigned int given; /* devices with a value in the last pass */
	unsigned int asked;
	unsigned int error; /* the last error of a device instead */
};

/* A device or a MIG instance of one. Records point into it. */
struct nvml_gpu {
	nvml_device handle;
	char uuid[96], name[96], pci[32];
	int32_t parent; /* index; -1: a whole device */
	unsigned int gpu_instance, compute_instance; /* NVML_NONE */
	uint64_t pass;  /* the last pass that listed it */
	bool mig;       /* divided into instances now */
	bool accounting, accounting_ours; /* accounting is on; and the probe switched it on */
	uint32_t accounted_next;          /* round robin over the settled pids */

	/* of the last pass; NAN or 0: none */
	uint64_t read_ns;
	double last_energy, last_power_ns, last_thermal_ns, last_corrected, last_uncorrected, last_replays;
	double last_nvlink_tx, last_nvlink_rx;
	unsigned long long samples_us, processes_us; /* the newest times read */
	nvml_gpm_sample gpm[2];
	bool gpm_supported, gpm_have;
	uint64_t gpm_ns;

	bool reported, has_activity; /* this pass has a record, and one from GPM */
	double gpm_graphics;
	struct device_record record;
	struct activity_record activity;
	char throttle[160];
};

struct nvml_state {
	struct nvml_lib lib;
	bool up;       /* nvmlInit has succeeded */
	bool want_accounting, want_gpm;
	char why[256]; /* why the library is not initialized */
	char driver[80];
	struct nvml_feature_state features[N_FEATURES];
	uint64_t passes;
	uint64_t devices_overflow, list_overflow;
	uint32_t n;
	struct nvml_gpu gpus[DEVICES_MAX];
	nvml_event_set events;
	uint32_t n_events;
	struct nvml_event event[EVENTS_MAX];
	struct lives *lives;

	/* room for the library's answers */
	struct nvml_gpm_metrics metrics;
	struct nvml_sample samples[SAMPLES_ROOM];
	struct nvml_process_utilization shares[SAMPLES_ROOM];
	unsigned int accounted[ACCOUNTED_ROOM];
	/* Twice the usual size: drivers 535.43 to 535.86 write 32 bytes a process where all others write 24. */
	unsigned char list[LIST_ROOM * 2 * sizeof(struct nvml_process)];
	struct nvml_process holders[LIST_ROOM];
	uint32_t n_holders;
};

struct nvml_state *nvml_new(void);
struct nvml_state *nvml_free(struct nvml_state *);

/* Opens the library and the driver. 0; -ENOENT: not installed (why names the missing part). May be called again. */
int nvml_open(struct nvml_state *, const char *path);
/* Restores the changed settings and releases the driver. */
void nvml_close(struct nvml_state *);

/* One pass over all devices: fills gpus[].record and event[], adds uses to the tally. The first one is the baseline. */
void nvml_pass(struct nvml_state *, struct tally *, uint64_t now_ns);

/* ---- its parts ----------------------------------------------------------------- */

/* Counts the answer for the signal. True: the library gave a value. */
bool nvml_got(struct nvml_state *, enum nvml_feature, unsigned int error);

/* nvml_device.c: figures of a device since the last pass. */
void nvml_device_read(struct nvml_state *, struct nvml_gpu *, uint64_t now_ns);
/* Words for the bits of the clocks' event reasons. */
void nvml_throttle_words(unsigned long long reasons, char *ret, size_t size);
/* Mean of utilization samples, 0 to 1; NAN: none. ret_newest: the newest sample's time. */
double nvml_samples_mean(const struct nvml_sample *, uint32_t n, unsigned int value_type,
			 unsigned long long *ret_newest);
double nvml_value_number(union nvml_value, unsigned int type); /* NAN: unknown type */

/* nvml_gpm.c */
void nvml_gpm_read(struct nvml_state *, struct nvml_gpu *, uint64_t now_ns);
void nvml_gpm_close(struct nvml_state *, struct nvml_gpu *);

/* nvml_process.c: the processes on a device, and their shares of record.busy_ns. */
void nvml_processes_read(struct nvml_state *, struct nvml_gpu *, struct tally *, uint64_t now_ns);
void nvml_accounting_open(struct nvml_state *, struct nvml_gpu *);
void nvml_accounting_close(struct nvml_state *, struct nvml_gpu *);
/* Decodes a list whose entries have either size into holders; returns their number. */
uint32_t nvml_list_decode(const unsigned char *list, uint32_t n, unsigned char filler, struct nvml_process *ret);

#endif
