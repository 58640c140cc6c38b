/* SPDX-License-Identifier: Apache-2.0 */
/* plugins/gpu/cuda.c - attachments of the detail "cuda": begun, sampled each interval, ended. */
#include "cuda_state.h"

struct cuda_state *cuda_new(struct skep_instance *inst, const struct cuda_config *config)
{
	struct cuda_state *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->inst = inst;
	s->config = *config;
	s->full = config->host->counter(inst, "cuda_processes_full",
					"processes that a detail cuda could not follow: too many at a time");
	s->held_up =
		config->host->counter(inst, "cuda_processes_stuck",
				      "processes left out of a detail cuda: their /proc or libcuda did not answer");
	return s;
}

void cuda_unload(struct cuda_state *s)
{
	s->scanned = cuda_scan_free(s->scanned);
	for (int i = 0; i < CUDA_PROCESSES; i++) {
		cuda_target_off(&s->targets[i]);
		s->targets[i].state = TARGET_FREE;
		s->live[i] = (struct live){ 0 };
	}
	cuda_bpf__destroy(s->bpf);
	s->bpf = NULL;
	s->lost_seen = 0;
}

struct cuda_state *cuda_free(struct cuda_state *s)
{
	if (!s)
		return NULL;
	cuda_unload(s);
	for (int i = 0; i < CUDA_ATTACHMENTS; i++)
		free(s->attachments[i].base);
	free(s);
	return NULL;
}

void cuda_kick(struct cuda_state *s)
{
	if (s->bpf && !cuda_scan_begin(s)) /* the end of a scan begins the pass */
		cuda_pass_begin(s);
}

void cuda_sample(struct cuda_state *s, uint64_t now_ns)
{
	bool any = false;

	for (int i = 0; i < CUDA_ATTACHMENTS; i++)
		any = any || s->attachments[i].id;
	if (!any)
		return;
	cuda_emit_all(s, now_ns);
	cuda_scan_watch(s, now_ns);
	cuda_kick(s);
}

static int load(struct cuda_state *s)
{
	int err;

	if (s->bpf)
		return 0;
	s->bpf = cuda_bpf__open_and_load();
	if (s->bpf)
		return 0;
	err = -errno;
	return s->config.host->fail(s->inst, err, "loading the programs of the detail cuda: %s%s", strerror(-err),
				    err == -EPERM ? "; needs CAP_BPF and CAP_PERFMON" : "");
}

int cuda_attach(struct cuda_state *s, const struct skep_detail_scope *scope)
{
	const struct skep_host *host = s->config.host;
	struct attachment *a = NULL;
	int err;

	if (scope->kind != SKEP_SCOPE_PID && scope->kind != SKEP_SCOPE_GROUP)
		return host->fail(s->inst, -ENOTSUP, "cuda: can be attached to a process or to a run");
	if (scope->kind == SKEP_SCOPE_GROUP && host->verdict_fd < 0)
		return host->fail(s->inst, -ENOTSUP,
				  "cuda: a run cannot be followed here: the host has no verdict map");
	for (int i = 0; i < CUDA_ATTACHMENTS && !a; i++)
		if (!s->attachments[i].id)
			a = &s->attachments[i];
	if (!a)
		return host->fail(s->inst, -EBUSY, "cuda: %d attachments exist, which is the limit; detach one",
				  CUDA_ATTACHMENTS);
	/* A thread checks whether it has libcuda: the loop must not wait for that process. */
	if (scope->kind == SKEP_SCOPE_PID && !cuda_process_started(s->config.procfs, (uint32_t)scope->value))
		return host->fail(s->inst, -ESRCH, "cuda: there is no process %llu", (unsigned long long)scope->value);
	err = load(s);
	if (err)
		return err;
	if (!a->base)
		a->base = calloc(CUDA_PROCESSES, sizeof(*a->base));
	if (!a->base)
		return host->fail(s->inst, -ENOMEM, "cuda: no memory");
	memset(a->base, 0, CUDA_PROCESSES * sizeof(*a->base));
	a->over = false;
	a->window_hits = a->window_cost_ns = a->window_ns = 0;
	a->kind = scope->kind;
	a->resume = 0;
	a->value = scope->value;
	a->id = scope->id;
	/* Another attachment already follows the process: its earlier counts do not belong to this one. */
	for (int k = 0; k < CUDA_PROCESSES; k++)
		if (s->live[k].pid)
			bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.processes), &s->live[k].pid, &a->base[k]);
	cuda_kick(s);
	return 0;
}

void cuda_detach(struct cuda_state *s, uint64_t id)
{
	for (int i = 0; i < CUDA_ATTACHMENTS; i++) {
		struct attachment *a = &s->attachments[i];

		if (a->id != id)
			continue;
		for (int k = 0; s->bpf && k < CUDA_PROCESSES; k++) {
			if (s->live[k].members & 1u << i)
				cuda_emit_one(s, a, k, skep_boot_ns());
			s->live[k].members &= ~(1u << i);
		}
		a->id = 0;
		cuda_kick(s);
		return;
	}
}
