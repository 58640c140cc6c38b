/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/net/pinned.c - a kernel side that another skepd has left behind (skep/pins.h): one that is
 * ours to the last byte goes on, one of another make is put to sleep, read and taken out.
 *
 * Nothing is counted twice: what has been told of a process is kept beside its amounts, in the kernel (net.h,
 * struct net_process), and of two makes only one is awake at any time (skep/kept.h).
 */
#include <errno.h>
#include <skep/drain.h>
#include <string.h>
#include <unistd.h>

#include "net.skel.h"
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

/* ---- of our make ----------------------------------------------------------------------- */

static void go_on(struct skep_instance *inst, struct net_state *st)
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

/* ---- of another make ------------------------------------------------------------------- */

struct other {
	struct skep_instance *inst;
	struct net_state *st;
	bool readable;
	uint64_t unread;
};

static int take_record(void *ctx, void *data, size_t size)
{
	struct other *o = ctx;

	if (!o->readable)
		o->unread++;
	else if (net_decode(o->inst, o->st, data, size))
		o->st->host->counter_add(o->st->c_bad, 1);
	return 0;
}

static void take_ring(struct other *o, const char *folder)
{
	int fd = skep_pins_open(folder, "map", "ring");
	struct ring_buffer *reader = fd >= 0 ? ring_buffer__new(fd, take_record, o, NULL) : NULL;

	if (reader)
		ring_buffer__consume(reader);
	ring_buffer__free(reader);
	if (fd >= 0)
		close(fd);
}

/* Its pass over tasks puts what has not been told of those that live into its ring. */
static void run_pass(const char *folder)
{
	int link = skep_pins_open(folder, "link", "on_task");

	if (link < 0)
		return;
	skep_iter_run(link);
	close(link);
}

static void take_processes(struct other *o, const char *folder)
{
	int fd = skep_pins_open(folder, "map", "processes");

	if (fd >= 0 && o->readable)
		net_drain_processes(o->inst, o->st, fd, true);
	if (fd >= 0)
		close(fd);
}

static void take_peers(struct other *o, const char *folder, const char *name)
{
	int fd = skep_pins_open(folder, "map", name);

	if (fd >= 0 && o->readable)
		net_empty_peers(o->st, fd);
	if (fd >= 0)
		close(fd);
}

static const char *const program_names[NET_PROGRAMS] = { "on_state", "on_send", "on_recv" };

/* What its ring and maps had no room for, and its hooks missed, since the skepd before reported that. */
static void take_losses(const struct other *o, const char *folder, const int fds[NET_PROGRAMS])
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

static void take_other(void *arg, const char *folder)
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
	take_losses(o, folder, fds);
	for (unsigned i = 0; i < NET_PROGRAMS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	take_ring(o, folder);
	take_processes(o, folder);
	take_peers(o, folder, "peers_even");
	take_peers(o, folder, "peers_odd");
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
		go_on(inst, st);
	skep_pins_others(&st->pins, st->host, take_other, &o);
	if (o.unread)
		st->host->lost(inst, STREAM_PROCESS, SKEP_LOSS_KERNEL, o.unread);
	touch(st);
	/*
	 * Sockets that are there already, and who has them: with the hooks in place, so that none falls between.  Of
	 * what went on meanwhile, processes are told now, so that it is not in the books, whose reference begins now.
	 */
	net_pass(st);
	err = st->pass_err;
	if (err)
		st->host->log(
			inst, SKEP_LOG_WARNING,
			"cannot list open files: %s; a connection that was open before skepd started has no owner until a process uses it",
			strerror(-err));
	ring_buffer__consume(st->ring);
	net_check_losses(inst, st);
	net_ledger_begin(st);
}
