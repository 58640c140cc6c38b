/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/stall.c - finds tasks, and runs without tasks, that live and do nothing.
 *
 * A program that waits for another one of the same task is no stall: the reader of a pipe, a shell, a pool's helper. So
 * the time counts in which none of them did anything.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/finding.h"

enum { IDLE, CORES, BYTES };

/* A window has twenty steps at least. */
#define STEPS      20
#define STEPS_MOST 100000

struct step {
	double cpu_ns, bytes, known_ns; /* known: a sample covers this time */
};

struct window {
	uint64_t from_ns, to_ns;
};

/* Spreads the use between two times evenly over the steps. */
static void spread(struct step *steps, size_t n, double step_ns, double from, double to, const struct step *used)
{
	const double last = step_ns * (double)n;

	from = fmax(0, from);
	to = fmin(to, last);
	for (size_t i = (size_t)(from / step_ns); to > from && i < n; i++) {
		const double begin = fmax(from, step_ns * (double)i), end = fmin(to, step_ns * (double)(i + 1));
		const double share = (end - begin) / (to - from);

		if (end <= begin)
			return;
		steps[i].cpu_ns += share * used->cpu_ns;
		steps[i].bytes += share * used->bytes;
		steps[i].known_ns += used->known_ns > 0 ? end - begin : 0;
	}
}

static void add_image(const struct analysis *a, const struct lake_process *p, uint64_t start_ns, struct step *steps,
		      size_t n, double step_ns)
{
	const struct lake_progress *of;
	const size_t n_of = analysis_progress(a->report, (size_t)(p - a->report->processes), &of);
	const uint64_t end_ns = p->end_ns ? p->end_ns : a->end_ns;
	const struct step whole = { .cpu_ns = (double)p->totals.cpu_ns }, quiet = { .known_ns = 1 };

	/* too short for a sample; most of its reads loaded its own program */
	if (!n_of && p->start_ns >= start_ns && end_ns > p->start_ns)
		spread(steps, n, step_ns, (double)(p->start_ns - start_ns), (double)(end_ns - start_ns), &whole);
	for (size_t i = 0; i < n_of; i++) {
		const double to = (double)of[i].end_ns - (double)start_ns, interval = (double)of[i].interval_ns;
		const bool works = of[i].gpu_busy_ns || of[i].major_faults || of[i].reclaims;
		const struct step used = {
			.cpu_ns = works ? interval : (double)of[i].cpu_ns,
			.bytes = (double)(of[i].file_bytes + of[i].read_bytes + of[i].write_bytes + of[i].net_bytes),
			.known_ns = 1,
		};

		spread(steps, n, step_ns, to - interval - (double)of[i].quiet_ns, to - interval, &quiet);
		spread(steps, n, step_ns, to - interval, to, &used);
	}
}

/* Some images of the report; list NULL: the first n. */
struct images {
	const uint32_t *list;
	size_t n;
};

static const struct lake_process *image(const struct analysis *a, const struct images *images, size_t i)
{
	return &a->report->processes[images->list ? images->list[i] : i];
}

/* The longest time in which none of these images did anything. 0 or -ENOMEM. */
static int longest_of(const struct analysis *a, const struct images *images, struct window between,
		      const double *thresholds, struct window *ret)
{
	const double all = (double)(between.to_ns - between.from_ns);
	const double step_ns = fmax(thresholds[IDLE] * 1e9 / STEPS, all / STEPS_MOST);
	const size_t n_steps = (size_t)(all / step_ns);
	struct step *steps = calloc(n_steps + 1, sizeof(*steps));
	size_t from = 0;

	*ret = (struct window){ 0 };
	if (!steps)
		return -ENOMEM;
	for (size_t i = 0; i < images->n; i++)
		add_image(a, image(a, images, i), between.from_ns, steps, n_steps, step_ns);
	for (size_t i = 0; i < n_steps; i++) {
		/* of a time without samples nothing is known: it is not idle */
		if (steps[i].known_ns < step_ns / 2 || steps[i].cpu_ns > thresholds[CORES] * step_ns ||
		    steps[i].bytes > thresholds[BYTES] * step_ns / 1e9)
			from = i + 1;
		if ((double)(i + 1 - from) * step_ns > (double)(ret->to_ns - ret->from_ns))
			*ret = (struct window){ between.from_ns + (uint64_t)((double)from * step_ns),
						between.from_ns + (uint64_t)((double)(i + 1) * step_ns) };
	}
	free(steps);
	return 0;
}

/* ---- guards --------------------------------------------------------------------- */

/* A user at a terminal, or a client, decides when it continues. */
static bool is_served(const struct analysis *a, const struct images *images)
{
	static const char *const notebooks[] = { "jupyter", "jupyter-lab", "jupyter-notebook", "jupyterhub", "ipython",
						 "ipykernel_launcher", "ipykernel", "rstudio", "rserver", "tmux", "screen" };

	for (size_t i = 0; i < images->n; i++) {
		const struct lake_process *p = image(a, images, i);

		if (analysis_facet(p, "net.accepts") > 0)
			return true;
		for (size_t k = 0; k < sizeof(notebooks) / sizeof(*notebooks); k++)
			if (strcmp(p->kind->tool, notebooks[k]) == 0)
				return true;
	}
	return false;
}

/* ---- findings --------------------------------------------------------------------- */

/* The part of that time in which nothing else of the run used a CPU either. */
static double idle_run_s(const struct analysis *a, const struct window *w, double cores)
{
	const struct lake_report *r = a->report;
	double idle = 0;

	for (size_t i = 0, end; i < r->n_samples; i = end) {
		const uint64_t start = r->samples[i].start_ns, interval = r->samples[i].interval_ns;
		double cpu = 0;

		for (end = i; end < r->n_samples && r->samples[end].start_ns == start; end++)
			cpu += (double)r->samples[end].cpu_ns;
		if (start >= w->from_ns && start + interval <= w->to_ns && cpu <= cores * (double)interval)
			idle += (double)interval / 1e9;
	}
	return idle;
}

/* The one of them that lived all that time and began last: the others wait for it. NULL: none did. */
static const struct lake_process *last_alive(const struct analysis *a, const struct images *images,
					     const struct window *w)
{
	const struct lake_process *last = NULL;

	for (size_t i = 0; i < images->n; i++) {
		const struct lake_process *p = image(a, images, i);

		if (p->start_ns <= w->from_ns + (w->to_ns - w->from_ns) / STEPS &&
		    (p->end_ns ? p->end_ns : a->end_ns) >= w->to_ns && (!last || p->start_ns >= last->start_ns))
			last = p;
	}
	return last;
}

struct found {
	size_t n;
	struct window longest;
	double reserved_s; /* cores asked for x time */
	const struct lake_process *process;
};

static int look(const struct analysis *a, const struct images *images, struct window between, double cores,
	        const double *thresholds, struct found *found)
{
	struct window w;
	double seconds;

	if (!images->n || (double)(between.to_ns - between.from_ns) < thresholds[IDLE] * 1e9 || is_served(a, images))
		return 0;
	if (longest_of(a, images, between, thresholds, &w) != 0)
		return -ENOMEM;
	seconds = (double)(w.to_ns - w.from_ns) / 1e9;
	if (seconds < thresholds[IDLE])
		return 0;
	found->n++;
	found->reserved_s += cores * seconds;
	if (w.to_ns - w.from_ns > found->longest.to_ns - found->longest.from_ns) {
		found->longest = w;
		found->process = last_alive(a, images, &w);
	}
	return 0;
}

static int add(struct analysis *a, const struct finding_kind *kind, const double *thresholds, const char *name,
	       const struct found *found)
{
	struct finding f = { .kind = kind, .name = name, .n = found->n, .severity = FINDING_WARN,
			     .confidence = FINDING_MEDIUM, .threshold = thresholds[IDLE], .process = found->process };
	const double after_s = ((double)found->longest.from_ns - (double)a->report->run.start_ns) / 1e9;
	char text[FINDING_NUMBER], after[FINDING_NUMBER];

	if (!found->n)
		return 0;
	f.of = *name ? FINDING_OF_TASK : FINDING_OF_RUN;
	f.value = (double)(found->longest.to_ns - found->longest.from_ns) / 1e9;
	f.saving.core_s = found->reserved_s;
	f.saving.wall_s = idle_run_s(a, &found->longest, thresholds[CORES]);
	if (f.value < a->gate_share * a->wall_s && !analysis_worth(a, f.saving.core_s))
		return 0;
	f.evidence = finding_text("for %s, from %s after the run's start on, none of its processes used a CPU, a file, the network or "
				  "a GPU", finding_seconds(f.value, text), finding_seconds(after_s, after));
	f.advice = finding_text("find out what it waits for (a lock, a peer, a file, a prompt): `cat /proc/PID/stack`, `gdb -p PID`; "
				"give such a wait a limit");
	return finding_add_take(a, &f);
}

static int find_all(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	const struct lake_report *r = a->report;
	int rc = 0;

	for (size_t i = 0; i < a->n_groups && rc == 0; i++) {
		const struct analysis_group *g = a->groups[i];
		struct found found = { 0 };

		for (size_t k = 0; k < g->n && rc == 0; k++) {
			const struct lake_task *t = g->tasks[k];
			const uint64_t end = t->end_ns ? t->end_ns : a->end_ns;
			const struct images images = { t->images, t->n_images };

			if (end > t->start_ns)
				rc = look(a, &images, (struct window){ t->start_ns, end }, lake_task_cpus(t),
					  thresholds, &found);
		}
		if (rc == 0)
			rc = add(a, kind, thresholds, g->name, &found);
	}
	/* an engine without tasks of its own waits for jobs on other machines */
	if (rc == 0 && !a->n_groups && !*r->run.engine && a->end_ns > r->run.start_ns) {
		const struct images images = { NULL, r->n_processes };
		struct found found = { 0 };

		rc = look(a, &images, (struct window){ r->run.start_ns, a->end_ns }, 0, thresholds, &found);
		if (rc == 0)
			rc = add(a, kind, thresholds, "", &found);
	}
	return rc;
}

static int find(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	const char *origin = a->report->run.origin;

	if (strcmp(origin, "session") == 0 || strcmp(origin, "shell") == 0 || thresholds[IDLE] <= 0)
		return 0;
	return find_all(a, kind, thresholds);
}

const struct finding_kind finding_stall = {
	.id = "stall",
	.title = "lives and does nothing",
	.measures = "the longest time in which no process of a task, in a run without tasks of the run, used a CPU, a file, the "
		    "network or a GPU",
	.unit = "s",
	.guards = "processes that wait for others of their task; engines; servers; notebooks; runs of an interactive shell; time of "
		  "which skep has no samples",
	.advice = "to find out what the process waits for: a lock, a peer, a file, a prompt",
	.saving = "the cores that were asked for, and the time in which all of the run did nothing",
	.source = ANALYSIS_SAMPLED,
	.thresholds = {
		[IDLE] = { "idle", 600, "s", "own: ten minutes" },
		[CORES] = { "cores", 0.01, "1", "own: a timer that looks whether something has come" },
		[BYTES] = { "bytes", 1000, "By/s", "GCP's idle machines: less than 1000 bytes a second sent" },
	},
	.find = find,
};
