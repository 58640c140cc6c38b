/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/out_file.c - writes a file beside its place and renames it.
 */
#include "cli/base/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes a file beside the path, with that mode. NULL: there can be none. */
static FILE *beside(struct out_file *f, mode_t mode)
{
	FILE *stream;
	int fd;

	if (asprintf(&f->new, "%s.XXXXXX", f->path) < 0) {
		f->new = NULL;
		return NULL;
	}
	fd = mkostemp(f->new, O_CLOEXEC);
	stream = fd >= 0 && fchmod(fd, mode) == 0 ? fdopen(fd, "w") : NULL;
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
	mode_t mask = umask(0);
	struct stat st;
	bool exists;

	umask(mask);
	*ret = (struct out_file){ 0 };
	if (strcmp(path, "-") == 0) {
		ret->stream = stdout;
		return 0;
	}
	exists = stat(path, &st) == 0;
	ret->path = exists ? realpath(path, NULL) : strdup(path); /* a symbolic link stays one */
	if (!ret->path)
		return -errno;
	if (!exists || S_ISREG(st.st_mode))
		ret->stream = beside(ret, exists ? st.st_mode & 07777 : 0666 & ~mask);
	if (!ret->stream)
		ret->stream = fopen(ret->path, "we");
	if (ret->stream)
		return 0;
	free(ret->path);
	return -errno;
}

int out_file_close(struct out_file *f, int err)
{
	if (f->stream == stdout)
		return err;
	if (fclose(f->stream) != 0 && !err)
		err = errno ? -errno : -EIO;
	if (f->new && !err && rename(f->new, f->path) != 0)
		err = -errno;
	if (f->new && err)
		unlink(f->new);
	free(f->new);
	free(f->path);
	return err;
}
