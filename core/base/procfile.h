/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/procfile.h - reads files of /proc/PID. Any thread.
 */
#ifndef SKEP_CORE_PROCFILE_H
#define SKEP_CORE_PROCFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCFILE_STAT 1024 /* room for a whole /proc/PID/stat: 52 numbers and a name of at most 64 bytes */

/* The first `room` bytes of the file. Returns their number, or -errno. pid 0: this process. */
ssize_t procfile_read(uint32_t pid, const char *name, char *ret, size_t room);
/*
 * The text of /proc/PID/stat from field n (3: the state) on; the kernel takes no lock of the process for this file. In
 * `room`, which ends with a NUL. NULL: the process has gone. pid 0: this process.
 */
const char *procfile_stat(uint32_t pid, int n, char room[PROCFILE_STAT]);

#endif
