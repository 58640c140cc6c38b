/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/sizing.c - what the next execution of a task should ask for, from its executions in this run and in earlier
 * ones.
 *
 * The rules need no distribution: the largest of n values covers the quantile p with confidence 1 - p^n (Wilks 1941),
 * so a margin grows as the executions get fewer. A size never falls below the largest value seen: an engine may not
 * retry. An execution that the kernel killed for its memory would have needed more than it had: it counts as its limit.
 * Until a later execution with a larger limit has ended well, the size is at least 1.2 times that limit, or 100 MiB
 * more (the rule of Kubernetes' VPA).
 *
 * Where an engine tries again, a first attempt may be cheaper with less memory: an execution that needs more wastes it
 * and then gets the size above (first and maximum allocation of Tovar and others, IEEE TPDS 29(2), 2018). skep names it
 * beside the size and never instead.
 *
 * A request is one number for inputs of all sizes. So executions of larger inputs than this run's count, but not those
 * of inputs that are less than half of its smallest: a hundred tests with a small file say nothing about a large one.
 * Below INPUT_LEAST no input counts: a shell, its libraries and its locale are a MB, and one lost record is half of it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/finding.h"
#include "analysis/stats.h"

#define INPUT_LEAST (4 * MIB)
#define FIRST_LEAST 25   /* executions; the paper: the allocations are steady from then on */
#define FIRST_SAVES 0.1  /* less is not worth a failure */

static struct analysis_size size_of(const double *sorted, size_t n)
{
	struct analysis_size size = { .n = n };
	double largest, bound;

	if (!n)
		return size;
	largest = sorted[n - 1];
	if (n < 5) {
		size.value = 1.3 * largest;
		size.rule = "the largest seen and 30 % more";
		return size; /* low */
	}
	size.confidence = FINDING_MEDIUM;
	if (stats_upper_bound(sorted, n, 0.95, 0.95, &bound)) {
		size.confidence = FINDING_HIGH;
		size.rule = "the bound of 95 % of executions and 15 % more";
		size.value = 1.15 * bound;
	} else if (stats_upper_bound(sorted, n, 0.9, 0.95, &bound)) {
		size.rule = "the bound of 90 % of executions and 15 % more";
		size.value = 1.15 * bound;
	} else {
		size.rule = "the largest seen and 20 % more";
		size.value = 1.2 * largest;
	}
	size.value = fmax(size.value, largest);
	return size;
}

/* Upwards to a number that people write: steps of 16 MiB below 256, 64 below 1 GiB, 256 below 16 GiB, else 1 GiB. */
static double round_memory(double bytes)
{
	const double step = bytes < 256 * MIB ? 16 * MIB : bytes < GIB ? 64 * MIB : bytes < 16 * GIB ? 256 * MIB : GIB;

	return ceil(bytes / step) * step;
}

/* A limit at which executions were killed, the last one at start_ns. */
struct kill {
	double limit;
	uint64_t start_ns;
};

/* The executions that count. Of inputs and peaks: n_ok, in one order. */
struct pool {
	double *memory, *sorted, *input, *cores;
	struct use {
		double memory, wall_s;
	} *uses; /* n_ok */
	bool retried;
	size_t n_ok, n_cores, n_wall, n_runs, n_cores_runs, n_wall_runs;
	double *killed; /* the limits, one for each execution */
	size_t n_killed;
	struct kill *kills; /* one for each limit */
	size_t n_kills;
	double longest_s, smallest_input;
	const struct analysis_group **groups; /* by run, the newest first */
	size_t n_groups;
};

static void pool_free(struct pool *p)
{
	free(p->memory);
	free(p->uses);
	free(p->sorted);
	free(p->input);
	free(p->cores);
	free(p->killed);
	free(p->kills);
	free(p->groups);
}

static void add_kill(struct pool *p, const struct analysis_execution *e)
{
	size_t i = 0;

	p->killed[p->n_killed++] = e->limit;
	while (i < p->n_kills && (p->kills[i].limit < e->limit || p->kills[i].limit > e->limit))
		i++;
	if (i == p->n_kills)
		p->kills[p->n_kills++] = (struct kill){ e->limit, e->start_ns };
	else if (e->start_ns > p->kills[i].start_ns)
		p->kills[i].start_ns = e->start_ns;
}

static void add_group(struct pool *p, const struct analysis_group *g)
{
	const bool starved = analysis_starved(g);
	const size_t n_before = p->n_ok + p->n_killed, n_cores = p->n_cores, n_wall = p->n_wall;

	for (size_t i = 0; i < g->n_executions; i++) {
		const struct analysis_execution *e = &g->executions[i];

		/* nobody knows how much a killed execution would have held or read, also if its task ended well */
		if (e->killed && e->limit > 0)
			add_kill(p, e);
		if (e->killed || !e->ok || 2 * e->input < p->smallest_input)
			continue;
		p->longest_s = fmax(p->longest_s, e->wall_s);
		p->n_wall++;
		if (e->shares)
			continue;
		p->input[p->n_ok] = e->input;
		p->uses[p->n_ok] = (struct use){ e->memory, e->wall_s };
		p->memory[p->n_ok++] = e->memory;
		if (!starved)
			p->cores[p->n_cores++] = e->busy_cores;
	}
	p->retried |= g->retried;
	p->n_runs += p->n_ok + p->n_killed > n_before;
	p->n_cores_runs += p->n_cores > n_cores;
	p->n_wall_runs += p->n_wall > n_wall;
}

static int fill(struct pool *p, const struct analysis *a, const struct analysis_group *g)
{
	const size_t n_past = a->history ? a->history->n : 0;
	size_t n = g->n_executions;

	p->groups = calloc(n_past + 1, sizeof(const struct analysis_group *));
	if (!p->groups)
		return -ENOMEM;
	p->groups[p->n_groups++] = g;
	for (size_t i = 0; i < n_past; i++) {
		const struct analysis_group *past = analysis_past_group(&a->history->runs[i], g->name);

		if (past)
			p->groups[p->n_groups++] = past;
		n += past ? past->n_executions : 0;
	}
	p->memory = calloc(n + 1, sizeof(double));
	p->uses = calloc(n + 1, sizeof(*p->uses));
	p->sorted = calloc(n + 1, sizeof(double));
	p->input = calloc(n + 1, sizeof(double));
	p->cores = calloc(n + 1, sizeof(double));
	p->killed = calloc(n + 1, sizeof(double));
	p->kills = calloc(n + 1, sizeof(*p->kills));
	if (!p->memory || !p->uses || !p->sorted || !p->input || !p->cores || !p->killed || !p->kills)
		return -ENOMEM;
	p->smallest_input = INFINITY;
	for (size_t i = 0; i < g->n_executions; i++)
		if (g->executions[i].ok)
			p->smallest_input = fmin(p->smallest_input, g->executions[i].input);
	if (!g->n_ok || p->smallest_input < INPUT_LEAST)
		p->smallest_input = 0;
	for (size_t i = 0; i < p->n_groups; i++)
		add_group(p, p->groups[i]);
	return 0;
}

/* Whether after all kills at this limit an execution with a larger one has ended well. */
static bool is_overcome(const struct pool *p, const struct kill *k)
{
	for (size_t i = 0; i < p->n_groups; i++)
		for (size_t j = 0; j < p->groups[i]->n_executions; j++) {
			const struct analysis_execution *e = &p->groups[i]->executions[j];

			if (e->ok && !e->killed && e->limit > k->limit && e->start_ns > k->start_ns)
				return true;
		}
	return false;
}

static double largest_of(const double *values, size_t n)
{
	double most = 0;

	for (size_t i = 0; i < n; i++)
		most = fmax(most, values[i]);
	return most;
}

static struct analysis_size memory_of(struct pool *p)
{
	const size_t n = p->n_ok + p->n_killed;
	struct analysis_size size;
	struct stats_line line;

	for (size_t i = 0; i < n; i++)
		p->sorted[i] = i < p->n_ok ? p->memory[i] : p->killed[i - p->n_ok];
	stats_sort(p->sorted, n);
	size = size_of(p->sorted, n);
	if (p->n_ok >= 10 && stats_regression(p->input, p->memory, p->n_ok, &line) && line.r2 >= 0.6 &&
	    line.slope > 0) {
		size.value = fmax(p->sorted[n - 1], stats_predict(&line, largest_of(p->input, p->n_ok), 0.95));
		size.rule = "95 % of executions that read as much as the largest one";
	}
	for (size_t i = 0; i < p->n_kills; i++) {
		const double more = fmax(1.2 * p->kills[i].limit, p->kills[i].limit + 100 * MIB);

		if (more > size.value && !is_overcome(p, &p->kills[i])) {
			size.value = more;
			size.rule = "20 % more than what executions were killed at";
			size.confidence = FINDING_LOW;
		}
	}
	size.value = round_memory(size.value);
	size.runs = p->n_runs;
	return size;
}

static int use_by_memory(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	return (x->memory > y->memory) - (x->memory < y->memory);
}

/* Sets the first attempt's memory of the group: that with the least byte-seconds reserved over both attempts. */
static void set_first(const struct pool *p, struct analysis_group *g)
{
	const double second = g->ask_memory.value;
	double all_s = 0, in_time_s = 0, least;

	if (!p->retried || p->n_ok < FIRST_LEAST)
		return;
	qsort(p->uses, p->n_ok, sizeof(*p->uses), use_by_memory);
	for (size_t i = 0; i < p->n_ok; i++)
		all_s += p->uses[i].wall_s;
	least = (1 - FIRST_SAVES) * second * all_s;
	for (size_t i = 0, end; i < p->n_ok; i = end) {
		const double first = round_memory(p->uses[i].memory);
		double cost;

		for (end = i; end < p->n_ok && p->uses[end].memory <= first; end++)
			in_time_s += p->uses[end].wall_s;
		cost = first * all_s + second * (all_s - in_time_s);
		if (first > 0 && cost < least) {
			least = cost;
			g->first_memory = first;
			g->first_saves = 1 - cost / (second * all_s);
		}
	}
}

static enum finding_confidence confidence_of(size_t n)
{
	return n < 5 ? FINDING_LOW : n < 29 ? FINDING_MEDIUM : FINDING_HIGH;
}

int analysis_size_group(const struct analysis *a, struct analysis_group *g)
{
	struct pool p = { 0 };
	int rc = fill(&p, a, g);

	if (rc == 0)
		g->ask_walltime = (struct analysis_size){ .n = p.n_wall, .runs = p.n_wall_runs };
	if (rc == 0 && !g->n_shares) {
		g->ask_memory = memory_of(&p);
		set_first(&p, g);
		g->ask_cpus = (struct analysis_size){ .n = p.n_cores, .runs = p.n_cores_runs };
	}
	if (rc == 0 && !g->n_shares && p.n_cores) {
		stats_sort(p.cores, p.n_cores);
		/* An average above a whole core by some percent is that core and a helper's work. */
		g->ask_cpus.value = fmax(1, ceil(1.15 * stats_quantile(p.cores, p.n_cores, 0.95) - 0.15));
		g->ask_cpus.rule = "the cores busy in 95 % of the time, of 95 % of executions, and 15 % more";
		g->ask_cpus.confidence = confidence_of(p.n_cores);
	}
	if (rc == 0 && p.n_wall) {
		g->ask_walltime.value = fmax(60, 1.2 * p.longest_s);
		g->ask_walltime.rule = "the longest and 20 % more";
		g->ask_walltime.confidence = confidence_of(p.n_wall);
	}
	pool_free(&p);
	return rc;
}

struct analysis_size analysis_size_memory(const struct analysis_group *g)
{
	return g->ask_memory;
}

struct analysis_size analysis_size_cpus(const struct analysis_group *g)
{
	return g->ask_cpus;
}

struct analysis_size analysis_size_walltime(const struct analysis_group *g)
{
	return g->ask_walltime;
}
