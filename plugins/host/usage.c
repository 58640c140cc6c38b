/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/usage.c - the streams host.cpu and host.load, and the posts to the account "cpu".
 */
#include <errno.h>
#include <skep/clock.h>
#include <skep/types.h>
#include <skep/values.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "task_time.h"
#include "state.h"

#define TRIES 3u

static uint64_t tick_ns(void)
{
	long hz = sysconf(_SC_CLK_TCK);

	return UINT64_C(1000000000) / (uint64_t)(hz > 0 ? hz : 100);
}

static uint64_t mono_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/*
 * The scheduler has preempted skepd between the clock and the file: reading took four times as long as the shortest
 * reading. (On a large machine each reading takes milliseconds.)
 */
static bool disturbed(struct host_probe *st, uint64_t took_ns)
{
	if (!st->stat_least_ns || took_ns < st->stat_least_ns)
		st->stat_least_ns = took_ns;
	return took_ns > 1000000 && took_ns > 4 * st->stat_least_ns;
}

/*
 * Capacity is CPUs x CLOCK_MONOTONIC, the clock of idle time: both stop while the machine is suspended.  Idle time
 * grows on all idle CPUs between reading the clock and reading the file, so snapshot() repeats a slow reading.
 */
static int snapshot(struct host_probe *st, struct cpu_snapshot *s, struct cpu_counts *counts)
{
	struct text text;
	uint64_t bad = 0;
	int err;

	for (unsigned tries = 0; tries < TRIES; tries++) {
		s->boot_ns = skep_boot_ns();
		s->mono_ns = mono_now();
		if (!host_read(st, FILE_STAT, &text))
			return -ENODATA;
		if (!st->task_time || task_time_read(st->task_time, &s->task_ns))
			s->task_ns = 0;
		s->took_ns = mono_now() - s->mono_ns;
		if (!disturbed(st, s->took_ns))
			break;
	}
	err = cpu_parse(text, s, counts, &bad);
	host_bad_line(st, bad);
	return err;
}

static void post(struct skep_instance *inst, const struct host_probe *st, uint64_t at_ns)
{
	const struct cpu_ledger *l = &st->cpu_sum;

	host_post(inst, st, at_ns, "cpu", "capacity", l->capacity, SKEP_LEDGER_REFERENCE);
	host_post(inst, st, at_ns, "cpu", "idle", l->idle, 0);
	if (st->task_time)
		host_post(inst, st, at_ns, "cpu", "wakeup", l->wakeup, 0);
	host_post(inst, st, at_ns, "cpu", "steal", l->steal, l->steal_is_part ? 0 : SKEP_LEDGER_MEMO);
	host_post(inst, st, at_ns, "cpu", "irq", l->irq, l->irq_is_part ? 0 : SKEP_LEDGER_MEMO);
}

static void report_signals(struct skep_instance *inst, const struct host_probe *st, const struct cpu_accounting *a,
		const char *no_wakeup)
{
	if (!a->known)
		host_signal(
			inst, st, "ledger.cpu.idle", SKEP_SIGNAL_PARTIAL, "/proc/stat",
			"this kernel has no BTF, so skep does not know whether it is tickless; "
			"if not, idle time is sampled by the tick");
	else if (!a->tickless || a->tickless_off)
		host_signal(
			inst, st, "ledger.cpu.idle", SKEP_SIGNAL_PARTIAL, "/proc/stat, by the tick",
			"this kernel does not stop its tick (CONFIG_NO_HZ, nohz=off): "
			"idle time is sampled, not measured");
	else
		host_signal(inst, st, "ledger.cpu.idle", SKEP_SIGNAL_OK,
			    "/proc/stat, by the clock (tickless); to 10 ms over all CPUs", NULL);

	if (st->task_time)
		host_signal(inst, st, "ledger.cpu.wakeup", SKEP_SIGNAL_OK, task_time_how(st->task_time), NULL);
	else
		host_signal(inst, st, "ledger.cpu.wakeup", SKEP_SIGNAL_MISSING, "", no_wakeup);

	if (st->cpu_sum.irq_is_part)
		host_signal(inst, st, "ledger.cpu.irq", SKEP_SIGNAL_OK,
			    "/proc/stat, by the clock; not within tasks' run time", NULL);
	else if (!a->known)
		host_signal(
			inst, st, "ledger.cpu.irq", SKEP_SIGNAL_PARTIAL, "/proc/stat",
			"this kernel has no BTF: skep assumes that interrupts are within tasks' run time, as without CONFIG_IRQ_TIME_ACCOUNTING");
	else
		host_signal(
			inst, st, "ledger.cpu.irq", SKEP_SIGNAL_PARTIAL, "/proc/stat, by the tick",
			a->irq_time
				? "interrupts are within tasks' run time: the kernel does not time them by the TSC (tsc= on its command line, or the clock source)"
				: "interrupts are within tasks' run time, or unattributed: "
				  "no CONFIG_IRQ_TIME_ACCOUNTING");

	if (st->cpu_sum.steal_is_part)
		host_signal(inst, st, "ledger.cpu.steal", SKEP_SIGNAL_OK, "/proc/stat; not within tasks' run time",
			    NULL);
	else
		host_signal(inst, st, "ledger.cpu.steal", SKEP_SIGNAL_PARTIAL, "/proc/stat",
			    a->known ? "stolen time is within tasks' run time: no CONFIG_PARAVIRT_TIME_ACCOUNTING"
				     : "this kernel has no BTF: skep assumes that stolen time is within tasks' run time");
}

/* The types of the machine below `root`, which another root than "/" may lack. */
static int account(struct skep_instance *inst, const struct host_probe *st, struct cpu_accounting *ret)
{
	const struct skep_kernel_types *types = NULL;
	struct skep_kernel_types *own = NULL;
	char path[4096];

	if (strcmp(st->opt_root, "/") == 0) {
		if (skep_types_get(inst, st->host, &types))
			types = NULL; /* the signals say what this means */
		cpu_accounting_read(st->root, types, ret);
		skep_types_put(inst, st->host, types);
		return 0;
	}
	if (!skep_text_format(path, sizeof(path), "%s" SKEP_TYPES_PATH, st->opt_root))
		return st->host->fail(inst, -ENAMETOOLONG, "option root: a path of %zu bytes is too long",
				      strlen(st->opt_root));
	if (skep_types_read(path, &own))
		own = NULL;
	cpu_accounting_read(st->root, own, ret);
	skep_types_free(own);
	return 0;
}

int cpu_start(struct skep_instance *inst, struct host_probe *st)
{
	const char *no_wakeup = NULL;
	struct cpu_accounting a = { 0 };
	int err = account(inst, st, &a);

	if (err)
		return err;
	st->cpu_sum.irq_is_part = a.irq_time && !a.irq_time_off;
	st->cpu_sum.steal_is_part = a.steal_time;
	st->task_time = task_time_new(a.task_time, st->root, &no_wakeup);
	report_signals(inst, st, &a, no_wakeup);

	err = snapshot(st, &st->cpu[st->cpu_now], &st->counts);
	if (err == -EBADMSG)
		return st->host->fail(inst, err,
				      "%s/proc/stat: no line of a CPU; "
				      "set option root to the folder with the host's proc", st->opt_root);
	if (err)
		return st->host->fail(inst, err, "%s/proc/stat: %s; set option root to the folder with the host's proc",
				      st->opt_root, strerror(-err));
	post(inst, st, st->cpu[st->cpu_now].boot_ns); /* all zero: the first post of an account is its zero point */
	host_signal(inst, st, "host.cpu", SKEP_SIGNAL_OK, "/proc/stat", NULL);
	if (st->file[FILE_LOADAVG] >= 0)
		host_signal(inst, st, "host.load", SKEP_SIGNAL_OK, "/proc/loadavg, /proc/stat", NULL);
	else
		host_signal(inst, st, "host.load", SKEP_SIGNAL_PARTIAL, "/proc/stat", "/proc/loadavg is not readable");
	return 0;
}

static void emit_delta(struct skep_instance *inst, const struct host_probe *st, uint64_t now_ns, int64_t cpu,
		       uint64_t online, const int64_t time_ns[CPU_MODES])
{
	struct cpu_record rec = { .cpu = cpu, .online = online };

	for (unsigned i = 0; i < CPU_MODES; i++)
		rec.time_ns[i] = time_ns[i] > 0 ? (uint64_t)time_ns[i] : 0;
	st->host->emit(inst, STREAM_CPU, NULL, now_ns, &rec);
}

static void emit_each(struct skep_instance *inst, const struct host_probe *st, const struct cpu_snapshot *before,
		      const struct cpu_snapshot *now)
{
	uint64_t tick = tick_ns();

	for (uint32_t i = 0; i < before->n && i < now->n; i++) {
		int64_t time_ns[CPU_MODES];

		if (!before->cpu[i].online || !now->cpu[i].online)
			continue;
		for (unsigned k = 0; k < CPU_MODES; k++)
			time_ns[k] = (int64_t)((now->cpu[i].ticks[k] - before->cpu[i].ticks[k]) * tick);
		emit_delta(inst, st, now->boot_ns, i, 1, time_ns);
	}
}

static void emit_load(struct skep_instance *inst, struct host_probe *st, uint64_t now_ns, const struct cpu_counts *c)
{
	struct load_record rec = {
		.running = c->running,
		.blocked = c->blocked,
		.created = counter_delta(st->counts.created, c->created),
		.switches = counter_delta(st->counts.switches, c->switches),
		.interrupts = counter_delta(st->counts.interrupts, c->interrupts),
		.uptime_ns = now_ns,
	};
	struct text text;

	if (host_read(st, FILE_LOADAVG, &text) && loadavg_parse(text, &rec))
		host_bad_line(st, 1);
	st->host->emit(inst, STREAM_LOAD, NULL, now_ns, &rec);
	st->counts = *c;
}

/*
 * The kernel's watchdog may find that the TSC is unstable, and then the kernel charges interrupts to tasks.  The item
 * "irq" stays a part of the ledger and grows no more, so that the ledger of a run around that moment adds up.
 */
static void look_at_irq_time(struct skep_instance *inst, struct host_probe *st)
{
	if (!st->cpu_sum.irq_is_part || st->cpu_sum.irq_ended || cpu_irq_timed(st->root))
		return;
	st->cpu_sum.irq_ended = true;
	host_signal(inst, st, "ledger.cpu.irq", SKEP_SIGNAL_PARTIAL, "/proc/stat, by the tick",
		    "interrupts are within tasks' run time since the kernel found the TSC unstable");
	st->host->log(inst, SKEP_LOG_WARNING,
		      "the kernel found the TSC unstable and times interrupts no longer; "
		      "from now on the ledger has them within tasks' run time, until the next boot");
}

void cpu_sample(struct skep_instance *inst, struct host_probe *st)
{
	struct cpu_snapshot *before = &st->cpu[st->cpu_now], *now = &st->cpu[!st->cpu_now];
	struct cpu_counts counts;
	struct cpu_delta d;

	if (snapshot(st, now, &counts))
		return; /* the next sample reports both intervals */
	cpu_difference(before, now, tick_ns(), &d);
	look_at_irq_time(inst, st);
	cpu_account(&st->cpu_sum, &d);
	post(inst, st, now->boot_ns);
	if (d.changed || d.odd)
		st->host->counter_add(st->cpu_changes, 1);
	emit_delta(inst, st, now->boot_ns, -1, now->online, d.time_ns);
	if (st->opt_per_cpu)
		emit_each(inst, st, before, now);
	emit_load(inst, st, now->boot_ns, &counts);
	st->cpu_now = !st->cpu_now;
}

void cpu_close(struct host_probe *st)
{
	st->task_time = task_time_free(st->task_time);
	for (int i = 0; i < 2; i++)
		cpu_snapshot_free(&st->cpu[i]);
}

/* "0.52 0.58 0.59 2/610 4711": the fourth is running/all threads, the fifth the last pid. */
int loadavg_parse(struct text t, struct load_record *rec)
{
	struct text line, word, threads;
	double load[3];
	uint64_t n;

	if (!skep_text_line(&t, &line))
		return -EBADMSG;
	for (unsigned i = 0; i < 3; i++)
		if (!skep_text_f64(&line, &load[i]))
			return -EBADMSG;
	if (!skep_text_word(&line, &word))
		return -EBADMSG;
	threads.at = memchr(word.at, '/', skep_text_len(word));
	if (!threads.at)
		return -EBADMSG;
	threads = (struct text){ threads.at + 1, word.end };
	if (!skep_text_u64(&threads, &n))
		return -EBADMSG;
	rec->load1 = load[0];
	rec->load5 = load[1];
	rec->load15 = load[2];
	rec->threads = n;
	return 0;
}
