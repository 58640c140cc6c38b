/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/idle_after_run.c - finds hosts that stay on after their last run.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/waste.h"

enum { IDLE, CORES, POOL, USUAL };

/* From the end of a run, with nothing else running, to the begin of the next one. */
struct gap {
	const struct lake_span *after;
	uint64_t from_ns, to_ns;
	bool is_last;
};

/* Lists the gaps between the host's runs. The caller frees the list; NULL: no memory. */
static struct gap *gaps_of(const struct sweep *s, const struct lake_host *h, size_t *ret_n)
{
	const struct lake_span *runs = h->n_runs ? s->in->usage->runs + h->runs : NULL, *last = NULL;
	struct gap *gaps = calloc(h->n_runs + 1, sizeof(*gaps));
	bool live = false;
	size_t n = 0;

	for (size_t i = 0; gaps && i < h->n_runs && !live; i++) {
		if (!waste_is_useful(&runs[i]))
			continue;
		if (last && runs[i].start_ns > last->end_ns)
			gaps[n++] = (struct gap){ last, last->end_ns, runs[i].start_ns, false };
		live = !runs[i].end_ns;
		if (!last || runs[i].end_ns > last->end_ns)
			last = &runs[i];
	}
	if (gaps && last && !live && h->last_ns > last->end_ns)
		gaps[n++] = (struct gap){ last, last->end_ns, h->last_ns, true };
	*ret_n = n;
	return gaps;
}

static int by_length(const void *x, const void *y)
{
	const double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

/*
 * A host of a pool waits between jobs by design.  With some gaps behind it, only one that is several times as long as
 * nine tenths of them is waste.  0: the host is in no pool; -1: no memory.
 */
static double usual_gap_s(const struct gap *gaps, size_t n, const double *thresholds)
{
	double *length = calloc(n + 1, sizeof(*length)), usual = 0;
	size_t n_ended = 0;

	if (!length)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (!gaps[i].is_last)
			length[n_ended++] = (double)(gaps[i].to_ns - gaps[i].from_ns) / 1e9;
	if (n_ended && (double)n_ended >= thresholds[POOL]) {
		qsort(length, n_ended, sizeof(*length), by_length);
		usual = length[(n_ended - 1) * 9 / 10] * thresholds[USUAL];
	}
	free(length);
	return usual;
}

static bool is_idle(const struct sweep *s, const struct lake_host *h, const struct lake_hour *hour, double cores)
{
	double gpu_busy, gpu_known;

	if (!waste_is_known(hour) || waste_cores(hour, false) > cores)
		return false;
	waste_gpus(s, h, hour->start_ns, hour->start_ns + LAKE_HOUR_NS, &gpu_busy, &gpu_known);
	return gpu_busy <= 0.01 * gpu_known;
}

/* Half of it lies in a window in which the host was found idle. */
static bool is_told(const struct sweep *s, const struct lake_host *h, uint64_t from_ns, uint64_t to_ns)
{
	for (const struct waste_window *w = NULL; (w = waste_idle_before(s, h, w));) {
		const uint64_t from = from_ns > w->from_ns ? from_ns : w->from_ns,
			       to = to_ns < w->to_ns ? to_ns : w->to_ns;

		if (to > from && to - from >= (to_ns - from_ns) / 2)
			return true;
	}
	return false;
}

/* 0 or -ENOMEM. */
static int add_window(struct sweep *s, const struct lake_host *h, const struct gap *gap, uint64_t from_ns,
		      uint64_t to_ns, double least_s, struct sweep_finding *f)
{
	const double seconds = to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
	double gpu_busy, gpu_s;

	if (seconds < least_s || is_told(s, h, from_ns, to_ns))
		return 0;
	waste_gpus(s, h, from_ns, to_ns, &gpu_busy, &gpu_s);
	f->n++;
	f->seconds += seconds;
	f->amount.core_s += h->cpus * seconds;
	f->amount.byte_s += (double)h->memory_bytes * seconds;
	f->amount.gpu_s += gpu_s;
	if (to_ns - from_ns > f->to_ns - f->from_ns) {
		f->from_ns = from_ns;
		f->to_ns = to_ns;
		f->run = gap->after;
	}
	f->is_open |= gap->is_last && waste_is_open(h, to_ns);
	return waste_add_idle(s, h, from_ns, to_ns);
}

/* The parts of the gap in which the host was idle, by its hours. 0 or -ENOMEM. */
static int look_at(struct sweep *s, const struct lake_host *h, const struct lake_hour *hours, size_t n,
		    const struct gap *gap, double least_s, double cores, struct sweep_finding *f)
{
	uint64_t from_ns = 0, to_ns = 0;
	size_t low = 0, high = n;
	int rc = 0;

	while (low < high) { /* the first hour that ends in the gap */
		const size_t middle = low + (high - low) / 2;

		if (hours[middle].last_ns <= gap->from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i < n && hours[i].first_ns < gap->to_ns && rc == 0; i++) {
		const bool idle = is_idle(s, h, &hours[i], cores);

		if (to_ns && (!idle || !waste_is_next(&hours[i - 1], &hours[i]))) {
			rc = add_window(s, h, gap, from_ns, to_ns, least_s, f);
			to_ns = 0;
		}
		if (!idle)
			continue;
		if (!to_ns)
			from_ns = hours[i].first_ns > gap->from_ns ? hours[i].first_ns : gap->from_ns;
		to_ns = hours[i].last_ns < gap->to_ns ? hours[i].last_ns : gap->to_ns;
	}
	return rc == 0 && to_ns ? add_window(s, h, gap, from_ns, to_ns, least_s, f) : rc;
}

static int add(struct sweep *s, const struct finding_kind *kind, double least_s, const struct lake_host *h,
	       struct sweep_finding *f)
{
	char total[FINDING_NUMBER], longest[FINDING_NUMBER];

	f->kind = kind;
	f->severity = FINDING_WARN;
	f->host = h;
	f->value = (double)(f->to_ns - f->from_ns) / 1e9;
	f->threshold = least_s;
	f->subject = finding_text("%s", "");
	f->evidence = finding_text("after run %s it did nothing for %s%s%s%s", f->run->id,
				   finding_seconds(f->value, longest), f->n > 1 ? "; in all windows after runs " : "",
				   f->n > 1 ? finding_seconds(f->seconds, total) : "",
				   f->is_open ? ", to its last record" : "");
	f->advice = finding_text("%s", f->is_open ? "let it go, or lower the time after which your autoscaler does"
						  : "lower the time after which your autoscaler lets hosts go");
	return waste_add_take(s, f);
}

static int sweep_host(struct sweep *s, const struct finding_kind *kind, const double *thresholds,
		      const struct lake_host *h)
{
	const struct lake_hour *hours;
	struct sweep_finding f = { 0 };
	size_t at = 0, n_hours, n;
	struct gap *gaps;
	double usual_s, least_s = thresholds[IDLE];
	int rc = 0;

	if (!h->n_runs || !waste_next_item(s, h, "", &at, &hours, &n_hours))
		return 0;
	gaps = gaps_of(s, h, &n);
	usual_s = gaps ? usual_gap_s(gaps, n, thresholds) : -1;
	if (usual_s < 0)
		rc = -ENOMEM;
	if (usual_s > least_s)
		least_s = usual_s;
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = look_at(s, h, hours, n_hours, &gaps[i], least_s, thresholds[CORES], &f);
	free(gaps);
	return rc == 0 && f.run ? add(s, kind, least_s, h, &f) : rc;
}

static int sweep_hosts(struct sweep *s, const struct finding_kind *kind, const double *thresholds)
{
	const struct lake_usage *u = s->in->usage;
	int rc = 0;

	for (size_t i = 0; i < u->n_hosts && rc == 0; i++)
		rc = sweep_host(s, kind, thresholds, &u->hosts[i]);
	return rc;
}

const struct finding_kind waste_idle_after_run = {
	.id = "idle-after-run",
	.title = "a host that stays on after its run",
	.measures = "the longest time between two runs, or after the last one, in which the host did nothing",
	.unit = "s",
	.guards = "hosts of a pool, whose usual time between runs is nearly as long; windows that idle-host reports; hours of "
		  "which skep has no records. Runs that the system starts by the clock do not count",
	.advice = "a stop right after the run",
	.saving = "all its cores, memory and GPUs in these windows",
	.source = ANALYSIS_EXACT,
	.thresholds = {
		[IDLE] = { "idle", 1800, "s", "own: half an hour" },
		[CORES] = { "cores", 0.03, "{cpu}", "GCP's idle machines; outside of runs" },
		[POOL] = { "pool", 5, "1", "own: with so many times between runs the host is one of a pool" },
		[USUAL] = { "usual", 2, "1", "own: then a time is waste that is so many times as long as nine tenths of them" },
	},
	.sweep = sweep_hosts,
};
