/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/parquet_leaf.h - a column of a Parquet file as it is stored: values of one physical type with their levels,
 * in pages, and the dictionary of texts.  A list is one such column, a map two.
 */
#ifndef SKEP_CLI_LAKE_PARQUET_LEAF_H
#define SKEP_CLI_LAKE_PARQUET_LEAF_H

#include <zstd.h>

#include "cli/lake/parquet_bytes.h"

/* Numbers of the format's enums. */
enum parquet_physical { PHYSICAL_BOOL = 0, PHYSICAL_INT64 = 2, PHYSICAL_DOUBLE = 5, PHYSICAL_BYTES = 6 };
enum parquet_encoding { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_DICTIONARY = 8 };

struct leaf {
	enum parquet_physical physical;
	uint8_t max_definition, max_repetition; /* the levels of a value, and of an item of a list: at most 2 and 1 */
	/* The page that is being filled. */
	struct bytes values;  /* PLAIN; a byte for each bool */
	struct bytes indices; /* into the dictionary, uint32_t */
	struct bytes definition, repetition; /* a byte for each value and null */
	size_t page_values;                  /* with nulls */
	/* The dictionary of this row group: texts as a PLAIN page has them, and a hash table of their numbers. */
	bool use_dictionary, unique; /* unique: a dictionary was in vain, so the file's later row groups have none */
	struct bytes texts, entries; /* entries: struct entry */
	uint32_t *slots, n_slots; /* number + 1, 0: free */
	uint32_t last;            /* number of the last text */
	/* The row group so far. */
	struct bytes pages; /* compressed, with headers */
	uint64_t n_values, plain_bytes; /* with nulls; uncompressed, with headers */
	bool has_indices;               /* a page of them */
};

void leaf_free(struct leaf *);

/* The levels of n values, or of n nulls, which are alike. */
static inline void leaf_levels(struct leaf *l, uint8_t definition, uint8_t repetition, size_t n)
{
	char *to = l->max_definition ? bytes_room(&l->definition, n) : NULL;

	if (to) {
		memset(to, definition, n);
		l->definition.n += n;
	}
	to = l->max_repetition ? bytes_room(&l->repetition, n) : NULL;
	if (to) {
		memset(to, repetition, n);
		l->repetition.n += n;
	}
	l->page_values += n;
	l->n_values += n;
}
void leaf_text(struct leaf *, const char *, size_t n); /* without its levels */
void leaf_texts(struct leaf *, const char *const *, size_t n);
void leaf_numbers(struct leaf *, const uint64_t *, const bool *known, size_t n);

size_t leaf_size(const struct leaf *); /* bytes that it holds */
/* Ends the open page, at the end of a row. 0 or -errno. */
int leaf_page(struct leaf *, ZSTD_CCtx *, struct bytes *scratch);
/* The dictionary's page, if it has one. 0 or -errno. */
int leaf_dictionary(struct leaf *, ZSTD_CCtx *, struct bytes *ret);
/* Begins a row group. */
void leaf_begin(struct leaf *);
/* The first failure of its buffers, or 0. */
int leaf_error(const struct leaf *);

#endif
