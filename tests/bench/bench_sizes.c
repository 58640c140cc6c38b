/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/bench/bench_sizes.c - replays a history of tasks: each rule learns a memory size from the first half of the
 * runs, and the executions of the second half show how many would have failed, and how much would have been reserved
 * for nothing.
 *
 * stdin: a line for each execution: task, number of its run from 0, bytes; by run. tests/bench/sizes.py records one.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/stats.h"
#include "tests/unit/reports.h"

#define MIB       1048576.0
#define MOST      65536
#define TASK_SIZE 64

struct execution {
	char task[TASK_SIZE];
	unsigned run;
	double bytes;
};

/* What a rule sees of a task: the first half of its executions, ascending, and the largest of their last run. */
struct lesson {
	double *sorted;
	size_t n;
	double last;
};

/* As skep tune sizes them: they are the tasks of one run. */
static double by_skep(const struct lesson *l)
{
	struct reports *r = reports_new("demo", "sh", 8);
	const struct analysis_group *const *groups;
	struct analysis *a = NULL;
	double size;

	for (uint64_t i = 0; i < l->n; i++) {
		struct lake_process *p = reports_add(r, 0, "tool", "tool", i, i + 1000, 900);
		struct lake_task *t = reports_task(r, "step", i, i + 1000, 900);

		p->task = t->task;
		reports_kind(p)->task_id = t->task_id;
		p->totals.rss_peak_bytes = t->totals.rss_peak_bytes = (uint64_t)l->sorted[i];
		p->totals.run_delay_ns = t->totals.run_delay_ns = 0;
	}
	reports_finish(r, 1000000, 0, 0);
	if (analysis_new(&r->report, NULL, 0, &a) != 0 || analysis_groups(a, &groups) != 1)
		abort();
	size = analysis_size_memory(groups[0]).value;
	analysis_free(a);
	reports_free(r);
	return size;
}

static double by_last_run(const struct lesson *l)
{
	return l->last;
}

static double by_vpa(const struct lesson *l)
{
	return 1.15 * stats_quantile(l->sorted, l->n, 0.9);
}

static double by_jobstats(const struct lesson *l)
{
	return 1.2 * l->sorted[l->n - 1];
}

static struct {
	const char *name;
	double (*size)(const struct lesson *);
	size_t failures;
	double unused, lost; /* bytes: reserved above the need; reserved by executions that failed */
} rules[] = {
	{ "skep tune", by_skep, 0, 0, 0 },
	{ "largest of the last run (Seqera)", by_last_run, 0, 0, 0 },
	{ "p90 and 15 % (VPA)", by_vpa, 0, 0, 0 },
	{ "largest and 20 % (jobstats)", by_jobstats, 0, 0, 0 },
};

static int by_task(const void *a, const void *b)
{
	const struct execution *x = a, *y = b;
	const int order = strcmp(x->task, y->task);

	return order ? order : (x->run > y->run) - (x->run < y->run);
}

/* Returns how many executions the rules were tried on. */
static size_t replay(const struct execution *e, size_t n, unsigned half)
{
	static double sorted[MOST];
	struct lesson l = { .sorted = sorted };
	unsigned last = 0;

	for (; l.n < n && e[l.n].run < half; l.n++) {
		sorted[l.n] = e[l.n].bytes;
		l.last = e[l.n].run != last ? e[l.n].bytes : fmax(l.last, e[l.n].bytes);
		last = e[l.n].run;
	}
	if (!l.n)
		return 0;
	stats_sort(sorted, l.n);
	for (size_t r = 0; r < sizeof(rules) / sizeof(*rules); r++) {
		const double size = rules[r].size(&l);

		for (size_t i = l.n; i < n; i++) {
			if (e[i].bytes > size) {
				rules[r].failures++;
				rules[r].lost += size;
			} else {
				rules[r].unused += size - e[i].bytes;
			}
		}
	}
	return n - l.n;
}

int main(void)
{
	static struct execution all[MOST];
	size_t n = 0, tried = 0, tasks = 0;
	unsigned runs = 0;
	double needed = 0;

	while (n < MOST && scanf("%63s %u %lf", all[n].task, &all[n].run, &all[n].bytes) == 3) {
		runs = all[n].run + 1 > runs ? all[n].run + 1 : runs;
		n++;
	}
	qsort(all, n, sizeof(*all), by_task);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && strcmp(all[i].task, all[end].task) == 0; end++)
			;
		tried += replay(all + i, end - i, runs / 2);
		tasks++;
	}
	for (size_t i = 0; i < n; i++)
		needed += all[i].run >= runs / 2 ? all[i].bytes : 0;
	if (!tried) {
		fputs("bench_sizes: no history on stdin; see tests/bench/sizes.py\n", stderr);
		return 1;
	}
	printf("%u runs, %zu tasks, %zu executions to learn from, %zu to try\n\n", runs, tasks, n - tried, tried);
	puts("| rule | executions that fail | reserved above the need | lost to failures |\n| --- | --: | --: | --: |");
	for (size_t r = 0; r < sizeof(rules) / sizeof(*rules); r++)
		printf("| %s | %zu (%.1f %%) | %.0f %% | %.0f %% |\n", rules[r].name, rules[r].failures,
		       100.0 * (double)rules[r].failures / (double)tried, 100 * rules[r].unused / needed,
		       100 * rules[r].lost / needed);
	return 0;
}
