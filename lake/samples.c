/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/samples.c - reads the samples of a run's tools.
 */
#include <stdlib.h>
#include <string.h>

#include "lake/answer.h"

#define COLUMNS \
	"tool, start_ns, interval_ns, cpu_ns, run_delay_ns, read_bytes, write_bytes, rss_bytes, processes, started"

static const struct lake_question of_run = {
	.sqlite = "SELECT " COLUMNS " FROM sample WHERE run = ?1",
	LAKE_OF_RUN(COLUMNS, COLUMNS, "sample"),
};

static int read_sample(struct answer *a, const struct lake_rows *rows, struct lake_sample *ret)
{
	uint64_t *const number[] = {
		&ret->start_ns,   &ret->interval_ns, &ret->cpu_ns,    &ret->run_delay_ns, &ret->read_bytes,
		&ret->write_bytes, &ret->rss_bytes,  &ret->processes, &ret->started,
	};
	int64_t tool;
	size_t at;
	double cores;
	int err = answer_name(a, rows, 0, &ret->tool, &tool);

	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		*number[i] = (uint64_t)lake_rows_number(rows, (int)i + 1);
	if (err || !ret->interval_ns)
		return err;
	/* While a run is in progress, a tool may have samples but no process record: answer_tool adds it. */
	err = answer_tool(a, tool, &at);
	if (err)
		return err;
	cores = (double)ret->cpu_ns / (double)ret->interval_ns;
	if (cores > a->span[at].cores_peak)
		a->span[at].cores_peak = cores;
	return 0;
}

/* By start, then tool, then all that could differ: a back end stores samples in its own order. */
static int by_start(const void *a, const void *b)
{
	const struct lake_sample *x = a, *y = b;
	const uint64_t of_x[] = { x->interval_ns, x->cpu_ns,    x->run_delay_ns, x->read_bytes,
				  x->write_bytes, x->rss_bytes, x->processes,    x->started };
	const uint64_t of_y[] = { y->interval_ns, y->cpu_ns,    y->run_delay_ns, y->read_bytes,
				  y->write_bytes, y->rss_bytes, y->processes,    y->started };
	int order;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	order = x->tool == y->tool ? 0 : strcmp(x->tool, y->tool);
	return order ? order : memcmp(of_x, of_y, sizeof(of_x));
}

int lake_samples_read(struct answer *a, const struct lake_key *run)
{
	struct lake_report *r = &a->report;
	struct lake_rows rows = { 0 };
	int err = lake_rows_of_run(a->file, &of_run, run, &rows);

	if (err)
		return err;
	while ((err = lake_rows_next(&rows)) > 0) {
		void *grown = answer_grow(r->samples, r->n_samples, &a->sample_room, sizeof(*r->samples));

		if (!grown) {
			err = lake_file_error(a->file, SQLITE_NOMEM);
			break;
		}
		r->samples = grown;
		err = read_sample(a, &rows, &r->samples[r->n_samples]);
		if (err)
			break;
		r->n_samples++;
	}
	lake_rows_close(&rows);
	if (!err && r->n_samples)
		qsort(r->samples, r->n_samples, sizeof(*r->samples), by_start);
	return err;
}
