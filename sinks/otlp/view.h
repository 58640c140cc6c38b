/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp/view.h - reads the streams that become spans and events, by the names of their fields.
 * The sink looks up the fields once for each stream, not for each record.
 */
#ifndef SKEP_SINKS_OTLP_VIEW_H
#define SKEP_SINKS_OTLP_VIEW_H

#include <skep/plugin.h>

#include "sinks/otlp/pb.h"

enum view_kind { VIEW_OTHER = 0, VIEW_PROCESS, VIEW_RUN, VIEW_LOSS, VIEW_TASK, VIEW_FINDING };

/* Borrows all strings from the record. A field that the record lacks is empty or 0 (exit_code: -1). */
struct view {
	enum view_kind kind;
	struct skep_str run, pipeline, task, tool, container;
	struct skep_str task_id, step, scopes;                              /* process, task */
	struct skep_str engine, job, sample, name_source, requested_source, granted_source; /* run, task */
	struct skep_str origin, parent_run, account, join_key, memory_source; /* run */
	struct skep_str container_name, container_image, pod, namespace, unit;
	struct skep_str name, state, exe, filename, argv, cwd, cgroup, comm; /* process, run */
	struct skep_str traceparent;                                        /* run, task, process */
	struct skep_str host, boot_id, kernel;                              /* run */
	struct skep_str instance, stream, where;                            /* loss */
	struct skep_str id, what, severity, measure, evidence, advice; /* finding; what: its kind, measure: its unit */
	uint64_t window_ns;
	double value, threshold;
	uint64_t image, ppid, uid, start_ns, end_ns, signal;
	int64_t exit_code;
	uint64_t wrapper, execed, last, core_dumped, oom_killed;
	uint64_t cpu_ns, run_delay_ns, rss_peak_bytes, read_bytes, write_bytes, threads_peak, processes_seen, processes;
	uint64_t memory_peak_bytes; /* run */
	uint64_t oom_limit_bytes, count;
	uint64_t attempt, requested_memory_bytes, requested_walltime_ns, requested_gpus;
	uint64_t granted_memory_bytes, granted_gpus, inner_runs;
	double requested_cpus, granted_cpus;
};

struct views; /* caches look-ups */
struct views *views_new(void); /* NULL: no memory */
struct views *views_free(struct views *);
/* Fills *ret. False: no memory. For another stream the kind is VIEW_OTHER, with only the values of the context. */
bool view_of(struct views *, const struct skep_record *, struct view *ret);
/*
 * Writes, as field number `field`, the attributes that spans and log records of processes, tasks and runs share:
 * engine, job, step, container and so on.  Leaves out unknown ones.
 */
void view_attributes(struct pb *, uint32_t field, const struct view *);

static inline bool str_is(struct skep_str s, const char *text)
{
	return s.len == __builtin_strlen(text) && (s.len == 0 || __builtin_memcmp(s.ptr, text, s.len) == 0);
}

#endif
