/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/status.h - what the files of a lake hold, and the space that removed rows leave, for `skep lake`.
 */
#ifndef SKEP_LAKE_STATUS_H
#define SKEP_LAKE_STATUS_H

#include "lake/lake.h"

/* The tables whose rows lake_status() counts, in the order of struct lake_file_status.rows. */
#define LAKE_STATUS_TABLES 9
extern const char *const lake_status_tables[LAKE_STATUS_TABLES]; /* "run" "proc" ... */

struct lake_file_status {
	char *name;       /* "lake-2026-11.db" */
	char *problem;    /* NULL: none; else why skep cannot read the file, and what to do */
	unsigned version; /* of its schema */
	uint64_t bytes, wal_bytes;
	uint64_t free_bytes; /* pages of the file that no row uses */
	uint64_t runs, names;              /* rows of run and of dict */
	bool processes_known;              /* false: it also has the sums of a removed file of its month */
	uint64_t processes;
	uint64_t first_ns, last_ns;        /* start of its first run, last write of a batch; 0: none */
	uint64_t rows[LAKE_STATUS_TABLES]; /* if asked for */
};

struct lake_status {
	size_t n_files; /* newest first; behind them damaged files that skepd has renamed */
	struct lake_file_status *files;
	/*
	 * Growth: of each file the part of its bytes that its processes of the last `growth_days` whole days have, at
	 * most 7 days.  growth_days 0: the lake has fewer than two whole days, or files that cannot be read.
	 */
	unsigned growth_days;
	double growth_bytes_a_day;
	uint64_t fs_bytes, fs_free_bytes; /* the size of the lake's file system, and what skepd may use of it */
};
/*
 * rows: counts the rows of all tables, for which SQLite reads a large part of the files.  0 or -errno; a file that
 * cannot be read is a file with a problem.
 */
int lake_status(struct lake *, bool rows, struct lake_status **ret, char *why, size_t why_size);
struct lake_status *lake_status_free(struct lake_status *);

#define LAKE_CHECK_SHOWN 20

/* A sum that is kept, and what the rows have. */
struct lake_difference {
	const char *table, *column; /* static */
	char of[512];               /* "run r1, task align, tool bwa"; a longer one is cut */
	uint64_t kept, rows;
};

struct lake_check {
	char *name;
	char *problem; /* NULL: none; else that it is damaged or cannot be read, and what to do */
	uint64_t runs, images;
	uint64_t summed;        /* records that only the sums have: their users had spent their budgets */
	uint64_t n_differences; /* of sums from their rows */
	size_t n_shown;
	struct lake_difference shown[LAKE_CHECK_SHOWN];
};
/*
 * Checks the pages of file i of the lake (as in lake_vacuum), that each row finds the rows that it names, and that the
 * sums agree with the rows. Reads the whole file, in one transaction: a writer goes on meanwhile, and its -wal grows.
 * 0, and the caller ends *ret; or -errno; -ENODATA: there is no file i.
 */
int lake_check(struct lake *, size_t i, struct lake_check *ret, char *why, size_t why_size);
void lake_check_end(struct lake_check *);

struct lake_vacuum {
	char *name;
	char *problem;         /* NULL: none; else what the check found, or why a step failed, and what to do */
	uint64_t free_bytes;   /* before */
	uint64_t given_back;   /* of the file and its -wal */
	uint64_t longest_ns;   /* the longest time in which a writer had to wait */
	bool whole;            /* the file can give space back only as a whole: no writer may have it open */
};
/*
 * Checks file i of the lake (as in lake_status, without renamed ones) and gives its free pages back, beside writers and
 * readers: each step is a transaction of some milliseconds. 0 and the caller frees *ret's strings, or -errno; -ENODATA:
 * there is no file i.
 */
int lake_vacuum(struct lake *, size_t i, struct lake_vacuum *ret, char *why, size_t why_size);

#endif
