/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/suggest.h - "did you mean".
 */
#ifndef SKEP_FILTERS_SUGGEST_H
#define SKEP_FILTERS_SUGGEST_H

/* The candidate (of a list that ends with NULL) that the word is a slip of; NULL: none is near. */
const char *suggest_nearest(const char *word, const char *const *candidates);

#endif
