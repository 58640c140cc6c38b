/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a stream's plan: maps its table of fields to metrics.
 */
#include "sinks/otlp/plan.h"

#include <errno.h>
#include <skep/sink/fields.h>
#include <stdlib.h>
#include <string.h>

struct plan *plan_free(struct plan *p)
{
	if (p) {
		for (uint32_t i = 0; i < p->n_metrics; i++)
			names_metric_clear(&p->metrics[i].name);
		free(p->metrics);
		free(p->points);
		free(p->attributes);
	}
	free(p);
	return NULL;
}

/* Returns how a field becomes a point; 0: the field makes no point. */
static enum point_kind kind_of(const struct skep_field *f, enum names_form form)
{
	bool level = f->semantics == SKEP_S_GAUGE;

	if (form == NAMES_NOT || f->semantics == SKEP_S_ATTRIBUTE || !f->semantics)
		return 0;
	if (form == NAMES_SPREAD)
		return f->type == SKEP_T_U64 ? POINT_SPREAD : 0;
	switch (f->type) {
	case SKEP_T_U64:
		return level ? POINT_LEVEL : POINT_SUM;
	case SKEP_T_I64:
		return level ? POINT_LEVEL_SIGNED : POINT_SUM_SIGNED;
	case SKEP_T_F64:
		return level ? POINT_LEVEL_REAL : POINT_SUM_REAL;
	case SKEP_T_HIST:
		return f->semantics == SKEP_S_DELTA ? POINT_HIST : 0;
	default:
		return 0;
	}
}

/* Returns the index of the metric with this name and form, or adds it; -ENOMEM. Takes ownership of the name. */
static int64_t metric_of(struct plan *p, struct names_metric *name, const char *unit, const char *help,
			 enum point_kind kind)
{
	bool hist = point_is_hist(kind), sum = kind <= POINT_SUM_REAL || kind == POINT_COUNT;
	struct plan_metric *more;

	for (uint32_t i = 0; i < p->n_metrics; i++)
		if (strcmp(p->metrics[i].name.metric, name->metric) == 0 && p->metrics[i].hist == hist &&
		    p->metrics[i].sum == sum) {
			names_metric_clear(name);
			return i;
		}
	more = reallocarray(p->metrics, p->n_metrics + 1, sizeof(*more));
	if (!more) {
		names_metric_clear(name);
		return -ENOMEM;
	}
	p->metrics = more;
	/*
	 * Bucket bounds grow by 2^(1/4) from 1, so a histogram keeps the field's own unit: another unit would move the
	 * bounds.
	 */
	more[p->n_metrics] = (struct plan_metric){
		.name = *name,
		.seconds = strcmp(unit, "ns") == 0 && !hist,
		.unit = strcmp(unit, "ns") == 0 && !hist ? "s" : unit,
		.help = help ? help : "",
		.sum = sum,
		.hist = hist,
		.signed_sum = kind == POINT_SUM_SIGNED,
	};
	return p->n_metrics++;
}

static int add_point(struct plan *p, const struct skep_field *f, enum point_kind kind, struct names_metric *name,
		     const char *unit, const char *help)
{
	struct plan_point point = {
		.field = f,
		.kind = kind,
		.running = f && f->semantics == SKEP_S_CUMULATIVE,
		.attribute = name->attribute,
		.value = name->value,
	};
	int64_t metric = metric_of(p, name, unit, help, kind);
	struct plan_point *more;

	if (metric < 0)
		return (int)metric;
	point.metric = (uint32_t)metric;
	more = reallocarray(p->points, p->n_points + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	p->points = more;
	more[p->n_points++] = point;
	return 0;
}

/* Adds the metrics that no field reports: counts and durations of processes and runs. */
static int add_virtual(struct plan *p)
{
	struct names_metric process_count = { .metric = "skep.process.ended" },
			    process_time = { .metric = "skep.process.duration" };
	struct names_metric run_count = { .metric = "skep.run.ended" }, run_time = { .metric = "skep.run.duration" };
	int err = 0;

	if (p->kind == NAMES_PROCESS) {
		err = add_point(p, NULL, POINT_COUNT, &process_count, "{process}",
				"images of processes that have ended");
		if (!err)
			err = add_point(p, NULL, POINT_DURATION, &process_time, "ns", "how long they lived");
	} else if (p->kind == NAMES_RUN) {
		err = add_point(p, NULL, POINT_COUNT, &run_count, "{run}", "runs that have ended");
		if (!err)
			err = add_point(p, NULL, POINT_DURATION, &run_time, "ns", "how long they took");
	}
	return err;
}

static int add_attribute(struct plan *p, const struct skep_field *f)
{
	const char *name = names_attribute(p->stream, f);
	struct plan_attribute *more;

	if (!name)
		return 0;
	more = reallocarray(p->attributes, p->n_attributes + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	p->attributes = more;
	more[p->n_attributes++] = (struct plan_attribute){ f, name };
	return 0;
}

static void note(struct plan *p, const struct skep_field *f)
{
	if (f->type == SKEP_T_TIME && strcmp(f->name, "start_ns") == 0)
		p->start = f;
	else if (f->type == SKEP_T_TIME && strcmp(f->name, "end_ns") == 0)
		p->end = f;
	else if (f->type == SKEP_T_U64 && strcmp(f->name, "interval_ns") == 0)
		p->interval = f;
	else if (f->type == SKEP_T_I64 && strcmp(f->name, "cpu.logical_number") == 0)
		p->cpu = f;
	else if (f->type == SKEP_T_STR && strcmp(f->name, "run") == 0)
		p->run = f;
}

static int add_field(struct plan *p, const struct skep_field *f)
{
	struct names_metric name;
	enum point_kind kind;
	int err;

	note(p, f);
	/*
	 * The points of processes and runs have only attributes of the context: other attributes would make too many
	 * series.
	 */
	if (f->semantics == SKEP_S_ATTRIBUTE)
		return p->kind == NAMES_PROCESS || p->kind == NAMES_RUN || p->kind == NAMES_TOOL || p->kind == NAMES_CPU
			       ? 0
			       : add_attribute(p, f);
	err = names_metric(p->stream, f, &name);
	if (err)
		return err;
	kind = kind_of(f, name.form);
	/* The level of the last process says nothing about the others; runs have no facets. */
	if (p->kind == NAMES_PROCESS && f->semantics == SKEP_S_GAUGE && kind != POINT_SPREAD)
		kind = 0;
	if (!kind || !name.metric || (p->kind == NAMES_RUN && name.made)) {
		names_metric_clear(&name);
		return 0;
	}
	return add_point(p, f, kind, &name, f->unit ? f->unit : "", f->help);
}

struct plan *plan_new(const struct skep_stream *s)
{
	struct plan *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return NULL;
	p->stream = s;
	p->kind = names_stream(s);
	if (p->kind == NAMES_NO_METRIC)
		return p;
	err = add_virtual(p);
	for (uint32_t i = 0, n = skep_fields_count(s); i < n && !err; i++) {
		const struct skep_field *f = skep_fields_at(s, i);

		if (f)
			err = add_field(p, f);
	}
	return err ? plan_free(p) : p;
}
