/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/names.h - the strings of one file's dict, each read once.  Internal to lake/.
 */
#ifndef SKEP_LAKE_NAMES_H
#define SKEP_LAKE_NAMES_H

#include "lake/file.h"

struct name {
	int64_t id;
	const char *s; /* in the arena; NULL: empty place */
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
void names_free(struct names *); /* what it holds */
/* Valid until the next call; "" for a number that dict does not have. */
int names_get(struct names *, int64_t id, struct name **ret);

#endif
