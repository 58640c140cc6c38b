/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums values per group over a batch, in an open-addressed table.
 */
#include "sinks/lake/rollup.h"

#include <skep/hash.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 512 /* a power of two */
#define MOST   (PLACES / 2)

struct group {
	bool used;
	int64_t key[3];
	int64_t sum[ROLLUP_SUMS];
};

struct rollup {
	struct skep_hash_key key;
	enum db_statement statement, also;
	size_t n;
	struct group group[PLACES];
};

struct rollup *rollup_new(enum db_statement which, enum db_statement also)
{
	struct rollup *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->key = skep_hash_key_new();
	r->statement = which;
	r->also = also;
	return r;
}

struct rollup *rollup_free(struct rollup *r)
{
	free(r);
	return NULL;
}

void rollup_clear(struct rollup *r)
{
	r->n = 0;
	for (size_t i = 0; i < PLACES; i++)
		r->group[i].used = false;
}

static int64_t add_clamped(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

int rollup_add(struct rollup *r, struct db *db, const int64_t key[3], const int64_t sum[ROLLUP_SUMS])
{
	uint64_t h = skep_hash(&r->key, key, 3 * sizeof(key[0]));
	struct group *g;
	int err;

	if (r->n >= MOST) {
		err = rollup_flush(r, db);
		if (err)
			return err;
	}
	/* the loop ends, because at least half of the entries are free */
	for (;; h++) {
		g = &r->group[h % PLACES];
		if (!g->used) {
			*g = (struct group){ .used = true, .key = { key[0], key[1], key[2] } };
			r->n++;
		}
		if (memcmp(g->key, key, sizeof(g->key)) == 0)
			break;
	}
	for (int i = 0; i < ROLLUP_RSS_MAX; i++)
		g->sum[i] = add_clamped(g->sum[i], sum[i]);
	if (sum[ROLLUP_RSS_MAX] > g->sum[ROLLUP_RSS_MAX])
		g->sum[ROLLUP_RSS_MAX] = sum[ROLLUP_RSS_MAX];
	return 0;
}

/* Adds the groups to the rows of one table. */
static int add_up(struct rollup *r, struct db *db, enum db_statement which)
{
	sqlite3_stmt *s;
	int err = db_statement(db, which, &s);

	for (size_t i = 0; !err && i < PLACES; i++) {
		const struct group *g = &r->group[i];

		if (!g->used)
			continue;
		/* SQLite refuses the parts of the key that `also` does not have: its groups are larger */
		for (int k = 0; k < 3; k++)
			(void)sqlite3_bind_int64(s, k + 1, g->key[k]);
		for (int k = 0; k < ROLLUP_SUMS; k++)
			sqlite3_bind_int64(s, k + 4, g->sum[k]);
		err = db_run_statement(db, s, "adding up");
	}
	return err;
}

int rollup_flush(struct rollup *r, struct db *db)
{
	int err = r->n ? add_up(r, db, r->statement) : 0;

	if (!err && r->n && r->also != DB_STATEMENTS)
		err = add_up(r, db, r->also);
	if (!err)
		rollup_clear(r);
	return err;
}
