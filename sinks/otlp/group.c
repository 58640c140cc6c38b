/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of groups: finds, creates and forgets the groups that hold running sums.
 */
#include "sinks/otlp/group.h"

#include <errno.h>
#include <skep/utf8.h>
#include <stdlib.h>
#include <string.h>

#include "sinks/otlp/attr.h"

void group_key_add(struct group_key *k, const char *name, struct skep_str value)
{
	/* a NUL would end the pair early */
	size_t n = strlen(name) + 1,
	       len = value.ptr ? strnlen(value.ptr, value.len < GROUP_ATTRIBUTE_MOST ? value.len : GROUP_ATTRIBUTE_MOST)
			       : 0;
	char clean[3 * GROUP_ATTRIBUTE_MOST];

	if (!len) /* the encoder omits an attribute without a text, so an empty text must not distinguish two groups */
		return;
	/*
	 * Clean the text here, because the table finds groups by their texts.  Two groups with the same encoded text
	 * must be one group, or a receiver treats the points of one as corrections of the other.
	 */
	if (skep_utf8_valid(value.ptr, len) < len) {
		len = skep_utf8_cut(value.ptr, strnlen(value.ptr, value.len), len);
		len = skep_utf8_clean(value.ptr, len, clean);
		len = skep_utf8_cut(clean, len, GROUP_ATTRIBUTE_MOST);
		value.ptr = clean;
	}
	if (n + len + 1 > sizeof(k->text) - k->len) {
		k->full = true;
		return;
	}
	memcpy(k->text + k->len, name, n);
	k->len += (uint32_t)n;
	memcpy(k->text + k->len, value.ptr, len);
	k->len += (uint32_t)len;
	k->text[k->len++] = '\0';
}

void group_key_text(struct group_key *k, const char *name, const char *value)
{
	uint32_t n = (uint32_t)strlen(value);

	group_key_add(k, name, (struct skep_str){ value, n, n });
}

static uint32_t hash_of(const struct groups *g, const struct plan *p, const struct group_key *k)
{
	return (uint32_t)skep_hash(&g->key, k->text, k->len) ^ skep_hash_number(&g->key, (uintptr_t)p);
}

int groups_init(struct groups *g, uint32_t most)
{
	*g = (struct groups){ .key = skep_hash_key_new(), .most = most ? most : 1, .room = 256 };
	g->table = calloc(g->room, sizeof(*g->table));
	return g->table ? 0 : -ENOMEM;
}

static void group_free(struct group *g)
{
	for (uint32_t i = 0; g->plan && i < g->plan->n_points; i++)
		if (point_is_hist(g->plan->points[i].kind))
			free(g->values[i].hist);
	free(g->attrs);
	free(g->hist_attrs);
	free(g->key);
	free(g);
}

void groups_free(struct groups *g)
{
	for (uint32_t i = 0; g->table && i < g->room; i++)
		while (g->table[i]) {
			struct group *next = g->table[i]->next;

			group_free(g->table[i]);
			g->table[i] = next;
		}
	free(g->table);
	*g = (struct groups){ 0 };
}

void groups_restart(struct groups *g)
{
	g->floor_ns = 0;
	g->forgot_ns = 0;
	for (uint32_t i = 0; i < g->room; i++)
		for (struct group *one = g->table[i]; one; one = one->next) {
			one->start_ns = one->last_ns = one->sent_ns = 0;
			for (uint32_t k = 0; k < one->plan->n_points; k++) {
				if (point_is_hist(one->plan->points[k].kind))
					free(one->values[k].hist);
				one->values[k] = (union group_value){ 0 };
			}
		}
}

static void grow(struct groups *g)
{
	struct group **table = calloc((size_t)g->room * 2, sizeof(*table));

	if (!table)
		return; /* no memory: keep the table and its longer chains */
	for (uint32_t i = 0; i < g->room; i++)
		while (g->table[i]) {
			struct group *one = g->table[i], **at = &table[one->hash & (g->room * 2 - 1)];

			g->table[i] = one->next;
			one->next = *at;
			*at = one;
		}
	free(g->table);
	g->table = table;
	g->room *= 2;
}

/* Drops groups without recent records. A group whose records return begins anew, with its own start time. */
static void forget(struct groups *g, uint64_t now_ns)
{
	for (uint32_t i = 0; i < g->room; i++)
		for (struct group **at = &g->table[i]; *at;) {
			struct group *one = *at;

			if (one->touched || one->last_ns + GROUPS_FORGET_NS > now_ns) {
				at = &one->next;
				continue;
			}
			*at = one->next;
			if (one->sent_ns > g->floor_ns)
				g->floor_ns = one->sent_ns;
			if (one->last_ns > g->floor_ns)
				g->floor_ns = one->last_ns;
			g->n--;
			group_free(one);
		}
}

static int encode(const struct group_key *k, uint32_t field, uint8_t **ret, uint32_t *ret_len)
{
	struct pb p = { 0 };
	const char *pair = (const char *)k->text, *end = pair + k->len;
	int err;

	while (pair < end) {
		const char *value = pair + strlen(pair) + 1;

		if (strcmp(pair, NAME_OVERFLOW) == 0)
			attr_bool(&p, field, pair, true);
		else
			attr_text(&p, field, pair, value);
		pair = value + strlen(value) + 1;
	}
	err = p.err;
	if (!err && pb_len(&p)) {
		*ret = malloc(pb_len(&p));
		if (*ret) {
			memcpy(*ret, pb_data(&p), pb_len(&p));
			*ret_len = (uint32_t)pb_len(&p);
		} else {
			err = -ENOMEM;
		}
	}
	pb_free(&p);
	return err;
}

static struct group *make(struct groups *g, const struct plan *p, const struct group_key *k, uint32_t hash)
{
	struct group *one = calloc(1, sizeof(*one) + p->n_points * sizeof(one->values[0]));

	if (!one)
		return NULL;
	one->plan = p;
	one->hash = hash;
	one->key_len = k->len;
	one->key = malloc(k->len + 1);
	if (!one->key || encode(k, 7, &one->attrs, &one->attrs_len) ||
	    encode(k, 1, &one->hist_attrs, &one->hist_attrs_len)) {
		group_free(one);
		return NULL;
	}
	memcpy(one->key, k->text, k->len);
	one->next = g->table[hash & (g->room - 1)];
	g->table[hash & (g->room - 1)] = one;
	g->n++;
	return one;
}

static struct group *find(const struct groups *g, const struct plan *p, const struct group_key *k, uint32_t hash)
{
	struct group *one = g->table[hash & (g->room - 1)];

	while (one && !(one->hash == hash && one->plan == p && one->key_len == k->len &&
			memcmp(one->key, k->text, k->len) == 0))
		one = one->next;
	return one;
}

struct group *groups_get(struct groups *g, const struct plan *p, struct group_key *k, uint64_t now_ns)
{
	bool overflow = false;
	uint32_t hash = hash_of(g, p, k);
	struct group *one = k->full ? NULL : find(g, p, k, hash);

	if (one)
		return one;
	/* forget() scans all groups, so it runs at most once per minute and not for each record */
	if (g->n >= g->most && now_ns >= g->forgot_ns + UINT64_C(60000000000)) {
		g->forgot_ns = now_ns;
		forget(g, now_ns);
	}
	if (g->n >= g->most || k->full) {
		g->overflowed++;
		overflow = true;
		k->len = 0;
		k->full = false;
		group_key_text(k, NAME_OVERFLOW, "true");
		hash = hash_of(g, p, k);
		one = find(g, p, k, hash);
		if (one)
			return one;
	} else if (g->n >= g->room) {
		grow(g);
	}
	one = make(g, p, k, hash);
	if (one)
		one->overflow = overflow;
	return one;
}
