/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool/db.h - the spool's file: a SQLite database in WAL mode.
 *
 * An object is for one thread at a time; every call may wait for the disk.  After a crash the file has all writes
 * between spool_begin and spool_commit, or none.  Functions return 0 or a negative errno: -ENOSPC the disk is full,
 * -EBADMSG the file is damaged, -EBUSY another program has locked it, else the system's errno.  spool_why() has the
 * reason as text.
 *
 * Readers (skep spool) open the file read-only while skepd writes.  They must be short: a reader keeps SQLite from
 * emptying the write-ahead log.
 */
#ifndef SKEP_SPOOL_DB_H
#define SKEP_SPOOL_DB_H

#include <skep/record.h>

struct spool_db;

struct spool_limits {
	uint64_t max_bytes;     /* of the file; 0: no bound */
	uint64_t reserve_bytes; /* bytes to leave free on its filesystem */
	uint64_t sync_ns;       /* the first commit after this time waits for the disk; 0: each commit */
};

enum spool_kind { SPOOL_LIFE = 0, SPOOL_SAMPLE = 1 };

/* Reports a batch that was dropped to make room, expired, or is damaged. counts: "STREAM N" a line, borrowed. */
typedef void (*spool_gone_fn)(void *arg, uint64_t id, uint32_t n, const char *counts);

/*
 * Locks the spool for one writer until the caller closes *ret_fd, or the process ends.  -EBUSY: another process has the
 * lock.  The lock's file is PATH.lock: to close a descriptor of the database would drop SQLite's own locks (fcntl(2)).
 */
int spool_db_lock(const char *path, int *ret_fd);
/* Opens or creates the file. -EBADMSG: not a spool, or damaged: call spool_db_quarantine() and try again. */
int spool_db_open(const char *path, const struct spool_limits *, struct spool_db **ret, char *why, size_t why_size);
/* Opens an existing file read-only. */
int spool_db_open_read(const char *path, struct spool_db **ret, char *why, size_t why_size);
struct spool_db *spool_db_close(struct spool_db *); /* NULL is fine; returns NULL */
/* Renames the file, its -wal and its -shm; ret: the new name. The file must not be open. */
int spool_db_quarantine(const char *path, char *ret, size_t size);
void spool_db_limits(struct spool_db *, const struct spool_limits *);
const char *spool_why(const struct spool_db *); /* of the last error; "" */

uint64_t spool_last_id(const struct spool_db *); /* the highest id that any batch has had */
void spool_ids_after(struct spool_db *, uint64_t id); /* a new file continues after the last id of the old file */

int spool_begin(struct spool_db *);
int spool_commit(struct spool_db *); /* rolls back after an error */
void spool_rollback(struct spool_db *);

/*
 * Makes room for that many bytes: below the quota and above the reserve.  Drops batches that spool_trim() has left
 * first, then dead letters, then batches of samples, then the oldest batches, and reports each batch of these last two.
 * -ENOSPC: no batch is left to drop.  Only within a transaction.
 */
int spool_make_room(struct spool_db *, uint64_t bytes, spool_gone_fn, void *arg);
/* Has the filesystem the reserve free? Also outside a transaction. */
bool spool_has_reserve(const struct spool_db *);

int spool_append(struct spool_db *, uint64_t id, enum spool_kind, uint32_t n, const char *counts, const void *body,
		 size_t size);
/*
 * Deletes the batches up to that id, which all sinks have acknowledged.  Each call deletes at most 8 MiB of the oldest;
 * *ret_more: others may be left for the next call.
 */
int spool_trim(struct spool_db *, uint64_t upto, bool *ret_more);
/*
 * Drops batches up to id `upto` that are older than before_ns (realtime), oldest first, as when space runs out.  Works
 * in steps as spool_trim() does.
 */
int spool_expire(struct spool_db *, int64_t before_ns, uint64_t upto, spool_gone_fn, void *arg, bool *ret_more);
/* a stored batch; its pointers are borrowed until the next call of spool_next or spool_begin */
struct spool_row {
	uint64_t id; /* 0: no batch */
	uint32_t n;
	int64_t made_ns;    /* realtime */
	const char *counts; /* "STREAM N" a line */
	const void *body;
	size_t size;
};
int spool_next(struct spool_db *, uint64_t after, struct spool_row *ret); /* the first batch after that id */
/* Moves an unreadable batch to the dead letters. */
int spool_bury(struct spool_db *, uint64_t id, const char *why, spool_gone_fn, void *arg);

struct spool_lag {
	uint64_t batches_bytes, records; /* not acknowledged by the sink */
	int64_t oldest_ns;               /* realtime at which the oldest batch was made; 0: none */
};
/* *ret_cursor: the sink has acknowledged all up to this id; a new sink begins after the batch `behind`. */
int spool_sink_begin(struct spool_db *, const char *name, uint64_t behind, uint64_t *ret_cursor);
int spool_sink_move(struct spool_db *, const char *name, uint64_t cursor); /* the cursor never goes back */
int spool_sink_lag(struct spool_db *, const char *name, struct spool_lag *ret);
int spool_sinks(struct spool_db *, void (*cb)(void *arg, const char *name, uint64_t cursor), void *arg);
int spool_sink_forget(struct spool_db *, const char *name);
/* *ret: records of the batches after one id, up to another. */
int spool_records(struct spool_db *, uint64_t after, uint64_t upto, uint64_t *ret);

/* Adds a dead letter. body: of these records alone. Beyond 64 MiB the oldest dead letters are dropped. */
int spool_dead_add(struct spool_db *, uint64_t batch, const char *sink, unsigned status, const char *why, uint32_t n,
		   const void *body, size_t size);
typedef int (*spool_dead_fn)(void *arg, int64_t number, uint64_t batch, const char *sink, int64_t at_ns,
			     unsigned status, const char *why, uint32_t n, const void *body, size_t size);
int spool_dead(struct spool_db *, spool_dead_fn, void *arg);
int spool_dead_drop(struct spool_db *, const char *sink, uint64_t *ret_n); /* sink NULL: of all sinks */

/* Stores a chunk of the saved state behind those before; whole: in their place. */
int spool_chunk_put(struct spool_db *, const void *body, size_t size, bool whole);
/* Calls cb for each chunk, in their order. */
int spool_chunks(struct spool_db *, int (*cb)(void *arg, const void *body, size_t size), void *arg);
int spool_state_put(struct spool_db *, const char *name, const void *value, size_t size);
/* *ret: the value, which the caller frees; NULL: no value of that name. */
int spool_state_get(struct spool_db *, const char *name, void **ret, size_t *ret_size);

struct spool_size {
	uint64_t file_bytes, used_bytes, batches, records, dead_batches, dead_records;
	int64_t oldest_ns;
};
int spool_size(struct spool_db *, struct spool_size *ret);
/* Runs SQLite's check of the whole file and calls cb for each finding. 0: sound; -EBADMSG. */
int spool_check(struct spool_db *, void (*cb)(void *arg, const char *finding), void *arg);

#endif
