/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/redact_text.c - finds secrets in one pass over a text. At each character that may begin or end
 * a secret ("://", '?', ':', a quote, a shape's first byte) it checks the surroundings. Each check is bounded
 * or skips text already checked, so the pass takes linear time.
 */
#include "core/identify/redact_text.h"

#include <string.h>

#define NAME_LOOK 128 /* longest name in front of '=' or ':' */

struct text {
	const struct redact *redact;
	char *begin, *end;
	char *no_at; /* a search for '@' has found none up to here */
	struct {
		uint32_t group;
		char *end; /* a run of its characters up to here had none of the needed ones */
	} failed[32]; /* by group; without it each "sk-" of "sk-sk-sk-..." would start a search to the end */
	unsigned n;
};

bool redact_mark(char *begin, char *end)
{
	char *p = begin;
	size_t stars;

	while (p < end && (*p == '*' || *p == '\0'))
		p++;
	if (p >= end)
		return false;
	stars = (size_t)(end - begin) < 3 ? (size_t)(end - begin) : 3;
	memset(begin, '*', stars);
	memset(begin + stars, '\0', (size_t)(end - begin) - stars);
	return true;
}

static void mark(struct text *text, char *begin, char *end)
{
	text->n += redact_mark(begin, end);
}

static bool is_one_of(char c, const char *set)
{
	return c != '\0' && strchr(set, c);
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'';
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
	       c == '.';
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool redact_token(const char *begin, const char *end)
{
	bool digit = false;

	if (end - begin < 16)
		return false;
	for (const char *p = begin; p < end; p++) {
		if (!is_name(*p) && *p != '~' && *p != '%')
			return false;
		digit = digit || (*p >= '0' && *p <= '9');
	}
	return digit;
}

/* p points behind "://". Returns the position to continue at. */
static char *url(struct text *text, char *p)
{
	char *end = p, *at = NULL, *colon;

	while (end < text->end && !redact_blank(*end) && !is_quote(*end) && !is_one_of(*end, "/?#<>"))
		end++;
	at = memrchr(p, '@', (size_t)(end - p));
	colon = memchr(p, ':', (size_t)(end - p));
	if (!at && colon && colon + 1 < end && *p != '[' && end >= text->no_at) {
		/* user:pa/ss@host is invalid but used. A port would have only digits. */
		char *q = colon + 1;

		while (q < end && *q >= '0' && *q <= '9')
			q++;
		if (q < end) {
			for (q = end; q < text->end && *q != '@' && !redact_blank(*q) && !is_quote(*q); q++)
				;
			if (q < text->end && *q == '@')
				at = q;
			else
				text->no_at = q;
		}
	}
	if (!at)
		return p;
	if (!colon || colon > at)
		colon = at;
	else
		mark(text, colon + 1, at);
	if (redact_token(p, colon))
		mark(text, p, colon);
	return at;
}

/* NAME=value; p points behind '?', '&', ... Returns the position to continue at. */
static char *parameter(struct text *text, char *p)
{
	char *name = p, *value, *end;

	while (p < text->end && p - name < NAME_LOOK && (is_name(*p) || *p == '[' || *p == ']'))
		p++;
	if (p >= text->end || *p != '=' || p == name)
		return name;
	if (!redact_table_secret(text->redact, REDACT_PARAMETERS, name, (size_t)(p - name)))
		return p;
	value = end = p + 1;
	while (end < text->end && !redact_blank(*end) && !is_quote(*end) && !is_one_of(*end, "&;,#"))
		end++;
	mark(text, value, end);
	return end;
}

/* "Name: value"; colon points at the ':'. Returns the position to continue at. */
static char *header(struct text *text, char *colon)
{
	char *name = colon, *value = colon + 1, *end;
	char quote = '\0';

	while (name > text->begin && colon - name < NAME_LOOK && is_name(name[-1]) && name[-1] != '.')
		name--;
	if (name == colon)
		return value;
	if (name > text->begin && is_quote(name[-1]))
		quote = name[-1];
	/* -HName: value, attached to its option */
	if (!redact_table_secret(text->redact, REDACT_HEADERS, name, (size_t)(colon - name)) &&
	    (colon - name < 3 || name[0] != '-' ||
	     !redact_table_secret(text->redact, REDACT_HEADERS, name + 2, (size_t)(colon - name) - 2)))
		return value;
	while (value < text->end && (*value == ' ' || *value == '\t'))
		value++;
	for (end = value; end < text->end && *end != '\r' && *end != '\n' && (!quote || *end != quote); end++)
		;
	mark(text, value, end);
	return end;
}

/*
 * "name": "value", also with escaped quotes. quote points at the quote that may close the name. Returns the
 * position to continue at.
 */
static char *pair(struct text *text, char *quote)
{
	char *name_end = quote, *name, *value, *end, c = *quote;
	bool escaped = quote > text->begin && quote[-1] == '\\';

	value = quote + 1;
	while (value < text->end && redact_blank(*value))
		value++;
	if (value >= text->end || *value != ':')
		return quote + 1;
	value++;
	while (value < text->end && redact_blank(*value))
		value++;
	if (escaped)
		name_end--;
	for (name = name_end; name > text->begin && name_end - name < NAME_LOOK && name[-1] != c; name--)
		;
	if (name == text->begin || name[-1] != c ||
	    !redact_table_secret(text->redact, REDACT_NAMES, name, (size_t)(name_end - name)))
		return quote + 1;
	if (value < text->end && escaped && *value == '\\')
		value++;
	if (value < text->end && is_quote(*value)) {
		c = *value++;
		for (end = value; end < text->end; end++) {
			if (escaped && *end == '\\' && end + 1 < text->end && end[1] == c)
				break;
			if (!escaped && *end == c)
				break;
			if (!escaped && *end == '\\' && end + 1 < text->end)
				end++;
		}
		if (end > text->end)
			end = text->end;
	} else {
		for (end = value; end < text->end && !redact_blank(*end) && !is_quote(*end) && *end != ',' &&
				  *end != '}' && *end != ']';
		     end++)
			;
	}
	mark(text, value, end);
	return end;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* IDENTIFIED BY 'secret'. Returns the position to continue at, or quote itself when no phrase precedes it. */
static char *phrase(struct text *text, char *quote)
{
	char *front = quote, *end;

	/* Users write few blanks; skipping more would make repeated scans slow. */
	while (front > text->begin && quote - front < 8 && (redact_blank(front[-1]) || front[-1] == '('))
		front--;
	for (size_t i = 0; i < text->redact->n_phrases; i++) {
		const char *s = text->redact->phrases[i];
		size_t len = strlen(s), n;

		if ((size_t)(front - text->begin) < len || (front == quote && is_word(s[len - 1])))
			continue;
		for (n = 0; n < len && lower((front - len)[n]) == s[n]; n++)
			;
		if (n < len || ((size_t)(front - text->begin) > len && is_word(*(front - len - 1))))
			continue;
		end = memchr(quote + 1, *quote, (size_t)(text->end - quote - 1));
		if (!end)
			return quote;
		mark(text, quote + 1, end);
		return end + 1;
	}
	return quote;
}

static bool begins_shape(const struct redact *redact, const char *p, const char *end)
{
	unsigned bit;

	if (end - p < 3)
		return true;
	bit = redact_trigram(p);
	return redact->shape_trigrams[bit >> 6] >> (bit & 63) & 1;
}

/* Returns the position behind a shape, or p itself when no shape begins there. */
static char *shape(struct text *text, char *p)
{
	for (uint32_t i = text->redact->first_shape[(unsigned char)*p]; i; i = text->redact->shapes[i - 1].next) {
		const struct redact_shape *s = &text->redact->shapes[i - 1];
		bool need = s->has_needs;
		char *q;
		size_t n;

		if ((size_t)(text->end - p) <= s->prefix_len || memcmp(p, s->prefix, s->prefix_len) != 0)
			continue;
		if (need && text->failed[s->group & 31].group == s->group && p < text->failed[s->group & 31].end)
			continue;
		for (q = p + s->prefix_len; q < text->end && redact_set_has(s->chars, (unsigned char)*q); q++)
			if (need && redact_set_has(s->needs, (unsigned char)*q))
				need = false;
		n = (size_t)(q - p) - s->prefix_len;
		if (need) {
			text->failed[s->group & 31].group = s->group;
			text->failed[s->group & 31].end = q;
		}
		if (need || n < s->min || (s->max && n > s->max))
			continue;
		mark(text, s->keep_prefix ? p + s->prefix_len : p, q);
		return q;
	}
	return p;
}

unsigned redact_text(const struct redact *redact, char *begin, char *end)
{
	struct text text = { .redact = redact, .begin = begin, .end = end, .no_at = begin };

	for (char *p = begin; p < end;) {
		char *next = p + 1;

		if (redact->first_shape[(unsigned char)*p] && (p == begin || !is_word(p[-1])) &&
		    begins_shape(redact, p, end)) {
			char *behind = shape(&text, p);

			if (behind > p) {
				p = behind;
				continue;
			}
		}
		switch (*p) {
		case ':':
			if (end - p > 2 && p[1] == '/' && p[2] == '/')
				next = url(&text, p + 3);
			else
				next = header(&text, p);
			break;
		case '?':
		case '&':
		case ';':
		case '#':
		case ',':
			next = parameter(&text, p + 1);
			break;
		case '"':
		case '\'':
			next = phrase(&text, p);
			if (next == p)
				next = pair(&text, p);
			break;
		default:
			break;
		}
		p = next;
	}
	return text.n;
}
