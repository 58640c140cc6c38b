/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects where the processes of a task or a run were.
 */
#include "core/process/containment.h"

#include <string.h>

void containment_note(struct containment *c, struct intern *intern, const struct contained *process, bool root)
{
	for (size_t i = 0; i < CONTAINED_BY; i++) {
		const struct skep_str *text = &process->in[i];
		const struct interned *old = c->in[i];

		if (text->len == 0 || (c->from[i] >= CONTAINMENT_OF_SEVERAL && !root))
			continue;
		if (root || c->from[i] == CONTAINMENT_OF_NONE) {
			intern_replace(intern, &c->in[i], text);
			c->from[i] = root ? CONTAINMENT_OF_ROOT : CONTAINMENT_OF_MEMBER;
		} else if (old && (old->len != text->len || memcmp(old->text, text->ptr, text->len) != 0)) {
			intern_unref(intern, old);
			c->in[i] = NULL;
			c->from[i] = CONTAINMENT_OF_SEVERAL;
		}
	}
}

void containment_read(const struct containment *c, struct contained *ret)
{
	for (size_t i = 0; i < CONTAINED_BY; i++)
		ret->in[i] = intern_str(c->in[i]);
}

void containment_clear(struct containment *c, struct intern *intern)
{
	for (size_t i = 0; i < CONTAINED_BY; i++)
		intern_unref(intern, c->in[i]);
	*c = (struct containment){ 0 };
}
