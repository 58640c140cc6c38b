/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/journal.h - sends messages to systemd's journal by its native protocol, for the log.  A message is one
 * datagram of fields.  A field is "KEY=value\n", or, if the value has a newline: "KEY\n", the length as 64 bits little
 * endian, the value, "\n".  A message that is too large for a datagram goes as a sealed memfd.  (systemd's
 * docs/JOURNAL_NATIVE_PROTOCOL.md, stable since its version 38; sealed memfds since 208.)
 */
#ifndef SKEP_CORE_JOURNAL_H
#define SKEP_CORE_JOURNAL_H

#include <stddef.h>

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

struct journal_entry {
	int priority;
	const char *identifier; /* every text but message may be NULL: the field is left out */
	const char *message;
	size_t message_len;
	const char *source; /* the plugin that the message is about */
	const char *reason;
	const char *file, *function;
	int line; /* 0: not known */
};

/* A socket for journal_send, or -errno. */
int journal_open(const char *path);
/*
 * 0; -EAGAIN: the journal accepted nothing for wait_ms; another -errno: the journal is gone, or refuses this message.
 * After an error nothing has been sent.
 */
int journal_send(int fd, const struct journal_entry *, int wait_ms);

#endif
