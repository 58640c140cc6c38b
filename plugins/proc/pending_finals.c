/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/pending_finals.c - totals that wait: for the frees of their process's threads, or in a map because the
 * ring was full.
 *
 * The kernel side adds up in `threads` what signal_struct lacks of a process's threads (proc.h). RCU frees a process's
 * tasks in any order, so the totals of a process with threads wait until all its threads are freed. Ends and totals
 * that found the ring full wait in the maps `unsent_exits` and `unsent`.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <skep/clock.h>
#include <stdlib.h>
#include <string.h>

#include "proc.h"
#include "plugins/proc/proc.skel.h"
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
		proc_emit_final(inst, st, final); /* better without its threads' delay than not at all */
		return 0;
	}
	p->final = *final;
	p->next = NULL;
	*st->pending_end = p;
	st->pending_end = &p->next;
	return 0;
}

/* So long the kernel may take to free a process's last threads; then its totals go out as partial. */
#define LATEST_NS 3000000000u

/*
 * Has the kernel freed all threads?  A thread that releases itself switches once more after signal_struct has its
 * switches, so the sum may have more switches than expected; faults are equal.
 */
static bool all_there(const struct proc_final *f, const struct proc_threads *sum)
{
	return sum->switches >= f->switches && sum->faults >= f->faults &&
	       f->sums.cpu_ns + sum->cpu_ns >= f->signal_cpu_ns;
}

/* Adds the sums of threads to the totals. false: the kernel has not freed all threads yet. */
static bool add_threads(struct proc_state *st, struct proc_final *f, bool last_chance)
{
	struct proc_threads_key key = { .signal = f->signal, .pid = f->h.pid };
	int fd = bpf_map__fd(st->bpf->maps.threads);
	struct proc_threads sum = { 0 };

	bpf_map_lookup_elem(fd, &key, &sum); /* no entry: all 0 */
	if (!all_there(f, &sum)) {
		if (!last_chance)
			return false;
		f->flags |= PROC_FINAL_PARTIAL;
	}
	proc_threads_used(st, &key);
	f->threads = 1 + sum.n;
	f->sums.cpu_ns += sum.cpu_ns;
	if (f->sums.cpu_ns < f->signal_cpu_ns)
		f->sums.cpu_ns = f->signal_cpu_ns;
	f->sums.run_delay_ns += sum.run_delay_ns;
	f->sums.run_count += sum.run_count;
	f->sums.rchar += sum.rchar;
	f->sums.wchar += sum.wchar;
	f->sums.syscr += sum.syscr;
	f->sums.syscw += sum.syscw;
	f->sums.read_bytes += sum.read_bytes;
	f->sums.write_bytes += sum.write_bytes;
	f->sums.cancelled_write_bytes += sum.cancelled_write_bytes;
	return true;
}

void proc_pending_run(struct skep_instance *inst, struct proc_state *st, uint64_t min_age_ns)
{
	struct pending **at = &st->pending;
	uint64_t now = skep_boot_ns();

	while (*at) {
		struct pending *p = *at;
		uint64_t age = now - p->final.h.time_ns;

		if (age < min_age_ns)
			break; /* all further ones are younger */
		if (!add_threads(st, &p->final, min_age_ns == 0 || age >= LATEST_NS)) {
			at = &p->next;
			continue;
		}
		proc_emit_final(inst, st, &p->final);
		*at = p->next;
		if (!*at)
			st->pending_end = at;
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

void proc_unsent_drain(struct skep_instance *inst, struct proc_state *st, int fd)
{
	struct proc_unsent_key key;
	union {
		struct proc_exit end;
		struct proc_final final;
	} rec; /* the head has the type */

	/* An end may come after its totals, which the ring carried meanwhile: the host treats it as any late event. */
	while (bpf_map_get_next_key(fd, NULL, &key) == 0) {
		if (bpf_map_lookup_elem(fd, &key, &rec) == 0)
			proc_decode_ring(inst, st, &rec, sizeof(rec));
		if (bpf_map_delete_elem(fd, &key))
			break;
	}
}

#define CLEAN_EVERY_NS (30ull * 1000000000)

/* Does the entry belong to a live process, to pending totals, or to totals that are not durable yet? */
static bool wanted(const struct proc_state *st, const struct proc_threads_key *key)
{
	for (const struct pending *p = st->pending; p; p = p->next)
		if (p->final.signal == key->signal && p->final.h.pid == key->pid)
			return true;
	for (const struct used_threads *t = st->used; t; t = t->next)
		if (t->key.signal == key->signal && t->key.pid == key->pid)
			return true;
	return proc_alive(key->pid);
}

void proc_threads_clean(struct proc_state *st)
{
	int fd = bpf_map__fd(st->bpf->maps.threads), err;
	struct proc_threads_key key, next;
	uint64_t now = skep_boot_ns();
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
