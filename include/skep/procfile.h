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

/* Reads the first `room` bytes of the file. Returns their number, or -errno. pid 0: this process. */
ssize_t skep_procfile_read(uint32_t pid, const char *name, char *ret, size_t room);
/*
 * Reads /proc/PID/stat into `room`, ends it with a NUL, and returns the text from field n (3: the state) on.  The
 * kernel takes no lock of the process for this file.  NULL: the process has ended. pid 0: this process.
 */
const char *skep_procfile_stat(uint32_t pid, int n, char room[SKEP_PROCFILE_STAT]);

#ifdef __cplusplus
}
#endif

#endif
