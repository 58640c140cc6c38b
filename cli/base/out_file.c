/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/out_file.c - writes a file beside its place and renames it.
 */
#include "cli/base/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/unique.h"

/* Makes a file beside the path, with owner and mode of the old one, if there is one. NULL: there can be none. */
static FILE *beside(struct out_file *f, const struct stat *old)
{
	FILE *stream = NULL;
	int fd;

	if (old && old->st_nlink > 1)
		return NULL;
	if (asprintf(&f->new, "%s.%016" PRIx64, f->path, unique_u64()) < 0) {
		f->new = NULL;
		return NULL;
	}
	fd = open(f->new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, old ? 0600 : 0666);
	if (fd >= 0 && (!old || (fchown(fd, old->st_uid, old->st_gid) == 0 && fchmod(fd, old->st_mode & 07777) == 0)))
		stream = fdopen(fd, "w");
	if (stream)
		return stream;
	if (fd >= 0) {
		unlink(f->new);
		close(fd);
	}
	free(f->new);
	f->new = NULL;
	return NULL;
}

int out_file_open(const char *path, struct out_file *ret)
{
	bool exists, in_place;
	struct stat st;
	int err;

	*ret = (struct out_file){ 0 };
	if (strcmp(path, "-") == 0) {
		ret->stream = stdout;
		return 0;
	}
	exists = stat(path, &st) == 0;
	/* /dev/stdout and /dev/fd/63, of a shell's >(command), are files that other programs have open. */
	in_place = exists && (!S_ISREG(st.st_mode) || strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0);
	ret->path = exists && !in_place ? realpath(path, NULL) : strdup(path); /* a symbolic link stays one */
	if (!ret->path)
		return -errno;
	if (!in_place)
		ret->stream = beside(ret, exists ? &st : NULL);
	if (!ret->stream)
		ret->stream = fopen(ret->path, "we");
	if (ret->stream)
		return 0;
	err = -errno;
	free(ret->path);
	ret->path = NULL;
	return err;
}

int out_file_later(const char *path, struct out_file *ret)
{
	int err = out_file_open(path, ret);

	if (err || !ret->new)
		return err;
	fclose(ret->stream);
	unlink(ret->new);
	free(ret->new);
	ret->stream = NULL;
	ret->new = NULL;
	return 0;
}

int out_file_now(struct out_file *f)
{
	char *path = f->path;
	int err;

	if (f->stream)
		return 0;
	err = out_file_open(path, f);
	free(path);
	return err;
}

int out_file_close(struct out_file *f, int err)
{
	if (f->stream == stdout)
		return err;
	if (f->stream && fclose(f->stream) != 0 && !err)
		err = errno ? -errno : -EIO;
	if (f->new && !err && rename(f->new, f->path) != 0)
		err = -errno;
	if (f->new && err)
		unlink(f->new);
	free(f->new);
	free(f->path);
	*f = (struct out_file){ 0 };
	return err;
}
