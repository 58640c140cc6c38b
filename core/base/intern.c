/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/intern.c - a chained hash table of strings that grows with its contents.
 */
#include "core/base/intern.h"

#include <skep/hash.h>
#include <stdlib.h>
#include <string.h>

struct intern {
	struct interned **buckets;
	size_t n_buckets, n; /* n_buckets: a power of two */
	struct skep_hash_key key;
};

#define FIRST_BUCKETS 256u

struct intern *intern_new(void)
{
	struct intern *in = calloc(1, sizeof(*in));

	if (!in)
		return NULL;
	in->buckets = calloc(FIRST_BUCKETS, sizeof(struct interned *));
	if (!in->buckets) {
		free(in);
		return NULL;
	}
	in->n_buckets = FIRST_BUCKETS;
	in->key = skep_hash_key_new();
	return in;
}

struct intern *intern_free(struct intern *in)
{
	if (!in)
		return NULL;
	for (size_t i = 0; i < in->n_buckets; i++)
		while (in->buckets[i]) {
			struct interned *next = in->buckets[i]->next;

			free(in->buckets[i]);
			in->buckets[i] = next;
		}
	free(in->buckets);
	free(in);
	return NULL;
}

static void grow(struct intern *in)
{
	size_t n = in->n_buckets * 2;
	struct interned **buckets = calloc(n, sizeof(struct interned *));

	if (!buckets)
		return; /* the table works with longer chains */
	for (size_t i = 0; i < in->n_buckets; i++)
		while (in->buckets[i]) {
			struct interned *s = in->buckets[i];

			in->buckets[i] = s->next;
			s->next = buckets[s->hash & (n - 1)];
			buckets[s->hash & (n - 1)] = s;
		}
	free(in->buckets);
	in->buckets = buckets;
	in->n_buckets = n;
}

const struct interned *intern_get(struct intern *in, const struct skep_str *str)
{
	uint32_t total = str->total > str->len ? str->total : str->len;
	struct interned *s;
	uint32_t hash;

	if (str->len == 0 || !str->ptr)
		return NULL;
	hash = (uint32_t)skep_hash(&in->key, str->ptr, str->len);
	for (s = in->buckets[hash & (in->n_buckets - 1)]; s; s = s->next)
		if (s->hash == hash && s->len == str->len && s->total == total &&
		    memcmp(s->text, str->ptr, s->len) == 0) {
			s->refs++;
			return s;
		}
	if (in->n >= in->n_buckets)
		grow(in);
	s = malloc(sizeof(*s) + str->len + 1);
	if (!s)
		return NULL;
	s->hash = hash;
	s->refs = 1;
	s->len = str->len;
	s->total = total;
	s->saved = 0;
	memcpy(s->text, str->ptr, str->len);
	s->text[str->len] = '\0';
	s->next = in->buckets[hash & (in->n_buckets - 1)];
	in->buckets[hash & (in->n_buckets - 1)] = s;
	in->n++;
	return s;
}

const struct interned *intern_text(struct intern *in, const char *text)
{
	struct skep_str str = { text, (uint32_t)(text ? strlen(text) : 0), 0 };

	return intern_get(in, &str);
}

const struct interned *intern_ref(const struct interned *s)
{
	if (s)
		((struct interned *)(uintptr_t)s)->refs++;
	return s;
}

void intern_unref(struct intern *in, const struct interned *s)
{
	struct interned **at;

	if (!s)
		return;
	at = &in->buckets[s->hash & (in->n_buckets - 1)];
	while (*at && *at != s)
		at = &(*at)->next;
	if (!*at || --(*at)->refs > 0)
		return;
	*at = s->next;
	free((struct interned *)(uintptr_t)s);
	in->n--;
}

void intern_replace(struct intern *in, const struct interned **at, const struct skep_str *text)
{
	const struct interned *s = *at;

	if (text->len == 0 || !text->ptr)
		return;
	if (s && s->len == text->len && memcmp(s->text, text->ptr, s->len) == 0)
		return;
	s = intern_get(in, text);
	if (!s)
		return;
	intern_unref(in, *at);
	*at = s;
}

size_t intern_count(const struct intern *in)
{
	return in->n;
}
