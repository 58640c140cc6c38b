/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/report_intervals.c - what the processes of a run did together in each interval: network and GPUs, which
 * have no samples by tool.
 */
#include "cli/report/report_intervals.h"

#include <errno.h>
#include <stdlib.h>

#define INTERVAL_NS 5000000000.0

static int by_end(const void *a, const void *b)
{
	const struct lake_progress *x = *(const struct lake_progress *const *)a;
	const struct lake_progress *y = *(const struct lake_progress *const *)b;

	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static void add(struct report_interval *to, const struct lake_progress *p)
{
	to->end_ns = p->end_ns > to->end_ns ? p->end_ns : to->end_ns;
	to->interval_ns = p->interval_ns > to->interval_ns ? p->interval_ns : to->interval_ns;
	to->net_bytes += p->net_bytes;
	to->gpu_busy_ns += p->gpu_busy_ns;
	to->gpu_known |= p->gpu_known_ns > 0;
}

int report_intervals(const struct lake_report *r, struct report_interval **ret, size_t *ret_n)
{
	const double apart = (r->run.interval_ns ? (double)r->run.interval_ns : INTERVAL_NS) / 2;
	const struct lake_progress **progress = calloc(r->n_progress + 1, sizeof(const struct lake_progress *));
	struct report_interval *list = calloc(r->n_progress + 1, sizeof(*list));
	size_t n = 0;

	if (!progress || !list) {
		free(progress);
		free(list);
		return -ENOMEM;
	}
	for (size_t i = 0; i < r->n_progress; i++)
		progress[i] = &r->progress[i];
	if (r->n_progress)
		qsort(progress, r->n_progress, sizeof(*progress), by_end);
	/* skepd looks at all processes at one time, which takes it a moment */
	for (size_t i = 0, first = 0; i < r->n_progress; i++) {
		if (i == 0 || (double)(progress[i]->end_ns - progress[first]->end_ns) >= apart) {
			first = i;
			n++;
		}
		add(&list[n - 1], progress[i]);
	}
	free(progress);
	*ret = list;
	*ret_n = n;
	return 0;
}
