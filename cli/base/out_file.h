/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/out_file.h - a file that a command writes: it appears whole, or the file that was there stays.
 */
#ifndef SKEP_CLI_BASE_OUT_FILE_H
#define SKEP_CLI_BASE_OUT_FILE_H

#include <stdio.h>

struct out_file {
	FILE *stream;
	char *path, *new; /* new: written beside path, and not yet renamed to it; NULL: the stream writes to path */
};

/*
 * "-" is the standard output.  A pipe or a device is written as it is; so is a file with another owner or with several
 * names, and a file in a folder where the user may not make one.  0, and the caller calls out_file_close(); or -errno.
 */
int out_file_open(const char *path, struct out_file *ret);
/*
 * For a file that the caller writes hours later: finds out now that skep can write it, and leaves the file as it is
 * (ret->stream is NULL then, until out_file_now()).  As out_file_open() else.
 */
int out_file_later(const char *path, struct out_file *ret);
int out_file_now(struct out_file *); /* 0 or -errno; the caller calls out_file_close() in either case */
/*
 * err: 0 if the caller has written everything; else the function removes the new file.  Returns 0; err; or -errno: the
 * disk may lack a part.
 */
int out_file_close(struct out_file *, int err);

#endif
