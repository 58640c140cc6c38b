/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/exact/details.c - the details of "sched" on the live kernel, against what the kernel
 * itself books for the same threads: counts and sums must be equal, to the nanosecond.
 *
 *   details [task|hash]     where the kernel side stores threads (default: its own choice)
 *   details naps            only a process to measure: naps of 10 ms until a signal ends it
 *
 * Children are marked as a group, wake up once and go back to sleep ("primed"): then the hook
 * knows each child's state.  The test compares the time from then on until they are zombies:
 *   runqlat  count and sum = third and second number of /proc/PID/schedstat
 *   oncpu    count = switches away, sum = first number
 *   offcpu   count = voluntary switches, less the last one (no thread returns from that);
 *            sum = the rest of the time by the child's own clock
 * and each sleep takes at least as long as the child asked for.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <skep/hist.h>

#include "core/plugin/verdict.h"
#include "plugins/sched/state.h"

#include "plugins/sched/sched_detail.skel.h"
#include <skep/mock.h>

const struct skep_plugin *skep_plugin_entry(const struct skep_host *host);

static struct skep_mock m;
static struct sched_probe *probe;
static struct verdict verdict;
static unsigned failures;

/* The sums emitted for an attachment: by id, by kind of sleep (other streams: the first).  */
enum { IDS = 64 };
static struct seen {
	uint64_t records, count, sum_ns, slots[SKEP_HIST_SLOTS];
} seen[IDS][DETAIL_PARTS];
static uint64_t lost[N_STREAMS], last_id, over_id;

__attribute__((format(printf, 2, 3))) static void check(bool good, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("%s - ", good ? "ok" : "not ok");
	vprintf(fmt, args);
	printf("\n");
	va_end(args);
	failures += !good;
}

static void give_up(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void nap_ms(long ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

/* ---- the host ---------------------------------------------------------------- */

static void on_emit(struct skep_instance *inst, unsigned stream, const struct skep_upid *who, uint64_t time_ns,
		    const void *rec)
{
	const struct detail_record *r = rec;
	unsigned part = 0;
	struct seen *s;

	(void)inst;
	(void)who;
	(void)time_ns;
	if (stream < STREAM_DETAIL || r->id >= IDS)
		return;
	if (stream == STREAM_DETAIL + DETAIL_OFFCPU)
		part = r->state.ptr[0] == 'i' ? 0 : r->state.ptr[0] == 'b' ? 1 : 2;
	s = &seen[r->id][part];
	s->records++;
	s->count += r->count;
	s->sum_ns += r->sum_ns;
	for (unsigned k = 0; k < r->duration.n; k++)
		s->slots[k] += r->duration.slots[k];
	if (skep_hist_count(&r->duration) != r->count || r->duration.sum != r->sum_ns)
		check(false, "a record's count and sum are its histogram's");
}

static void on_lost(struct skep_instance *inst, unsigned stream, enum skep_loss where, uint64_t n)
{
	(void)inst;
	(void)where;
	lost[stream] += n;
}

static void on_drained(struct skep_instance *inst, uint64_t time_ns)
{
	(void)inst;
	(void)time_ns;
}

static void on_over(struct skep_instance *inst, uint64_t id, const char *why)
{
	(void)inst;
	(void)why;
	over_id = id;
}

static int attach_as(enum detail_kind kind, enum skep_scope scope, uint64_t value, uint64_t *ret_id)
{
	struct skep_detail_scope s = { .size = sizeof(s), .kind = scope, .value = value, .id = last_id + 1 };
	int err = m.plugin->attach(m.instance, m.state, kind, &s);

	if (!err) {
		*ret_id = s.id;
		last_id = s.id;
		if (last_id >= IDS)
			give_up("more attachments than this test has room for");
		memset(seen[s.id], 0, sizeof(seen[s.id]));
	}
	return err;
}

static uint64_t attach(enum detail_kind kind, enum skep_scope scope, uint64_t value)
{
	uint64_t id = 0;
	int err = attach_as(kind, scope, value, &id);

	if (err == -EPERM || err == -EACCES) {
		printf("skip: %s\n", m.why);
		exit(77);
	}
	if (err) {
		printf("not ok - attach %s: %s: %s\n", sched_details[kind].name, strerror(-err), m.why);
		exit(1);
	}
	return id;
}

static void detach(uint64_t id)
{
	m.plugin->detach(m.instance, m.state, id);
}

static void forget(uint64_t id)
{
	m.plugin->sample(m.instance, m.state);
	memset(seen[id], 0, sizeof(seen[id]));
}

/* ---- what the kernel books ---------------------------------------------------- */

struct booked {
	uint64_t ran_ns, waited_ns, stints, voluntary, switches;
};

static struct booked booked(pid_t pid)
{
	unsigned long long ran = 0, waited = 0, stints = 0, voluntary = 0, involuntary = 0;
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%llu %llu %llu", &ran, &waited, &stints) != 3)
		give_up(path);
	fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &voluntary) != 1 &&
		    sscanf(line, "nonvoluntary_ctxt_switches: %llu", &involuntary) == 1)
			break;
	if (f)
		fclose(f);
	return (struct booked){ ran, waited, stints, voluntary, voluntary + involuntary };
}

/*
 * The sums of this thread and the time at which they held: it kept its CPU meanwhile.  /proc has the time run as of the
 * last tick or switch, the thread's clock has it as of now.
 */
static struct booked booked_at(uint64_t *ret_ns)
{
	struct timespec ran;
	struct booked a, b;

	do {
		a = booked(getpid());
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
		*ret_ns = now_ns();
		b = booked(getpid());
	} while (a.stints != b.stints);
	a.ran_ns = (uint64_t)ran.tv_sec * 1000000000u + (uint64_t)ran.tv_nsec;
	return a;
}

/* Waits until the sums have stayed unchanged for a while. */
static struct booked settled(pid_t pid)
{
	struct booked a, b = booked(pid);

	do {
		a = b;
		nap_ms(10);
		b = booked(pid);
	} while (memcmp(&a, &b, sizeof(a)) != 0);
	return b;
}

/* ---- the children ---------------------------------------------------------------- */

typedef void (*task_fn)(void);
/* A child's report in shared memory. */
struct report {
	uint64_t sleeps_ns; /* when it last went to sleep before the order to do its task */
	uint64_t done_ns;   /* when it had done its task, and the kernel's sums by then: */
	struct booked done;
};
struct child {
	pid_t pid;
	int go; /* 'p': wake up and sleep again; anything else: do the task and exit */
	struct report *report;
};

static void spin(void)
{
	uint64_t until = now_ns() + 300000000u;

	while (now_ns() < until)
		;
}

static void one_nap(void)
{
	nap_ms(1);
}

static void naps(void)
{
	for (int i = 0; i < 20; i++)
		nap_ms(10);
}

static int child_of_vfork(void *arg)
{
	nap_ms(*(long *)arg);
	return 0;
}

/*
 * The parent of a vfork waits uninterruptibly until the child has exited. clone(), because a child may not call
 * functions on this stack.
 */
static void vforks(void)
{
	static char stack[65536] __attribute__((aligned(64)));
	long ms = 10;

	for (int i = 0; i < 10; i++) {
		pid_t pid = clone(child_of_vfork, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &ms);

		waitpid(pid, NULL, 0);
	}
}

static void direct_reads(void)
{
	char path[] = "/var/tmp/skep-details.XXXXXX";
	int fd = mkostemp(path, O_DIRECT | O_CLOEXEC);
	void *page;

	unlink(path);
	if (fd < 0 || posix_memalign(&page, 4096, 65536))
		return;
	memset(page, 1, 65536);
	for (int i = 0; i < 50; i++)
		if (pwrite(fd, page, 65536, 65536 * i) < 0)
			return;
	for (int i = 0; i < 50; i++)
		if (pread(fd, page, 65536, 65536 * i) < 0)
			return;
	close(fd); /* not at the exit, when removing the file would take I/O */
	free(page);
}

/* Many short runs on a CPU: round trips of a byte with a process of its own. */
static void pingpong(void)
{
	int there[2], back[2];
	char c = 0;

	if (pipe(there) || pipe(back))
		return;
	if (fork() == 0) {
		close(there[1]);
		while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
			;
		_exit(0);
	}
	for (int i = 0; i < 20000; i++)
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			return;
}

static void pin(int cpu)
{
	cpu_set_t one;

	if (cpu < 0)
		return;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		give_up("sched_setaffinity");
}

static int last_cpu(void)
{
	cpu_set_t all;
	int last = 0;

	sched_getaffinity(0, sizeof(all), &all);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all))
			last = i;
	return last;
}

static struct child child_new(task_fn task, int cpu, uint8_t byte)
{
	struct child c;
	int go[2];

	if (pipe2(go, O_CLOEXEC))
		give_up("pipe");
	c.go = go[1];
	c.report = mmap(NULL, sizeof(*c.report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (c.report == MAP_FAILED)
		give_up("mmap");
	c.pid = fork();
	if (c.pid < 0)
		give_up("fork");
	if (c.pid == 0) {
		char what = 'p';

		close(go[1]);
		pin(cpu);
		while (what == 'p') {
			c.report->sleeps_ns = now_ns();
			if (read(go[0], &what, 1) != 1)
				_exit(1);
		}
		task();
		c.report->done = booked_at(&c.report->done_ns);
		_exit(0);
	}
	close(go[0]);
	verdict_set(&verdict, c.pid, byte);
	return c;
}

static void tell_child(const struct child *c, char what)
{
	if (write(c->go, &what, 1) != 1)
		give_up("write to a child");
}

static void prime(const struct child *c)
{
	struct booked before = settled(c->pid);

	tell_child(c, 'p');
	while (booked(c->pid).voluntary == before.voluntary)
		nap_ms(1);
	settled(c->pid);
}

static void until_zombie(const struct child *c)
{
	siginfo_t info;

	if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOWAIT))
		give_up("waitid");
}

static void reap(const struct child *c)
{
	close(c->go);
	waitpid(c->pid, NULL, 0);
	munmap(c->report, sizeof(*c->report));
}

/* ---- how rough ---------------------------------------------------------------------- */

#define SLOW_NS 50000u /* of a round trip; 10,000 on a real processor */

static uint64_t trip_ns; /* the shortest round trip of a byte to another process */

static void measure_trip(void)
{
	enum { ROUNDS = 200 };
	int there[2], back[2];
	char c = 0;
	pid_t pid;

	if (pipe(there) || pipe(back))
		give_up("pipe");
	pid = fork();
	if (pid < 0)
		give_up("fork");
	if (pid == 0) {
		close(there[1]);
		while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
			;
		_exit(0);
	}
	for (int attempt = 0; attempt < 5; attempt++) {
		uint64_t began = now_ns(), took;

		for (int i = 0; i < ROUNDS; i++)
			if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
				give_up("pipe");
		took = (now_ns() - began) / ROUNDS;
		if (attempt == 0 || took < trip_ns)
			trip_ns = took;
	}
	close(there[0]);
	close(there[1]);
	close(back[0]);
	close(back[1]);
	waitpid(pid, NULL, 0);
	printf("# a round trip of a byte takes %.1f us here%s\n", (double)trip_ns / 1e3,
	       trip_ns > SLOW_NS ? ": an emulated processor" : "");
}

/*
 * The time that interrupts and the hypervisor have used so far, on all CPUs. No task's own time contains it: the
 * scheduler's clock stands still meanwhile (update_rq_clock_task, kernel/sched/core.c), and on a busy virtual machine
 * it is some per cent. /proc/stat has it in ticks.
 */
static uint64_t taken_ns(void)
{
	unsigned long long irq = 0, softirq = 0, steal = 0;
	FILE *f = fopen("/proc/stat", "re");

	if (f && fscanf(f, "cpu %*u %*u %*u %*u %*u %llu %llu %llu", &irq, &softirq, &steal) != 3)
		irq = softirq = steal = 0;
	if (f)
		fclose(f);
	return (irq + softirq + steal) * (1000000000ull / (unsigned long long)sysconf(_SC_CLK_TCK));
}

/*
 * The tolerance for sleep. Sleep begins and ends at the hook; the scheduler books the runs before and after by its own
 * clock, which it reads a little earlier and without the time of interrupts. The difference is some microseconds; on
 * emulated processors it is a part of each switch, some per cent.
 */
static uint64_t roughness(unsigned threads, uint64_t sleeps, uint64_t ns)
{
	uint64_t at_most = threads * 3000000u + sleeps * 1000u;

	return trip_ns > SLOW_NS ? at_most + sleeps * trip_ns / 16 + ns / 20 : at_most;
}

/* ---- exact ------------------------------------------------------------------------ */

struct want {
	const char *name;
	task_fn task;
	unsigned n;
	bool one_cpu;
	int part;            /* the kind of sleep, -1: not about one */
	uint64_t sleeps;     /* at least so many sleeps */
	uint64_t sleep_ns;   /* each at least that long */
};

/*
 * Equal to the nanosecond; or, where the kernel has skipped the hook in a switch, less by exactly the reported losses.
 */
static void compare(const char *name, const char *detail, uint64_t n, uint64_t ns, uint64_t missed, uint64_t want_n,
		    uint64_t want_ns)
{
	bool good = missed ? n + missed == want_n && ns <= want_ns && missed <= 1 + want_n / 20
			   : n == want_n && ns == want_ns;

	check(good, "%s: %s %llu, %llu ns, %llu lost; the kernel %llu, %llu ns", name, detail, (unsigned long long)n,
	      (unsigned long long)ns, (unsigned long long)missed, (unsigned long long)want_n,
	      (unsigned long long)want_ns);
}

static void exact(const struct want *w)
{
	uint64_t runqlat = attach(DETAIL_RUNQLAT, SKEP_SCOPE_GROUP, 7),
		 oncpu = attach(DETAIL_ONCPU, SKEP_SCOPE_GROUP, 7);
	uint64_t offcpu = attach(DETAIL_OFFCPU, SKEP_SCOPE_GROUP, 7), began, wall, taken = taken_ns(),
		 missed[DETAIL_KINDS];
	struct booked sum = { 0 }, before[8], after;
	/* a thread on its way to sleep may still be on the CPU for a while */
	uint64_t slept = 0, slept_ns = 0, left_ns = 0, off,
		 shorter = trip_ns > SLOW_NS && w->sleep_ns > trip_ns ? trip_ns : 0;
	struct child c[8];

	for (unsigned i = 0; i < w->n; i++)
		c[i] = child_new(w->task, w->one_cpu ? last_cpu() : -1, 7);
	began = now_ns();
	for (unsigned i = 0; i < w->n; i++)
		prime(&c[i]);
	for (unsigned i = 0; i < w->n; i++)
		before[i] = settled(c[i].pid);
	forget(runqlat);
	memset(seen[oncpu], 0, sizeof(seen[oncpu]));
	memset(seen[offcpu], 0, sizeof(seen[offcpu]));
	memset(lost, 0, sizeof(lost));
	for (unsigned i = 0; i < w->n; i++)
		tell_child(&c[i], 'r');
	m.plugin->sample(m.instance, m.state); /* deltas add up */
	for (unsigned i = 0; i < w->n; i++)
		until_zombie(&c[i]);
	for (unsigned i = 0; i < w->n; i++) {
		after = settled(c[i].pid);
		sum.ran_ns += after.ran_ns - before[i].ran_ns;
		sum.waited_ns += after.waited_ns - before[i].waited_ns;
		sum.stints += after.stints - before[i].stints;
		sum.voluntary += after.voluntary - before[i].voluntary;
		sum.switches += after.switches - before[i].switches;
		left_ns += c[i].report->done_ns - c[i].report->sleeps_ns;
		left_ns -=
			c[i].report->done.ran_ns - before[i].ran_ns + c[i].report->done.waited_ns - before[i].waited_ns;
	}
	wall = now_ns() - began;
	taken = taken_ns() - taken + 1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK); /* plus the part below a tick */
	detach(runqlat);
	detach(oncpu);
	detach(offcpu);
	for (unsigned i = 0; i < w->n; i++)
		reap(&c[i]);

	for (unsigned part = 0; part < DETAIL_PARTS; part++) {
		slept += seen[offcpu][part].count;
		slept_ns += seen[offcpu][part].sum_ns;
	}
	printf("# %s: %llu stints, ran %.3f ms, waited %.3f ms, slept %.3f ms (iowait %llu, blocked %llu, sleeping %llu)\n",
	       w->name, (unsigned long long)sum.stints, (double)sum.ran_ns / 1e6, (double)sum.waited_ns / 1e6,
	       (double)slept_ns / 1e6, (unsigned long long)seen[offcpu][0].count,
	       (unsigned long long)seen[offcpu][1].count, (unsigned long long)seen[offcpu][2].count);
	for (unsigned k = 0; k < DETAIL_KINDS; k++)
		missed[k] = lost[STREAM_DETAIL + k];
	compare(w->name, "runqlat", seen[runqlat][0].count, seen[runqlat][0].sum_ns, missed[DETAIL_RUNQLAT], sum.stints,
		sum.waited_ns);
	/*
	 * Not the third number: a thread preempted on its way to sleep is queued without being booked, until 7.2 at
	 * least.
	 */
	compare(w->name, "oncpu", seen[oncpu][0].count, seen[oncpu][0].sum_ns, missed[DETAIL_ONCPU], sum.switches,
		sum.ran_ns);
	/*
	 * The sleep before the task counts, the last switch is not a sleep; the kernel does not book the length of
	 * sleeps.
	 */
	compare(w->name, "offcpu", slept, 0, missed[DETAIL_OFFCPU], sum.voluntary, 0);
	/* where the kernel skipped the hook on arrival, the length is less exact by the time of interrupts */
	off = slept_ns > left_ns ? slept_ns - left_ns : left_ns - slept_ns;
	check(missed[DETAIL_OFFCPU] || off <= roughness(w->n, slept, sum.ran_ns + slept_ns) + taken,
	      "%s: slept %.3f ms, of its time neither run nor waited were %.3f ms", w->name, (double)slept_ns / 1e6,
	      (double)left_ns / 1e6);
	if (w->part < 0)
		return;
	check(seen[offcpu][w->part].count + missed[DETAIL_OFFCPU] >= w->sleeps &&
		      seen[offcpu][w->part].sum_ns >= (w->sleeps - missed[DETAIL_OFFCPU]) * (w->sleep_ns - shorter) &&
		      seen[offcpu][w->part].sum_ns <= w->n * wall,
	      "%s: offcpu %llu of that kind, %.3f ms; at least %llu x %.1f ms, wall %.3f ms", w->name,
	      (unsigned long long)seen[offcpu][w->part].count, (double)seen[offcpu][w->part].sum_ns / 1e6,
	      (unsigned long long)w->sleeps, (double)w->sleep_ns / 1e6, (double)wall / 1e6);
}

/* ---- scopes ------------------------------------------------------------------------ */

/* Twenty naps and the wait for the order, less the reported losses. */
static void naps_of_one(const char *scope, uint64_t id)
{
	uint64_t n = seen[id][2].count, missed = lost[STREAM_DETAIL + DETAIL_OFFCPU];

	check(n <= 21 && n + missed >= 21, "%s: %llu sleeps, of one child, %llu lost in all scopes", scope,
	      (unsigned long long)n, (unsigned long long)missed);
}

static void no_record(const char *scope, uint64_t id)
{
	check(seen[id][2].count == 0, "%s: %llu sleeps", scope, (unsigned long long)seen[id][2].count);
}

static uint64_t cgroup_make(char *path, size_t size)
{
	static const char *const roots[] = { "/sys/fs/cgroup/memory", "/sys/fs/cgroup" };
	struct stat st;

	for (unsigned i = 0; i < 2; i++) {
		char procs[64];

		snprintf(procs, sizeof(procs), "%s/cgroup.procs", roots[i]);
		if (access(procs, W_OK))
			continue;
		snprintf(path, size, "%s/skep-details-%d", roots[i], getpid());
		if (mkdir(path, 0755) == 0 && stat(path, &st) == 0)
			return st.st_ino;
	}
	return 0;
}

static void scopes(void)
{
	char cgroup[128] = "", procs[160];
	uint64_t cgroup_id = cgroup_make(cgroup, sizeof(cgroup)), ids[8], none;
	struct child in = child_new(naps, -1, 7), out = child_new(naps, -1, 8),
		     hidden = child_new(naps, -1, SKEP_VERDICT_NOBODY);
	struct child boxed = child_new(naps, -1, 0);
	FILE *f;

	ids[0] = attach(DETAIL_OFFCPU, SKEP_SCOPE_HOST, 0);
	ids[1] = attach(DETAIL_OFFCPU, SKEP_SCOPE_GROUP, 7);
	ids[2] = attach(DETAIL_OFFCPU, SKEP_SCOPE_GROUP, 8);
	ids[3] = attach(DETAIL_OFFCPU, SKEP_SCOPE_PID, (uint64_t)out.pid);
	ids[4] = attach(DETAIL_OFFCPU, SKEP_SCOPE_PID, (uint64_t)hidden.pid);
	ids[5] = attach(DETAIL_OFFCPU, SKEP_SCOPE_GROUP, 9);
	if (cgroup_id) {
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", cgroup);
		f = fopen(procs, "we");
		if (!f || fprintf(f, "%d\n", boxed.pid) < 0 || fclose(f))
			give_up(procs);
	}
	ids[6] = attach(DETAIL_OFFCPU, SKEP_SCOPE_CGROUP, cgroup_id ? cgroup_id : 1);
	prime(&in);
	prime(&out);
	prime(&hidden);
	prime(&boxed);
	for (unsigned i = 0; i < 7; i++)
		forget(ids[i]);
	memset(lost, 0, sizeof(lost));
	tell_child(&in, 'r');
	tell_child(&out, 'r');
	tell_child(&hidden, 'r');
	tell_child(&boxed, 'r');
	until_zombie(&in);
	until_zombie(&out);
	until_zombie(&hidden);
	until_zombie(&boxed);
	settled(boxed.pid);
	over_id = 0;
	m.plugin->sample(m.instance, m.state);
	check(over_id == ids[3] || over_id == ids[4], "the end of a process ends its details");
	for (unsigned i = 0; i < 7; i++)
		detach(ids[i]);
	check(seen[ids[0]][2].count + lost[STREAM_DETAIL + DETAIL_OFFCPU] >= 3 * 21,
	      "host: %llu sleeps, of three children at least", (unsigned long long)seen[ids[0]][2].count);
	naps_of_one("group 7", ids[1]);
	naps_of_one("group 8", ids[2]);
	naps_of_one("pid", ids[3]);
	no_record("an excluded process", ids[4]);
	no_record("a group without a process", ids[5]);
	if (cgroup_id)
		naps_of_one("cgroup", ids[6]);
	else
		printf("# no cgroup could be made: that scope is not tested\n");
	reap(&in);
	reap(&out);
	reap(&hidden);
	check(attach_as(DETAIL_RUNQLAT, SKEP_SCOPE_PID, (uint64_t)in.pid, &none) == -ESRCH, "no such process: %s",
	      m.why);
	check(attach_as(DETAIL_RUNQLAT, SKEP_SCOPE_GROUP, 255, &none) == -EINVAL, "no such group: %s", m.why);
	reap(&boxed);
	if (cgroup_id && rmdir(cgroup))
		perror(cgroup);
}

/* ---- come and gone ------------------------------------------------------------------- */

static __u32 program_id(void)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);

	return bpf_obj_get_info_by_fd(bpf_program__fd(probe->details.bpf->progs.on_switch), &info, &size) ? 0 : info.id;
}

static void come_and_gone(void)
{
	uint64_t ids[SKEP_SCOPE_SLOTS], one_more;
	bool gone = false;
	__u32 id = 0;

	for (unsigned i = 0; i < SKEP_SCOPE_SLOTS; i++) {
		ids[i] = attach((enum detail_kind)(i % DETAIL_KINDS), SKEP_SCOPE_GROUP, 7);
		id = i == 0 ? program_id() : id;
	}
	check(attach_as(DETAIL_ONCPU, SKEP_SCOPE_HOST, 0, &one_more) == -EBUSY, "attachment number %u: %s",
	      SKEP_SCOPE_SLOTS + 1, m.why);
	check(id != 0 && program_id() == id, "one program for all of them: %u", id);
	for (unsigned i = 0; i < SKEP_SCOPE_SLOTS; i++)
		detach(ids[i]);
	/* the kernel removes a link after an RCU grace period */
	for (int i = 0; i < 200 && !gone; i++) {
		int fd = bpf_prog_get_fd_by_id(id);

		gone = fd < 0 && errno == ENOENT;
		if (fd >= 0)
			close(fd);
		nap_ms(10);
	}
	check(gone && !probe->details.bpf, "with the last the program is gone");
}

/* Fewer rows than threads: the hook counts switches that it could not follow. */
static void overflow(void)
{
	struct child c[6];
	uint64_t id;

	probe->opt_threads = 2;
	memset(lost, 0, sizeof(lost));
	id = attach(DETAIL_RUNQLAT, SKEP_SCOPE_GROUP, 7);
	for (unsigned i = 0; i < 6; i++)
		c[i] = child_new(naps, -1, 7);
	for (unsigned i = 0; i < 6; i++)
		tell_child(&c[i], 'r');
	for (unsigned i = 0; i < 6; i++)
		until_zombie(&c[i]);
	settled(c[5].pid);
	detach(id);
	for (unsigned i = 0; i < 6; i++)
		reap(&c[i]);
	check(lost[STREAM_DETAIL + DETAIL_RUNQLAT] >= 20 && skep_mock_counter(&m, "details_lost") >= 20,
	      "two places for six threads: %llu lost", (unsigned long long)lost[STREAM_DETAIL + DETAIL_RUNQLAT]);
	/* one after the other there is room for any number, because a dead thread leaves its row */
	memset(lost, 0, sizeof(lost));
	id = attach(DETAIL_RUNQLAT, SKEP_SCOPE_GROUP, 7);
	for (unsigned i = 0; i < 6; i++) {
		c[0] = child_new(one_nap, -1, 7);
		tell_child(&c[0], 'p');
		tell_child(&c[0], 'r');
		until_zombie(&c[0]);
		settled(c[0].pid);
		reap(&c[0]);
	}
	detach(id);
	check(lost[STREAM_DETAIL + DETAIL_RUNQLAT] == 0, "two places for six threads, one after the other: %llu lost",
	      (unsigned long long)lost[STREAM_DETAIL + DETAIL_RUNQLAT]);
	probe->opt_threads = 32768;
}

int main(int argc, char **argv)
{
	static const struct want wants[] = {
		{ "a pair on one CPU", spin, 2, true, -1, 0, 0 },
		{ "five on all CPUs", spin, 5, false, -1, 0, 0 },
		{ "naps", naps, 1, false, SCHED_SLEEPING - SCHED_IOWAIT, 20, 10000000 },
		{ "vforks", vforks, 1, false, SCHED_BLOCKED - SCHED_IOWAIT, 10, 10000000 },
		{ "direct reads", direct_reads, 1, false, -1, 0, 0 },
		{ "ping-pong", pingpong, 1, true, SCHED_SLEEPING - SCHED_IOWAIT, 1000, 1 },
	};
	const char *way = argc > 1 ? argv[1] : "";
	int err;

	if (strcmp(way, "naps") == 0) {
		for (;;)
			naps();
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (geteuid() != 0) {
		puts("skip: needs root (BPF)");
		return 77;
	}
	verdict_open(&verdict, &(struct pins){ .fd = -1 }, VERDICT_COLLECT);
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	m.quiet = true;
	m.host.emit = on_emit;
	m.host.lost = on_lost;
	m.host.drained = on_drained;
	m.host.detail_over = on_over;
	m.host.verdict_fd = verdict.fd;
	m.host.verdict_pids = verdict.pids;
	probe = m.state;
	err = skep_mock_start(&m);
	if (err) {
		printf("%s: %s\n", err == -EPERM ? "skip" : "not ok - start", m.why);
		return err == -EPERM ? 77 : 1;
	}
	if (strcmp(way, "hash") == 0)
		probe->details.kernel.memory = DETAIL_MEMORY_HASH;
	else if (strcmp(way, "task") == 0 && probe->details.kernel.memory != DETAIL_MEMORY_TASK) {
		puts("skip: this kernel has no task storage that is safe here");
		return 77;
	}
	printf("# threads are remembered in %s\n",
	       probe->details.kernel.memory == DETAIL_MEMORY_TASK ? "task storage" : "a hash");
	measure_trip();
	check(!probe->details.bpf, "nothing is on sched_switch before the first attach");
	for (unsigned i = 0; i < sizeof(wants) / sizeof(wants[0]); i++)
		exact(&wants[i]);
	scopes();
	come_and_gone();
	if (probe->details.kernel.memory == DETAIL_MEMORY_HASH)
		overflow();
	skep_mock_end(&m);
	verdict_close(&verdict);
	printf("# %u failed\n", failures);
	return failures > 0;
}
