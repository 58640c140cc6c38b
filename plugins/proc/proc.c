/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/proc.c - the probe "proc": drains the ring by timer, counts lost records, and scans live processes each
 * interval.  load.c loads the kernel side.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <skep/clock.h>
#include <skep/drain.h>
#include <skep/misses.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc.h"
#include "plugins/proc/proc.skel.h"
#include "state.h"

/*
 * How long the totals of a process with threads wait for the frees of these.  All frees fall within one RCU grace
 * period: 12-26 ms from exit to free on 6.18, and up to ten times that on a busy machine.
 */
#define THREADS_AGE_NS 400000000u
#define THREADS_AGE_FLUSH_NS 80000000u /* `skep run` waits, as its run has ended */
/* The longest time of one callback: below the host's budget, so that no other callback waits for long. */
#define SLICE_NS 2000000u

/* ---- losses ---------------------------------------------------------------- */

const unsigned proc_stream_of[PROC_TYPES] = {
	[PROC_FORK] = STREAM_FORK,
	[PROC_EXEC] = STREAM_EXEC,
	[PROC_EXIT] = STREAM_EXIT,
	[PROC_FINAL] = STREAM_FINAL,
	[PROC_OOM] = STREAM_OOM,
	[PROC_EXCLUDED] = STREAM_EXCLUDED,
};

static void lost(struct skep_instance *inst, const struct proc_state *st, unsigned stream, uint64_t n)
{
	if (n)
		st->host->lost(inst, stream, SKEP_LOSS_KERNEL, n);
}

/* Ends and totals that find the ring full wait in maps; skep loses them only if the maps are full too. */
bool proc_report_losses(struct skep_instance *inst, struct proc_state *st, const struct proc_counters *now,
			const struct proc_counters *seen)
{
	bool any = false;

	for (unsigned t = 0; t < PROC_TYPES; t++) {
		uint64_t dropped = now->dropped[t] - seen->dropped[t];

		any |= dropped != 0;
		if (t != PROC_FINAL && t != PROC_EXIT)
			lost(inst, st, proc_stream_of[t], dropped);
	}
	lost(inst, st, STREAM_EXIT, now->exits_full - seen->exits_full);
	lost(inst, st, STREAM_FINAL, now->unsent_full - seen->unsent_full);
	lost(inst, st, STREAM_EXEC, now->no_buffer - seen->no_buffer);
	st->host->counter_add(st->c_threads_lost, now->threads_full - seen->threads_full);
	st->host->counter_add(st->c_argv_faults, now->argv_faults - seen->argv_faults);
	st->host->counter_add(st->c_argv_spared, now->argv_spared - seen->argv_spared);
	st->host->counter_add(st->c_environ_faults, now->environ_faults - seen->environ_faults);
	st->host->counter_add(st->c_environ_full, now->environ_full - seen->environ_full);
	return any;
}

/* Reports losses since the last call.  Drains ends before totals: each is older than its totals. */
static void check_losses(struct skep_instance *inst, struct proc_state *st)
{
	struct proc_counters now;

	skep_sums_of_view(st->counters, st->n_cpus, sizeof(now), &now);
	if (proc_report_losses(inst, st, &now, &st->seen))
		st->resync = true;
	if (now.exits_delayed != st->seen.exits_delayed)
		proc_unsent_drain(inst, st, bpf_map__fd(st->bpf->maps.unsent_exits));
	if (now.delayed != st->seen.delayed)
		proc_unsent_drain(inst, st, bpf_map__fd(st->bpf->maps.unsent));
	st->seen = now;
}

bool proc_report_misses(struct skep_instance *inst, struct proc_state *st, const int fds[4],
			const struct proc_counters *now, uint64_t seen[4])
{
	static const enum proc_type types[4] = { PROC_FORK, PROC_EXEC, PROC_EXIT, PROC_FINAL }; /* as prog_fds */
	bool any = false;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		uint64_t misses = skep_fd_misses(fds[i]), recovered = now->recovered[types[i]];

		/* minus the events that the second program saw, which it may count a moment before the kernel does */
		misses = misses > recovered ? misses - recovered : 0;
		if (misses <= seen[i])
			continue;
		any = true;
		st->host->counter_add(st->c_misses, misses - seen[i]);
		lost(inst, st, proc_stream_of[types[i]], misses - seen[i]);
		seen[i] = misses;
	}
	return any;
}

/* Since 5.12 the kernel counts how often it skips a program that already runs on that CPU. */
static void check_misses(struct skep_instance *inst, struct proc_state *st)
{
	struct proc_counters now;

	skep_sums_of_view(st->counters, st->n_cpus, sizeof(now), &now);
	if (proc_report_misses(inst, st, st->prog_fds, &now, st->seen_misses))
		st->resync = true;
}

/* ---- draining -------------------------------------------------------------- */

static int on_record(void *ctx, const void *data, size_t size)
{
	struct proc_state *st = ctx;

	if (proc_decode_ring(st->inst, st, data, size))
		st->host->counter_add(st->c_bad, 1);
	if (st->drain_until_ns && ++st->drained % 32 == 0 && skep_boot_ns() > st->drain_until_ns)
		return -EAGAIN;
	return 0;
}

void proc_catch_up(struct proc_state *st)
{
	st->drain_until_ns = skep_boot_ns() + SLICE_NS;
	st->drained = 0;
	(void)skep_ring_read(&st->ring, on_record, st);
}

/* Applies the host's lists when they have changed. */
static void follow_boundaries(struct skep_instance *inst, struct proc_state *st)
{
	int err = proc_boundaries_set(inst, st);

	if (err)
		st->host->log(inst, SKEP_LOG_WARNING,
			      "cannot give the new names of variables to the BPF programs: %s; the old ones stay",
			      strerror(-err));
}

bool proc_drain(struct skep_instance *inst, struct proc_state *st, uint64_t budget_ns)
{
	/* read before the ring: the probe promises no event that happens meanwhile */
	uint64_t now = skep_boot_ns();
	bool all;

	st->drain_until_ns = budget_ns ? now + budget_ns : 0;
	st->drained = 0;
	all = skep_ring_read(&st->ring, on_record, st) == 0;
	if (!st->host->settles)
		skep_ring_release(&st->ring, st->ring.at);
	else if (skep_ring_held(&st->ring) > st->ring.size / 4)
		st->host->settle_soon(inst);
	if (!all)
		return false;
	check_losses(inst, st);
	proc_pending_run(inst, st, THREADS_AGE_NS);
	proc_pinned_touch(st);
	follow_boundaries(inst, st);
	st->host->drained(inst, st->pending ? st->pending->final.h.time_ns - 1 : now);
	return true;
}

static void scan_slice(struct skep_instance *inst, struct proc_state *st)
{
	if (!proc_scan_step(inst, st, SLICE_NS)) {
		st->host->timer_close(st->scan_timer);
		st->scan_timer = NULL;
	}
}

static void on_scan_timer(struct skep_instance *inst, void *arg)
{
	scan_slice(inst, arg);
}

static void scan(struct skep_instance *inst, struct proc_state *st)
{
	int err;

	if (st->iter_fd >= 0 || st->scan_waits)
		return;
	err = proc_scan_begin(inst, st);
	if (err) {
		st->host->log(inst, SKEP_LOG_WARNING, "cannot list live processes: %s; samples are missing",
			      strerror(-err));
		return;
	}
	if (proc_scan_step(inst, st, SLICE_NS) &&
	    st->host->timer(inst, 1, 1, on_scan_timer, st, &st->scan_timer))
		proc_scan_step(inst, st, 0);
}

static void drain_slice(struct skep_instance *inst, struct proc_state *st);

static void on_more_timer(struct skep_instance *inst, void *arg)
{
	drain_slice(inst, arg);
}

static void drain_slice(struct skep_instance *inst, struct proc_state *st)
{
	if (!proc_drain(inst, st, SLICE_NS)) {
		if (!st->more_timer)
			st->host->timer(inst, 1, 1, on_more_timer, st, &st->more_timer);
		return; /* without a timer the next drain continues */
	}
	st->host->timer_close(st->more_timer);
	st->more_timer = NULL;
	if (st->resync)
		scan(inst, st);
}

static void on_drain_timer(struct skep_instance *inst, void *arg)
{
	drain_slice(inst, arg);
}

static void on_ring(struct skep_instance *inst, void *arg, unsigned events)
{
	struct proc_state *st = arg;

	(void)events;
	skep_ring_woken(&st->ring);
	drain_slice(inst, st);
}

static void proc_drain_now(struct skep_instance *inst, void *state)
{
	drain_slice(inst, state);
}

static void proc_sample(struct skep_instance *inst, void *state)
{
	struct proc_state *st = state;

	check_misses(inst, st);
	scan(inst, st);
	proc_threads_clean(st);
	proc_pending_forks_clean(inst, st);
}

static void proc_flush(struct skep_instance *inst, void *state)
{
	struct proc_state *st = state;

	proc_drain(inst, st, 0);
	proc_pending_run(inst, st, THREADS_AGE_FLUSH_NS);
	if (st->resync)
		scan(inst, st);
}

/* ---- life ------------------------------------------------------------------ */

static int proc_open(struct skep_instance *inst, void *state, const struct skep_host *host)
{
	struct proc_state *st = state;

	st->host = host;
	st->inst = inst;
	st->iter_fd = -1;
	st->pending_end = &st->pending;
	st->c_misses =
		host->counter(inst, "recursion_misses", "times a program was skipped because it was running already");
	st->c_threads_lost =
		host->counter(inst, "threads_lost", "dead threads whose run-queue delay and I/O are in no total");
	st->c_argv_faults = host->counter(inst, "argv_faults", "execs whose arguments could not be read");
	st->c_argv_spared = host->counter(inst, "argv_spared",
					  "execs whose arguments were cut to 1 KiB, because half of the ring was full");
	st->c_environ_faults =
		host->counter(inst, "environ_faults", "execs whose environment could not be searched to its end");
	st->c_environ_full = host->counter(
		inst, "environ_full",
		"execs with more named variables than a record holds (4 KiB): the record lacks the last ones");
	st->c_bad = host->counter(inst, "bad_records", "records that do not parse: a bug");
	return proc_environ_check(inst, st);
}

static void unwatch(struct proc_state *st)
{
	st->host->timer_close(st->scan_timer);
	st->host->timer_close(st->drain_timer);
	st->host->timer_close(st->more_timer);
	st->host->watch_close(st->ring_watch);
	st->scan_timer = st->drain_timer = st->more_timer = NULL;
	st->ring_watch = NULL;
}

static int proc_start(struct skep_instance *inst, void *state)
{
	struct proc_state *st = state;
	int err = proc_load(inst, st);

	if (err)
		return err;
	err = skep_ring_open(&st->ring, bpf_map__fd(st->bpf->maps.ring));
	if (err) {
		err = st->host->fail(inst, err, "cannot map the ring: %s", strerror(-err));
		goto out;
	}
	if (skep_ring_resume(&st->ring, st->host->mark.source, st->host->mark.position))
		st->host->log(inst, SKEP_LOG_INFO,
			      "reads the ring from the last record that the previous skepd made durable");
	err = st->host->watch_fd(inst, st->ring.epoll_fd, SKEP_READABLE, on_ring, st, &st->ring_watch);
	if (err)
		goto out;
	err = st->host->timer(inst, st->opt_drain_ns / 1000000, st->opt_drain_ns / 1000000, on_drain_timer, st,
			      &st->drain_timer);
	if (err)
		goto out;
	proc_pinned_begin(inst, st);
	proc_pinned_others(inst, st);
	proc_mark_resume(inst, st);
	proc_signals(inst, st);
	scan(inst, st); /* the start-up snapshot, after the hooks are attached, so that it misses no process */
	return 0;
out:
	unwatch(st);
	proc_unload(st);
	return err;
}

static void proc_stop(struct skep_instance *inst, void *state)
{
	struct proc_state *st = state;

	bool stays;

	if (!st->bpf)
		return;
	proc_scan_end(inst, st, false);
	proc_details_end(inst, st);
	stays = proc_detach(inst, st);
	for (int i = 0; !proc_drain(inst, st, 0) && !stays && i < 1000; i++)
		usleep(1000); /* a program is writing a record; skep would lose the records behind it uncounted */
	if (!stays)
		proc_pending_forks_drain(inst, st, bpf_map__fd(st->bpf->maps.pending_forks));
	if (!(stays && st->host->settles))
		proc_pending_run(inst, st, 0); /* else the last mark has them, for the next skepd */
	proc_mark_end(st);
	unwatch(st);
	proc_unload(st);
}

static void proc_close(struct skep_instance *inst, void *state)
{
	struct proc_state *st = state;

	(void)inst;
	proc_pending_free(st);
	proc_threads_used_free(st);
	free(st->scan_buffer);
	st->scan_buffer = NULL;
}

static const struct skep_option options[] = {
	{ .name = "ring",
	  .type = SKEP_O_SIZE,
	  .offset = offsetof(struct proc_state, opt_ring_bytes),
	  .default_value = "4MiB",
	  .min = 64 << 10,
	  .max = 1 << 30,
	  .help = "size of the ring between kernel and skep, rounded up to a power of two; a process takes about 800 "
		  "bytes of it" },
	{ .name = "drain",
	  .type = SKEP_O_TIME,
	  .offset = offsetof(struct proc_state, opt_drain_ns),
	  .default_value = "100ms",
	  .min = 1000000,
	  .max = 5000000000,
	  .help = "how often skep drains the ring; it drains a ring that is a quarter full at once" },
	{ .name = "environ",
	  .type = SKEP_O_STRV,
	  .offset = offsetof(struct proc_state, opt_environ),
	  .default_value = "[]",
	  .help = "variables that skep reads from each new program's environment, at most 8: [\"SKEP_TASK\", "
		  "\"TRACEPARENT\"] for tasks and traces; costs some 2 us an exec; []: only variables of engines and "
		  "schedulers, where a run or a task can begin" },
	{ 0 },
};

static const struct skep_plugin proc_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_PROBE,
	.name = "proc",
	.version = PACKAGE_VERSION,
	.summary = "processes: programs, arguments, ends, and the kernel's exact totals",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(options[0]),
	.streams = proc_streams,
	.n_streams = N_STREAMS,
	.state_size = sizeof(struct proc_state),
	.open = proc_open,
	.start = proc_start,
	.sample = proc_sample,
	.stop = proc_stop,
	.close = proc_close,
	.flush = proc_flush,
	.drain = proc_drain_now,
	.mark = proc_mark,
	.settled = proc_settled,
};
SKEP_PLUGIN(proc_plugin, SKEP_KIND_PROBE, "proc", PACKAGE_VERSION)
