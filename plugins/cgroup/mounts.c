/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/cgroup/mounts.c - the hierarchy of each controller and its mount: cgroup v2, v1, or both side by side
 * (hybrid).
 */
#include <errno.h>
#include <fcntl.h>
#include <skep/mountinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sdk/probe/hierarchy.h"
#include "state.h"

/* Their names in v1 and v2; NULL: none. */
static const struct {
	const char *v1, *v2;
} names[CONTROLLERS] = {
	[CTL_MEMORY] = { "memory", "memory" },
	[CTL_CPU] = { "cpu", "cpu" },
	[CTL_CPUACCT] = { "cpuacct", NULL },
	[CTL_IO] = { "blkio", "io" },
	[CTL_PIDS] = { "pids", "pids" },
	[CTL_PRESSURE] = { NULL, "" }, /* every cgroup of v2 has it, with any controllers */
};

const char *const cgroup_controller_names[CONTROLLERS] = {
	[CTL_MEMORY] = "memory",
	[CTL_CPU] = "cpu",
	[CTL_CPUACCT] = "cpuacct",
	[CTL_IO] = "blkio",
	[CTL_PIDS] = "pids",
	[CTL_PRESSURE] = "",
};

/* The words of the list stand between blanks. */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (*list) {
		size_t n = strcspn(list, " \n");

		if (n == len && memcmp(list, word, len) == 0)
			return true;
		list += n + (list[n] != '\0');
	}
	return false;
}

static int set_mount(struct cgroup_mount *m, const char *root, const struct skep_mount *found, int version)
{
	struct cgroup_mount new = { .version = version };
	const char *top;

	if (asprintf(&new.at, "%s%s", root, found->path) < 0)
		return -ENOMEM;
	top = skep_mount_cgroup(found, new.at, &new.id);
	if (!top && m->at) {
		free(new.at); /* it is no better than the other one */
		return 0;
	}
	new.top = top ? strdup(top) : NULL;
	if (top && !new.top) {
		free(new.at);
		return -ENOMEM;
	}
	free(m->at);
	free(m->top);
	*m = new;
	return 0;
}

/* v2's controllers at the root of the mount; "" when unreadable. */
static void v2_controllers(const char *root, const char *at, char *ret, size_t room)
{
	char *path;
	FILE *f;

	*ret = '\0';
	if (asprintf(&path, "%s%s/cgroup.controllers", root, at) < 0)
		return;
	f = fopen(path, "re");
	free(path);
	if (!f)
		return;
	if (!fgets(ret, (int)room, f))
		*ret = '\0';
	fclose(f);
}

/* version: of the mount */
static int take_mount(const char *root, int version, const struct skep_mount *found, struct cgroup_mounts *ret)
{
	char v2[512] = "";
	int err = 0;

	if (version == 2)
		v2_controllers(root, found->path, v2, sizeof(v2));
	for (int c = 0; c < CONTROLLERS && !err; c++) {
		struct cgroup_mount *m = &ret->of[c];

		/* Any mount works whose root has a name; a controller is in one hierarchy only. */
		if (m->top || (m->at && m->version != version))
			continue;
		/* cpu.stat counts time without the controller too, but v1's file is better where it exists */
		if (version == 2 ? names[c].v2 && (*names[c].v2 == '\0' || c == CTL_CPU || has_word(v2, names[c].v2))
				 : names[c].v1 && skep_mount_has(found->super_options, names[c].v1))
			err = set_mount(m, root, found, version);
	}
	return err;
}

static int read_mounts(const char *root, int version, struct cgroup_mounts *ret)
{
	struct skep_mountinfo file = { 0 };
	struct skep_mount m;
	char *path;
	int err;

	if (asprintf(&path, "%s/proc/self/mountinfo", root) < 0)
		return -ENOMEM;
	err = skep_mountinfo_open(&file, AT_FDCWD, path);
	free(path);
	while (!err && skep_mountinfo_next(&file, &m))
		if (strcmp(m.type, version == 2 ? "cgroup2" : "cgroup") == 0)
			err = take_mount(root, version, &m, ret);
	skep_mountinfo_close(&file);
	return err;
}

int cgroup_mounts_find(const char *root, struct cgroup_mounts *ret)
{
	struct cgroup_mounts m = { .hierarchy = (int)skep_hierarchy_v1(root, "memory") };
	int err;

	/* v1 first: on a hybrid machine v2 has only the controllers that v1 lacks. */
	err = read_mounts(root, 1, &m);
	if (!err)
		err = read_mounts(root, 2, &m);
	/* Ids are those of the hierarchy that limits memory; v2 has the pressure of a cgroup. */
	m.ids = m.hierarchy ? CTL_MEMORY : CTL_PRESSURE;
	if (!err && (!m.of[m.ids].at || m.of[m.ids].version != (m.hierarchy ? 1 : 2)))
		err = -ENOENT;
	if (err) {
		cgroup_mounts_free(&m);
		return err;
	}
	*ret = m;
	return 0;
}

void cgroup_mounts_free(struct cgroup_mounts *m)
{
	for (int c = 0; c < CONTROLLERS; c++) {
		free(m->of[c].at);
		free(m->of[c].top);
		m->of[c] = (struct cgroup_mount){ .at = NULL };
	}
}

bool cgroup_mounts_name(struct cgroup_mounts *mounts, uint64_t id, const struct skep_str *path)
{
	bool named = false;

	for (struct cgroup_mount *m = mounts->of; m < mounts->of + CONTROLLERS; m++) {
		if (!m->at || m->top || m->id != id)
			continue;
		m->top = strndup(path->ptr, path->len);
		named |= m->top != NULL;
	}
	return named;
}

int cgroup_mount_path(const struct cgroup_mount *m, const char *path, const char *file, char **ret)
{
	size_t top = m->top ? strlen(m->top) : 0;

	if (!m->top || strncmp(path, m->top, top) != 0 || (path[top] && path[top] != '/'))
		return -ENOENT;
	path += top;
	if (strcmp(path, "/") == 0)
		path++;
	return asprintf(ret, "%s%s%s%s", m->at, path, file ? "/" : "", file ? file : "") < 0 ? -ENOMEM : 0;
}
