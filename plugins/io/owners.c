/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/owners.c - records of processes and cgroups, from the maps of the BPF programs.
 *
 * An entry goes when it has not grown for some intervals: what the kernel adds between the last read and the removal is
 * lost.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <skep/values.h>

#include "plugins/io/io.skel.h"
#include "state.h"

#define IDLE_PASSES 6u      /* intervals without a change, then the entry goes */
#define IDLE_PASSES_FULL 2u /* when the map is getting full */

_Static_assert(sizeof(struct io_process_key) == 16 && sizeof(struct io_cgroup_key) == 16,
	       "levels.h has keys of 16 bytes");
_Static_assert(sizeof(struct io_process) <= LEVELS_MAX * sizeof(uint64_t), "a process's numbers fit in a level");
_Static_assert(2 * IO_DELAYS <= LEVELS_EXTRA, "delays of live threads fit beside it");

/* In level.extra: delays of live threads in this pass, and delays of all threads as far as reported. */
#define LIVE(l_) ((l_)->extra)
#define REPORTED(l_) IO_DELAYS_REPORTED(l_)

struct drain {
	struct skep_instance *inst;
	struct io_probe *st;
	uint64_t now_ns;
	uint32_t n;
};

static bool crowded(size_t n, int64_t room)
{
	return n * 4 >= (uint64_t)room * 3;
}

/* ---- processes ----------------------------------------------------------------- */

static void take_process(void *arg, const void *key_, const void *value)
{
	struct drain *d = arg;
	struct io_probe *st = d->st;
	const struct io_process *now = value, *last;
	struct process_record rec = { 0 };
	struct skep_upid who;
	struct level *l;
	uint64_t key[2];

	d->n++;
	memcpy(key, key_, sizeof(key));
	l = levels_get(&st->processes, key);
	if (!l) /* no memory: the entry waits in the map */
		return;
	last = (const struct io_process *)l->last;
	if (memcmp(now, last, sizeof(*now)) == 0)
		return;
	l->idle = 0;
	rec.read_operations = now->operations[IO_READ] - last->operations[IO_READ];
	rec.write_operations = now->operations[IO_WRITE] - last->operations[IO_WRITE];
	for (unsigned op = IO_DISCARD; op < IO_OPS; op++)
		rec.other_operations += now->operations[op] - last->operations[op];
	rec.read_bytes = now->bytes[IO_READ] - last->bytes[IO_READ];
	rec.write_bytes = now->bytes[IO_WRITE] - last->bytes[IO_WRITE];
	rec.discard_bytes = now->bytes[IO_DISCARD] - last->bytes[IO_DISCARD];
	rec.read_ns = now->latency_ns[IO_READ] - last->latency_ns[IO_READ];
	rec.write_ns = now->latency_ns[IO_WRITE] - last->latency_ns[IO_WRITE];
	rec.latency_max_ns = now->latency_max_ns;
	rec.reclaims = now->reclaims[IO_RECLAIM_HOST] - last->reclaims[IO_RECLAIM_HOST];
	rec.reclaim_ns = now->reclaim_ns[IO_RECLAIM_HOST] - last->reclaim_ns[IO_RECLAIM_HOST];
	rec.cgroup_reclaims = now->reclaims[IO_RECLAIM_CGROUP] - last->reclaims[IO_RECLAIM_CGROUP];
	rec.cgroup_reclaim_ns = now->reclaim_ns[IO_RECLAIM_CGROUP] - last->reclaim_ns[IO_RECLAIM_CGROUP];
	memcpy(l->last, now, sizeof(*now));
	io_pinned_process(st, l);
	who = (struct skep_upid){ .pid = ((const struct io_process_key *)key_)->pid, .start_ns = key[0] };
	st->host->emit(d->inst, STREAM_PROCESS, &who, d->now_ns, &rec);
}

static void emit_delays(struct drain *d, struct level *l)
{
	const struct io_process *gone = (const struct io_process *)l->last;
	struct skep_upid who = { .pid = (uint32_t)l->key[1], .start_ns = l->key[0] };
	struct process_record rec = { 0 };
	bool some = false;

	for (unsigned i = 0; i < IO_DELAYS; i++) {
		uint64_t all = gone->delay_ns[i] + LIVE(l)[i];

		/* less: a thread ended after the read of the map, and the next pass reports it */
		if (all > REPORTED(l)[i]) {
			rec.delay_ns[i] = all - REPORTED(l)[i];
			REPORTED(l)[i] = all;
			some = true;
		}
	}
	if (!some)
		return;
	io_pinned_process(d->st, l);
	d->st->host->emit(d->inst, STREAM_PROCESS, &who, d->now_ns, &rec);
}

static bool any(const uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i])
			return true;
	return false;
}

int io_processes_take(struct skep_instance *inst, struct io_probe *st, int fd, uint64_t now_ns)
{
	struct drain d = { .inst = inst, .st = st, .now_ns = now_ns };

	return skep_drain_map(&st->batch, fd, sizeof(struct io_process_key), sizeof(struct io_process), take_process,
			      &d);
}

void io_processes_drain(struct skep_instance *inst, struct io_probe *st, uint64_t now_ns, bool live_too)
{
	struct drain d = { .inst = inst, .st = st, .now_ns = now_ns };
	int fd = bpf_map__fd(st->bpf->maps.processes), err;
	uint32_t idle;

	err = skep_drain_map(&st->batch, fd, sizeof(struct io_process_key), sizeof(struct io_process), take_process,
			     &d);
	if (err) {
		st->host->log(inst, SKEP_LOG_WARNING,
			      "reading the map of processes failed: %s; the next interval reports their I/O",
			      strerror(-err));
		return;
	}
	if (st->delays) {
		for (size_t i = 0; i < st->processes.room; i++)
			memset(LIVE(&st->processes.at[i]), 0, IO_DELAYS * sizeof(uint64_t));
		/* after the map: a thread that ends in between is in neither this time, and never in both */
		if (live_too)
			io_delays_read(inst, st);
	}
	idle = crowded(d.n, st->opt_processes) ? IDLE_PASSES_FULL : IDLE_PASSES;
	for (size_t i = 0; i < st->processes.room;) {
		struct level *l = &st->processes.at[i];
		bool live;

		if (!l->used) {
			i++;
			continue;
		}
		live = st->delays && any(LIVE(l), IO_DELAYS);
		if (st->delays)
			emit_delays(&d, l);
		l->idle += st->ageing;
		if (l->idle < idle || live || !live_too) {
			i++;
			continue;
		}
		bpf_map_delete_elem(fd, l->key);
		io_pinned_process_over(st, l);
		levels_remove(&st->processes, l); /* another entry may move to its place */
	}
}

/* ---- cgroups -------------------------------------------------------------------- */

static const char *const issuers[IO_ISSUERS] = {
	[IO_DIRECT] = "direct",
	[IO_WRITEBACK] = "writeback",
	[IO_UNKNOWN] = "unknown",
};

static void take_cgroup(void *arg, const void *key_, const void *value)
{
	const struct io_cgroup_key *key = key_;
	const struct io_cgroup *now = value, *last;
	struct drain *d = arg;
	struct cgroup_record rec;
	struct level *l;

	d->n++;
	l = levels_get(&d->st->cgroups, key_);
	if (!l || key->op >= IO_OPS || key->issuer >= IO_ISSUERS)
		return;
	last = (const struct io_cgroup *)l->last;
	if (memcmp(now, last, sizeof(*now)) == 0)
		return;
	l->idle = 0;
	rec = (struct cgroup_record){
		.cgroup_id = key->id,
		.operation = skep_text(io_op_names[key->op]),
		.issuer = skep_text(issuers[key->issuer]),
		.operations = now->operations - last->operations,
		.bytes = now->bytes - last->bytes,
		.latency_ns = now->latency_ns - last->latency_ns,
	};
	memcpy(l->last, now, sizeof(*now));
	io_pinned_cgroup(d->st, l);
	d->st->host->emit(d->inst, STREAM_CGROUP, NULL, d->now_ns, &rec);
}

int io_cgroups_take(struct skep_instance *inst, struct io_probe *st, int fd, uint64_t now_ns)
{
	struct drain d = { .inst = inst, .st = st, .now_ns = now_ns };

	return skep_drain_map(&st->batch, fd, sizeof(struct io_cgroup_key), sizeof(struct io_cgroup), take_cgroup, &d);
}

void io_cgroups_drain(struct skep_instance *inst, struct io_probe *st, uint64_t now_ns)
{
	struct drain d = { .inst = inst, .st = st, .now_ns = now_ns };
	int fd = bpf_map__fd(st->bpf->maps.cgroups), err;
	uint32_t idle;

	err = skep_drain_map(&st->batch, fd, sizeof(struct io_cgroup_key), sizeof(struct io_cgroup), take_cgroup, &d);
	if (err) {
		st->host->log(inst, SKEP_LOG_WARNING,
			      "reading the map of cgroups failed: %s; the next interval reports their I/O",
			      strerror(-err));
		return;
	}
	idle = crowded(d.n, st->opt_cgroups) ? IDLE_PASSES_FULL : IDLE_PASSES;
	for (size_t i = 0; i < st->cgroups.room;) {
		struct level *l = &st->cgroups.at[i];

		if (l->used)
			l->idle += st->ageing;
		if (!l->used || l->idle < idle) {
			i++;
			continue;
		}
		bpf_map_delete_elem(fd, l->key);
		io_pinned_cgroup_over(st, l);
		levels_remove(&st->cgroups, l);
	}
}
