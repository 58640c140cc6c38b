/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/exact/states.c - the sampled states of "sched" on the live kernel. Processes that run, wait for a CPU, sleep,
 * sleep uninterruptibly or wait for a disk are sampled some hundred times, by a sampler that shares its CPU with some
 * of them. The test compares with the kernel's times (/proc/PID/schedstat) and with each process's task.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plugins/sched/state.h"
#include <skep/mock.h>

const struct skep_plugin *skep_plugin_entry(const struct skep_host *host);

enum { SAMPLES = 400 };
enum { SPIN, PAIR_1, PAIR_2, SLEEP, VFORK, DISK, CHILDREN };
static const char *const names[CHILDREN] = { "spins",  "spins, one of two", "the other", "sleeps",
					     "vforks", "uses a disk" };

static struct child {
	pid_t pid;
	struct states_record seen;
	uint64_t ran_ns, waited_ns; /* within the time of the samples */
} children[CHILDREN];
static unsigned failures;

static void on_emit(struct skep_instance *inst, unsigned stream, const struct skep_upid *who, uint64_t time_ns,
		    const void *data)
{
	const struct states_record *rec = data;

	(void)inst;
	(void)time_ns;
	if (stream != STREAM_STATES)
		return;
	for (unsigned i = 0; i < CHILDREN; i++) {
		if ((uint32_t)children[i].pid != who->pid)
			continue;
		children[i].seen.samples += rec->samples;
		for (unsigned k = 0; k < SCHED_STATES; k++)
			children[i].seen.in[k] += rec->in[k];
	}
}

static void on_drained(struct skep_instance *inst, uint64_t time_ns)
{
	(void)inst;
	(void)time_ns;
}

static void nap_us(long us)
{
	struct timespec ts = { .tv_nsec = us * 1000 };

	nanosleep(&ts, NULL);
}

static void pin(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one)) {
		perror("sched_setaffinity");
		exit(1);
	}
}

/* Write-through reads and writes of a file; nothing where the file system has no direct I/O. */
static void use_disk(void)
{
	char path[] = "/var/tmp/skep-states.XXXXXX";
	int fd = mkostemp(path, O_DIRECT | O_CLOEXEC);
	void *page;

	unlink(path);
	if (fd < 0 || posix_memalign(&page, 4096, 1 << 20))
		_exit(3);
	memset(page, 1, 1 << 20);
	for (;;)
		if (pwrite(fd, page, 1 << 20, 0) < 0 || pread(fd, page, 1 << 20, 0) < 0)
			_exit(3);
}

static int child_of_vfork(void *arg)
{
	(void)arg;
	nap_us(20000);
	return 0;
}

static void be(unsigned what, int cpu)
{
	static char stack[65536] __attribute__((aligned(64)));

	pin(cpu);
	switch (what) {
	case SPIN:
	case PAIR_1:
	case PAIR_2:
		for (;;)
			;
	case SLEEP:
		for (;;)
			nap_us(5000);
	case VFORK: /* its parent waits uninterruptibly */
		for (;;) {
			pid_t pid =
				clone(child_of_vfork, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);

			waitpid(pid, NULL, 0);
		}
	default:
		use_disk();
	}
}

static void begin(unsigned what, int cpu)
{
	pid_t pid = fork();

	if (pid == 0)
		be(what, cpu);
	children[what].pid = pid;
	children[what].seen = (struct states_record){ 0 };
}

static void end(unsigned what)
{
	kill(children[what].pid, SIGKILL);
	waitpid(children[what].pid, NULL, 0);
}

static void booked(pid_t pid, uint64_t *ret_ran_ns, uint64_t *ret_waited_ns)
{
	unsigned long long ran = 0, waited = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%llu %llu", &ran, &waited) != 2) {
		perror(path);
		exit(1);
	}
	fclose(f);
	*ret_ran_ns = ran;
	*ret_waited_ns = waited;
}

/*
 * The share of samples in these states: not below a minimum, and not far above the expected share. Four standard
 * deviations are 0.1; the rest is for a slow machine with one CPU, where the timers of sampler and child coincide.
 */
static void want(unsigned who, const char *state, uint64_t in, double share, double least)
{
	const struct states_record *s = &children[who].seen;
	double got = s->samples ? (double)in / (double)s->samples : -1;
	bool good = got >= least && got <= share + 0.15;

	printf("%s - %s: %s in %.3f of %llu samples; of the time %.3f\n", good ? "ok" : "not ok", names[who], state,
	       got, (unsigned long long)s->samples, share);
	failures += !good;
}

static uint64_t own_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Children `from` to `to` on one CPU: their tasks against the sampler's view. */
static void look(struct skep_mock *m, unsigned from, unsigned to, int cpu)
{
	double wall, ours, runs[CHILDREN] = { 0 }, busy[CHILDREN] = { 0 }, all = 0;
	static uint32_t random = 1;
	struct timespec a, b;

	for (unsigned i = from; i <= to; i++)
		begin(i, cpu);
	nap_us(50000);
	for (unsigned i = from; i <= to; i++)
		booked(children[i].pid, &children[i].ran_ns, &children[i].waited_ns);
	clock_gettime(CLOCK_MONOTONIC, &a);
	ours = (double)own_cpu_ns();
	for (int n = 0; n < SAMPLES; n++) {
		/* a random interval that no child's rhythm can match */
		random = random * 1103515245u + 12345u;
		nap_us(500 + (long)(random >> 16) % 5000);
		m->plugin->sample(m->instance, m->state);
	}
	ours = (double)own_cpu_ns() - ours;
	clock_gettime(CLOCK_MONOTONIC, &b);
	wall = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
	for (unsigned i = from; i <= to; i++) {
		uint64_t ran, waited;

		if (i == DISK && waitpid(children[i].pid, NULL, WNOHANG) == children[i].pid) {
			puts("# /var/tmp has no direct I/O: waiting for a disk is not tested");
			return;
		}
		booked(children[i].pid, &ran, &waited);
		busy[i] = (double)(ran - children[i].ran_ns + waited - children[i].waited_ns) / wall;
		/* the sampler's own time is no other's: a process that the sampler displaces counts as running */
		runs[i] = (double)(ran - children[i].ran_ns) / (wall - ours);
		all += runs[i];
	}
	for (unsigned i = from; i <= to; i++) {
		const uint64_t *in = children[i].seen.in;

		want(i, "running or runnable", in[SCHED_RUNNING] + in[SCHED_RUNNABLE], busy[i], busy[i] - 0.15);
		/*
		 * With others on this CPU the sampler has to wait too, and runs when another process has just run. A
		 * kernel thread may run between at any time, so the test demands half of the expected share; if the
		 * sampler did not know displaced processes the share would be 0.
		 */
		if (i <= PAIR_2 && all > 0.8)
			want(i, "running", in[SCHED_RUNNING], runs[i], runs[i] / 2);
		else if (i <= PAIR_2)
			printf("# %s: %.3f of the time only, the CPU is shared with others; running is not compared\n",
			       names[i], runs[i]);
		if (i == SLEEP)
			want(i, "sleeping", in[SCHED_SLEEPING], 1 - busy[i], 0.85 - busy[i]);
		if (i == VFORK)
			want(i, "blocked", in[SCHED_BLOCKED], 1 - busy[i], 0.85 - busy[i]);
		if (i == DISK)
			want(i, "iowait", in[SCHED_IOWAIT], 1 - busy[i], 0.85 - busy[i]);
		end(i);
	}
}

int main(void)
{
	struct skep_mock m;
	int err, other = sysconf(_SC_NPROCESSORS_ONLN) > 1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (geteuid() != 0) {
		puts("skip: needs root (BPF)");
		return 77;
	}
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	m.quiet = true;
	m.host.emit = on_emit;
	m.host.drained = on_drained;
	err = skep_mock_start(&m);
	if (err) {
		printf("%s: %s\n", err == -EPERM ? "skip" : "not ok - start", m.why);
		return err == -EPERM ? 77 : 1;
	}
	pin(0);
	/* the sampler affects processes that want a CPU, not sleeping ones */
	look(&m, SPIN, SPIN, 0);
	look(&m, PAIR_1, PAIR_2, 0);
	look(&m, SLEEP, SLEEP, other);
	look(&m, VFORK, VFORK, other);
	look(&m, DISK, DISK, other);
	skep_mock_end(&m);
	printf("# %u failed\n", failures);
	return failures > 0;
}
