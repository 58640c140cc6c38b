/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/common/utf8.h - what is UTF-8 and what is not: names of files and arguments are bytes, while
 * JSON and protocol buffers want text.
 */
#ifndef SKEP_SINKS_UTF8_H
#define SKEP_SINKS_UTF8_H

#include <stddef.h>

/*
 * Length of the sequence at s (n > 0 bytes): positive when valid, else minus the bytes that one
 * U+FFFD stands for (the longest beginning of a valid sequence, as Unicode 15 section 3.9 recommends).
 */
int utf8_length(const unsigned char *s, size_t n);
/* How many bytes at the begin are valid; n: all of them. */
size_t utf8_valid(const char *s, size_t n);
/* Copies with U+FFFD for what is not valid; ret has room for 3 * n. The length. */
size_t utf8_clean(const char *s, size_t n, char *ret);

#endif
