/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/journal.h - messages to systemd's journal by its own protocol, with fields: one
 * datagram a message, each field "KEY=value\n", or "KEY\n", the length as 64 bits little endian,
 * the value, "\n" where the value has a newline.  What no datagram can hold goes as a sealed memfd.
 * (systemd's docs/JOURNAL_NATIVE_PROTOCOL.md, stable since its version 38; sealed memfds since 208.)
 */
#ifndef SKEP_CORE_JOURNAL_H
#define SKEP_CORE_JOURNAL_H

#include <stddef.h>

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

struct journal_entry {
	int priority;
	const char *identifier; /* all but message may be NULL: there is none */
	const char *message;
	size_t message_len;
	const char *source; /* which plugin it is about */
	const char *reason;
	const char *file, *function;
	int line; /* 0: not known */
};

/* A socket for journal_send, or -errno. */
int journal_open(const char *path);
/*
 * 0; -EAGAIN: the journal has taken nothing for wait_ms; another -errno: it is gone, or
 * cannot take this.  Nothing has been sent then.
 */
int journal_send(int fd, const struct journal_entry *, int wait_ms);

#endif
