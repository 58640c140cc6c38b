/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/container.h - finds the container, pod, job and unit that a cgroup's path names, by the
 * patterns of etc/containers.json (built in) and of a site's files. Only containers_new does I/O.
 * core/identify/cgroup.c stores the result for each cgroup.
 */
#ifndef SKEP_CORE_CONTAINER_H
#define SKEP_CORE_CONTAINER_H

#include <skep/record.h>
#include <stdbool.h>

#include "core/base/diag.h"
#include "core/identify/engine_file.h"

enum container_kind {
	CONTAINER_CONTAINER, /* of a runtime: docker, containerd, podman, lxc, systemd-nspawn ... */
	CONTAINER_POD,       /* a group of containers: a Kubernetes or podman pod, an ECS task */
	CONTAINER_JOB,       /* of a batch scheduler: Slurm, PBS, HTCondor, Nomad */
	CONTAINER_UNIT,      /* of systemd: a service or scope */
	CONTAINER_SLICE,     /* of systemd */
	CONTAINER_KINDS,
};

/* What a state file says. */
enum container_name {
	CONTAINER_NAME,
	CONTAINER_IMAGE,
	CONTAINER_POD_NAME,
	CONTAINER_POD_NAMESPACE,
	CONTAINER_NAMES,
};

#define CONTAINER_STATE_ID "{id}"

/* The state file of a runtime for each of its containers. */
struct container_state {
	char *path; /* with one CONTAINER_STATE_ID */
	/* JSON pointers, NULL-terminated; of several for one name the first with a value counts */
	char *values[ENGINE_FILE_VALUES + 1];
	unsigned char of[ENGINE_FILE_VALUES]; /* enum container_name */
};

/* What one part of a path names; a text is empty where the path has none. */
struct container_layer {
	struct skep_str by;   /* "docker", "slurm"; empty: the path names none of this kind */
	struct skep_str id;
	struct skep_str step; /* of a job */
	struct skep_str task; /* of a step */
	struct skep_str user; /* owner of the job: a uid */
	bool named;           /* the id is the name that a user gave it */
	const struct container_state *state; /* borrowed from the table; NULL: none */
	uint32_t end;         /* length of the path of its own cgroup: to the end of the segment with its id; 0: none */
};

/* All that a path names: the innermost of each kind. One allocation; container_free frees it. */
struct container {
	struct container_layer of[CONTAINER_KINDS];
	char text[];
};

struct containers;

/* Reads the built-in table, then each of `more` (files, or folders of *.json in byte order). NULL after errors. */
struct containers *containers_new(const char *const *more, struct diag *);
struct containers *containers_free(struct containers *);
size_t containers_count(const struct containers *); /* its entries */
const struct container_state *containers_state(const struct containers *, size_t entry); /* borrowed; NULL: none */

/* 0 with NULL: the path names nothing; -ENOMEM. The caller frees *ret by container_free. */
int containers_find(const struct containers *, const char *path, size_t len, struct container **ret);
struct container *container_free(struct container *);

const char *container_kind_name(enum container_kind); /* "container", "pod" ... */

#endif
