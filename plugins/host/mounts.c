/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/mounts.c - /proc/PID/mountinfo (proc_pid_mountinfo(5)).
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

static bool one_of(struct text t, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (skep_text_is(t, list[i]))
			return true;
	return false;
}
#define ONE_OF(t_, list_) one_of(t_, list_, sizeof(list_) / sizeof((list_)[0]))

static bool octal(const char *at, char *ret)
{
	unsigned v = 0;

	for (unsigned i = 0; i < 3; i++) {
		if (at[i] < '0' || at[i] > '7')
			return false;
		v = v * 8 + (unsigned)(at[i] - '0');
	}
	if (v == 0 || v > 255)
		return false;
	*ret = (char)v;
	return true;
}

/* The kernel writes blanks, tabs, newlines and backslashes as \040, \011, \012, \134. */
static bool unescape(struct text t, char *to, size_t size)
{
	size_t n = 0;

	while (t.at < t.end) {
		if (n + 1 >= size)
			return false;
		if (*t.at == '\\' && skep_text_len(t) >= 4 && octal(t.at + 1, &to[n])) {
			t.at += 4;
			n++;
		} else if (*t.at == '\0') {
			return false;
		} else {
			to[n++] = *t.at++;
		}
	}
	to[n] = '\0';
	return true;
}

/* "254:1" */
static bool device_number(struct text t, uint32_t *ret_major, uint32_t *ret_minor)
{
	const char *colon = memchr(t.at, ':', skep_text_len(t));
	struct text high, low;
	uint64_t major, minor;

	if (!colon)
		return false;
	high = (struct text){ t.at, colon };
	low = (struct text){ colon + 1, t.end };
	if (!skep_text_u64(&high, &major) || !skep_text_u64(&low, &minor) || major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	*ret_major = (uint32_t)major;
	*ret_minor = (uint32_t)minor;
	return true;
}

/* "ro", or "ro,..." */
static bool is_readonly(struct text options)
{
	return skep_text_skip(&options, "ro") && (options.at == options.end || *options.at == ',');
}

/* 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue */
enum mount_kind mount_line(struct text line, struct mount *ret)
{
	struct text number, root, path, options, word, type, source, super;
	uint64_t id, parent;
	uint32_t major, minor;

	if (!skep_text_u64(&line, &id) || !skep_text_u64(&line, &parent) || !skep_text_word(&line, &number) ||
	    !skep_text_word(&line, &root) || !skep_text_word(&line, &path) || !skep_text_word(&line, &options) ||
	    !device_number(number, &major, &minor))
		return MOUNT_BAD;
	do {
		if (!skep_text_word(&line, &word))
			return MOUNT_BAD;
	} while (!skep_text_is(word, "-"));
	/* type, source and super block options; an empty source is an empty word: two blanks */
	if (!skep_text_word(&line, &type) || !skep_text_word(&line, &source))
		return MOUNT_BAD;
	if (!skep_text_word(&line, &super)) {
		super = source;
		source = (struct text){ source.at, source.at };
	}
	if (path.at[0] != '/')
		return MOUNT_BAD;
	/* /sys/fs/cgroup of cgroups v1 is a tmpfs that holds no files */
	if (skep_text_skip(&path, "/sys/") || skep_text_skip(&path, "/proc/"))
		return MOUNT_PSEUDO;
	/* in a container the root overlay is its only disk space */
	if (ONE_OF(type, pseudo) && !(skep_text_is(type, "overlay") && skep_text_is(path, "/")))
		return MOUNT_PSEUDO;
	if (skep_text_len(type) >= sizeof(ret->type) || !unescape(path, ret->path, sizeof(ret->path)) ||
	    !unescape(source, ret->device, sizeof(ret->device)))
		return MOUNT_TOO_LONG;
	skep_text_copy(type, ret->type, sizeof(ret->type));
	ret->major = major;
	ret->minor = minor;
	ret->readonly = is_readonly(options) || is_readonly(super);
	ret->network = ONE_OF(type, network) || skep_text_skip(&type, "fuse.");
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

void mounts_parse(struct text t, struct mounts *m)
{
	struct text line;
	struct mount one;

	m->n = 0;
	m->bad = m->left_out = 0;
	while (skep_text_line(&t, &line))
		switch (mount_line(line, &one)) {
		case MOUNT_BAD:
			m->bad++;
			break;
		case MOUNT_PSEUDO:
			break;
		case MOUNT_TOO_LONG:
			m->left_out++;
			break;
		case MOUNT_REAL:
			keep(m, &one);
			break;
		}
}
