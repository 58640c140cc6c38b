/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/filetable.c - the table of files by row id.
 */
#include <errno.h>
#include <skep/filetable.h>
#include <skep/path.h>
#include <stdlib.h>
#include <string.h>

static size_t skep_filetable_home(const struct skep_filetable *t, uint64_t id, size_t room)
{
	return skep_hash_number(&t->key, id) & (room - 1);
}

static bool skep_filetable_grow(struct skep_filetable *t)
{
	size_t room = t->room ? t->room * 2 : 64;
	struct skep_file_row **bigger = (struct skep_file_row **)calloc(room, sizeof(struct skep_file_row *));

	if (!bigger)
		return false;
	if (t->room == 0)
		t->key = skep_hash_key_new();
	for (size_t i = 0; i < t->room; i++) {
		size_t at;

		if (!t->at[i])
			continue;
		at = skep_filetable_home(t, t->at[i]->id, room);
		while (bigger[at])
			at = (at + 1) & (room - 1);
		bigger[at] = t->at[i];
	}
	free(t->at);
	t->at = bigger;
	t->room = room;
	return true;
}

struct skep_file_row *skep_filetable_get(struct skep_filetable *t, uint64_t id, const struct skep_file_key *key)
{
	struct skep_file_row *row;
	size_t at;

	if (t->n * 4 >= t->room * 3 && !skep_filetable_grow(t))
		return NULL;
	at = skep_filetable_home(t, id, t->room);
	while (t->at[at] && t->at[at]->id != id)
		at = (at + 1) & (t->room - 1);
	if (t->at[at])
		return t->at[at];
	row = (struct skep_file_row *)calloc(1, sizeof(*row) + t->value_size);
	if (!row)
		return NULL;
	row->id = id;
	row->key = *key;
	t->at[at] = row;
	t->n++;
	return row;
}

void skep_filetable_remove(struct skep_filetable *t, size_t hole)
{
	size_t at = hole;

	free(t->at[hole]->path);
	free(t->at[hole]);
	for (;;) {
		at = (at + 1) & (t->room - 1);
		if (!t->at[at])
			break;
		/* an entry may move into the hole unless its home lies behind the hole */
		if (((at - skep_filetable_home(t, t->at[at]->id, t->room)) & (t->room - 1)) >=
		    ((at - hole) & (t->room - 1))) {
			t->at[hole] = t->at[at];
			hole = at;
		}
	}
	t->at[hole] = NULL;
	t->n--;
}

void skep_filetable_free(struct skep_filetable *t)
{
	for (size_t i = 0; i < t->room; i++) {
		if (t->at[i])
			free(t->at[i]->path);
		free(t->at[i]);
	}
	free(t->at);
	t->at = NULL;
	t->n = t->room = 0;
}

int skep_filetable_path(struct skep_filetable *t, const void *data, size_t size)
{
	struct skep_file_path h;
	char text[8192 + 4096];
	const char *at = (const char *)data + sizeof(h), *given;
	struct skep_file_row *row;
	size_t len = 0, n;
	char *path;

	if (size < sizeof(h))
		return -EBADMSG;
	memcpy(&h, data, sizeof(h));
	if (h.id == 0 || (uint64_t)h.path_len + h.given_len > size - sizeof(h) || h.given_len > 4096)
		return -EBADMSG;
	given = at + h.path_len;
	if (h.path_len || !(h.flags & SKEP_FILE_GIVEN)) {
		len = skep_path_join(at, h.path_len, h.flags & SKEP_FILE_CUT, text, sizeof(text));
		if (len == 0)
			return -EBADMSG;
	}
	n = h.flags & SKEP_FILE_GIVEN ? strnlen(given, h.given_len) : 0;
	if (n >= 2 && given[0] == '.' && given[1] == '/') {
		given += 2;
		n -= 2;
	}
	if (n > 0) {
		if (len + n + 2 > sizeof(text))
			return -EBADMSG;
		if (len > 0 && text[len - 1] != '/' && given[0] != '/')
			text[len++] = '/';
		memcpy(text + len, given, n);
		len += n;
	}
	text[len] = '\0';
	row = skep_filetable_get(t, h.id, &h.key);
	path = row ? strdup(text) : NULL;
	if (!path)
		return -ENOMEM;
	free(row->path);
	row->path = path;
	return 0;
}

struct skep_str skep_file_row_path(const struct skep_file_row *row)
{
	uint32_t len = row->path ? (uint32_t)strlen(row->path) : 0;

	return (struct skep_str){ .ptr = row->path ? row->path : "", .len = len, .total = len };
}
