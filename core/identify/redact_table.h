/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/redact_table.h - the compiled redaction table: the options, names, parameters, headers,
 * phrases, text shapes and programs' options that hold secrets. Immutable once built; core/identify/redact.c
 * reads it.
 */
#ifndef SKEP_CORE_REDACT_TABLE_H
#define SKEP_CORE_REDACT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/identify/redact.h"

#define REDACT_NAME_MAX 128 /* of a longer name only the last bytes count */

#define REDACT_TRIGRAM_BITS 15

enum redact_list_kind {
	REDACT_OPTIONS,    /* --password */
	REDACT_NAMES,      /* PASSWORD=x, "password": "x" */
	REDACT_PARAMETERS, /* ?token=x&sig=y */
	REDACT_HEADERS,    /* Authorization: x */
	REDACT_LISTS,
};

struct redact_pattern {
	char *glob; /* lower case */
	bool secret;
	bool any;         /* the glob has no three plain characters in a row */
	uint32_t trigram; /* otherwise the hash of three characters that every matching name has */
};

struct redact_list {
	struct redact_pattern *patterns; /* the last match decides */
	size_t n, room;
	/* A bit for each trigram of a secret pattern: one look at it dismisses most names. */
	uint64_t trigrams[1 << (REDACT_TRIGRAM_BITS - 6)];
	bool always; /* some secret pattern has no trigram */
};

/* A text that is a secret in any place: a prefix, then characters of a set. */
struct redact_shape {
	char *prefix;
	size_t prefix_len;
	uint64_t chars[4];  /* a bit per byte value */
	uint64_t needs[4];  /* the text must have one of these; empty: no such condition */
	bool has_needs;
	bool keep_prefix;
	/* length behind the prefix; max 0: no maximum; with max, no further character of the set may follow */
	size_t min, max;
	uint32_t next;      /* index + 1 of the next shape with the same first byte; 0: none */
	uint32_t group;     /* the same for all prefixes of an entry: they share characters and needs */
};

enum redact_action {
	REDACT_NOTHING,
	REDACT_VALUE,    /* -p X, -pX, --x=X */
	REDACT_ATTACHED, /* -pX only */
	REDACT_USERPASS, /* -u user:X */
	REDACT_SKIP,     /* takes a value that is no secret */
	REDACT_CODE,     /* sh -c: the next operand is a command line */
};

struct redact_option {
	char *name;
	enum redact_action action;
};

/* The n-th operand (from 1) is a secret when all of these single-letter options are given. */
struct redact_operand {
	uint64_t letters; /* bit (c & 63) */
	uint32_t index;
};

struct redact_program {
	struct redact_option *options; /* few: searched linearly */
	size_t n_options, options_room;
	uint8_t letters[128]; /* enum redact_action of "-x", indexed by its letter */
	struct redact_operand *operands;
	size_t n_operands;
	char **after_words; /* globs, NULL-terminated or NULL: the word behind a match is a secret */
	char **only_after;  /* the options count only behind one of these words */
	char **prefixes;    /* pass:X */
	char separator;     /* between user and password */
	bool userpass_operands;
	bool before_operand;   /* the first operand is another program */
	bool single_dash_long;
};

struct redact_word {
	char *glob;
	uint32_t program;
	uint32_t next; /* index + 1 of an earlier word with the same first byte; 0: none */
};

struct redact {
	struct redact_list lists[REDACT_LISTS];
	struct redact_shape *shapes;
	size_t n_shapes, shapes_room;
	uint32_t first_shape[256]; /* index + 1 of the first shape, by first byte; 0: none */
	/* A bit for the first three bytes of each prefix: one look at it dismisses most words. */
	uint64_t shape_trigrams[1 << (REDACT_TRIGRAM_BITS - 6)];
	char **phrases; /* lower case; a quoted text behind a phrase is a secret */
	size_t n_phrases, phrases_room;
	struct redact_program *programs;
	size_t n_programs, programs_room;
	struct redact_word *words; /* names of programs; the last match decides */
	size_t n_words, words_room;
	/* index + 1 of the last word, by first byte; [0]: words that begin with a wildcard */
	uint32_t last_word[256];
};

bool redact_table_secret(const struct redact *, enum redact_list_kind, const char *name, size_t len);
const struct redact_program *redact_table_program(const struct redact *, const char *name, size_t len);
enum redact_action redact_table_option(const struct redact_program *, const char *name, size_t len);

static inline unsigned redact_trigram(const char *p)
{
	uint32_t h = (uint32_t)(unsigned char)p[0] | (uint32_t)(unsigned char)p[1] << 8 |
		     (uint32_t)(unsigned char)p[2] << 16;

	return h * 2654435761u >> (32 - REDACT_TRIGRAM_BITS);
}

static inline bool redact_set_has(const uint64_t set[4], unsigned char c)
{
	return set[c >> 6] >> (c & 63) & 1;
}

#endif
