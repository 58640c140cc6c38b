/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/group.c - a run's tasks of one name, their distribution, and where the time of their processes went.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/finding.h"
#include "analysis/stats.h"

double analysis_task_wall_s(const struct analysis *a, const struct lake_task *t)
{
	const uint64_t end = t->end_ns ? t->end_ns : a->end_ns;

	return t->start_ns && end > t->start_ns ? (double)(end - t->start_ns) / 1e9 : 0;
}

void analysis_group_free(struct analysis_group *g)
{
	if (!g)
		return;
	free(g->name);
	free(g->tasks);
	free(g->executions);
	free(g->exe);
	free(g->command);
	free(g->wall_s);
	free(g->cores);
	free(g->busy_cores);
	free(g->memory);
	free(g);
}

static bool has_failed(const struct lake_task *t)
{
	return t->signal || t->exit_code > 0;
}

/* ---- figures of the processes ------------------------------------------------ */

/* The image's own peak; 0: only an upper bound is known, such as the pages that a fork shares with a large parent. */
static double memory_of(const struct lake_process *p)
{
	return p->kind->approx & LAKE_APPROX_RSS_PEAK ? 0 : (double)p->totals.rss_peak_bytes;
}

/* What the images of a run are looked up by, and room for the figures of one task. */
struct work {
	const struct lake_sample **samples; /* by tool, then time */
	struct lake_edge *edges;
	void *scratch; /* as large */
	char *shares; /* by task of the report: it shares its request with others */
	size_t n_samples;
};

/*
 * The largest sum of the peaks of processes that ran at one moment: at least what the task held, and more if their
 * peaks were at different times.  A task of one process: its peak.
 */
static double concurrent_memory(const struct lake_report *r, const struct work *w, const uint32_t *images, size_t n)
{
	struct lake_edge *edges = w->edges;
	size_t n_edges = 0;

	for (size_t i = 0; i < n; i++) {
		const struct lake_process *p = &r->processes[images[i]];

		if (!p->start_ns || p->end_ns <= p->start_ns || memory_of(p) <= 0)
			continue;
		edges[n_edges++] = (struct lake_edge){ p->start_ns, memory_of(p) };
		edges[n_edges++] = (struct lake_edge){ p->end_ns, -memory_of(p) };
	}
	lake_edges_sort(edges, n_edges, w->scratch);
	return lake_edges_most(edges, n_edges);
}

static int sample_by_tool(const void *a, const void *b)
{
	const struct lake_sample *x = *(const struct lake_sample *const *)a, *y = *(const struct lake_sample *const *)b;
	const int order = strcmp(x->tool, y->tool);

	return order ? order : (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* The samples of the image's tool within its life. One thread is never on two CPUs: its image needs none. */
static const struct lake_sample **samples_of(const struct work *w, const struct lake_process *p, size_t *ret_n)
{
	const struct lake_sample key = { .tool = p->kind->tool, .start_ns = p->start_ns }, *at = &key;
	size_t low = 0, high = p->totals.threads == 1 ? 0 : w->n_samples, end;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (sample_by_tool(&w->samples[middle], &at) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; p->totals.threads != 1 && end < w->n_samples &&
			strcmp(w->samples[end]->tool, p->kind->tool) == 0 &&
			w->samples[end]->start_ns + w->samples[end]->interval_ns <= p->end_ns; end++)
		;
	*ret_n = end - low;
	return w->samples + low;
}

/* The cores that an image used in the i-th sample of its tool: an equal share, if there were others. */
static double cores_in(const struct lake_sample *const *samples, size_t i)
{
	const struct lake_sample *s = samples[i], *before = i ? samples[i - 1] : NULL;
	uint64_t images = s->processes;

	if (before && before->start_ns + before->interval_ns == s->start_ns && before->processes + s->started > images)
		images = before->processes + s->started; /* some of them ended meanwhile */
	return s->interval_ns ? (double)s->cpu_ns / (double)s->interval_ns / (double)(images ? images : 1) : 0;
}

/* Adds the image's use of cores: its tool's samples, and the rest as an average over the time between them. */
static size_t add_use(const struct lake_process *p, const struct lake_sample *const *samples, size_t n,
		      struct lake_edge *edges)
{
	const double alive = (double)(p->end_ns - p->start_ns), used = (double)p->totals.cpu_ns;
	double sampled = 0, times = 0, share = 1, base;
	size_t n_edges = 0;

	for (size_t i = 0; i < n; i++) {
		sampled += cores_in(samples, i) * (double)samples[i]->interval_ns;
		times += (double)samples[i]->interval_ns;
	}
	if (sampled > used)
		share = used / sampled;
	base = alive > times ? (used - share * sampled) / (alive - times) : 0;
	edges[n_edges++] = (struct lake_edge){ p->start_ns, base };
	edges[n_edges++] = (struct lake_edge){ p->end_ns, -base };
	for (size_t i = 0; i < n; i++) {
		const double more = share * cores_in(samples, i) - base;

		edges[n_edges++] = (struct lake_edge){ samples[i]->start_ns, more };
		edges[n_edges++] = (struct lake_edge){ samples[i]->start_ns + samples[i]->interval_ns, -more };
	}
	return n_edges;
}

/* The most edges that the images of one task have. */
static size_t most_edges(const struct lake_report *r, const struct work *w)
{
	size_t most = 0, n;

	for (size_t i = 0; i < r->n_tasks; i++) {
		const struct lake_task *t = &r->tasks[i];
		size_t sum = 0;

		for (size_t k = 0; k < t->n_images; k++) {
			samples_of(w, &r->processes[t->images[k]], &n);
			sum += 2 + 2 * n;
		}
		most = sum > most ? sum : most;
	}
	return most;
}

/* The bits of a double that is not negative are in the order of its values. */
static uint64_t key_of(double cores)
{
	uint64_t key = 0;

	if (cores > 0) /* a sum may end below 0 by rounding */
		memcpy(&key, &cores, sizeof(key));
	return key;
}

static double of_key(uint64_t key)
{
	double cores;

	memcpy(&cores, &key, sizeof(cores));
	return cores;
}

/*
 * The cores in use during all but the busiest twentieth of the task's time.  A program that starts for a moment does
 * not raise it, a parallel phase does: of images, and of the threads of an image that has samples.
 */
static double busy_cores(const struct lake_report *r, const struct work *w, const uint32_t *images, size_t n,
			 double wall_s)
{
	struct lake_order *phases = w->scratch; /* by cores */
	size_t n_edges = 0, n_phases = 0;
	double now = 0, least = 0.95 * wall_s * 1e9, rest = wall_s * 1e9;

	for (size_t i = 0; i < n; i++) {
		const struct lake_process *p = &r->processes[images[i]];
		const struct lake_sample **samples;
		size_t n_samples;

		if (!p->start_ns || p->end_ns <= p->start_ns)
			continue;
		samples = samples_of(w, p, &n_samples);
		n_edges += add_use(p, samples, n_samples, w->edges + n_edges);
	}
	lake_edges_sort(w->edges, n_edges, w->scratch);
	for (size_t i = 0; i + 1 < n_edges; i++) {
		const uint64_t ns = w->edges[i + 1].ns - w->edges[i].ns;

		now += w->edges[i].change;
		phases[n_phases++] = (struct lake_order){ key_of(now), ns };
		rest -= (double)ns;
	}
	least -= fmax(0, rest); /* before the first and after the last image none is in use */
	lake_order_sort(phases, n_phases, (struct lake_order *)w->edges);
	for (size_t i = 0; i < n_phases; i++) {
		least -= (double)phases[i].at;
		if (least <= 0 || i + 1 == n_phases)
			return of_key(phases[i].key);
	}
	return 0;
}

/* ---- groups --------------------------------------------------------------------- */

static int task_by_name(const void *a, const void *b)
{
	const struct lake_task *x = *(const struct lake_task *const *)a, *y = *(const struct lake_task *const *)b;
	const int order = strcmp(x->task, y->task);

	return order ? order : (x > y) - (x < y); /* the report orders them by start */
}

static void larger(double *of, double than)
{
	*of = than > *of ? than : *of;
}

/* Bytes that the processes read from files, the cache included. */
static double input_of(const struct lake_totals *t)
{
	return (double)(t->rchar_bytes > t->read_bytes ? t->rchar_bytes : t->read_bytes);
}

static void add_task(const struct analysis *a, const struct work *w, struct analysis_group *g,
		     const struct lake_task *t, double *net_bytes, const struct lake_process **busiest)
{
	const double wall = analysis_task_wall_s(a, t);
	struct analysis_execution e = {
		.start_ns = t->start_ns,
		.wall_s = wall,
		.cpu_s = (double)t->totals.cpu_ns / 1e9,
		.input = input_of(&t->totals),
		.shares = w->shares[t - a->report->tasks],
		.asked_cpus = lake_task_cpus(t),
		.asked_memory = (double)lake_task_memory(t),
		.asked_walltime_s = (double)t->requested_walltime_ns / 1e9,
		.limit = (double)(t->granted_memory_bytes ? t->granted_memory_bytes : t->requested_memory_bytes),
	};
	double memory, limit = 0;

	for (size_t i = 0; i < t->n_images; i++) {
		const struct lake_process *p = &a->report->processes[t->images[i]];

		e.killed |= p->kind->oom_killed;
		larger(&limit, p->kind->oom_killed ? (double)p->kind->oom_limit_bytes : 0);
		g->killed = p->kind->oom_killed && !g->killed ? p : g->killed;
		g->java |= strcmp(p->kind->tool, "java") == 0;
		larger(&e.largest, memory_of(p));
		if (a->leaf[t->images[i]]) {
			analysis_waits_add(&g->waits, p, a->end_ns);
			analysis_stalls_add(&g->waits, a->report, p, a->end_ns);
		}
		if (!*busiest || p->totals.cpu_ns > (*busiest)->totals.cpu_ns)
			*busiest = p;
	}
	*net_bytes += (double)(t->totals.net_rx_bytes + t->totals.net_tx_bytes);
	memory = concurrent_memory(a->report, w, t->images, t->n_images);
	memory = memory > 0 ? memory : (double)t->totals.rss_peak_bytes; /* the lake has no rows of its images */
	larger(&g->requested_cpus, e.asked_cpus);
	larger(&g->requested_memory, e.asked_memory);
	larger(&g->requested_walltime_s, e.asked_walltime_s);
	g->reserved_core_s += fmax(e.asked_cpus * wall, e.cpu_s);
	g->wall_sum_s += wall;
	g->cpu_sum_s += (double)t->totals.cpu_ns / 1e9;
	g->queue_sum_s += (double)t->totals.run_delay_ns / 1e9;
	g->block_sum_s += (double)t->totals.block_delay_ns / 1e9;
	g->n_oom += e.killed;
	g->n_shares += e.shares;
	g->retried |= t->attempt > 1;
	e.memory = memory;
	e.limit = e.limit > 0 ? e.limit : limit;
	/* an end before the start: a clock was set back, and the wall time is not known */
	e.ok = t->end_ns >= t->start_ns && !has_failed(t);
	if (!t->end_ns) {
		g->n_running++;
		return;
	}
	if (e.ok) {
		g->wall_s[g->n_ok] = wall;
		g->cores[g->n_ok] = wall > 0 ? e.cpu_s / wall : 0;
		e.busy_cores = busy_cores(a->report, w, t->images, t->n_images, wall);
		e.busy_cores = fmax(g->cores[g->n_ok], e.busy_cores);
		g->busy_cores[g->n_ok] = e.busy_cores;
		g->memory[g->n_ok++] = memory;
	} else if (has_failed(t)) {
		g->n_failed++;
	}
	g->executions[g->n_executions++] = e;
}

/* Keeps what a later run is compared with. */
static int keep_command(struct analysis_group *g, const struct lake_process *busiest)
{
	size_t size;
	FILE *f;

	if (!busiest)
		return 0;
	g->exe = strdup(busiest->kind->exe ? busiest->kind->exe : "");
	f = g->exe ? open_memstream(&g->command, &size) : NULL;
	for (size_t i = 0; f && busiest->argv && busiest->argv[i]; i++)
		fprintf(f, "%s%s", i ? " " : "", busiest->argv[i]);
	return f && fclose(f) == 0 ? 0 : -ENOMEM;
}

/* The run as one execution: a run without tasks has a history too. */
static struct analysis_group *whole_new(const struct analysis *a)
{
	const struct lake_run *run = &a->report->run;
	const struct lake_process *busiest = NULL;
	struct analysis_group *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->name = strdup("");
	g->engine = run->engine;
	g->executions = calloc(1, sizeof(*g->executions));
	for (size_t i = 0; i < a->report->n_processes; i++) {
		const struct lake_process *p = &a->report->processes[i];

		if (!a->leaf[i])
			continue;
		analysis_waits_add(&g->waits, p, a->end_ns);
		if (!busiest || p->totals.cpu_ns > busiest->totals.cpu_ns)
			busiest = p;
	}
	if (!g->name || !g->executions || keep_command(g, busiest) != 0) {
		analysis_group_free(g);
		return NULL;
	}
	g->n = g->n_executions = 1;
	g->executions[0] = (struct analysis_execution){
		.start_ns = run->start_ns,
		.ok = run->end_ns && !run->signal && run->exit_code <= 0,
		.wall_s = a->wall_s,
		.cpu_s = (double)run->totals.cpu_ns / 1e9,
		.input = input_of(&run->totals),
	};
	g->n_ok = g->executions[0].ok;
	return g;
}

static struct analysis_group *group_new(const struct analysis *a, const struct work *w,
					const struct lake_task *const *tasks, size_t n)
{
	struct analysis_group *g = calloc(1, sizeof(*g));
	const struct lake_process *busiest = NULL;
	double net_bytes = 0;

	if (!g)
		return NULL;
	g->name = strdup(tasks[0]->task);
	g->executions = calloc(n, sizeof(*g->executions));
	g->tasks = calloc(n, sizeof(const struct lake_task *));
	g->wall_s = calloc(n, sizeof(*g->wall_s));
	g->cores = calloc(n, sizeof(*g->cores));
	g->busy_cores = calloc(n, sizeof(*g->busy_cores));
	g->memory = calloc(n, sizeof(*g->memory));
	if (!g->name || !g->executions || !g->tasks || !g->wall_s || !g->cores || !g->busy_cores || !g->memory) {
		analysis_group_free(g);
		return NULL;
	}
	g->engine = tasks[0]->engine;
	g->n = n;
	for (size_t i = 0; i < n; i++) {
		g->tasks[i] = tasks[i];
		add_task(a, w, g, tasks[i], &net_bytes, &busiest);
	}
	if (keep_command(g, busiest) != 0) {
		analysis_group_free(g);
		return NULL;
	}
	stats_sort(g->wall_s, g->n_ok);
	stats_sort(g->cores, g->n_ok);
	stats_sort(g->busy_cores, g->n_ok);
	stats_sort(g->memory, g->n_ok);
	analysis_bound(g, net_bytes);
	return g;
}

int analysis_job_order(const char *job, const char *other)
{
	const size_t len = strcspn(job, "."), other_len = strcspn(other, ".");
	const int order = strncmp(job, other, len < other_len ? len : other_len);

	return order ? order : (len > other_len) - (len < other_len);
}

static int task_by_job(const void *a, const void *b)
{
	const struct lake_task *x = *(const struct lake_task *const *)a, *y = *(const struct lake_task *const *)b;
	const int order = analysis_job_order(x->job, y->job);

	return order ? order : (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/*
 * A task shares its request with a run that began in it. The ranks, steps and script of a job that run at once share
 * one request: on a node SLURM_MEM_PER_NODE is the limit of all of them together.
 */
static void find_shares(const struct lake_report *r, const struct lake_task **tasks, char *shares)
{
	const struct lake_task *last = NULL; /* of those of the job that ends last */
	size_t n = 0;

	for (size_t i = 0; i < r->n_tasks; i++) {
		shares[i] = r->tasks[i].inner_runs > 0;
		if (*r->tasks[i].job && r->tasks[i].start_ns)
			tasks[n++] = &r->tasks[i];
	}
	if (n)
		qsort(tasks, n, sizeof(*tasks), task_by_job);
	for (size_t i = 0; i < n; i++) {
		const bool same = last && analysis_job_order(last->job, tasks[i]->job) == 0;

		if (same && (!last->end_ns || last->end_ns > tasks[i]->start_ns))
			shares[last - r->tasks] = shares[tasks[i] - r->tasks] = 1;
		if (!same || (last->end_ns && (!tasks[i]->end_ns || tasks[i]->end_ns > last->end_ns)))
			last = tasks[i];
	}
}

static int most_cpu_first(const void *a, const void *b)
{
	const struct analysis_group *x = *(const struct analysis_group *const *)a;
	const struct analysis_group *y = *(const struct analysis_group *const *)b;

	if (x->cpu_sum_s < y->cpu_sum_s || x->cpu_sum_s > y->cpu_sum_s)
		return x->cpu_sum_s > y->cpu_sum_s ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int group_tasks(struct analysis *a, const struct work *w, const struct lake_task **tasks)
{
	const struct lake_report *r = a->report;

	find_shares(r, tasks, w->shares);
	for (size_t i = 0; i < r->n_tasks; i++)
		tasks[i] = &r->tasks[i];
	if (r->n_tasks)
		qsort(tasks, r->n_tasks, sizeof(*tasks), task_by_name);
	for (size_t i = 0, end; i < r->n_tasks; i = end) {
		for (end = i + 1; end < r->n_tasks && strcmp(tasks[i]->task, tasks[end]->task) == 0; end++)
			;
		a->groups[a->n_groups] = group_new(a, w, tasks + i, end - i);
		if (!a->groups[a->n_groups])
			return -ENOMEM;
		a->n_groups++;
	}
	if (a->n_groups)
		qsort(a->groups, a->n_groups, sizeof(*a->groups), most_cpu_first);
	return 0;
}

static void sort_work(const struct lake_report *r, struct work *w)
{
	for (size_t i = 0; i < r->n_samples; i++)
		w->samples[i] = &r->samples[i];
	if (r->n_samples)
		qsort(w->samples, r->n_samples, sizeof(*w->samples), sample_by_tool);
}

int analysis_group_all(struct analysis *a)
{
	const struct lake_report *r = a->report;
	const struct lake_task **tasks = calloc(r->n_tasks + 1, sizeof(const struct lake_task *));
	struct work w = {
		.samples = calloc(r->n_samples + 1, sizeof(const struct lake_sample *)),
		.shares = calloc(r->n_tasks + 1, 1),
		.n_samples = r->n_samples,
	};
	size_t room;
	int rc = -ENOMEM;

	a->groups = calloc(r->n_tasks + 1, sizeof(*a->groups));
	if (w.samples) {
		sort_work(r, &w);
		room = most_edges(r, &w) + 1;
		w.edges = calloc(room, sizeof(*w.edges));
		w.scratch = calloc(room, sizeof(*w.edges));
	}
	if (tasks && w.edges && w.scratch && w.shares && a->groups && analysis_leaves_find(a) == 0) {
		rc = group_tasks(a, &w, tasks);
		a->whole = rc == 0 ? whole_new(a) : NULL;
		rc = rc == 0 && !a->whole ? -ENOMEM : rc;
	}
	free(tasks);
	free(w.samples);
	free(w.edges);
	free(w.scratch);
	free(w.shares);
	return rc;
}
