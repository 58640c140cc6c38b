/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/audit/canon.c - writes and recognizes canonical JSON.  The reader builds no tree: it accepts a line or names the
 * byte that another writer would have written differently.
 */
#include "cli/audit/canon.h"

#include <errno.h>
#include <skep/utf8.h>
#include <stdbool.h>
#include <string.h>

/* RFC 8785, 3.2.2.2: these have a short escape, other control characters \u00xx, all else stands as it is. */
static const char short_escape[] = { ['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
				     ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't' };

static char escape_of(unsigned char c)
{
	return c < sizeof(short_escape) ? short_escape[c] : '\0';
}

void canon_string(struct jsonw *j, const char *s, size_t n)
{
	static const char hex[] = "0123456789abcdef";
	const char *end = s + n;

	jsonw_lit(j, "\"");
	while (s < end) {
		const size_t plain = skep_jsonw_plain(s, (size_t)(end - s));
		unsigned char c;
		int len;

		skep_jsonw_raw(j, s, plain);
		s += plain;
		if (s == end)
			break;
		c = (unsigned char)*s;
		if (c >= 0x7f) {
			len = c == 0x7f ? 1 : skep_utf8_length(s, (size_t)(end - s));
			if (len > 0)
				skep_jsonw_raw(j, s, (size_t)len);
			else
				jsonw_lit(j, "\xef\xbf\xbd");
			s += len > 0 ? len : -len;
			continue;
		}
		if (escape_of(c))
			skep_jsonw_raw(j, (const char[]){ '\\', escape_of(c) }, 2);
		else
			skep_jsonw_raw(j, (const char[]){ '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] }, 6);
		s++;
	}
	jsonw_lit(j, "\"");
}

/* ---- the reader -------------------------------------------------------------------- */

struct text {
	const char *s;
	size_t n, at;
	const char *why;
};

static bool fail(struct text *t, const char *why)
{
	t->why = t->why ? t->why : why;
	return false;
}

static bool is(struct text *t, char c)
{
	if (t->at == t->n || t->s[t->at] != c)
		return false;
	t->at++;
	return true;
}

static bool expect(struct text *t, char c, const char *why)
{
	return is(t, c) || fail(t, why);
}

/* What follows a backslash. */
static bool read_escape(struct text *t)
{
	const char *s = t->s + t->at;
	unsigned code;

	if (t->at < t->n && *s != '\0' && memchr("\"\\bfnrt", *s, 7)) {
		t->at++;
		return true;
	}
	if (t->n - t->at < 5 || memcmp(s, "u00", 3) != 0 || (s[3] != '0' && s[3] != '1') ||
	    !((s[4] >= '0' && s[4] <= '9') || (s[4] >= 'a' && s[4] <= 'f')))
		return fail(t, "an escape that RFC 8785 does not write");
	code = (unsigned)(s[3] - '0') * 16 + (unsigned)(s[4] <= '9' ? s[4] - '0' : s[4] - 'a' + 10);
	if (escape_of((unsigned char)code))
		return fail(t, "a character that has a shorter escape");
	t->at += 5;
	return true;
}

/* A string from its first quote on. */
static bool read_string(struct text *t, const char **ret, size_t *ret_n)
{
	size_t from;

	if (!expect(t, '"', "no string where one must be"))
		return false;
	from = t->at;
	for (;;) {
		int len;

		t->at += skep_jsonw_plain(t->s + t->at, t->n - t->at);
		if (t->at == t->n)
			return fail(t, "a string without an end");
		if (t->s[t->at] == '"')
			break;
		if (is(t, '\\')) {
			if (!read_escape(t))
				return false;
			continue;
		}
		if ((unsigned char)t->s[t->at] < 0x20)
			return fail(t, "a control character that is not escaped");
		len = t->s[t->at] == 0x7f ? 1 : skep_utf8_length(t->s + t->at, t->n - t->at);
		if (len <= 0)
			return fail(t, "bytes that are not UTF-8");
		t->at += (size_t)len;
	}
	*ret = t->s + from;
	*ret_n = t->at - from;
	t->at++;
	return true;
}

static bool read_number(struct text *t, uint64_t *ret)
{
	const bool negative = is(t, '-');
	const size_t from = t->at;
	uint64_t v = 0;

	for (; t->at < t->n && t->s[t->at] >= '0' && t->s[t->at] <= '9'; t->at++) {
		v = v * 10 + (uint64_t)(t->s[t->at] - '0');
		if (v > CANON_NUMBER_MOST)
			return fail(t, "a number beyond 2^53 - 1");
	}
	if (t->at == from || (t->s[from] == '0' && (negative || t->at > from + 1)))
		return fail(t, "no whole number as RFC 8785 writes it");
	*ret = negative ? 0 : v;
	return true;
}

static bool read_word(struct text *t, const char *word)
{
	const size_t n = strlen(word);

	if (t->n - t->at < n || memcmp(t->s + t->at, word, n) != 0)
		return fail(t, "no value");
	t->at += n;
	return true;
}

/* A list of strings, the only list that an entry has. */
static bool read_list(struct text *t)
{
	const char *s;
	size_t n;

	t->at++;
	if (is(t, ']'))
		return true;
	do {
		if (!read_string(t, &s, &n))
			return false;
	} while (is(t, ','));
	return expect(t, ']', "a list without an end");
}

struct value {
	const char *s; /* NULL: no string */
	size_t n;
	uint64_t number;
	bool is_number;
};

static bool read_value(struct text *t, struct value *ret)
{
	const char c = t->at < t->n ? t->s[t->at] : '\0';

	*ret = (struct value){ 0 };
	if (c == '"')
		return read_string(t, &ret->s, &ret->n);
	if (c == '[')
		return read_list(t);
	if (c == 't' || c == 'f')
		return read_word(t, c == 't' ? "true" : "false");
	ret->is_number = true;
	return read_number(t, &ret->number);
}

/* A member's name; it must come after the one before. */
static bool read_name(struct text *t, const char **name, size_t *n)
{
	const char *before = *name;
	const size_t n_before = *n;
	int order;

	if (!read_string(t, name, n))
		return false;
	for (size_t i = 0; i < *n; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_", (*name)[i]))
			return fail(t, "a name that no entry has");
	order = before ? memcmp(before, *name, n_before < *n ? n_before : *n) : -1;
	if (order > 0 || (order == 0 && n_before >= *n))
		return fail(t, "a name out of order");
	return true;
}

static bool is_hash(const struct value *v)
{
	if (!v->s || v->n != CANON_HASH)
		return false;
	for (size_t i = 0; i < v->n; i++)
		if (!strchr("0123456789abcdef", v->s[i]))
			return false;
	return true;
}

static bool take_member(struct text *t, const char *name, size_t n, const struct value *v, struct canon_member at,
			struct canon_line *l)
{
#define NAMED(word_) (n == sizeof(word_) - 1 && memcmp(name, word_, n) == 0)
	if (NAMED("hash") || NAMED("prev")) {
		if (!is_hash(v))
			return fail(t, "no SHA-256 of 64 hexadecimal digits");
		if (*name == 'h') {
			l->hash = v->s;
			l->hash_at = at;
		} else {
			l->prev = v->s;
			l->prev_at = at;
		}
	} else if (NAMED("seq") || NAMED("entries")) {
		if (!v->is_number)
			return fail(t, "no number where one must be");
		if (*name == 's') {
			l->seq = v->number;
			l->seq_at = at;
		} else {
			l->entries = v->number;
		}
	} else if (NAMED("kind")) {
		l->kind = v->s;
		l->kind_len = v->n;
	} else if (NAMED("run")) {
		l->run = v->s;
		l->run_len = v->n;
	} else if (NAMED("audit")) {
		l->audit = v->s;
		l->audit_len = v->n;
	}
#undef NAMED
	return true;
}

static bool read_line(struct text *t, struct canon_line *l)
{
	const char *name = NULL;
	size_t n = 0;

	if (!expect(t, '{', "no object"))
		return false;
	do {
		struct canon_member at = { .at = t->at };
		struct value v;

		if (!read_name(t, &name, &n) || !expect(t, ':', "no colon behind a name") || !read_value(t, &v))
			return false;
		at.end = t->at;
		if (!take_member(t, name, n, &v, at, l))
			return false;
	} while (is(t, ','));
	if (!expect(t, '}', "an object without an end"))
		return false;
	if (t->at != t->n)
		return fail(t, "more than one object");
	return l->hash && l->prev && l->kind && l->seq_at.end ? true : fail(t, "no hash, kind, prev or seq");
}

int canon_read(const char *line, size_t n, struct canon_line *ret, size_t *ret_at, const char **ret_why)
{
	struct text t = { .s = line, .n = n };
	struct canon_line l = { 0 };

	if (!read_line(&t, &l)) {
		*ret_at = t.at;
		*ret_why = t.why;
		return -EINVAL;
	}
	*ret = l;
	return 0;
}

size_t canon_without(const char *line, size_t n, const struct canon_member *const *members, size_t n_members, char *ret)
{
	size_t from = 0, len = 0;

	for (size_t i = 0; i < n_members; i++) { /* in their order: those of canon_line by name */
		size_t at = members[i]->at, end = members[i]->end;

		if (line[end] == ',')
			end++; /* the comma behind it; of the last member the one before it */
		else if (at > from && line[at - 1] == ',')
			at--;
		memcpy(ret + len, line + from, at - from);
		len += at - from;
		if (at == from && line[end] == '}' && len && ret[len - 1] == ',')
			len--; /* the members before the last one have gone as well */
		from = end;
	}
	memcpy(ret + len, line + from, n - from);
	return len + n - from;
}
