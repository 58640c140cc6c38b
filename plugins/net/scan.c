/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/net/scan.c - decides which processes' descriptors the iterator on_file visits, and runs it.
 *
 * on_file reports the traffic of open connections since the last scan, to the process that owns each of them and has a
 * descriptor.  A scan of all processes finds the owners, but costs time for every descriptor of the host.  So the next
 * scans visit only the processes that the last one has found as owners, one by one.  The kernel side counts the open
 * connections that scans have found (`owned`) and those of the scan under way (`owned_now`).  If a scan of the owners
 * finds fewer than there are, an owner has no descriptor any more (it has ended, or a child has the connection), and a
 * scan of all processes follows at once.  So does one begin if there is a connection that no scan has found.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <skep/clock.h>
#include <skep/drain.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "plugins/net/net.skel.h"
#include "state.h"

/* For what the counts do not show: a connection between processes (SCM_RIGHTS) at the first scan. */
#define ALL_EVERY_NS (60ull * 1000000000)
#define ONE_COSTS_NS 10000u /* a scan of one process, beside its descriptors: a link, an iterator */
/* After so many scans of all processes a connection that none has found counts as ended: no process has it. */
#define TRIES 3u

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The kernel visits processes in turn, so one process's connections come together. */
static void on_owners(void *arg, const void *records, size_t n)
{
	struct net_scan *s = arg;
	const uint32_t *pids = records;

	for (size_t i = 0; i < n; i++) {
		if (s->n_pids && s->pids[s->n_pids - 1] == pids[i])
			continue;
		if (s->n_pids == s->room) {
			size_t room = s->room ? s->room * 2 : 64;
			uint32_t *more = reallocarray(s->pids, room, sizeof(*more));

			if (!more) {
				s->incomplete = true;
				return;
			}
			s->pids = more;
			s->room = room;
		}
		s->pids[s->n_pids++] = pids[i];
	}
}

static void begin(struct net_bpf__bss *bss, bool partial)
{
	bss->partial = partial;
	bss->rounds++;
	bss->owned_now = 0;
}

static int scan_all(struct net_state *st)
{
	struct net_bpf__bss *bss = st->bpf->bss;
	struct net_scan *s = &st->scan;
	uint64_t began = cpu_ns();
	int err;

	if (s->not_found == TRIES || bss->owned_now > bss->owned) {
		bss->epoch++;
		bss->owned = 0;
		s->not_found = 0;
	}
	s->missed_before = s->missed;
	s->accepted_by_kernel = bss->accepted_by_kernel;
	s->listeners_closed = bss->listeners_closed;
	s->n_pids = 0;
	s->incomplete = false;
	begin(bss, false);
	bss->scans++;
	err = skep_iter_read(bpf_link__fd(st->pass_files), s->buffer, NET_SCAN_BUFFER, sizeof(uint32_t), on_owners, s);
	s->again = bss->owned != bss->owned_now;
	s->not_found = s->again ? s->not_found + 1 : 0;
	s->at_ns = skep_boot_ns();
	s->cost_ns = cpu_ns() - began;
	return err;
}

static int scan_one(int program, uint32_t pid)
{
	/* headers before 6.1 lack the member */
	union {
		union bpf_iter_link_info any;
		struct {
			uint32_t tid, pid, pid_fd;
		} task;
	} info = { .task.pid = pid };
	LIBBPF_OPTS(bpf_link_create_opts, opts, .iter_info = &info.any, .iter_info_len = sizeof(info));
	int link = bpf_link_create(program, 0, BPF_TRACE_ITER, &opts), err;

	if (link < 0)
		return link;
	err = skep_iter_run(link);
	close(link);
	return err;
}

/* true: it has found all connections. */
static bool scan_owners(struct net_state *st)
{
	struct net_bpf__bss *bss = st->bpf->bss;
	struct net_scan *s = &st->scan;
	int err = 0;

	begin(bss, true);
	for (size_t i = 0; i < s->n_pids && !err; i++)
		err = scan_one(s->program, s->pids[i]);
	bss->partial = 0;
	return !err && bss->owned_now == bss->owned;
}

static bool all_due(const struct net_state *st)
{
	const struct net_bpf__bss *bss = st->bpf->bss;
	const struct net_scan *s = &st->scan;

	return s->program < 0 || !s->at_ns || s->again || s->incomplete || bss->unowned ||
	       s->missed != s->missed_before || bss->accepted_by_kernel != s->accepted_by_kernel ||
	       bss->listeners_closed != s->listeners_closed || s->n_pids * ONE_COSTS_NS >= s->cost_ns ||
	       skep_boot_ns() - s->at_ns >= ALL_EVERY_NS;
}

int net_scan(struct net_state *st)
{
	return !all_due(st) && scan_owners(st) ? 0 : scan_all(st);
}
