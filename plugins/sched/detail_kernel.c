/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/sched/detail_kernel.c - checks what this kernel offers to the details, loads their program with the first
 * attachment, and removes it after the last.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <skep/load.h>
#include <skep/misses.h>
#include <skep/object.h>
#include <skep/types.h>
#include <stdio.h>

#include "state.h"

#include "plugins/sched/sched_detail.skel.h"

/* The number of arguments of sched_switch, when they begin as the program expects: (preempt, prev, next). Else 0. */
static unsigned switch_args(const struct skep_kernel_types *types)
{
	int args = skep_types_arguments(types, "sched_switch");

	/* 5.18 had prev_state as the second argument until its last candidates */
	if (args < 3 || !skep_types_argument_is_pointer(types, "sched_switch", 1) ||
	    !skep_types_argument_is_pointer(types, "sched_switch", 2))
		return 0;
	return (unsigned)args;
}

/*
 * Task storage is faster, but the program runs under the run queue's lock. There the kernel must not allocate by
 * kmalloc(), which may wake kswapd, which takes such a lock. Since 6.4 storage comes from BPF's own allocator
 * (selem_ma), in 7.2 by kmalloc_nolock(). A preallocated hash has always been safe.
 */
static enum detail_memory memory_of(const struct skep_kernel_types *types)
{
	return skep_types_has_member(types, "bpf_local_storage_map", "selem_ma") ||
			       skep_types_has_function(types, "bpf_map_kmalloc_nolock")
		       ? DETAIL_MEMORY_TASK
		       : DETAIL_MEMORY_HASH;
}

/* Whether the scheduler books more than nothing for us. Third number: times on a CPU. */
static bool run_delay_counts(void)
{
	unsigned long long ran = 0, waited = 0, stints = 0;
	FILE *f = fopen("/proc/self/schedstat", "re");
	bool counts;

	if (!f)
		return false;
	counts = fscanf(f, "%llu %llu %llu", &ran, &waited, &stints) == 3 && stints > 0;
	fclose(f);
	return counts;
}

void detail_kernel_ask(struct detail_kernel *k, const struct skep_kernel_types *types)
{
	unsigned args = switch_args(types);

	*k = (struct detail_kernel){
		.hook = args > 0,
		.prev_state = args >= 4,
		.run_delay = run_delay_counts(),
		.memory = memory_of(types),
	};
	if (!k->hook)
		k->missing = "the kernel has no tracepoint sched_switch(preempt, prev, next)";
	else if (!k->run_delay)
		k->missing = "the kernel does not book waits for a CPU (/proc/self/schedstat): needs CONFIG_SCHED_INFO";
}

void detail_kernel_tell(struct skep_instance *inst, const struct sched_probe *st)
{
	static const char *const names[DETAIL_KINDS] = { "sched.runqlat", "sched.oncpu", "sched.offcpu" };
	const struct sched_details *d = &st->details;
	const struct detail_kernel *k = &d->kernel;

	for (unsigned kind = 0; kind < DETAIL_KINDS; kind++) {
		const char *how = kind == DETAIL_ONCPU                ? "tp_btf/sched_switch"
				  : k->memory == DETAIL_MEMORY_TASK ? "tp_btf/sched_switch, task storage"
								    : "tp_btf/sched_switch, hash by thread";
		bool attached = false;
		char why[64];

		for (unsigned i = 0; i < SKEP_SCOPE_SLOTS; i++)
			attached |= d->attached[i].used && d->attached[i].kind == kind;
		snprintf(why, sizeof(why), "on demand: skep attach %s", sched_details[kind].name);
		if (!k->hook || (kind != DETAIL_ONCPU && !k->run_delay))
			st->host->signal(inst, names[kind], SKEP_SIGNAL_MISSING, "", k->missing);
		else if (!attached)
			st->host->signal(inst, names[kind], SKEP_SIGNAL_OFF, how, why);
		else
			st->host->signal(inst, names[kind], SKEP_SIGNAL_OK, how, NULL);
	}
}

static int load_with(struct sched_probe *st, const struct skep_kernel_types *types, enum detail_memory memory)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	struct sched_details *d = &st->details;
	struct sched_detail_bpf *bpf;
	struct skep_object object;
	int err;

	skep_object_begin(&object, types);
	opts.btf_custom_path = object.path;
	bpf = sched_detail_bpf__open_opts(&opts);
	if (!bpf) {
		err = -errno;
		goto out;
	}
	bpf->rodata->has_prev_state = d->kernel.prev_state;
	bpf->rodata->has_task_storage = memory == DETAIL_MEMORY_TASK;
	bpf->rodata->scope_cgroup_v1 = skep_scope_cgroup_v1();
	bpf_map__set_max_entries(bpf->maps.cpus, d->n_cpus);
	bpf_map__set_max_entries(bpf->maps.hists, d->n_cpus * SKEP_SCOPE_SLOTS * DETAIL_PARTS);
	bpf_map__set_max_entries(bpf->maps.threads_by_task, (uint32_t)st->opt_threads);
	/* this kernel may not know the other type of map */
	bpf_map__set_autocreate(memory == DETAIL_MEMORY_TASK ? bpf->maps.threads_by_task : bpf->maps.threads, false);
	err = skep_load_verdict(st->host, bpf->maps.verdict, &bpf->rodata->verdict_pids);
	if (err)
		goto out;
	err = skep_object_ready(&object, bpf->obj);
	err = err ?: sched_detail_bpf__load(bpf);
	if (err)
		goto out;
	d->bpf = bpf;
out:
	skep_object_end(&object);
	if (err)
		sched_detail_bpf__destroy(bpf);
	return err;
}

int detail_load(struct skep_instance *inst, struct sched_probe *st)
{
	struct sched_details *d = &st->details;
	const struct skep_kernel_types *types;
	int err = skep_load_cpus(inst, st->host, &d->n_cpus);

	err = err ?: skep_types_get(inst, st->host, &types);
	if (err)
		return err;
	err = load_with(st, types, d->kernel.memory);
	/* a missing permission would refuse the other way too */
	if (err && err != -EPERM && err != -EACCES && d->kernel.memory == DETAIL_MEMORY_TASK) {
		d->kernel.memory = DETAIL_MEMORY_HASH;
		err = load_with(st, types, d->kernel.memory);
	}
	skep_types_put(inst, st->host, types);
	if (err)
		goto out;
	d->cpus_size = d->n_cpus * sizeof(*d->cpus);
	d->hists_size = (size_t)d->n_cpus * SKEP_SCOPE_SLOTS * DETAIL_PARTS * sizeof(*d->hists);
	d->cpus = skep_view_new(d->bpf->maps.cpus, d->cpus_size);
	d->hists = d->cpus ? skep_view_new(d->bpf->maps.hists, d->hists_size) : NULL;
	err = d->hists ? 0 : -errno;
	if (!err)
		err = skep_object_attach(d->bpf->skeleton);
	if (!err)
		return 0;
out:
	detail_unload(st);
	return skep_detail_fail(inst, st->host, err, "the hook on sched_switch");
}

struct skep_scopes *detail_scopes_of(struct sched_probe *st)
{
	return &st->details.bpf->bss->scopes;
}

void detail_detach_hook(struct sched_probe *st)
{
	sched_detail_bpf__detach(st->details.bpf);
}

void detail_unload(struct sched_probe *st)
{
	struct sched_details *d = &st->details;

	d->cpus = skep_view_free(d->cpus, d->cpus_size);
	d->hists = skep_view_free(d->hists, d->hists_size);
	sched_detail_bpf__destroy(d->bpf);
	d->bpf = NULL;
}

uint64_t detail_misses(const struct sched_probe *st)
{
	return skep_program_misses(st->details.bpf->progs.on_switch);
}
