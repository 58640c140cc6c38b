/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds records to the running sums of their groups.
 */
#include "sinks/otlp/metrics.h"

#include <errno.h>
#include <skep/hist.h>
#include <skep/sink/fields.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ignore a clock that moves back by less: a slewed clock, or a step that points.c evens out within a few batches. */
#define STEP_BACK_NS 1000000000

int metrics_init(struct metrics *m, uint32_t most_groups, bool by_run, uint64_t interval_ns)
{
	*m = (struct metrics){ .by_run = by_run, .interval_ns = interval_ns };
	return groups_init(&m->groups, most_groups);
}

void metrics_free(struct metrics *m)
{
	groups_free(&m->groups);
	for (size_t i = 0; i < m->n_plans; i++)
		plan_free(m->plans[i]);
	free(m->plans);
	*m = (struct metrics){ 0 };
}

static struct plan *plan_of(struct metrics *m, const struct skep_stream *s)
{
	struct plan **more, *plan;

	if (m->last < m->n_plans && m->plans[m->last]->stream == s)
		return m->plans[m->last];
	for (m->last = 0; m->last < m->n_plans; m->last++)
		if (m->plans[m->last]->stream == s)
			return m->plans[m->last];
	plan = plan_new(s);
	more = plan ? reallocarray(m->plans, m->n_plans + 1, sizeof(*more)) : NULL;
	if (!more)
		return plan_free(plan);
	m->plans = more;
	m->plans[m->n_plans++] = plan;
	return plan;
}

static const char *outcome(const struct view *v)
{
	if (v->oom_killed)
		return "oom";
	if (v->signal)
		return "signal";
	if (v->exit_code > 0)
		return "failure";
	if (v->exit_code == 0)
		return "success";
	return str_is(v->state, "replaced") ? "replaced" : "unknown";
}

static void key_of(const struct metrics *m, const struct plan *p, const struct skep_record *r, const struct view *v,
		   struct group_key *k)
{
	k->len = 0;
	k->full = false;
	if (m->by_run)
		group_key_add(k, NAME_RUN_ID, v->run);
	group_key_add(k, NAME_PIPELINE, v->pipeline);
	if (p->kind != NAMES_RUN) {
		group_key_add(k, NAME_TASK, v->task);
		group_key_add(k, NAME_TOOL, v->tool);
	}
	if (p->kind == NAMES_GENERIC)
		group_key_add(k, NAME_CONTAINER, v->container);
	if (p->kind == NAMES_PROCESS || p->kind == NAMES_RUN)
		group_key_text(k, NAME_OUTCOME, outcome(v));
	for (uint32_t i = 0; i < p->n_attributes; i++) {
		const struct plan_attribute *a = &p->attributes[i];
		char number[24];
		int n;

		if (a->field->type == SKEP_T_STR) {
			group_key_add(k, a->name, skep_field_str(a->field, r->data));
			continue;
		}
		n = snprintf(number, sizeof(number), "%lld", (long long)skep_field_i64(a->field, r->data));
		group_key_add(k, a->name, (struct skep_str){ number, (uint32_t)n, (uint32_t)n });
	}
}

static uint64_t number_at(const struct skep_field *f, const void *data)
{
	uint64_t u = 0;

	if (f)
		memcpy(&u, (const char *)data + f->offset, sizeof(u));
	return u;
}

static int add_to_hist(union group_value *v, const struct skep_hist *h)
{
	if (!v->hist) {
		v->hist = calloc(1, sizeof(*v->hist));
		if (!v->hist)
			return -ENOMEM;
	}
	for (uint32_t k = 0; k < h->n && k < SKEP_HIST_SLOTS; k++)
		v->hist->slots[k] += h->slots[k];
	v->hist->sum += h->sum;
	return 0;
}

static int spread(union group_value *v, uint64_t value)
{
	int err = add_to_hist(v, &(struct skep_hist){ 0 });

	if (!err) {
		v->hist->slots[skep_hist_slot_of(value)]++;
		v->hist->sum += value;
	}
	return err;
}

/* Adds a record's value to a point. add: another run has reported a level for the same time, so add both levels. */
static int count_point(const struct plan *p, const struct plan_point *point, union group_value *v, const void *data,
		       bool add)
{
	struct skep_hist hist;
	union group_value is = { .u = point->kind == POINT_HIST ? 0 : number_at(point->field, data) };
	uint64_t start, end;

	switch (point->kind) {
	case POINT_SUM:
		v->u = point->running ? is.u : v->u + is.u;
		return 0;
	case POINT_SUM_SIGNED:
		v->u = point->running ? is.u : v->u + is.u; /* unsigned, because a signed overflow would be undefined */
		return 0;
	case POINT_SUM_REAL:
		v->f = point->running ? is.f : v->f + is.f;
		return 0;
	case POINT_LEVEL:
	case POINT_LEVEL_SIGNED:
		v->u = add ? v->u + is.u : is.u;
		return 0;
	case POINT_LEVEL_REAL:
		v->f = add ? v->f + is.f : is.f;
		return 0;
	case POINT_HIST:
		hist = skep_field_hist(point->field, data);
		return hist.n ? add_to_hist(v, &hist) : 0;
	case POINT_SPREAD:
		return spread(v, is.u);
	case POINT_COUNT:
		v->u++;
		return 0;
	case POINT_DURATION:
		start = number_at(p->start, data);
		end = number_at(p->end, data);
		return start && end >= start ? spread(v, end - start) : 0;
	}
	return 0;
}

/* True for a record that the sink does not count, although it counts its stream. */
static bool is_left_out(const struct plan *p, const struct skep_record *r, const struct view *v)
{
	switch (p->kind) {
	case NAMES_CPU:
		return p->cpu && skep_field_i64(p->cpu, r->data) >= 0;
	case NAMES_RUN:
		return !str_is(v->state, "ended");
	case NAMES_LEDGER:
		return p->run && skep_field_str(p->run, r->data).len > 0;
	case NAMES_NO_METRIC:
		return true;
	default:
		return p->n_points == 0;
	}
}

static uint64_t begin_of(const struct metrics *m, const struct plan *p, const struct skep_record *r, int64_t offset,
			 uint64_t now_ns)
{
	uint64_t start = number_at(p->start, r->data), interval = number_at(p->interval, r->data), begin;

	if (!interval)
		interval = m->interval_ns;
	if (start && start + (uint64_t)offset <= now_ns)
		begin = start + (uint64_t)offset;
	else
		begin = now_ns > interval ? now_ns - interval : 0;
	return begin > m->groups.floor_ns ? begin : m->groups.floor_ns;
}

void metrics_clock(struct metrics *m, const char *boot_id, int64_t offset)
{
	if (strncmp(m->boot_id, boot_id, sizeof(m->boot_id) - 1) == 0 && offset < m->offset_ns - STEP_BACK_NS)
		groups_restart(&m->groups);
	snprintf(m->boot_id, sizeof(m->boot_id), "%s", boot_id);
	m->offset_ns = offset;
}

int metrics_add(struct metrics *m, const struct skep_record *r, const struct view *v, int64_t offset, bool count)
{
	uint64_t now_ns = r->time_ns + (uint64_t)offset, overflowed = m->groups.overflowed;
	struct group_key key;
	struct group *g;
	struct plan *p;
	bool add;
	int err = 0;

	if (!r->stream || !r->data)
		return 0;
	p = plan_of(m, r->stream);
	if (!p)
		return -ENOMEM;
	if (is_left_out(p, r, v))
		return 0;
	key_of(m, p, r, v, &key);
	g = groups_get(&m->groups, p, &key, now_ns);
	if (!count)
		m->groups.overflowed = overflowed; /* the first offer of the batch has counted this record already */
	if (!g)
		return -ENOMEM;
	if (!g->start_ns)
		g->start_ns = begin_of(m, p, r, offset, now_ns);
	add = p->kind == NAMES_TOOL && g->last_ns == now_ns;
	for (uint32_t i = 0; count && i < p->n_points && !err; i++)
		if (!g->overflow || plan_adds_up(p, &p->points[i]))
			err = count_point(p, &p->points[i], &g->values[i], r->data, add);
	if (now_ns > g->last_ns)
		g->last_ns = now_ns;
	m->added++;
	if (!g->touched) {
		g->touched = true;
		g->next_touched = p->touched;
		p->touched = g;
	}
	return err;
}
