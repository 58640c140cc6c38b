/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/audit/canon.h - the canonical form of an audit's lines, in which equal entries are equal bytes: JSON by RFC 8785
 * (JCS).  All names are of a-z, 0-9 and _, all numbers whole and within 2^53 - 1, so that any reader of JSON has them
 * exactly.
 */
#ifndef SKEP_CLI_AUDIT_CANON_H
#define SKEP_CLI_AUDIT_CANON_H

#include <skep/sink/jsonw.h>
#include <stddef.h>
#include <stdint.h>

#define CANON_NUMBER_MOST ((UINT64_C(1) << 53) - 1)

/* Writes a string; bytes that are not UTF-8 become U+FFFD. */
void canon_string(struct jsonw *, const char *s, size_t n);

#define CANON_HASH 64u /* hexadecimal digits of a SHA-256 */

/* Where a member is in its line: from its name's quote up to its value's end. */
struct canon_member {
	size_t at, end; /* 0, 0: missing */
};

/* The members of a line that the chain consists of. Texts are borrowed from the line, without quotes. */
struct canon_line {
	const char *hash, *prev, *kind, *run, *audit;
	size_t kind_len, run_len, audit_len;
	uint64_t seq, entries;
	struct canon_member hash_at, prev_at, seq_at;
};

/*
 * Reads a line without its newline, of any bytes.  0: the line is one object in canonical form, with hash, kind, prev
 * and seq; -EINVAL: the first byte that breaks the form is *ret_at, and *ret_why says how.
 */
int canon_read(const char *line, size_t n, struct canon_line *ret, size_t *ret_at, const char **ret_why);

/* Copies a line without some of its members. ret has room for n bytes. Returns the length. */
size_t canon_without(const char *line, size_t n, const struct canon_member *const *members, size_t n_members,
		     char *ret);

#endif
