/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/fs.c - the table of mounted network, parallel and user-space file systems, by /proc/self/mountinfo
 * (proc(5)).
 *
 * A host of containers has many mounts, which seldom change.  poll() reports a change (since 2.6.30), and only then
 * this file reads mountinfo again.
 */
#include "fs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

struct fs_type {
	const char *name; /* a trailing '*': a prefix */
	const char *class;
	bool counters;
};

static const struct fs_type types[] = {
	{ "nfs", "network", true },
	{ "nfs4", "network", true },
	{ "cifs", "network", true },
	{ "smb3", "network", true },
	{ "lustre", "parallel", true },
	{ "ceph", "parallel", true },
	{ "afs", "network", false },
	{ "beegfs", "parallel", false },
	{ "gpfs", "parallel", false },
	{ "orangefs", "parallel", false },
	{ "panfs", "parallel", false },
	{ "pvfs2", "parallel", false },
	{ "wekafs", "parallel", false },
	{ "9p", "shared", false },
	{ "virtiofs", "shared", true },
	{ "fuse.glusterfs", "parallel", true },
	{ "fuse.ceph-fuse", "parallel", true },
	{ "fuse.juicefs", "parallel", true },
	{ "fuse.sshfs", "network", true },
	{ "fuse", "fuse", true },
	{ "fuse.*", "fuse", true },
};

static const struct fs_type *type_of(const char *name)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		size_t n = strlen(types[i].name);

		if (types[i].name[n - 1] == '*' ? strncmp(name, types[i].name, n - 1) == 0
						: strcmp(name, types[i].name) == 0)
			return &types[i];
	}
	return NULL;
}

const char *fs_class(const struct fs *f)
{
	return f->kind->class;
}

bool fs_has_counters(const struct fs *f)
{
	return f->kind->counters;
}

static void fs_clear(struct fs *f)
{
	free(f->mount);
	free(f->source);
	free(f->type);
	*f = (struct fs){ 0 };
}

static int fs_set(struct fs *f, const struct skep_mount *m)
{
	f->mount = strdup(m->path);
	f->source = strdup(m->source);
	f->type = strdup(m->type);
	if (!f->mount || !f->source || !f->type) {
		fs_clear(f);
		return -ENOMEM;
	}
	return 0;
}

/* One super block may be mounted in many places: the first counts. */
static int take_mount(struct filesystems *t, const struct skep_mount *m, const struct fs_type *kind)
{
	int err;

	for (size_t i = 0; i < t->n; i++) {
		struct fs *f = &t->at[i];

		if (f->major != m->major || f->minor != m->minor || strcmp(f->type, m->type) != 0 ||
		    strcmp(f->source, m->source) != 0)
			continue;
		if (!f->present && strcmp(f->mount, m->path) != 0) {
			char *mount = strdup(m->path); /* mounted at another place now */

			if (!mount)
				return -ENOMEM;
			free(f->mount);
			f->mount = mount;
		}
		f->present = true;
		return 0;
	}
	if (t->n == t->room) {
		size_t room = t->room ? t->room * 2 : 8;
		struct fs *bigger = realloc(t->at, room * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		t->at = bigger;
		t->room = room;
	}
	t->at[t->n] =
		(struct fs) { .kind = kind, .major = m->major, .minor = m->minor, .present = true, .begun = t->begun };
	err = fs_set(&t->at[t->n], m);
	if (err)
		return err;
	t->n++;
	t->changed = true;
	return 0;
}

static void drop_absent(struct filesystems *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (t->at[i].present) {
			t->at[kept++] = t->at[i];
			continue;
		}
		fs_clear(&t->at[i]);
		t->changed = true;
	}
	t->n = kept;
}

static int read_mounts(struct filesystems *t)
{
	struct skep_mount m;
	int err = 0;

	rewind(t->mounts.file);
	for (size_t i = 0; i < t->n; i++)
		t->at[i].present = false;
	while (!err && skep_mountinfo_next(&t->mounts, &m)) {
		const struct fs_type *kind = type_of(m.type);

		if (kind)
			err = take_mount(t, &m, kind);
	}
	if (!err && ferror(t->mounts.file))
		err = -EIO;
	clearerr(t->mounts.file);
	if (!err)
		drop_absent(t);
	return err;
}

int filesystems_pass(struct filesystems *t, const char *root)
{
	bool read_again = *root != '\0'; /* plain files of a test report no change */

	t->changed = false;
	if (!t->mounts.file) {
		char path[4096];
		int err;

		if ((size_t)snprintf(path, sizeof(path), "%s/proc/self/mountinfo", root) >= sizeof(path))
			return -ENAMETOOLONG;
		err = skep_mountinfo_open(&t->mounts, AT_FDCWD, path);
		if (err)
			return err;
		read_again = true;
	}
	if (!read_again) {
		struct pollfd p = { .fd = fileno(t->mounts.file), .events = POLLPRI };

		read_again = poll(&p, 1, 0) > 0;
	}
	if (read_again) {
		int err = read_mounts(t);

		if (err)
			return err;
	}
	t->begun = true;
	if (t->n)
		fs_stats_pass(t, root);
	return 0;
}

void filesystems_free(struct filesystems *t)
{
	for (size_t i = 0; i < t->n; i++)
		fs_clear(&t->at[i]);
	free(t->at);
	free(t->line);
	skep_mountinfo_close(&t->mounts);
	*t = (struct filesystems){ 0 };
}
