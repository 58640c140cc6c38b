/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/audit/verify.c - see cli/audit/verify.h.
 */
#include "cli/audit/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/audit/chain.h"

#define LINE_MOST ((size_t)64 << 20) /* arguments are at most a few hundred KiB */
#define READ_SIZE ((size_t)1 << 18)

/* ---- lines --------------------------------------------------------------------------- */

struct lines {
	FILE *in;
	char *buf, *scratch; /* scratch: as large as buf */
	size_t room, from, len;
	uint64_t n; /* lines so far */
	bool whole; /* the last line had a newline */
};

static int more_room(struct lines *l)
{
	const size_t room = l->room ? 2 * l->room : 2 * READ_SIZE;
	char *buf;

	if (room > 2 * LINE_MOST)
		return -EFBIG;
	buf = realloc(l->buf, room);
	if (!buf)
		return -ENOMEM;
	l->buf = buf;
	free(l->scratch);
	l->scratch = malloc(room);
	if (!l->scratch)
		return -ENOMEM;
	l->room = room;
	return 0;
}

/* 1: a line; 0: the end of the file; -errno. */
static int next_line(struct lines *l, const char **ret, size_t *ret_n)
{
	size_t seen = 0;

	for (;;) {
		const char *end = l->len > seen ? memchr(l->buf + l->from + seen, '\n', l->len - seen) : NULL;
		size_t n;

		if (end || (feof(l->in) && l->len)) {
			l->whole = end != NULL;
			*ret = l->buf + l->from;
			*ret_n = end ? (size_t)(end - *ret) : l->len;
			n = *ret_n + l->whole;
			l->from += n;
			l->len -= n;
			l->n++;
			return 1;
		}
		if (feof(l->in))
			return 0;
		seen = l->len;
		if (l->len)
			memmove(l->buf, l->buf + l->from, l->len);
		l->from = 0;
		if (l->room - l->len < READ_SIZE) {
			const int err = more_room(l);

			if (err)
				return err;
		}
		errno = 0;
		l->len += fread(l->buf + l->len, 1, READ_SIZE, l->in);
		if (ferror(l->in))
			return errno ? -errno : -EIO;
	}
}

/* ---- the chain ----------------------------------------------------------------------- */

struct chain_state {
	struct lines lines;
	struct verify *v;
	char before[CANON_HASH + 1]; /* the hash of the entry before the last one */
	uint64_t seq;                /* of the next entry */
	bool ended;
	char (*known)[CANON_HASH]; /* all hashes so far */
	size_t n_known, room;
};

static bool is_known(const struct chain_state *s, const char *hash)
{
	for (size_t i = 0; i < s->n_known; i++)
		if (memcmp(s->known[i], hash, CANON_HASH) == 0)
			return true;
	return false;
}

static int keep(struct chain_state *s, const char *line, size_t n, const struct canon_line *l)
{
	struct verify *v = s->v;

	if (s->n_known == s->room) {
		const size_t room = s->room ? 2 * s->room : 1024;
		void *grown = reallocarray(s->known, room, sizeof(*s->known));

		if (!grown)
			return -ENOMEM;
		s->known = grown;
		grown = reallocarray(v->bodies, room, sizeof(*v->bodies));
		if (!grown)
			return -ENOMEM;
		v->bodies = grown;
		s->room = room;
	}
	memcpy(s->known[s->n_known++], l->hash, CANON_HASH);
	chain_body(line, n, l, s->lines.scratch, v->bodies[v->n_bodies++]);
	memcpy(s->before, v->head, sizeof(s->before));
	memcpy(v->head, l->hash, CANON_HASH);
	v->head[CANON_HASH] = '\0';
	return 0;
}

static int __attribute__((format(printf, 3, 4))) breaks(struct chain_state *s, enum verify_break how, const char *fmt,
							...)
{
	va_list ap;

	s->v->broken = how;
	s->v->line = s->lines.n;
	va_start(ap, fmt);
	vsnprintf(s->v->why, sizeof(s->v->why), fmt, ap);
	va_end(ap);
	return 1;
}

static bool holds(struct lines *lines, const char *line, size_t n, struct canon_line *l, size_t *at, const char **why)
{
	char hash[CANON_HASH + 1];

	if (canon_read(line, n, l, at, why) != 0)
		return false;
	chain_hash(line, n, l, lines->scratch, hash);
	*at = SIZE_MAX;
	return memcmp(hash, l->hash, CANON_HASH) == 0;
}

/* Finds the entry that continues the chain further down. 1 and its line; 0: there is none; -errno. */
static int find_successor(struct chain_state *s, uint64_t *ret_line)
{
	const char *line = NULL, *why;
	struct canon_line l;
	size_t n = 0, at;
	int rc;

	while ((rc = next_line(&s->lines, &line, &n)) > 0)
		if (holds(&s->lines, line, n, &l, &at, &why) && memcmp(l.prev, s->v->head, CANON_HASH) == 0) {
			*ret_line = s->lines.n;
			return 1;
		}
	return rc;
}

/* An entry that holds by itself, and does not continue the chain. */
static int explain(struct chain_state *s, const struct canon_line *found)
{
	const uint64_t at = s->lines.n, seq = found->seq;
	const bool known = is_known(s, found->hash);
	const bool follows_before = *s->before && memcmp(found->prev, s->before, CANON_HASH) == 0;
	uint64_t line = 0;
	int rc;

	if (known)
		return breaks(s, VERIFY_REPEATED, "entry %" PRIu64 " stands further up already", seq);
	rc = find_successor(s, &line);
	if (rc < 0)
		return rc;
	s->lines.n = at;
	if (rc > 0)
		return breaks(s, VERIFY_REORDERED, "entry %" PRIu64 " stands here, and entry %" PRIu64 " in line %" PRIu64,
			      seq, s->seq, line);
	if (seq > s->seq)
		return breaks(s, VERIFY_DROPPED, seq - s->seq == 1 ? "entry %" PRIu64 " is missing before this line"
								   : "entries %" PRIu64 " to %" PRIu64 " are missing before this line",
			      s->seq, seq - 1);
	s->lines.n = at - 1;
	if (follows_before)
		return breaks(s, VERIFY_INSERTED, "the chain does not have this entry: line %" PRIu64
			      " continues the line before it", at);
	return breaks(s, VERIFY_EDITED, "entry %" PRIu64 " was changed and has a new hash: line %" PRIu64
		      " continues another one", s->seq ? s->seq - 1 : 0, at);
}

static bool is_kind(const struct canon_line *l, const char *kind)
{
	return l->kind_len == strlen(kind) && memcmp(l->kind, kind, l->kind_len) == 0;
}

static int take_header(struct chain_state *s, const struct canon_line *l)
{
	struct verify *v = s->v;

	if (l->seq > 0)
		return breaks(s, VERIFY_DROPPED, "the header, entry 0, is missing");
	if (!is_kind(l, "audit") || !l->audit || l->run_len >= sizeof(v->run))
		return breaks(s, VERIFY_NO_CHAIN, "the first line is no header of an audit");
	if (l->audit_len != strlen(CHAIN_FORMAT) || memcmp(l->audit, CHAIN_FORMAT, l->audit_len) != 0)
		return breaks(s, VERIFY_NO_CHAIN, "the header's format is %.*s, and this skep knows " CHAIN_FORMAT,
			      (int)(l->audit_len < 64 ? l->audit_len : 64), l->audit);
	memcpy(v->run, l->run ? l->run : "", l->run_len);
	v->run[l->run_len] = '\0';
	return 0;
}

/* One line. 0: the chain goes on; 1: it breaks; -errno. */
static int take_line(struct chain_state *s, const char *line, size_t n)
{
	struct verify *v = s->v;
	struct canon_line l;
	const char *why = NULL;
	size_t at = 0;
	int rc;

	if (s->ended)
		return breaks(s, VERIFY_AFTER_END, "the chain's end is in line %" PRIu64 ", and the file goes on",
			      s->lines.n - 1);
	if (!s->lines.whole)
		return breaks(s, VERIFY_CUT, "the file ends within entry %" PRIu64 " or before its newline", s->seq);
	if (!holds(&s->lines, line, n, &l, &at, &why)) {
		if (at == SIZE_MAX)
			return breaks(s, VERIFY_EDITED, "entry %" PRIu64 " does not fit its hash", s->seq);
		return breaks(s, s->seq ? VERIFY_EDITED : VERIFY_NO_CHAIN, "entry %" PRIu64 ", byte %zu: %s", s->seq,
			      at + 1, why);
	}
	if (!s->seq) {
		rc = take_header(s, &l);
		if (rc)
			return rc;
	}
	if (l.seq != s->seq || memcmp(l.prev, s->seq ? v->head : CHAIN_FIRST, CANON_HASH) != 0)
		return explain(s, &l);
	rc = keep(s, line, n, &l);
	if (rc)
		return rc;
	s->ended = is_kind(&l, "end");
	if (s->ended && l.entries + 1 != l.seq)
		return breaks(s, VERIFY_EDITED, "the end counts %" PRIu64 " entries, and the chain has %" PRIu64, l.entries,
			      l.seq - 1);
	s->seq++;
	return 0;
}

/* The chain holds: is it the one whose head was kept? */
static void compare_head(struct chain_state *s, const struct verify_head *head)
{
	struct verify *v = s->v;

	if (!head || !head->given || strcmp(head->hash, v->head) == 0)
		return;
	if (is_known(s, head->hash))
		breaks(s, VERIFY_AFTER_END, "the head that you gave is of an entry further up: entries were added after it");
	else if (head->has_count && head->count > v->entries)
		breaks(s, VERIFY_CUT, "the head that you gave counts %" PRIu64 " entries, and this chain has %" PRIu64
		       ": it was cut and given a new end", head->count, v->entries);
	else
		breaks(s, VERIFY_OTHER_HEAD, "its head is %s, not the head that you gave: the chain was rewritten, or it is "
		       "another run's", v->head);
}

int verify_chain(FILE *in, const struct verify_head *head, struct verify *ret)
{
	struct chain_state s = { .lines = { .in = in }, .v = ret };
	const char *line = NULL;
	size_t n = 0;
	int rc;

	*ret = (struct verify){ 0 };
	while ((rc = next_line(&s.lines, &line, &n)) > 0) {
		rc = take_line(&s, line, n);
		if (rc)
			break;
	}
	ret->entries = s.seq ? s.seq - 1 - s.ended : 0;
	if (rc == 0 && !s.n_known) {
		rc = breaks(&s, VERIFY_NO_CHAIN, "the file is empty");
	} else if (rc == 0 && !s.ended) {
		s.lines.n++;
		rc = breaks(&s, VERIFY_CUT, "the file ends after entry %" PRIu64 ", without the chain's end", s.seq - 1);
	} else if (rc == 0) {
		compare_head(&s, head);
	}
	free(s.known);
	free(s.lines.buf);
	free(s.lines.scratch);
	return rc < 0 ? rc : 0;
}

int verify_head_read(const char *text, struct verify_head *ret)
{
	struct verify_head head = { .given = true };
	const char *colon = strchr(text, ':');
	char *end;

	if (colon) {
		errno = 0;
		head.has_count = true;
		head.count = strtoull(text, &end, 10);
		if (errno || end != colon || text[0] < '0' || text[0] > '9')
			return -EINVAL;
		text = colon + 1;
	}
	if (strlen(text) != CANON_HASH || strspn(text, "0123456789abcdef") != CANON_HASH)
		return -EINVAL;
	memcpy(head.hash, text, CANON_HASH);
	*ret = head;
	return 0;
}

const char *verify_break_name(enum verify_break how)
{
	static const char *const names[] = {
		[VERIFY_WHOLE] = "whole",         [VERIFY_NO_CHAIN] = "no chain", [VERIFY_EDITED] = "edited",
		[VERIFY_DROPPED] = "dropped",     [VERIFY_REORDERED] = "reordered", [VERIFY_REPEATED] = "repeated",
		[VERIFY_INSERTED] = "inserted",   [VERIFY_CUT] = "cut",           [VERIFY_AFTER_END] = "after the end",
		[VERIFY_OTHER_HEAD] = "other head",
	};

	return names[how];
}

/* ---- the lake ------------------------------------------------------------------------ */

struct body {
	unsigned char digest[32];
	uint64_t seq;
	bool in_lake;
};

struct bodies {
	struct body *list;
	size_t n;
	char *buf;
	size_t room;
};

static int take_body(void *arg, const char *line, size_t n)
{
	struct bodies *b = arg;
	struct canon_line l;
	const char *why;
	size_t at;
	char *grown = n > b->room ? realloc(b->buf, 2 * n) : b->buf;

	if (!grown)
		return -ENOMEM;
	b->room = n > b->room ? 2 * n : b->room;
	b->buf = grown;
	if (canon_read(line, n - 1, &l, &at, &why) != 0)
		return -EUCLEAN; /* skep's own line */
	chain_body(line, n - 1, &l, b->buf, b->list[b->n].digest);
	b->list[b->n].seq = l.seq;
	b->list[b->n++].in_lake = true;
	return 0;
}

static int body_order(const void *a, const void *b)
{
	const struct body *x = a, *y = b;
	const int order = memcmp(x->digest, y->digest, sizeof(x->digest));

	if (order)
		return order;
	if (x->in_lake != y->in_lake)
		return x->in_lake ? 1 : -1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

static int difference_order(const void *a, const void *b)
{
	const struct verify_difference *x = a, *y = b;

	if (x->in_lake != y->in_lake)
		return x->in_lake ? 1 : -1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Equal entries come as a group, those of the file first: a pair of each side is equal, the rest of a group differs. */
static void list_differences(const struct bodies *b, struct verify_difference *list, size_t *ret_n)
{
	size_t n = 0, next;

	for (size_t i = 0; i < b->n; i = next) {
		size_t files = 0, lakes = 0, pairs;

		for (next = i; next < b->n && memcmp(b->list[next].digest, b->list[i].digest, 32) == 0; next++) {
			files += !b->list[next].in_lake;
			lakes += b->list[next].in_lake;
		}
		pairs = files < lakes ? files : lakes;
		for (size_t k = pairs; k < files; k++)
			list[n++] = (struct verify_difference){ false, b->list[i + k].seq };
		for (size_t k = pairs; k < lakes; k++)
			list[n++] = (struct verify_difference){ true, b->list[i + files + k].seq };
	}
	if (n)
		qsort(list, n, sizeof(*list), difference_order);
	*ret_n = n;
}

int verify_lake(const struct verify *v, const struct entries *e, struct verify_difference **ret, size_t *ret_n)
{
	struct bodies b = { .list = calloc(v->n_bodies + e->n + 2, sizeof(*b.list)) };
	struct verify_difference *list = calloc(v->n_bodies + e->n + 2, sizeof(*list));
	struct chain chain = { .put = take_body, .arg = &b };
	int rc = -ENOMEM;

	if (b.list && list)
		rc = entries_chain(e, &chain);
	for (size_t i = 0; !rc && i < v->n_bodies; i++) {
		memcpy(b.list[b.n].digest, v->bodies[i], sizeof(b.list[b.n].digest));
		b.list[b.n++].seq = i;
	}
	if (!rc) {
		qsort(b.list, b.n, sizeof(*b.list), body_order);
		list_differences(&b, list, ret_n);
		*ret = list;
	} else {
		free(list);
	}
	free(b.list);
	free(b.buf);
	return rc;
}
