/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans how a stream's records become metrics: deltas become counters, levels become gauges, distributions become
 * histograms, and texts become labels.
 */
#include "sinks/prometheus/plan.h"

#include <skep/sink/fields.h>
#include <skep/sink/jsonw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sinks/prometheus/names.h"
#include "sinks/prometheus/stream_metrics.h"

static const struct {
	const char *name;
	uint32_t offset;
} context_members[] = {
	{ "run", offsetof(struct skep_context, run) },
	{ "pipeline", offsetof(struct skep_context, pipeline) },
	{ "task", offsetof(struct skep_context, task) },
	{ "tool", offsetof(struct skep_context, tool) },
	{ "container", offsetof(struct skep_context, container) },
};
#define N_CONTEXT (sizeof(context_members) / sizeof(context_members[0]))

void plan_free(struct plan *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->n_labels; i++)
		free(p->labels[i].name);
	for (uint32_t i = 0; i < p->n_metrics; i++) {
		free(p->metrics[i].name);
		free((char *)p->metrics[i].help);
	}
	free(p->labels);
	free(p->metrics);
	free(p->name);
	free(p->shape);
	free(p);
}

/* Returns everything that a plan depends on, as a text. */
static char *shape_of(const struct skep_stream *s)
{
	struct jsonw w = { 0 };

	skep_jsonw_u64(&w, s->role);
	for (uint32_t i = 0, n = skep_fields_count(s); i < n; i++) {
		const struct skep_field *f = skep_fields_at(s, i);

		jsonw_lit(&w, "\n");
		if (!f)
			continue;
		skep_jsonw_raw(&w, f->name, strlen(f->name));
		jsonw_lit(&w, " ");
		skep_jsonw_u64(&w, f->type);
		jsonw_lit(&w, " ");
		skep_jsonw_u64(&w, f->semantics);
		jsonw_lit(&w, " ");
		skep_jsonw_u64(&w, f->offset);
		jsonw_lit(&w, " ");
		skep_jsonw_raw(&w, f->unit ? f->unit : "", f->unit ? strlen(f->unit) : 0);
	}
	skep_jsonw_raw(&w, "", 1);
	if (!w.err)
		return w.buf;
	skep_jsonw_free(&w);
	return NULL;
}

static bool has_label(const struct plan *p, const char *name)
{
	for (uint32_t i = 0; i < p->n_labels; i++)
		if (strcmp(p->labels[i].name, name) == 0)
			return true;
	return false;
}

/* Inserts a label in the order of names, as the store compares rows by their bytes. The caller has reserved room. */
static int add_label(struct plan *p, const char *attribute, uint32_t field, uint32_t context)
{
	char *name = names_label(attribute);
	uint32_t i = p->n_labels;

	if (!name)
		return -ENOMEM;
	if (has_label(p, name)) {
		free(name);
		return 0;
	}
	for (; i > 0 && strcmp(p->labels[i - 1].name, name) > 0; i--)
		p->labels[i] = p->labels[i - 1];
	p->labels[i] = (struct plan_label){ .name = name, .field = field, .context = context };
	p->n_labels++;
	return 0;
}

/* True when the list "a=b c" has the attribute. *ret: the label's name in the list, n bytes. */
static bool listed(const char *list, const char *attribute, const char **ret, size_t *ret_n)
{
	size_t n = strlen(attribute);

	for (const char *at = list; at && *at;) {
		size_t word = strcspn(at, " "), name = strcspn(at, "= ");

		if (name == n && memcmp(at, attribute, n) == 0) {
			*ret = name < word ? at + name + 1 : at;
			*ret_n = name < word ? word - name - 1 : name;
			return true;
		}
		at += word + strspn(at + word, " ");
	}
	return false;
}

static int plan_labels(struct plan *p, bool with_run)
{
	uint32_t n = skep_fields_count(p->stream);
	int err = 0;

	p->labels = calloc(n + N_CONTEXT, sizeof(p->labels[0]));
	if (!p->labels)
		return -ENOMEM;
	for (uint32_t i = 0; i < n && !err; i++) {
		const struct skep_field *f = skep_fields_at(p->stream, i);
		const char *as;
		size_t len;
		char *name;

		if (!f || f->semantics != SKEP_S_ATTRIBUTE || (strcmp(f->name, "run") == 0 && !with_run))
			continue;
		if (p->spec) {
			if (!listed(p->spec->labels, f->name, &as, &len))
				continue;
		} else if (f->type == SKEP_T_STR) {
			as = f->name; /* texts distinguish one device or queue from another */
			len = strlen(as);
		} else {
			continue;
		}
		if (f->type != SKEP_T_STR && f->type != SKEP_T_U64 && f->type != SKEP_T_I64 && f->type != SKEP_T_BOOL)
			continue;
		name = strndup(as, len);
		err = name ? add_label(p, name, i, 0) : -ENOMEM;
		free(name);
	}
	if (p->spec && (p->spec->flags & METRICS_NO_CONTEXT))
		return err;
	for (size_t i = 0; i < N_CONTEXT && !err; i++)
		if (i > 0 || with_run)
			err = add_label(p, context_members[i].name, PLAN_CONTEXT, context_members[i].offset);
	return err;
}

static bool is_skipped(const struct plan *p, const char *field)
{
	const char *at = p->spec && p->spec->skip ? strstr(p->spec->skip, field) : NULL;

	return at && at[-1] == ' ' && at[strlen(field)] == ' ';
}

static int add_metric(struct store *s, struct plan *p, const struct skep_field *f, uint32_t field)
{
	const char *prefix = p->spec && p->spec->prefix ? p->spec->prefix : p->name, *unit;
	struct metric *m = &p->metrics[p->n_metrics];

	m->field = field;
	m->adds = f->semantics == SKEP_S_DELTA;
	m->type = f->type == SKEP_T_HIST                                              ? METRIC_HISTOGRAM
		  : m->adds && !(p->spec && (p->spec->flags & METRICS_UP_DOWN)) ? METRIC_COUNTER
										      : METRIC_GAUGE;
	m->name = names_metric(prefix, f->name, f->unit, m->type == METRIC_COUNTER, &unit, &m->divisor);
	if (m->name && store_has_name(s, m->name)) {
		/* two streams have system.memory.limit: the second one gets its stream's name as prefix */
		char *name;

		free(m->name);
		m->name = NULL;
		if (asprintf(&name, "%s_%s", prefix, f->name) < 0)
			return -ENOMEM;
		m->name = names_metric("", name, f->unit, m->type == METRIC_COUNTER, &unit, &m->divisor);
		free(name);
		if (m->name && store_has_name(s, m->name)) {
			free(m->name); /* a second metric with the same name and labels: keep the first */
			m->name = NULL;
			return 0;
		}
	}
	for (uint32_t i = 0; m->name && i < p->n_metrics; i++)
		if (strcmp(p->metrics[i].name, m->name) == 0) {
			free(m->name);
			m->name = NULL;
			return 0;
		}
	m->unit = unit;
	m->help = strdup(f->help ? f->help : "");
	if (!m->name || !m->help) {
		free(m->name);
		free((char *)m->help);
		return -ENOMEM;
	}
	m->at = p->n_values;
	p->n_values += m->type == METRIC_HISTOGRAM ? METRIC_HIST_SLOTS : 1;
	p->width += m->type == METRIC_HISTOGRAM ? METRIC_LES + 3 : 1;
	p->n_metrics++;
	return 0;
}

static int add_count(struct plan *p)
{
	struct metric *m = &p->metrics[p->n_metrics];

	*m = (struct metric) {
		.name = strdup(p->spec->count),
		.help = strdup(p->spec->count_help),
		.type = p->is_info ? METRIC_GAUGE : METRIC_COUNTER,
		.adds = !p->is_info,
		.divisor = 1,
		.field = METRIC_COUNT,
		.at = p->n_values,
	};
	if (!m->name || !m->help) {
		free(m->name);
		free((char *)m->help);
		return -ENOMEM;
	}
	p->n_values++;
	p->width++;
	p->n_metrics++;
	return 0;
}

static int plan_metrics(struct store *s, struct plan *p)
{
	uint32_t n = p->spec && (p->spec->flags & METRICS_NO_VALUES) ? 0 : skep_fields_count(p->stream);
	int err = 0;

	p->metrics = calloc(n + 1, sizeof(p->metrics[0]));
	if (!p->metrics)
		return -ENOMEM;
	if (p->spec && p->spec->count)
		err = add_count(p);
	for (uint32_t i = 0; i < n && !err; i++) {
		const struct skep_field *f = skep_fields_at(p->stream, i);

		if (!f || (!skep_field_is_number(f) && f->type != SKEP_T_HIST) || is_skipped(p, f->name))
			continue;
		/*
		 * a cumulative field counts since its process began, so the values of several processes do not add up
		 */
		if (f->semantics == SKEP_S_DELTA || (f->semantics == SKEP_S_GAUGE && f->type != SKEP_T_HIST))
			err = add_metric(s, p, f, i);
	}
	return err;
}

static struct plan *plan_new(struct store *s, const struct skep_stream *stream, char *shape, bool with_run)
{
	struct plan *p = calloc(1, sizeof(*p));

	if (!p) {
		free(shape);
		return NULL;
	}
	p->stream = stream;
	p->shape = shape;
	p->spec = stream_metrics_find(stream->name);
	p->name = strdup(stream->name);
	/*
	 * a detail's reader gets its records itself, and attachment, process and path would make a series of each
	 * record
	 */
	p->is_info = p->spec && (p->spec->flags & METRICS_INFO);
	p->skip = stream->role == SKEP_ROLE_DETAIL || (p->spec && (p->spec->flags & METRICS_SKIP));
	if (!p->name || (!p->skip && (plan_labels(p, with_run) || plan_metrics(s, p)))) {
		plan_free(p);
		return NULL;
	}
	if (!p->n_metrics)
		p->skip = true;
	store_add_plan(s, p);
	return p;
}

struct plan *plan_get(struct store *s, const struct skep_stream *stream, bool with_run)
{
	struct plan *p;
	char *shape;

	for (p = s->plans; p; p = p->next)
		if (p->stream == stream)
			return p;
	shape = shape_of(stream);
	if (!shape)
		return NULL;
	p = store_plan(s, stream->name);
	if (p && strcmp(p->shape, shape) == 0) {
		free(shape);
		p->stream = stream;
		return p;
	}
	if (p)
		store_drop_plan(s, p);
	return plan_new(s, stream, shape, with_run);
}
