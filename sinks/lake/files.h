/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake/files.h - the files of a lake: names, order, sizes.
 *
 * A month begins with lake-YYYY-MM.db.  When this file reaches its share of the lake's bound, the month continues in
 * lake-YYYY-MM.1.db, then .2: retention frees space by removing whole files, never by deleting rows.  A file's number
 * is month * FILES_PARTS + part, where month is year * 12 + 0..11 in UTC.  A larger number is a newer file.
 */
#ifndef SKEP_SINKS_LAKE_FILES_H
#define SKEP_SINKS_LAKE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILES_PARTS 1000u

struct files_one {
	unsigned number;
	bool is_there;    /* the file itself exists; false: only its -wal, -shm or a damaged copy */
	uint64_t bytes;   /* including its -wal, -shm and damaged copies */
	int64_t write_ns; /* realtime of the last write */
};

struct files {
	size_t n;
	struct files_one *one; /* newest first */
};

/* The caller frees the path; NULL: no memory. */
char *files_path(const char *folder, unsigned number);
/* Returns 0 or -errno; the caller frees *ret with files_free(). */
int files_list(const char *folder, struct files *ret);
void files_free(struct files *);
/* Removes a file, then its -wal, -shm and damaged copies. Returns 0 or -errno. */
int files_remove(const char *folder, unsigned number);

#endif
