/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/base/mountinfo.c - reads /proc/PID/mountinfo: show_mountinfo() (fs/proc_namespace.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <skep/mountinfo.h>
#include <skep/namespaces.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define CGROUP_ROOT_ID 1u /* of the root of each hierarchy: cgroup_setup_root() (kernel/cgroup/cgroup.c) */

static bool number(const char *at, char **ret_end, uint32_t *ret)
{
	unsigned long long v = *at >= '0' && *at <= '9' ? strtoull(at, ret_end, 10) : UINT64_MAX;

	*ret = (uint32_t)v;
	return v <= UINT32_MAX;
}

void skep_mountinfo_unescape(char *text)
{
	char *to = text;

	for (const char *s = text; *s; s++) {
		unsigned v = 0, n = 0;

		while (*s == '\\' && n < 3 && s[n + 1] >= '0' && s[n + 1] <= '7')
			v = v * 8 + (unsigned)(s[++n] - '0');
		if (n == 3 && v > 0 && v < 256)
			s += 3;
		else
			v = (unsigned char)*s;
		*to++ = (char)v;
	}
	*to = '\0';
}

int skep_mountinfo_line(char *line, struct skep_mount *ret)
{
	/* 36 35 0:45 /root /mnt/a\040b rw,noatime shared:1 master:2 - nfs4 server:/export rw,vers=4.2 */
	char *word[6], *at = line, *type, *source, *end = line;
	uint32_t major, minor, ignored;

	line[strcspn(line, "\n")] = '\0';
	for (size_t i = 0; i < 6; i++)
		word[i] = strsep(&at, " ");
	if (!word[5] || !number(word[0], &end, &ignored) || *end || !number(word[1], &end, &ignored) || *end ||
	    !number(word[2], &end, &major) || *end != ':' || !number(end + 1, &end, &minor) || *end || *word[4] != '/')
		return -EBADMSG;
	do
		type = strsep(&at, " ");
	while (type && strcmp(type, "-") != 0);
	type = strsep(&at, " ");
	source = strsep(&at, " "); /* between two blanks: empty */
	if (!at)
		return -EBADMSG;
	skep_mountinfo_unescape(word[3]);
	skep_mountinfo_unescape(word[4]);
	skep_mountinfo_unescape(type);
	skep_mountinfo_unescape(source);
	*ret = (struct skep_mount) {
		.major = major,
		.minor = minor,
		.root = word[3],
		.path = word[4],
		.options = word[5],
		.type = type,
		.source = source,
		.super_options = at,
	};
	return 0;
}

bool skep_mount_has(const char *options, const char *name)
{
	size_t len = strlen(name);

	for (size_t n; *options; options += n + (options[n] == ',')) {
		n = strcspn(options, ",");
		if (n == len && memcmp(options, name, len) == 0)
			return true;
	}
	return false;
}

const char *skep_mount_cgroup(const struct skep_mount *m, const char *at, uint64_t *ret_id)
{
	struct statfs fs;
	struct stat st;

	*ret_id = 0;
	if (skep_namespace_is_initial(SKEP_NAMESPACE_CGROUP) || statfs(at, &fs) || stat(at, &st) ||
	    (fs.f_type != CGROUP_SUPER_MAGIC && fs.f_type != CGROUP2_SUPER_MAGIC))
		return strcmp(m->root, "/") == 0 ? "" : m->root;
	if (st.st_ino == CGROUP_ROOT_ID)
		return "";
	*ret_id = st.st_ino;
	return NULL;
}

int skep_mountinfo_open(struct skep_mountinfo *ret, int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	int err = file ? 0 : -errno;

	if (!file && fd >= 0)
		close(fd);
	if (file)
		*ret = (struct skep_mountinfo){ .file = file };
	return err;
}

bool skep_mountinfo_next(struct skep_mountinfo *m, struct skep_mount *ret)
{
	while (m->file && getline(&m->line, &m->room, m->file) > 0) {
		if (skep_mountinfo_line(m->line, ret) == 0)
			return true;
		m->bad++;
	}
	return false;
}

void skep_mountinfo_close(struct skep_mountinfo *m)
{
	if (m->file)
		fclose(m->file);
	free(m->line);
	*m = (struct skep_mountinfo){ 0 };
}
