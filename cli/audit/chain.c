/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/audit/chain.c - see cli/audit/chain.h.
 */
#include "cli/audit/chain.h"

#include <errno.h>
#include <string.h>

#include "sdk/base/sha256.h"

static void hex_of(const unsigned char digest[SKEP_SHA256_SIZE], char ret[CANON_HASH + 1])
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < SKEP_SHA256_SIZE; i++) {
		ret[2 * i] = hex[digest[i] >> 4];
		ret[2 * i + 1] = hex[digest[i] & 15];
	}
	ret[CANON_HASH] = '\0';
}

void chain_hash(const char *line, size_t n, const struct canon_line *l, char *buf, char ret[CANON_HASH + 1])
{
	const struct canon_member *const hash[] = { &l->hash_at };
	unsigned char digest[SKEP_SHA256_SIZE];

	n = canon_without(line, n, hash, 1, buf);
	skep_sha256(buf, n, digest);
	hex_of(digest, ret);
}

void chain_body(const char *line, size_t n, const struct canon_line *l, char *buf, unsigned char ret[32])
{
	const struct canon_member *const chain[] = { &l->hash_at, &l->prev_at, &l->seq_at };

	n = canon_without(line, n, chain, 3, buf);
	skep_sha256(buf, n, ret);
}

static void comma(struct chain *c)
{
	if (c->line.len > 1)
		jsonw_lit(&c->line, ",");
}

/* Adds the chain's own members that come before a name; NULL: all of them. */
static void own_members(struct chain *c, const char *name)
{
	if (!c->has_hash && (!name || strcmp(name, "hash") > 0)) {
		c->has_hash = true;
		c->hash_at = c->line.len;
	}
	if (!c->has_prev && (!name || strcmp(name, "prev") > 0)) {
		c->has_prev = true;
		comma(c);
		jsonw_lit(&c->line, "\"prev\":\"");
		skep_jsonw_raw(&c->line, *c->head ? c->head : CHAIN_FIRST, CANON_HASH);
		jsonw_lit(&c->line, "\"");
	}
	if (!c->has_seq && (!name || strcmp(name, "seq") > 0)) {
		c->has_seq = true;
		comma(c);
		jsonw_lit(&c->line, "\"seq\":");
		skep_jsonw_u64(&c->line, c->seq);
	}
}

static void member(struct chain *c, const char *name)
{
	own_members(c, name);
	comma(c);
	jsonw_lit(&c->line, "\"");
	skep_jsonw_raw(&c->line, name, strlen(name));
	jsonw_lit(&c->line, "\":");
}

void chain_begin(struct chain *c)
{
	skep_jsonw_reset(&c->line);
	c->has_hash = c->has_prev = c->has_seq = false;
	jsonw_lit(&c->line, "{");
}

void chain_text(struct chain *c, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	member(c, name);
	canon_string(&c->line, value, strlen(value));
}

void chain_list(struct chain *c, const char *name, const char *const *list)
{
	if (!list || !*list)
		return;
	member(c, name);
	jsonw_lit(&c->line, "[");
	for (size_t i = 0; list[i]; i++) {
		if (i)
			jsonw_lit(&c->line, ",");
		canon_string(&c->line, list[i], strlen(list[i]));
	}
	jsonw_lit(&c->line, "]");
}

void chain_number(struct chain *c, const char *name, uint64_t value)
{
	member(c, name);
	skep_jsonw_u64(&c->line, value < CANON_NUMBER_MOST ? value : CANON_NUMBER_MOST);
}

void chain_time(struct chain *c, const char *name, uint64_t ns)
{
	if (!ns)
		return;
	member(c, name);
	skep_jsonw_time(&c->line, ns < INT64_MAX ? (int64_t)ns : INT64_MAX);
}

void chain_true(struct chain *c, const char *name, bool value)
{
	if (!value)
		return;
	member(c, name);
	jsonw_lit(&c->line, "true");
}

void chain_end(struct chain *c)
{
	static const char before[] = "\"hash\":\"", after[] = "\",";
	const size_t room = sizeof(before) - 1 + CANON_HASH + sizeof(after) - 1;
	unsigned char digest[SKEP_SHA256_SIZE];
	struct jsonw *line = &c->line;
	char *at;

	own_members(c, NULL);
	jsonw_lit(line, "}");
	c->err = c->err ? c->err : line->err;
	if (c->err)
		return;
	skep_sha256(line->buf, line->len, digest);
	hex_of(digest, c->head);
	c->seq++;
	if (!skep_jsonw_room(line, room + 1)) {
		c->err = line->err;
		return;
	}
	/* Members follow the hash: kind, prev and seq.  One before it has left its comma to the next one. */
	at = line->buf + c->hash_at + (line->buf[c->hash_at] == ',');
	memmove(at + room, at, (size_t)(line->buf + line->len - at));
	memcpy(at, before, sizeof(before) - 1);
	memcpy(at + sizeof(before) - 1, c->head, CANON_HASH);
	memcpy(at + room - (sizeof(after) - 1), after, sizeof(after) - 1);
	line->len += room;
	jsonw_lit(line, "\n");
	c->err = c->put ? c->put(c->arg, line->buf, line->len) : 0;
}

int chain_close(struct chain *c)
{
	skep_jsonw_free(&c->line);
	return c->err;
}
