/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/pulses.c - samples of runs that have not ended, all tools of an interval in one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lake/answer.h"
#include "lake/saturate.h"
#include "lake/usage.h"

struct pulses_answer {
	struct lake_pulses pulses; /* first member: lake_pulses_free casts the caller's pointer back */
	struct arena arena;
	size_t room;
};

/* ?1, ?2: the time; ?3: host; ?5: any host. */
static const struct lake_question of_live = {
	.sqlite =
		"SELECT r.run, r.boot_id, s.start_ns, sum(s.interval_ns) / count(*), sum(s.cpu_ns), "
		"sum(s.read_bytes + s.write_bytes), sum(s.processes), d.s, max(s.rss_bytes) FROM run r CROSS JOIN sample s ON "
		"s.run = r.id AND s.start_ns BETWEEN ?1 AND ?2 JOIN dict d ON d.id = s.tool WHERE coalesce(r.end_ns, 0) = 0 "
		"AND r.engine = '' AND r.origin NOT IN ('session', 'shell') AND r.state = 'running' AND (?5 OR r.host = ?3) "
		"GROUP BY r.id, s.start_ns",
	.clickhouse =
		"SELECT run, boot_id, start_ns, intDiv(sum(interval_ns), count()), " LAKE_SUM_CLICKHOUSE("cpu_ns") ", "
		LAKE_SUM_CLICKHOUSE("read_bytes + write_bytes") ", sum(processes), argMax(tool, rss_bytes), max(rss_bytes) FROM sample FINAL "
		"PREWHERE start_ns BETWEEN ?1 AND ?2 WHERE (run, boot_id) IN (SELECT run, boot_id FROM run FINAL WHERE "
		"end_ns = 0 AND engine = '' AND origin NOT IN ('session', 'shell') AND state = 'running' AND "
		"(?5 OR host = ?3)) GROUP BY run, boot_id, start_ns",
};

static int add_pulse(struct pulses_answer *a, struct lake_file *f, const struct lake_rows *rows)
{
	void *grown = answer_grow(a->pulses.one, a->pulses.n, &a->room, sizeof(*a->pulses.one));
	struct lake_pulse *p;

	if (!grown)
		return lake_file_error(f, SQLITE_NOMEM);
	a->pulses.one = grown;
	p = &a->pulses.one[a->pulses.n];
	*p = (struct lake_pulse){
		.run = lake_rows_text(rows, 0, &a->arena),
		.boot_id = lake_rows_text(rows, 1, &a->arena),
		.start_ns = (uint64_t)lake_rows_number(rows, 2),
		.interval_ns = (uint64_t)lake_rows_number(rows, 3),
		.cpu_ns = (uint64_t)lake_rows_number(rows, 4),
		.bytes = (uint64_t)lake_rows_number(rows, 5),
		.processes = (uint64_t)lake_rows_number(rows, 6),
		.tool = lake_rows_text(rows, 7, &a->arena),
		.rss_bytes = (uint64_t)lake_rows_number(rows, 8),
	};
	if (!p->run || !p->boot_id || !p->tool)
		return lake_file_error(f, SQLITE_NOMEM);
	a->pulses.n++;
	return 0;
}

static int newest_first(const void *x, const void *y)
{
	const struct lake_pulse *a = x, *b = y;
	int order = strcmp(a->run, b->run);

	if (!order)
		order = strcmp(a->boot_id, b->boot_id);
	return order ? order : (a->start_ns < b->start_ns) - (a->start_ns > b->start_ns);
}

struct asking {
	struct pulses_answer *answer;
	const struct lake_value *values;
	size_t n;
};

static int read_file(struct lake_file *f, void *arg)
{
	const struct asking *asking = arg;
	struct lake_rows rows = { 0 };
	int err = lake_rows_open(f, &of_live, asking->values, asking->n, &rows);

	while (!err && (err = lake_rows_next(&rows)) > 0)
		err = add_pulse(asking->answer, f, &rows);
	lake_rows_close(&rows);
	return err;
}

int lake_pulses(struct lake *l, const char *host, uint64_t from_ns, uint64_t to_ns, struct lake_pulses **ret,
		char *why_text, size_t why_size)
{
	struct lake_why why = { why_text, why_size };
	struct pulses_answer *a = calloc(1, sizeof(*a));
	const struct lake_value values[] = {
		LAKE_NUMBER(from_ns), LAKE_NUMBER(to_ns), LAKE_TEXT(host ? host : ""),
		LAKE_NUMBER(0),       LAKE_NUMBER(!host),
	};
	int err;

	lake_say(&why, "out of memory");
	if (!a)
		return -ENOMEM;
	err = lake_each_file(l, &why, read_file, &(struct asking){ a, values, sizeof(values) / sizeof(values[0]) },
			     NULL);
	if (err) {
		lake_pulses_free(&a->pulses);
		return err;
	}
	if (a->pulses.n)
		qsort(a->pulses.one, a->pulses.n, sizeof(*a->pulses.one), newest_first);
	*ret = &a->pulses;
	return 0;
}

struct lake_pulses *lake_pulses_free(struct lake_pulses *pulses)
{
	struct pulses_answer *a = (struct pulses_answer *)pulses;

	if (!a)
		return NULL;
	free(pulses->one);
	arena_free(&a->arena);
	free(a);
	return NULL;
}
