/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/diff/diff_json.c - prints a comparison of runs as JSON.
 */
#include <errno.h>
#include <string.h>

#include "cli/base/json_out.h"
#include "cli/base/json_stream.h"
#include "cli/diff/diff_print.h"
#include "cli/report/report.h"

/* Sets and owns the value; keeps the first failure. */
static void put(json_t *object, const char *key, json_t *value, int *rc)
{
	if (json_object_set_new(object, key, value) != 0)
		*rc = -ENOMEM;
}

static void append(json_t *array, json_t *value, int *rc)
{
	if (json_array_append_new(array, value) != 0)
		*rc = -ENOMEM;
}

/* The value if it is complete, else NULL; frees it then. */
static json_t *whole(json_t *value, int rc)
{
	if (rc == 0)
		return value;
	json_decref(value);
	return NULL;
}

static json_t *text_json(const char *s)
{
	return s ? json_out_string(s) : json_null();
}

static json_t *pair_json(size_t a, size_t b)
{
	return json_pack("{s:I, s:I}", "a", (json_int_t)a, "b", (json_int_t)b);
}

static json_t *range_json(const struct diff_figure *f)
{
	return f->bounded ? json_pack("[f, f]", f->low, f->high) : json_null();
}

static json_t *figure_json(const struct diff_figure *f, bool history)
{
	static const char *const verdicts[] = {
		[DIFF_OBSERVED] = "observed",
		[DIFF_SAME] = "same",
		[DIFF_MORE] = "more",
		[DIFF_LESS] = "less",
	};
	const bool tested = f->verdict != DIFF_OBSERVED, both = f->n_a && f->n_b;
	int rc = 0;
	json_t *o = json_object();

	put(o, "a", f->n_a ? json_real(f->a) : json_null(), &rc);
	put(o, "b", f->n_b ? json_real(f->b) : json_null(), &rc);
	put(o, "n_a", json_integer((json_int_t)f->n_a), &rc);
	put(o, "n_b", json_integer((json_int_t)f->n_b), &rc);
	put(o, "ratio", both && f->a > 0 ? json_real(f->b / f->a) : json_null(), &rc);
	put(o, "change", both ? json_real(f->change) : json_null(), &rc);
	put(o, "large", json_boolean(f->large), &rc);
	put(o, "verdict", json_string(verdicts[f->verdict]), &rc);
	put(o, "p", tested && !history ? json_real(f->p) : json_null(), &rc);
	put(o, history ? "usual" : "interval", tested ? range_json(f) : json_null(), &rc);
	return whole(o, rc);
}

static json_t *split_json(const struct diff_split *s)
{
	if (!s->known)
		return json_null();
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "total_s", s->total_s, "cpu_s", s->cpu_s, "run_queue_s", s->queue_s,
			 "block_s", s->block_s, "rest_s", s->rest_s, "parallel_s", s->parallel_s);
}

static json_t *row_json(const struct diff_row *r, bool history)
{
	static const char *const presences[] = { [DIFF_BOTH] = "both", [DIFF_NEW] = "new", [DIFF_GONE] = "gone" };
	json_t *o = json_object(), *figures = json_object();
	int rc = 0;

	for (enum diff_metric m = 0; m < DIFF_METRICS; m++)
		put(figures, diff_measures[m].id, figure_json(&r->figures[m], history), &rc);
	if (r->of != FINDING_OF_RUN) {
		put(o, "name", json_out_string(r->name), &rc);
		put(o, "presence", json_string(presences[r->presence]), &rc);
		put(o, "executions", pair_json(r->executions_a, r->executions_b), &rc);
		put(o, "failed", pair_json(r->failed_a, r->failed_b), &rc);
	}
	put(o, "differs", json_boolean(r->differs), &rc);
	put(o, "wall_change", split_json(&r->split), &rc);
	put(o, "figures", figures, &rc);
	return whole(o, rc);
}

static json_t *rows_json(const struct diff *d, enum finding_subject of)
{
	const struct diff_row *rows;
	const size_t n = diff_rows(d, of, &rows);
	json_t *array = json_array();
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		append(array, row_json(&rows[i], diff_is_history(d)), &rc);
	return whole(array, rc);
}

static json_t *changes_json(const struct diff *d)
{
	static const char *const subjects[] = {
		[FINDING_OF_RUN] = "run",
		[FINDING_OF_TASK] = "task",
		[FINDING_OF_TOOL] = "tool",
	};
	static const char *const kinds[] = {
		[DIFF_HOST] = "host",       [DIFF_KERNEL] = "kernel",   [DIFF_CPUS] = "cpus",       [DIFF_VERSION] = "version",
		[DIFF_PIPELINE] = "pipeline", [DIFF_COMMAND] = "command", [DIFF_REQUEST] = "request", [DIFF_BINARY] = "binary",
		[DIFF_FILE] = "file",       [DIFF_IMAGE] = "image",     [DIFF_OPTION] = "option",
	};
	const struct diff_change *c;
	const size_t n = diff_changes(d, &c);
	json_t *array = json_array();
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		append(array,
		       json_pack("{s:s, s:o, s:s, s:o, s:o}", "of", subjects[c[i].of], "name", json_out_string(c[i].name), "what",
				 kinds[c[i].what], "a", text_json(c[i].a), "b", text_json(c[i].b)),
		       &rc);
	return whole(array, rc);
}

static void runs_out(struct json_stream *o, const char *key, struct lake_report *const *reports, size_t n)
{
	json_stream_open(o, key, '[');
	for (size_t i = 0; i < n; i++) {
		json_stream_open(o, NULL, '{');
		report_json_run(o, &reports[i]->run);
		json_stream_number(o, "records_lost", lake_run_lost(&reports[i]->run));
		json_stream_close(o, '}');
	}
	json_stream_close(o, ']');
}

int diff_print_json(const struct diff_answer *a, FILE *out)
{
	struct lake_report *const after[] = { (struct lake_report *)a->after };
	const bool history = diff_is_history(a->diff);
	struct json_stream o = { .out = out };

	json_stream_open(&o, NULL, '{');
	json_stream_bool(&o, "history", history);
	runs_out(&o, "a", a->before, a->n_before);
	runs_out(&o, "b", after, 1);
	json_stream_value(&o, "changes", changes_json(a->diff));
	json_stream_value(&o, "run", row_json(diff_run(a->diff), history));
	json_stream_value(&o, "tasks", rows_json(a->diff, FINDING_OF_TASK));
	json_stream_value(&o, "tools", rows_json(a->diff, FINDING_OF_TOOL));
	json_stream_close(&o, '}');
	return json_stream_end(&o);
}
