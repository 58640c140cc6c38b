/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/audit/chain.h - writes a chain of entries: each line has the hash of the line before it, and its own.
 *
 * The caller writes the members of an entry in the order of their names; the chain adds hash, prev and seq.  A value
 * that is not known is left out: NULL, "", a time of 0.
 */
#ifndef SKEP_CLI_AUDIT_CHAIN_H
#define SKEP_CLI_AUDIT_CHAIN_H

#include <skep/sink/jsonw.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/audit/canon.h"

#define CHAIN_FORMAT "skep.audit/1"
#define CHAIN_FIRST  "0000000000000000000000000000000000000000000000000000000000000000"

struct chain {
	/* Takes a whole line with its newline. 0, or -errno, which ends the chain. */
	int (*put)(void *arg, const char *line, size_t n);
	void *arg;
	/* private: */
	struct jsonw line;
	uint64_t seq;
	char head[CANON_HASH + 1]; /* the hash of the last line; "": none */
	size_t hash_at;
	bool has_hash, has_prev, has_seq;
	int err;
};

void chain_begin(struct chain *); /* an entry */
void chain_text(struct chain *, const char *name, const char *);
void chain_list(struct chain *, const char *name, const char *const *); /* NULL-terminated; left out if it is empty */
void chain_number(struct chain *, const char *name, uint64_t);          /* CANON_NUMBER_MOST for more */
void chain_time(struct chain *, const char *name, uint64_t realtime_ns);
void chain_true(struct chain *, const char *name, bool); /* left out if it is false */
void chain_end(struct chain *);                          /* an entry */
/* Frees what the chain holds. 0 or the -errno of the first failure. */
int chain_close(struct chain *);

/* The hash of a line without its newline that canon_read() has read. buf has room for n bytes. */
void chain_hash(const char *line, size_t n, const struct canon_line *, char *buf, char ret[CANON_HASH + 1]);
/* Digest of the entry alone: without hash, prev and seq. */
void chain_body(const char *line, size_t n, const struct canon_line *, char *buf, unsigned char ret[32]);

#endif
