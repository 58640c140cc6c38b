/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/sched/sched.c - the probe "sched": what processes are doing, by samples.
 *
 * How long they ran and waited for a CPU is exact and comes from "proc"; this adds, as a
 * facet of each process, the share of time in each state.  And the host's pressure.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sched.skel.h"
#include "state.h"

#define BUFFER (64 * 1024)

#define STATE_FIELD(i_, name_, help_) \
	SKEP_FIELD(struct states_record, in[i_], name_, SKEP_T_U64, SKEP_S_DELTA, "{sample}", help_)

static const struct skep_field states_fields[] = {
	SKEP_FIELD(struct states_record, samples, "samples", SKEP_T_U64, SKEP_S_DELTA, "{sample}", "threads looked at, once an interval each"),
	STATE_FIELD(SCHED_RUNNING, "running", "of them on a CPU"),
	STATE_FIELD(SCHED_RUNNABLE, "runnable", "of them waiting for a CPU"),
	STATE_FIELD(SCHED_IOWAIT, "iowait", "of them waiting for a block device"),
	STATE_FIELD(SCHED_BLOCKED, "blocked", "of them in another uninterruptible sleep"),
	STATE_FIELD(SCHED_SLEEPING, "sleeping", "of them asleep"),
};

static const struct skep_stream states_stream = {
	.size = sizeof(struct skep_stream),
	.field_size = sizeof(struct skep_field),
	.name = "sched",
	.help = "states of a process's threads, sampled each interval",
	.role = SKEP_ROLE_FACET,
	.record_size = sizeof(struct states_record),
	.n_fields = sizeof(states_fields) / sizeof(states_fields[0]),
	.flags = SKEP_STREAM_SAMPLE,
	.fields = states_fields,
};

static const struct skep_field psi_fields[] = {
	SKEP_FIELD(struct psi_record, resource, "resource", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "cpu, io or memory"),
	SKEP_FIELD(struct psi_record, some_ns, "some_ns", SKEP_T_U64, SKEP_S_DELTA, "ns", "time in which some task was stalled for it"),
	SKEP_FIELD(struct psi_record, full_ns, "full_ns", SKEP_T_U64, SKEP_S_DELTA, "ns", "time in which all tasks were"),
};

static const struct skep_stream psi_stream = {
	.size = sizeof(struct skep_stream),
	.field_size = sizeof(struct skep_field),
	.name = "host.pressure",
	.help = "pressure stall information of the host",
	.role = SKEP_ROLE_NONE,
	.record_size = sizeof(struct psi_record),
	.n_fields = sizeof(psi_fields) / sizeof(psi_fields[0]),
	.flags = SKEP_STREAM_SAMPLE,
	.fields = psi_fields,
};

const struct skep_stream *const sched_streams[N_STREAMS] = {
	[STREAM_STATES] = &states_stream,
	[STREAM_PSI] = &psi_stream,
};

static uint64_t boot_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* One record a thread: tasks come by pid, so runs of equal tgid are the rule and are added up first. */
static void take(struct skep_instance *inst, struct sched_probe *st, const struct sched_task *tasks, size_t n, uint64_t now)
{
	size_t i = 0;

	while (i < n) {
		struct skep_upid who = { .pid = tasks[i].pid, .start_ns = tasks[i].start_ns };
		struct states_record rec = { 0 };

		for (; i < n && tasks[i].pid == who.pid && tasks[i].start_ns == who.start_ns; i++) {
			rec.samples++;
			if (tasks[i].state < SCHED_STATES)
				rec.in[tasks[i].state]++;
		}
		st->host->emit(inst, STREAM_STATES, &who, now, &rec);
	}
}

static void sched_sample(struct skep_instance *inst, void *state)
{
	struct sched_probe *st = state;
	uint64_t now = boot_now();
	size_t held = 0;
	ssize_t n;
	int fd = bpf_iter_create(bpf_link__fd(st->bpf->links.on_task));

	psi_sample(inst, st, now);
	if (fd < 0) {
		st->host->log(inst, SKEP_LOG_WARNING, "no pass over tasks: %s; states of this interval are missing", strerror(errno));
		return;
	}
	while ((n = read(fd, st->buffer + held, BUFFER - held)) > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR))) {
		size_t whole;

		if (n < 0)
			continue;
		held += (size_t)n;
		whole = held / sizeof(struct sched_task);
		take(inst, st, (const void *)st->buffer, whole, now);
		held -= whole * sizeof(struct sched_task);
		memmove(st->buffer, st->buffer + whole * sizeof(struct sched_task), held);
	}
	close(fd);
	st->host->drained(inst, now);
}

static void sched_flush(struct skep_instance *inst, void *state)
{
	struct sched_probe *st = state;

	/* samples only: nothing waits to be told */
	st->host->drained(inst, boot_now());
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

static int sched_start(struct skep_instance *inst, void *state)
{
	struct sched_probe *st = state;
	int err;

	st->bpf = sched_bpf__open();
	if (!st->bpf) {
		err = -errno;
		return st->host->fail(inst, err, "cannot open the BPF object: %s", strerror(-err));
	}
	if (st->host->verdict_fd >= 0) {
		st->bpf->rodata->verdict_pids = st->host->verdict_pids;
		err = bpf_map__reuse_fd(st->bpf->maps.verdict, st->host->verdict_fd);
		if (err) {
			err = st->host->fail(inst, err, "cannot use the host's verdict map: %s", strerror(-err));
			goto out;
		}
	}
	err = sched_bpf__load(st->bpf) ?: sched_bpf__attach(st->bpf);
	if (err) {
		err = st->host->fail(inst, err, "loading the task iterator: %s; needs CAP_BPF and CAP_PERFMON, and Linux 5.8",
				     strerror(-err));
		goto out;
	}
	psi_open(inst, st);
	return 0;
out:
	sched_bpf__destroy(st->bpf);
	st->bpf = NULL;
	return err;
}

static void sched_stop(struct skep_instance *inst, void *state)
{
	struct sched_probe *st = state;

	(void)inst;
	psi_close(st);
	sched_bpf__destroy(st->bpf);
	st->bpf = NULL;
}

static void sched_close(struct skep_instance *inst, void *state)
{
	struct sched_probe *st = state;

	(void)inst;
	free(st->buffer);
	st->buffer = NULL;
}

static const struct skep_option options[] = {
	{ .name = "pressure", .type = SKEP_O_BOOL, .offset = offsetof(struct sched_probe, opt_psi), .default_value = "true",
	  .help = "report the host's pressure stall information (/proc/pressure)" },
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
	.summary = "what processes are doing, sampled; pressure of the host",
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
};
SKEP_PLUGIN(sched_plugin, SKEP_KIND_PROBE, "sched", PACKAGE_VERSION)
