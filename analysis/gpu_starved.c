/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/gpu_starved.c - finds GPUs that wait because the program cannot feed them.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/finding.h"

enum { SHARE, GPU, WARM_UP, LEAST };

bool finding_is_starved(const struct analysis_gpu *list, size_t n, double gpu, double share, double *ret_starved_s,
			double *ret_io_s, double *ret_all_s)
{
	double starved = 0, io = 0, all = 0;

	for (size_t i = 0; i < n; i++) {
		const bool now = list[i].use < gpu && (list[i].is_cpu || list[i].is_io);

		all += list[i].seconds;
		starved += now ? list[i].seconds : 0;
		io += now && list[i].is_io ? list[i].seconds : 0;
	}
	*ret_starved_s = starved;
	*ret_io_s = io;
	*ret_all_s = all;
	return all > 0 && starved > share * all;
}

static int judge(struct analysis *a, const struct finding_kind *kind, const double *thresholds,
		 const struct analysis_gpu_user *user)
{
	struct finding f = { .kind = kind, .of = user->of, .name = user->name, .n = user->n, .severity = FINDING_WARN,
			     .confidence = FINDING_MEDIUM, .threshold = thresholds[SHARE] };
	char starved_text[FINDING_NUMBER], all_text[FINDING_NUMBER];
	double starved, io, all, devices = 0;
	struct analysis_gpu *list;
	size_t n_list;
	bool is;

	if (analysis_gpu(a, user, thresholds[WARM_UP], &list, &n_list) != 0)
		return -ENOMEM;
	is = finding_is_starved(list, n_list, thresholds[GPU], thresholds[SHARE], &starved, &io, &all);
	for (size_t i = 0; i < n_list; i++)
		devices = list[i].devices > devices ? list[i].devices : devices;
	free(list);
	if (!is || all < thresholds[LEAST])
		return 0;
	f.value = starved / all;
	f.saving.gpu_s = starved * devices;
	f.evidence = finding_text("for %s of the %s (%.0f %%) in which it held a GPU, the GPU was less than %.0f %% busy while %s",
				  finding_seconds(starved, starved_text), finding_seconds(all, all_text), f.value * 100,
				  thresholds[GPU] * 100, io > starved / 2 ? "its threads waited for storage" : "a CPU was all busy");
	f.advice = finding_text(io > starved / 2 ? "put its data on local storage, read ahead, and load with more workers"
						 : "load and prepare the data with more workers (num_workers, tf.data's prefetch), or "
						   "on the GPU");
	return finding_add_take(a, &f);
}

static int find(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	return analysis_gpu_each(a, kind, thresholds, judge);
}

const struct finding_kind finding_gpu_starved = {
	.id = "gpu-starved",
	.title = "a GPU waits for the CPU or for storage",
	.measures = "share of the time with a GPU in which the GPU was idle while a CPU or storage was not",
	.unit = "1",
	.guards = "the first minute, in which a program loads and compiles; less than five minutes with a GPU",
	.advice = "input that is near, read ahead and loaded by more workers",
	.saving = "that time of its GPUs",
	.source = ANALYSIS_SAMPLED,
	.thresholds = {
		[SHARE] = { "share", 0.50, "1", "SageMaker's debugger: half of the time" },
		[GPU] = { "gpu", 0.10, "1", "SageMaker's debugger: less than 10 % busy, beside a CPU of 90 % or an I/O wait of 50 %" },
		[WARM_UP] = { "warm_up", 60, "s", "own; SageMaker's debugger leaves out 1000 samples" },
		[LEAST] = { "least", 300, "s", "own" },
	},
	.find = find,
};
