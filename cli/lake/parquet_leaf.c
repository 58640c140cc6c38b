/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/parquet_leaf.c - see parquet_leaf.h.
 */
#include "cli/lake/parquet_leaf.h"

#include <endian.h>
#include <errno.h>
#include <skep/utf8.h>
#include <stdlib.h>

#define DICTIONARY_BYTES (1u << 20) /* of texts in a row group's dictionary */
#define DICTIONARY_TRIAL 4096u      /* after so many texts, most of them new, it is given up */
#define FIRST_SLOTS      1024u
#define ZSTD_LEVEL       1

enum page { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };

struct entry {
	uint64_t hash;
	uint32_t at; /* of its length in `texts` */
};

void leaf_free(struct leaf *l)
{
	bytes_free(&l->values);
	bytes_free(&l->indices);
	bytes_free(&l->definition);
	bytes_free(&l->repetition);
	bytes_free(&l->texts);
	bytes_free(&l->entries);
	bytes_free(&l->pages);
	free(l->slots);
	*l = (struct leaf){ 0 };
}

int leaf_error(const struct leaf *l)
{
	const struct bytes *const all[] = { &l->values, &l->indices, &l->definition, &l->repetition,
					    &l->texts,  &l->entries, &l->pages };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i]->err)
			return all[i]->err;
	return 0;
}

size_t leaf_size(const struct leaf *l)
{
	return l->values.n + l->indices.n + l->definition.n + l->repetition.n + l->texts.n + l->pages.n;
}

/* ---- texts ------------------------------------------------------------------------- */

/* Not against an adversary: a table with long chains is slow, and its size is bounded. */
static uint64_t hash_of(const char *s, size_t n)
{
	uint64_t h = n * UINT64_C(0x9e3779b97f4a7c15), w;

	for (; n >= 8; s += 8, n -= 8) {
		memcpy(&w, s, 8);
		h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	w = 0;
	memcpy(&w, s, n);
	h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
	return h ^ h >> 32;
}

static uint32_t n_entries(const struct leaf *l)
{
	return (uint32_t)(l->entries.n / sizeof(struct entry));
}

static const struct entry *entry_of(const struct leaf *l, uint32_t number)
{
	return (const struct entry *)(const void *)l->entries.at + number;
}

static bool entry_is(const struct leaf *l, uint32_t number, const char *s, size_t n)
{
	const char *at = l->texts.at + entry_of(l, number)->at;
	uint32_t len;

	memcpy(&len, at, sizeof(len));
	return le32toh(len) == n && memcmp(at + sizeof(len), s, n) == 0;
}

/* The slot of the text, or the free slot where it belongs. */
static uint32_t *slot_of(const struct leaf *l, const char *s, size_t n, uint64_t hash)
{
	uint32_t i = (uint32_t)hash & (l->n_slots - 1);

	while (l->slots[i] && !(entry_of(l, l->slots[i] - 1)->hash == hash && entry_is(l, l->slots[i] - 1, s, n)))
		i = (i + 1) & (l->n_slots - 1);
	return &l->slots[i];
}

static bool slots_grow(struct leaf *l)
{
	uint32_t n = l->n_slots ? 4 * l->n_slots : FIRST_SLOTS, *slots = calloc(n, sizeof(*slots));

	if (!slots) {
		l->entries.err = -ENOMEM;
		return false;
	}
	free(l->slots);
	l->slots = slots;
	l->n_slots = n;
	for (uint32_t number = 0; number < n_entries(l); number++) {
		uint32_t i = (uint32_t)entry_of(l, number)->hash & (n - 1);

		while (slots[i])
			i = (i + 1) & (n - 1);
		slots[i] = number + 1;
	}
	return true;
}

static void add_length(struct bytes *b, const char *s, size_t n)
{
	bytes_u32(b, (uint32_t)n);
	bytes_add(b, s, n);
}

/* Adds a text of UTF-8 to the dictionary. false: no memory, or the dictionary is full or in vain. */
static bool dictionary_add(struct leaf *l, const char *s, size_t n, uint64_t hash)
{
	const struct entry new = { hash, (uint32_t)l->texts.n };

	l->unique = n_entries(l) >= DICTIONARY_TRIAL * 3 / 4 && n_entries(l) > l->n_values / 4 * 3;
	if (l->unique || l->texts.n + n > DICTIONARY_BYTES) {
		l->use_dictionary = false;
		return false;
	}
	if (n_entries(l) * 2 >= l->n_slots && !slots_grow(l))
		return false;
	add_length(&l->texts, s, n);
	bytes_add(&l->entries, &new, sizeof(new));
	if (l->texts.err || l->entries.err)
		return false;
	l->last = n_entries(l) - 1;
	*slot_of(l, s, n, hash) = l->last + 1;
	return true;
}

/* Adds the index of a text that the dictionary has. */
static bool add_known(struct leaf *l, const char *s, size_t n, uint64_t hash)
{
	uint32_t *slot;

	if (!n_entries(l))
		return false;
	if (!entry_is(l, l->last, s, n)) {
		slot = slot_of(l, s, n, hash);
		if (!*slot)
			return false;
		l->last = *slot - 1;
	}
	bytes_add(&l->indices, &l->last, sizeof(l->last));
	return true;
}

static void add_utf8(struct leaf *l, const char *s, size_t n)
{
	const uint64_t hash = l->use_dictionary ? hash_of(s, n) : 0;

	if (l->use_dictionary && add_known(l, s, n, hash))
		return;
	if (l->use_dictionary && dictionary_add(l, s, n, hash))
		bytes_add(&l->indices, &l->last, sizeof(l->last));
	else
		add_length(&l->values, s, n);
}

void leaf_text(struct leaf *l, const char *s, size_t n)
{
	char *clean;

	n = n < UINT32_MAX / 4 ? n : UINT32_MAX / 4;
	if (l->use_dictionary && add_known(l, s, n, hash_of(s, n))) /* so it is UTF-8 */
		return;
	if (skep_utf8_valid(s, n) == n) {
		add_utf8(l, s, n);
		return;
	}
	clean = malloc(3 * n);
	if (!clean) {
		l->values.err = -ENOMEM;
		return;
	}
	add_utf8(l, clean, skep_utf8_clean(s, n, clean));
	free(clean);
}

/* The lake's reader has each text of its dictionary once, so equal pointers are equal texts. */
#define CACHE_BITS 6

void leaf_texts(struct leaf *l, const char *const *texts, size_t n)
{
	struct {
		const char *text;
		uint32_t number;
	} cache[1 << CACHE_BITS] = { 0 };
	size_t i, from;

	for (from = i = 0; i < n; from = i) { /* runs of values and of nulls */
		while (i < n && !texts[i] == !texts[from])
			i++;
		leaf_levels(l, texts[from] ? l->max_definition : 0, 0, i - from);
		for (; from < i && texts[from]; from++) {
			const char *s = texts[from];
			const size_t at = (size_t)((uintptr_t)s * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CACHE_BITS));

			if (cache[at].text == s && l->use_dictionary) {
				bytes_add(&l->indices, &cache[at].number, sizeof(cache[at].number));
				continue;
			}
			leaf_text(l, s, strlen(s));
			cache[at].text = s;
			cache[at].number = l->last;
		}
	}
}

void leaf_numbers(struct leaf *l, const uint64_t *values, const bool *known, size_t n)
{
	char *to = bytes_room(&l->values, n * sizeof(*values));

	leaf_levels(l, l->max_definition, 0, n);
	for (size_t i = 0; known && !l->definition.err && i < n; i++)
		l->definition.at[l->definition.n - n + i] = known[i] ? (char)l->max_definition : 0;
	for (size_t i = 0; to && i < n; i++) {
		const uint64_t bits = htole64(values[i]);

		memcpy(to, &bits, sizeof(bits));
		to += !known || known[i] ? sizeof(bits) : 0;
	}
	if (to)
		l->values.n = (size_t)(to - l->values.at);
}

/* ---- pages ------------------------------------------------------------------------- */

static int put_page(struct leaf *l, struct bytes *to, enum page type, enum parquet_encoding encoding, size_t n_values,
		    const struct bytes *body, ZSTD_CCtx *zstd)
{
	struct bytes packed = { 0 };
	char *room = bytes_room(&packed, ZSTD_compressBound(body->n));
	struct thrift_struct header = { to, 0 }, of_type = { to, 0 };
	const size_t begin = to->n;

	if (!room)
		return -ENOMEM;
	packed.n = ZSTD_compressCCtx(zstd, room, packed.room, body->n ? body->at : "", body->n, ZSTD_LEVEL);
	if (ZSTD_isError(packed.n)) {
		bytes_free(&packed);
		return -ENOMEM; /* nothing else can fail: the room is sufficient */
	}
	thrift_int(&header, 1, THRIFT_I32, type);
	thrift_int(&header, 2, THRIFT_I32, (int64_t)body->n);
	thrift_int(&header, 3, THRIFT_I32, (int64_t)packed.n);
	thrift_field(&header, type == PAGE_DATA ? 5 : 7, THRIFT_STRUCT);
	thrift_int(&of_type, 1, THRIFT_I32, (int64_t)n_values);
	thrift_int(&of_type, 2, THRIFT_I32, encoding);
	if (type == PAGE_DATA) {
		thrift_int(&of_type, 3, THRIFT_I32, ENCODING_RLE); /* of levels */
		thrift_int(&of_type, 4, THRIFT_I32, ENCODING_RLE);
	}
	thrift_end(&of_type);
	thrift_end(&header);
	l->plain_bytes += to->n - begin + body->n;
	bytes_add(to, packed.at, packed.n);
	bytes_free(&packed);
	return to->err;
}

static void put_levels(struct bytes *to, const struct bytes *levels)
{
	size_t at = to->n;
	uint32_t n;

	bytes_u32(to, 0); /* the length follows below */
	bytes_levels(to, (const uint8_t *)levels->at, levels->n);
	if (to->err)
		return;
	n = htole32((uint32_t)(to->n - at - sizeof(n)));
	memcpy(to->at + at, &n, sizeof(n));
}

static void put_bools(struct bytes *to, const struct bytes *bools)
{
	for (size_t i = 0; i < bools->n; i += 8) {
		uint8_t byte = 0;

		for (size_t bit = 0; bit < 8 && i + bit < bools->n; bit++)
			byte |= (uint8_t)(bools->at[i + bit] << bit);
		bytes_byte(to, byte);
	}
}

/* A page of the values alone, or of indices alone: a page has one encoding. */
static int put_data(struct leaf *l, bool indices, size_t n, ZSTD_CCtx *zstd, struct bytes *body)
{
	unsigned width = 1;

	body->n = 0;
	if (l->max_repetition)
		put_levels(body, &l->repetition);
	if (l->max_definition)
		put_levels(body, &l->definition);
	if (indices) {
		while (width < 32 && n_entries(l) > UINT32_C(1) << width)
			width++;
		bytes_byte(body, (uint8_t)width);
		bytes_indices(body, (const uint32_t *)(const void *)l->indices.at, l->indices.n / sizeof(uint32_t),
			      width);
	} else if (l->physical == PHYSICAL_BOOL) {
		put_bools(body, &l->values);
	} else {
		bytes_add(body, l->values.at, l->values.n);
	}
	if (body->err)
		return body->err;
	l->has_indices |= indices;
	return put_page(l, &l->pages, PAGE_DATA, indices ? ENCODING_DICTIONARY : ENCODING_PLAIN, n, body, zstd);
}

/* The dictionary was given up within the page: its indices become texts. */
static void indices_to_texts(struct leaf *l)
{
	struct bytes all = { 0 };
	uint32_t number, n;

	for (size_t i = 0; i < l->indices.n; i += sizeof(number)) {
		const char *at;

		memcpy(&number, l->indices.at + i, sizeof(number));
		at = l->texts.at + entry_of(l, number)->at;
		memcpy(&n, at, sizeof(n));
		bytes_add(&all, at, sizeof(n) + le32toh(n));
	}
	bytes_add(&all, l->values.at, l->values.n);
	bytes_free(&l->values);
	l->values = all;
	l->indices.n = 0;
}

int leaf_page(struct leaf *l, ZSTD_CCtx *zstd, struct bytes *scratch)
{
	size_t n = l->page_values;
	int err = leaf_error(l);

	if (!err && l->indices.n && !l->use_dictionary) {
		indices_to_texts(l);
		err = l->values.err;
	}
	if (!err && n)
		err = put_data(l, l->indices.n > 0, n, zstd, scratch);
	l->values.n = l->indices.n = l->definition.n = l->repetition.n = l->page_values = 0;
	return err;
}

int leaf_dictionary(struct leaf *l, ZSTD_CCtx *zstd, struct bytes *ret)
{
	return l->has_indices ? put_page(l, ret, PAGE_DICTIONARY, ENCODING_PLAIN, n_entries(l), &l->texts, zstd) : 0;
}

void leaf_begin(struct leaf *l)
{
	l->use_dictionary = l->physical == PHYSICAL_BYTES && !l->unique;
	l->texts.n = l->entries.n = l->pages.n = 0;
	l->n_values = l->plain_bytes = l->page_values = 0;
	l->has_indices = false;
	l->last = 0;
	if (l->slots)
		memset(l->slots, 0, l->n_slots * sizeof(*l->slots));
}
