/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/streams.h - standard input, output and error that stay whole when another process has made them
 * non-blocking.
 *
 * O_NONBLOCK belongs to the open file description, and other processes share it: the reader of a pipe from node or
 * ssh, or a program that the same terminal ran before.  A full pipe then refuses a write with EAGAIN, and stdio drops
 * the rest of the text.  This module waits in such a case, as a blocking write does.  It leaves the flag alone, because
 * the flag is the other process's.
 */
#ifndef SKEP_CORE_STREAMS_H
#define SKEP_CORE_STREAMS_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/*
 * Replaces stdin, stdout and stderr by streams that wait. Call it first in main(). 0 or -errno: they stay as they
 * are.
 */
int streams_begin(void);
/* The descriptor of a stream, also of the three that streams_begin() made; -1: none. */
int streams_fd(FILE *);
/* Writes all bytes, and waits while the descriptor takes none. 0 or -errno. */
int streams_write(int fd, const void *, size_t);

#endif
