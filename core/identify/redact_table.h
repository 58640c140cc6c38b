/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/redact_table.h - the compiled redaction table: which options, names, parameters,
 * headers, phrases, shapes of text and options of single programs hold secrets.  Immutable once
 * built; core/identify/redact.c reads it.
 */
#ifndef SKEP_CORE_REDACT_TABLE_H
#define SKEP_CORE_REDACT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/identify/redact.h"

#define REDACT_NAME_MAX 128 /* longer names are evaluated by their last part */

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
	bool any;         /* has no three characters in a row */
	uint32_t trigram; /* else the hash of three that every name has that it matches */
};

struct redact_list {
	struct redact_pattern *patterns; /* the last that matches holds */
	size_t n, room;
	/* A bit for each trigram of a secret pattern: most names are dismissed by a look at this. */
	uint64_t trigrams[1 << (REDACT_TRIGRAM_BITS - 6)];
	bool always; /* some secret pattern has none */
};

/* Text that is a secret wherever it stands: a prefix, then characters of a set. */
struct redact_shape {
	char *prefix;
	size_t prefix_len;
	uint64_t chars[4];  /* bit per byte value */
	uint64_t needs[4];  /* at least one of these; empty: nothing is needed */
	bool has_needs;
	bool keep_prefix;
	size_t min, max;    /* behind the prefix; max 0: any; with max, no further one may follow */
	uint32_t next;      /* shape + 1 with the same first byte, 0: none */
	uint32_t group;     /* one for all prefixes of an entry: they have the same characters and needs */
};

enum redact_action {
	REDACT_NOTHING,
	REDACT_VALUE,    /* -p X, -pX, --x=X */
	REDACT_ATTACHED, /* -pX only */
	REDACT_USERPASS, /* -u user:X */
	REDACT_SKIP,     /* takes a value that is none */
	REDACT_CODE,     /* sh -c: the next operand is a command line */
};

struct redact_option {
	char *name;
	enum redact_action action;
};

/* The n-th operand (from 1) is one where all of these single-letter options were given. */
struct redact_operand {
	uint64_t letters; /* bit (c & 63) */
	uint32_t index;
};

struct redact_program {
	struct redact_option *options; /* few: searched in a row */
	size_t n_options, options_room;
	uint8_t letters[128]; /* enum redact_action of "-x" by its letter */
	struct redact_operand *operands;
	size_t n_operands;
	char **after_words; /* globs, NULL-terminated or NULL: the word behind one is a secret */
	char **only_after;  /* the options count only behind one of these words */
	char **prefixes;    /* pass:X */
	char separator;     /* of user and password */
	bool userpass_operands;
	bool before_operand;   /* the first operand is another program */
	bool single_dash_long;
};

struct redact_word {
	char *glob;
	uint32_t program;
	uint32_t next; /* word + 1 with the same first byte, an earlier one; 0: none */
};

struct redact {
	struct redact_list lists[REDACT_LISTS];
	struct redact_shape *shapes;
	size_t n_shapes, shapes_room;
	uint32_t first_shape[256]; /* shape + 1 by first byte; 0: none */
	/* A bit for the first three bytes of each prefix: most words are dismissed by a look at this. */
	uint64_t shape_trigrams[1 << (REDACT_TRIGRAM_BITS - 6)];
	char **phrases; /* lower case; a quoted text behind one is a secret */
	size_t n_phrases, phrases_room;
	struct redact_program *programs;
	size_t n_programs, programs_room;
	struct redact_word *words; /* of programs; the last that matches holds */
	size_t n_words, words_room;
	uint32_t last_word[256]; /* word + 1 by first byte; [0]: those that begin with a wildcard */
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
