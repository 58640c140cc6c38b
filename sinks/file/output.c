/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes lines to a file or a stream.
 */
#include "sinks/file/output.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STREAM_WAIT_MS 2000 /* how long to wait for a slow reader before the plugin host offers the batch again later */

static int output_say(struct output *o, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int output_say(struct output *o, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(o->why, sizeof(o->why), fmt, ap);
	va_end(ap);
	return err;
}

void output_init(struct output *o, const char *path, bool fsync)
{
	*o = (struct output){ .path = path, .fsync = fsync, .fd = -1, .cut = -1 };
}

void output_close(struct output *o)
{
	if (o->fd > STDERR_FILENO)
		close(o->fd);
	o->fd = -1;
}

/* Calls write(2) without SIGPIPE: the signal's disposition belongs to the process, not to this sink. */
static ssize_t write_quiet(int fd, const char *data, size_t n)
{
	sigset_t pipe, old, pending;
	bool was_pending;
	ssize_t done;
	int err;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &old);
	done = write(fd, data, n);
	err = errno;
	if (done < 0 && err == EPIPE && !was_pending)
		while (sigtimedwait(&pipe, NULL, &(struct timespec){ 0 }) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = err;
	return done;
}

/* Ends a half line that a crash has left, so that the next line begins on a line of its own. */
static int end_half_line(struct output *o, off_t size)
{
	char path[32], last;
	ssize_t n;
	int fd;

	/* the sink's descriptor is write-only, and the file's mode may forbid reading */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", o->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0; /* cannot be checked */
	n = pread(fd, &last, 1, size - 1);
	close(fd);
	if (n != 1 || last == '\n')
		return 0;
	if (write(o->fd, "\n", 1) != 1)
		return output_say(o, -errno, "%s: %s", o->path, strerror(errno));
	return 0;
}

/*
 * Opens a pipe on stdout anew, because O_NONBLOCK belongs to the open file description, which other processes share.
 * The open fails when another user made the pipe, or when no process reads it; the sink then uses stdout itself.
 */
static void open_stdout(struct output *o)
{
	struct stat st;
	int fd;

	o->fd = STDOUT_FILENO;
	if (fstat(o->fd, &st) != 0)
		return;
	o->socket = S_ISSOCK(st.st_mode);
	if (!S_ISFIFO(st.st_mode))
		return;
	fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	o->blocking = fd < 0;
	if (fd >= 0)
		o->fd = fd;
}

int output_open(struct output *o)
{
	struct stat st;
	int err;

	if (o->fd >= 0) {
		if (!o->regular || (stat(o->path, &st) == 0 && st.st_dev == o->dev && st.st_ino == o->ino))
			return 0;
		output_close(o); /* another program has rotated the file, so a half-written batch is in the old file */
		o->cut = -1;
	}
	if (strcmp(o->path, "-") == 0) {
		open_stdout(o);
	} else {
		/* O_NONBLOCK: a fifo without a reader must not block skepd's start */
		o->fd = open(o->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0640);
		if (o->fd < 0)
			return output_say(o, -errno, "%s: %s%s", o->path, strerror(errno),
					  errno == ENOENT  ? " (its folder must exist)"
					  : errno == ENXIO ? " (no process reads this fifo)"
							   : "");
	}
	if (fstat(o->fd, &st) != 0) {
		err = output_say(o, -errno, "%s: %s", o->path, strerror(errno));
		goto out;
	}
	o->dev = st.st_dev;
	o->ino = st.st_ino;
	/* other programs may write to the same stdout file ("> log 2>&1"), so the sink never cuts it */
	o->regular = S_ISREG(st.st_mode) && o->fd != STDOUT_FILENO;
	if (!o->regular)
		return 0;
	if (flock(o->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
		err = output_say(o, -EBUSY, "%s: another program writes it; give this sink a file of its own", o->path);
		goto out;
	}
	err = st.st_size > 0 ? end_half_line(o, st.st_size) : 0;
	if (!err) {
		struct timespec now;

		clock_gettime(CLOCK_REALTIME, &now);
		o->begun_ns = rotate_begin(o->fd, now.tv_sec * INT64_C(1000000000) + now.tv_nsec);
		return 0;
	}
out:
	output_close(o);
	return err;
}

/*
 * Rotates between two batches, so that no batch is in two files.  When the rotation fails, the sink keeps writing to
 * the old file: a file that is too large is better than none.
 */
static int rotate_when_due(struct output *o, size_t n)
{
	struct timespec now;
	int64_t now_ns;
	struct stat st;

	if (o->cut >= 0 || !n || fstat(o->fd, &st) != 0)
		return 0;
	clock_gettime(CLOCK_REALTIME, &now);
	now_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
	if (!rotate_is_due(&o->rotate, (uint64_t)st.st_size, n, o->begun_ns, now_ns))
		return 0;
	if (rotate_files(o->path, o->rotate.keep, o->rotate_why, sizeof(o->rotate_why)) != 0)
		return 0;
	o->rotate_why[0] = '\0';
	o->rotations++;
	return output_open(o); /* the path is free now, so this creates a new file */
}

/* Writes as much as it can without waiting. */
static ssize_t write_some(const struct output *o, const char *data, size_t n)
{
	struct pollfd p = { .fd = o->fd, .events = POLLOUT };

	if (o->socket)
		return send(o->fd, data, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (o->blocking) {
		if (poll(&p, 1, 0) != 1) {
			errno = EAGAIN;
			return -1;
		}
		n = n < PIPE_BUF ? n : PIPE_BUF; /* a pipe that poll() reports as ready has room for this */
	}
	return write_quiet(o->fd, data, n);
}

static int write_all(struct output *o, const char *data, size_t n, size_t *ret_done)
{
	struct pollfd p = { .fd = o->fd, .events = POLLOUT };
	size_t done = 0;
	int err = 0;

	while (!err && done < n) {
		ssize_t part = write_some(o, data + done, n - done);

		if (part >= 0)
			done += (size_t)part;
		else if (errno == EAGAIN)
			err = poll(&p, 1, STREAM_WAIT_MS) == 0 ? -EAGAIN : 0;
		else if (errno != EINTR)
			err = -errno;
	}
	*ret_done = done;
	return err;
}

/* Cuts the file back to its length before the batch. */
static int cut_back(struct output *o)
{
	if (o->cut < 0)
		return 0;
	if (ftruncate(o->fd, o->cut) != 0)
		return output_say(o, -errno, "%s: cannot cut off half a batch: %s", o->path, strerror(errno));
	o->cut = -1;
	return 0;
}

static int write_file(struct output *o, const char *data, size_t n)
{
	struct stat st;
	size_t done;
	int err;

	err = cut_back(o); /* an earlier attempt failed to cut the file back */
	if (err)
		return err;
	if (fstat(o->fd, &st) != 0)
		return output_say(o, -errno, "%s: %s", o->path, strerror(errno));
	o->cut = st.st_size;
	err = write_all(o, data, n, &done);
	if (!err && o->fsync && fdatasync(o->fd) != 0)
		err = -errno;
	if (!err) {
		o->cut = -1;
		return 0;
	}
	output_say(o, err, "%s: %s", o->path, strerror(-err));
	if (ftruncate(o->fd, o->cut) == 0)
		o->cut = -1;
	return err;
}

static int write_stream(struct output *o, uint64_t id, const char *data, size_t n)
{
	size_t skip = o->partial_len && o->partial_id == id && o->partial_len < n ? o->partial_len : 0, done;
	int err;

	if (o->partial_len && !skip) {
		/* the plugin host gave up the half-written batch, so this is another one */
		err = write_all(o, "\n", 1, &done);
		if (err)
			return output_say(o, err, "%s: %s", o->path, strerror(-err));
		o->partial_len = 0;
	}
	err = write_all(o, data + skip, n - skip, &done);
	o->partial_id = id;
	o->partial_len = err ? skip + done : 0;
	if (err == -EAGAIN)
		return output_say(o, err, "%s: its reader does not keep up", o->path);
	return err ? output_say(o, err, "%s: %s", o->path, strerror(-err)) : 0;
}

int output_write(struct output *o, uint64_t id, const char *data, size_t n)
{
	int err = output_open(o);

	if (!err && o->regular)
		err = rotate_when_due(o, n);
	if (err || !n)
		return err;
	return o->regular ? write_file(o, data, n) : write_stream(o, id, data, n);
}
