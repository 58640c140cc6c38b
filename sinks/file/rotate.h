/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/file/rotate.h - renames PATH to PATH.1, PATH.1 to PATH.2, and so on, and drops the oldest file.
 */
#ifndef SKEP_SINKS_FILE_ROTATE_H
#define SKEP_SINKS_FILE_ROTATE_H

#include <stddef.h>
#include <stdint.h>

struct rotate {
	uint64_t bytes;  /* rotate before a file would grow beyond this size; 0: not by size */
	uint64_t age_ns; /* rotate when the file reaches this age; 0: not by age */
	unsigned keep;   /* number of rotated files */
};

/* True when a rotation is due before n more bytes. begun_ns: realtime when the file began. */
int rotate_is_due(const struct rotate *, uint64_t size, uint64_t n, int64_t begun_ns, int64_t now_ns);
/* Returns the realtime when an open file began: from its file system, else now. */
int64_t rotate_begin(int fd, int64_t now_ns);
/* Rotates the files. Returns 0, or -errno with the reason in why; PATH is then unchanged. keep is at least 1. */
int rotate_files(const char *path, unsigned keep, char *why, size_t room);

#endif
