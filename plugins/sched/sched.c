/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/sched/sched.c - the probe "sched": the states of processes, by samples, and the machine's pressure. The probe
 * "proc" has the exact times that processes ran and waited for a CPU; this probe adds, as a facet of each process, the
 * share of time in each state. detail.c measures distributions while a client attaches.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <skep/clock.h>
#include <skep/drain.h>
#include <skep/load.h>
#include <skep/object.h>
#include <skep/types.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/sched/sched.skel.h"
#include "state.h"

#define BUFFER (64 * 1024)

struct pass {
	struct skep_instance *inst;
	struct sched_probe *st;
	uint64_t now_ns;
};

/*
 * One record a thread: tasks come ordered by pid, so threads of a process mostly are neighbours and are added up first.
 */
static void take(void *arg, const void *records, size_t n)
{
	const struct sched_task *tasks = records;
	const struct pass *p = arg;
	size_t i = 0;

	while (i < n) {
		struct skep_upid who = { .pid = tasks[i].pid, .start_ns = tasks[i].start_ns };
		struct states_record rec = { 0 };

		for (; i < n && tasks[i].pid == who.pid && tasks[i].start_ns == who.start_ns; i++) {
			rec.samples++;
			if (tasks[i].state < SCHED_STATES)
				rec.in[tasks[i].state]++;
		}
		p->st->host->emit(p->inst, STREAM_STATES, &who, p->now_ns, &rec);
	}
}

static void sched_sample(struct skep_instance *inst, void *state)
{
	struct sched_probe *st = state;
	struct pass p = { .inst = inst, .st = st, .now_ns = skep_boot_ns() };
	int err;

	psi_sample(inst, st, p.now_ns);
	details_sample(inst, st, p.now_ns);
	err = skep_iter_read(bpf_link__fd(st->bpf->links.on_task), st->buffer, BUFFER, sizeof(struct sched_task), take,
			     &p);
	if (err) {
		st->host->log(inst, SKEP_LOG_WARNING, "no pass over tasks: %s; states of this interval are missing",
			      strerror(-err));
		return;
	}
	st->host->drained(inst, p.now_ns);
}

static void sched_flush(struct skep_instance *inst, void *state)
{
	struct sched_probe *st = state;

	/* samples only: no record is ever pending */
	st->host->drained(inst, skep_boot_ns());
}

static int sched_open(struct skep_instance *inst, void *state, const struct skep_host *host)
{
	struct sched_probe *st = state;

	st->host = host;
	for (int i = 0; i < PSI_RESOURCES; i++)
		st->psi_fd[i] = -1;
	st->buffer = malloc(BUFFER);
	if (!st->buffer)
		return host->fail(inst, -ENOMEM, "no memory for %d bytes", BUFFER);
	return 0;
}

static int place(struct skep_instance *inst, struct sched_probe *st, const struct skep_kernel_types *types)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	struct skep_object object;
	int err;

	skep_object_begin(&object, types);
	opts.btf_custom_path = object.path;
	st->bpf = sched_bpf__open_opts(&opts);
	if (!st->bpf) {
		err = -errno;
		st->host->fail(inst, err, "cannot open the BPF object: %s", strerror(-err));
		goto out;
	}
	err = skep_load_verdict(st->host, st->bpf->maps.verdict, &st->bpf->rodata->verdict_pids);
	if (err) {
		st->host->fail(inst, err, "cannot use the host's verdict map: %s", strerror(-err));
		goto out;
	}
	err = skep_object_ready(&object, st->bpf->obj);
	err = err ?: sched_bpf__load(st->bpf);
	err = err ?: skep_object_attach(st->bpf->skeleton);
	if (err)
		st->host->fail(inst, err, "loading the task iterator: %s; needs CAP_BPF and CAP_PERFMON, and Linux 5.8",
			       strerror(-err));
out:
	skep_object_end(&object);
	return err;
}

static int sched_start(struct skep_instance *inst, void *state)
{
	const struct skep_kernel_types *types;
	struct sched_probe *st = state;
	int err;

	err = skep_types_get(inst, st->host, &types);
	if (err)
		return err;
	err = place(inst, st, types);
	if (err)
		goto out;
	psi_open(inst, st);
	st->host->signal(inst, "sched.states", SKEP_SIGNAL_OK, "iter/task", NULL);
	st->details.lost_counter = st->host->counter(inst, "details_lost", "values of details that the hook missed");
	detail_kernel_ask(&st->details.kernel, types);
	detail_kernel_tell(inst, st);
out:
	skep_types_put(inst, st->host, types);
	if (err) {
		sched_bpf__destroy(st->bpf);
		st->bpf = NULL;
	}
	return err;
}

static void sched_stop(struct skep_instance *inst, void *state)
{
	struct sched_probe *st = state;

	(void)inst;
	details_close(st);
	psi_close(st);
	sched_bpf__destroy(st->bpf);
	st->bpf = NULL;
}

static void sched_close(struct skep_instance *inst, void *state)
{
	struct sched_probe *st = state;

	(void)inst;
	details_close(st);
	free(st->buffer);
	st->buffer = NULL;
}

static const struct skep_option options[] = {
	{ .name = "pressure",
	  .type = SKEP_O_BOOL,
	  .offset = offsetof(struct sched_probe, opt_psi),
	  .default_value = "true",
	  .help = "report the host's pressure stall information (/proc/pressure)" },
	{ .name = "detail_threads",
	  .type = SKEP_O_INT,
	  .offset = offsetof(struct sched_probe, opt_threads),
	  .default_value = "32768",
	  .min = 1024,
	  .max = 4194304,
	  .help = "threads that details can follow at a time where the kernel has no task storage (before Linux 6.4)" },
	{ 0 },
};

static const struct skep_plugin sched_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_PROBE,
	.name = "sched",
	.version = PACKAGE_VERSION,
	.summary =
		"states of processes, sampled; pressure of the host; on demand how long threads wait, run, sleep",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(options[0]),
	.streams = sched_streams,
	.n_streams = N_STREAMS,
	.state_size = sizeof(struct sched_probe),
	.open = sched_open,
	.start = sched_start,
	.sample = sched_sample,
	.stop = sched_stop,
	.close = sched_close,
	.flush = sched_flush,
	.drain = sched_flush,
	.details = sched_details,
	.detail_size = sizeof(struct skep_detail),
	.n_details = DETAIL_KINDS,
	.attach = details_attach,
	.detach = details_detach,
};
SKEP_PLUGIN(sched_plugin, SKEP_KIND_PROBE, "sched", PACKAGE_VERSION)
