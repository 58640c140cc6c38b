/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/capture.c - compiles capture patterns once, and matches them segment by segment.
 *
 * After a mismatch within a segment the matcher returns to the last run of variable length. It remembers from
 * which element and character it has failed, so a segment costs at most its elements times its characters. The
 * bound matters because users who may create cgroups choose the paths. PCRE2 has no such bound. All 66 patterns
 * of etc/containers.json over a pod's path took 15 us here and 143 us in pcre2_match (13 us with its JIT, which
 * MemoryDenyWriteExecute of skepd.service forbids). A pattern of eight '*' over a hostile path took 2.9 ms
 * here, and 137 ms in PCRE2 up to its match limit, where PCRE2 then finds no container.
 */
#include "core/identify/capture.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEGMENT_MAX 255u /* NAME_MAX: no path has a longer segment */
#define ELEMENTS_MAX 48u /* in a segment */
#define SEGMENTS_MAX 8u
#define SLUID_LEN 14u

enum class { ANY, ANY_OR_NONE, NAME, DIGITS, HEX, HEX32, HEX64, UUID, UID, UNIT, SLUID, N_CLASSES };

enum what { LITERAL, RUN, BEGIN, END };

struct element {
	unsigned char what;  /* enum what */
	unsigned char value; /* the character, the class, the name */
};

struct segment {
	uint16_t first, n; /* elements */
	uint16_t variable; /* number of runs of variable length */
	bool negated;
};

struct capture {
	bool anchored;
	unsigned n_segments;
	struct segment segments[SEGMENTS_MAX];
	unsigned char class_of[CAPTURE_NAMES_MAX]; /* by name; N_CLASSES: not captured */
	size_t n_elements;
	struct element elements[];
};

/* ---- classes --------------------------------------------------------------------- */

/* isxdigit and its relatives depend on the locale. Identifiers are in lower case. */
static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c && strchr("._:+@-", c));
}

/* Of Slurm: Crockford's base 32, without I, L, O, U (cb32map in src/common/sluid.c, Slurm 26.05). */
static bool is_base32(char c)
{
	return is_digit(c) || (c >= 'A' && c <= 'Z' && !strchr("ILOU", c));
}

static size_t run_of(bool (*is)(char), const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && is(s[i]))
		i++;
	return i;
}

static size_t long_any(const char *s, size_t n)
{
	(void)s;
	return n;
}

static size_t long_name(const char *s, size_t n)
{
	return run_of(is_name, s, n);
}

static size_t long_digits(const char *s, size_t n)
{
	return run_of(is_digit, s, n);
}

static size_t long_hex(const char *s, size_t n)
{
	return run_of(is_hex, s, n);
}

static size_t long_hex32(const char *s, size_t n)
{
	return run_of(is_hex, s, n < 32 ? n : 32) == 32 ? 32 : 0;
}

static size_t long_hex64(const char *s, size_t n)
{
	return run_of(is_hex, s, n < 64 ? n : 64) == 64 ? 64 : 0;
}

static size_t long_uuid(const char *s, size_t n)
{
	if (n < 36)
		return 0;
	for (size_t i = 0; i < 36; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? s[i] != s[8] || (s[i] != '-' && s[i] != '_') : !is_hex(s[i]))
			return 0;
	}
	return 36;
}

static size_t long_uid(const char *s, size_t n)
{
	size_t uuid = long_uuid(s, n);

	return uuid ? uuid : long_hex32(s, n);
}

static size_t long_sluid(const char *s, size_t n)
{
	return n >= SLUID_LEN && s[0] == 's' && run_of(is_base32, s + 1, SLUID_LEN - 1) == SLUID_LEN - 1
		       ? SLUID_LEN
		       : 0;
}

/*
 * longest: how many of the n characters at s belong to the class. A run of a fixed-length class has exactly
 * that length.
 */
static const struct {
	const char *name;
	size_t (*longest)(const char *s, size_t n);
	size_t least;
	bool fixed;
} classes[N_CLASSES] = {
	[ANY] = { "any", long_any, 1, false },
	[ANY_OR_NONE] = { "", long_any, 0, false }, /* written '*' */
	[NAME] = { "name", long_name, 1, false },
	[DIGITS] = { "digits", long_digits, 1, false },
	[HEX] = { "hex", long_hex, 1, false },
	[HEX32] = { "hex32", long_hex32, 32, true },
	[HEX64] = { "hex64", long_hex64, 64, true },
	[UUID] = { "uuid", long_uuid, 36, true },
	[UID] = { "uid", long_uid, 32, true },
	[UNIT] = { "unit", long_any, 1, false },
	[SLUID] = { "sluid", long_sluid, SLUID_LEN, true },
};

/* ---- compiler --------------------------------------------------------------------- */

struct compiler {
	const char *pattern, *at;
	const char *const *names;
	struct capture *c;
	char *why;
	int open; /* index of the name whose {NAME=...} is open, or -1 */
};

static int wrong(struct compiler *k, const char *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int wrong(struct compiler *k, const char *at, const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(k->why, CAPTURE_ERROR_SIZE, "character %zu: ", (size_t)(at - k->pattern) + 1);

	va_start(ap, fmt);
	vsnprintf(k->why + n, CAPTURE_ERROR_SIZE - (size_t)n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int put(struct compiler *k, enum what what, unsigned value)
{
	struct segment *s = &k->c->segments[k->c->n_segments - 1];

	if (s->n == ELEMENTS_MAX)
		return wrong(k, k->at, "a segment of more than %u parts: make it shorter", ELEMENTS_MAX);
	k->c->elements[k->c->n_elements++] = (struct element){ (unsigned char)what, (unsigned char)value };
	s->n++;
	if (what == RUN && !classes[value].fixed)
		s->variable++;
	return 0;
}

static int class_at(struct compiler *k, const char *end, unsigned *ret)
{
	size_t len = (size_t)(end - k->at);

	for (unsigned i = 0; i < N_CLASSES; i++)
		if (*classes[i].name && strlen(classes[i].name) == len && memcmp(classes[i].name, k->at, len) == 0) {
			*ret = i;
			k->at = end;
			return 0;
		}
	return wrong(k, k->at, "no class \"%.*s\": one of any, name, digits, hex, hex32, hex64, uuid, uid, unit, sluid",
		     len < 32 ? (int)len : 32, k->at);
}

static int name_at(struct compiler *k, unsigned *ret)
{
	size_t len = strcspn(k->at, ":=}/{<*\\");

	for (unsigned i = 0; k->names[i]; i++)
		if (strlen(k->names[i]) == len && memcmp(k->names[i], k->at, len) == 0) {
			if (k->c->class_of[i] != N_CLASSES)
				return wrong(k, k->at, "\"%s\" is captured twice: remove one", k->names[i]);
			*ret = i;
			k->at += len;
			return 0;
		}
	return wrong(k, k->at, "there is no capture \"%.*s\" here", len < 32 ? (int)len : 32, k->at);
}

/* k->at points behind the '{'. */
static int compile_capture(struct compiler *k)
{
	const char *brace = k->at - 1, *end;
	unsigned name = 0, class = ANY;
	int err;

	if (k->open >= 0)
		return wrong(k, brace, "a '{' within {%s=...}: captures cannot contain each other", k->names[k->open]);
	err = name_at(k, &name);
	if (err)
		return err;
	if (*k->at == '=') {
		k->at++;
		k->open = (int)name;
		k->c->class_of[name] = ANY;
		return put(k, BEGIN, name);
	}
	if (*k->at == ':') {
		k->at++;
		end = strpbrk(k->at, "}/");
		if (!end || *end == '/')
			return wrong(k, brace, "a '{' without its '}' in the same segment");
		err = class_at(k, end, &class);
		if (err)
			return err;
	}
	if (*k->at != '}')
		return wrong(k, brace, "a '{' without its '}' in the same segment");
	k->at++;
	k->c->class_of[name] = (unsigned char)class;
	err = put(k, BEGIN, name);
	if (!err)
		err = put(k, RUN, class);
	return err ? err : put(k, END, name);
}

static int compile_class(struct compiler *k)
{
	const char *begin = k->at - 1, *end = strpbrk(k->at, ">/");
	unsigned class = ANY;
	int err;

	if (!end || *end == '/')
		return wrong(k, begin,
			     "a '<' without its '>' in the same segment (write \\< for the character itself)");
	err = class_at(k, end, &class);
	if (err)
		return err;
	k->at++;
	return put(k, RUN, class);
}

static int compile_one(struct compiler *k)
{
	char c = *k->at++;
	int name;

	switch (c) {
	case '*':
		return put(k, RUN, ANY_OR_NONE);
	case '<':
		return compile_class(k);
	case '{':
		return compile_capture(k);
	case '}':
		if (k->open < 0)
			return wrong(k, k->at - 1, "a '}' without its '{' (write \\} for the character itself)");
		name = k->open;
		k->open = -1;
		return put(k, END, (unsigned)name);
	case '\\':
		if (*k->at == '\0' || *k->at == '/')
			return wrong(k, k->at - 1, "a backslash at the end");
		c = *k->at++;
		break;
	default:
		break;
	}
	return put(k, LITERAL, (unsigned char)c);
}

static int compile_segment(struct compiler *k)
{
	struct segment *s = &k->c->segments[k->c->n_segments];
	int err;

	if (k->c->n_segments == SEGMENTS_MAX)
		return wrong(k, k->at, "more than %u segments: leave out segments that need no match", SEGMENTS_MAX);
	k->c->n_segments++;
	s->first = (uint16_t)k->c->n_elements;
	if (*k->at == '!') {
		s->negated = true;
		k->at++;
	}
	if (*k->at == '\0' || *k->at == '/')
		return wrong(k, k->at, "an empty segment");
	while (*k->at && *k->at != '/') {
		err = compile_one(k);
		if (err)
			return err;
	}
	if (k->open >= 0)
		return wrong(k, k->at, "{%s= without its '}' in the same segment", k->names[k->open]);
	return 0;
}

int capture_new(const char *pattern, const char *const *names, struct capture **ret, char *why)
{
	struct compiler k = { .pattern = pattern, .at = pattern, .names = names, .why = why, .open = -1 };
	int err = 0;

	/* Each character produces at most three elements. */
	k.c = calloc(1, sizeof(*k.c) + (3 * strlen(pattern) + 1) * sizeof(k.c->elements[0]));
	if (!k.c)
		return -ENOMEM;
	memset(k.c->class_of, N_CLASSES, sizeof(k.c->class_of));
	if (*k.at == '/') {
		k.c->anchored = true;
		k.at++;
	}
	for (;;) {
		err = compile_segment(&k);
		if (err || *k.at == '\0')
			break;
		if (k.c->segments[k.c->n_segments - 1].negated) {
			err = wrong(&k, k.at, "a segment behind one with '!': only the last one can have it");
			break;
		}
		k.at++;
	}
	if (!err && k.c->n_segments == 1 && k.c->segments[0].negated)
		err = wrong(&k, pattern, "only a segment with '!': write the segment before it");
	for (unsigned i = 0; !err && i < k.c->n_segments; i++)
		for (unsigned e = 0; k.c->segments[i].negated && e < k.c->segments[i].n; e++)
			if (k.c->elements[k.c->segments[i].first + e].what == BEGIN)
				err = wrong(&k, pattern,
					    "a capture in a segment with '!': there is nothing to capture");
	if (err) {
		free(k.c);
		return err;
	}
	*ret = k.c;
	return 0;
}

struct capture *capture_free(struct capture *c)
{
	free(c);
	return NULL;
}

bool capture_has(const struct capture *c, unsigned name)
{
	return name < CAPTURE_NAMES_MAX && c->class_of[name] != N_CLASSES;
}

/* ---- matcher ------------------------------------------------------------------------ */

struct matcher {
	const struct capture *c;
	const struct element *elements;
	unsigned n;
	const char *text;
	size_t len;
	struct capture_span *spans; /* NULL: the caller needs no captures */
	bool remember;
	uint32_t failed[ELEMENTS_MAX][(SEGMENT_MAX + 1 + 31) / 32];
};

static bool match_from(struct matcher *m, unsigned e, size_t at);

/* Tries every length of the run at element e, the longest first. */
static bool match_run(struct matcher *m, unsigned e, size_t at)
{
	unsigned class = m->elements[e].value;
	size_t n = classes[class].longest(m->text + at, m->len - at);

	if (n < classes[class].least)
		return false;
	if (classes[class].fixed)
		return match_from(m, e + 1, at + n);
	if (m->remember && (m->failed[e][at / 32] & 1u << at % 32))
		return false;
	for (;; n--) {
		if (match_from(m, e + 1, at + n))
			return true;
		if (n == classes[class].least)
			break;
	}
	if (m->remember)
		m->failed[e][at / 32] |= 1u << at % 32;
	return false;
}

/* Recurses once for each run of the segment, at most ELEMENTS_MAX times. */
static bool match_from(struct matcher *m, unsigned e, size_t at)
{
	for (; e < m->n; e++) {
		const struct element *el = &m->elements[e];

		switch ((enum what)el->what) {
		case LITERAL:
			if (at == m->len || (unsigned char)m->text[at] != el->value)
				return false;
			at++;
			break;
		case RUN:
			return match_run(m, e, at);
		case BEGIN:
			if (m->spans) {
				m->spans[el->value].ptr = m->text + at;
				m->spans[el->value].class = m->c->class_of[el->value];
			}
			break;
		case END:
			if (m->spans)
				m->spans[el->value].len = (size_t)(m->text + at - m->spans[el->value].ptr);
			break;
		}
	}
	return at == m->len;
}

static bool match_segment(const struct capture *c, const struct segment *s, const char *text, size_t len,
			  struct capture_span *spans)
{
	struct matcher m;

	if (len > SEGMENT_MAX)
		return false;
	m.c = c;
	m.elements = &c->elements[s->first];
	m.n = s->n;
	m.text = text;
	m.len = len;
	m.spans = spans;
	/* A single run never tries the same position twice. */
	m.remember = s->variable > 1;
	if (m.remember)
		memset(m.failed, 0, sizeof(m.failed[0]) * s->n);
	return match_from(&m, 0, 0);
}

/* Matches the pattern from the segment that begins at `at`. */
static bool match_at(const struct capture *c, const char *path, size_t len, size_t at, struct capture_match *ret)
{
	*ret = (struct capture_match){ .end = 0 };
	for (unsigned i = 0; i < c->n_segments; i++) {
		const char *slash;
		size_t n;

		if (at >= len || path[at] == '/') /* the path has ended; "//" names no cgroup */
			return c->segments[i].negated;
		slash = memchr(path + at, '/', len - at);
		n = slash ? (size_t)(slash - path) - at : len - at;
		if (c->segments[i].negated)
			return !match_segment(c, &c->segments[i], path + at, n, NULL);
		if (!match_segment(c, &c->segments[i], path + at, n, ret->spans))
			return false;
		ret->end = at + n;
		at += n + 1;
	}
	return true;
}

bool capture_find(const struct capture *c, const char *path, size_t len, struct capture_match *ret)
{
	size_t at = len;

	if (c->anchored)
		return len > 0 && match_at(c, path, len, path[0] == '/', ret);
	while (at > 0) {
		const char *slash = memrchr(path, '/', at);
		size_t begin = slash ? (size_t)(slash - path) + 1 : 0;

		if (match_at(c, path, len, begin, ret))
			return true;
		at = slash ? (size_t)(slash - path) : 0;
	}
	return false;
}

static int hex_value(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

size_t capture_copy(const struct capture_span *span, char *to)
{
	size_t n = 0;

	for (size_t i = 0; i < span->len; i++) {
		char c = span->ptr[i];

		if ((span->class == UUID || span->class == UID) && c == '_') {
			c = '-';
		} else if (span->class == UNIT && c == '\\' && i + 3 < span->len && span->ptr[i + 1] == 'x' &&
			   hex_value(span->ptr[i + 2]) >= 0 && hex_value(span->ptr[i + 3]) >= 0 &&
			   hex_value(span->ptr[i + 2]) + hex_value(span->ptr[i + 3]) > 0) {
			c = (char)(hex_value(span->ptr[i + 2]) * 16 + hex_value(span->ptr[i + 3]));
			i += 3;
		}
		to[n++] = c;
	}
	to[n] = '\0';
	return n;
}
