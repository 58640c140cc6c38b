/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/streams.c - see core/base/streams.h.
 */
#include "core/base/streams.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <unistd.h>

/* poll() also returns for a broken descriptor: the next read or write then says why. */
static void wait_until(int fd, short events)
{
	struct pollfd ready = { .fd = fd, .events = events };

	(void)poll(&ready, 1, -1);
}

int streams_write(int fd, const void *data, size_t size)
{
	const char *at = data;
	ssize_t n;

	while (size > 0) {
		n = write(fd, at, size);
		if (n < 0 && errno == EAGAIN)
			wait_until(fd, POLLOUT);
		else if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			at += n;
			size -= (size_t)n;
		}
	}
	return 0;
}

#ifdef __GLIBC__ /* elsewhere the three streams are constants */

/* The cookie of a stream is its descriptor's number plus one: never NULL, and nothing to free. */
static int fd_of(const void *cookie)
{
	return (int)((intptr_t)cookie - 1);
}

static void *cookie_of(int fd)
{
	return (void *)((intptr_t)fd + 1); /* NOLINT(performance-no-int-to-ptr) */
}

static ssize_t stream_write(void *cookie, const char *data, size_t size)
{
	int err = streams_write(fd_of(cookie), data, size);

	if (!err)
		return (ssize_t)size;
	errno = -err;
	return 0; /* stdio's word for a failure */
}

static ssize_t stream_read(void *cookie, char *data, size_t size)
{
	ssize_t n;

	for (;;) {
		n = read(fd_of(cookie), data, size);
		if (n >= 0 || (errno != EAGAIN && errno != EINTR))
			return n;
		if (errno == EAGAIN)
			wait_until(fd_of(cookie), POLLIN);
	}
}

static FILE *stream_new(int fd, const char *mode, int buffering)
{
	const cookie_io_functions_t functions = { .read = stream_read, .write = stream_write };
	FILE *stream = fopencookie(cookie_of(fd), mode, functions);

	if (stream && buffering != _IOFBF) /* a new stream is fully buffered */
		setvbuf(stream, NULL, buffering, 0);
	return stream;
}

static FILE *made[3];

int streams_begin(void)
{
	made[0] = stream_new(STDIN_FILENO, "r", _IOFBF);
	made[1] = stream_new(STDOUT_FILENO, "w", isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
	made[2] = stream_new(STDERR_FILENO, "w", _IONBF);
	if (!made[0] || !made[1] || !made[2]) {
		for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
			if (made[fd])
				fclose(made[fd]);
			made[fd] = NULL;
		}
		return -ENOMEM;
	}
	stdin = made[0];
	stdout = made[1];
	stderr = made[2];
	return 0;
}

int streams_fd(FILE *stream)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (made[fd] && stream == made[fd])
			return fd;
	return fileno(stream);
}

#else

int streams_begin(void)
{
	return -ENOSYS;
}

int streams_fd(FILE *stream)
{
	return fileno(stream);
}

#endif
