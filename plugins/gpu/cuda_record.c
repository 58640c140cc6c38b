/* SPDX-License-Identifier: Apache-2.0 */
/* plugins/gpu/cuda_record.c - records of the detail "cuda" from the kernel's counts, and the limit on their cost. */
#include "cuda_state.h"

void cuda_difference(const struct cuda_stats *now, const struct cuda_stats *before, uint64_t stall[GPU_HIST_SLOTS],
		     struct cuda_record *ret)
{
	uint32_t last = 0;

	*ret = (struct cuda_record){
		.launches = now->launches - before->launches,
		.graph_launches = now->graph_launches - before->graph_launches,
		.copies_h2d = now->copies_h2d - before->copies_h2d,
		.bytes_h2d = now->bytes_h2d - before->bytes_h2d,
		.copies_d2h = now->copies_d2h - before->copies_d2h,
		.bytes_d2h = now->bytes_d2h - before->bytes_d2h,
		.copies_d2d = now->copies_d2d - before->copies_d2d,
		.bytes_d2d = now->bytes_d2d - before->bytes_d2d,
		.copies_other = now->copies_other - before->copies_other,
		.bytes_other = now->bytes_other - before->bytes_other,
		.copies_unsized = now->copies_unsized - before->copies_unsized,
		.allocs = now->allocs - before->allocs,
		.bytes_alloc = now->bytes_alloc - before->bytes_alloc,
		.frees = now->frees - before->frees,
		.syncs = now->syncs - before->syncs,
		.hits = now->hits - before->hits,
	};
	for (uint32_t i = 0; i < GPU_HIST_SLOTS; i++) {
		stall[i] = now->stall[i] - before->stall[i];
		if (stall[i])
			last = i + 1;
	}
	ret->stall = (struct skep_hist){ .slots = stall, .n = last, .sum = now->stall_ns - before->stall_ns };
}

void cuda_emit_one(struct cuda_state *s, struct attachment *a, int target, uint64_t now_ns)
{
	const struct skep_host *host = s->config.host;
	struct live *l = &s->live[target];
	uint64_t stall[GPU_HIST_SLOTS];
	struct cuda_record rec;
	struct cuda_stats now;

	if (bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.processes), &l->pid, &now))
		return;
	cuda_difference(&now, &a->base[target], stall, &rec);
	if (!rec.hits)
		return;
	a->base[target] = now;
	a->window_hits += rec.hits;
	rec.detail = a->id;
	rec.cost_ns = rec.hits * (l->stepped ? s->price.stepped_ns : s->price.emulated_ns);
	a->window_cost_ns += rec.cost_ns;
	if (!l->who.pid && !host->process_by_pid(s->inst, l->pid, &l->who))
		l->who = (struct skep_upid){ 0 };
	host->emit(s->inst, STREAM_CUDA, l->who.pid ? &l->who : NULL, now_ns, &rec);
}

/* Threads without room for their synchronize call: their stall is missing. */
static void report_lost(struct cuda_state *s)
{
	int cpus = libbpf_num_possible_cpus();
	struct gpu_lost *lost = cpus > 0 ? calloc((size_t)cpus, sizeof(*lost)) : NULL;
	uint32_t zero = 0;
	uint64_t n = 0;

	if (lost && bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.lost), &zero, lost) == 0)
		for (int i = 0; i < cpus; i++)
			n += lost[i].pending;
	free(lost);
	if (n > s->lost_seen) {
		s->config.host->lost(s->inst, STREAM_CUDA, SKEP_LOSS_KERNEL, n - s->lost_seen);
		s->lost_seen = n;
	}
}

/* Ends a detail that costs its processes more than the limit: the processes come first. */
static void watch_cost(struct cuda_state *s, struct attachment *a, uint64_t interval_ns)
{
	char why[160];
	double share;

	a->window_ns += interval_ns;
	if (a->window_ns < 1000000000u)
		return;
	share = (double)a->window_cost_ns / (double)a->window_ns;
	if (s->config.max_share > 0 && share > s->config.max_share && !a->over) {
		snprintf(why, sizeof(why),
			 "%.0f calls a second at %.1f us each are %.1f %% of a core, more than cuda_max_percent allows",
			 (double)a->window_hits * 1e9 / (double)a->window_ns,
			 (double)a->window_cost_ns / 1e3 / (double)a->window_hits, share * 100);
		a->over = true;
		a->window_hits = a->window_cost_ns = a->window_ns = 0;
		s->config.host->detail_over(s->inst, a->id, why); /* calls cuda_detach(): `a` may be free now */
		return;
	}
	a->window_hits = a->window_cost_ns = a->window_ns = 0;
}

void cuda_emit_all(struct cuda_state *s, uint64_t now_ns)
{
	uint64_t interval_ns = s->last_ns && now_ns > s->last_ns ? now_ns - s->last_ns : 0;

	s->last_ns = now_ns;
	for (int i = 0; s->bpf && i < CUDA_ATTACHMENTS; i++) {
		struct attachment *a = &s->attachments[i];

		if (!a->id)
			continue;
		for (int k = 0; k < CUDA_PROCESSES; k++)
			if (s->live[k].members & 1u << i)
				cuda_emit_one(s, a, k, now_ns);
		watch_cost(s, a, interval_ns);
	}
	if (s->bpf)
		report_lost(s);
}
