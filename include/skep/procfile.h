/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/procfile.h - reads files of /proc/PID. Any thread.
 * Link libskep-probe or libskep-sink (pkg-config skep-probe, skep-sink).
 */
#ifndef SKEP_PROCFILE_H
#define SKEP_PROCFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SKEP_PROCFILE_STAT 1024 /* room for a whole /proc/PID/stat: 52 numbers and a name of at most 64 bytes */

/* The first `room` bytes of the file. Returns their number, or -errno. pid 0: this process. */
ssize_t skep_procfile_read(uint32_t pid, const char *name, char *ret, size_t room);
/*
 * The text of /proc/PID/stat from field n (3: the state) on; the kernel takes no lock of the process for this file. In
 * `room`, which ends with a NUL. NULL: the process has gone. pid 0: this process.
 */
const char *skep_procfile_stat(uint32_t pid, int n, char room[SKEP_PROCFILE_STAT]);

#ifdef __cplusplus
}
#endif

#endif
