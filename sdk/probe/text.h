/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/text.h - reading what the kernel writes as text: whole files, lines, words, numbers.
 *
 * Everything is checked: a number is digits that fit into 64 bits and end at a blank or at
 * the line's end.  Nothing reads beyond [at, end), and nothing wants a terminating NUL.
 */
#ifndef SKEP_SDK_TEXT_H
#define SKEP_SDK_TEXT_H

#include <skep/record.h>
#include <stdarg.h>

/* A piece of text; `at` moves on as it is read. */
struct text {
	const char *at, *end;
};

/* A buffer for whole files: grows to the largest that it has had, never beyond TEXT_MOST. */
struct text_buffer {
	char *data;
	size_t room;
};
#define TEXT_MOST (8u * 1024 * 1024)

void text_buffer_free(struct text_buffer *);
/* All of an open file, from its start.  0, or a negative errno: -EFBIG beyond TEXT_MOST. */
int text_read(struct text_buffer *, int fd, struct text *ret);
/* A file below `dir`: opened, read, closed. */
int text_read_at(struct text_buffer *, int dir, const char *path, struct text *ret);
/* What a file begins with, into `data`. */
int text_head_at(int dir, const char *path, char *data, size_t size, struct text *ret);
/* The first line of a small file, blanks at its ends cut off, in `line`.  -EMSGSIZE when it does not fit. */
int text_line_at(int dir, const char *path, char *line, size_t size);
/* A file with one number.  -EBADMSG when it has something else. */
int text_u64_at(int dir, const char *path, uint64_t *ret);

/* The next line without its newline.  false: no more. */
bool text_line(struct text *, struct text *ret);
/* The next word: what stands between blanks.  false: no more. */
bool text_word(struct text *, struct text *ret);
/* The next word must be a number. */
bool text_u64(struct text *, uint64_t *ret);
bool text_f64(struct text *, double *ret);
/* Without the blanks at its ends. */
struct text text_trim(struct text);
/* Does it begin with that? Then go beyond it. */
bool text_skip(struct text *, const char *prefix);
bool text_is(struct text, const char *word);
size_t text_len(struct text);
struct text text_of(const char *);
/* "0-3,8,10-11": how many there are.  false: not such a list, or a number beyond 2^20. */
bool text_list(struct text, uint64_t *ret_count);

/* Into a fixed buffer, cut where it does not fit. */
void text_copy(struct text, char *to, size_t size);
/* snprintf that tells: false when it did not fit. */
bool text_format(char *to, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
