/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches whose records are in the sums already, and that may come once more: in parts, or with nothing
 * kept of them.
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
		o->summed[i].used = ++o->clock; /* there may be more parts to come */
		if (n > longest) {
			best = &o->summed[i];
			longest = n;
		}
	}
	return best;
}

/*
 * What a batch says of its parts they need not say again: a large batch that is split into more parts
 * than there are places would drive itself out before its last part has come.
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
	c->key = f->key; /* taken */
	f->key = NULL;
	memcpy(c->done, done, sizeof(done));
	c->used = ++o->clock;
}
