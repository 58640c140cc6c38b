/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/names.c - a hash table of strings by id: a file is read once for each id.
 */
#include "lake/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int names_init(struct names *n, struct lake_file *f, struct arena *a)
{
	*n = (struct names){ .file = f, .arena = a, .key = skep_hash_key_new() };
	return f->server ? 0 : lake_file_prepare(f, "SELECT s FROM dict WHERE id = ?1", &n->find);
}

void names_free(struct names *n)
{
	sqlite3_finalize(n->find);
	free(n->place);
	idmap_free(&n->texts);
	*n = (struct names){ 0 };
}

static struct name *place_of(struct name *place, size_t room, int64_t id)
{
	uint64_t h = (uint64_t)id * 0x9e3779b97f4a7c15u >> 20;

	for (;; h++) {
		struct name *p = &place[h % room];

		if (!p->s || p->id == id)
			return p;
	}
}

static int names_grow(struct names *n)
{
	size_t room = n->room ? 2 * n->room : 1024;
	struct name *place = calloc(room, sizeof(*place));

	if (!place)
		return -ENOMEM;
	for (size_t i = 0; i < n->room; i++)
		if (n->place[i].s)
			*place_of(place, room, n->place[i].id) = n->place[i];
	free(n->place);
	n->place = place;
	n->room = room;
	return 0;
}

int names_get(struct names *n, int64_t id, struct name **ret)
{
	struct name *p;
	int rc, err = 0;

	if (n->n >= n->room / 2 && names_grow(n) != 0)
		return lake_file_error(n->file, SQLITE_NOMEM);
	p = place_of(n->place, n->room, id);
	if (p->s) {
		*ret = p;
		return 0;
	}
	sqlite3_bind_int64(n->find, 1, id);
	rc = sqlite3_step(n->find);
	if (rc == SQLITE_ROW)
		p->s = lake_text(n->find, 0, n->arena);
	else if (rc == SQLITE_DONE)
		p->s = "";
	else
		err = lake_file_error(n->file, rc);
	sqlite3_reset(n->find);
	if (err)
		return err;
	if (!p->s)
		return lake_file_error(n->file, SQLITE_NOMEM);
	p->id = id;
	n->n++;
	*ret = p;
	return 0;
}

struct text {
	const struct text *next; /* with the same hash */
	const char *s;
	size_t size;
	int64_t id;
};

int names_of_text(struct names *n, const char *s, size_t size, struct name **ret)
{
	const int64_t h = (int64_t)skep_hash(&n->key, s, size);
	const struct text *first, *t;
	struct text *own;
	struct name *p;

	first = idmap_get(&n->texts, h);
	for (t = first; t; t = t->next)
		if (t->size == size && memcmp(t->s, s, size) == 0)
			return names_get(n, t->id, ret);
	if (n->n >= n->room / 2 && names_grow(n) != 0)
		return lake_file_error(n->file, SQLITE_NOMEM);
	own = arena_alloc(n->arena, sizeof(*own));
	if (!own)
		return lake_file_error(n->file, SQLITE_NOMEM);
	*own = (struct text){ .next = first, .s = arena_copy(n->arena, s, size), .size = size, .id = (int64_t)n->n };
	if (!own->s)
		return lake_file_error(n->file, SQLITE_NOMEM);
	if (first) { /* behind the first one, which the map has */
		own->next = first->next;
		((struct text *)(uintptr_t)first)->next = own;
	} else if (idmap_put(&n->texts, h, own) != 0) {
		return lake_file_error(n->file, SQLITE_NOMEM);
	}
	p = place_of(n->place, n->room, own->id);
	*p = (struct name){ .id = own->id, .s = own->s };
	n->n++;
	*ret = p;
	return 0;
}
