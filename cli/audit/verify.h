/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/audit/verify.h - recomputes a chain that a file has, and says where it breaks and how.
 */
#ifndef SKEP_CLI_AUDIT_VERIFY_H
#define SKEP_CLI_AUDIT_VERIFY_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/audit/canon.h"
#include "cli/audit/entries.h"

enum verify_break {
	VERIFY_WHOLE,
	VERIFY_NO_CHAIN,   /* the file begins with no header */
	VERIFY_EDITED,     /* an entry differs from its hash */
	VERIFY_DROPPED,    /* entries are missing within the chain */
	VERIFY_REORDERED,  /* the entry that belongs here stands further down */
	VERIFY_REPEATED,   /* an entry stands here that stands further up */
	VERIFY_INSERTED,   /* an entry that the chain does not have */
	VERIFY_CUT,        /* the end is missing, or the chain is shorter than the head says */
	VERIFY_AFTER_END,  /* the file goes on after the chain's end */
	VERIFY_OTHER_HEAD, /* the chain holds, but another head was expected: it was written anew */
};

/* A head that the user kept, as --print-head printed it: "COUNT:HASH", or the hash alone. */
struct verify_head {
	bool given, has_count;
	uint64_t count;
	char hash[CANON_HASH + 1];
};

struct verify {
	enum verify_break broken;
	uint64_t line;    /* of the break, from 1 */
	uint64_t entries; /* without header and end */
	char run[256], head[CANON_HASH + 1];
	char why[320]; /* of the break */
	size_t n_bodies; /* of all entries: header and end included */
	unsigned char (*bodies)[32];
};

/* 0; -EINVAL: neither form. */
int verify_head_read(const char *text, struct verify_head *ret);
const char *verify_break_name(enum verify_break); /* "edited" */
/*
 * Reads a chain to the first break.  head: NULL or not given: any.  0, also when the chain is broken; -errno: the
 * file cannot be read.  The caller frees ret->bodies.
 */
int verify_chain(FILE *, const struct verify_head *, struct verify *ret);

/* An entry that only the file has, or only the lake. */
struct verify_difference {
	bool in_lake; /* else in the file */
	uint64_t seq; /* there */
};
/*
 * Compares a whole chain with the lake's present entries.  0; -errno: memory.  The caller frees *ret: first the file's
 * differences, then the lake's, each in its own order.
 */
int verify_lake(const struct verify *, const struct entries *, struct verify_difference **ret, size_t *ret_n);

#endif
