/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/filetable.h - user space's table of the rows of skep/files.h, by the row's id: the path of each, and the values
 * that were reported.  It has at most as many rows as the BPF hash, and rows whose path came before they were read.
 * Loop thread.  Link libskep-probe (pkg-config skep-probe).
 */
#ifndef SKEP_FILETABLE_H
#define SKEP_FILETABLE_H

#include <skep/files.h>
#include <skep/hash.h>
#include <skep/record.h>

#ifdef __cplusplus
extern "C" {
#endif

struct skep_file_row {
	uint64_t id;
	struct skep_file_key key;
	char *path;      /* NULL: the ring has not brought it yet */
	uint32_t idle;   /* the owner's: passes without a change */
	uint32_t waits;  /* the owner's: passes without a path */
	uint64_t told[]; /* its value as far as reported; value_size bytes */
};

struct skep_filetable {
	struct skep_file_row **at; /* open addressing */
	size_t n, room, value_size;
	struct skep_hash_key key; /* chosen with the first row */
};

/* Finds the row of that id, or makes it.  NULL: no memory. */
struct skep_file_row *skep_filetable_get(struct skep_filetable *t, uint64_t id, const struct skep_file_key *key);

/* Removes row t->at[hole].  Rows behind it move back: look at the same place again. */
void skep_filetable_remove(struct skep_filetable *t, size_t hole);

void skep_filetable_free(struct skep_filetable *t);

/*
 * Stores the path that a record of the ring brings.  0, -EBADMSG for a record whose lengths do not add up, or -ENOMEM.
 * A name that a program gave relative to a directory is appended to that directory's path.
 */
int skep_filetable_path(struct skep_filetable *t, const void *data, size_t size);

struct skep_str skep_file_row_path(const struct skep_file_row *row);

#ifdef __cplusplus
}
#endif

#endif
