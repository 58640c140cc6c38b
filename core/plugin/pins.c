/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/pins.c - the folder of pinned BPF objects: opens, checks, locks, adopts and empties it.
 */
#include "core/plugin/pins.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/trust.h"

#define BPF_FS_MAGIC_NUMBER 0xcafe4a11 /* linux/magic.h, since 4.4 */
#define PATH_ROOM 512
#define DEPTH     2 /* of nested folders: one per instance, and in it one for each build of its plugin */

static bool in_bpf_filesystem(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && (uint32_t)fs.f_type == BPF_FS_MAGIC_NUMBER;
}

/* The folder does not exist yet: true when its parent is in a BPF filesystem. */
static bool would_be(const char *dir)
{
	const char *end = strrchr(dir, '/');
	char parent[PATH_ROOM];

	if (!end ||
	    snprintf(parent, sizeof(parent), "%.*s", end > dir ? (int)(end - dir) : 1, dir) >= (int)sizeof(parent))
		return false;
	return in_bpf_filesystem(parent);
}

static int folder_open(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct statfs fs;

	if (fd < 0)
		return -errno;
	if (fstatfs(fd, &fs) == 0 && (uint32_t)fs.f_type == BPF_FS_MAGIC_NUMBER)
		return fd;
	close(fd);
	return -ENOTSUP;
}

static int folder_lock(int fd)
{
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return errno == EWOULDBLOCK ? -EBUSY : -errno;
}

/* ---- ownership ------------------------------------------------------------------------ */

/*
 * Why an object is not trusted; NULL: only root or skepd's user can change it. skepd would run another user's
 * program, and read another user's map, as its own.
 */
static const char *not_ours(const struct stat *st)
{
	if (!trust_uid(st->st_uid))
		return "is not owned by root or the user that skepd runs as";
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return "can be written by other users";
	return NULL;
}

static int check_folder(int fd, const char *dir, char *why, size_t size)
{
	const char *reason;
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	reason = not_ours(&st);
	if (!reason)
		return trust_folders(dir, why, size);
	snprintf(
		why, size,
		"%s (uid %u, mode %04o) %s, so nothing in it is adopted; "
		"chown and chmod 0700 it, or choose another pin_dir",
		dir, (unsigned)st.st_uid, (unsigned)(st.st_mode & 07777), reason);
	return -EPERM;
}

/*
 * Searches the folder for an object of another user. 1: found, with its name and the cause in ret; 0: none; or
 * -errno. A symlink counts as foreign: skepd creates none.
 */
static int find_foreign(int at, const char *name, unsigned depth, char *ret, size_t size)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), found = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!dir) {
		found = -errno;
		if (fd >= 0)
			close(fd);
		return found;
	}
	while (found == 0 && (e = readdir(dir))) {
		const char *reason;
		struct stat st;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW)) {
			found = -errno;
			continue;
		}
		reason = S_ISLNK(st.st_mode) ? "is a symbolic link" : not_ours(&st);
		if (reason) {
			snprintf(ret, size, "%s (uid %u, mode %04o) %s", e->d_name, (unsigned)st.st_uid,
				 (unsigned)(st.st_mode & 07777), reason);
			found = 1;
		} else if (S_ISDIR(st.st_mode)) {
			found = depth > 0 ? find_foreign(fd, e->d_name, depth - 1, ret, size) : -ELOOP;
		}
	}
	closedir(dir);
	return found;
}

static int empty(int at, const char *name, unsigned depth);

/*
 * Empties the folder when it holds an object of another user. The folder is ours and locked, so such an object
 * must be older; skepd then adopts nothing from the folder.
 */
static int discard_foreign(int fd, const char *dir, char *why, size_t size)
{
	char what[512];
	int found = find_foreign(fd, ".", DEPTH, what, sizeof(what)), n;

	if (found == 0)
		return 0;
	if (found < 0)
		snprintf(what, sizeof(what), "cannot be examined: %s", strerror(-found));
	n = empty(fd, ".", DEPTH);
	if (n < 0) {
		snprintf(why, size, "%s: %s, and skepd cannot empty it (%s); remove its contents", dir, what,
			 strerror(-n));
		return -EPERM;
	}
	log_warning("%s: pinned BPF state is not adopted: %s; starting fresh", dir, what);
	return 0;
}

static void explain(int err, const char *dir, char *why, size_t size)
{
	if (err == -EBUSY)
		snprintf(why, size, "%s is in use by another skepd", dir);
	else if (err == -ENOTSUP)
		snprintf(why, size, "%s is not in a BPF filesystem; mount -t bpf bpf /sys/fs/bpf gives one", dir);
	else
		snprintf(why, size, "cannot open %s: %s", dir, strerror(-err));
}

int pins_open(struct pins *p, const char *dir, char *why, size_t size)
{
	char *real = NULL;
	int err = 0, fd = -1;

	*p = (struct pins){ .fd = -1 };
	if (!dir)
		return 0;
	why[0] = '\0';
	if (access(dir, F_OK) && errno == ENOENT && !would_be(dir))
		err = -ENOTSUP;
	else if ((mkdir(dir, 0700) && errno != EEXIST) || !(real = realpath(dir, NULL)))
		err = -errno;
	else
		err = fd = folder_open(real);
	if (fd >= 0)
		err = check_folder(fd, real, why, size);
	if (fd >= 0 && !err)
		err = folder_lock(fd);
	if (fd >= 0 && !err)
		err = discard_foreign(fd, real, why, size);
	if (err) {
		if (!why[0])
			explain(err, dir, why, size);
		if (fd >= 0)
			close(fd);
		free(real);
		return err;
	}
	/*
	 * The real path, without symlinks: plugins open their pins by path, and other users cannot change what
	 * this path names.
	 */
	p->dir = real;
	p->fd = fd;
	return 0;
}

void pins_close(struct pins *p)
{
	if (p->fd >= 0)
		close(p->fd);
	free(p->dir);
	*p = (struct pins){ .fd = -1 };
}

/* ---- the host's maps ------------------------------------------------------------------ */

static void close_all(struct pins_map *maps, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (maps[i].fd >= 0)
			close(maps[i].fd);
		maps[i].fd = -1;
	}
}

static bool path_of(char path[PATH_ROOM], const struct pins *p, const char *group, const char *name)
{
	int n = snprintf(path, PATH_ROOM, "%s/%s_%s", p->dir, group, name);

	return n > 0 && n < PATH_ROOM;
}

/* true: the map has the properties that skepd needs. A previous skepd may have used other sizes. */
static bool is_such(int fd, const struct pins_map *map)
{
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &size) == 0 && info.type == map->type &&
	       info.key_size == map->key_size && info.value_size == map->value_size &&
	       info.max_entries == map->max_entries && info.map_flags == map->flags;
}

static bool adopt(const struct pins *p, const char *group, struct pins_map *maps, size_t n)
{
	char path[PATH_ROOM];

	for (size_t i = 0; i < n; i++) {
		if (path_of(path, p, group, maps[i].name))
			maps[i].fd = bpf_obj_get(path);
		if (maps[i].fd >= 0 && is_such(maps[i].fd, &maps[i]))
			continue;
		close_all(maps, n);
		return false;
	}
	return true;
}

int pins_maps(const struct pins *p, const char *group, struct pins_map *maps, size_t n, bool *ret_adopted,
	      const char **ret_failed)
{
	char path[PATH_ROOM];
	int err;

	for (size_t i = 0; i < n; i++)
		maps[i].fd = -1;
	*ret_adopted = p && p->dir && adopt(p, group, maps, n);
	if (*ret_adopted)
		return 0;
	for (size_t i = 0; i < n; i++) {
		LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = maps[i].flags);
		char name[BPF_OBJ_NAME_LEN];

		snprintf(name, sizeof(name), "skep_%s", maps[i].name);
		maps[i].fd = bpf_map_create(maps[i].type, name, maps[i].key_size, maps[i].value_size,
					    maps[i].max_entries, &opts);
		if (maps[i].fd < 0) {
			err = -errno;
			*ret_failed = maps[i].name;
			close_all(maps, n);
			return err;
		}
	}
	/* A failed pin is no error: the next skepd creates its own maps, and then adopts no program either. */
	for (size_t i = 0; p && p->dir && i < n; i++) {
		if (!path_of(path, p, group, maps[i].name))
			continue;
		unlink(path);
		bpf_obj_pin(maps[i].fd, path);
	}
	return 0;
}

int pins_instance(const struct pins *p, const char *instance, char **ret)
{
	*ret = NULL;
	if (!p->dir)
		return 0;
	if (asprintf(ret, "%s/%s", p->dir, instance) < 0) {
		*ret = NULL;
		return -ENOMEM;
	}
	/* bpffs allows no dots in names (kernel/bpf/inode.c, bpf_lookup), and a name must not contain a slash */
	for (char *c = *ret + strlen(p->dir) + 1; *c; c++)
		if (*c == '.' || *c == '/')
			*c = '_';
	return 0;
}

/* ---- removal -------------------------------------------------------------------------- */

/* Removes the content of the folder. Returns the number of objects, or -errno. */
static int empty(int at, const char *name, unsigned depth)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), n = 0, err = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	/*
	 * programs first: if skepd dies in between, the next skepd adopts no folder without programs
	 * (skep/pins.h)
	 */
	while ((e = readdir(dir)))
		n += strncmp(e->d_name, "prog_", 5) == 0 && unlinkat(fd, e->d_name, 0) == 0;
	rewinddir(dir);
	while ((e = readdir(dir))) {
		int inside;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, e->d_name, 0) == 0) {
			n++;
			continue;
		}
		inside = depth > 0 ? empty(fd, e->d_name, depth - 1) : -ENOTEMPTY;
		if (inside >= 0 && unlinkat(fd, e->d_name, AT_REMOVEDIR))
			inside = -errno;
		if (inside < 0)
			err = inside;
		else
			n += inside;
	}
	closedir(dir);
	return err ? err : n;
}

int pins_remove(const char *dir)
{
	int fd = folder_open(dir), n;

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	n = folder_lock(fd);
	if (n == 0)
		n = empty(fd, ".", DEPTH);
	/* EACCES, EPERM: skepd may not remove the folder itself, because systemd-tmpfiles made it (tmpfiles.d) */
	if (n >= 0 && rmdir(dir) && errno != EACCES && errno != EPERM)
		n = -errno;
	close(fd);
	return n;
}
