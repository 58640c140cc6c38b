/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/net/drain.c - drains the kernel side's maps: peers, processes that found the ring full, counters of lost and
 * late records.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <skep/clock.h>
#include <skep/drain.h>
#include <skep/misses.h>
#include <string.h>

#include "plugins/net/net.skel.h"
#include "state.h"

/* ---- peers ------------------------------------------------------------------------ */

void net_empty_peers(struct net_state *st, int fd)
{
	static const struct net_peer_key other;
	static const struct net_peer none;
	uint32_t at = 0, n;
	void *in = NULL;
	int err;

	do {
		n = NET_BATCH;
		err = bpf_map_lookup_and_delete_batch(fd, in, &at, st->batch_keys, st->batch, &n, NULL);
		if (err && err != -ENOENT && errno != ENOENT) {
			n = 0;
			break;
		}
		for (uint32_t i = 0; i < n; i++)
			st->host->counter_add(st->c_peers_other,
					      net_peers_add(&st->peers, &st->batch_keys[i], &st->batch[i]));
		in = &at;
	} while (!err);
	bpf_map_update_elem(fd, &other, &none, BPF_NOEXIST);
}

void net_drain_peers(struct skep_instance *inst, struct net_state *st, bool even_if_empty)
{
	unsigned writing = st->bpf->bss->phase & 1, resting = !writing;
	struct net_counters now;

	(void)inst;
	if (st->peers_written[resting] || even_if_empty)
		net_empty_peers(st, bpf_map__fd(resting ? st->bpf->maps.peers_odd : st->bpf->maps.peers_even));
	st->peers_written[resting] = false;
	skep_sums_of_view(st->counters, st->n_cpus, sizeof(now), &now);
	if (now.peers_new == st->peers_seen && now.peers_full == st->seen.peers_full && !even_if_empty)
		return; /* the programs wrote nothing to this map: no need to swap */
	st->peers_written[writing] = true;
	st->peers_seen = now.peers_new;
	__atomic_store_n(&st->bpf->bss->phase, resting, __ATOMIC_RELEASE);
}

void net_dead_later(struct skep_instance *inst, struct net_state *st, const struct skep_upid *who, uint64_t now_ns)
{
	if (st->n_dead == NET_DEAD_MAX)
		net_dead_now(inst, st, now_ns);
	if (st->dead)
		st->dead[st->n_dead++] = *who;
}

void net_dead_now(struct skep_instance *inst, struct net_state *st, uint64_t now_ns)
{
	for (uint32_t i = 0; i < st->n_dead; i++)
		net_peers_emit_process(inst, st, st->dead[i].pid, st->dead[i].start_ns, now_ns);
	st->n_dead = 0;
}

/* ---- processes ---------------------------------------------------------------------- */

static bool gone(uint32_t pid)
{
	return kill((pid_t)pid, 0) && errno == ESRCH;
}

void net_drain_processes(struct skep_instance *inst, struct net_state *st, int fd, bool all)
{
	struct net_process_key key, next;
	int err;

	err = bpf_map_get_next_key(fd, NULL, &next);
	while (!err) {
		struct skep_upid who;
		struct net_process p;

		key = next;
		err = bpf_map_get_next_key(fd, &key, &next);
		if ((!all && !gone(key.pid)) || bpf_map_lookup_elem(fd, &key, &p))
			continue;
		for (size_t i = 0; i < NET_AMOUNTS; i++)
			((__u64 *)&p.now)[i] -= ((const __u64 *)&p.reported)[i];
		who = (struct skep_upid){ .pid = key.pid, .start_ns = key.start_ns };
		net_emit_process(inst, st, &who, skep_boot_ns(), &p.now);
		bpf_map_delete_elem(fd, &key);
	}
}

void net_drain_orphans(struct skep_instance *inst, struct net_state *st)
{
	net_drain_processes(inst, st, bpf_map__fd(st->bpf->maps.processes), false);
}

/* ---- losses ---------------------------------------------------------------------------- */

void net_report_losses(struct skep_instance *inst, struct net_state *st, const struct net_counters *now,
		       const int fds[NET_PROGRAMS], struct net_reported *seen)
{
	uint64_t states = skep_fd_misses(fds[NET_ON_STATE]),
		 calls = skep_fd_misses(fds[NET_ON_SEND]) + skep_fd_misses(fds[NET_ON_RECV]);
	const struct net_counters *before = &seen->counters;
	const struct skep_host *host = st->host;
	uint64_t missed;

	/* on_state_missed may count a change that on_state saw, never the reverse: both missed the rest. */
	missed = (states > now->recovered ? states - now->recovered : 0) + now->no_scratch;
	if (now->conn_dropped != before->conn_dropped)
		host->lost(inst, STREAM_CONN, SKEP_LOSS_KERNEL, now->conn_dropped - before->conn_dropped);
	if (now->conns_full != before->conns_full)
		host->lost(inst, STREAM_CONN, SKEP_LOSS_KERNEL, now->conns_full - before->conns_full);
	if (now->processes_full != before->processes_full)
		host->lost(inst, STREAM_PROCESS, SKEP_LOSS_KERNEL, now->processes_full - before->processes_full);
	if (missed > seen->states_missed) {
		host->counter_add(st->c_misses, missed - seen->states_missed);
		host->lost(inst, STREAM_CONN, SKEP_LOSS_KERNEL, missed - seen->states_missed);
		seen->states_missed = missed;
	}
	/* The connection's owner gets TCP's bytes all the same. */
	if (calls > seen->calls_missed) {
		host->counter_add(st->c_calls_missed, calls - seen->calls_missed);
		host->lost(inst, STREAM_PROCESS, SKEP_LOSS_KERNEL, calls - seen->calls_missed);
		seen->calls_missed = calls;
	}
	host->counter_add(st->c_summed, now->conn_summed - before->conn_summed);
	host->counter_add(st->c_peers_other, now->peers_full - before->peers_full);
	host->counter_add(st->c_processes_full, now->processes_full - before->processes_full);
	host->counter_add(st->c_conns_full, now->conns_full - before->conns_full);
	host->counter_add(st->c_put_off, now->process_dropped - before->process_dropped);
	seen->counters = *now;
}

void net_check_losses(struct skep_instance *inst, struct net_state *st)
{
	const int fds[NET_PROGRAMS] = { st->on_state_fd, st->on_send_fd, st->on_recv_fd };
	struct net_reported seen = { .counters = st->seen,
				     .states_missed = st->seen_misses,
				     .calls_missed = st->seen_calls_missed };
	struct net_counters now;

	skep_sums_of_view(st->counters, st->n_cpus, sizeof(now), &now);
	net_report_losses(inst, st, &now, fds, &seen);
	st->seen = seen.counters;
	st->seen_misses = seen.states_missed;
	st->seen_calls_missed = seen.calls_missed;
	net_pinned_touch(st);
}
