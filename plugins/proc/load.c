/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/load.c - loads and attaches the kernel side: asks the kernel's BTF which variant of a hook it has, sizes
 * the maps, and unloads it all.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <skep/load.h>
#include <skep/object.h>
#include <skep/preempt.h>
#include <skep/scope.h>
#include <skep/types.h>
#include <string.h>
#include <unistd.h>

#include "proc.h"
#include "plugins/proc/proc.skel.h"
#include "state.h"

/* Shares the host's maps; without them the programs see no rules. */
static int share_maps(struct skep_instance *inst, struct proc_state *st, const struct skep_kernel_types *types)
{
	const struct skep_host *host = st->host;
	const struct {
		struct bpf_map *map;
		int fd;
	} maps[] = {
		{ st->bpf->maps.verdict, host->verdict_fd },
		{ st->bpf->maps.rules, host->rules_fd },
		{ st->bpf->maps.rules_programs, host->rules_programs_fd },
		{ st->bpf->maps.rules_values, host->rules_values_fd },
	};
	int err;

	if (host->verdict_fd >= 0)
		st->bpf->rodata->verdict_pids = host->verdict_pids;
	if (maps[1].fd >= 0) /* else no fork waits for rules: programs keep none */
		skep_load_places(st->bpf->maps.pending_forks, types);
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		err = maps[i].fd >= 0 ? bpf_map__reuse_fd(maps[i].map, maps[i].fd) : 0;
		if (err)
			return host->fail(inst, err, "cannot use the host's map %s: %s", bpf_map__name(maps[i].map),
					  strerror(-err));
	}
	return 0;
}

static int prepare(struct skep_instance *inst, struct proc_state *st, const struct skep_kernel_types *types)
{
	static const char *const needed[] = { "sched_process_fork", "sched_process_exec", "sched_process_exit",
					      "sched_process_free" };
	struct proc_bpf *bpf = st->bpf;
	uint32_t ring = skep_ring_bytes(st->opt_ring_bytes);
	bool victim, victim_is_task, preempted;
	int err = skep_types_need(inst, st->host, types, needed, sizeof(needed) / sizeof(needed[0]));

	if (err)
		return err;
	bpf->rodata->exit_has_group_dead = skep_types_arguments(types, "sched_process_exit") >= 2;
	victim = skep_types_has_tracepoint(types, "mark_victim");
	victim_is_task = skep_types_argument_is_pointer(types, "mark_victim", 0);
	bpf_program__set_autoload(bpf->progs.on_victim_task, victim && victim_is_task);
	bpf_program__set_autoload(bpf->progs.on_victim_pid, victim && !victim_is_task);

	bpf->rodata->preempted = preempted = skep_types_preempt_programs(types);
	bpf_program__set_autoload(bpf->progs.on_fork_missed, preempted);
	bpf_program__set_autoload(bpf->progs.on_exec_missed, preempted);
	bpf_program__set_autoload(bpf->progs.on_exit_missed, preempted);

	bpf->rodata->scope_cgroup_v1 = skep_scope_cgroup_v1();
	bpf->rodata->wake_at = ring / 4;
	bpf->rodata->page_shift = (uint32_t)__builtin_ctzl(st->page_size);
	bpf_map__set_max_entries(bpf->maps.ring, ring);
	bpf_map__set_max_entries(bpf->maps.counters, st->n_cpus);
	bpf_map__set_max_entries(bpf->maps.buffers, st->n_cpus * PROC_BUFFERS);
	skep_load_places(bpf->maps.threads, types);
	return share_maps(inst, st, types);
}

/* Opens, prepares, and loads or adopts. -ESTALE: the adoption failed, so call it again. */
static int place(struct skep_instance *inst, struct proc_state *st)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	const struct skep_kernel_types *types;
	struct skep_object object;
	int err;

	err = skep_types_get(inst, st->host, &types);
	if (err)
		return err;
	skep_object_begin(&object, types);
	opts.btf_custom_path = object.path;
	st->bpf = proc_bpf__open_opts(&opts);
	if (!st->bpf) {
		err = -errno;
		st->host->fail(inst, err, "cannot open the BPF object: %s", strerror(-err));
		goto out;
	}
	err = prepare(inst, st, types);
	if (err)
		goto out;
	err = skep_object_ready(&object, st->bpf->obj);
	if (err) {
		st->host->fail(inst, err, "cannot write the kernel's types: %s", strerror(-err));
		goto out;
	}
	err = skep_pins_load(&st->pins, st->host, "proc", st->bpf->skeleton);
	if (err && err != -ESTALE)
		err = skep_load_fail(inst, st->host, err, "loading the BPF programs");
out:
	skep_object_end(&object);
	skep_types_put(inst, st->host, types);
	return err;
}

const char *const proc_program_names[4] = { "on_fork", "on_exec", "on_exit", "on_free" };

static void programs(struct proc_state *st)
{
	const struct bpf_program *const progs[4] = { st->bpf->progs.on_fork, st->bpf->progs.on_exec,
						     st->bpf->progs.on_exit, st->bpf->progs.on_free };

	for (unsigned i = 0; i < 4; i++)
		st->prog_fds[i] = skep_pins_own_program(&st->pins, progs[i], proc_program_names[i]);
}

int proc_load(struct skep_instance *inst, struct proc_state *st)
{
	int err, unpinned;

	err = skep_load_cpus(inst, st->host, &st->n_cpus);
	if (err)
		return err;
	st->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	err = place(inst, st);
	if (err == -ESTALE) {
		proc_bpf__destroy(st->bpf);
		err = place(inst, st);
	}
	if (err)
		goto out;
	st->counters_size = st->n_cpus * sizeof(struct proc_counters);
	st->counters = skep_view_new(st->bpf->maps.counters, st->counters_size);
	if (!st->counters) {
		err = -errno;
		err = st->host->fail(inst, err, "cannot map the counters: %s", strerror(-err));
		goto out;
	}
	st->rules = skep_view_new(st->bpf->maps.rules, sizeof(*st->rules));
	if (!st->rules) {
		err = -errno;
		err = st->host->fail(inst, err, "cannot map the rules: %s", strerror(-err));
		goto out;
	}
	st->others = &st->bpf->bss->others;
	err = proc_boundaries_set(inst, st); /* before the programs run: they miss no name */
	if (err) {
		err = st->host->fail(inst, err, "cannot give the names of variables to the BPF programs: %s",
				     strerror(-err));
		goto out;
	}
	err = skep_pins_attach(&st->pins, st->bpf->skeleton, &unpinned);
	if (err) {
		err = skep_load_fail(inst, st->host, err, "attaching the BPF programs");
		goto out;
	}
	skep_pins_warn(st->host, inst, unpinned, "collected");
	programs(st);
	return 0;
out:
	proc_unload(st);
	return err;
}

bool proc_detach(struct skep_instance *inst, struct proc_state *st)
{
	return skep_pins_leave(&st->pins, st->host, inst, st->bpf->skeleton);
}

void proc_unload(struct proc_state *st)
{
	if (st->ring.page) /* else the probe never opened it */
		skep_ring_close(&st->ring);
	for (unsigned i = 0; i < 4; i++) {
		if (st->prog_fds[i] > 0)
			close(st->prog_fds[i]);
		st->prog_fds[i] = -1;
	}
	st->counters = skep_view_free(st->counters, st->counters_size);
	st->rules = skep_view_free(st->rules, sizeof(*st->rules));
	proc_bpf__destroy(st->bpf);
	st->bpf = NULL;
}
