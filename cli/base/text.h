/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/text.h - makes text of processes safe for a terminal, measures it in columns and cuts it.
 *
 * Control characters and invisible characters are escaped (\n, \x1b, \u202e); bytes that are not UTF-8 become \xNN.
 * unicode = false also escapes all characters that are not ASCII.
 */
#ifndef SKEP_CLI_TEXT_H
#define SKEP_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Decodes the code point at s; returns its length in bytes, 0: not strict UTF-8 (no overlong form, no surrogate, at
 * most U+10FFFF), or the end. s: NUL-terminated.
 */
size_t text_decode(const char *s, uint32_t *ret_code);

/* Escapes s. This and the functions below: the caller frees the text; NULL when memory runs out. */
char *text_safe(const char *s, bool unicode);
/*
 * Quotes an argument list for a shell: 'a b', $'a\nb'.  cut: the list was cut, adds " ...".  Stops after about limit
 * bytes (0: no limit).
 */
char *text_argv(const char *const *argv, bool cut, bool unicode, size_t limit);
/* As asprintf, but returns the text. Escapes nothing. */
char *text_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Columns on a terminal. */
size_t text_width(const char *s);
/* Cuts s to at most `columns` columns: an ellipsis replaces the end. */
char *text_cut(const char *s, size_t columns, bool unicode);
/* Reads a file's first line, without its newline, and closes the file. "": NULL, or the file cannot be read. */
void text_first_line_take(FILE *, char *ret, size_t size);

#endif
