/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/scan.c - scans all live tasks by the iterator: for the start-up snapshot, for samples, and to repair the
 * host's table after a loss.
 *
 * The iterator yields tasks, the host wants processes: the scan emits a process with one thread at once, and adds the
 * threads of others up by tgid until it ends.  It runs in slices, so that 20,000 tasks do not block the loop.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <skep/clock.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc.h"
#include "plugins/proc/proc.skel.h"
#include "state.h"

#define BUFFER (64 * 1024) /* twice what the kernel returns for one read (8 pages, kernel/bpf/bpf_iter.c) */

static void sums_add(struct proc_sums *to, const struct proc_sums *from)
{
	__u64 *a = (__u64 *)to;
	const __u64 *b = (const __u64 *)from;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*a); i++)
		a[i] += b[i];
}

static int groups_grow(struct proc_state *st)
{
	size_t room = st->groups_room ? st->groups_room * 2 : 64;
	struct group *bigger = calloc(room, sizeof(*bigger));

	if (!bigger)
		return -ENOMEM;
	for (size_t i = 0; i < st->groups_room; i++) {
		size_t at = st->groups[i].pid & (room - 1);

		if (st->groups[i].pid == 0)
			continue;
		while (bigger[at].pid)
			at = (at + 1) & (room - 1);
		bigger[at] = st->groups[i];
	}
	free(st->groups);
	st->groups = bigger;
	st->groups_room = room;
	return 0;
}

/* NULL: no memory. */
static struct group *group_of(struct proc_state *st, uint32_t pid)
{
	size_t at;

	if (st->n_groups * 4 >= st->groups_room * 3 && groups_grow(st))
		return NULL;
	at = pid & (st->groups_room - 1);
	while (st->groups[at].pid && st->groups[at].pid != pid)
		at = (at + 1) & (st->groups_room - 1);
	if (!st->groups[at].pid) {
		st->groups[at].pid = pid;
		st->n_groups++;
	}
	return &st->groups[at];
}

/* Decodes one record. Returns its bytes, 0 for a record that is not whole yet, or -EBADMSG for an unknown type. */
static ssize_t decode(struct skep_instance *inst, struct proc_state *st, const char *at, size_t size)
{
	const struct proc_head *h = (const void *)at;
	struct group *g;

	if (size < sizeof(*h))
		return 0;
	if (h->type == PROC_LEADER) {
		const struct proc_leader *leader = (const void *)at;

		if (size < sizeof(*leader))
			return 0;
		g = leader->threads > 1 && leader->h.pid ? group_of(st, leader->h.pid) : NULL;
		if (g) {
			g->leader = *leader;
			g->has_leader = true;
		} else {
			proc_emit_live(inst, st, leader, &leader->sums, leader->flags);
		}
		return sizeof(*leader);
	}
	if (h->type == PROC_THREAD) {
		const struct proc_thread *thread = (const void *)at;

		if (size < sizeof(*thread))
			return 0;
		g = h->pid ? group_of(st, h->pid) : NULL;
		if (g) {
			sums_add(&g->threads, &thread->sums);
			g->thread_flags |= thread->flags;
		}
		return sizeof(*thread);
	}
	return -EBADMSG;
}

static void emit_groups(struct skep_instance *inst, struct proc_state *st)
{
	for (size_t i = 0; i < st->groups_room; i++) {
		struct group *g = &st->groups[i];

		if (!g->pid || !g->has_leader) /* a thread whose process ended meanwhile */
			continue;
		sums_add(&g->threads, &g->leader.sums);
		proc_emit_live(inst, st, &g->leader, &g->threads,
			       g->leader.flags | (g->thread_flags & ~PROC_LIVE_ZOMBIE));
	}
}

int proc_scan_begin(struct skep_instance *inst, struct proc_state *st)
{
	if (st->iter_fd >= 0 || st->scan_waits)
		return 0;
	if (!st->scan_buffer) {
		st->scan_buffer = malloc(BUFFER);
		if (!st->scan_buffer)
			return -ENOMEM;
	}
	/* events before the scan must reach the host first: the caller has drained the ring, or the first step does */
	st->iter_fd = bpf_iter_create(bpf_link__fd(st->bpf->links.on_task));
	if (st->iter_fd < 0) {
		int err = -errno;

		st->iter_fd = -1;
		return err;
	}
	st->scan_part = 0;
	proc_ledger_begin(st);
	st->resync = false;
	st->host->sweep_begin(inst, skep_boot_ns());
	return 0;
}

void proc_scan_end(struct skep_instance *inst, struct proc_state *st, bool complete)
{
	if (st->iter_fd < 0)
		return;
	close(st->iter_fd);
	st->iter_fd = -1;
	if (complete)
		emit_groups(inst, st);
	free(st->groups);
	st->groups = NULL;
	st->groups_room = st->n_groups = 0;
	st->scan_waits = complete;
	if (!complete)
		st->host->sweep_end(inst, false);
	proc_scan_answered(inst, st);
}

void proc_scan_answered(struct skep_instance *inst, struct proc_state *st)
{
	if (!st->scan_waits || st->n_waiting)
		return;
	st->scan_waits = false;
	proc_ledger_post(inst, st);
	st->host->sweep_end(inst, true);
}

bool proc_scan_step(struct skep_instance *inst, struct proc_state *st, uint64_t budget_ns)
{
	uint64_t begin = skep_boot_ns();

	while (st->iter_fd >= 0) {
		size_t used = 0, have;
		ssize_t n;

		if (!proc_drain(inst, st, budget_ns) || (budget_ns && st->n_waiting >= WAIT_MOST))
			return true;
		n = read(st->iter_fd, st->scan_buffer + st->scan_part, BUFFER - st->scan_part);
		/* emits the pending forks that the scan has sent before it emits their processes */
		proc_drain(inst, st, 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR)) /* EAGAIN: the iterator's own limit on one read */
			continue;
		if (n <= 0) {
			proc_scan_end(inst, st, n == 0 && st->scan_part == 0);
			return false;
		}
		have = st->scan_part + (size_t)n;
		while (used < have) {
			ssize_t took = decode(inst, st, st->scan_buffer + used, have - used);

			if (took < 0) {
				st->host->counter_add(st->c_bad, 1);
				proc_scan_end(inst, st, false);
				return false;
			}
			if (took == 0)
				break;
			used += (size_t)took;
		}
		st->scan_part = have - used;
		memmove(st->scan_buffer, st->scan_buffer + used, st->scan_part);
		if (budget_ns && skep_boot_ns() - begin > budget_ns)
			return true;
	}
	return false;
}
