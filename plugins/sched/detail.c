/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/sched/detail.c - the details runqlat, oncpu, offcpu: who has asked, and what has
 * been counted for whom since it was last told.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "state.h"

static uint64_t boot_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- what has been counted --------------------------------------------------- */

static struct skep_str state_name(unsigned part)
{
	/* enum sched_state, from SCHED_IOWAIT on */
	static const char *const names[DETAIL_PARTS] = { "iowait", "blocked", "sleeping" };
	uint32_t len = (uint32_t)strlen(names[part]);

	return (struct skep_str){ .ptr = names[part], .len = len, .total = len };
}

/* One distribution: the sum over CPUs, less what has been told. The hook goes on counting meanwhile. */
static void tell_part(struct skep_instance *inst, struct sched_probe *st, unsigned slot, unsigned part, uint64_t now_ns)
{
	struct sched_details *d = &st->details;
	struct detail_slot *s = &d->slots[slot];
	struct detail_hist *told = &s->told[part];
	struct detail_hist now = { 0 };
	uint64_t delta[SKEP_HIST_SLOTS];
	struct detail_record rec = { .id = s->scope.id };

	for (unsigned cpu = 0; cpu < d->n_cpus; cpu++) {
		const struct detail_hist *h = &d->hists[(cpu * DETAIL_SLOTS + slot) * DETAIL_PARTS + part];

		for (unsigned k = 0; k < SKEP_HIST_SLOTS; k++)
			now.slots[k] += __atomic_load_n(&h->slots[k], __ATOMIC_RELAXED);
		now.sum += __atomic_load_n(&h->sum, __ATOMIC_RELAXED);
	}
	for (unsigned k = 0; k < SKEP_HIST_SLOTS; k++) {
		delta[k] = now.slots[k] - told->slots[k];
		rec.count += delta[k];
	}
	rec.sum_ns = now.sum - told->sum;
	*told = now;
	if (!inst || rec.count == 0)
		return;
	rec.duration = (struct skep_hist){ .slots = delta, .n = SKEP_HIST_SLOTS, .sum = rec.sum_ns };
	if (s->kind == DETAIL_OFFCPU)
		rec.state = state_name(part);
	/* said by us: by the last record the host may have forgotten who had that pid */
	st->host->emit(inst, STREAM_DETAIL + s->kind, s->who.pid ? &s->who : NULL, now_ns, &rec);
}

/* inst NULL: only take note of what there is already. */
static void tell(struct skep_instance *inst, struct sched_probe *st, unsigned slot, uint64_t now_ns)
{
	unsigned parts = st->details.slots[slot].kind == DETAIL_OFFCPU ? DETAIL_PARTS : 1;

	for (unsigned part = 0; part < parts; part++)
		tell_part(inst, st, slot, part, now_ns);
}

static void tell_lost(struct skep_instance *inst, struct sched_probe *st)
{
	struct sched_details *d = &st->details;
	uint64_t misses = detail_misses(st), missed = misses - d->misses;
	bool attached[DETAIL_KINDS] = { false };

	for (unsigned i = 0; i < DETAIL_SLOTS; i++)
		if (d->slots[i].used)
			attached[d->slots[i].kind] = true;
	d->misses = misses;
	for (unsigned kind = 0; kind < DETAIL_KINDS; kind++) {
		uint64_t lost = 0, n;

		for (unsigned cpu = 0; cpu < d->n_cpus; cpu++)
			lost += __atomic_load_n(&d->cpus[cpu].lost[kind], __ATOMIC_RELAXED);
		/* a switch that the hook did not see: a value less of each kind, at most */
		n = lost - d->lost[kind] + (attached[kind] ? missed : 0);
		d->lost[kind] = lost;
		if (n == 0)
			continue;
		st->host->lost(inst, STREAM_DETAIL + kind, SKEP_LOSS_KERNEL, n);
		if (d->lost_counter)
			st->host->counter_add(d->lost_counter, n);
	}
}

/* ---- attached and detached ------------------------------------------------------ */

static unsigned used(const struct sched_details *d)
{
	unsigned n = 0;

	for (unsigned i = 0; d->slots && i < DETAIL_SLOTS; i++)
		n += d->slots[i].used;
	return n;
}

static void release(struct sched_probe *st)
{
	detail_unload(st);
	free(st->details.slots);
	st->details.slots = NULL;
}

static int acquire(struct skep_instance *inst, struct sched_probe *st)
{
	struct sched_details *d = &st->details;
	int err;

	if (d->bpf)
		return 0;
	d->slots = calloc(DETAIL_SLOTS, sizeof(*d->slots));
	if (!d->slots)
		return st->host->fail(inst, -ENOMEM, "no memory for %u attachments", DETAIL_SLOTS);
	memset(d->lost, 0, sizeof(d->lost));
	d->misses = 0;
	err = detail_load(inst, st);
	if (err) {
		free(d->slots);
		d->slots = NULL;
	}
	return err;
}

/* The process of that scope: a descriptor that tells its end, and its identity where the host knows it. */
static int find_process(struct skep_instance *inst, struct sched_probe *st, uint32_t pid, int *ret_pidfd, struct skep_upid *ret_who)
{
	struct skep_upid who = { 0 };
	int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0); /* since 5.3; close-on-exec */

	if (fd < 0 && errno == ESRCH)
		return st->host->fail(inst, -ESRCH, "there is no process %u", pid);
	if (fd < 0 && (errno == EINVAL || errno == ENOENT))
		return st->host->fail(inst, -EINVAL, "%u is a thread; give its process (Tgid in /proc/%u/status)", pid, pid);
	/* fd < 0 otherwise (a sandbox refuses the call): the detail goes on until its time is over */
	if (SKEP_HAS(st->host, process_by_pid) && st->host->process_by_pid(inst, pid, &who) && who.pid == pid)
		*ret_who = who;
	*ret_pidfd = fd;
	return 0;
}

int details_attach(struct skep_instance *inst, void *state, unsigned detail, const struct skep_detail_scope *scope)
{
	struct sched_probe *st = state;
	struct sched_details *d = &st->details;
	struct detail_slot *s = NULL;
	struct skep_upid who = { 0 };
	const char *why;
	int err, pidfd = -1;

	if (detail >= DETAIL_KINDS)
		return st->host->fail(inst, -EINVAL, "there is no detail number %u", detail);
	if (!d->kernel.hook || (detail != DETAIL_ONCPU && !d->kernel.run_delay))
		return st->host->fail(inst, -EOPNOTSUPP, "%s cannot be had here: %s", sched_details[detail].name, d->kernel.missing);
	err = detail_scope_check(scope, &why);
	if (err)
		return st->host->fail(inst, err, "%s, not %llu", why, (unsigned long long)scope->value);
	if (used(d) == DETAIL_SLOTS)
		return st->host->fail(inst, -EBUSY, "%u details are attached already; detach one", DETAIL_SLOTS);
	if (scope->kind == SKEP_SCOPE_PID)
		err = find_process(inst, st, (uint32_t)scope->value, &pidfd, &who);
	if (!err)
		err = acquire(inst, st);
	if (err) {
		if (pidfd >= 0)
			close(pidfd);
		return err;
	}
	for (s = d->slots; s->used; s++)
		;
	*s = (struct detail_slot){ .used = true, .kind = detail, .scope = *scope, .pidfd = pidfd, .who = who };
	/* what an attachment before it has left there */
	tell(NULL, st, (unsigned)(s - d->slots), 0);
	detail_scope_add(detail_scopes_of(st), (unsigned)(s - d->slots), s->kind, scope, who.start_ns);
	detail_kernel_tell(inst, st);
	return 0;
}

void details_detach(struct skep_instance *inst, void *state, uint64_t id)
{
	struct sched_probe *st = state;
	struct sched_details *d = &st->details;
	bool last = used(d) == 1;

	for (unsigned i = 0; d->slots && i < DETAIL_SLOTS; i++) {
		struct detail_slot *s = &d->slots[i];

		if (!s->used || s->scope.id != id)
			continue;
		detail_scope_remove(detail_scopes_of(st), i);
		if (last)
			detail_detach_hook(st);
		tell(inst, st, i, boot_now());
		tell_lost(inst, st);
		if (s->pidfd >= 0)
			close(s->pidfd);
		s->used = false;
		if (last)
			release(st);
		break;
	}
	detail_kernel_tell(inst, st);
}

static bool has_ended(const struct detail_slot *s)
{
	struct pollfd p = { .fd = s->pidfd, .events = POLLIN };

	return s->pidfd >= 0 && poll(&p, 1, 0) == 1;
}

void details_sample(struct skep_instance *inst, struct sched_probe *st, uint64_t now_ns)
{
	struct sched_details *d = &st->details;

	if (!d->slots)
		return;
	for (unsigned i = 0; i < DETAIL_SLOTS; i++) {
		struct detail_slot *s = &d->slots[i];
		bool ended;

		if (!s->used)
			continue;
		ended = has_ended(s);
		tell(inst, st, i, now_ns);
		if (ended && !s->over && SKEP_HAS(st->host, detail_over)) {
			s->over = true;
			st->host->detail_over(inst, s->scope.id, "the process has ended");
		}
	}
	tell_lost(inst, st);
}

void details_close(struct sched_probe *st)
{
	struct sched_details *d = &st->details;

	for (unsigned i = 0; d->slots && i < DETAIL_SLOTS; i++)
		if (d->slots[i].used && d->slots[i].pidfd >= 0)
			close(d->slots[i].pidfd);
	release(st);
}
