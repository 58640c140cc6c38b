/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake/files.h - the files of a lake: names, order, sizes.
 *
 * A month begins with lake-YYYY-MM.db.  When that file has its share of the lake's bound, the month goes on in
 * lake-YYYY-MM.1.db, then .2: space is given back by removing whole files, never by deleting rows.  A file's number is
 * month * FILES_PARTS + part, the month being year * 12 + 0..11 in UTC: a larger number is a newer file.
 */
#ifndef SKEP_SINKS_LAKE_FILES_H
#define SKEP_SINKS_LAKE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILES_PARTS 1000u

struct files_one {
	unsigned number;
	bool is_there;    /* the file itself; false: only its -wal, -shm or a copy set aside */
	uint64_t bytes;   /* with its -wal, -shm and copies set aside */
	int64_t write_ns; /* realtime of the last write */
};

struct files {
	size_t n;
	struct files_one *one; /* newest first */
};

/* The caller frees the result; NULL: no memory. */
char *files_path(const char *folder, unsigned number);
/* 0 or -errno; files_free() *ret. */
int files_list(const char *folder, struct files *ret);
void files_free(struct files *);
/* Removes a file and all that belongs to it: the file itself first. 0 or -errno. */
int files_remove(const char *folder, unsigned number);

#endif
