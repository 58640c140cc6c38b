/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp/view.h - reads the streams that become spans and events, by the names of their fields.
 * The sink looks up the fields once for each stream, not for each record.
 */
#ifndef SKEP_SINKS_OTLP_VIEW_H
#define SKEP_SINKS_OTLP_VIEW_H

#include <skep/plugin.h>

enum view_kind { VIEW_OTHER = 0, VIEW_PROCESS, VIEW_RUN, VIEW_LOSS, VIEW_TASK };

/* Borrows all strings from the record. A field that the record lacks is empty or 0 (exit_code: -1). */
struct view {
	enum view_kind kind;
	struct skep_str run, pipeline, task, tool, container;
	struct skep_str task_id;                                            /* process, task */
	struct skep_str name, state, exe, filename, argv, cwd, cgroup, comm; /* process, run */
	struct skep_str traceparent;                                        /* run, task, process */
	struct skep_str host, boot_id, kernel;                              /* run */
	struct skep_str instance, stream, where;                            /* loss */
	uint64_t image, ppid, uid, start_ns, end_ns, signal;
	int64_t exit_code;
	uint64_t wrapper, execed, last, core_dumped, oom_killed;
	uint64_t cpu_ns, run_delay_ns, rss_peak_bytes, read_bytes, write_bytes, threads_peak, processes_seen, processes;
	uint64_t oom_limit_bytes, count;
};

struct views; /* caches look-ups */
struct views *views_new(void); /* NULL: no memory */
struct views *views_free(struct views *);
/* Fills *ret. False: no memory. For another stream the kind is VIEW_OTHER, with only the values of the context. */
bool view_of(struct views *, const struct skep_record *, struct view *ret);

static inline bool str_is(struct skep_str s, const char *text)
{
	return s.len == __builtin_strlen(text) && (s.len == 0 || __builtin_memcmp(s.ptr, text, s.len) == 0);
}

#endif
