/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/run.c - reads the record of one run.
 */
#include "lake/run.h"

bool lake_contained_read(const struct lake_rows *s, int column, struct arena *a, struct lake_contained *ret)
{
	const char **const text[] = { &ret->container, &ret->container_name, &ret->container_image,
				      &ret->pod,       &ret->name_space,     &ret->unit };

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		*text[i] = lake_rows_text(s, column + (int)i, a);
		if (!*text[i])
			return false;
	}
	return true;
}

int lake_run_read(const struct lake_rows *s, struct arena *a, int64_t *ret_row, struct lake_run *ret)
{
	struct lake_run r = { 0 };
	const char **const text[] = { &r.id,     &r.name,    &r.pipeline, &r.host, &r.boot_id,
				      &r.kernel, &r.version, &r.state,    &r.cwd };
	uint64_t *const number[] = {
		&r.uid,
		&r.start_ns,
		&r.end_ns,
		NULL,
		&r.signal,
		&r.cpus,
		&r.interval_ns,
		&r.memory_peak_bytes,
		&r.processes_seen,
		&r.rusage_cpu_ns,
		&r.lost_kernel,
		&r.lost_queue,
		&r.lost_spool,
		&r.lost_sink,
	};
	int at = 1;

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		*text[i] = lake_rows_text(s, at++, a);
		if (!*text[i])
			goto nomem;
	}
	r.argv = lake_rows_list(s, at++, a);
	r.root_upid = lake_upid(a, r.boot_id, (uint64_t)lake_rows_number(s, at), (uint64_t)lake_rows_number(s, at + 1));
	at += 2;
	if (!r.argv || !r.root_upid)
		goto nomem;
	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++, at++) {
		if (number[i])
			*number[i] = (uint64_t)lake_rows_number(s, at);
		else
			r.exit_code = lake_rows_number(s, at);
	}
	r.engine = lake_rows_text(s, at, a);
	r.parent_run = lake_rows_text(s, at + 1, a);
	r.origin = lake_rows_text(s, at + 2, a);
	r.job = lake_rows_text(s, at + 3, a);
	r.memory_source = lake_rows_text(s, at + 4, a);
	if (!r.engine || !r.parent_run || !r.origin || !r.job || !r.memory_source ||
	    !lake_contained_read(s, at + 5, a, &r.in))
		goto nomem;
	*ret_row = lake_rows_number(s, 0);
	*ret = r;
	return 0;
nomem:
	return lake_file_error(s->file, SQLITE_NOMEM);
}

void lake_run_memory(struct lake_run *r)
{
	if (r->memory_peak_bytes >= r->totals.rss_peak_bytes)
		return;
	r->memory_peak_bytes = r->totals.rss_peak_bytes; /* it goes on, or its own record is lost */
	r->memory_source = "process";
}

const struct lake_question lake_run_of_key = {
	.sqlite = "SELECT " LAKE_RUN_COLUMNS " FROM run WHERE id = ?1",
	LAKE_OF_RUN(LAKE_RUN_COLUMNS_CLICKHOUSE, LAKE_RUN_COLUMNS_CLICKHOUSE, "run"),
};
