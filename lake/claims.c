/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/claims.c - reads what the runs of a time used, and their machines' sums.
 */
#include "lake/claims.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "lake/rows.h"
#include "lake/saturate.h"

struct claims {
	struct lake_claims answer; /* first member: lake_claims_free casts the caller's pointer back */
	struct arena arena;
	size_t parts_room, tasks_room, rows_room, machines_room;
};

/* ?1, ?2: the time; a run lived in it. */
#define LIVED            "r.start_ns < ?2 AND (coalesce(r.end_ns, 0) = 0 OR r.end_ns > ?1)"
#define LIVED_CLICKHOUSE "run IN (SELECT run FROM run FINAL WHERE start_ns < ?2 AND (end_ns = 0 OR end_ns > ?1))"

/* KiB x s of a sample: in bytes and ns, a day of a large machine is more than 64 bits. */
static const struct lake_question parts[] = {
	[LAKE_PART_MEMORY] = {
		.sqlite = "SELECT r.run, r.boot_id, '', sum(s.rss_bytes / 1024 * (s.interval_ns / 1000000) / 1000) FROM run r "
			  "JOIN sample s ON s.run = r.id WHERE " LIVED " GROUP BY r.id",
		.clickhouse = "SELECT run, boot_id, '', sum(intDiv(intDiv(rss_bytes, 1024) * intDiv(interval_ns, 1000000), "
			      "1000)) FROM sample FINAL PREWHERE " LIVED_CLICKHOUSE " GROUP BY run, boot_id",
	},
	[LAKE_PART_GPU] = {
		.sqlite = "SELECT r.run, r.boot_id, '', sum(f.value) FROM run r JOIN proc p ON p.run = r.id JOIN proc_facet f ON "
			  "f.proc = p.id WHERE f.name = (SELECT id FROM dict WHERE s = 'gpu.busy_ns') AND EXISTS (SELECT 1 FROM "
			  "dict WHERE s = 'gpu.busy_ns') AND " LIVED " GROUP BY r.id",
		.clickhouse = "SELECT run, boot_id, '', sum(visitParamExtractUInt(extra, 'gpu.busy_ns')) AS busy FROM proc FINAL "
			      "PREWHERE " LIVED_CLICKHOUSE " WHERE extra LIKE '%\"gpu.busy_ns\":%' GROUP BY run, boot_id",
	},
	[LAKE_PART_TOOL] = {
		.sqlite = "SELECT r.run, r.boot_id, d.s, sum(t.cpu_ns) FROM run r JOIN rollup_run_tool t ON t.run = r.id JOIN dict "
			  "d ON d.id = t.tool WHERE " LIVED " GROUP BY r.id, t.tool",
		.clickhouse = "SELECT run, boot_id, tool, " LAKE_SUM_CLICKHOUSE("cpu_ns") " FROM proc FINAL PREWHERE " LIVED_CLICKHOUSE
			      " GROUP BY run, boot_id, tool",
	},
	[LAKE_PART_LABEL] = {
		.sqlite = "SELECT r.run, r.boot_id, coalesce(f.value, ''), sum(p.cpu_ns) FROM run r JOIN proc p ON p.run = r.id "
			  "LEFT JOIN proc_facet f ON f.proc = p.id AND f.name = (SELECT id FROM dict WHERE s = 'labels') WHERE "
			  LIVED " GROUP BY r.id, f.value",
		.clickhouse = "SELECT run, boot_id, arrayStringConcat(labels, ' ') AS label, "
			      LAKE_SUM_CLICKHOUSE("cpu_ns") " FROM proc FINAL PREWHERE " LIVED_CLICKHOUSE " GROUP BY run, boot_id, label",
	},
};

#define RESERVED(of_) "CASE WHEN granted_" of_ " > 0 THEN granted_" of_ " ELSE requested_" of_ " END"
#define RESERVED_COLUMNS RESERVED("memory_bytes") ", " RESERVED("gpus") ", " RESERVED("cpus")
#define TASK_COLUMNS(run_)                                                                                             \
	run_ "run, " run_ "boot_id, task, task_id, t.job, t.start_ns, t.end_ns, t.cpu_ns, t.rss_peak_bytes, inner_runs, "     \
	     RESERVED_COLUMNS
static const struct lake_question tasks = {
	.sqlite = "SELECT " TASK_COLUMNS("r.") " FROM run r JOIN task t ON t.run = r.id WHERE " LIVED,
	.clickhouse = "SELECT run, boot_id, task, task_id, job, start_ns, end_ns, cpu_ns, rss_peak_bytes, inner_runs, " RESERVED_COLUMNS
		      " FROM task FINAL PREWHERE " LIVED_CLICKHOUSE,
};

/*
 * ?3: the length of a bucket.  A file of SQLite is of one host, whose name its runs have; a run whose own record is not
 * here yet has none.  Columns: host, boot id, sum, begin, end, intervals, records, amount.
 */
#define BUCKET            "time_ns / ?3"
#define BUCKET_CLICKHOUSE "intDiv(time_ns, ?3)"
#define HOST              "(SELECT CASE count(DISTINCT host) WHEN 1 THEN max(host) ELSE '' END FROM run WHERE host <> ''), ''"
#define IN_TIME           "time_ns > ?1 AND time_ns <= ?2"
#define NUMBER(name_)     "json_extract(fields, '$.\"" name_ "\"')"
#define UINT(name_)       "visitParamExtractUInt(fields, '" name_ "')"
#define MILLI(name_)      "visitParamExtractFloat(fields, '" name_ "') * 1000"
#define LEDGER_LIKE(item_) "fields LIKE '%\"account\":\"cpu\"%' AND fields LIKE '%\"item\":\"" item_ "\"%'"
#define OF_LEDGER(sum_, item_)                                                                                         \
	{                                                                                                              \
		.sqlite = "SELECT " HOST ", " sum_ ", min(time_ns - " NUMBER("interval_ns") "), max(time_ns), sum("         \
			  NUMBER("interval_ns") "), count(*), sum(" NUMBER("amount") ") FROM record WHERE stream = "       \
			  "(SELECT id FROM dict WHERE s = 'ledger') AND " IN_TIME " AND run = 0 AND " LEDGER_LIKE(item_)   \
			  " GROUP BY " BUCKET,                                                                         \
		.clickhouse = "SELECT host, boot_id, " sum_ ", min(time_ns - " UINT("interval_ns") "), max(time_ns), sum("  \
			      UINT("interval_ns") "), count(), sum(visitParamExtractInt(fields, 'amount')) FROM record "   \
			      "FINAL PREWHERE stream = 'ledger' AND " IN_TIME " AND run = '' WHERE " LEDGER_LIKE(item_)    \
			      " GROUP BY host, boot_id, " BUCKET_CLICKHOUSE,                                           \
	}
#define OF_SENSOR(sum_, stream_, like_)                                                                                \
	{                                                                                                              \
		.sqlite = "SELECT " HOST ", " sum_ ", min(time_ns), max(time_ns), 0, count(*), sum(CAST(" NUMBER("hw.energy") \
			  " * 1000 AS INTEGER)) FROM record WHERE stream = (SELECT id FROM dict WHERE s = '" stream_       \
			  "') AND " IN_TIME " AND (" like_ ") AND " NUMBER("hw.energy") " > 0 GROUP BY " BUCKET,           \
		.clickhouse = "SELECT host, boot_id, " sum_ ", min(time_ns), max(time_ns), 0, count(), sum(toInt64("       \
			      MILLI("hw.energy") ")) FROM record FINAL PREWHERE stream = '" stream_ "' AND " IN_TIME       \
			      " WHERE (" like_ ") AND visitParamExtractFloat(fields, 'hw.energy') > 0 GROUP BY host, "      \
			      "boot_id, " BUCKET_CLICKHOUSE,                                                           \
	}
/* RAPL counts a package, and the memory beside it; its other domains are parts of a package, or the whole machine. */
static const struct lake_question sums[] = {
	[LAKE_MACHINE_CAPACITY] = OF_LEDGER("0", "capacity"),
	[LAKE_MACHINE_IDLE] = OF_LEDGER("1", "idle"),
	[LAKE_MACHINE_ENERGY] = OF_SENSOR("2", "host.sensor",
					  "fields LIKE '%\"hw.name\":\"package%' OR fields LIKE '%\"hw.name\":\"dram\"%'"),
	[LAKE_MACHINE_GPU_ENERGY] = OF_SENSOR("3", "gpu.device", "fields LIKE '%\"gpu_instance\":-1,%'"),
};

/* An operator may resize a machine between two boots: the newest identity counts, of whatever boot. */
static const struct lake_question machines = {
	.sqlite = "SELECT " HOST ", fields FROM record WHERE stream = (SELECT id FROM dict WHERE s = 'host.identity') AND "
		  "time_ns < ?2 ORDER BY time_ns DESC, fields DESC LIMIT 1",
	.clickhouse = "SELECT host, '', fields FROM record FINAL PREWHERE stream = 'host.identity' AND time_ns < ?2 "
		      "ORDER BY host, time_ns DESC, fields DESC LIMIT 1 BY host",
};

/* ---- one row of each ------------------------------------------------------------------ */

struct reading {
	struct claims *to;
	struct lake_file *file;
	int what; /* enum lake_part */
};

/* Makes room for one more and returns the list; NULL: no memory, and the file's why says so. */
static void *grown(const struct reading *in, void *list, size_t n, size_t *room, size_t size)
{
	const size_t more = *room ? 2 * *room : 64;
	void *larger = n < *room ? list : reallocarray(list, more, size);

	if (!larger)
		lake_file_error(in->file, SQLITE_NOMEM);
	else if (n == *room)
		*room = more;
	return larger;
}

/* The labels as SQLite has them, ["a=b","c=d"], as "a=b c=d" in the arena. NULL: no memory. */
static const char *labels_of(const struct lake_rows *rows, int column, struct arena *a)
{
	size_t n = 0, at = 0;
	const char *bytes = lake_rows_bytes(rows, column, &n);
	json_t *list = json_loadb(bytes, n, JSON_ALLOW_NUL, NULL), *one;
	char *text = json_is_array(list) ? arena_alloc(a, n + 1) : arena_copy(a, bytes, n);
	size_t i;

	json_array_foreach(list, i, one) {
		const char *label = json_string_value(one);

		if (!text || !label)
			continue;
		text[at] = ' ';
		at += at > 0;
		memcpy(text + at, label, strlen(label) + 1);
		at += strlen(label);
	}
	json_decref(list);
	return text;
}

static int add_part(const struct reading *in, const struct lake_rows *rows)
{
	struct claims *c = in->to;
	struct lake_claims_part p = { .part = (enum lake_part)in->what }, *list;

	list = grown(in, c->answer.parts, c->answer.n_parts, &c->parts_room, sizeof(*list));
	if (!list)
		return -ENOMEM;
	c->answer.parts = list;
	p.run = lake_rows_text(rows, 0, &c->arena);
	p.boot_id = lake_rows_text(rows, 1, &c->arena);
	p.name = p.part == LAKE_PART_LABEL && !rows->clickhouse ? labels_of(rows, 2, &c->arena)
								 : lake_rows_text(rows, 2, &c->arena);
	p.amount = (uint64_t)lake_rows_number(rows, 3);
	if (!p.run || !p.boot_id || !p.name)
		return lake_file_error(in->file, SQLITE_NOMEM);
	list[c->answer.n_parts] = p;
	c->answer.n_parts += p.amount > 0;
	return 0;
}

static int add_task(const struct reading *in, const struct lake_rows *rows)
{
	struct claims *c = in->to;
	struct lake_claims_task t = { 0 }, *list;
	const char **const text[] = { &t.run, &t.boot_id, &t.task, &t.task_id, &t.job };
	uint64_t *const number[] = {
		&t.start_ns, &t.end_ns, &t.cpu_ns, &t.rss_peak_bytes, &t.inner_runs, &t.reserved_memory_bytes,
		&t.reserved_gpus,
	};
	int at = 0;

	list = grown(in, c->answer.tasks, c->answer.n_tasks, &c->tasks_room, sizeof(*list));
	if (!list)
		return -ENOMEM;
	c->answer.tasks = list;
	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		if (!(*text[i] = lake_rows_text(rows, at++, &c->arena)))
			return lake_file_error(in->file, SQLITE_NOMEM);
	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		*number[i] = (uint64_t)lake_rows_number(rows, at++);
	t.reserved_cpus = lake_rows_real(rows, at);
	list[c->answer.n_tasks++] = t;
	return 0;
}

static int add_row(const struct reading *in, const struct lake_rows *rows)
{
	struct claims *c = in->to;
	struct lake_machine_row *list;

	list = grown(in, c->answer.rows, c->answer.n_rows, &c->rows_room, sizeof(*list));
	if (!list)
		return -ENOMEM;
	c->answer.rows = list;
	list += c->answer.n_rows;
	*list = (struct lake_machine_row){
		.host = lake_rows_text(rows, 0, &c->arena),
		.boot_id = lake_rows_text(rows, 1, &c->arena),
		.sum = (enum lake_machine_sum)lake_rows_number(rows, 2),
		.start_ns = (uint64_t)lake_rows_number(rows, 3),
		.end_ns = (uint64_t)lake_rows_number(rows, 4),
		.interval_ns = (uint64_t)lake_rows_number(rows, 5),
		.records = (uint64_t)lake_rows_number(rows, 6),
		.amount = lake_rows_number(rows, 7),
	};
	if (!list->host || !list->boot_id)
		return lake_file_error(in->file, SQLITE_NOMEM);
	c->answer.n_rows += list->records > 0;
	return 0;
}

static int add_machine(const struct reading *in, const struct lake_rows *rows)
{
	struct claims *c = in->to;
	struct lake_machine m = { .host = lake_rows_text(rows, 0, &c->arena) };
	const char *bytes, *type;
	struct lake_machine *list;
	json_t *fields;
	size_t n = 0;

	list = grown(in, c->answer.machines, c->answer.n_machines, &c->machines_room, sizeof(*list));
	if (!list)
		return -ENOMEM;
	c->answer.machines = list;
	for (size_t i = 0; m.host && i < c->answer.n_machines; i++)
		if (strcmp(list[i].host, m.host) == 0)
			return 0; /* of a newer file */
	bytes = lake_rows_bytes(rows, 2, &n);
	fields = json_loadb(bytes, n, JSON_ALLOW_NUL, NULL);
	type = json_string_value(json_object_get(fields, "host.type"));
	m.instance_type = arena_copy(&c->arena, type ? type : "", type ? strlen(type) : 0);
	m.cores = (uint64_t)json_integer_value(json_object_get(fields, "system.cpu.logical.count"));
	m.memory_bytes = (uint64_t)json_integer_value(json_object_get(fields, "system.memory.limit"));
	json_decref(fields);
	if (!m.host || !m.instance_type)
		return lake_file_error(in->file, SQLITE_NOMEM);
	list[c->answer.n_machines++] = m;
	return 0;
}

/* ---- all of them ------------------------------------------------------------------------ */

static int read_all(const struct reading *in, const struct lake_question *question, const struct lake_claims_query *q,
		    int (*add)(const struct reading *, const struct lake_rows *))
{
	const struct lake_value values[] = { LAKE_NUMBER(q->since_ns), LAKE_NUMBER(q->until_ns),
					     LAKE_NUMBER(q->bucket_ns ? q->bucket_ns : 1) };
	struct lake_rows rows = { 0 };
	int err = lake_rows_open(in->file, question, values, sizeof(values) / sizeof(values[0]), &rows);

	if (err)
		return err;
	while ((err = lake_rows_next(&rows)) > 0) {
		err = add(in, &rows);
		if (err)
			break;
	}
	lake_rows_close(&rows);
	return err;
}

struct asking {
	struct claims *claims;
	const struct lake_claims_query *query;
};

static int read_file(struct lake_file *f, void *arg)
{
	const struct asking *asking = arg;
	const struct lake_claims_query *q = asking->query;
	struct reading in = { asking->claims, f, 0 };
	int err = read_all(&in, &tasks, q, add_task);

	for (in.what = LAKE_PART_MEMORY; in.what <= LAKE_PART_LABEL && !err; in.what++)
		if (in.what != LAKE_PART_LABEL || q->labels)
			err = read_all(&in, &parts[in.what], q, add_part);
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]) && !err; i++)
		err = read_all(&in, &sums[i], q, add_row);
	return err ? err : read_all(&in, &machines, q, add_machine);
}

static int part_order(const void *a, const void *b)
{
	const struct lake_claims_part *x = a, *y = b;
	int order = (x->part > y->part) - (x->part < y->part);

	if (!order)
		order = strcmp(x->run, y->run);
	if (!order)
		order = strcmp(x->boot_id, y->boot_id);
	return order ? order : strcmp(x->name, y->name);
}

static int task_order(const void *a, const void *b)
{
	const struct lake_claims_task *x = a, *y = b;
	int order = strcmp(x->run, y->run);

	if (!order)
		order = strcmp(x->boot_id, y->boot_id);
	if (!order)
		order = (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
	return order ? order : strcmp(x->task_id, y->task_id);
}

static int row_order(const void *a, const void *b)
{
	const struct lake_machine_row *x = a, *y = b;
	int order = strcmp(x->host, y->host);

	if (!order)
		order = (x->sum > y->sum) - (x->sum < y->sum);
	if (!order)
		order = (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
	return order ? order : (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static int machine_order(const void *a, const void *b)
{
	return strcmp(((const struct lake_machine *)a)->host, ((const struct lake_machine *)b)->host);
}

int lake_claims(struct lake *l, const struct lake_claims_query *q, struct lake_claims **ret, char *why_text,
		size_t why_size)
{
	struct lake_why why = { why_text, why_size };
	struct claims *c = calloc(1, sizeof(*c));
	int err;

	if (!c) {
		lake_say(&why, "out of memory");
		return -ENOMEM;
	}
	err = lake_each_file(l, &why, read_file, &(struct asking){ c, q }, NULL);
	if (err) {
		lake_claims_free(&c->answer);
		return err;
	}
	if (c->answer.n_parts)
		qsort(c->answer.parts, c->answer.n_parts, sizeof(*c->answer.parts), part_order);
	if (c->answer.n_tasks)
		qsort(c->answer.tasks, c->answer.n_tasks, sizeof(*c->answer.tasks), task_order);
	if (c->answer.n_rows)
		qsort(c->answer.rows, c->answer.n_rows, sizeof(*c->answer.rows), row_order);
	if (c->answer.n_machines)
		qsort(c->answer.machines, c->answer.n_machines, sizeof(*c->answer.machines), machine_order);
	*ret = &c->answer;
	return 0;
}

struct lake_claims *lake_claims_free(struct lake_claims *answer)
{
	struct claims *c = (struct claims *)answer;

	if (!c)
		return NULL;
	free(c->answer.parts);
	free(c->answer.tasks);
	free(c->answer.rows);
	free(c->answer.machines);
	arena_free(&c->arena);
	free(c);
	return NULL;
}
