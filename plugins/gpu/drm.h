/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/drm.h - AMD, Intel and every other device whose DRM driver reports the engine time of each client
 * (Documentation/gpu/drm-usage-stats.rst: amdgpu since 5.14, i915 since 5.19, then xe, panfrost, v3d, msm ...) in
 * /proc/PID/fdinfo; and the devices, in sysfs.
 */
#ifndef SKEP_GPU_DRM_H
#define SKEP_GPU_DRM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "records.h"
#include "tally.h"

#define DRM_ENGINES 16
#define DRM_CLIENTS_ROOM 4096 /* a power of two */
#define DRM_CARDS 64

struct drm_engine {
	char name[24];
	uint64_t busy_ns;
	bool has_ns;
	uint64_t cycles, total_cycles; /* where the driver counts cycles (xe) */
};

/* One fdinfo text. */
struct drm_fdinfo {
	char driver[32], pdev[32];
	uint64_t client;
	bool has_client;
	uint32_t n_engines, engines_left_out;
	struct drm_engine engines[DRM_ENGINES];
	uint64_t device_memory, other_memory; /* By, resident */
	bool has_memory, has_device_memory;
};

/* text: NUL-terminated. 0, or -ENOENT: no DRM device, or no client id. */
int drm_fdinfo_parse(const char *text, struct drm_fdinfo *ret);

enum drm_unit { DRM_BUSY, DRM_COPY, DRM_VIDEO };
enum drm_unit drm_engine_unit(const char *name);

struct drm_client {
	uint64_t client;
	uint64_t pass; /* 0: free */
	uint32_t pid, card; /* the process charged for it; index of its device */
	uint32_t n_engines;
	struct drm_engine engines[DRM_ENGINES]; /* as of the last pass */
};

struct drm_card {
	char pdev[32], driver[32], name[64];
	char dir[256];  /* its folder in sysfs; "": none */
	char hwmon[320];
	const char *vendor;
	uint64_t pass, read_ns;
	double last_energy;
	uint64_t busy_ns[DRM_ENGINES]; /* of this pass, by engine */
	char engine[DRM_ENGINES][24];
	uint32_t n_engines, holders;
	uint64_t memory;
	bool clients; /* has clients that report engines */
	bool reported;
	struct device_record record;
};

struct drm_state {
	const char *procfs, *sysfs; /* "/proc", "/sys" */
	uint64_t budget;            /* descriptors read in one pass in search of devices */
	bool present;               /* the machine has DRM devices */
	uint64_t passes, fds_read, overflow;
	uint64_t cut;               /* times that the descriptors of a process were read in part */
	uint32_t resume_pid;        /* where the search continues */
	bool looked_everywhere;     /* the last pass has all clients of all processes */
	uint64_t last_ns;
	uint32_t n_cards;
	struct drm_card cards[DRM_CARDS];
	uint32_t n_clients;
	struct drm_client clients[DRM_CLIENTS_ROOM];
	uint32_t n_known;
	uint32_t known_first;       /* where in known[] the next pass begins */
	uint32_t known[TALLY_ROOM]; /* processes that had a device in the last pass, ascending */
	bool reported;              /* some client reported engines */
};

struct drm_state *drm_new(const char *procfs, const char *sysfs, uint64_t budget);
struct drm_state *drm_free(struct drm_state *);
/* One pass: adds uses, fills cards[].record. */
void drm_pass(struct drm_state *, struct tally *, uint64_t now_ns);

/* drm_device.c */
void drm_cards_find(struct drm_state *);
/* Finds or makes the card of that PCI address (or platform name). -1: no room. */
int drm_card_of(struct drm_state *, const char *pdev, const char *driver);
void drm_cards_read(struct drm_state *, uint64_t now_ns);

#endif
