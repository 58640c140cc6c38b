/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/oversubscribed.c - finds runs whose own threads wait for each other's CPUs.
 */
#include <math.h>

#include "analysis/finding.h"

enum { NOTE, WARN };

/*
 * The share of the delay that arose while the run itself wanted more cores than there are: the rest is the fault of
 * neighbours. Without samples all of it, if the run wanted that many on average.
 */
static double own_share(const struct analysis *a)
{
	const struct lake_report *r = a->report;
	double own = 0, all = 0;

	for (size_t i = 0, end; i < r->n_samples; i = end) {
		double cpu = 0, delay = 0;

		for (end = i; end < r->n_samples && r->samples[end].start_ns == r->samples[i].start_ns; end++) {
			cpu += (double)r->samples[end].cpu_ns;
			delay += (double)r->samples[end].run_delay_ns;
		}
		all += delay;
		if (cpu + delay > (double)r->run.cpus * (double)r->samples[i].interval_ns)
			own += delay;
	}
	if (all > 0)
		return own / all;
	return (double)(r->run.totals.cpu_ns + r->run.totals.run_delay_ns) > (double)r->run.cpus * a->wall_s * 1e9;
}

static int find(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	const struct lake_report *r = a->report;
	const double cpu = (double)r->run.totals.cpu_ns / 1e9, delay = (double)r->run.totals.run_delay_ns / 1e9;
	const struct lake_tool *worst = r->tools;
	struct finding f = { .kind = kind, .of = FINDING_OF_RUN, .name = "", .n = 1, .confidence = FINDING_MEDIUM };
	char text[FINDING_NUMBER];

	if (cpu + delay <= 0 || !r->run.cpus || !r->n_tools)
		return 0;
	f.value = delay / (cpu + delay);
	if (f.value < thresholds[NOTE] || own_share(a) < 0.5)
		return 0;
	for (size_t i = 1; i < r->n_tools; i++)
		if (r->tools[i].totals.run_delay_ns > worst->totals.run_delay_ns)
			worst = &r->tools[i];
	f.severity = f.value >= thresholds[WARN] ? FINDING_WARN : FINDING_NOTE;
	f.threshold = thresholds[f.severity == FINDING_WARN ? WARN : NOTE];
	f.saving.wall_s = fmin(a->wall_s, delay / (double)r->run.cpus);
	f.evidence = finding_text("its processes were ready to run and waited for a CPU for %s, %.0f %% of the time in which "
				  "they could have run on %llu CPUs; most of it in %s",
				  finding_seconds(delay, text), f.value * 100, (unsigned long long)r->run.cpus,
				  worst->tool);
	f.advice = finding_text("start fewer at once, or give %s as many threads as its share of %llu CPUs", worst->tool,
				(unsigned long long)r->run.cpus);
	return finding_add_take(a, &f);
}

const struct finding_kind finding_oversubscribed = {
	.id = "oversubscribed",
	.title = "more threads than CPUs",
	.measures = "run-queue delay by CPU time and run-queue delay, of the run",
	.unit = "1",
	.guards = "delay that arose while the run itself wanted no more than the machine's CPUs: neighbours cause it",
	.advice = "fewer programs at once, or fewer threads each",
	.saving = "the delay by the machine's CPUs, at most the run's duration: an upper bound",
	.source = ANALYSIS_EXACT,
	.thresholds = {
		[NOTE] = { "note", 0.10, "1", "own: a tenth of the time is visible in the duration" },
		[WARN] = { "warn", 0.25, "1", "own" },
	},
	.find = find,
};
