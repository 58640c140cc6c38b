/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/cgroup/load.c - loads the kernel side as far as this kernel and our privileges permit, and reports the method
 * of each signal. Without the kernel side the probe still samples cgroups.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <skep/load.h>
#include <skep/object.h>
#include <skep/types.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plugins/cgroup/cgroup.skel.h"
#include "state.h"

/* Leaves programs without a tracepoint out. */
static void choose(struct cgroup_bpf *bpf, const struct skep_kernel_types *types)
{
	const struct {
		struct bpf_program *prog;
		const char *tracepoint;
	} hooks[] = {
		{ bpf->progs.on_mkdir, "cgroup_mkdir" },
		{ bpf->progs.on_rename, "cgroup_rename" },
		{ bpf->progs.on_attach, "cgroup_attach_task" },
		{ bpf->progs.on_populated, "cgroup_notify_populated" },
		{ bpf->progs.on_rmdir, "cgroup_rmdir" },
	};

	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		bpf_program__set_autoload(hooks[i].prog, skep_types_has_tracepoint(types, hooks[i].tracepoint));
}

static int on_event(void *arg, void *data, size_t size)
{
	cgroup_event(arg, data, size);
	return 0;
}

static void on_readable(struct skep_instance *inst, void *arg, unsigned events)
{
	(void)inst;
	(void)events;
	cgroup_drain(arg);
}

/* what: the step, for the message about an error. */
static int place(struct cgroup_state *st, const struct skep_kernel_types *types, const char **what)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	struct skep_object object;
	int err;

	skep_object_begin(&object, types);
	opts.btf_custom_path = object.path;
	*what = "opening it";
	st->bpf = cgroup_bpf__open_opts(&opts);
	if (!st->bpf) {
		err = -errno;
		goto out;
	}
	st->bpf->rodata->hierarchy = st->reader.mounts.hierarchy;
	choose(st->bpf, types);
	*what = "using the host's verdict map";
	err = skep_load_verdict(st->host, st->bpf->maps.verdict, &st->bpf->rodata->verdict_pids);
	if (err)
		goto out;
	*what = "loading it (needs CAP_BPF and CAP_PERFMON)";
	err = skep_object_ready(&object, st->bpf->obj);
	err = err ?: cgroup_bpf__load(st->bpf);
	if (err)
		goto out;
	*what = "attaching it";
	err = skep_object_attach(st->bpf->skeleton);
out:
	skep_object_end(&object);
	return err;
}

void cgroup_load(struct skep_instance *inst, struct cgroup_state *st)
{
	const char *what = "reading the kernel's types";
	const struct skep_kernel_types *types = NULL;
	int err;

	err = skep_types_get(inst, st->host, &types);
	err = err ?: place(st, types, &what);
	skep_types_put(inst, st->host, types);
	if (err)
		goto out;
	what = "reading its ring";
	st->ring = ring_buffer__new(bpf_map__fd(st->bpf->maps.ring), on_event, st, NULL);
	if (!st->ring) {
		err = -errno;
		goto out;
	}
	err = st->host->watch_fd(inst, ring_buffer__epoll_fd(st->ring), SKEP_READABLE, on_readable, st, &st->watch);
out:
	if (err == 0)
		return;
	cgroup_unload(st);
	st->host->log(
		inst, SKEP_LOG_WARNING,
		"no hooks on the lives of cgroups: %s: %s; "
		"cgroups are sampled, but usage after the last sample is missing",
		what, strerror(-err));
}

void cgroup_unload(struct cgroup_state *st)
{
	if (st->watch)
		st->host->watch_close(st->watch);
	st->watch = NULL;
	ring_buffer__free(st->ring);
	st->ring = NULL;
	cgroup_bpf__destroy(st->bpf);
	st->bpf = NULL;
}

void cgroup_drain(struct cgroup_state *st)
{
	uint64_t lost, full;

	if (!st->ring)
		return;
	ring_buffer__consume(st->ring);
	lost = __atomic_load_n(&st->bpf->bss->lost_events, __ATOMIC_RELAXED);
	if (lost > st->lost_reported)
		st->host->lost(st->inst, STREAM_CGROUP, SKEP_LOSS_KERNEL, lost - st->lost_reported);
	st->lost_reported = lost;
	full = __atomic_load_n(&st->bpf->bss->lost_seen, __ATOMIC_RELAXED);
	if (full > st->seen_reported && st->c_seen_full)
		st->host->counter_set(st->c_seen_full, full);
	st->seen_reported = full;
}

/* ---- state of each signal ---------------------------------------------------------- */

static void say(struct skep_instance *inst, const struct cgroup_state *st, const char *name,
		enum skep_signal_state state, const char *how, const char *why)
{
	st->host->signal(inst, name, state, how, why);
}

static bool hooked(const struct cgroup_state *st, const struct bpf_program *prog)
{
	return st->bpf && bpf_program__autoload(prog);
}

static void say_hooks(struct skep_instance *inst, const struct cgroup_state *st)
{
	static const char none[] = "this kernel has no such hook, or it could not be loaded: see the log";

	if (hooked(st, st->bpf ? st->bpf->progs.on_mkdir : NULL))
		say(inst, st, "cgroup.path", SKEP_SIGNAL_OK, "tp_btf/cgroup_mkdir", NULL);
	else
		say(inst, st, "cgroup.path", SKEP_SIGNAL_PARTIAL, "exec records, a walk over the hierarchy", none);
	if (hooked(st, st->bpf ? st->bpf->progs.on_populated : NULL))
		say(inst, st, "cgroup.end", SKEP_SIGNAL_OK, "tp_btf/cgroup_notify_populated, then its files", NULL);
	else
		say(inst, st, "cgroup.end", SKEP_SIGNAL_MISSING, "", none);
	if (hooked(st, st->bpf ? st->bpf->progs.on_rmdir : NULL))
		say(inst, st, "cgroup.end.memory", SKEP_SIGNAL_OK, "tp_btf/cgroup_rmdir", NULL);
	else
		say(inst, st, "cgroup.end.memory", SKEP_SIGNAL_MISSING, "", none);
}

void cgroup_say_signals(struct skep_instance *inst, struct cgroup_state *st)
{
	static const struct {
		const char *name, *v1, *v2, *why;
		enum cgroup_controller in;
	} signals[] = {
		{ "cgroup.memory", "memory.* of cgroup v1", "memory.* of cgroup v2", "no memory controller",
		  CTL_MEMORY },
		{ "cgroup.io", "blkio.throttle.* of cgroup v1", "io.stat of cgroup v2", "no io controller", CTL_IO },
		{ "cgroup.pids", "pids.* of cgroup v1", "pids.* of cgroup v2", "no pids controller", CTL_PIDS },
		{ "cgroup.cpu.throttling", "cpu.stat of cgroup v1", "cpu.stat of cgroup v2", "no cpu controller",
		  CTL_CPU },
	};
	static const char unnamed[] = "mounted in skep's cgroup namespace, and no event has named its root yet; mount the "
				      "host's /sys/fs/cgroup, or use the host's cgroup namespace";
	const struct cgroup_mount *of = st->reader.mounts.of;
	const char *cpu = of[CTL_CPUACCT].top ? "cpuacct.* of cgroup v1" : "cpu.stat of cgroup v2";
	const struct cgroup_mount *usage = &of[of[CTL_CPUACCT].at || of[CTL_CPU].version != 2 ? CTL_CPUACCT : CTL_CPU];

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		const struct cgroup_mount *m = &of[signals[i].in];

		if (m->at && !m->top)
			say(inst, st, signals[i].name, SKEP_SIGNAL_MISSING, "", unnamed);
		else if (m->at && m->version == 1 && signals[i].in == CTL_IO)
			say(inst, st, signals[i].name, SKEP_SIGNAL_PARTIAL, signals[i].v1,
			    "since Linux 6.10 v1 counts only devices that have a blkio.throttle limit");
		else if (m->at)
			say(inst, st, signals[i].name, SKEP_SIGNAL_OK, m->version == 1 ? signals[i].v1 : signals[i].v2,
			    NULL);
		else
			say(inst, st, signals[i].name, SKEP_SIGNAL_MISSING, "", signals[i].why);
	}
	if (usage->top)
		say(inst, st, "cgroup.cpu", SKEP_SIGNAL_OK, cpu, NULL);
	else
		say(inst, st, "cgroup.cpu", SKEP_SIGNAL_MISSING, "", usage->at ? unnamed : "no cpuacct controller");
	if (!of[CTL_PRESSURE].at)
		say(inst, st, "cgroup.pressure", SKEP_SIGNAL_MISSING, "",
		    "cgroup v1 has no pressure, and v2 is not mounted");
	else if (!of[CTL_PRESSURE].top)
		say(inst, st, "cgroup.pressure", SKEP_SIGNAL_MISSING, "", unnamed);
	else if (access("/proc/pressure", F_OK))
		say(inst, st, "cgroup.pressure", SKEP_SIGNAL_MISSING, "",
		    "a kernel without CONFIG_PSI, or booted with psi=0");
	else if (st->reader.mounts.hierarchy)
		say(inst, st, "cgroup.pressure", SKEP_SIGNAL_PARTIAL, "*.pressure of cgroup v2",
		    "only of cgroups that v2 has under the same path");
	else
		say(inst, st, "cgroup.pressure", SKEP_SIGNAL_OK, "*.pressure of cgroup v2", NULL);
	say_hooks(inst, st);
}
