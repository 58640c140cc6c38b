/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool/db.h - the spool's file: a SQLite database in WAL mode.
 *
 * An object is for one thread at a time; every call may wait for the disk.  What is written between spool_begin and
 * spool_commit is there after a crash wholly or not at all.  Functions return 0 or a negative errno, and
 * spool_why() says more: -ENOSPC the disk is full, -EBADMSG the file is damaged, -EBUSY another program
 * has it locked, else as the system said.
 *
 * Readers (skep spool) open it read-only while skepd writes; they must be short, since a reader keeps the
 * write-ahead log from being emptied.
 */
#ifndef SKEP_SPOOL_DB_H
#define SKEP_SPOOL_DB_H

#include <skep/record.h>

struct spool_db;

struct spool_limits {
	uint64_t max_bytes;     /* of the file; 0: no bound */
	uint64_t reserve_bytes; /* bytes to leave free on its filesystem */
	uint64_t sync_ns;       /* waits for the disk at the first commit after that time; 0: at each */
};

enum spool_kind { SPOOL_LIFE = 0, SPOOL_SAMPLE = 1 };

/* A batch that space was made of, or that was found damaged. counts: "STREAM N" a line, borrowed. */
typedef void (*spool_gone_fn)(void *arg, uint64_t id, uint32_t n, const char *counts);

/*
 * One writer at a time: *ret_fd, to be closed when it is over, also by the process's end.  -EBUSY: another has it.  The
 * lock is PATH.lock: one on the file itself would take SQLite's own away when it is closed (fcntl(2)).
 */
int spool_db_lock(const char *path, int *ret_fd);
/* Makes it where it is not there. -EBADMSG: not a spool, or damaged: spool_db_quarantine() and again. */
int spool_db_open(const char *path, const struct spool_limits *, struct spool_db **ret, char *why, size_t why_size);
/* For a look; it must be there. */
int spool_db_open_read(const char *path, struct spool_db **ret, char *why, size_t why_size);
struct spool_db *spool_db_close(struct spool_db *); /* NULL is fine; returns NULL */
/* Renames the file and what belongs to it; ret: its new name. It must not be open. */
int spool_db_quarantine(const char *path, char *ret, size_t size);
void spool_db_limits(struct spool_db *, const struct spool_limits *);
const char *spool_why(const struct spool_db *); /* of the last error; "" */

uint64_t spool_last_id(const struct spool_db *); /* the highest that any batch has had */
void spool_ids_after(struct spool_db *, uint64_t id); /* of a new one that goes on where another ended */

int spool_begin(struct spool_db *);
int spool_commit(struct spool_db *); /* after an error it is rolled back */
void spool_rollback(struct spool_db *);

/*
 * Makes room for that many bytes: below the quota and above the reserve.  Samples go first, then the oldest; each is
 * reported.  -ENOSPC: there is nothing left to take, or the filesystem has not got the room.  Within a transaction.
 */
int spool_make_room(struct spool_db *, uint64_t bytes, spool_gone_fn, void *arg);
/* Has the filesystem the reserve? Anywhere. */
bool spool_has_reserve(const struct spool_db *);

int spool_append(struct spool_db *, uint64_t id, enum spool_kind, uint32_t n, const char *counts, const void *body,
		 size_t size);
/* Batches that all sinks have settled go: those behind `after` up to `upto`. */
int spool_trim(struct spool_db *, uint64_t after, uint64_t upto);
/* Older than that (realtime), of those up to that id: they go as if space had run out. */
int spool_expire(struct spool_db *, int64_t before_ns, uint64_t upto, spool_gone_fn, void *arg);
/* borrowed until the next call, or spool_begin */
struct spool_row {
	uint64_t id; /* 0: there is none */
	uint32_t n;
	int64_t made_ns;    /* realtime */
	const char *counts; /* "STREAM N" a line */
	const void *body;
	size_t size;
};
int spool_next(struct spool_db *, uint64_t after, struct spool_row *ret); /* the first batch after that id */
/* A batch that cannot be read: kept among the dead, and gone from here. */
int spool_bury(struct spool_db *, uint64_t id, const char *why, spool_gone_fn, void *arg);

struct spool_lag {
	uint64_t batches_bytes, records; /* not settled by that sink */
	int64_t oldest_ns;               /* realtime at which its oldest was made; 0: none */
};
/* What a sink has settled: all up to `cursor`, and what lies behind `lo` up to `hi`; lo 0: nothing does. */
struct spool_offset {
	uint64_t cursor, lo, hi;
};
/* *ret: where it stands; one that is new here begins behind that batch. */
int spool_sink_begin(struct spool_db *, const char *name, uint64_t behind, struct spool_offset *ret);
int spool_sink_move(struct spool_db *, const char *name, const struct spool_offset *); /* its cursor never goes back */
int spool_sink_lag(struct spool_db *, const char *name, struct spool_lag *ret);
int spool_sinks(struct spool_db *, void (*cb)(void *arg, const char *name, uint64_t cursor), void *arg);
int spool_sink_forget(struct spool_db *, const char *name);

/* body: of those records alone. The oldest go beyond 64 MiB. */
int spool_dead_add(struct spool_db *, uint64_t batch, const char *sink, unsigned status, const char *why, uint32_t n,
		   const void *body, size_t size);
typedef int (*spool_dead_fn)(void *arg, int64_t number, uint64_t batch, const char *sink, int64_t at_ns,
			     unsigned status, const char *why, uint32_t n, const void *body, size_t size);
int spool_dead(struct spool_db *, spool_dead_fn, void *arg);
int spool_dead_drop(struct spool_db *, const char *sink, uint64_t *ret_n); /* NULL: all */

/* line NULL: it is gone. */
int spool_process_put(struct spool_db *, const struct skep_upid *, const char *line);
int spool_process_clear(struct spool_db *);
int spool_processes(struct spool_db *, int (*cb)(void *arg, const char *line), void *arg);
int spool_state_put(struct spool_db *, const char *name, const void *value, size_t size);
/* *ret: to be freed; NULL: there is none of that name. */
int spool_state_get(struct spool_db *, const char *name, void **ret, size_t *ret_size);

struct spool_size {
	uint64_t file_bytes, used_bytes, batches, records, dead_batches, dead_records;
	int64_t oldest_ns;
};
int spool_size(struct spool_db *, struct spool_size *ret);
/* SQLite's own check of the file's structure; each finding by cb. 0: sound; -EBADMSG. Reads all of it. */
int spool_check(struct spool_db *, void (*cb)(void *arg, const char *finding), void *arg);

#endif
