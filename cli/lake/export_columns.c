/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/export_columns.c - see export_columns.h.  The names are those of `skep show --json`.
 */
#include "cli/lake/export_columns.h"

#include <string.h>

#define AT(of, name_, type_, member) { name_, EXPORT_##type_, EXPORT_OF_ROW, offsetof(struct lake_##of, member) }
#define KIND(name_, type_, member) { name_, EXPORT_##type_, EXPORT_OF_KIND, offsetof(struct lake_kind, member) }
#define CONTAINER(name_, type_, member) \
	{ name_, EXPORT_##type_, EXPORT_OF_CONTAINER, offsetof(struct lake_container, member) }
#define END { .name = NULL }

#define CONTAINED(of, at)                                              \
	AT(of, "container", TEXT, at.container),                       \
	AT(of, "container_name", TEXT, at.container_name),             \
	AT(of, "container_image", TEXT, at.container_image),           \
	AT(of, "pod", TEXT, at.pod), AT(of, "namespace", TEXT, at.name_space), AT(of, "unit", TEXT, at.unit)

#define SUMS(of)                                                                 \
	AT(of, "cpu_ns", NUMBER, totals.cpu_ns),                                 \
	AT(of, "run_delay_ns", NUMBER, totals.run_delay_ns),                     \
	AT(of, "rchar_bytes", NUMBER, totals.rchar_bytes),                       \
	AT(of, "wchar_bytes", NUMBER, totals.wchar_bytes),                       \
	AT(of, "read_bytes", NUMBER, totals.read_bytes), AT(of, "write_bytes", NUMBER, totals.write_bytes)

static const struct export_column runs[] = {
	AT(run, "run", TEXT, id),
	AT(run, "name", TEXT, name),
	AT(run, "pipeline", TEXT, pipeline),
	AT(run, "engine", TEXT, engine),
	AT(run, "origin", TEXT, origin),
	AT(run, "parent_run", TEXT, parent_run),
	AT(run, "job", TEXT, job),
	AT(run, "state", TEXT, state),
	AT(run, "host", TEXT, host),
	AT(run, "boot_id", TEXT, boot_id),
	AT(run, "kernel", TEXT, kernel),
	AT(run, "skep_version", TEXT, version),
	AT(run, "uid", NUMBER, uid),
	AT(run, "cwd", TEXT, cwd),
	AT(run, "argv", LIST, argv),
	AT(run, "root_upid", TEXT, root_upid),
	AT(run, "start", TIME, start_ns),
	AT(run, "end", TIME, end_ns),
	AT(run, "exit_code", CODE, exit_code),
	AT(run, "signal", KNOWN, signal),
	AT(run, "cpus", KNOWN, cpus),
	AT(run, "interval_ns", KNOWN, interval_ns),
	AT(run, "memory_peak_bytes", NUMBER, memory_peak_bytes),
	AT(run, "memory_source", TEXT, memory_source),
	AT(run, "processes_seen", NUMBER, processes_seen),
	AT(run, "rusage_cpu_ns", KNOWN, rusage_cpu_ns),
	AT(run, "processes", NUMBER, totals.processes),
	AT(run, "images", NUMBER, totals.images),
	AT(run, "failures", NUMBER, failures),
	SUMS(run),
	AT(run, "lost_kernel", NUMBER, lost_kernel),
	AT(run, "lost_queue", NUMBER, lost_queue),
	AT(run, "lost_spool", NUMBER, lost_spool),
	AT(run, "lost_sink", NUMBER, lost_sink),
	CONTAINED(run, in),
	END,
};

static const struct export_column tasks[] = {
	AT(task, "task_id", TEXT, task_id),
	AT(task, "task", TEXT, task),
	AT(task, "name_source", TEXT, name_source),
	AT(task, "state", TEXT, state),
	AT(task, "engine", TEXT, engine),
	AT(task, "sample", TEXT, sample),
	AT(task, "job", TEXT, job),
	AT(task, "step", TEXT, step),
	AT(task, "scopes", TEXT, scopes),
	AT(task, "traceparent", TEXT, traceparent),
	AT(task, "attempt", KNOWN, attempt),
	AT(task, "start", TIME, start_ns),
	AT(task, "end", TIME, end_ns),
	AT(task, "exit_code", CODE, exit_code),
	AT(task, "signal", KNOWN, signal),
	AT(task, "requested_cpus", REAL, requested_cpus),
	AT(task, "requested_memory_bytes", KNOWN, requested_memory_bytes),
	AT(task, "requested_walltime_ns", KNOWN, requested_walltime_ns),
	AT(task, "requested_gpus", KNOWN, requested_gpus),
	AT(task, "requested_source", TEXT, requested_source),
	AT(task, "granted_cpus", REAL, granted_cpus),
	AT(task, "granted_memory_bytes", KNOWN, granted_memory_bytes),
	AT(task, "granted_gpus", KNOWN, granted_gpus),
	AT(task, "granted_source", TEXT, granted_source),
	AT(task, "inner_runs", NUMBER, inner_runs),
	AT(task, "cores_peak", REAL, cores_peak),
	AT(task, "processes", NUMBER, totals.processes),
	AT(task, "failures", NUMBER, failures),
	AT(task, "rss_peak_bytes", NUMBER, totals.rss_peak_bytes),
	SUMS(task),
	CONTAINED(task, in),
	END,
};

static const struct export_column processes[] = {
	AT(process, "upid", TEXT, upid),
	AT(process, "parent_upid", TEXT, parent_upid),
	AT(process, "image", NUMBER, image),
	KIND("last", BOOL, last),
	AT(process, "pid", NUMBER, pid),
	AT(process, "ppid", NUMBER, ppid),
	KIND("task_id", TEXT, task_id),
	AT(process, "task", TEXT, task),
	KIND("step", TEXT, step),
	KIND("scopes", TEXT, scopes),
	KIND("tool", TEXT, tool),
	KIND("wrapper", BOOL, wrapper),
	KIND("execed", BOOL, execed),
	KIND("state", TEXT, state),
	KIND("comm", TEXT, comm),
	KIND("exe", TEXT, exe),
	KIND("exe_size_bytes", KNOWN, exe_size_bytes),
	KIND("exe_modified", TIME, exe_modified_ns),
	KIND("filename", TEXT, filename),
	AT(process, "argv", LIST, argv),
	AT(process, "argv_cut", BOOL, argv_cut),
	CONTAINER("labels", LIST, labels),
	KIND("cwd", TEXT, cwd),
	KIND("uid", NUMBER, uid),
	KIND("gid", NUMBER, gid),
	KIND("session", NUMBER, session),
	AT(process, "start", TIME, start_ns),
	AT(process, "end", TIME, end_ns),
	KIND("exit_code", CODE, exit_code),
	KIND("signal", KNOWN, signal),
	KIND("core_dumped", BOOL, core_dumped),
	KIND("oom_killed", BOOL, oom_killed),
	KIND("oom_cgroup", TEXT, oom_cgroup),
	KIND("oom_limit_bytes", KNOWN, oom_limit_bytes),
	KIND("oom_usage_bytes", KNOWN, oom_usage_bytes),
	KIND("oom_peak_bytes", KNOWN, oom_peak_bytes),
	KIND("approx", NUMBER, approx), /* bits: APPROX_* of core/process/records.h */
	AT(process, "user_ns", NUMBER, totals.user_ns),
	AT(process, "system_ns", NUMBER, totals.system_ns),
	SUMS(process),
	AT(process, "cancelled_write_bytes", NUMBER, totals.cancelled_write_bytes),
	AT(process, "read_calls", NUMBER, read_calls),
	AT(process, "write_calls", NUMBER, write_calls),
	AT(process, "net_rx_bytes", NET, totals.net_rx_bytes),
	AT(process, "net_tx_bytes", NET, totals.net_tx_bytes),
	AT(process, "block_delay_ns", NUMBER, totals.block_delay_ns),
	AT(process, "run_count", NUMBER, run_count),
	AT(process, "voluntary_switches", NUMBER, totals.voluntary_switches),
	AT(process, "involuntary_switches", NUMBER, totals.involuntary_switches),
	AT(process, "minor_faults", NUMBER, totals.minor_faults),
	AT(process, "major_faults", NUMBER, totals.major_faults),
	AT(process, "rss_peak_bytes", NUMBER, totals.rss_peak_bytes),
	AT(process, "maxrss_bytes", KNOWN, maxrss_bytes),
	AT(process, "threads_peak", KNOWN, totals.threads),
	KIND("cgroup", TEXT, cgroup),
	KIND("container", TEXT, container),
	CONTAINER("container_name", TEXT, container_name),
	CONTAINER("container_image", TEXT, container_image),
	CONTAINER("pod", TEXT, pod),
	CONTAINER("namespace", TEXT, name_space),
	KIND("unit", TEXT, unit),
	{ .name = "facets", .type = EXPORT_FACETS },
	END,
};

static const struct export_column samples[] = {
	AT(sample, "tool", TEXT, tool),
	AT(sample, "start", TIME, start_ns),
	AT(sample, "interval_ns", NUMBER, interval_ns),
	AT(sample, "cpu_ns", NUMBER, cpu_ns),
	AT(sample, "run_delay_ns", NUMBER, run_delay_ns),
	AT(sample, "read_bytes", NUMBER, read_bytes),
	AT(sample, "write_bytes", NUMBER, write_bytes),
	AT(sample, "rss_bytes", NUMBER, rss_bytes),
	AT(sample, "processes", NUMBER, processes),
	AT(sample, "started", NUMBER, started),
	END,
};

static const struct export_column ledger[] = {
	AT(ledger, "account", TEXT, account),
	AT(ledger, "item", TEXT, item),
	AT(ledger, "kind", TEXT, kind),
	AT(ledger, "amount", SIGNED, amount),
	AT(ledger, "interval_ns", NUMBER, interval_ns),
	END,
};

#define ROWS(name_, row, list)                                                                    \
	{ .name = (name_), .columns = (list), .size = sizeof(struct lake_##row),                  \
	  .rows = offsetof(struct lake_report, list), .n = offsetof(struct lake_report, n_##list) }

const struct export_kind export_kinds[EXPORT_KINDS] = {
	[EXPORT_RUNS] = { .name = "runs", .columns = runs, .size = sizeof(struct lake_run) },
	[EXPORT_TASKS] = ROWS("tasks", task, tasks),
	[EXPORT_PROCESSES] = ROWS("processes", process, processes),
	[EXPORT_SAMPLES] = ROWS("samples", sample, samples),
	[EXPORT_LEDGER] = ROWS("ledger", ledger, ledger),
};

const void *export_at(const struct export_column *c, const void *row)
{
	const struct lake_process *p = row;
	const void *of = c->of == EXPORT_OF_KIND ? p->kind : c->of == EXPORT_OF_CONTAINER ? (const void *)p->in : row;

	return (const char *)of + c->offset;
}

const struct export_kind *export_kind_of(const char *name)
{
	for (size_t i = 0; i < EXPORT_KINDS; i++)
		if (strcmp(export_kinds[i].name, name) == 0)
			return &export_kinds[i];
	return NULL;
}
