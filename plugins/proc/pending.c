/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/pending.c - finals that cannot be closed at once.
 *
 * signal_struct adds up everything but run-queue delay, so the delay of dead threads is
 * kept by the kernel side in `threads`.  The frees of a process's tasks come by RCU in any
 * order, so the final of a process that had threads waits until the others have surely
 * come.  And a final that the ring could not take waits in `unsent`.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc.skel.h"
#include "state.h"

int proc_pending_add(struct skep_instance *inst, struct proc_state *st, const struct proc_final *final)
{
	struct pending *p;

	if (!(final->flags & PROC_FINAL_THREADS)) {
		struct proc_final single = *final;

		single.threads = 1;
		proc_emit_final(inst, st, &single);
		return 0;
	}
	p = malloc(sizeof(*p));
	if (!p) {
		proc_emit_final(inst, st, final); /* without its threads' delay rather than not at all */
		return 0;
	}
	p->final = *final;
	p->next = NULL;
	*st->pending_end = p;
	st->pending_end = &p->next;
	return 0;
}

static void take_threads(struct proc_state *st, struct proc_final *f)
{
	struct proc_threads_key key = { .signal = f->signal, .pid = f->h.pid };
	int fd = bpf_map__fd(st->bpf->maps.threads);
	struct proc_threads sum;

	f->threads = 1;
	if (bpf_map_lookup_elem(fd, &key, &sum))
		return;
	bpf_map_delete_elem(fd, &key);
	f->sums.run_delay_ns += sum.run_delay_ns;
	f->sums.run_count += sum.run_count;
	f->threads += sum.n;
}

void proc_pending_run(struct skep_instance *inst, struct proc_state *st, uint64_t min_age_ns)
{
	uint64_t now = proc_now();

	while (st->pending && st->pending->final.h.time_ns + min_age_ns <= now) {
		struct pending *p = st->pending;

		st->pending = p->next;
		if (!st->pending)
			st->pending_end = &st->pending;
		take_threads(st, &p->final);
		proc_emit_final(inst, st, &p->final);
		free(p);
	}
}

void proc_pending_free(struct proc_state *st)
{
	while (st->pending) {
		struct pending *p = st->pending;

		st->pending = p->next;
		free(p);
	}
	st->pending_end = &st->pending;
}

void proc_unsent_drain(struct skep_instance *inst, struct proc_state *st)
{
	int fd = bpf_map__fd(st->bpf->maps.unsent);
	struct proc_unsent_key key;
	struct proc_final final;

	while (bpf_map_get_next_key(fd, NULL, &key) == 0) {
		if (bpf_map_lookup_elem(fd, &key, &final) == 0)
			proc_pending_add(inst, st, &final);
		if (bpf_map_delete_elem(fd, &key))
			break;
	}
}

#define CLEAN_EVERY_NS (30ull * 1000000000)

/* An entry belongs to a live process, or to a pending final, or to nobody. */
static bool wanted(const struct proc_state *st, const struct proc_threads_key *key)
{
	char path[32];

	for (const struct pending *p = st->pending; p; p = p->next)
		if (p->final.signal == key->signal && p->final.h.pid == key->pid)
			return true;
	snprintf(path, sizeof(path), "/proc/%u", key->pid);
	return access(path, F_OK) == 0;
}

void proc_threads_clean(struct proc_state *st)
{
	int fd = bpf_map__fd(st->bpf->maps.threads), err;
	struct proc_threads_key key, next;
	uint64_t now = proc_now();
	uint64_t orphans = 0;

	if (now - st->cleaned_ns < CLEAN_EVERY_NS)
		return;
	st->cleaned_ns = now;
	err = bpf_map_get_next_key(fd, NULL, &next);
	while (!err) {
		key = next;
		err = bpf_map_get_next_key(fd, &key, &next);
		if (wanted(st, &key))
			continue;
		bpf_map_delete_elem(fd, &key);
		orphans++;
	}
	if (orphans)
		st->host->counter_add(st->c_threads_lost, orphans);
}
