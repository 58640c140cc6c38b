/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/names.h - a cache of the strings in one file's table dict.  Internal to lake/.
 */
#ifndef SKEP_LAKE_NAMES_H
#define SKEP_LAKE_NAMES_H

#include "lake/file.h"

struct name {
	int64_t id;
	const char *s; /* in the arena; NULL: a free slot of the hash table */
	size_t tool;   /* 1 + index of the tool of that name; 0: none yet */
};

struct names {
	struct lake_file *file;
	struct arena *arena;
	sqlite3_stmt *find;
	struct name *place;
	size_t room, n;
};

int names_init(struct names *, struct lake_file *, struct arena *);
void names_free(struct names *); /* frees the cache, not the struct */
/* Returns the string of an id, valid until the next call; "" for an id that dict does not have. 0 or -errno. */
int names_get(struct names *, int64_t id, struct name **ret);

#endif
