/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/usage.c - reads the hosts' hours and runs.
 */
#include "lake/usage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lake/answer.h"
#include "lake/saturate.h"

/* A host while its rows are read. */
struct found_host {
	const char *name;
	const char **boots; /* n_boots; the newest one is in `newest` */
	size_t n_boots, boot_room;
	const char *newest;
	uint64_t newest_ns;
	double run_cpus; /* of its newest run: for a host without hours */
	uint64_t run_start_ns;
	size_t rank; /* its place when hosts are sorted by name */
};

/* Rows that name a run by its id; they find it when all runs are read. */
struct of_run {
	const char *run, *boot_id;
};

struct usage_answer {
	struct lake_usage usage; /* first member: lake_usage_free casts the caller's pointer back */
	struct arena arena;
	struct names names; /* of the file that is read */
	struct lake_file *file; /* the one that is read */
	struct lake_usage_query query;
	struct found_host *found;
	size_t n_found, found_room;
	struct skep_hash_key key;
	struct idmap by_name; /* hash of a name to 1 + index of found, as a pointer */
	size_t hour_room, run_room, left_room, contained_room;
	struct of_run *left_of, *contained_of;
	size_t left_of_room, contained_of_room;
	bool has_containers;
};

static int no_memory(struct usage_answer *a)
{
	return lake_file_error(a->file, SQLITE_NOMEM);
}

/* ---- hosts -------------------------------------------------------------------------- */

/* Finds or adds the host of that name. 0 or -errno. */
static int host_of(struct usage_answer *a, const char *s, size_t size, size_t *ret)
{
	int64_t h = (int64_t)skep_hash(&a->key, s, size);
	const void *known;
	void *grown;

	/* two names of one hash: the second one takes the next number */
	for (; (known = idmap_get(&a->by_name, h)) != NULL; h++) {
		const size_t i = (size_t)(uintptr_t)known - 1;

		if (strlen(a->found[i].name) == size && memcmp(a->found[i].name, s, size) == 0) {
			*ret = i;
			return 0;
		}
	}
	grown = answer_grow(a->found, a->n_found, &a->found_room, sizeof(*a->found));
	if (!grown)
		return no_memory(a);
	a->found = grown;
	a->found[a->n_found] = (struct found_host){ .name = arena_copy(&a->arena, s, size) };
	if (!a->found[a->n_found].name || idmap_put(&a->by_name, h, (const void *)(uintptr_t)(a->n_found + 1)) != 0)
		return no_memory(a);
	*ret = a->n_found++;
	return 0;
}

static int add_boot(struct usage_answer *a, struct found_host *h, const char *boot, uint64_t time_ns)
{
	size_t i = 0;
	void *grown;

	if (!h->newest || time_ns > h->newest_ns ||
	    (time_ns == h->newest_ns && boot != h->newest && strcmp(boot, h->newest) > 0)) {
		h->newest_ns = time_ns;
		h->newest = boot;
	}
	/* rows of one boot mostly follow each other */
	if (h->n_boots && (h->boots[h->n_boots - 1] == boot || strcmp(h->boots[h->n_boots - 1], boot) == 0))
		return 0;
	while (i < h->n_boots && strcmp(h->boots[i], boot) != 0)
		i++;
	if (i < h->n_boots || !*boot)
		return 0;
	grown = answer_grow(h->boots, h->n_boots, &h->boot_room, sizeof(const char *));
	if (!grown)
		return no_memory(a);
	h->boots = grown;
	h->boots[h->n_boots++] = boot;
	return 0;
}

static int by_rank(const void *x, const void *y, void *arg)
{
	const struct found_host *found = arg;

	return strcmp(found[*(const size_t *)x].name, found[*(const size_t *)y].name);
}

/* Makes the list of hosts, by name. 0 or -ENOMEM. */
static int make_hosts(struct usage_answer *a)
{
	size_t *order = calloc(a->n_found + 1, sizeof(*order));
	struct lake_usage *u = &a->usage;

	u->hosts = calloc(a->n_found + 1, sizeof(*u->hosts));
	if (!order || !u->hosts) {
		free(order);
		return -ENOMEM;
	}
	for (size_t i = 0; i < a->n_found; i++)
		order[i] = i;
	qsort_r(order, a->n_found, sizeof(*order), by_rank, a->found);
	for (size_t i = 0; i < a->n_found; i++) {
		struct found_host *h = &a->found[order[i]];

		h->rank = i;
		u->hosts[i] = (struct lake_host){
			.name = h->name,
			.boots = h->n_boots,
			.boot_id = h->newest ? h->newest : "",
			.cpus = h->run_cpus,
			.last_run = SIZE_MAX,
		};
	}
	u->n_hosts = a->n_found;
	free(order);
	return 0;
}

/* ---- hours -------------------------------------------------------------------------- */

#define HOUR_COLUMNS \
	"host, item, hour, first_ns, last_ns, known_ns, capacity_ns, busy_ns, idle_ns, runs_ns, daemons_ns, " \
	"memory_bytes, memory_limit_bytes, rx_bytes, tx_bytes, read_bytes, write_bytes, idle_minutes, other_minutes, "

/* ?1, ?2: hours; ?3: host; ?4: only items of hosts; ?5: any host. */
static const struct lake_question of_hours = {
	.sqlite = "SELECT " HOUR_COLUMNS "boot FROM usage_hour WHERE hour BETWEEN ?1 AND ?2 AND "
		  "(?5 OR host = (SELECT id FROM dict WHERE s = ?3)) AND (NOT ?4 OR item = 0)",
	.clickhouse = "SELECT " HOUR_COLUMNS "boot_id FROM usage_hour WHERE hour BETWEEN ?1 AND ?2 AND "
		      "(?5 OR host = ?3) AND (NOT ?4 OR item = '')",
};

/* A column that names something: ids of dict in SQLite, texts in ClickHouse. */
static int name_at(struct usage_answer *a, const struct lake_rows *rows, int column, struct name **ret)
{
	size_t size = 0;
	const char *text = rows->clickhouse ? lake_rows_bytes(rows, column, &size) : NULL;

	return text ? names_of_text(&a->names, text, size, ret)
		    : names_get(&a->names, lake_rows_number(rows, column), ret);
}

static int host_at(struct usage_answer *a, const struct lake_rows *rows, int column, size_t *ret)
{
	struct name *name;
	int err = name_at(a, rows, column, &name);

	if (!err && !name->tool) {
		err = host_of(a, name->s, strlen(name->s), ret);
		name->tool = err ? 0 : *ret + 1;
	}
	if (!err)
		*ret = name->tool - 1;
	return err;
}

static int add_hour(struct usage_answer *a, const struct lake_rows *rows)
{
	struct lake_usage *u = &a->usage;
	struct lake_hour h = { 0 };
	uint64_t *const number[] = {
		&h.start_ns, &h.first_ns,   &h.last_ns,     &h.known_ns,     &h.capacity_ns,        &h.busy_ns,
		&h.idle_ns,  &h.runs_ns,    &h.daemons_ns,  &h.memory_bytes, &h.memory_limit_bytes, &h.rx_bytes,
		&h.tx_bytes, &h.read_bytes, &h.write_bytes, &h.idle_minutes, &h.other_minutes,
	};
	const int n_numbers = sizeof(number) / sizeof(number[0]);
	struct name *name;
	void *grown;
	size_t host;
	int err = host_at(a, rows, 0, &host);

	if (!err)
		err = name_at(a, rows, 1, &name);
	if (err)
		return err;
	h.item = name->s;
	h.host = host;
	for (int i = 0; i < n_numbers; i++)
		*number[i] = (uint64_t)lake_rows_number(rows, i + 2);
	h.start_ns *= LAKE_HOUR_NS;
	a->has_containers |= strncmp(h.item, "container/", strlen("container/")) == 0;
	err = name_at(a, rows, n_numbers + 2, &name);
	if (!err)
		err = add_boot(a, &a->found[host], name->s, h.last_ns);
	if (err)
		return err;
	grown = answer_grow(u->hours, u->n_hours, &a->hour_room, sizeof(h));
	if (!grown)
		return no_memory(a);
	u->hours = grown;
	u->hours[u->n_hours++] = h;
	return 0;
}

static int hour_order(const void *x, const void *y)
{
	const struct lake_hour *a = x, *b = y;
	int order;

	if (a->host != b->host)
		return a->host < b->host ? -1 : 1;
	order = a->item == b->item ? 0 : strcmp(a->item, b->item);
	return order ? order : (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Two boots of a host, or two files, may have rows of one hour. */
static void merge_hour(struct lake_hour *to, const struct lake_hour *h)
{
	to->first_ns = to->first_ns < h->first_ns ? to->first_ns : h->first_ns;
	to->last_ns = larger(to->last_ns, h->last_ns);
	lake_add(&to->known_ns, h->known_ns);
	lake_add(&to->capacity_ns, h->capacity_ns);
	lake_add(&to->busy_ns, h->busy_ns);
	lake_add(&to->idle_ns, h->idle_ns);
	lake_add(&to->runs_ns, h->runs_ns);
	lake_add(&to->daemons_ns, h->daemons_ns);
	to->memory_bytes = larger(to->memory_bytes, h->memory_bytes);
	to->memory_limit_bytes = larger(to->memory_limit_bytes, h->memory_limit_bytes);
	lake_add(&to->rx_bytes, h->rx_bytes);
	lake_add(&to->tx_bytes, h->tx_bytes);
	lake_add(&to->read_bytes, h->read_bytes);
	lake_add(&to->write_bytes, h->write_bytes);
	to->idle_minutes |= h->idle_minutes;
	to->other_minutes |= h->other_minutes;
}

/* A file has its rows by host and item, so mostly they are in order already. */
static bool is_sorted(const struct lake_usage *u)
{
	for (size_t i = 1; i < u->n_hours; i++)
		if (hour_order(&u->hours[i - 1], &u->hours[i]) > 0)
			return false;
	return true;
}

static void sort_hours(struct usage_answer *a)
{
	struct lake_usage *u = &a->usage;
	size_t n = 0;

	for (size_t i = 0; i < u->n_hours; i++)
		u->hours[i].host = a->found[u->hours[i].host].rank;
	if (!is_sorted(u))
		qsort(u->hours, u->n_hours, sizeof(*u->hours), hour_order);
	for (size_t i = 0; i < u->n_hours; i++) {
		if (n && hour_order(&u->hours[n - 1], &u->hours[i]) == 0)
			merge_hour(&u->hours[n - 1], &u->hours[i]);
		else
			u->hours[n++] = u->hours[i];
	}
	u->n_hours = n;
	for (size_t i = 0; i < n; i++) {
		const struct lake_hour *hour = &u->hours[i];
		struct lake_host *h = &u->hosts[hour->host];

		if (!h->n_hours++)
			h->hours = i;
		h->first_ns = !h->first_ns || hour->first_ns < h->first_ns ? hour->first_ns : h->first_ns;
		h->last_ns = larger(h->last_ns, hour->last_ns);
		if (!*hour->item && hour->known_ns)
			h->cpus = (double)hour->capacity_ns / (double)hour->known_ns;
		if (!*hour->item && hour->memory_limit_bytes)
			h->memory_bytes = hour->memory_limit_bytes;
	}
}

/* ---- runs ---------------------------------------------------------------------------- */

/*
 * ?1, ?2: begin and end of the time; ?3: host; ?5: any host.  The "+" keeps SQLite from its index on start_ns: by it the
 * rows come in another order than the file has them, and each one costs a read of a page.
 */
#define RUN_COLUMNS "host, run, name, pipeline, engine, origin, container, unit, boot_id, "
#define RUN_MATCHES "start_ns < ?2 AND (end_ns = 0 OR end_ns > ?1) AND (?5 OR host = ?3)"
static const struct lake_question of_runs = {
	.sqlite = "SELECT " RUN_COLUMNS "uid, start_ns, end_ns, cpus FROM run WHERE +start_ns < ?2 AND "
		  "(coalesce(end_ns, 0) = 0 OR end_ns > ?1) AND (?5 OR host = ?3) AND state <> ''",
	.clickhouse = "SELECT " RUN_COLUMNS "uid_user, start_ns, end_ns, cpus FROM run FINAL WHERE " RUN_MATCHES,
};

static int add_run(struct usage_answer *a, const struct lake_rows *rows)
{
	struct lake_usage *u = &a->usage;
	struct lake_span run = { 0 };
	const char **const text[] = { &run.id,     &run.name,      &run.pipeline, &run.engine,
				      &run.origin, &run.container, &run.unit,     &run.boot_id };
	struct found_host *h;
	size_t size = 0, host;
	const char *name = lake_rows_bytes(rows, 0, &size);
	void *grown;
	uint64_t cpus;
	int err = host_of(a, name, size, &host);

	for (size_t i = 0; !err && i < sizeof(text) / sizeof(text[0]); i++) {
		*text[i] = lake_rows_text(rows, (int)i + 1, &a->arena);
		err = *text[i] ? 0 : no_memory(a);
	}
	if (err)
		return err;
	h = &a->found[host];
	run.host = host;
	run.uid = (uint64_t)lake_rows_number(rows, 9);
	run.start_ns = (uint64_t)lake_rows_number(rows, 10);
	run.end_ns = (uint64_t)lake_rows_number(rows, 11);
	cpus = (uint64_t)lake_rows_number(rows, 12);
	if (run.start_ns >= h->run_start_ns && cpus) {
		h->run_start_ns = run.start_ns;
		h->run_cpus = (double)cpus;
	}
	err = add_boot(a, h, run.boot_id, larger(run.start_ns, run.end_ns));
	if (err)
		return err;
	grown = answer_grow(u->runs, u->n_runs, &a->run_room, sizeof(run));
	if (!grown)
		return no_memory(a);
	u->runs = grown;
	u->runs[u->n_runs++] = run;
	return 0;
}

static int run_order(const void *x, const void *y)
{
	const struct lake_span *a = x, *b = y;
	int order;

	if (a->host != b->host)
		return a->host < b->host ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	order = strcmp(a->id, b->id);
	return order ? order : strcmp(a->boot_id, b->boot_id);
}

static void sort_runs(struct usage_answer *a)
{
	struct lake_usage *u = &a->usage;

	for (size_t i = 0; i < u->n_runs; i++)
		u->runs[i].host = a->found[u->runs[i].host].rank;
	if (u->n_runs)
		qsort(u->runs, u->n_runs, sizeof(*u->runs), run_order);
	for (size_t i = 0; i < u->n_runs; i++) {
		const struct lake_span *run = &u->runs[i];
		struct lake_host *h = &u->hosts[run->host];

		if (!h->n_runs++)
			h->runs = i;
		h->first_ns = !h->first_ns || run->start_ns < h->first_ns ? run->start_ns : h->first_ns;
		h->last_ns = larger(h->last_ns, larger(run->start_ns, run->end_ns));
		h->live_runs += !run->end_ns;
		if (run->end_ns && (h->last_run == SIZE_MAX || run->end_ns >= u->runs[h->last_run].end_ns))
			h->last_run = i;
	}
}

/* ---- what runs left, and their containers ----------------------------------------------- */

/*
 * ALL: since 19.14 ClickHouse's ANY INNER JOIN joins only the first sample of each run.  s, r: later servers refuse
 * a joined sub-query without a name.
 */
static const struct lake_question of_left = {
	.sqlite =
		"SELECT r.run, r.boot_id, s.tool, min(s.start_ns), max(s.start_ns + s.interval_ns), max(s.processes), "
		"max(s.rss_bytes), sum(s.cpu_ns) FROM run r CROSS JOIN sample s ON s.run = r.id AND s.start_ns > r.end_ns "
		"WHERE r.end_ns > 0 AND +r.start_ns < ?2 AND s.start_ns BETWEEN ?1 AND ?2 AND s.processes > 0 AND "
		"(?5 OR r.host = ?3) GROUP BY r.id, s.tool",
	.clickhouse =
		"SELECT run, boot_id, tool, min(start_ns), max(start_ns + interval_ns), max(processes), max(rss_bytes), "
		LAKE_SUM_CLICKHOUSE("cpu_ns") " FROM (SELECT run, boot_id, tool, start_ns, interval_ns, processes, rss_bytes, cpu_ns FROM "
		"sample FINAL PREWHERE run != '' AND start_ns BETWEEN ?1 AND ?2 WHERE processes > 0) AS s ALL INNER JOIN "
		"(SELECT run, boot_id, end_ns FROM run FINAL WHERE end_ns > 0 AND start_ns < ?2 AND (?5 OR host = ?3)) AS r "
		"USING (run, boot_id) WHERE start_ns > end_ns GROUP BY run, boot_id, tool",
};

static const struct lake_question of_contained = {
	.sqlite =
		"SELECT r.run, r.boot_id, t.container, max(t.container_name) FROM task t JOIN run r ON r.id = t.run "
		"WHERE t.container <> '' AND r.start_ns < ?2 AND (coalesce(r.end_ns, 0) = 0 OR r.end_ns > ?1) AND "
		"(?5 OR r.host = ?3) GROUP BY 1, 2, 3 UNION ALL SELECT run, boot_id, container, container_name FROM run WHERE "
		"container <> '' AND start_ns < ?2 AND (coalesce(end_ns, 0) = 0 OR end_ns > ?1) AND (?5 OR host = ?3)",
	.clickhouse =
		"SELECT run, boot_id, container, max(container_name) FROM task FINAL WHERE container != '' AND "
		"(?5 OR host = ?3) AND (run, boot_id) IN (SELECT run, boot_id FROM run FINAL WHERE " RUN_MATCHES ") "
		"GROUP BY run, boot_id, container UNION ALL SELECT run, boot_id, container, container_name FROM run FINAL "
		"WHERE container != '' AND " RUN_MATCHES,
};

/* Adds the run that the first two columns name to a list. 0 or -errno. */
static int add_of_run(struct usage_answer *a, const struct lake_rows *rows, struct of_run **list, size_t n,
		      size_t *room)
{
	struct of_run *grown = answer_grow(*list, n, room, sizeof(*grown));

	if (!grown)
		return no_memory(a);
	*list = grown;
	grown[n].run = lake_rows_text(rows, 0, &a->arena);
	grown[n].boot_id = lake_rows_text(rows, 1, &a->arena);
	return grown[n].run && grown[n].boot_id ? 0 : no_memory(a);
}

static int add_left(struct usage_answer *a, const struct lake_rows *rows)
{
	struct lake_usage *u = &a->usage;
	struct lake_left left = { 0 };
	struct name *tool;
	void *grown = answer_grow(u->left, u->n_left, &a->left_room, sizeof(left));
	int err;

	if (!grown)
		return no_memory(a);
	u->left = grown;
	err = name_at(a, rows, 2, &tool);
	if (!err)
		err = add_of_run(a, rows, &a->left_of, u->n_left, &a->left_of_room);
	if (err)
		return err;
	left.tool = tool->s;
	left.from_ns = (uint64_t)lake_rows_number(rows, 3);
	left.to_ns = (uint64_t)lake_rows_number(rows, 4);
	left.processes = (uint64_t)lake_rows_number(rows, 5);
	left.rss_bytes = (uint64_t)lake_rows_number(rows, 6);
	left.cpu_ns = (uint64_t)lake_rows_number(rows, 7);
	u->left[u->n_left++] = left;
	return 0;
}

static int add_contained(struct usage_answer *a, const struct lake_rows *rows)
{
	struct lake_usage *u = &a->usage;
	struct lake_contained_run c = { 0 };
	void *grown = answer_grow(u->contained, u->n_contained, &a->contained_room, sizeof(c));
	int err = grown ? 0 : no_memory(a);

	u->contained = grown ? grown : u->contained;
	if (!err)
		err = add_of_run(a, rows, &a->contained_of, u->n_contained, &a->contained_of_room);
	if (err)
		return err;
	c.container = lake_rows_text(rows, 2, &a->arena);
	c.name = lake_rows_text(rows, 3, &a->arena);
	if (!c.container || !c.name)
		return no_memory(a);
	u->contained[u->n_contained++] = c;
	return 0;
}

static int id_order(const void *x, const void *y, void *arg)
{
	const struct lake_span *runs = arg, *a = &runs[*(const size_t *)x], *b = &runs[*(const size_t *)y];
	const int order = strcmp(a->id, b->id);

	return order ? order : strcmp(a->boot_id, b->boot_id);
}

/* The index of the run with that id; SIZE_MAX: the answer lacks it. by_id: indices of the runs in the order of ids. */
static size_t find_run(const struct lake_usage *u, const size_t *by_id, const struct of_run *id)
{
	size_t low = 0, high = u->n_runs;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct lake_span *run = &u->runs[by_id[middle]];
		const int order = strcmp(run->id, id->run);

		if ((order ? order : strcmp(run->boot_id, id->boot_id)) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == u->n_runs || strcmp(u->runs[by_id[low]].id, id->run) != 0 ||
	    strcmp(u->runs[by_id[low]].boot_id, id->boot_id) != 0)
		return SIZE_MAX;
	return by_id[low];
}

static int left_order(const void *x, const void *y)
{
	const struct lake_left *a = x, *b = y;

	return a->run != b->run ? (a->run < b->run ? -1 : 1) : strcmp(a->tool, b->tool);
}

static int contained_order(const void *x, const void *y)
{
	const struct lake_contained_run *a = x, *b = y;
	const int order = strcmp(a->container, b->container);

	return order ? order : a->run != b->run ? (a->run < b->run ? -1 : 1) : -strcmp(a->name, b->name);
}

/* Resolves the ids of runs. 0 or -ENOMEM. */
static int find_runs(struct usage_answer *a)
{
	struct lake_usage *u = &a->usage;
	size_t *by_id = calloc(u->n_runs + 1, sizeof(*by_id)), n = 0;

	if (!by_id)
		return -ENOMEM;
	for (size_t i = 0; i < u->n_runs; i++)
		by_id[i] = i;
	qsort_r(by_id, u->n_runs, sizeof(*by_id), id_order, u->runs);
	for (size_t i = 0; i < u->n_left; i++) {
		u->left[n] = u->left[i];
		u->left[n].run = find_run(u, by_id, &a->left_of[i]);
		n += u->left[n].run != SIZE_MAX;
	}
	u->n_left = n;
	if (n)
		qsort(u->left, n, sizeof(*u->left), left_order);
	n = 0;
	for (size_t i = 0; i < u->n_contained; i++) {
		u->contained[n] = u->contained[i];
		u->contained[n].run = find_run(u, by_id, &a->contained_of[i]);
		n += u->contained[n].run != SIZE_MAX;
	}
	if (n)
		qsort(u->contained, n, sizeof(*u->contained), contained_order);
	u->n_contained = 0; /* a task and its run may name one container */
	for (size_t i = 0; i < n; i++) {
		const struct lake_contained_run *last = u->n_contained ? &u->contained[u->n_contained - 1] : NULL;

		if (!last || last->run != u->contained[i].run ||
		    strcmp(last->container, u->contained[i].container) != 0)
			u->contained[u->n_contained++] = u->contained[i];
	}
	free(by_id);
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int ask(struct usage_answer *a, const struct lake_question *q, uint64_t since, uint64_t until,
	       int (*add)(struct usage_answer *, const struct lake_rows *))
{
	const struct lake_value values[] = {
		LAKE_NUMBER(since),
		LAKE_NUMBER(until),
		LAKE_TEXT(a->query.host ? a->query.host : ""),
		LAKE_NUMBER(a->query.hosts_only),
		LAKE_NUMBER(!a->query.host),
	};
	struct lake_rows rows = { 0 };
	int err = lake_rows_open(a->file, q, values, sizeof(values) / sizeof(values[0]), &rows);

	while (!err && (err = lake_rows_next(&rows)) > 0)
		err = add(a, &rows);
	lake_rows_close(&rows);
	return err;
}

static int read_hours(struct usage_answer *a)
{
	const struct lake_usage_query *q = &a->query;

	return ask(a, &of_hours, q->since_ns / LAKE_HOUR_NS, (q->until_ns - 1) / LAKE_HOUR_NS, add_hour);
}

static int read_runs(struct usage_answer *a)
{
	const struct lake_usage_query *q = &a->query;
	int err = ask(a, &of_runs, q->since_ns, q->until_ns, add_run);

	if (!err && !q->hosts_only)
		err = ask(a, &of_left, q->since_ns, q->until_ns, add_left);
	if (!err && !q->hosts_only && a->has_containers)
		err = ask(a, &of_contained, q->since_ns, q->until_ns, add_contained);
	return err;
}

struct asking {
	struct usage_answer *answer;
	int (*read)(struct usage_answer *);
};

static int read_file(struct lake_file *f, void *arg)
{
	const struct asking *asking = arg;
	struct usage_answer *a = asking->answer;
	int err;

	a->file = f;
	err = names_init(&a->names, f, &a->arena);
	if (!err)
		err = asking->read(a);
	names_free(&a->names);
	return err;
}

/* Reads each file. A run is in the file of its first month, so the runs of a time may be in an older file. */
static int read_files(struct lake *l, struct usage_answer *a, struct lake_why *why, int (*read)(struct usage_answer *))
{
	int unread = 0, err = lake_each_file(l, why, read_file, &(struct asking){ a, read }, &unread);

	return err ? err : unread;
}

int lake_usage(struct lake *l, const struct lake_usage_query *query, struct lake_usage **ret, char *why_text,
	       size_t why_size)
{
	struct lake_why why = { why_text, why_size };
	struct usage_answer *a = calloc(1, sizeof(*a));
	int err;

	lake_say(&why, "out of memory");
	if (!a)
		return -ENOMEM;
	a->key = skep_hash_key_new();
	if (query)
		a->query = *query;
	if (!a->query.until_ns)
		a->query.until_ns = INT64_MAX;
	err = read_files(l, a, &why, read_hours);
	if (!err)
		err = read_files(l, a, &why, read_runs);
	if (!err) {
		err = make_hosts(a);
		if (!err) {
			sort_hours(a);
			sort_runs(a);
			err = find_runs(a);
		}
		if (err)
			lake_say(&why, "out of memory");
	}
	if (err) {
		lake_usage_free(&a->usage);
		return err;
	}
	*ret = &a->usage;
	return 0;
}

struct lake_usage *lake_usage_free(struct lake_usage *usage)
{
	struct usage_answer *a = (struct usage_answer *)usage;

	if (!a)
		return NULL;
	for (size_t i = 0; i < a->n_found; i++)
		free(a->found[i].boots);
	free(a->found);
	idmap_free(&a->by_name);
	free(usage->hosts);
	free(usage->hours);
	free(usage->runs);
	free(usage->left);
	free(usage->contained);
	free(a->left_of);
	free(a->contained_of);
	arena_free(&a->arena);
	free(a);
	return NULL;
}
