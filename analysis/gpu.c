/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/gpu.c - what the processes of a task or a tool made of their GPUs, interval by interval.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/finding.h"

#define INTERVAL_NS 5000000000.0

static int by_end(const void *a, const void *b)
{
	const struct lake_progress *x = *(const struct lake_progress *const *)a;
	const struct lake_progress *y = *(const struct lake_progress *const *)b;

	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

/* The time of a sample in which its process held a GPU whose use is known. */
static double known_s(const struct lake_progress *p)
{
	const double known = (double)p->gpu_known_ns / fmax(1, (double)p->gpu_devices);

	return fmin((double)p->interval_ns, known) / 1e9;
}

/* The samples of an interval. */
static struct analysis_gpu gpu_of(const struct lake_progress *const *p, size_t n, double cores)
{
	struct analysis_gpu g = { 0 };
	double busy = 0, known = 0, devices = 0, cpu = 0, most = 0, samples = 0, iowait = 0;

	for (size_t i = 0; i < n; i++) {
		const double interval = (double)p[i]->interval_ns;

		g.seconds = fmax(g.seconds, known_s(p[i]));
		busy += (double)p[i]->gpu_busy_ns;
		known += (double)p[i]->gpu_known_ns;
		devices = p[i]->gpu_known_ns ? fmax(devices, (double)p[i]->gpu_devices) : devices;
		cpu += interval > 0 ? (double)p[i]->cpu_ns / interval : 0;
		most = interval > 0 ? fmax(most, (double)p[i]->cpu_ns / interval) : most;
		samples += (double)p[i]->samples;
		iowait += (double)p[i]->iowait_samples;
	}
	if (known <= 0 || g.seconds <= 0)
		return (struct analysis_gpu){ 0 };
	g.devices = fmax(1, devices);
	/* processes that share a device each have their part of its time */
	g.use = fmin(1, busy / (g.seconds * 1e9 * g.devices));
	g.is_cpu = most >= 0.9 || (cores > 0 && cpu >= 0.9 * cores);
	g.is_io = samples > 0 && iowait > 0.5 * samples;
	return g;
}

struct analysis_gpu_user analysis_gpu_group(const struct analysis_group *g)
{
	return (struct analysis_gpu_user){ .of = FINDING_OF_TASK, .name = g->name, .n = g->n,
					   .cores = g->requested_cpus, .tasks = g->tasks, .n_tasks = g->n };
}

/* Adds the samples of these images to a list of n, if there is a list; returns how many it has then. */
static size_t add_samples(const struct lake_report *r, const uint32_t *images, size_t n_images,
			  const struct lake_progress **list, size_t n)
{
	const struct lake_progress *of;

	for (size_t i = 0; i < n_images; i++)
		for (size_t k = 0, n_of = analysis_progress(r, images[i], &of); k < n_of; k++, n++)
			if (list)
				list[n] = &of[k];
	return n;
}

/* Lists the user's samples; list NULL: counts them. */
static size_t samples_of(const struct lake_report *r, const struct analysis_gpu_user *user,
			 const struct lake_progress **list)
{
	size_t n = 0;

	for (size_t i = 0; i < user->n_tasks; i++)
		n = add_samples(r, user->tasks[i]->images, user->tasks[i]->n_images, list, n);
	return user->tool ? add_samples(r, user->tool->images, user->tool->n_images, list, n) : n;
}

int analysis_gpu(const struct analysis *a, const struct analysis_gpu_user *user, double after_s,
		 struct analysis_gpu **ret, size_t *ret_n)
{
	const struct lake_report *r = a->report;
	const double interval = r->run.interval_ns ? (double)r->run.interval_ns : INTERVAL_NS;
	/* of a run with many names of tasks, each has a few of the samples */
	const size_t n = samples_of(r, user, NULL);
	const struct lake_progress **of_it = calloc(n + 1, sizeof(const struct lake_progress *));
	struct analysis_gpu *list = calloc(n + 1, sizeof(*list));
	uint64_t first = 0;
	size_t n_list = 0;

	if (!of_it || !list) {
		free(of_it);
		free(list);
		return -ENOMEM;
	}
	(void)samples_of(r, user, of_it);
	qsort(of_it, n, sizeof(*of_it), by_end);
	for (size_t i = 0, end; i < n; i = end) {
		struct analysis_gpu g;

		for (end = i + 1; end < n && (double)(of_it[end]->end_ns - of_it[i]->end_ns) < interval / 2; end++)
			;
		g = gpu_of(of_it + i, end - i, user->cores);
		if (g.seconds <= 0)
			continue;
		first = first ? first : of_it[i]->end_ns;
		if ((double)(of_it[i]->end_ns - first) / 1e9 >= after_s)
			list[n_list++] = g;
	}
	free(of_it);
	*ret = list;
	*ret_n = n_list;
	return 0;
}

bool analysis_gpu_is_used(const struct lake_report *r)
{
	for (size_t i = 0; i < r->n_progress; i++)
		if (r->progress[i].gpu_known_ns)
			return true;
	return false;
}

/* The tasks' names, without tasks the tools, of which a process held a GPU. */
int analysis_gpu_each(struct analysis *a, const struct finding_kind *kind, const double *thresholds,
		      int (*judge)(struct analysis *, const struct finding_kind *, const double *,
				   const struct analysis_gpu_user *))
{
	const struct lake_report *r = a->report;
	const bool any = analysis_gpu_is_used(r);
	int rc = 0;

	for (size_t i = 0; any && i < a->n_groups && rc == 0; i++) {
		const struct analysis_gpu_user user = analysis_gpu_group(a->groups[i]);

		rc = judge(a, kind, thresholds, &user);
	}
	for (size_t i = 0; any && i < r->n_tools && rc == 0 && !a->n_groups; i++) {
		const struct analysis_gpu_user user = { .of = FINDING_OF_TOOL, .name = r->tools[i].tool,
							.n = r->tools[i].calls, .tool = &r->tools[i] };

		rc = judge(a, kind, thresholds, &user);
	}
	return rc;
}
