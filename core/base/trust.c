/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/trust.c - checks owners and modes of files that choose code.
 */
#include "core/base/trust.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

bool privileged_start(void)
{
	return getauxval(AT_SECURE) != 0;
}

bool trust_uid(uid_t uid)
{
	return uid == 0 || (uid == geteuid() && !privileged_start());
}

/*
 * Other users may write to a sticky folder: they cannot rename an entry of another owner, and the next step checks the
 * entry's owner.  A folder that its group may write is the administrator's decision (Debian's /usr/local, group staff),
 * but a privileged start trusts no group either.
 */
static int check_folder(const char *real, const char *path, const struct stat *st, char *why, size_t why_size)
{
	mode_t others = S_IWOTH | (privileged_start() ? S_IWGRP : 0);

	if (!trust_uid(st->st_uid)) {
		snprintf(why, why_size,
			 "%s: the folder %s is owned by uid %u, which can replace what lies below it; "
			 "use a folder that only root can change",
			 real, path, (unsigned)st->st_uid);
		return -EPERM;
	}
	if ((st->st_mode & others) && !(st->st_mode & S_ISVTX)) {
		snprintf(
			why, why_size,
			"%s: the folder %s is writable by %s (mode %04o): a writer can replace what lies below it; "
			"chmod go-w %s",
			real, path, st->st_mode & S_IWOTH ? "everybody" : "its group", (unsigned)(st->st_mode & 07777),
			path);
		return -EPERM;
	}
	return 0;
}

/* From / downwards: once a folder has passed, no other user can change where the next name leads. */
int trust_folders(const char *real, char *why, size_t why_size)
{
	char *path = strdup(real);
	struct stat st;
	int err = 0;

	if (!path) {
		snprintf(why, why_size, "%s: out of memory", real);
		return -ENOMEM;
	}
	for (const char *slash = real; !err && slash; slash = strchr(slash + 1, '/')) {
		size_t len = slash == real ? 1 : (size_t)(slash - real);

		memcpy(path, real, len);
		path[len] = '\0';
		if (lstat(path, &st) < 0) {
			err = -errno;
			snprintf(why, why_size, "%s: the folder %s cannot be examined: %s", real, path,
				 strerror(errno));
		} else {
			err = check_folder(real, path, &st, why, why_size);
		}
	}
	free(path);
	return err;
}
