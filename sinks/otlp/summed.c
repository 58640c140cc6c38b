/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the keys of batches that the sums include.  The plugin host may offer such a batch again, in parts or after the
 * sink has dropped its encoded bytes.
 */
#include <skep/sink/batch_key.h>
#include <stdlib.h>
#include <string.h>

#include "sinks/otlp/state.h"

const struct summed *summed_find(struct otlp *o, const char *key)
{
	const struct summed *best = NULL;
	size_t longest = 0;

	for (unsigned i = 0; i < SUMMED; i++) {
		const char *k = o->summed[i].key;
		size_t n;

		if (!k || !skep_batch_key_is_part(key, k))
			continue;
		n = strlen(k);
		o->summed[i].used = ++o->clock; /* more parts may follow */
		if (n > longest) {
			best = &o->summed[i];
			longest = n;
		}
	}
	return best;
}

/*
 * The entry of a whole batch covers its parts.  Otherwise a large batch with more parts than SUMMED would evict its own
 * entry before its last part.
 */
void summed_add(struct otlp *o, struct flight *f)
{
	const struct summed *before = summed_find(o, f->key);
	struct summed *c = o->summed;
	bool done[SIGNALS];

	for (int s = 0; s < SIGNALS; s++)
		done[s] = f->skip[s] || f->parts[s].state == PART_TAKEN || f->parts[s].state == PART_REFUSED;
	if (before && memcmp(before->done, done, sizeof(done)) == 0) {
		free(f->key);
		f->key = NULL;
		return;
	}
	for (unsigned i = 1; i < SUMMED; i++)
		if (o->summed[i].used < c->used)
			c = &o->summed[i];
	if (before && strcmp(before->key, f->key) == 0)
		c = &o->summed[before - o->summed];
	free(c->key);
	c->key = f->key; /* summed_add() owns the key now */
	f->key = NULL;
	memcpy(c->done, done, sizeof(done));
	c->used = ++o->clock;
}
