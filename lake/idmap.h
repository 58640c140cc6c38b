/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/idmap.h - a map from ids of rows to objects.  Internal to lake/.
 */
#ifndef SKEP_LAKE_IDMAP_H
#define SKEP_LAKE_IDMAP_H

#include <stddef.h>
#include <stdint.h>

struct idmap {
	struct idmap_place {
		int64_t id;
		const void *object; /* borrowed; NULL: a free place */
	} *place;
	size_t room, n;
};

const void *idmap_get(const struct idmap *, int64_t id); /* NULL: no object */
int idmap_put(struct idmap *, int64_t id, const void *object); /* a new id; 0 or -ENOMEM */
void idmap_free(struct idmap *);

#endif
