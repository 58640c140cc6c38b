/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/text.h - text that came from processes, made safe for a terminal, measured in
 * columns and cut to them.
 *
 * Anything a terminal might obey or show as nothing is spelled out (\n, \x1b,
 * \u202e); bytes that are not UTF-8 become \xNN.  unicode = false spells out all
 * that is not ASCII.
 */
#ifndef SKEP_CLI_TEXT_H
#define SKEP_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The code point at s and its length in bytes: strict UTF-8 (no overlong form, no
 * surrogate, at most U+10FFFF), 0 where there is none. s: NUL-terminated.
 */
size_t text_decode(const char *s, uint32_t *ret_code);

/* NULL when memory runs out, as the functions below. */
char *text_safe(const char *s, bool unicode);
/*
 * An argument list as a shell would take it: 'a b', $'a\nb'.  cut: " ..." is added,
 * because there was more.  At most about limit bytes are made (0: all).
 */
char *text_argv(const char *const *argv, bool cut, bool unicode, size_t limit);
/* asprintf that returns its text. Nothing is escaped. */
char *text_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Columns on a terminal. */
size_t text_width(const char *s);
/* At most `columns` columns: an ellipsis replaces the end. */
char *text_cut(const char *s, size_t columns, bool unicode);

#endif
