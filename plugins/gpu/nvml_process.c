/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/nvml_process.c - the processes that held a device, and their shares of its work. The device's busy time
 * is exact enough (see read_utilization); the driver's samples by process give the proportion. So a device's processes
 * add up to the device, with any period of the samples. At a process's end the driver's own accounting adds the missing
 * part; it also has processes that lived between two passes.
 */
#include <math.h>
#include <string.h>

#include "nvml.h"

#define FILLER 0xa5   /* marks bytes that the library did not write */
#define RECHECKED 32u /* settled pids queried again in a pass, because a pid may repeat */

struct share {
	uint32_t pid;
	double sm, memory, video; /* sums of percents over the pid's samples */
	uint32_t samples;
};

uint32_t nvml_list_decode(const unsigned char *list, uint32_t n, unsigned char filler, struct nvml_process *ret)
{
	const size_t usual = sizeof(struct nvml_process), larger = usual + sizeof(unsigned long long);
	size_t stride = usual;

	/*
	 * 535.43 to 535.86 append the protected memory of confidential computing: then the list is longer than n usual
	 * entries
	 */
	for (size_t i = n * usual; i < n * larger && stride == usual; i++)
		if (list[i] != filler)
			stride = larger;
	for (uint32_t i = 0; i < n; i++)
		memcpy(&ret[i], list + i * stride, usual);
	return n;
}

static void list_take(struct nvml_state *s, struct nvml_gpu *g,
		      unsigned int (*call)(nvml_device, unsigned int *, struct nvml_process *), bool *ret_given,
		      unsigned int *ret_error)
{
	struct nvml_process found[LIST_ROOM];
	unsigned int n = LIST_ROOM;
	unsigned int error;

	if (!call)
		return;
	memset(s->list, FILLER, sizeof(s->list));
	error = call(g->handle, &n, (struct nvml_process *)(void *)s->list);
	if (error == NVML_INSUFFICIENT_SIZE) {
		s->list_overflow++;
		*ret_given = true;
		return;
	}
	if (error != NVML_OK || n > LIST_ROOM) {
		*ret_error = error;
		return;
	}
	*ret_given = true;
	n = nvml_list_decode(s->list, n, FILLER, found);
	for (unsigned int i = 0; i < n; i++) {
		uint32_t k = 0;

		while (k < s->n_holders && s->holders[k].pid != found[i].pid)
			k++;
		if (k == LIST_ROOM) {
			s->list_overflow++;
			continue;
		}
		if (k == s->n_holders)
			s->holders[s->n_holders++] = found[i];
		else if (s->holders[k].memory == ~0ull ||
			 (found[i].memory != ~0ull && found[i].memory > s->holders[k].memory))
			s->holders[k].memory = found[i].memory; /* in two lists with the same memory */
	}
}

/* Sums by process, in place at the front of the buffer; returns their number, or -1: not supported here. */
static int shares_take(struct nvml_state *s, struct nvml_gpu *g, struct share *shares, unsigned int room)
{
	unsigned int n = SAMPLES_ROOM, error;
	unsigned long long newest = g->processes_us;
	int found = 0;

	if (!s->lib.process_utilization)
		return -1;
	error = s->lib.process_utilization(g->handle, s->shares, &n, g->processes_us);
	if (error == NVML_NOT_FOUND) { /* no process ran */
		nvml_got(s, FEATURE_PROCESS_UTILIZATION, NVML_OK);
		return 0;
	}
	if (!nvml_got(s, FEATURE_PROCESS_UTILIZATION, error))
		return -1;
	for (unsigned int i = 0; i < n && i < SAMPLES_ROOM; i++) {
		const struct nvml_process_utilization *p = &s->shares[i];
		int k = 0;

		/* the unused end of the buffer is zero; a percentage above 100 is a value that was not ready */
		if (!p->pid || p->time_us <= g->processes_us || p->sm > 100 || p->memory > 100)
			continue;
		if (p->time_us > newest)
			newest = p->time_us;
		while (k < found && shares[k].pid != p->pid)
			k++;
		if (k == (int)room) {
			s->list_overflow++;
			continue;
		}
		if (k == found)
			shares[found++] = (struct share){ .pid = p->pid };
		shares[k].sm += p->sm;
		shares[k].memory += p->memory;
		shares[k].video += (p->encoder <= 100 ? p->encoder : 0) + (p->decoder <= 100 ? p->decoder : 0);
		shares[k].samples++;
	}
	g->processes_us = newest;
	return found;
}

static struct share *share_of(struct share *shares, int n, uint32_t pid)
{
	for (int i = 0; i < n; i++)
		if (shares[i].pid == pid)
			return &shares[i];
	return NULL;
}

static uint32_t number_of(const struct nvml_state *s, const struct nvml_gpu *g)
{
	return (uint32_t)(g - s->gpus);
}

static void life_begin(struct life *l)
{
	l->start_us = l->busy_ns = l->held_ns = l->known_ns = 0;
	l->held = l->settled = false;
}

/* One process's part of this interval. known: its utilization is known. */
static void give(struct nvml_state *s, struct nvml_gpu *g, struct tally *tally, uint32_t pid,
		 const struct nvml_process *holder, double busy_ns, const struct share *share, bool known,
		 double energy)
{
	struct tally_entry *e = tally_of(tally, pid);
	struct life *l = lives_of(s->lives, number_of(s, g), pid);
	uint64_t dt = g->record.interval_ns, held = 0, busy = busy_ns > 0 ? (uint64_t)busy_ns : 0;

	if (!e || !l)
		return;
	if (l->settled && holder)
		life_begin(l); /* another process has the pid */
	l->pass = s->passes;
	if (holder)
		/* the accounting at its end says since when it held the device in this interval */
		held = l->held ? dt : busy;
	if (held < busy)
		held = busy;
	e->use.busy_ns += busy;
	e->use.held_ns += held;
	if (share && share->sm > 0) {
		e->use.memory_busy_ns += (uint64_t)((double)busy * share->memory / share->sm);
		e->use.video_ns += (uint64_t)((double)busy * share->video / share->sm);
	} else if (share && share->samples) { /* only its video engines ran */
		e->use.video_ns += (uint64_t)(share->video / share->samples / 100 * (double)dt);
	}
	if (known) {
		e->use.known_ns += held;
		if (!busy && !(share && share->video > 0))
			e->use.idle_ns += held;
	}
	if (holder) {
		e->use.devices++;
		if (holder->memory != ~0ull)
			e->use.memory_bytes += holder->memory;
	}
	if (!isnan(energy))
		e->use.energy_j += energy;
	l->busy_ns += busy;
	l->held_ns += held;
	l->known_ns += known ? held : 0;
	l->held = holder != NULL;
}

static void divide(struct nvml_state *s, struct nvml_gpu *g, struct tally *tally, struct share *shares, int n_shares)
{
	struct device_record *r = &g->record;
	double weight = 0, given = 0;
	bool alone, known;

	for (int i = 0; i < n_shares; i++)
		weight += shares[i].sm;
	alone = s->n_holders == 1 && weight == 0;
	/* A busy device without samples: its only holder was busy; of several holders the driver does not say which. */
	known = weight > 0 || (!isnan(r->busy_ns) && (r->busy_ns == 0 || alone)) ||
		(n_shares >= 0 && isnan(r->busy_ns));
	for (uint32_t i = 0; i < s->n_holders; i++) {
		struct share *sh = share_of(shares, n_shares, s->holders[i].pid);
		double part = weight > 0 ? (sh ? sh->sm / weight : 0) : alone ? 1 : 0;
		double busy = isnan(r->busy_ns)
				      ? (sh && sh->samples ? sh->sm / sh->samples / 100 * (double)r->interval_ns : 0)
				      : r->busy_ns * part;
		double energy = weight > 0 ? r->energy * part : known ? r->energy / s->n_holders : NAN;

		give(s, g, tally, s->holders[i].pid, &s->holders[i], busy, sh, known, energy);
		given += busy;
		if (sh)
			sh->pid = 0; /* handled */
	}
	for (int i = 0; i < n_shares; i++) { /* processes that released the device meanwhile */
		double part = weight > 0 ? shares[i].sm / weight : 0;

		if (!shares[i].pid || part <= 0)
			continue;
		give(s, g, tally, shares[i].pid, NULL, isnan(r->busy_ns) ? 0 : r->busy_ns * part, &shares[i], true,
		     r->energy * part);
		given += isnan(r->busy_ns) ? 0 : r->busy_ns * part;
	}
	r->processes = s->n_holders;
	if (!isnan(r->busy_ns)) {
		r->unattributed_ns = r->busy_ns > given ? r->busy_ns - given : 0;
		r->idle_held_ns = s->n_holders && r->busy_ns == 0 ? (double)r->interval_ns : 0;
	}
}

static bool holds(const struct nvml_state *s, uint32_t pid)
{
	for (uint32_t i = 0; i < s->n_holders; i++)
		if (s->holders[i].pid == pid)
			return true;
	return false;
}

static void settle(struct nvml_state *s, struct nvml_gpu *g, struct tally *tally, struct life *l, bool again)
{
	struct nvml_accounting a = { 0 };
	struct tally_entry *e;

	if (s->lib.accounting_stats(g->handle, l->pid, &a) != NVML_OK || a.running)
		return;
	if (again) {
		bool same = l->start_us == 0 || l->start_us == a.start_us;

		l->start_us = a.start_us;
		if (same)
			return;
		life_begin(l);
	}
	e = tally_of(tally, l->pid);
	if (!e)
		return;
	e->began_us = a.start_us;
	life_settle(l,
		    &(struct life_total){
			    .start_us = a.start_us,
			    .held_ns = a.time_ms * 1000000,
			    .busy = a.gpu <= 100 ? a.gpu / 100.0 : -1, /* -1, unsigned: unavailable */
			    .memory_busy = a.memory <= 100 ? a.memory / 100.0 : 0,
			    .memory_bytes = a.max_memory,
		    },
		    &e->use);
}

static void accounting_read(struct nvml_state *s, struct nvml_gpu *g, struct tally *tally)
{
	unsigned int n = ACCOUNTED_ROOM;
	uint32_t rechecked = 0;

	if (!g->accounting || s->lib.accounting_pids(g->handle, &n, s->accounted) != NVML_OK || n > ACCOUNTED_ROOM)
		return;
	for (unsigned int i = 0; i < n; i++) {
		struct life *l = lives_of(s->lives, number_of(s, g), s->accounted[i]);

		if (!l)
			continue;
		l->pass = s->passes;
		if (holds(s, l->pid))
			continue;
		if (!g->read_ns) /* ended before our first pass */
			l->settled = true;
		else if (!l->settled)
			settle(s, g, tally, l, false);
		else if (i >= g->accounted_next && rechecked < RECHECKED) {
			settle(s, g, tally, l, true);
			rechecked++;
			g->accounted_next = i + 1;
		}
	}
	if (g->accounted_next >= n)
		g->accounted_next = 0;
}

void nvml_processes_read(struct nvml_state *s, struct nvml_gpu *g, struct tally *tally, uint64_t now_ns)
{
	struct share shares[LIST_ROOM];
	unsigned int error = NVML_NOT_SUPPORTED;
	bool given = false;
	int n;

	(void)now_ns;
	if (g->mig)
		return; /* its instances are queried */
	s->n_holders = 0;
	list_take(s, g, s->lib.compute_processes, &given, &error);
	list_take(s, g, s->lib.graphics_processes, &given, &error);
	list_take(s, g, s->lib.mps_processes, &given, &error);
	nvml_got(s, FEATURE_PROCESSES, given ? NVML_OK : error);
	n = shares_take(s, g, shares, LIST_ROOM);
	if (given)
		divide(s, g, tally, shares, n);
	accounting_read(s, g, tally);
}

void nvml_accounting_open(struct nvml_state *s, struct nvml_gpu *g)
{
	unsigned int on = 0, error;

	if (!s->features[FEATURE_ACCOUNTING].symbol)
		return;
	error = s->lib.accounting_mode(g->handle, &on);
	if (error == NVML_OK && !on && s->want_accounting && s->lib.accounting_set) {
		error = s->lib.accounting_set(g->handle, 1);
		g->accounting_ours = error == NVML_OK;
		on = g->accounting_ours;
	} else if (error == NVML_OK && !on) {
		error = NVML_NO_PERMISSION; /* off, and we may not switch it on */
	}
	g->accounting = on != 0;
	nvml_got(s, FEATURE_ACCOUNTING, g->accounting ? NVML_OK : error);
}

void nvml_accounting_close(struct nvml_state *s, struct nvml_gpu *g)
{
	if (g->accounting_ours && s->lib.accounting_set)
		s->lib.accounting_set(g->handle, 0);
	g->accounting_ours = g->accounting = false;
}
