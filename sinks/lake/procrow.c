/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores images of processes.  Few of a record's sixty values are a process's own: the others are those of its kind, or
 * follow from its own.
 */
#include "sinks/lake/procrow.h"

#include <string.h>

/* Sizes with page overhead and indexes, measured: README.md. */
#define ROW_BYTES  85
#define KIND_BYTES 75
#define ARGV_BYTES 10

#define SAFE (INT64_C(1) << 61) /* SQLite turns a sum above 2^63 into a floating-point number */

/* The columns that hold a difference: value - (plus + and - minus).  The view proc_rows adds the same values again. */
static const struct {
	enum proc_column column, plus, and, minus; /* PROC_NONE: 0 */
} differences[] = {
	/* a value that others need must stand after them */
	{ PROC_END, PROC_START, PROC_NONE, PROC_NONE },
	{ PROC_START, PROC_START_BOOT, PROC_CLOCK, PROC_NONE },
	{ PROC_PARENT_START_BOOT, PROC_START_BOOT, PROC_NONE, PROC_NONE },
	{ PROC_USER, PROC_CPU, PROC_NONE, PROC_SYSTEM },
	{ PROC_RUN_COUNT, PROC_VOLUNTARY, PROC_INVOLUNTARY, PROC_NONE },
	{ PROC_MAXRSS, PROC_RSS_PEAK, PROC_NONE, PROC_NONE },
};
#define N_DIFFERENCES (sizeof(differences) / sizeof(differences[0]))

static bool is_safe(const struct procrow *p, enum proc_column c)
{
	return c == PROC_NONE || (p->known >> c & 1 && p->value[c] > -SAFE && p->value[c] < SAFE);
}

static int64_t value_of(const struct procrow *p, enum proc_column c)
{
	return c == PROC_NONE ? 0 : p->value[c];
}

/* Replaces values by differences; without a clock when one of them has none. */
static void differ(struct procrow *p, int64_t clock_ns)
{
	bool safe = true;

	p->value[PROC_CLOCK] = clock_ns;
	p->known |= UINT64_C(1) << PROC_CLOCK;
	for (size_t i = 0; i < N_DIFFERENCES; i++)
		safe &= is_safe(p, differences[i].column) && is_safe(p, differences[i].plus) &&
			is_safe(p, differences[i].and) && is_safe(p, differences[i].minus);
	if (!safe) {
		p->known &= ~(UINT64_C(1) << PROC_CLOCK);
		return;
	}
	for (size_t i = 0; i < N_DIFFERENCES; i++)
		p->value[differences[i].column] -= value_of(p, differences[i].plus) + value_of(p, differences[i].and) -
						   value_of(p, differences[i].minus);
}

/* ---- kinds ---- */

#define KEY_MOST (sizeof(uint64_t) + 10 * (size_t)PROC_COLUMNS_MOST)

static unsigned char *put_number(unsigned char *at, int64_t value)
{
	uint64_t v = (uint64_t)value << 1;

	for (v = value < 0 ? ~v : v; v >= 128; v >>= 7)
		*at++ = (unsigned char)(v | 128);
	*at++ = (unsigned char)v;
	return at;
}

static void bind(sqlite3_stmt *s, const struct procrow *p, size_t column)
{
	if (p->known >> column & 1)
		sqlite3_bind_int64(s, (int)column + 1, p->value[column]);
	else
		sqlite3_bind_null(s, (int)column + 1);
}

/* Finds or adds the kind of a row.  A kind that left the cache is stored again. */
static int kind_of(struct db *db, const struct procrow *p, uint64_t *written, int64_t *ret_id)
{
	unsigned char key[KEY_MOST], *at = key + sizeof(uint64_t);
	const struct table *t = proc_table;
	sqlite3_stmt *s;
	uint64_t known = 0;
	int err;

	for (size_t i = 0; i < t->n; i++) {
		if (t->columns[i].part != IN_KIND || !(p->known >> i & 1))
			continue;
		known |= UINT64_C(1) << i;
		at = put_number(at, p->value[i]);
	}
	memcpy(key, &known, sizeof(known));
	if (idcache_get(db->kinds, (char *)key, (size_t)(at - key), ret_id))
		return 0;
	err = db_statement(db, DB_KIND_ADD, &s);
	if (err)
		return err;
	for (size_t i = 0; i < t->n; i++)
		if (t->columns[i].part == IN_KIND)
			bind(s, p, i);
	err = db_run_statement(db, s, "adding a kind of process");
	if (err)
		return err;
	*ret_id = sqlite3_last_insert_rowid(db->sql);
	*written += KIND_BYTES;
	idcache_put(db->kinds, (char *)key, (size_t)(at - key), *ret_id);
	return 0;
}

/* Finds or adds a list of arguments. */
static int argv_of(struct db *db, const struct procrow *p, uint64_t *written, int64_t *ret_id)
{
	bool whole = p->value[PROC_ARGV_TOTAL] == p->argv.len;
	const char *argv = p->argv.len ? p->argv.ptr : "";
	sqlite3_stmt *s;
	int err;

	if (whole && idcache_get(db->argvs, argv, p->argv.len, ret_id))
		return 0;
	err = db_statement(db, DB_ARGV_ADD, &s);
	if (err)
		return err;
	sqlite3_bind_null(s, 1);
	sqlite3_bind_null(s, 2);
	if (p->argv.len)
		sqlite3_bind_blob64(s, 1, argv, p->argv.len, SQLITE_STATIC);
	if (!whole || !p->argv.len)
		sqlite3_bind_int64(s, 2, p->value[PROC_ARGV_TOTAL]);
	err = db_run_statement(db, s, "adding arguments");
	if (err)
		return err;
	*ret_id = sqlite3_last_insert_rowid(db->sql);
	*written += ARGV_BYTES + p->argv.len;
	if (whole)
		idcache_put(db->argvs, argv, p->argv.len, *ret_id);
	return 0;
}

int procrow_add(struct db *db, struct procrow *p, int64_t clock_ns, uint64_t *written, int64_t *ret_id)
{
	const struct table *t = proc_table;
	sqlite3_stmt *s;
	int err;

	differ(p, clock_ns);
	p->known |= UINT64_C(1) << PROC_KIND;
	err = kind_of(db, p, written, &p->value[PROC_KIND]);
	if (!err && p->known >> PROC_ARGV_TOTAL & 1) {
		p->known |= UINT64_C(1) << PROC_ARGV;
		err = argv_of(db, p, written, &p->value[PROC_ARGV]);
	}
	if (!err)
		err = db_statement(db, DB_PROC_ADD, &s);
	if (err)
		return err;
	for (size_t i = 0; i < t->n; i++)
		if (t->columns[i].name && t->columns[i].part == IN_ROW)
			bind(s, p, i);
	err = db_run_statement(db, s, "adding a row");
	if (err)
		return err;
	*written += ROW_BYTES;
	*ret_id = sqlite3_last_insert_rowid(db->sql);
	return 0;
}
