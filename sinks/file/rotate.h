/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/file/rotate.h - PATH becomes PATH.1, PATH.1 becomes PATH.2, and so on; the oldest goes.
 */
#ifndef SKEP_SINKS_FILE_ROTATE_H
#define SKEP_SINKS_FILE_ROTATE_H

#include <stddef.h>
#include <stdint.h>

struct rotate {
	uint64_t bytes;  /* before a file becomes larger than that; 0: not by size */
	uint64_t age_ns; /* when it is as old as that; 0: not by age */
	unsigned keep;   /* files beside PATH */
};

/* Is it time, before n more bytes? begun_ns: when the file began, real time. */
int rotate_is_due(const struct rotate *, uint64_t size, uint64_t n, int64_t begun_ns, int64_t now_ns);
/* Begin of an open file in real time: as its file system knows it, else now. */
int64_t rotate_begin(int fd, int64_t now_ns);
/* 0, or -errno with what failed in why: then PATH is where it was. keep is at least 1. */
int rotate_files(const char *path, unsigned keep, char *why, size_t room);

#endif
