/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/fs.h - file systems whose bytes no local block device sees: the mounts, and the counters of their clients.
 * Reads files below `root`, which tests set.
 */
#ifndef SKEP_IO_FS_H
#define SKEP_IO_FS_H

#include <skep/mountinfo.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Levels, since the mount. */
struct fs_counters {
	uint64_t read_operations, read_bytes;
	uint64_t write_operations, write_bytes;
	uint64_t other_operations;
	uint64_t retransmissions, timeouts, errors;
	uint64_t queue_ns, rtt_ns; /* summed over all operations */
	uint64_t waiting;          /* requests without an answer at this moment */
};

struct fs_type;

struct fs {
	char *mount, *source, *type;
	const struct fs_type *kind;
	uint32_t major, minor; /* of its super block */
	bool present, counted; /* this pass found the mount; and its counters */
	bool begun;            /* last is set; a later mount begins with zero */
	struct fs_counters now, last;
};

struct filesystems {
	struct fs *at;
	size_t n, room;
	struct skep_mountinfo mounts;
	char *line; /* of a client's file */
	size_t line_room;
	bool changed; /* this pass found or missed a mount */
	bool begun;   /* after the first pass */
};

/* One pass: reads the mounts, and their counters into `now`. 0 or -errno. */
int filesystems_pass(struct filesystems *, const char *root);
void filesystems_free(struct filesystems *);
const char *fs_class(const struct fs *); /* "network" "parallel" "fuse" "shared" */
bool fs_has_counters(const struct fs *);  /* does a client of that type have readable counters? */

/* fs_stats.c: read a whole file of a client, and skip mounts that are not in the table. */
void fs_read_nfs(struct filesystems *, FILE *);  /* /proc/self/mountstats */
void fs_read_cifs(struct filesystems *, FILE *); /* /proc/fs/cifs/Stats */
void fs_read_lustre(struct fs *, FILE *);        /* llite/NAME/stats */
void fs_read_ceph(struct fs *, FILE *);          /* metrics/size */
/* Reads the counters of each mount from the files of its type. */
void fs_stats_pass(struct filesystems *, const char *root);

#endif
