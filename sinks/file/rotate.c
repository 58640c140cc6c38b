/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renames PATH to PATH.1, PATH.1 to PATH.2, and so on.
 */
#include "sinks/file/rotate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int rotate_is_due(const struct rotate *r, uint64_t size, uint64_t n, int64_t begun_ns, int64_t now_ns)
{
	if (!size)
		return 0; /* an empty file is like a new one, also for a batch that is larger than the limit */
	if (r->bytes && (size >= r->bytes || n > r->bytes - size))
		return 1;
	return r->age_ns && now_ns > begun_ns && (uint64_t)(now_ns - begun_ns) >= r->age_ns;
}

int64_t rotate_begin(int fd, int64_t now_ns)
{
	struct statx st;

	/* ext4, XFS, btrfs and, since 6.6, tmpfs store when a file was created; NFS before 4 does not */
	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &st) != 0 || !(st.stx_mask & STATX_BTIME))
		return now_ns;
	return st.stx_btime.tv_sec * INT64_C(1000000000) + st.stx_btime.tv_nsec;
}

/* Renames `from` to `to`. A missing `from` is no error. */
static int move(const char *from, const char *to, char *why, size_t room)
{
	int err = rename(from, to) == 0 || errno == ENOENT ? 0 : -errno;

	if (err)
		snprintf(why, room, "cannot rename %s to %s: %s", from, to, strerror(-err));
	return err;
}

int rotate_files(const char *path, unsigned keep, char *why, size_t room)
{
	int err = 0;

	/*
	 * Begin with the oldest file, which the rename overwrites.  A crash leaves a gap in the numbers, and loses
	 * nothing but the oldest file.
	 */
	for (unsigned k = keep; k > 0 && !err; k--) {
		char *from, *to;

		if (asprintf(&to, "%s.%u", path, k) < 0) {
			snprintf(why, room, "out of memory");
			return -ENOMEM;
		}
		if ((k > 1 ? asprintf(&from, "%s.%u", path, k - 1) : asprintf(&from, "%s", path)) < 0) {
			free(to);
			snprintf(why, room, "out of memory");
			return -ENOMEM;
		}
		err = move(from, to, why, room);
		free(from);
		free(to);
	}
	return err;
}
