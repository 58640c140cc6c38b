/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/glob.h - shell patterns over counted bytes: '*', '?', '[a-z]', '[!a-z]', '\x'.
 * fnmatch(3) wants a NUL, a locale and, in glibc, sometimes memory; this wants none.
 */
#ifndef SKEP_FILTERS_GLOB_H
#define SKEP_FILTERS_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* The whole text must match; '/' is a character like any other. At most strlen(pattern) * len steps. */
bool glob_match(const char *pattern, const char *text, size_t len);
/* No character of the pattern is special: it matches only itself. */
bool glob_literal(const char *pattern);
/* NULL when the pattern is well-formed, else why it is not. */
const char *glob_error(const char *pattern);

#endif
