/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/load.c - puts the kernel side in place: asks the kernel's BTF which
 * variant of a hook it has, sizes the maps, loads and attaches, and takes it all down.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <skep/cpus.h>
#include <skep/preempt.h>
#include <skep/scope.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proc.h"
#include "proc.skel.h"
#include "state.h"

/* Arguments of a raw tracepoint, or -ENOENT. *first_is_pointer: of the first. */
static int tracepoint_args(const struct btf *btf, const char *name, bool *first_is_pointer)
{
	char type[128];
	const struct btf_type *t;
	int id;

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	id = btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF);
	if (id < 0)
		return -ENOENT;
	t = btf__type_by_id(btf, btf__type_by_id(btf, (uint32_t)id)->type); /* pointer */
	t = btf__type_by_id(btf, t->type);                                  /* function */
	if (!btf_is_func_proto(t) || btf_vlen(t) < 1)
		return -ENOENT;
	if (first_is_pointer)
		*first_is_pointer = btf_vlen(t) > 1 && btf_is_ptr(btf__type_by_id(btf, btf_params(t)[1].type));
	return btf_vlen(t) - 1; /* the first is the tracepoint's own void * */
}

static uint32_t ring_size(uint64_t wanted)
{
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);

	while (size < wanted && size < 1u << 30)
		size <<= 1;
	return (uint32_t)size;
}

/* What a failed load or attach means, and what to do about it. */
static int refuse(struct skep_instance *inst, struct proc_state *st, int err, const char *what)
{
	if (err == -EPERM || err == -EACCES)
		return st->host->fail(inst, -EPERM,
				      "%s: not permitted: needs the capabilities CAP_BPF and CAP_PERFMON (before Linux 5.11 also "
				      "CAP_SYS_RESOURCE), and a kernel that is not locked down", what);
	return st->host->fail(inst, err, "%s: %s (verbose logging shows what the kernel said)", what, strerror(-err));
}

/* The host's maps; where it has none the programs see no rules. */
static int share_maps(struct skep_instance *inst, struct proc_state *st)
{
	const struct skep_host *host = st->host;
	const struct {
		struct bpf_map *map;
		int fd;
	} maps[] = {
		{ st->bpf->maps.verdict, host->verdict_fd },
		{ st->bpf->maps.rules, SKEP_HAS(host, rules_values_fd) ? host->rules_fd : -1 },
		{ st->bpf->maps.rules_programs, SKEP_HAS(host, rules_values_fd) ? host->rules_programs_fd : -1 },
		{ st->bpf->maps.rules_values, SKEP_HAS(host, rules_values_fd) ? host->rules_values_fd : -1 },
	};
	int err;

	if (host->verdict_fd >= 0)
		st->bpf->rodata->verdict_pids = host->verdict_pids;
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		err = maps[i].fd >= 0 ? bpf_map__reuse_fd(maps[i].map, maps[i].fd) : 0;
		if (err)
			return host->fail(inst, err, "cannot use the host's map %s: %s", bpf_map__name(maps[i].map), strerror(-err));
	}
	return 0;
}

static int prepare(struct skep_instance *inst, struct proc_state *st)
{
	static const char *const needed[] = { "sched_process_fork", "sched_process_exec", "sched_process_exit", "sched_process_free" };
	struct btf *btf = btf__load_vmlinux_btf();
	struct proc_bpf *bpf = st->bpf;
	uint32_t ring = ring_size(st->opt_ring_bytes);
	struct proc_environ_name names[PROC_ENVIRON_NAMES];
	bool victim_is_task = false, preempted;
	int victim, err = 0;

	if (!btf)
		return st->host->fail(inst, -EOPNOTSUPP,
				      "the kernel carries no type information (/sys/kernel/btf/vmlinux): needs CONFIG_DEBUG_INFO_BTF, "
				      "which distributions have had since 5.8");
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (tracepoint_args(btf, needed[i], NULL) >= 0)
			continue;
		err = st->host->fail(inst, -EOPNOTSUPP, "the kernel has no tracepoint %s", needed[i]);
		goto out;
	}
	bpf->rodata->exit_has_group_dead = tracepoint_args(btf, "sched_process_exit", NULL) >= 2;
	victim = tracepoint_args(btf, "mark_victim", &victim_is_task);
	bpf_program__set_autoload(bpf->progs.on_victim_task, victim >= 0 && victim_is_task);
	bpf_program__set_autoload(bpf->progs.on_victim_pid, victim >= 0 && !victim_is_task);

	opens_kernel_ask(&st->opens.kernel, btf); /* here, as loading the kernel's types takes up to 50 ms */
	bpf->rodata->preempted = preempted = skep_kernel_preempts_programs(btf);
	bpf_program__set_autoload(bpf->progs.on_fork_missed, preempted);
	bpf_program__set_autoload(bpf->progs.on_exec_missed, preempted);
	bpf_program__set_autoload(bpf->progs.on_exit_missed, preempted);

	bpf->rodata->environ_names = proc_environ_names(st, names);
	memcpy((void *)bpf->rodata->environ_name, names, sizeof(names));
	bpf->rodata->cgroup_v1_memory = skep_scope_cgroup_v1();
	bpf->rodata->wake_at = ring / 4;
	bpf->rodata->page_shift = (uint32_t)__builtin_ctzl(st->page_size);
	bpf_map__set_max_entries(bpf->maps.ring, ring);
	bpf_map__set_max_entries(bpf->maps.counters, st->n_cpus);
	bpf_map__set_max_entries(bpf->maps.buffers, st->n_cpus * PROC_BUFFERS);
	err = share_maps(inst, st);
out:
	btf__free(btf);
	return err;
}

/* Opens, prepares, loads or adopts. -ESTALE: what was to be adopted is not there any more; once more. */
static int place(struct skep_instance *inst, struct proc_state *st)
{
	int err;

	st->bpf = proc_bpf__open();
	if (!st->bpf) {
		err = -errno;
		return st->host->fail(inst, err, "cannot open the BPF object: %s", strerror(-err));
	}
	err = prepare(inst, st);
	if (err)
		return err;
	err = skep_pins_load(&st->pins, st->host, "proc", st->bpf->skeleton);
	if (err && err != -ESTALE)
		return refuse(inst, st, err, "loading the BPF programs");
	return err;
}

const char *const proc_program_names[4] = { "on_fork", "on_exec", "on_exit", "on_free" };

static void programs(struct proc_state *st)
{
	const struct bpf_program *const progs[4] = { st->bpf->progs.on_fork, st->bpf->progs.on_exec, st->bpf->progs.on_exit,
						     st->bpf->progs.on_free };

	for (unsigned i = 0; i < 4; i++)
		st->prog_fds[i] = st->pins.adopted ? skep_pins_program(&st->pins, NULL, proc_program_names[i]) : dup(bpf_program__fd(progs[i]));
}

int proc_load(struct skep_instance *inst, struct proc_state *st)
{
	int cpus = skep_cpu_slots(), err, unpinned;

	if (cpus < 0)
		return st->host->fail(inst, cpus, "cannot read /sys/devices/system/cpu/possible: %s", strerror(-cpus));
	st->n_cpus = (unsigned)cpus;
	st->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	err = place(inst, st);
	if (err == -ESTALE) {
		proc_bpf__destroy(st->bpf);
		err = place(inst, st);
	}
	if (err)
		goto out;
	st->counters_size = st->n_cpus * sizeof(struct proc_counters);
	st->counters = mmap(NULL, st->counters_size, PROT_READ, MAP_SHARED, bpf_map__fd(st->bpf->maps.counters), 0);
	if (st->counters == MAP_FAILED) {
		err = -errno;
		st->counters = NULL;
		err = st->host->fail(inst, err, "cannot map the counters: %s", strerror(-err));
		goto out;
	}
	st->rules = mmap(NULL, sizeof(*st->rules), PROT_READ, MAP_SHARED, bpf_map__fd(st->bpf->maps.rules), 0);
	if (st->rules == MAP_FAILED) {
		err = -errno;
		st->rules = NULL;
		err = st->host->fail(inst, err, "cannot map the rules: %s", strerror(-err));
		goto out;
	}
	st->others = &st->bpf->bss->others;
	err = skep_pins_attach(&st->pins, st->bpf->skeleton, &unpinned);
	if (err) {
		err = refuse(inst, st, err, "attaching the BPF programs");
		goto out;
	}
	if (unpinned)
		st->host->log(inst, SKEP_LOG_WARNING, "cannot be pinned in %s: %s; what happens while skepd is restarted will not be collected",
			      st->host->pin_dir, strerror(-unpinned));
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
	if (st->ring.page) /* else it was never opened */
		skep_ring_close(&st->ring);
	for (unsigned i = 0; i < 4; i++) {
		if (st->prog_fds[i] > 0)
			close(st->prog_fds[i]);
		st->prog_fds[i] = -1;
	}
	if (st->counters)
		munmap((void *)st->counters, st->counters_size);
	st->counters = NULL;
	if (st->rules)
		munmap((void *)st->rules, sizeof(*st->rules));
	st->rules = NULL;
	proc_bpf__destroy(st->bpf);
	st->bpf = NULL;
}
