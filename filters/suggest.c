/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/suggest.c - finds the "did you mean" suggestion: the candidate with the smallest edit distance
 * (insert, delete, replace, swap of neighbors), when it is near enough to be a typing error.
 */
#include <string.h>

#include "filters/suggest.h"

#define SUGGEST_MAX 63 /* longer words cannot misspell one of our keys */

/* Folds case, in ASCII only and in every locale. '-' equals '_': users often swap them. */
static unsigned char suggest_fold(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (unsigned char)(c - 'A' + 'a');
	return c == '-' ? '_' : (unsigned char)c;
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

/* Optimal string alignment in three rows: rows[i % 3] is row i. */
static unsigned suggest_distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned rows[3][SUGGEST_MAX + 1];

	for (size_t j = 0; j <= nb; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i - 1) % 3];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			unsigned char ca = suggest_fold(a[i - 1]), cb = suggest_fold(b[j - 1]);

			row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + (ca != cb));
			if (i > 1 && j > 1 && ca == suggest_fold(b[j - 2]) && cb == suggest_fold(a[i - 2])) {
				unsigned swapped = rows[(i - 2) % 3][j - 2] + 1;

				if (swapped < row[j])
					row[j] = swapped;
			}
		}
	}
	return rows[na % 3][nb];
}

const char *suggest_nearest(const char *word, const char *const *candidates)
{
	size_t length = strlen(word);
	const char *best = NULL;
	unsigned best_distance = 0;

	if (length == 0 || length > SUGGEST_MAX)
		return NULL;
	for (; *candidates; candidates++) {
		size_t n = strlen(*candidates);
		size_t longer = n > length ? n : length;
		unsigned distance;

		if (n == 0 || n > SUGGEST_MAX)
			continue;
		distance = suggest_distance(word, length, *candidates, n);
		/*
		 * A third of the letters may be wrong: suggests "interval" for "intervall", but not "host" for
		 * "path".
		 */
		if (distance > longer / 3)
			continue;
		if (!best || distance < best_distance) {
			best = *candidates;
			best_distance = distance;
		}
	}
	return best;
}
