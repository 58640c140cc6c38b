/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/ledger.c - posts levels to accounts, copies them (marks), and computes the differences between two
 * marks.
 */
#include "core/process/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct item {
	char name[LEDGER_NAME];
	enum ledger_kind kind;
	int64_t level;
	int64_t first; /* level at its first post: differences to an older mark, which lacks the item, begin here */
	uint64_t by;        /* serial number of the instance that posts it (ledger_level); 0: not known */
	int64_t said, base; /* that instance's last amount; the level that earlier instances had reached */
};

struct account {
	char name[LEDGER_NAME];
	uint32_t n;
	struct item items[LEDGER_ITEMS];
};

struct accounts {
	uint32_t n;
	struct account a[LEDGER_ACCOUNTS];
};

struct ledger {
	struct accounts now;
	uint64_t refused;
};

struct ledger_mark {
	uint64_t time_ns;
	struct accounts levels;
};

struct ledger *ledger_new(void)
{
	return calloc(1, sizeof(struct ledger));
}

struct ledger *ledger_free(struct ledger *l)
{
	free(l);
	return NULL;
}

static bool is_name(const struct skep_str *s)
{
	return s->ptr && s->len > 0 && s->len < LEDGER_NAME && !memchr(s->ptr, '\0', s->len);
}

static bool same(const char *name, const struct skep_str *s)
{
	return strlen(name) == s->len && memcmp(name, s->ptr, s->len) == 0;
}

static struct account *account_of(struct accounts *all, const struct skep_str *name)
{
	struct account *a;

	for (uint32_t i = 0; i < all->n; i++)
		if (same(all->a[i].name, name))
			return &all->a[i];
	if (all->n == LEDGER_ACCOUNTS)
		return NULL;
	a = &all->a[all->n++];
	memcpy(a->name, name->ptr, name->len);
	return a;
}

static struct item *item_of(struct account *a, const struct skep_str *name, int64_t level)
{
	struct item *item;

	for (uint32_t i = 0; i < a->n; i++)
		if (same(a->items[i].name, name))
			return &a->items[i];
	if (a->n == LEDGER_ITEMS)
		return NULL;
	item = &a->items[a->n++];
	memcpy(item->name, name->ptr, name->len);
	item->first = level;
	return item;
}

int ledger_post(struct ledger *l, const struct skep_ledger_post *post)
{
	struct account *a;
	struct item *item;

	if (!is_name(&post->account) || !is_name(&post->item)) {
		l->refused++;
		return -EINVAL;
	}
	a = account_of(&l->now, &post->account);
	item = a ? item_of(a, &post->item, post->amount) : NULL;
	if (!item) {
		l->refused++;
		return -ENOSPC;
	}
	item->kind = post->flags & SKEP_LEDGER_REFERENCE ? LEDGER_REFERENCE
		     : post->flags & SKEP_LEDGER_MEMO    ? LEDGER_MEMO
							 : LEDGER_PART;
	item->level = post->amount;
	return 0;
}

int64_t ledger_level(struct ledger *l, uint64_t by, const struct skep_ledger_post *post)
{
	for (uint32_t i = 0; i < l->now.n; i++) {
		struct account *a = &l->now.a[i];

		for (uint32_t k = 0; same(a->name, &post->account) && k < a->n; k++) {
			struct item *item = &a->items[k];

			if (!same(item->name, &post->item))
				continue;
			if (by < item->by)
				return item->base + item->said;
			if (item->by && item->by != by && post->amount < item->said)
				item->base += item->said;
			item->by = by;
			item->said = post->amount;
			return item->base + post->amount;
		}
	}
	return post->amount;
}

uint64_t ledger_refused(const struct ledger *l)
{
	return l->refused;
}

struct ledger_mark *ledger_mark(const struct ledger *l, uint64_t time_ns)
{
	struct ledger_mark *m = malloc(sizeof(*m));

	if (m)
		*m = (struct ledger_mark){ .time_ns = time_ns, .levels = l->now };
	return m;
}

struct ledger_mark *ledger_mark_free(struct ledger_mark *m)
{
	free(m);
	return NULL;
}

uint64_t ledger_mark_time(const struct ledger_mark *m)
{
	return m->time_ns;
}

/* The ledger only adds accounts and items, so a number means the same account or item in every later mark. */
static int64_t difference(const struct ledger_mark *from, uint32_t account, uint32_t i, const struct item *to)
{
	const struct account *a = account < from->levels.n ? &from->levels.a[account] : NULL;

	return to->level - (a && i < a->n ? a->items[i].level : to->first);
}

static bool has_reference(const struct account *a)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (a->items[i].kind == LEDGER_REFERENCE)
			return true;
	return false;
}

void ledger_between(const struct ledger_mark *from, const struct ledger_mark *to,
		    void (*cb)(void *arg, const struct ledger_line *), void *arg)
{
	for (uint32_t k = 0; k < to->levels.n && k < from->levels.n; k++) {
		const struct account *a = &to->levels.a[k];
		struct ledger_line line = { .account = a->name };
		int64_t left = 0;

		if (!has_reference(a) || !has_reference(&from->levels.a[k]))
			continue;
		for (int kind = LEDGER_REFERENCE; kind < LEDGER_UNATTRIBUTED; kind++)
			for (uint32_t i = 0; i < a->n; i++) {
				if ((int)a->items[i].kind != kind)
					continue;
				line.item = a->items[i].name;
				line.kind = a->items[i].kind;
				line.amount = difference(from, k, i, &a->items[i]);
				left += kind == LEDGER_REFERENCE ? line.amount : kind == LEDGER_PART ? -line.amount : 0;
				cb(arg, &line);
			}
		line = (struct ledger_line){ a->name, "unattributed", LEDGER_UNATTRIBUTED, left };
		cb(arg, &line);
	}
}

const char *ledger_kind_name(enum ledger_kind kind)
{
	static const char *const names[] = {
		[LEDGER_REFERENCE] = "reference",
		[LEDGER_PART] = "part",
		[LEDGER_MEMO] = "memo",
		[LEDGER_UNATTRIBUTED] = "unattributed",
	};

	return names[kind];
}
