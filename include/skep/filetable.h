/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/filetable.h - user space's table of the rows of skep/files.h, by the row's id: the path of each row, and the
 * values that the probe has reported.  The table has at most as many rows as the BPF hash, plus rows whose path arrived
 * before the row was read.
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
	char *path;      /* NULL: not read from the ring yet */
	uint32_t idle;   /* the owner's: passes without a change */
	uint32_t waits;  /* the owner's: passes without a path */
	uint64_t reported[]; /* the part of the row's value that was reported; value_size bytes */
};

struct skep_filetable {
	struct skep_file_row **at; /* open addressing */
	size_t n, room, value_size;
	struct skep_hash_key key; /* chosen with the first row */
};

/* Finds or adds the row of that id; the table owns the row.  NULL: no memory. */
struct skep_file_row *skep_filetable_get(struct skep_filetable *t, uint64_t id, const struct skep_file_key *key);

/* Removes row t->at[hole].  Rows behind it move back: a loop over the table then visits t->at[hole] again. */
void skep_filetable_remove(struct skep_filetable *t, size_t hole);

void skep_filetable_free(struct skep_filetable *t);

/*
 * Stores the path of a record of the ring.  0, -EBADMSG for a record whose lengths do not add up, or -ENOMEM.  Appends
 * a name that a program gave relative to a directory to the path of that directory.
 */
int skep_filetable_path(struct skep_filetable *t, const void *data, size_t size);

struct skep_str skep_file_row_path(const struct skep_file_row *row);

#ifdef __cplusplus
}
#endif

#endif
