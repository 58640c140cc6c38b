/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/sink/secret_file.c - reads files with secrets, for sinks, and overwrites secrets in memory.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <skep/sink/secret_file.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET_MOST 65536 /* a PEM bundle is smaller; a header must fit the limit of servers, usually 8 KiB */

void *skep_secret_blank(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
	return NULL;
}

static int read_all(int fd, char *text, size_t room, size_t *ret_len)
{
	size_t len = 0;
	ssize_t n;

	while (len < room && (n = read(fd, text + len, room - len)) != 0) {
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			len += (size_t)n;
	}
	*ret_len = len;
	return 0;
}

/* Reads a file with a secret. Removes newlines and spaces at its end, which an editor adds. */
int skep_secret_file_read(const char *path, char **ret, char *why, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err;
	char *text = NULL;
	struct stat st;
	size_t len = 0;

	if (fd < 0) {
		err = -errno;
		snprintf(why, room, "%s: %s", path, strerror(-err));
		return err;
	}
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		snprintf(why, room, "%s: not a regular file", path);
		err = -EINVAL;
		goto out;
	}
	text = calloc(1, SECRET_MOST + 2);
	err = text ? read_all(fd, text, SECRET_MOST + 1, &len) : -ENOMEM;
	if (!err && len > SECRET_MOST)
		err = -EFBIG;
	if (err) {
		snprintf(why, room, "%s: %s", path, strerror(-err));
		goto out;
	}
	while (len && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	err = len && strlen(text) == len ? 0 : -EINVAL;
	if (err)
		snprintf(why, room, "%s: %s", path, len ? "has a NUL byte in it" : "is empty");
out:
	close(fd);
	if (err) {
		skep_secret_blank(text);
		return err;
	}
	*ret = text;
	return 0;
}
