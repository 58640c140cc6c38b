/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/idmap.c - an open-addressed hash table.
 */
#include "lake/idmap.h"

#include <errno.h>
#include <stdlib.h>

static struct idmap_place *place_of(struct idmap_place *place, size_t room, int64_t id)
{
	uint64_t h = (uint64_t)id * 0x9e3779b97f4a7c15u >> 20;

	for (;; h++) {
		struct idmap_place *p = &place[h & (room - 1)];

		if (!p->object || p->id == id)
			return p;
	}
}

const void *idmap_get(const struct idmap *m, int64_t id)
{
	return m->room ? place_of(m->place, m->room, id)->object : NULL;
}

int idmap_put(struct idmap *m, int64_t id, const void *object)
{
	size_t room = m->room ? 2 * m->room : 256; /* a power of two */
	struct idmap_place *place;

	if (m->n >= m->room / 4 * 3) {
		place = calloc(room, sizeof(*place));
		if (!place)
			return -ENOMEM;
		for (size_t i = 0; i < m->room; i++)
			if (m->place[i].object)
				*place_of(place, room, m->place[i].id) = m->place[i];
		free(m->place);
		m->place = place;
		m->room = room;
	}
	*place_of(m->place, m->room, id) = (struct idmap_place){ id, object };
	m->n++;
	return 0;
}

void idmap_free(struct idmap *m)
{
	free(m->place);
	*m = (struct idmap){ 0 };
}
