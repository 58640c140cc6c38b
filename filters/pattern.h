/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/pattern.h - regular expressions that take named parts out of a text: "^nf-(?<name>.*)".  For the recognizers.
 *
 * The user of a process chooses the text, so the work is bounded: a match must begin at the first byte, skep reads the
 * first FILTER_REGEX_SUBJECT bytes, and PCRE2 gives up after PATTERN_STEPS steps.  Giving up counts as no match.
 */
#ifndef SKEP_FILTERS_PATTERN_H
#define SKEP_FILTERS_PATTERN_H

#include "filters/expr.h"

#define PATTERN_STEPS 20000u
#define PATTERN_GROUPS 8u /* named groups in one pattern */
#define PATTERN_ERROR_SIZE 192

struct pattern;

/* 0; -ENOMEM; -EINVAL with the error and the remedy in why (PATTERN_ERROR_SIZE bytes). */
int pattern_new(const char *text, struct pattern **ret, char *why);
struct pattern *pattern_free(struct pattern *);
/* The names of its groups, in the order of pattern_match(); NULL-terminated, borrowed. */
const char *const *pattern_names(const struct pattern *);
/*
 * Whether the text matches.  groups: PATTERN_GROUPS places; ptr NULL: the group took no part in the match.  Borrowed
 * from the text.  Only one thread at a time may match a pattern: the match works in memory that the pattern owns.
 * budget: as of filter_expr_match_within(); NULL: none.  When it is spent, nothing matches.
 */
bool pattern_match(const struct pattern *, const struct filter_text *text, struct filter_text *groups,
		   struct filter_budget *budget);

#endif
