/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/mounts.c - which of the mounts have space of their own.
 */
#include "mounts.h"

#include <string.h>

/* Without space of their own: kernel file systems, overlays, images that are always full. */
static const char *const pseudo[] = {
	"autofs",    "binder",   "binfmt_misc", "bpf",      "cgroup",     "cgroup2",    "configfs",   "debugfs",
	"devpts",    "devtmpfs", "dmabuf",      "efivarfs", "erofs",      "fusectl",    "fuse.lxcfs", "fuse.portal",
	"hugetlbfs", "iso9660",  "mqueue",      "nfsd",     "nsfs",       "overlay",    "pipefs",     "proc",
	"pstore",    "ramfs",    "resctrl",     "rootfs",   "rpc_pipefs", "securityfs", "selinuxfs",  "smackfs",
	"sockfs",    "squashfs", "sysfs",       "tracefs",
};

/* statvfs() on these asks a server, or a program (fuse). */
static const char *const network[] = {
	"9p",     "acfs",  "afs", "beegfs", "ceph",  "cifs",     "coda",  "fuse", "gfs2",  "glusterfs", "gpfs",
	"lustre", "ncpfs", "nfs", "nfs4",   "ocfs2", "orangefs", "pvfs2", "smb3", "smbfs", "virtiofs",  "wekafs",
};

static bool one_of(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(word, list[i]) == 0)
			return true;
	return false;
}
#define ONE_OF(word_, list_) one_of(word_, list_, sizeof(list_) / sizeof((list_)[0]))

/* Copies a name, which must fit. */
static bool copy(const char *from, char *to, size_t size)
{
	size_t len = strlen(from);

	if (len < size)
		memcpy(to, from, len + 1);
	return len < size;
}

static bool is_readonly(const struct skep_mount *m)
{
	return skep_mount_has(m->options, "ro") || skep_mount_has(m->super_options, "ro");
}

enum mount_kind mount_kind_of(const struct skep_mount *m, struct mount *ret)
{
	/* /sys/fs/cgroup of cgroups v1 is a tmpfs that holds no files */
	if (strncmp(m->path, "/sys/", 5) == 0 || strncmp(m->path, "/proc/", 6) == 0)
		return MOUNT_PSEUDO;
	/* in a container the root overlay is its only disk space */
	if (ONE_OF(m->type, pseudo) && !(strcmp(m->type, "overlay") == 0 && strcmp(m->path, "/") == 0))
		return MOUNT_PSEUDO;
	if (!copy(m->type, ret->type, sizeof(ret->type)) || !copy(m->path, ret->path, sizeof(ret->path)) ||
	    !copy(m->source, ret->device, sizeof(ret->device)))
		return MOUNT_TOO_LONG;
	ret->major = m->major;
	ret->minor = m->minor;
	ret->readonly = is_readonly(m);
	ret->network = ONE_OF(m->type, network) || strncmp(m->type, "fuse.", 5) == 0;
	return MOUNT_REAL;
}

/* A mount on the same path: `one` covers it, and statvfs() of the path reaches `one`. */
static struct mount *below(struct mounts *m, const struct mount *one)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (strcmp(m->mount[i].path, one->path) == 0)
			return &m->mount[i];
	return NULL;
}

static bool known(const struct mounts *m, const struct mount *one)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (m->mount[i].major == one->major && m->mount[i].minor == one->minor)
			return true;
	return false;
}

static void keep(struct mounts *m, const struct mount *one)
{
	struct mount *covered = below(m, one);

	if (known(m, one))
		return;
	if (covered)
		*covered = *one;
	else if (m->n == MOUNT_MOST)
		m->left_out++;
	else
		m->mount[m->n++] = *one;
}

void mounts_read(struct skep_mountinfo *file, struct mounts *m)
{
	struct skep_mount found;
	struct mount one;

	m->n = 0;
	m->left_out = 0;
	while (skep_mountinfo_next(file, &found))
		switch (mount_kind_of(&found, &one)) {
		case MOUNT_PSEUDO:
			break;
		case MOUNT_TOO_LONG:
			m->left_out++;
			break;
		case MOUNT_REAL:
			keep(m, &one);
			break;
		}
	m->bad = file->bad;
}

void mounts_read_modes(struct skep_mountinfo *file, struct mounts *m)
{
	struct skep_mount found;

	while (skep_mountinfo_next(file, &found))
		for (uint32_t i = 0; i < m->n; i++) {
			struct mount *one = &m->mount[i];

			if (one->major == found.major && one->minor == found.minor &&
			    strcmp(one->path, found.path) == 0)
				one->readonly = is_readonly(&found);
		}
}
