/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches whose records are in the sums already, and that may come once more: in parts, or with nothing
 * kept of them.
 */
#include <stdlib.h>
#include <string.h>

#include "sinks/otlp/state.h"

void counted_add(struct otlp *o, struct flight *f)
{
	struct counted *c = &o->counted[o->next_counted++ % COUNTED];

	free(c->key);
	c->key = f->key; /* taken */
	f->key = NULL;
	for (int s = 0; s < SIGNALS; s++)
		c->done[s] = f->skip[s] || f->parts[s].state == PART_TAKEN || f->parts[s].state == PART_REFUSED;
}

bool counted_is_part(const char *key, const char *whole)
{
	size_t n = strlen(whole);

	return strncmp(key, whole, n) == 0 && (key[n] == '\0' || key[n] == '/');
}

const struct counted *counted_find(const struct otlp *o, const char *key)
{
	const struct counted *best = NULL;
	size_t longest = 0;

	for (unsigned i = 0; i < COUNTED; i++) {
		const char *k = o->counted[i].key;
		size_t n = k ? strlen(k) : 0;

		if (n > longest && counted_is_part(key, k)) {
			best = &o->counted[i];
			longest = n;
		}
	}
	return best;
}
