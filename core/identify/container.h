/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/container.h - whose cgroup is this: the container, pod, job and unit that a cgroup's
 * path names, by the patterns of etc/containers.json (built in) and whatever a site adds.
 * Pure: no I/O but containers_new.  Found once for each cgroup (core/identify/cgroup.c keeps it).
 */
#ifndef SKEP_CORE_CONTAINER_H
#define SKEP_CORE_CONTAINER_H

#include <skep/record.h>
#include <stdbool.h>

#include "core/base/diag.h"

enum container_kind {
	CONTAINER_CONTAINER, /* of a runtime: docker, containerd, podman, lxc, systemd-nspawn ... */
	CONTAINER_POD,       /* what groups containers: a Kubernetes or podman pod, an ECS task */
	CONTAINER_JOB,       /* of a batch scheduler: Slurm, PBS, HTCondor, Nomad */
	CONTAINER_UNIT,      /* of systemd: a service or scope */
	CONTAINER_SLICE,     /* of systemd */
	CONTAINER_KINDS,
};

/* What one part of a path names; strings are empty where the path does not say. */
struct container_layer {
	struct skep_str by;   /* "docker", "slurm"; empty: the path names none of this kind */
	struct skep_str id;
	struct skep_str step; /* of a job */
	struct skep_str task; /* of a step */
	struct skep_str user; /* whose job: a uid */
};

/* All that a path names; of each kind the innermost. One block of memory: free() it by container_free. */
struct container {
	struct container_layer of[CONTAINER_KINDS];
	char text[];
};

struct containers;

/* The built-in table, then each of `more` (files, or folders of *.json in byte order). NULL after errors. */
struct containers *containers_new(const char *const *more, struct diag *);
struct containers *containers_free(struct containers *);

/* 0 with NULL: the path names nothing; -ENOMEM. To be freed by container_free. */
int containers_find(const struct containers *, const char *path, size_t len, struct container **ret);
struct container *container_free(struct container *);

const char *container_kind_name(enum container_kind); /* "container", "pod" ... */

#endif
