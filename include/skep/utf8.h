/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/utf8.h - handles bytes that are not UTF-8.  The kernel's names, paths and arguments are bytes, in no
 * encoding.  JSON, protocol buffers, label sets and SQL texts must be UTF-8, and a parser that finds
 * one wrong byte refuses the whole document.  skep therefore follows these rules:
 *
 *   - Records, rules and redaction see the exact bytes.
 *   - State that only skep reads (spool, saved state) keeps the exact bytes.
 *   - Every output that other programs read is UTF-8: skep_utf8_clean writes U+FFFD for each wrong byte.
 *     Two names that differ only in such bytes are the same there.
 *   - Text for people (log, terminal) has each such byte as \xNN: skep_utf8_shown.
 *
 * Not UTF-8 (RFC 3629): a byte that begins no character, a character without all its bytes (skep may cut
 * a value within one), overlong forms, surrogates (U+D800 to U+DFFF), and codes above U+10FFFF.
 * Noncharacters such as U+FFFF are UTF-8.  Any thread.
 * Link libskep-probe or libskep-sink (pkg-config skep-probe, skep-sink).
 */
#ifndef SKEP_UTF8_H
#define SKEP_UTF8_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Length of the character at s (n > 0 bytes): positive when it is valid, else minus the bytes that one
 * U+FFFD stands for: the longest beginning of a valid character, as Unicode 15 section 3.9 recommends.
 */
int skep_utf8_length(const char *s, size_t n);

/* Bytes at the beginning of s that are valid UTF-8, in whole characters; n: all of them. */
size_t skep_utf8_valid(const char *s, size_t n);

/* Copies s with U+FFFD for bytes that are not UTF-8. ret has room for 3 * n bytes. Returns the length; adds no NUL. */
size_t skep_utf8_clean(const char *s, size_t n, char *ret);

/* The length, at most `most`, to which s (n bytes) can be cut without splitting a character. */
size_t skep_utf8_cut(const char *s, size_t n, size_t most);

/*
 * Copies s for people to read: bytes that are not UTF-8 and control characters (C0 but for the tab, DEL, and C1: some
 * terminals obey U+009B as ESC [) become \xNN.  ret has room for 4 * n bytes. Returns the length; adds no NUL.
 */
size_t skep_utf8_shown(const char *s, size_t n, char *ret);

#ifdef __cplusplus
}
#endif

#endif
