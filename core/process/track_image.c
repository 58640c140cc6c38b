/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_image.c - emits one record for each image of a process.
 */
#include <signal.h>
#include <string.h>

#include "core/base/counters.h"
#include "core/process/track_priv.h"

void track_image_rss(struct proc *p, uint64_t peak_bytes, uint64_t maxrss_bytes)
{
	p->flags |= PROC_RSS_KNOWN;
	p->approx &= ~APPROX_RSS_PEAK;
	if (peak_bytes > 0) {
		p->rss_peak_bytes = peak_bytes;
	} else if (maxrss_bytes > p->maxrss_base_bytes) {
		/* signal->maxrss grew while this image ran, and only this image can have raised it. */
		p->rss_peak_bytes = maxrss_bytes;
	} else {
		/*
		 * This image stayed below the peak of an earlier one, which exec_mmap() keeps in signal->maxrss: an
		 * upper bound.
		 */
		if (p->maxrss_base_bytes > p->rss_peak_bytes)
			p->rss_peak_bytes = p->maxrss_base_bytes;
		p->approx |= APPROX_RSS_PEAK;
	}
}

void track_cgroup_path(struct track *t, struct proc *p)
{
	struct skep_str path;

	if (p->cgroup || !p->cgroup_id)
		return;
	path = cgroups_path(t->env.cgroups, p->cgroup_id, t->now_ns);
	intern_replace(t->intern, &p->cgroup, &path);
}

void track_image_out(struct track *t, struct proc *p, const char *state, const struct skep_counters *end,
		     uint64_t end_ns, bool last)
{
	struct record_process *r = t->record;
	struct skep_counters used;
	struct skep_context ctx;
	bool core = false;

	if (p->run && !(p->approx & APPROX_RSS_PEAK))
		run_largest(p->run, p->rss_peak_bytes);
	track_cgroup_path(t, p);
	track_proc_context(t, p, &ctx);
	t->stats.clamped += counters_sub(end, &p->base, &used);
	*r = (struct record_process) {
		.upid = p->upid,
		.parent_upid = p->parent,
		.image = p->image,
		.pid = p->upid.pid,
		.ppid = p->parent.pid,
		.run = ctx.run,
		.pipeline = ctx.pipeline,
		.task = ctx.task,
		.tool = ctx.tool,
		.container = ctx.container,
		.wrapper = p->program && p->program->wrapper,
		.execed = (p->flags & PROC_EXECED) != 0,
		.last = last,
		.oom_killed = last && (p->flags & PROC_OOM) != 0,
		.state = text_str(state),
		.comm = intern_str(p->comm),
		.cwd = intern_str(p->cwd),
		.cgroup = intern_str(p->cgroup),
		.labels = intern_str(p->labels),
		.uid = p->uid,
		.gid = p->gid,
		.session = p->session,
		.start_ns = p->image_start_ns,
		.end_ns = end_ns > p->image_start_ns ? end_ns : p->image_start_ns,
		.exit_code = -1,
		.approx = p->approx |
			  (p->program && p->program->argv_len == 0 && p->program->argv_total > 0 ? APPROX_ARGV : 0),
		.cpu_ns = used.cpu_ns,
		.run_delay_ns = used.run_delay_ns,
		.run_count = used.run_count,
		.voluntary_switches = used.voluntary_switches,
		.involuntary_switches = used.involuntary_switches,
		.minor_faults = used.minor_faults,
		.major_faults = used.major_faults,
		.rss_peak_bytes = p->rss_peak_bytes,
		.maxrss_bytes = last ? p->maxrss_bytes : 0,
		.rchar_bytes = used.rchar_bytes,
		.wchar_bytes = used.wchar_bytes,
		.read_calls = used.read_calls,
		.write_calls = used.write_calls,
		.read_bytes = used.read_bytes,
		.write_bytes = used.write_bytes,
		.cancelled_write_bytes = used.cancelled_write_bytes,
		.threads_peak = p->threads_peak,
		.task_id = text_str(p->task ? p->task->id : ""),
		.traceparent = track_traceparent(p),
		.environ = intern_str(p->environ),
		.step = intern_str(p->step),
		.scopes = intern_str(p->scope ? p->scope->names : NULL),
	};
	track_container(t, p, r);
	track_contained(t, p, r);
	counters_split(&p->base, end, &r->user_ns, &r->system_ns);
	if (p->program) {
		r->exe = intern_str(p->program->exe);
		r->filename = intern_str(p->program->filename);
		r->argv = (struct skep_str){ p->program->argv, p->program->argv_len, p->program->argv_total };
		r->exe_size_bytes = p->program->exe_size_bytes;
		r->exe_modified_ns = p->program->exe_modified_ns;
	}
	if (last && (p->flags & PROC_EXITED)) {
		run_decode_status(p->status, &r->exit_code, &r->signal, &core);
		r->core_dumped = core;
		/*
		 * The kernel marks a victim that is about to exit anyway and sends it no SIGKILL (task_will_free_mem(),
		 * mm/oom_kill.c): the process ended as its status says.
		 */
		r->oom_killed = r->oom_killed && r->signal == SIGKILL;
	}
	if (r->oom_killed && p->oom) {
		r->oom_cgroup = intern_str(p->oom->cgroup);
		r->oom_limit_bytes = p->oom->limit_bytes;
		r->oom_usage_bytes = p->oom->usage_bytes;
		r->oom_peak_bytes = p->oom->peak_bytes;
	}
	track_watch_ended(t, p, r);
	track_task_image(p, &used);
	track_finding_image(t, p, end, r->end_ns);
	track_sample_last(t, p, end, r->end_ns);
	facets_take(t->env.facets, p->facets, r);
	t->env.emit(t->env.out, t->env.process_stream, &p->upid, r->end_ns, r, &ctx);
}
