/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/text.c - reads whole files, lines, words and numbers, for probes that read /proc and /sys.
 */
#include "sdk/probe/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_ROOM 8192u

void skep_text_buffer_free(struct text_buffer *b)
{
	free(b->data);
	*b = (struct text_buffer){ 0 };
}

static int grow(struct text_buffer *b)
{
	size_t room = b->room ? 2 * b->room : FIRST_ROOM;
	char *data;

	if (room > TEXT_MOST)
		return -EFBIG;
	data = realloc(b->data, room);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->room = room;
	return 0;
}

int skep_text_read(struct text_buffer *b, int fd, struct text *ret)
{
	size_t len = 0;

	for (;;) {
		ssize_t n;

		if (len == b->room) {
			int err = grow(b);

			if (err)
				return err;
		}
		n = pread(fd, b->data + len, b->room - len, (off_t)len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	*ret = (struct text){ b->data, b->data + len };
	return 0;
}

int skep_text_read_at(struct text_buffer *b, int dir, const char *path, struct text *ret)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int err;

	if (fd < 0)
		return -errno;
	err = skep_text_read(b, fd, ret);
	close(fd);
	return err;
}

int skep_text_head_at(int dir, const char *path, char *data, size_t size, struct text *ret)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, data, size);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n < 0)
		return (int)n;
	*ret = (struct text){ data, data + n };
	return 0;
}

int skep_text_line_at(int dir, const char *path, char *line, size_t size)
{
	char data[4096];
	struct text text = { 0 }, first;
	int err = skep_text_head_at(dir, path, data, sizeof(data), &text);

	if (err)
		return err;
	if (!skep_text_line(&text, &first))
		first = text;
	first = skep_text_trim(first);
	if (skep_text_len(first) >= size)
		return -EMSGSIZE;
	skep_text_copy(first, line, size);
	return 0;
}

int skep_text_u64_at(int dir, const char *path, uint64_t *ret)
{
	char line[64];
	struct text text;
	uint64_t v;
	int err = skep_text_line_at(dir, path, line, sizeof(line));

	if (err)
		return err;
	text = skep_text_of(line);
	if (!skep_text_u64(&text, &v) || skep_text_len(text))
		return -EBADMSG;
	*ret = v;
	return 0;
}

bool skep_text_line(struct text *t, struct text *ret)
{
	const char *newline;

	if (t->at == t->end)
		return false;
	newline = memchr(t->at, '\n', (size_t)(t->end - t->at));
	*ret = (struct text){ t->at, newline ? newline : t->end };
	t->at = newline ? newline + 1 : t->end;
	return true;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

struct text skep_text_trim(struct text t)
{
	while (t.at < t.end && (blank(t.at[0]) || t.at[0] == '\r'))
		t.at++;
	while (t.at < t.end && (blank(t.end[-1]) || t.end[-1] == '\r' || t.end[-1] == '\n' || t.end[-1] == '\0'))
		t.end--;
	return t;
}

bool skep_text_word(struct text *t, struct text *ret)
{
	const char *at = t->at;

	while (at < t->end && blank(*at))
		at++;
	if (at == t->end)
		return false;
	ret->at = at;
	while (at < t->end && !blank(*at))
		at++;
	ret->end = t->at = at;
	return true;
}

static bool number(struct text w, uint64_t *ret)
{
	uint64_t v = 0;

	if (w.at == w.end)
		return false;
	for (; w.at < w.end; w.at++) {
		if (*w.at < '0' || *w.at > '9')
			return false;
		if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*w.at - '0'), &v))
			return false;
	}
	*ret = v;
	return true;
}

bool skep_text_u64(struct text *t, uint64_t *ret)
{
	struct text word;

	return skep_text_word(t, &word) && number(word, ret);
}

/* Reads "12.34", as in /proc/loadavg. strtod() would depend on the locale. */
bool skep_text_f64(struct text *t, double *ret)
{
	struct text word, whole, rest;
	uint64_t n, fraction = 0;
	double scale = 1;

	if (!skep_text_word(t, &word))
		return false;
	rest.at = memchr(word.at, '.', skep_text_len(word));
	whole = (struct text){ word.at, rest.at ? rest.at : word.end };
	if (!number(whole, &n))
		return false;
	if (rest.at) {
		rest = (struct text){ rest.at + 1, word.end };
		if (skep_text_len(rest) > 9 || !number(rest, &fraction))
			return false;
		for (size_t i = skep_text_len(rest); i > 0; i--)
			scale *= 10;
	}
	*ret = (double)n + (double)fraction / scale;
	return true;
}

bool skep_text_skip(struct text *t, const char *prefix)
{
	size_t n = strlen(prefix);

	if (skep_text_len(*t) < n || memcmp(t->at, prefix, n) != 0)
		return false;
	t->at += n;
	return true;
}

bool skep_text_is(struct text t, const char *word)
{
	return skep_text_len(t) == strlen(word) && skep_text_skip(&t, word);
}

size_t skep_text_len(struct text t)
{
	return (size_t)(t.end - t.at);
}

struct text skep_text_of(const char *s)
{
	return (struct text){ s, s + strlen(s) };
}

bool skep_text_list(struct text t, uint64_t *ret_count)
{
	uint64_t count = 0;

	while (t.at < t.end) {
		const char *comma = memchr(t.at, ',', skep_text_len(t));
		struct text range = { t.at, comma ? comma : t.end };
		const char *dash = memchr(range.at, '-', skep_text_len(range));
		struct text low = { range.at, dash ? dash : range.end };
		uint64_t from, to;

		if (!number(low, &from))
			return false;
		to = from;
		if (dash && !number((struct text){ dash + 1, range.end }, &to))
			return false;
		if (to < from || to > 1u << 20)
			return false;
		count += to - from + 1;
		t.at = comma ? comma + 1 : t.end;
		if (comma && t.at == t.end)
			return false; /* "0," */
	}
	*ret_count = count;
	return true;
}

void skep_text_copy(struct text t, char *to, size_t size)
{
	size_t n = skep_text_len(t) < size ? skep_text_len(t) : size - 1;

	if (n)
		memcpy(to, t.at, n);
	to[n] = '\0';
}

bool skep_text_format(char *to, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(to, size, fmt, ap);
	va_end(ap);
	return n >= 0 && (size_t)n < size;
}
