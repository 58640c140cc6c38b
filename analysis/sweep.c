/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/sweep.c - the table of sweep's findings, and functions that they share.
 */
#include "analysis/sweep.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/waste.h"

#define GAP_NS    (300 * UINT64_C(1000000000)) /* between two records of a watched host: intervals are seconds */
#define AHEAD_NS  (300 * UINT64_C(1000000000))
#define LAST_MOST 200 /* so many findings get their last useful process: a question each */

const struct finding_kind *const sweep_kinds[] = {
	&waste_idle_host, /* before waste_idle_after_run, which leaves its windows out */
	&waste_idle_after_run,
	&waste_orphan_container,
	&waste_leftover_process,
	&waste_gpu_held_idle,
	&waste_stuck,
	NULL,
};

double sweep_worth(const struct sweep_amount *a)
{
	return (a->core_s + 0.13 * a->byte_s / GIB + 30 * a->gpu_s) / 3600;
}

/* "": not known. In a lake of one host, whose name no run says, the machine has none. */
static const char *type_of(const struct sweep_input *in, const struct lake_host *h)
{
	for (size_t i = 0; in->claims && i < in->claims->n_machines; i++) {
		const struct lake_machine *m = &in->claims->machines[i];

		if (strcmp(m->host, h->name) == 0 || (!*m->host && in->usage->n_hosts == 1))
			return m->instance_type;
	}
	return "";
}

/* By the price that the host had when the window began. */
static void value_finding(const struct sweep_input *in, struct sweep_finding *f)
{
	const struct price_machine machine = {
		.host = f->host->name,
		.instance_type = type_of(in, f->host),
		.has = { .cores = (uint64_t)llround(f->host->cpus), .memory_kib = f->host->memory_bytes / 1024 },
	};
	const double amounts[PRICE_RESOURCES] = {
		[PRICE_CPU] = f->amount.core_s * 1e9,
		[PRICE_MEMORY] = f->amount.byte_s / 1024,
		[PRICE_GPU] = f->amount.gpu_s * 1e9,
	};
	const struct price *price = price_find(in->prices, &machine, (int64_t)f->from_ns);
	const struct price_capacity has = price ? price_capacity(price, &machine) : machine.has;

	int64_t nano = 0;

	f->unpriced = !price || price_of_uses(price, &has, amounts, &nano) != 0;
	f->worth = (double)nano / PRICE_NANO;
}

bool sweep_setting_known(const char *asked, char ret_near[ANALYSIS_SETTING_NAME])
{
	return finding_threshold_known(sweep_kinds, NULL, asked, ret_near);
}

/* ---- hours ---------------------------------------------------------------------------- */

/* The first of these hours, from `low` on, whose item is not before that one; after: or is not the same. */
static size_t bound(const struct lake_hour *hours, size_t low, size_t high, const char *item, bool after)
{
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const int order = strcmp(hours[middle].item, item);

		if (order < 0 || (after && order == 0))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool waste_next_item(const struct sweep *s, const struct lake_host *h, const char *kind, size_t *at,
		     const struct lake_hour **ret, size_t *ret_n)
{
	const struct lake_hour *hours;
	size_t first;

	if (!h->n_hours) /* there may be no list */
		return false;
	hours = s->in->usage->hours + h->hours;
	first = bound(hours, *at, h->n_hours, kind, false);
	*at = h->n_hours;
	if (first == h->n_hours || (*kind ? strncmp(hours[first].item, kind, strlen(kind)) != 0 : *hours[first].item))
		return false;
	*at = bound(hours, first, h->n_hours, hours[first].item, true);
	*ret = hours + first;
	*ret_n = *at - first;
	return true;
}

bool waste_is_known(const struct lake_hour *h)
{
	const double known = (double)h->known_ns, span = (double)(h->last_ns - h->first_ns);

	return h->last_ns > h->first_ns && known > 0.9 * fmin(span, 3600e9) &&
	       known < 1.1 * fmin(fmax(span, 60e9), 3660e9);
}

bool waste_is_next(const struct lake_hour *h, const struct lake_hour *next)
{
	return next->start_ns == h->start_ns + LAKE_HOUR_NS && next->first_ns <= h->last_ns + GAP_NS &&
	       waste_is_known(h) && waste_is_known(next);
}

double waste_cores(const struct lake_hour *h, bool with_runs)
{
	const double busy = (double)h->busy_ns - (double)h->daemons_ns - (with_runs ? 0 : (double)h->runs_ns);

	return h->known_ns && busy > 0 ? busy / (double)h->known_ns : 0;
}

/* The first of these hours that ends after that time. */
static size_t hour_at(const struct lake_hour *hours, size_t n, uint64_t ns)
{
	size_t low = 0, high = n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (hours[middle].start_ns + LAKE_HOUR_NS <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void waste_gpus(const struct sweep *s, const struct lake_host *h, uint64_t from_ns, uint64_t to_ns, double *ret_busy_s,
		double *ret_known_s)
{
	const struct lake_hour *hours;
	size_t at = 0, n;

	*ret_busy_s = *ret_known_s = 0;
	while (waste_next_item(s, h, "gpu/", &at, &hours, &n))
		for (size_t i = hour_at(hours, n, from_ns); i < n && hours[i].start_ns < to_ns; i++) {
			const struct lake_hour *o = &hours[i];
			const uint64_t from = from_ns > o->first_ns ? from_ns : o->first_ns;
			const uint64_t to = to_ns < o->last_ns ? to_ns : o->last_ns;
			const double span = (double)(o->last_ns - o->first_ns);
			const double part = to > from ? (double)(to - from) / span : 0;

			*ret_busy_s += part * (double)o->busy_ns / 1e9;
			*ret_known_s += part * (double)o->known_ns / 1e9;
		}
}

/* ---- runs ------------------------------------------------------------------------------- */

bool waste_is_useful(const struct lake_span *run)
{
	return run->uid != 0 || strcmp(run->origin, "origin") != 0;
}

const struct lake_span *waste_last_run(const struct sweep *s, const struct lake_host *h, uint64_t ns)
{
	const struct lake_span *runs = h->n_runs ? s->in->usage->runs + h->runs : NULL, *last = NULL;

	for (size_t i = 0; i < h->n_runs && runs[i].start_ns <= ns; i++)
		if (runs[i].end_ns && runs[i].end_ns <= ns && waste_is_useful(&runs[i]) &&
		    (!last || runs[i].end_ns >= last->end_ns))
			last = &runs[i];
	return last;
}

bool waste_is_open(const struct lake_host *h, uint64_t ns)
{
	return ns + GAP_NS >= h->last_ns;
}

bool waste_is_one_of(const char *tool, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(tool, *words) == 0)
			return true;
	return false;
}

/* ---- findings ------------------------------------------------------------------------------ */

static void texts_free(const struct sweep_finding *f)
{
	free(f->subject);
	free(f->evidence);
	free(f->advice);
	free(f->last_tool);
}

int waste_add_take(struct sweep *s, const struct sweep_finding *f)
{
	const bool whole = f->subject && f->evidence && f->advice;

	if (whole && s->n_findings == s->room) {
		const size_t room = s->room ? 2 * s->room : 16;
		struct sweep_finding *grown = reallocarray(s->findings, room, sizeof(*grown));

		if (grown) {
			s->findings = grown;
			s->room = room;
		}
	}
	if (!whole || s->n_findings == s->room) {
		texts_free(f);
		return -ENOMEM;
	}
	s->findings[s->n_findings++] = *f;
	return 0;
}

int waste_add_idle(struct sweep *s, const struct lake_host *h, uint64_t from_ns, uint64_t to_ns)
{
	size_t *newest = &s->idle_of[h - s->in->usage->hosts];

	if (s->n_idle == s->idle_room) {
		const size_t room = s->idle_room ? 2 * s->idle_room : 64;
		struct waste_window *grown = reallocarray(s->idle, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		s->idle = grown;
		s->idle_room = room;
	}
	s->idle[s->n_idle++] = (struct waste_window){ from_ns, to_ns, *newest };
	*newest = s->n_idle;
	return 0;
}

const struct waste_window *waste_idle_before(const struct sweep *s, const struct lake_host *h,
						     const struct waste_window *w)
{
	const size_t at = w ? w->before : s->idle_of[h - s->in->usage->hosts];

	return at ? &s->idle[at - 1] : NULL;
}

static int most_first(const void *x, const void *y)
{
	const struct sweep_finding *a = x, *b = y;
	int order;

	if (a->worth < b->worth || a->worth > b->worth)
		return a->worth > b->worth ? -1 : 1;
	if (a->seconds < b->seconds || a->seconds > b->seconds)
		return a->seconds > b->seconds ? -1 : 1;
	order = strcmp(a->host->name, b->host->name);
	if (!order)
		order = strcmp(a->kind->id, b->kind->id);
	return order ? order : strcmp(a->subject, b->subject);
}

/* Names the last useful process of a finding that has its run. 0 or -errno. */
static int find_last(const struct sweep *s, struct sweep_finding *f)
{
	const struct sweep_asks *asks = s->in->asks;
	struct lake_seen_list *list = NULL;
	uint64_t until_ns = f->from_ns;
	int rc;

	if (!asks || !asks->last_process || !f->run || f->last_tool)
		return 0;
	/* a window begins with an hour or a sample; the run's last process ended with the run */
	if (f->run->end_ns > until_ns)
		until_ns = f->run->end_ns;
	rc = asks->last_process(asks->arg, f->run, until_ns, &list);
	if (rc == 0 && list->n) {
		f->last_tool = strdup(list->one[0].tool);
		f->last_ns = list->one[0].time_ns;
		rc = f->last_tool ? 0 : -ENOMEM;
	}
	lake_seen_list_free(list);
	return rc;
}

int sweep_new(const struct sweep_input *in, const struct analysis_setting *settings, size_t n, struct sweep **ret)
{
	struct sweep *s = calloc(1, sizeof(*s));
	int rc = 0;

	if (!s)
		return -ENOMEM;
	s->in = in;
	s->idle_of = calloc(in->usage->n_hosts + 1, sizeof(*s->idle_of));
	rc = s->idle_of ? 0 : -ENOMEM;
	for (const struct finding_kind *const *k = sweep_kinds; *k && rc == 0; k++) {
		double thresholds[FINDING_THRESHOLDS] = { 0 };

		for (size_t i = 0; i < FINDING_THRESHOLDS && (*k)->thresholds[i].name; i++)
			thresholds[i] = finding_threshold_value(*k, &(*k)->thresholds[i], settings, n);
		rc = (*k)->sweep(s, *k, thresholds);
	}
	for (size_t i = 0; i < s->n_findings && rc == 0; i++)
		if (in->prices)
			value_finding(in, &s->findings[i]);
		else
			s->findings[i].worth = sweep_worth(&s->findings[i].amount);
	if (s->n_findings)
		qsort(s->findings, s->n_findings, sizeof(*s->findings), most_first);
	for (size_t i = 0; i < s->n_findings && i < LAST_MOST && rc == 0; i++)
		rc = find_last(s, &s->findings[i]);
	if (rc) {
		sweep_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

struct sweep *sweep_free(struct sweep *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->n_findings; i++)
		texts_free(&s->findings[i]);
	free(s->findings);
	free(s->idle);
	free(s->idle_of);
	free(s);
	return NULL;
}

size_t sweep_findings(const struct sweep *s, const struct sweep_finding **ret)
{
	*ret = s->findings;
	return s->n_findings;
}

/* ---- doubts ----------------------------------------------------------------------------------- */

void sweep_doubts(const struct lake_usage *u, uint64_t until_ns, struct sweep_doubts *ret)
{
	const struct sweep s = { .in = &(struct sweep_input){ .usage = u } };

	*ret = (struct sweep_doubts){ 0 };
	for (size_t i = 0; i < u->n_hosts; i++) {
		const struct lake_host *h = &u->hosts[i];
		const struct lake_hour *hours;
		size_t at = 0, n = 0, known = 0;

		if (waste_next_item(&s, h, "", &at, &hours, &n))
			for (size_t k = 0; k < n; k++) {
				known += hours[k].known_ns > 0;
				if (hours[k].known_ns < LAKE_HOUR_NS + LAKE_HOUR_NS / 10)
					continue;
				ret->shared = ret->shared ? ret->shared : h->name;
				ret->hours_shared++;
			}
		ret->hosts_without_hours += !known;
		if (h->last_ns > until_ns + AHEAD_NS) {
			ret->ahead = ret->ahead ? ret->ahead : h->name;
			ret->hosts_ahead++;
			ret->ahead_s = fmax(ret->ahead_s, (double)(h->last_ns - until_ns) / 1e9);
		} else if (h->last_ns + LAKE_HOUR_NS < until_ns) {
			ret->silent = ret->silent ? ret->silent : h->name;
			ret->hosts_silent++;
		}
	}
}
