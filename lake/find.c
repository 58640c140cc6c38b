/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/find.c - finds the run that an id, a name or "last" means.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lake/run.h"

/* The runs found so far; the search begins with the newest month. */
struct candidates {
	bool named, name_sure; /* sure: all newer files could be read */
	size_t prefixes;
	struct lake_key name, prefix;
	char list[512]; /* ids with the beginning, for a message; cut after a whole id */
};

static void list_id(struct candidates *c, const char *id)
{
	size_t used = strlen(c->list), n = strlen(id);

	if (used + n + sizeof(", ") + sizeof("...") > sizeof(c->list)) {
		if (used < 3 || strcmp(c->list + used - 3, "...") != 0)
			strcat(c->list, "...");
		return;
	}
	if (used)
		strcat(c->list, ", ");
	strcat(c->list, id);
}

static bool is_last(const char *which)
{
	return strcmp(which, "last") == 0;
}

/*
 * Searches one month. whole: for a whole id alone, by its index. 1: found a run that ends the search; 0: search on; or
 * -errno.
 */
static int find_in(struct lake_file *f, unsigned month, const char *which, bool whole, const uint64_t *uid,
		   struct candidates *c, struct arena *ids, struct lake_key *ret)
{
	static const struct lake_question exact = {
		.sqlite = "SELECT id, run, 1, 0, 0, boot_id FROM run WHERE (?2 IS NULL OR uid = ?2) AND run = ?1",
		.clickhouse = "SELECT 0, run, 1, 0, 0, boot_id FROM run FINAL WHERE run = ?1 ORDER BY start_ns DESC LIMIT 1",
	};
	/* not the `skep show last` that the user has just typed, unless there is no other */
	static const struct lake_question newest = {
		.sqlite = "SELECT * FROM (SELECT id, run, 1, 0, 0, boot_id FROM run r WHERE (?2 IS NULL OR uid = ?2) "
			  "AND NOT " LAKE_RUN_SMALL " ORDER BY start_ns DESC, run DESC LIMIT 1) UNION ALL SELECT * FROM "
			  "(SELECT id, run, 0, 1, 0, boot_id FROM run WHERE ?2 IS NULL OR uid = ?2 "
			  "ORDER BY start_ns DESC, run DESC LIMIT 1)",
		/* a shell's job that is older than the newest run of another origin is not the answer, small or not */
		.clickhouse = "SELECT 0, run, 1, 0, 0, boot_id FROM (SELECT run, boot_id, start_ns, "
			      LAKE_RUN_SMALL_CLICKHOUSE("start_ns >= (SELECT max(start_ns) FROM run WHERE origin != 'shell')")
			      " AS small FROM run FINAL) "
			      "ORDER BY small, start_ns DESC, run DESC LIMIT 1",
	};
	/* the newest of that name, and the ids that begin so; x'ff' is behind each text that continues ?1 */
	static const struct lake_question fitting = {
		.sqlite = "SELECT * FROM (SELECT id, run, 0, 1, 0, boot_id FROM run WHERE (?2 IS NULL OR uid = ?2) "
			  "AND name = ?1 ORDER BY start_ns DESC, run DESC LIMIT 1) UNION ALL SELECT * FROM (SELECT id, run, "
			  "run = ?1, 0, 1, boot_id FROM run WHERE (?2 IS NULL OR uid = ?2) AND run BETWEEN ?1 AND ?1 || x'ff' "
			  "ORDER BY start_ns DESC, run DESC)",
		.clickhouse = "SELECT 0, run, whole, named, begins, boot_id FROM (SELECT run, boot_id, start_ns, 0 AS whole, 1 AS "
			      "named, 0 AS begins FROM run FINAL WHERE name = ?1 ORDER BY start_ns DESC, run DESC LIMIT 1 UNION ALL "
			      "SELECT run, boot_id, start_ns, run = ?1 AS whole, 0 AS named, 1 AS begins FROM run FINAL WHERE run "
			      "BETWEEN ?1 AND concat(?1, '\\xff')) ORDER BY start_ns DESC, run DESC",
	};
	const struct lake_value values[] = {
		LAKE_TEXT(which), /* `newest` does not read it */
		uid ? LAKE_NUMBER(*uid) : LAKE_TEXT(NULL),
	};
	struct lake_rows rows = { 0 };
	int err = lake_rows_open(f, whole ? &exact : is_last(which) ? &newest : &fitting, values, 2, &rows);

	if (err)
		return err;
	while ((err = lake_rows_next(&rows)) > 0) {
		const struct lake_key key = {
			.month = month,
			.row = lake_rows_number(&rows, 0),
			.run = lake_rows_text(&rows, 1, ids),
			.boot_id = lake_rows_text(&rows, 5, ids),
		};

		if (!key.run || !key.boot_id) {
			err = lake_file_error(f, SQLITE_NOMEM);
			break;
		}
		if (lake_rows_number(&rows, 2)) {
			*ret = key;
			err = lake_rows_finish(&rows);
			err = err ? err : 1;
			break;
		}
		if (lake_rows_number(&rows, 3) && !c->named) {
			c->named = true;
			c->name = key;
		}
		if (lake_rows_number(&rows, 4)) {
			if (!c->prefixes++)
				c->prefix = key;
			list_id(c, key.run);
		}
	}
	lake_rows_close(&rows);
	return err;
}

/* Ends a search whose result may be in a file that cannot be read; text: of the first such file. */
static int find_stopped(const struct lake *l, struct lake_why *why, int err, const char *text)
{
	if (l->n_months == 1)
		lake_say(why, "%s", text);
	else
		lake_say(why, "%s; the run may be in this file: for a run of another file give its whole id (skep runs --all)", text);
	return err;
}

/* A whole id comes before a name, in all months. 0; -ENOMEM, an error of a server. */
static int find_whole(struct lake *l, const char *which, const uint64_t *uid, struct lake_why *why, struct arena *ids,
		      struct lake_key *ret, bool *ret_found)
{
	struct candidates c = { 0 };
	struct lake_file f;
	int err = 0;

	for (size_t i = 0; i < l->n_months && err <= 0 && err != -ENOMEM; i++) {
		err = lake_file_open(l, l->months[i], why, &f);
		if (err)
			continue; /* the search for a name says so, if it comes to that */
		err = find_in(&f, l->months[i], which, true, uid, &c, ids, ret);
		lake_file_close(&f);
	}
	*ret_found = err > 0;
	return err == -ENOMEM || (err < 0 && l->server) ? err : 0;
}

int lake_run_find(struct lake *l, const char *which, const uint64_t *uid, struct lake_why *why,
		  struct arena *ids, struct lake_key *ret)
{
	struct candidates c = { 0 };
	char unread_text[1024] = "";
	struct lake_file f;
	int err, unread = 0;
	bool found = false;

	if (!*which) {
		lake_say(why, "no run given; give an id, the beginning of one, a name, or \"last\"");
		return -ENOENT;
	}
	err = is_last(which) ? 0 : find_whole(l, which, uid, why, ids, ret, &found);
	if (err || found)
		return err;
	for (size_t i = 0; i < l->n_months; i++) {
		bool name_known = c.named;

		err = lake_file_open(l, l->months[i], why, &f);
		if (!err) {
			err = find_in(&f, l->months[i], which, false, uid, &c, ids, ret);
			lake_file_close(&f);
		}
		if (err > 0 && unread && is_last(which))
			return find_stopped(l, why, unread, unread_text);
		if (err > 0)
			return 0;
		if (c.named && !name_known)
			c.name_sure = !unread;
		if (!err || err == -ENOENT)
			continue;
		if (err == -ENOMEM || l->fd >= 0 || l->server)
			return err;
		if (!unread)
			snprintf(unread_text, sizeof(unread_text), "%s", why->text);
		unread = unread ? unread : err;
	}
	if (unread && !c.name_sure)
		return find_stopped(l, why, unread, unread_text);
	if (c.named || c.prefixes == 1) {
		*ret = c.named ? c.name : c.prefix;
		return 0;
	}
	if (c.prefixes) {
		lake_say(why, "%zu runs begin with \"%s\": %s", c.prefixes, which, c.list);
		return -EEXIST;
	}
	if (is_last(which))
		lake_say(why, "there is no run in the lake %s yet", l->path);
	else
		lake_say(why, "no run \"%s\" in the lake %s; `skep runs` lists them", which, l->path);
	return -ENOENT;
}
