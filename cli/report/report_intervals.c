/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/report_intervals.c - what the processes of a run did together in each interval: network and GPUs, which
 * have no samples by tool.
 *
 * skepd looks at all processes at one time, but a process may begin and end at any time, and a late look has a longer
 * sample.  So the samples of two processes begin and end at different times.  Each one is spread over the intervals.
 */
#include "cli/report/report_intervals.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/stats.h"

#define MOST 100000 /* intervals: no chart has so many pixels, and a start far in the past costs no more memory */

struct span {
	uint64_t from_ns, to_ns;
};

/* A process may be older than the run that it joined: its first sample counts from the run's begin on. */
static struct span span_of(const struct lake_report *r, const struct lake_progress *p)
{
	struct span s = { p->end_ns > p->interval_ns ? p->end_ns - p->interval_ns : 0, p->end_ns };

	if (s.from_ns < r->run.start_ns)
		s.from_ns = r->run.start_ns < s.to_ns ? r->run.start_ns : s.to_ns;
	return s;
}

/* The part of an amount from the begin of its span to that moment; all of it at the end, so that no byte is lost. */
static uint64_t until(struct span s, uint64_t ns, uint64_t amount)
{
	if (ns >= s.to_ns)
		return amount;
	return (uint64_t)((unsigned __int128)amount * (ns - s.from_ns) / (s.to_ns - s.from_ns));
}

static void spread(struct report_interval *list, size_t n, uint64_t length, struct span s,
		   const struct lake_progress *p)
{
	const uint64_t begin = list[0].start_ns;
	uint64_t net = 0, gpu = 0, to;
	size_t i = (s.from_ns - begin) / length;

	for (i = i < n ? i : n - 1; i < n; i++) {
		to = i + 1 < n ? begin + (i + 1) * length : s.to_ns;
		list[i].net_bytes += until(s, to, p->net_bytes) - net;
		list[i].gpu_busy_ns += until(s, to, p->gpu_busy_ns) - gpu;
		list[i].gpu_known |= p->gpu_known_ns > 0;
		if (to >= s.to_ns)
			return;
		net = until(s, to, p->net_bytes);
		gpu = until(s, to, p->gpu_busy_ns);
	}
}

/*
 * A quarter of most samples' length (`process_interval` of skepd): samples begin and end anywhere in the list's
 * intervals, and shorter intervals would show nothing more.
 */
static int length_of(const struct lake_report *r, uint64_t *ret)
{
	double *lengths = calloc(r->n_progress + 1, sizeof(*lengths));

	if (!lengths)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_progress; i++)
		lengths[i] = (double)r->progress[i].interval_ns;
	stats_sort(lengths, r->n_progress);
	*ret = r->n_progress ? (uint64_t)(stats_quantile(lengths, r->n_progress, 0.5) / 4) : 0;
	free(lengths);
	return 0;
}

int report_intervals(const struct lake_report *r, struct report_interval **ret, size_t *ret_n)
{
	struct span whole = { UINT64_MAX, 0 };
	struct report_interval *list;
	uint64_t length, all;
	size_t n;
	int err = length_of(r, &length);

	if (err)
		return err;
	for (size_t i = 0; i < r->n_progress; i++) {
		const struct span s = span_of(r, &r->progress[i]);

		whole.from_ns = s.from_ns < whole.from_ns ? s.from_ns : whole.from_ns;
		whole.to_ns = s.to_ns > whole.to_ns ? s.to_ns : whole.to_ns;
	}
	all = whole.to_ns > whole.from_ns ? whole.to_ns - whole.from_ns : 0;
	length = length > all / MOST ? length : all / MOST + 1;
	n = !r->n_progress ? 0 : all ? (all - 1) / length + 1 : 1;
	list = calloc(n + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		list[i].start_ns = whole.from_ns + i * length;
		list[i].interval_ns = length;
	}
	for (size_t i = 0; i < r->n_progress; i++)
		spread(list, n, length, span_of(r, &r->progress[i]), &r->progress[i]);
	if (n)
		list[n - 1].interval_ns = whole.to_ns - list[n - 1].start_ns;
	*ret = list;
	*ret_n = n;
	return 0;
}
