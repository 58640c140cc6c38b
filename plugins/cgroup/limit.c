/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/cgroup/limit.c - the limits in force for a cgroup: the least of its own and its ancestors', because a
 * container's processes often are a level or two below its limit.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state.h"

/* Reads dir + "/" + name; false: no such file, or another format. */
static bool read_in(char *dir, const char *name, char *text, size_t room)
{
	size_t len = strlen(dir);
	ssize_t n;
	int fd;

	dir[len] = '/';
	strcpy(dir + len + 1, name); /* the caller left room for it */
	fd = open(dir, O_RDONLY | O_CLOEXEC);
	dir[len] = '\0';
	if (fd < 0)
		return false;
	n = read(fd, text, room - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return true;
}

static void least(uint64_t n, uint64_t *ret)
{
	if (n != UINT64_MAX && n > 0 && (*ret == 0 || n < *ret))
		*ret = n;
}

static void least_cpus(double n, double *ret)
{
	if (n > 0 && (*ret == 0 || n < *ret))
		*ret = n;
}

static void limits_at(char *dir, enum cgroup_controller c, int version, struct cgroup_limits *ret)
{
	uint64_t n, period;
	char text[128];
	double cpus;

	switch (c) {
	case CTL_MEMORY:
		if (read_in(dir, version == 1 ? "memory.limit_in_bytes" : "memory.max", text, sizeof(text)) &&
		    !cgroup_number(text, &n) &&
		    n < INT64_MAX - 65536) /* v1's "none" is the largest multiple of a page */
			least(n, &ret->memory_bytes);
		break;
	case CTL_CPU:
		if (version == 2) {
			if (read_in(dir, "cpu.max", text, sizeof(text)) && !cgroup_cpu_max(text, &cpus))
				least_cpus(cpus, &ret->cpus);
		} else if (read_in(dir, "cpu.cfs_quota_us", text, sizeof(text)) && !cgroup_number(text, &n) &&
			   n != UINT64_MAX && read_in(dir, "cpu.cfs_period_us", text, sizeof(text)) &&
			   !cgroup_number(text, &period) && period > 0) {
			least_cpus((double)n / (double)period, &ret->cpus);
		}
		break;
	case CTL_PIDS:
		if (read_in(dir, "pids.max", text, sizeof(text)) && !cgroup_number(text, &n))
			least(n, &ret->pids);
		break;
	default:
		break;
	}
}

void cgroup_limits_read(struct cgroup_reader *r, const struct cgroup_files *f, struct cgroup_limits *ret)
{
	static const enum cgroup_controller of[] = { CTL_MEMORY, CTL_CPU, CTL_PIDS };
	struct cgroup_limits limits = { 0 };

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		const struct cgroup_mount *m = &r->mounts.of[of[i]];
		/* The hierarchy's root has no limits; another cgroup at the mount's root has. */
		size_t top = m->top ? strlen(m->at) + (*m->top == '\0') : 0;
		size_t len = f->dir[of[i]] ? strlen(f->dir[of[i]]) : 0;
		char *dir;

		if (len == 0 || len < top)
			continue;
		dir = malloc(len + sizeof("/memory.limit_in_bytes"));
		if (!dir)
			continue;
		strcpy(dir, f->dir[of[i]]);
		while (strlen(dir) >= top) {
			limits_at(dir, of[i], m->version, &limits);
			*strrchr(dir, '/') = '\0';
		}
		free(dir);
	}
	*ret = limits;
}
