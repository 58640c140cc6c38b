/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/journal.c - encodes one entry and sends it.
 */
#include "core/base/journal.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FIELDS_MOST 8

struct field {
	const char *key, *value;
	size_t len;
};

int journal_open(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd, err;

	if (strlen(path) >= sizeof(at.sun_path))
		return -ENAMETOOLONG;
	memcpy(at.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static void add(struct field *fields, size_t *n, const char *key, const char *value)
{
	if (value && *value)
		fields[(*n)++] = (struct field){ key, value, strlen(value) };
}

static size_t encode(const struct field *fields, size_t n, char *to)
{
	char *p = to;

	for (size_t i = 0; i < n; i++) {
		const struct field *f = &fields[i];

		p = stpcpy(p, f->key);
		if (memchr(f->value, '\n', f->len)) {
			uint64_t len = htole64(f->len);

			*p++ = '\n';
			memcpy(p, &len, sizeof(len));
			p += sizeof(len);
		} else {
			*p++ = '=';
		}
		memcpy(p, f->value, f->len);
		p += f->len;
		*p++ = '\n';
	}
	return (size_t)(p - to);
}

/*
 * Sends, and waits for room in the journal's queue, so that a burst of messages is not lost while the journal is busy.
 */
static int send_wait(int fd, const struct msghdr *message, int wait_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	for (;;) {
		if (sendmsg(fd, message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
			return 0;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN || wait_ms <= 0)
			return -errno;
		if (poll(&p, 1, wait_ms) <= 0)
			return -EAGAIN;
		wait_ms = 0;
	}
}

/* The journal accepts a file descriptor only if no process can change the contents any more. */
static int send_memfd(int fd, const char *data, size_t len, int wait_ms)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .room = { 0 } };
	struct msghdr message = { .msg_control = &control, .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	int memory = memfd_create("skep-log", MFD_CLOEXEC | MFD_ALLOW_SEALING), err = 0;

	if (memory < 0)
		return -errno;
	while (len > 0 && err == 0) {
		ssize_t n = write(memory, data, len);

		if (n > 0) {
			data += n;
			len -= (size_t)n;
		} else if (n == 0 || errno != EINTR) {
			err = n == 0 ? -EIO : -errno;
		}
	}
	if (err == 0 && fcntl(memory, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		err = -errno;
	if (err == 0) {
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(memory));
		memcpy(CMSG_DATA(header), &memory, sizeof(memory));
		err = send_wait(fd, &message, wait_ms);
	}
	close(memory);
	return err;
}

int journal_send(int fd, const struct journal_entry *entry, int wait_ms)
{
	char priority[16], line[16], small[2048], *data = small;
	struct field fields[FIELDS_MOST];
	struct msghdr message = { 0 };
	struct iovec vector;
	size_t n = 0, room = 0;
	int err;

	snprintf(priority, sizeof(priority), "%d", entry->priority);
	snprintf(line, sizeof(line), "%d", entry->line);
	fields[n++] = (struct field){ "MESSAGE", entry->message, entry->message_len };
	add(fields, &n, "PRIORITY", priority);
	add(fields, &n, "SYSLOG_IDENTIFIER", entry->identifier);
	add(fields, &n, "SKEP_PLUGIN", entry->source);
	add(fields, &n, "SKEP_REASON", entry->reason);
	add(fields, &n, "CODE_FILE", entry->file);
	add(fields, &n, "CODE_LINE", entry->line > 0 ? line : NULL);
	add(fields, &n, "CODE_FUNC", entry->function);
	for (size_t i = 0; i < n; i++)
		room += strlen(fields[i].key) + 1 + sizeof(uint64_t) + fields[i].len + 1;
	if (room > sizeof(small)) {
		data = malloc(room);
		if (!data)
			return -ENOMEM;
	}
	vector = (struct iovec){ data, encode(fields, n, data) };
	message.msg_iov = &vector;
	message.msg_iovlen = 1;
	err = send_wait(fd, &message, wait_ms);
	/* ENOBUFS: larger than the sender's buffer can ever be, unix_dgram_sendmsg() since Linux 3.x */
	if (err == -EMSGSIZE || err == -ENOBUFS)
		err = send_memfd(fd, data, vector.iov_len, wait_ms);
	if (data != small)
		free(data);
	return err;
}
