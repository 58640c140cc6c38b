/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/cgroup/files.c - the files of one cgroup. They stay open as far as descriptors permit: reading an open file
 * costs a third of opening it each time.
 */
#include <errno.h>
#include <fcntl.h>
#include <skep/namespaces.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state.h"

#define IDENTIFIER_MIN 32u /* characters */

static const struct {
	enum cgroup_controller in;
	const char *v1, *v2; /* NULL: no such file */
} files[FILES] = {
	[FILE_MEMORY] = { CTL_MEMORY, "memory.usage_in_bytes", "memory.current" },
	[FILE_MEMORY_PEAK] = { CTL_MEMORY, "memory.max_usage_in_bytes", "memory.peak" }, /* v2 since 5.19 */
	[FILE_MEMORY_EVENTS] = { CTL_MEMORY, "memory.oom_control", "memory.events" },
	[FILE_MEMORY_FAILCNT] = { CTL_MEMORY, "memory.failcnt", NULL },
	[FILE_CPU] = { CTL_CPU, "cpu.stat", "cpu.stat" },
	[FILE_CPU_USAGE] = { CTL_CPUACCT, "cpuacct.usage", NULL },
	[FILE_CPU_USER] = { CTL_CPUACCT, "cpuacct.usage_user", NULL },
	[FILE_CPU_SYSTEM] = { CTL_CPUACCT, "cpuacct.usage_sys", NULL },
	[FILE_IO] = { CTL_IO, "blkio.throttle.io_service_bytes_recursive", "io.stat" },
	[FILE_IO_CALLS] = { CTL_IO, "blkio.throttle.io_serviced_recursive", NULL },
	[FILE_PIDS] = { CTL_PIDS, "pids.current", "pids.current" },
	[FILE_PIDS_EVENTS] = { CTL_PIDS, "pids.events", "pids.events" },
	[FILE_PRESSURE_CPU] = { CTL_PRESSURE, NULL, "cpu.pressure" },
	[FILE_PRESSURE_MEMORY] = { CTL_PRESSURE, NULL, "memory.pressure" },
	[FILE_PRESSURE_IO] = { CTL_PRESSURE, NULL, "io.pressure" },
};

void cgroup_files_init(struct cgroup_files *f)
{
	for (int i = 0; i < FILES; i++)
		f->fd[i] = FILE_CLOSED;
	memset(f->dir, 0, sizeof(f->dir));
}

static int read_path(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, room - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n < 0)
		return (int)n;
	text[n] = '\0';
	return 0;
}

static const char *last_name(const char *path, size_t len, size_t *ret_len)
{
	const char *slash = memrchr(path, '/', len);

	*ret_len = slash ? (size_t)(path + len - slash - 1) : len;
	return path + len - *ret_len;
}

/*
 * Where controllers have hierarchies of their own, a cgroup may have another path there: one of its processes names it.
 * Only a path with the same last name is the same cgroup; an ancestor's figures do not belong to it.
 */
static char *by_process(const struct cgroup_reader *r, const char *procs, const char *path, enum cgroup_controller c)
{
	const char *own, *other;
	size_t own_len, other_len;
	char text[4096], *file, *copy, *dir = NULL;
	struct skep_str found;
	uint64_t pid;
	int err;

	/* In a cgroup namespace /proc/PID/cgroup has other names than mounts. */
	if (!skep_namespace_is_initial(SKEP_NAMESPACE_CGROUP))
		return NULL;
	if (read_path(procs, text, sizeof(text)) || cgroup_number(text, &pid) || pid == 0 ||
	    asprintf(&file, "%s/proc/%llu/cgroup", r->root, (unsigned long long)pid) < 0)
		return NULL;
	err = read_path(file, text, sizeof(text));
	free(file);
	if (err || cgroup_of_process(text, cgroup_controller_names[c], &found))
		return NULL;
	own = last_name(path, strlen(path), &own_len);
	other = last_name(found.ptr, found.len, &other_len);
	if (own_len != other_len || own_len == 0 || memcmp(own, other, own_len) != 0)
		return NULL;
	copy = strndup(found.ptr, found.len);
	if (copy && cgroup_mount_path(&r->mounts.of[c], copy, NULL, &dir))
		dir = NULL;
	free(copy);
	return dir;
}

/*
 * A cgroup without processes: a runtime started in a cgroup of its own (runc) puts containers below it in one hierarchy
 * and at the top of the others. Only a name that is an identifier is trusted.
 */
static char *by_name(const struct cgroup_reader *r, const char *path, enum cgroup_controller c)
{
	size_t len;
	char *dir;

	last_name(path, strlen(path), &len);
	if (len < IDENTIFIER_MIN)
		return NULL;
	for (const char *below = strchr(path + 1, '/'); below; below = strchr(below + 1, '/')) {
		if (cgroup_mount_path(&r->mounts.of[c], below, NULL, &dir))
			return NULL;
		if (access(dir, F_OK) == 0)
			return dir;
		free(dir);
	}
	return NULL;
}

int cgroup_files_open(struct cgroup_reader *r, const char *path, struct cgroup_files *ret)
{
	const struct cgroup_mount *ids = &r->mounts.of[r->mounts.ids];
	char *procs;
	int err;

	cgroup_files_init(ret);
	err = cgroup_mount_path(ids, path, "cgroup.procs", &procs);
	if (err)
		return err;
	if (access(procs, F_OK)) {
		free(procs);
		return -ENOENT;
	}
	for (int c = 0; c < CONTROLLERS && !err; c++) {
		const struct cgroup_mount *m = &r->mounts.of[c];

		err = m->at ? cgroup_mount_path(m, path, NULL, &ret->dir[c]) : -ENOENT;
		if (err == -ENOENT)
			err = 0;
		if (!err && m->at && strcmp(m->at, ids->at) == 0)
			continue; /* known to exist */
		if (!err && m->at && (!ret->dir[c] || access(ret->dir[c], F_OK))) {
			free(ret->dir[c]);
			ret->dir[c] = by_process(r, procs, path, (enum cgroup_controller)c);
			if (!ret->dir[c])
				ret->dir[c] = by_name(r, path, (enum cgroup_controller)c);
		}
	}
	free(procs);
	if (err)
		cgroup_files_close(r, ret);
	return err;
}

void cgroup_files_close(struct cgroup_reader *r, struct cgroup_files *f)
{
	for (int i = 0; i < FILES; i++)
		if (f->fd[i] >= 0) {
			close(f->fd[i]);
			r->files_open--;
		}
	for (int c = 0; c < CONTROLLERS; c++)
		free(f->dir[c]);
	cgroup_files_init(f);
}

/* Opens the file, or notes why it cannot. */
static int open_file(const struct cgroup_reader *r, struct cgroup_files *f, enum cgroup_file file)
{
	enum cgroup_controller c = files[file].in;
	const char *name = r->mounts.of[c].version == 1 ? files[file].v1 : files[file].v2;
	char *path;
	int fd, err;

	if (!f->dir[c] || !name) {
		f->fd[file] = FILE_ABSENT;
		return -ENOENT;
	}
	if (asprintf(&path, "%s/%s", f->dir[c], name) < 0)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	err = fd < 0 ? -errno : 0;
	free(path);
	if (fd >= 0)
		return fd;
	if (err != -ENOENT)
		return err;
	if (access(f->dir[c], F_OK))
		return -ENODEV;
	f->fd[file] = FILE_ABSENT; /* an older kernel, the root cgroup, or a controller that is off here */
	return -ENOENT;
}

void cgroup_files_look_again(struct cgroup_files *f)
{
	for (int i = 0; i < FILES; i++)
		if (f->fd[i] == FILE_ABSENT)
			f->fd[i] = FILE_CLOSED;
}

int cgroup_file_read(struct cgroup_reader *r, struct cgroup_files *f, enum cgroup_file file)
{
	bool kept = f->fd[file] >= 0;
	size_t held = 0;
	ssize_t n;
	int fd;

	if (f->fd[file] == FILE_ABSENT)
		return -ENOENT;
	fd = kept ? f->fd[file] : open_file(r, f, file);
	if (fd < 0)
		return fd;
	while ((n = pread(fd, r->text + held, CGROUP_TEXT_ROOM - 1 - held, (off_t)held)) > 0)
		held += (size_t)n;
	if (n < 0)
		n = -errno;
	else if (held == CGROUP_TEXT_ROOM - 1)
		n = -E2BIG;
	r->text[held] = '\0';
	if (n == 0 && !kept && r->files_open < r->files_most) {
		f->fd[file] = fd;
		r->files_open++;
	} else if (!kept) {
		close(fd);
	}
	/*
	 * Pressure that is built in but switched off (psi=0, cgroup.pressure), or a controller that was switched off
	 * for this cgroup (cgroup.subtree_control of its parent), which removes the file.
	 */
	if (n == -EOPNOTSUPP || (n == -ENODEV && access(f->dir[files[file].in], F_OK) == 0)) {
		if (kept) {
			close(fd);
			r->files_open--;
		}
		f->fd[file] = FILE_ABSENT;
		return -ENOENT;
	}
	return (int)n;
}
