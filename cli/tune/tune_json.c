/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/tune/tune_json.c - prints an analysis as JSON.
 */
#include <errno.h>

#include "cli/base/json_out.h"
#include "cli/tune/tune.h"

/* A figure that is not known is null. */
static json_t *known(double value)
{
	return value > 0 ? json_real(value) : json_null();
}

static json_t *size_json(const struct analysis_size *s)
{
	if (s->value <= 0)
		return json_null();
	return json_pack("{s:f, s:s, s:I, s:I, s:s}", "value", s->value, "confidence", tune_confidence(s->confidence), "executions",
			 (json_int_t)s->n, "runs", (json_int_t)s->runs, "rule", s->rule);
}

static json_t *values_json(const double *sorted, size_t n)
{
	if (!n)
		return json_null();
	return json_pack("{s:f, s:f, s:f}", "min", sorted[0], "median", (sorted[(n - 1) / 2] + sorted[n / 2]) / 2, "max",
			 sorted[n - 1]);
}

static json_t *group_json(const struct analysis_group *g)
{
	const struct analysis_size cpus = analysis_size_cpus(g), memory = analysis_size_memory(g);
	const struct analysis_size walltime = analysis_size_walltime(g);
	const struct analysis_waits *w = &g->waits;

	return json_pack(
		"{s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:{s:o, s:o, s:o}, s:s, s:s,"
		" s:{s:f, s:f, s:f, s:f, s:f, s:f, s:f}, s:{s:o, s:o, s:o, s:o}}",
		"task", json_out_string(g->name), "engine", g->engine, "executions", (json_int_t)g->n, "ended_well",
		(json_int_t)g->n_ok, "failed", (json_int_t)g->n_failed, "oom_killed", (json_int_t)g->n_oom, "running",
		(json_int_t)g->n_running, "shares", (json_int_t)g->n_shares, "wall_s", values_json(g->wall_s, g->n_ok), "cores", values_json(g->cores, g->n_ok),
		"busy_cores", values_json(g->busy_cores, g->n_ok), "memory_bytes", values_json(g->memory, g->n_ok), "requested", "cpus",
		known(g->requested_cpus), "memory_bytes", known(g->requested_memory), "walltime_s",
		known(g->requested_walltime_s), "bound_by", analysis_bound_text(g->bound), "bound_by_source",
		analysis_source_text(g->bound_source), "waits", "lifetime_s", w->lifetime_s, "cpu_s", w->cpu_s, "run_queue_s",
		w->queue_s, "block_s", w->block_s, "rest_s", w->rest_s, "quota_s", w->quota_s, "memory_s", w->memory_s, "ask_for", "cpus", size_json(&cpus), "memory_bytes",
		size_json(&memory), "first_attempt_memory_bytes", known(g->first_memory), "walltime_s", size_json(&walltime));
}

/* Without a price the saving has no key nano. */
static json_t *finding_json(const struct tune_price *price, const struct finding *f)
{
	const int64_t worth = tune_worth(price, &f->saving);

	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:I, s:f, s:f, s:s, s:s, s:s, s:s, s:o, s:o, s:{s:f, s:f, s:f, s:f, s:f, s:o*}, s:o}",
			 "id", f->kind->id, "title", f->kind->title, "severity", tune_severity(f->severity), "of",
			 tune_subject(f->of), "name", json_out_string(f->name), "n", (json_int_t)f->n, "value", f->value,
			 "threshold", f->threshold, "unit", f->kind->unit, "measures", f->kind->measures, "confidence",
			 tune_confidence(f->confidence), "source", analysis_source_text(f->kind->source), "evidence",
			 json_out_string(f->evidence), "advice", json_out_string(f->advice), "saving", "core_s",
			 f->saving.core_s, "byte_s", f->saving.byte_s, "cpu_s", f->saving.cpu_s, "wall_s", f->saving.wall_s,
			 "gpu_s", f->saving.gpu_s, "nano", worth < 0 ? NULL : json_integer((json_int_t)worth), "process", f->process ? json_out_string(f->process->upid) : json_null());
}

/* Appends and owns the value. */
static int append(json_t *array, json_t *value)
{
	return json_array_append_new(array, value) == 0 ? 0 : -ENOMEM;
}

/* A new reference; NULL: no memory. */
static json_t *path_json(const struct lake_run *run, const struct analysis_path *path)
{
	json_t *steps = json_array(), *parts = json_array();
	int rc = steps && parts ? 0 : -ENOMEM;

	for (size_t i = 0; i < path->n_steps && rc == 0; i++) {
		const struct analysis_step *s = &path->steps[i];
		const uint64_t end = s->task->end_ns > s->task->start_ns ? s->task->end_ns : s->task->start_ns;

		rc = append(steps, json_pack("{s:o, s:o, s:f, s:f, s:f, s:s}", "task", json_out_string(s->task->task), "task_id",
					     json_out_string(s->task->task_id), "start_s",
					     ((double)s->task->start_ns - (double)run->start_ns) / 1e9, "wall_s",
					     (double)(end - s->task->start_ns) / 1e9, "gap_s", s->gap_s, "follows",
					     analysis_link_text(s->link)));
	}
	for (size_t i = 0; i < path->n_parts && rc == 0; i++)
		rc = append(parts, json_pack("{s:o, s:I, s:f, s:o}", "name", json_out_string(path->parts[i].name), "n",
					     (json_int_t)path->parts[i].n, "seconds", path->parts[i].seconds, "saving_s",
					     known(path->parts[i].saving_s)));
	if (rc) {
		json_decref(steps);
		json_decref(parts);
		return NULL;
	}
	return json_pack("{s:s, s:f, s:o, s:o}", "of", path->n_steps ? "tasks" : "processes", "gaps_s", path->gaps_s, "steps",
			 steps, "parts", parts);
}

int tune_json(const struct lake_report *r, const struct analysis *a, const struct tune_history *history,
	      const struct tune_price *price, FILE *out)
{
	const struct lake_run *run = &r->run;
	const struct analysis_group *const *groups;
	const struct finding *findings;
	const size_t n_groups = analysis_groups(a, &groups), n = analysis_findings(a, &findings);
	const uint64_t lost = lake_run_lost(run);
	json_t *tasks = json_array(), *found = json_array(), *observed = NULL;
	struct analysis_path *path = NULL;
	double shortest;
	int rc = tasks && found ? analysis_path_new(a, &path) : -ENOMEM;

	for (size_t i = 0; i < n_groups && rc == 0; i++)
		rc = append(tasks, group_json(groups[i]));
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = append(found, finding_json(price, &findings[i]));
	if (rc == 0)
		observed = path_json(run, path);
	analysis_path_free(path);
	if (rc) {
		json_decref(tasks);
		json_decref(found);
		return rc;
	}
	return json_out_write(json_pack("{s:{s:o, s:o, s:o, s:s, s:b, s:I}, s:{s:I, s:I, s:b}, s:o, s:o, s:o}", "run", "id",
					json_out_string(run->id), "name", json_out_string(run->name), "pipeline",
					json_out_string(run->pipeline), "engine", run->engine, "too_short",
					analysis_too_short(a, &shortest), "records_lost", (json_int_t)lost, "history", "runs",
					(json_int_t)history->n, "left_out", (json_int_t)history->left_out, "more", history->more,
					"tasks", tasks, "findings", found, "observed_path", observed),
			      out);
}
