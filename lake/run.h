/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/run.h - the record of a run, for a report and for the list of runs.  Internal to lake/.
 */
#ifndef SKEP_LAKE_RUN_H
#define SKEP_LAKE_RUN_H

#include "lake/rows.h"

#define LAKE_RUN_HEAD "run, name, pipeline, host, boot_id, kernel, version, state, cwd, "
#define LAKE_RUN_TAIL                                                                                             \
	"start_ns, end_ns, coalesce(exit_code, -1), signal, cpus, interval_ns, memory_peak_bytes, processes_seen, " \
	"rusage_cpu_ns, lost_kernel, lost_queue, lost_spool, lost_sink, engine, parent_run, origin, job, "      \
	"memory_source, container, container_name, container_image, pod, namespace, unit"
/* In the order that lake_run_read reads them. */
#define LAKE_RUN_COLUMNS "id, " LAKE_RUN_HEAD "argv, root_pid, root_start_boot_ns, uid, " LAKE_RUN_TAIL
#define LAKE_RUN_COLUMNS_CLICKHOUSE \
	"0, " LAKE_RUN_HEAD LAKE_LIST("argv") ", root_pid, root_start_boot_ns, uid_user, " LAKE_RUN_TAIL
#define LAKE_RUN_COLUMNS_N 38

/* Asks for the columns of the run of a key. */
extern const struct lake_question lake_run_of_key;
/* Reads a run from those columns; its strings are in the arena. ret_row: of the table run. 0 or -ENOMEM. */
int lake_run_read(const struct lake_rows *, struct arena *, int64_t *ret_row, struct lake_run *ret);
/* Its memory is at least the peak of its largest process, which the caller has put into its totals. */
void lake_run_memory(struct lake_run *);
/* Reads six columns from this one on; the strings are in the arena. false: no memory. */
bool lake_contained_read(const struct lake_rows *, int column, struct arena *, struct lake_contained *ret);

/*
 * A job of a shell that has used less than a second of CPU time: most of what a user types.  A condition on the table
 * run.
 */
#define LAKE_RUN_SMALL                                                                                            \
	"(origin = 'shell' AND (SELECT total(cpu_ns) FROM rollup_run t WHERE t.run = r.id) < 1000000000)"
/* which_: a condition that the asked runs fulfil: only their processes are summed up, and other jobs count as small. */
#define LAKE_RUN_SMALL_CLICKHOUSE(which_)                                                                         \
	"(origin = 'shell' AND run NOT IN (SELECT run FROM proc FINAL PREWHERE run IN (SELECT run FROM run WHERE "     \
	"origin = 'shell' AND " which_ ") GROUP BY run HAVING sum(cpu_ns) >= 1000000000))"

#endif
