/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/sink/secret_file.h - reads a secret from a file that an option names.
 */
#ifndef SKEP_SINK_SECRET_FILE_H
#define SKEP_SINK_SECRET_FILE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The whole of a regular file of at most 64 KiB, NUL-terminated, without newlines and spaces at its end.  Any thread;
 * never waits for a writer, as a FIFO would make it.  0, or a negative errno with the path and the cause in `why`.
 * free() it.
 */
int skep_secret_file_read(const char *path, char **ret, char *why, size_t room);
void *skep_secret_blank(char *text); /* overwrites and frees; NULL is fine; returns NULL */

#ifdef __cplusplus
}
#endif

#endif
