/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/file/output.h - writes the lines to a file, which the sink only appends to, or to a stream (stdout, a pipe),
 * which takes nothing back.
 *
 * The sink writes a batch as a whole or not at all.  In a file it cuts off half a batch.  For a stream it remembers how
 * many bytes of which batch it has written, and the next attempt continues there.
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
	bool socket;   /* stdout is a socket */
	bool blocking; /* a pipe that others share too, so that the sink cannot set O_NONBLOCK */
	dev_t dev;
	ino_t ino;
	off_t cut;           /* cut the file back to this length before the next write; -1: no */
	uint64_t partial_id; /* a stream has accepted partial_len bytes of this batch; 0 bytes: no batch */
	size_t partial_len;
	int64_t begun_ns;    /* realtime when the file began */
	uint64_t rotations;
	char why[512];
	char rotate_why[512]; /* why the last due rotation failed; "": it succeeded */
};

void output_init(struct output *, const char *path, bool fsync);
/* Opens the output, or opens it anew when the path leads to another file (rotation). Returns 0, or -errno with why. */
int output_open(struct output *);
/*
 * Writes all n bytes. On -errno it has written nothing, or the next call continues after the part that it has written.
 */
int output_write(struct output *, uint64_t batch_id, const char *data, size_t n);
void output_close(struct output *);

#endif
