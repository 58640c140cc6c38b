/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/names.h - the strings of names that come in many rows, once each: of one file's table dict by their ids there,
 * of a server's answers by ids that names_of_text gives.  Internal to lake/.
 */
#ifndef SKEP_LAKE_NAMES_H
#define SKEP_LAKE_NAMES_H

#include <skep/hash.h>

#include "lake/file.h"
#include "lake/idmap.h"

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
	struct skep_hash_key key;
	struct idmap texts; /* of a server: hash to struct text */
};

int names_init(struct names *, struct lake_file *, struct arena *);
void names_free(struct names *); /* frees the cache, not the struct */
/* Returns the string of an id, valid until the next call; "" for an id that dict does not have. 0 or -errno. */
int names_get(struct names *, int64_t id, struct name **ret);
/* The same by the string itself, for a server's answers, which have no ids. 0 or -errno. */
int names_of_text(struct names *, const char *text, size_t size, struct name **ret);

#endif
