/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/bench/bench_history.c - replays what skep tune says of a pipeline with earlier runs, on histories drawn from
 * known distributions.
 *
 *   bench_history [sizes|regressions] [HISTORIES]
 *
 * sizes: computes requests from the first half of 20 runs, and counts in the second half the executions that would have
 * failed and the memory that would have stayed unused. analysis/ computes skep's size; the others come from the same
 * first half:
 *
 *   last run   the largest peak of the newest run (Seqera)
 *   p90 + 15 % of all peaks (Kubernetes' VPA)
 *   max x 1.2  of all peaks (jobstats)
 *
 * An execution fails when it needs more than its request. Waste is (request - need) / need of the other executions.
 *
 * regressions: how often skep reports a task that is 30 % slower in the newest half of 10 or 20 runs, or in the newest
 * of 5, and a task that is not slower.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/stats.h"
#include "tests/unit/reports.h"

#define MIB        1048576.0
#define RUNS       20
#define TASKS_MOST 12

struct execution {
	double peak, input, wall_ms;
};

static uint64_t state;

/* From 0 to 1, without both. */
static double uniform(void)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return ((double)(state >> 12) + 0.5) / (double)(UINT64_C(1) << 52);
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

static struct execution constant(void)
{
	return (struct execution) { 2000 * MIB * (1 + 0.01 * normal()), 1e9, 900 };
}

static struct execution log_normal(void)
{
	return (struct execution) { 2000 * MIB * exp(0.3 * normal()), 1e9, 900 };
}

static struct execution bimodal(void)
{
	return (struct execution) { (uniform() < 0.9 ? 1000 : 4000) * MIB * (1 + 0.05 * normal()), 1e9, 900 };
}

/* 200 MiB and twice the input, which is of 0.1 to 3 GB. */
static struct execution of_input(void)
{
	const double input = 1e8 * pow(30, uniform());

	return (struct execution) { (200 * MIB + 2 * input) * (1 + 0.05 * normal()), input, 900 };
}

/* Pareto: without a variance. */
static struct execution heavy_tail(void)
{
	return (struct execution) { 1000 * MIB * pow(uniform(), -1 / 1.9), 1e9, 900 };
}

static const struct {
	const char *name;
	struct execution (*draw)(void);
} kinds[] = {
	{ "constant, 1 %", constant },
	{ "log-normal, sigma 0.3", log_normal },
	{ "bimodal, 10 % need 4 times", bimodal },
	{ "200 MiB + 2 x input", of_input },
	{ "heavy tail, Pareto 1.9", heavy_tail },
};

enum { SKEP, LAST_RUN, VPA, JOBSTATS, WAYS };

static struct reports *report_of(const struct execution *e, size_t n)
{
	struct reports *r = reports_new("demo", "sh", 8);

	for (uint64_t i = 0; i < n; i++) {
		const uint64_t ms = (uint64_t)e[i].wall_ms + 1;
		struct lake_process *p = reports_add(r, 0, "tool", "tool", i, i + ms, ms);
		struct lake_task *t = reports_task(r, "step", i, i + ms, ms);

		p->task = t->task;
		reports_kind(p)->task_id = t->task_id;
		p->totals.rss_peak_bytes = (uint64_t)e[i].peak;
		t->totals.rss_peak_bytes = (uint64_t)e[i].peak;
		t->totals.rchar_bytes = (uint64_t)e[i].input;
		p->totals.run_delay_ns = t->totals.run_delay_ns = 0;
	}
	reports_finish(r, 1000000, 0, 0);
	return r;
}

/* Analyses the last of these runs with the others as its history. */
static void analyse(const struct execution (*runs)[TASKS_MOST], size_t n_runs, size_t n, double *ret_asked,
		    bool *ret_regressed)
{
	struct analysis_history *h = analysis_history_new();
	struct reports *newest = report_of(runs[n_runs - 1], n);
	const struct analysis_group *const *groups;
	const struct finding *found;
	struct analysis *a = NULL;
	size_t n_found;

	for (size_t i = n_runs - 1; h && i-- > 0;) {
		struct reports *r = report_of(runs[i], n);

		if (analysis_history_add(h, &r->report) != 0)
			abort();
		reports_free(r);
	}
	if (!h || analysis_new_with(&newest->report, NULL, h, NULL, 0, &a) != 0 || analysis_groups(a, &groups) != 1)
		abort();
	*ret_asked = analysis_size_memory(groups[0]).value;
	*ret_regressed = false;
	n_found = analysis_findings(a, &found);
	for (size_t i = 0; i < n_found; i++)
		*ret_regressed |= strcmp(found[i].kind->id, "regression") == 0;
	analysis_free(a);
	analysis_history_free(h);
	reports_free(newest);
}

static void asks(const struct execution (*runs)[TASKS_MOST], size_t n, double asked[WAYS])
{
	double peaks[RUNS * TASKS_MOST], last = 0;
	bool regressed;
	size_t k = 0;

	for (size_t i = 0; i < RUNS / 2; i++)
		for (size_t j = 0; j < n; j++)
			peaks[k++] = runs[i][j].peak;
	for (size_t j = 0; j < n; j++)
		last = fmax(last, runs[RUNS / 2 - 1][j].peak);
	stats_sort(peaks, k);
	analyse(runs, RUNS / 2, n, &asked[SKEP], &regressed);
	asked[LAST_RUN] = last;
	asked[VPA] = 1.15 * stats_quantile(peaks, k, 0.9);
	asked[JOBSTATS] = 1.2 * peaks[k - 1];
}

static void replay_sizes(size_t histories)
{
	static const size_t in_a_run[] = { 1, 4, TASKS_MOST };

	printf("| peaks | tasks a run | skep: fail | waste | last run: fail | waste | p90 + 15 %%: fail | waste | max x 1.2: fail | waste |\n"
	       "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n");
	for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++)
		for (size_t many = 0; many < sizeof(in_a_run) / sizeof(in_a_run[0]); many++) {
			const size_t n = in_a_run[many];
			double failed[WAYS] = { 0 }, wasted[WAYS] = { 0 }, needed[WAYS] = { 0 }, all = 0;

			state = 1;
			for (size_t history = 0; history < histories; history++) {
				struct execution runs[RUNS][TASKS_MOST];
				double asked[WAYS];

				for (size_t i = 0; i < RUNS; i++)
					for (size_t j = 0; j < n; j++)
						runs[i][j] = kinds[kind].draw();
				asks(runs, n, asked);
				for (size_t i = RUNS / 2; i < RUNS; i++)
					for (size_t j = 0; j < n; j++) {
						all++;
						for (int way = 0; way < WAYS; way++) {
							const double peak = runs[i][j].peak;

							failed[way] += peak > asked[way];
							wasted[way] += fmax(0, asked[way] - peak);
							needed[way] += peak > asked[way] ? 0 : peak;
						}
					}
			}
			printf("| %s | %zu |", kinds[kind].name, n);
			for (int way = 0; way < WAYS; way++)
				printf(" %.2f %% | %.0f %% |", 100 * failed[way] / all,
				       100 * wasted[way] / needed[way]);
			putchar('\n');
		}
}

/* ---- regressions ------------------------------------------------------------ */

static const struct {
	const char *name;
	double of_run, of_execution;
	bool uniform;
} noises[] = {
	{ "uniform, 5 % of each execution", 0, 0.05, true },
	{ "uniform, 5 % of each run and 5 % of each execution", 0.05, 0.05, true },
	{ "log-normal, sigma 0.1 of each execution", 0, 0.1, false },
	{ "log-normal, sigma 0.1 of each run", 0.1, 0.02, false },
	{ "log-normal, sigma 0.3 of each execution", 0, 0.3, false },
};

static double noise(double size, bool is_uniform)
{
	return is_uniform ? 1 + size * (2 * uniform() - 1) : exp(size * normal());
}

/* The share of histories with the finding, in percent. */
static double share_found(size_t histories, size_t kind, size_t n_runs, size_t n, double factor)
{
	size_t count = 0;

	for (size_t history = 0; history < histories; history++) {
		struct execution runs[RUNS][TASKS_MOST] = { 0 };
		double asked;
		bool regressed;

		for (size_t i = 0; i < n_runs; i++) {
			const bool slow = i >= (n_runs < 10 ? n_runs - 1 : n_runs / 2);
			const double shared = noise(noises[kind].of_run, noises[kind].uniform);
			const double run = 20000 * (slow ? factor : 1) * shared;

			for (size_t j = 0; j < n; j++)
				runs[i][j].wall_ms = run * noise(noises[kind].of_execution, noises[kind].uniform);
		}
		analyse(runs, n_runs, n, &asked, &regressed);
		count += regressed;
	}
	return 100 * (double)count / (double)histories;
}

static void replay_regressions(size_t histories)
{
	static const size_t lengths[] = { 5, 10, 20 }, in_a_run[] = { 1, 6 };

	printf("| noise | tasks a run | 5 runs: false | found | 10 runs: false | found | 20 runs: false | found |\n"
	       "| --- | --: | --: | --: | --: | --: | --: | --: |\n");
	for (size_t kind = 0; kind < sizeof(noises) / sizeof(noises[0]); kind++)
		for (size_t many = 0; many < 2; many++) {
			printf("| %s | %zu |", noises[kind].name, in_a_run[many]);
			state = 1;
			for (size_t i = 0; i < 3; i++) {
				printf(" %.1f %% |", share_found(histories, kind, lengths[i], in_a_run[many], 1));
				printf(" %.1f %% |", share_found(histories, kind, lengths[i], in_a_run[many], 1.3));
			}
			putchar('\n');
		}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "sizes";
	const size_t histories = argc > 2 ? strtoul(argv[2], NULL, 10) : 500;

	if (strcmp(what, "sizes") != 0 && strcmp(what, "regressions") != 0) {
		fprintf(stderr, "usage: bench_history [sizes|regressions] [HISTORIES]\n");
		return 2;
	}
	if (strcmp(what, "sizes") == 0)
		replay_sizes(histories);
	else
		replay_regressions(histories);
	return 0;
}
