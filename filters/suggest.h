/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/suggest.h - finds the "did you mean" suggestion for messages about misspelled names.
 */
#ifndef SKEP_FILTERS_SUGGEST_H
#define SKEP_FILTERS_SUGGEST_H

/* The candidate that `word` most likely misspells; the list ends with NULL. NULL: no candidate is near. */
const char *suggest_nearest(const char *word, const char *const *candidates);

#endif
