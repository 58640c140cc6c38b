/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/text.h - reads what the kernel writes as text: whole files, lines, words, numbers.
 *
 * A number is digits that fit into 64 bits and end at a blank or at the line's end; anything else is an error.  No
 * function reads beyond [at, end), and none needs a terminating NUL.  Private: not installed.
 */
#ifndef SKEP_SDK_TEXT_H
#define SKEP_SDK_TEXT_H

#include <skep/record.h>
#include <stdarg.h>

/* A piece of text. A function that reads from it advances `at`. */
struct text {
	const char *at, *end;
};

/* A buffer for whole files. It grows to the largest file so far, at most to TEXT_MOST. */
struct text_buffer {
	char *data;
	size_t room;
};
#define TEXT_MOST (8u * 1024 * 1024)

void skep_text_buffer_free(struct text_buffer *);
/* Reads all of an open file, from its start.  0, or a negative errno: -EFBIG beyond TEXT_MOST. */
int skep_text_read(struct text_buffer *, int fd, struct text *ret);
/* Opens, reads and closes a file below `dir`. */
int skep_text_read_at(struct text_buffer *, int dir, const char *path, struct text *ret);
/* Reads the beginning of a file, as much as `data` holds. */
int skep_text_head_at(int dir, const char *path, char *data, size_t size, struct text *ret);
/* Reads the first line of a small file, without blanks at its ends.  -EMSGSIZE: it does not fit. */
int skep_text_line_at(int dir, const char *path, char *line, size_t size);
/* Reads a file with one number.  -EBADMSG: the file has something else. */
int skep_text_u64_at(int dir, const char *path, uint64_t *ret);

/* Returns the next line, without its newline.  false: no line is left. */
bool skep_text_line(struct text *, struct text *ret);
/* Returns the next word; blanks separate words.  false: no word is left. */
bool skep_text_word(struct text *, struct text *ret);
/* Reads the next word as a number.  false: it is no number. */
bool skep_text_u64(struct text *, uint64_t *ret);
bool skep_text_f64(struct text *, double *ret);
/* Removes the blanks at both ends. */
struct text skep_text_trim(struct text);
/* Skips the prefix.  false: the text does not begin with it. */
bool skep_text_skip(struct text *, const char *prefix);
bool skep_text_is(struct text, const char *word);
size_t skep_text_len(struct text);
struct text skep_text_of(const char *);
/* Counts the numbers of a list such as "0-3,8,10-11".  false: no such list, or a number beyond 2^20. */
bool skep_text_list(struct text, uint64_t *ret_count);

/* Copies into a fixed buffer, truncated to its size. */
void skep_text_copy(struct text, char *to, size_t size);
/* Formats like snprintf.  false: the result is truncated. */
bool skep_text_format(char *to, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
