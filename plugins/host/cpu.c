/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/cpu.c - /proc/stat, and the account "cpu".
 *
 * The account is as exact as idle time, and /proc/stat is the best source of idle time. On a tickless kernel (NO_HZ)
 * the kernel reads the clock when a CPU goes idle and when it leaves idle, subtracts interrupts, and includes a sleep
 * that has not ended.  The line of all CPUs sums nanoseconds first and then truncates to ticks of USER_HZ. So its
 * error is one tick (10 ms) for all CPUs together, and does not grow.  The other sources are worse: cpuidle's
 * residency leaves out entry and exit of states and changes only at a state's end, /proc/uptime has idle without
 * iowait, /proc/timer_list locks each CPU's timers.
 *
 * The tick samples all other columns of these lines; the account does not use them.
 *
 * A CPU that wakes up runs interrupts, softirqs (RCU frees memory there) and the way into the scheduler on its idle
 * task. That takes 3 us each time on a virtual machine, 1.4 % of all time under 1,500 short processes a second.  The
 * CPU is not asleep then, and the kernel charges no task.  The scheduler's sum over all tasks (task_time.h) gives the
 * item "wakeup". That sum does not depend on skep's records, so the account still shows what skep has missed.
 */
#include "cpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Eight columns, user to steal, since 2.6.11; the columns of guests came later, and more may come. */
static bool modes(struct text *t, uint64_t ticks[CPU_MODES])
{
	struct text rest = *t;
	struct text word;
	unsigned n = 0;

	for (unsigned i = 0; i < CPU_MODES; i++)
		ticks[i] = 0;
	while (skep_text_word(&rest, &word)) {
		struct text w = word;
		uint64_t v;

		if (!skep_text_u64(&w, &v))
			return false;
		if (n < CPU_MODES)
			ticks[n] = v;
		n++;
	}
	return n > CPU_STEAL;
}

static int cpu_room(struct cpu_snapshot *s, uint64_t number)
{
	struct cpu_line *cpu;
	uint32_t room = s->room ? s->room : 16;

	if (number < s->room)
		return 0;
	while (room <= number)
		room *= 2;
	cpu = realloc(s->cpu, room * sizeof(*cpu));
	if (!cpu)
		return -ENOMEM;
	memset(cpu + s->room, 0, (room - s->room) * sizeof(*cpu));
	s->cpu = cpu;
	s->room = room;
	return 0;
}

/* Parses "cpu12 1 2 3" from behind "cpu". */
static int one_cpu(struct cpu_snapshot *s, struct text line)
{
	struct cpu_line now = { .online = true };
	uint64_t number;
	int err;

	if (!skep_text_u64(&line, &number) || number >= CPU_MOST || !modes(&line, now.ticks))
		return -EBADMSG;
	err = cpu_room(s, number);
	if (err)
		return err;
	if (s->cpu[number].online)
		return -EBADMSG; /* twice */
	s->cpu[number] = now;
	s->online++;
	if (number >= s->n)
		s->n = (uint32_t)number + 1;
	return 0;
}

static bool count(struct text *line, uint64_t *ret)
{
	return skep_text_u64(line, ret);
}

int cpu_parse(struct text all, struct cpu_snapshot *s, struct cpu_counts *c, uint64_t *ret_bad)
{
	bool total = false;
	uint64_t bad = 0;
	struct text line;

	for (uint32_t i = 0; i < s->n; i++)
		s->cpu[i].online = false;
	s->n = s->online = 0;
	*c = (struct cpu_counts){ 0 };
	while (skep_text_line(&all, &line)) {
		bool ok = true;

		if (skep_text_skip(&line, "cpu ")) {
			ok = modes(&line, s->total);
			total |= ok;
		} else if (skep_text_skip(&line, "cpu")) {
			int err = one_cpu(s, line);

			if (err == -ENOMEM)
				return err;
			ok = err == 0;
		} else if (skep_text_skip(&line, "intr ")) {
			ok = count(&line, &c->interrupts); /* the first number is their sum */
		} else if (skep_text_skip(&line, "ctxt ")) {
			ok = count(&line, &c->switches);
		} else if (skep_text_skip(&line, "processes ")) {
			ok = count(&line, &c->created);
		} else if (skep_text_skip(&line, "procs_running ")) {
			ok = count(&line, &c->running);
		} else if (skep_text_skip(&line, "procs_blocked ")) {
			ok = count(&line, &c->blocked);
		}
		bad += !ok;
	}
	*ret_bad = bad;
	return total && s->online ? 0 : -EBADMSG;
}

void cpu_snapshot_free(struct cpu_snapshot *s)
{
	free(s->cpu);
	*s = (struct cpu_snapshot){ 0 };
}

static bool online(const struct cpu_snapshot *s, uint32_t i)
{
	return i < s->n && s->cpu[i].online;
}

/* Unsigned, because malformed text may overflow the sum, and signed overflow is undefined. */
static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void add(int64_t to[CPU_MODES], const uint64_t before[CPU_MODES], const uint64_t now[CPU_MODES],
		uint64_t tick_ns)
{
	for (unsigned i = 0; i < CPU_MODES; i++)
		to[i] = plus(to[i], (int64_t)((now[i] - before[i]) * tick_ns));
}

void cpu_difference(const struct cpu_snapshot *before, const struct cpu_snapshot *now, uint64_t tick_ns,
		    struct cpu_delta *ret)
{
	uint32_t n = before->n > now->n ? before->n : now->n;
	int64_t idle, elapsed, slack;

	*ret = (struct cpu_delta){ .elapsed_ns = now->mono_ns - before->mono_ns };
	for (uint32_t i = 0; i < n; i++) {
		ret->changed |= online(before, i) != online(now, i);
		ret->cpus += online(before, i) && online(now, i);
	}
	/*
	 * The line of all CPUs is more exact, but changes by hours when a CPU goes offline: the kernel then
	 * adds the tick's count of that CPU instead of the clock's (get_idle_time, fs/proc/stat.c).
	 */
	if (!ret->changed)
		add(ret->time_ns, before->total, now->total, tick_ns);
	for (uint32_t i = 0; ret->changed && i < n; i++)
		if (online(before, i) && online(now, i))
			add(ret->time_ns, before->cpu[i].ticks, now->cpu[i].ticks, tick_ns);

	/* the scheduler's sum is over all CPUs, including CPUs that went online or offline between the snapshots */
	ret->task_known = !ret->changed && before->task_ns && now->task_ns;
	if (ret->task_known)
		ret->task_ns = (int64_t)(now->task_ns - before->task_ns);

	/* A CPU that went offline and came back between the snapshots: before 6.9 its counters may begin at 0 again. */
	idle = plus(ret->time_ns[CPU_IDLE], ret->time_ns[CPU_IOWAIT]);
	elapsed = (int64_t)(ret->elapsed_ns * ret->cpus);
	slack = (int64_t)(tick_ns * (ret->changed ? 2 * (uint64_t)ret->cpus : 2) +
			  (before->took_ns + now->took_ns + 1000000) * ret->cpus);
	ret->odd = idle < -slack || idle > elapsed + slack;
}

void cpu_account(struct cpu_ledger *l, const struct cpu_delta *d)
{
	struct cpu_ledger n = {
		.capacity = (int64_t)(d->elapsed_ns * d->cpus),
		.idle = plus(d->time_ns[CPU_IDLE], d->time_ns[CPU_IOWAIT]),
		.irq = l->irq_ended ? 0 : plus(d->time_ns[CPU_IRQ], d->time_ns[CPU_SOFTIRQ]),
		.steal = d->time_ns[CPU_STEAL],
	};

	if (d->odd)
		return;
	if (d->task_known) {
		n.wakeup = plus(n.capacity, -plus(n.idle, d->task_ns));
		n.wakeup = plus(n.wakeup, -plus(l->irq_is_part ? n.irq : 0, l->steal_is_part ? n.steal : 0));
		/*
		 * When a hypervisor wakes a sleeping CPU late, the kernel counts that time as idle and as stolen:
		 * the account takes it once.
		 */
		if (n.wakeup < 0 && l->steal_is_part && n.steal > 0) {
			int64_t both = -n.wakeup < n.steal ? -n.wakeup : n.steal;

			n.wakeup += both;
			n.steal -= both;
		}
	}
	l->capacity = plus(l->capacity, n.capacity);
	l->idle = plus(l->idle, n.idle);
	l->irq = plus(l->irq, n.irq);
	l->steal = plus(l->steal, n.steal);
	l->wakeup = plus(l->wakeup, n.wakeup);
}
