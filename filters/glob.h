/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/glob.h - shell patterns over counted bytes: '*', '?', '[a-z]', '[!a-z]', '\x'. fnmatch(3) needs a
 * NUL, depends on the locale and, in glibc, sometimes allocates memory; this matcher does none of these.
 */
#ifndef SKEP_FILTERS_GLOB_H
#define SKEP_FILTERS_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* The pattern must match the whole text; '/' is an ordinary character. At most strlen(pattern) * len steps. */
bool glob_match(const char *pattern, const char *text, size_t len);
/* true: the pattern has no special character and matches only itself. */
bool glob_literal(const char *pattern);
/* NULL for a valid pattern, else the cause. */
const char *glob_error(const char *pattern);

#endif
