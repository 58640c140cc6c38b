/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/net/pinned.c - the pinned BPF state of a previous skepd (skep/pins.h): continues the state of the same build;
 * puts another build to sleep, drains and removes it.
 *
 * skep counts nothing twice: the kernel stores the reported amounts of a process beside its amounts (net.h, struct
 * net_process), and only one of two builds is awake at any time (skep/kept.h).
 */
#include <errno.h>
#include <skep/drain.h>
#include <string.h>
#include <unistd.h>

#include "plugins/net/net.skel.h"
#include "state.h"

static const struct skep_pins_kinds kinds = {
	.n = NET_UNATTENDED_KINDS,
	.stream = { [NET_UNATTENDED_CONN] = STREAM_CONN, [NET_UNATTENDED_PROCESS] = STREAM_PROCESS },
};

static void touch(struct net_state *st)
{
	skep_pins_touch(&st->pins, st->host, st->inst, bpf_map__fd(st->bpf->maps.kept), NET_LAYOUT,
			bpf_map__fd(st->bpf->maps.unattended), &kinds);
}

void net_pinned_touch(struct net_state *st)
{
	const struct net_reported now = { .counters = st->seen,
					  .states_missed = st->seen_misses,
					  .calls_missed = st->seen_calls_missed };
	int reported = bpf_map__fd(st->bpf->maps.reported);
	uint32_t zero = 0;

	if (!st->pins.folder[0])
		return;
	touch(st);
	bpf_map_update_elem(reported, &zero, &now, BPF_ANY);
}

/* ---- of the same build ----------------------------------------------------------------- */

static void continue_adopted(struct skep_instance *inst, struct net_state *st)
{
	struct net_reported before;
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(st->bpf->maps.reported), &zero, &before) == 0) {
		st->seen = before.counters;
		st->seen_misses = before.states_missed;
		st->seen_calls_missed = before.calls_missed;
	}
	st->peers_written[0] = st->peers_written[1] = true;
	st->host->log(inst, SKEP_LOG_NOTICE,
		      "adopted the previous skepd's pinned BPF state: no event was missed");
}

/* ---- of another build ------------------------------------------------------------------ */

struct other {
	struct skep_instance *inst;
	struct net_state *st;
	bool readable;
	uint64_t unread;
};

static int read_record(void *ctx, const void *data, size_t size)
{
	struct other *o = ctx;

	if (!o->readable)
		o->unread++;
	else if (net_decode(o->inst, o->st, data, size))
		o->st->host->counter_add(o->st->c_bad, 1);
	return 0;
}

static void drain_ring(struct other *o, const char *folder)
{
	int fd = skep_pins_open(folder, "map", "ring");
	struct skep_ring ring;

	if (fd < 0)
		return;
	if (skep_ring_open(&ring, fd) == 0) {
		(void)skep_ring_read_last(&ring, read_record, o);
		skep_ring_close(&ring);
	}
	close(fd);
}

/* Its scans credit the bytes of open connections, and send what no record reported yet of live processes. */
static void run_pass(const char *folder)
{
	static const char *const scans[] = { "on_file", "on_process", "on_task" };

	for (size_t i = 0; i < sizeof(scans) / sizeof(scans[0]); i++) {
		int link = skep_pins_open(folder, "link", scans[i]);

		if (link < 0)
			continue;
		skep_iter_run(link);
		close(link);
	}
}

static void drain_processes(struct other *o, const char *folder)
{
	int fd = skep_pins_open(folder, "map", "processes");

	if (fd >= 0 && o->readable)
		net_drain_processes(o->inst, o->st, fd, true);
	if (fd >= 0)
		close(fd);
}

static void drain_peers(struct other *o, const char *folder, const char *name)
{
	int fd = skep_pins_open(folder, "map", name);

	if (fd >= 0 && o->readable)
		net_empty_peers(o->st, fd);
	if (fd >= 0)
		close(fd);
}

static const char *const program_names[NET_PROGRAMS] = { "on_state", "on_send", "on_recv" };

/* Reports losses of its ring and maps, and events that its hooks missed, since a skepd last reported them. */
static void report_losses(const struct other *o, const char *folder, const int fds[NET_PROGRAMS])
{
	int counters = skep_pins_open(folder, "map", "counters"), reported = skep_pins_open(folder, "map", "reported");
	struct net_counters now = { 0 };
	struct net_reported before;
	uint32_t zero = 0;

	if (o->readable && counters >= 0 && reported >= 0 && bpf_map_lookup_elem(reported, &zero, &before) == 0 &&
	    skep_sums_of_map(counters, sizeof(now), &now) == 0)
		net_report_losses(o->inst, o->st, &now, fds, &before);
	if (counters >= 0)
		close(counters);
	if (reported >= 0)
		close(reported);
}

static void drain_other(void *arg, const char *folder)
{
	struct other *o = arg;
	struct net_state *st = o->st;
	int fds[NET_PROGRAMS];

	o->readable =
		skep_pins_take_over(st->host, o->inst, folder, bpf_map__fd(st->bpf->maps.kept), NET_LAYOUT, &kinds);
	for (unsigned i = 0; i < NET_PROGRAMS; i++)
		fds[i] = skep_pins_program(&st->pins, folder, program_names[i]);
	run_pass(folder);
	skep_pins_unpin(folder, "link_");
	report_losses(o, folder, fds);
	for (unsigned i = 0; i < NET_PROGRAMS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	drain_ring(o, folder);
	drain_processes(o, folder);
	drain_peers(o, folder, "peers_even");
	drain_peers(o, folder, "peers_odd");
	st->host->log(o->inst, SKEP_LOG_NOTICE,
		      "removed the previous skepd's pinned BPF state (another build, or expired): %s",
		      o->readable ? "its records were read to the end"
				  : "its records cannot be read and count as lost");
}

void net_pinned_begin(struct skep_instance *inst, struct net_state *st)
{
	struct other o = { .inst = inst, .st = st };
	int err;

	if (st->pins.adopted)
		continue_adopted(inst, st);
	skep_pins_others(&st->pins, st->host, drain_other, &o);
	if (o.unread)
		st->host->lost(inst, STREAM_PROCESS, SKEP_LOSS_KERNEL, o.unread);
	touch(st);
	/*
	 * Scans open sockets and the processes that hold them, after the hooks are attached, so that it misses none.
	 * The scan also reports the amounts of processes up to now, as the ledger's reference begins after it.
	 */
	net_pass(st);
	err = st->pass_err;
	if (err)
		st->host->log(
			inst, SKEP_LOG_WARNING,
			"cannot list open files: %s; "
			"a connection that was open before skepd started has no owner until a process uses it",
			strerror(-err));
	(void)skep_drain_ring_now(&st->ring);
	net_check_losses(inst, st);
	net_ledger_begin(st);
}
