/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/file/output.h - where the lines go: a file that is only ever appended to, or
 * a stream (stdout, a pipe) that cannot be taken back.
 *
 * A batch is written whole or not at all.  In a file, half a batch is cut off again.
 * In a stream it is remembered how much of which batch is out, and the next attempt
 * goes on from there.
 */
#ifndef SKEP_SINKS_FILE_OUTPUT_H
#define SKEP_SINKS_FILE_OUTPUT_H

#include <skep/plugin.h>
#include <sys/types.h>

#include "sinks/file/rotate.h"

struct output {
	const char *path; /* "-": stdout */
	bool fsync;
	struct rotate rotate;
	int fd; /* -1: not open */
	bool regular;
	bool socket;   /* stdout is one */
	bool blocking; /* a pipe whose description is others' as well, so that it cannot be made O_NONBLOCK */
	dev_t dev;
	ino_t ino;
	off_t cut;           /* the file has to be cut back to this before anything is written; -1: no */
	uint64_t partial_id; /* a stream has taken partial_len bytes of this batch; 0 bytes: of none */
	size_t partial_len;
	int64_t begun_ns;    /* of a file: real time */
	uint64_t rotations;
	char why[512];
	char rotate_why[512]; /* why it could not be rotated the last time it was due; "": it could */
};

void output_init(struct output *, const char *path, bool fsync);
/* Open, or open anew when the name leads to another file by now (rotation). 0 or -errno, why says why. */
int output_open(struct output *);
/* Writes all of it. On -errno it wrote nothing, or the next call goes on behind the part that it wrote. */
int output_write(struct output *, uint64_t batch_id, const char *data, size_t n);
void output_close(struct output *);

#endif
