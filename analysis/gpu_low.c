/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/gpu_low.c - finds GPUs that are held and little used.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/finding.h"
#include "analysis/stats.h"

enum { P95, P5, MEAN, WARM_UP, LEAST };

static int judge(struct analysis *a, const struct finding_kind *kind, const double *thresholds,
		 const struct analysis_gpu_user *user)
{
	struct finding f = { .kind = kind, .of = user->of, .name = user->name, .n = user->n, .severity = FINDING_NOTE,
			     .confidence = FINDING_MEDIUM, .threshold = thresholds[P95] };
	double p95, p5, idle_s = 0, device_s = 0, seconds = 0, starved, io, all, *use;
	char text[FINDING_NUMBER];
	struct analysis_gpu *list;
	size_t n_list;
	bool is_starved;

	if (analysis_gpu(a, user, thresholds[WARM_UP], &list, &n_list) != 0)
		return -ENOMEM;
	use = calloc(n_list + 1, sizeof(*use));
	for (size_t i = 0; use && i < n_list; i++) {
		use[i] = list[i].use;
		seconds += list[i].seconds;
		device_s += list[i].seconds * list[i].devices;
		idle_s += list[i].seconds * list[i].devices * (1 - list[i].use);
	}
	is_starved = finding_is_starved(list, n_list, finding_gpu_starved.thresholds[1].value,
					finding_gpu_starved.thresholds[0].value, &starved, &io, &all);
	free(list);
	if (!use)
		return -ENOMEM;
	stats_sort(use, n_list);
	p95 = n_list ? stats_quantile(use, n_list, 0.95) : 0;
	p5 = n_list ? stats_quantile(use, n_list, 0.05) : 0;
	free(use);
	if (device_s <= 0 || seconds < thresholds[LEAST] || is_starved ||
	    (p95 >= thresholds[P95] && p5 >= thresholds[P5]))
		return 0;
	f.value = 1 - idle_s / device_s;
	f.severity = f.value < thresholds[MEAN] ? FINDING_WARN : FINDING_NOTE;
	f.threshold = p95 < thresholds[P95] ? thresholds[P95] : thresholds[P5];
	f.saving.gpu_s = idle_s;
	f.evidence = finding_text("it held a GPU for %s, in which a kernel ran for %.0f %% of the time on average, in a twentieth of the "
				  "intervals for less than %.0f %% and in a twentieth for more than %.0f %%",
				  finding_seconds(seconds, text), f.value * 100, p5 * 100, p95 * 100);
	f.advice = finding_text(p95 < thresholds[P95] ? "use a larger batch, share the GPU (MIG, MPS), or ask for a smaller one"
						      : "prepare the next batch while the GPU computes: it stops between batches");
	return finding_add_take(a, &f);
}

static int find(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	return analysis_gpu_each(a, kind, thresholds, judge);
}

const struct finding_kind finding_gpu_low = {
	.id = "gpu-low",
	.title = "a GPU is held and little used",
	.measures = "share of the time with a GPU in which a kernel of it ran, however few of the GPU's units it used",
	.unit = "1",
	.guards = "the first minute, in which a program loads and compiles; less than five minutes with a GPU; a GPU that "
		  "gpu-starved explains",
	.advice = "a larger batch, a share of a GPU, or a smaller GPU; steadier input where its use goes up and down",
	.saving = "the time in which its GPUs were idle",
	.source = ANALYSIS_SAMPLED,
	.thresholds = {
		[P95] = { "p95", 0.70, "1", "SageMaker's debugger: less than this in 95 % of the time" },
		[P5] = { "p5", 0.10, "1", "SageMaker's debugger: or less than this in 5 % of the time" },
		[MEAN] = { "mean", 0.15, "1", "jobstats: red below 15 % on average" },
		[WARM_UP] = { "warm_up", 60, "s", "own; SageMaker's debugger leaves out 1000 samples" },
		[LEAST] = { "least", 300, "s", "own" },
	},
	.find = find,
};
