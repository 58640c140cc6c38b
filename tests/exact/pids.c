/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/exact/pids.c - what the programs of "proc" keep by pid, on the live kernel, when another task gets the pid; and
 * the totals in the record of an end.
 *
 * A kernel thread has the verdict of the thread that made it, and not of a process that had its pid before. Of a task
 * whose second program the kernel skipped (plugins/proc/skipped.bpf.h) no entry stays: the test makes the entries that
 * such programs leave, and loads the programs as on a kernel that preempts programs (--wrap, tests/Makemodule.am).
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <skep/mock.h>
#include <skep/rules.h>
#include <skep/types.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/plugin/pins.h"
#include "core/plugin/verdict.h"
#include "plugins/proc/proc.h"
#include "plugins/proc/proc.skel.h"
#include "plugins/proc/state.h"

#define KTHREADD 2
#define LEFT_BEHIND (SKEP_VERDICT_EXCLUDED | 5u)
#define OF_KTHREADD (SKEP_VERDICT_EXCLUDED | 9u)

bool __wrap_skep_types_preempt_programs(const struct skep_kernel_types *types);

static struct skep_mock m;
static struct verdict verdict = { .fd = -1 };
static unsigned failures;

bool __wrap_skep_types_preempt_programs(const struct skep_kernel_types *types)
{
	(void)types;
	return true;
}

static void check(bool good, const char *what, long a, long b)
{
	printf("%s - %s (%ld, %ld)\n", good ? "ok" : "not ok", what, a, b);
	failures += !good;
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
}

/* ---- verdicts ------------------------------------------------------------------------ */

/* Calls cb for each process and kernel thread. */
static void each_pid(void (*cb)(pid_t pid))
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			cb((pid_t)strtol(e->d_name, NULL, 10));
	if (d)
		closedir(d);
}

static bool lived[1 << 22]; /* at the begin */

static void on_lived(pid_t pid)
{
	lived[pid] = true;
}

static bool is_kernel_thread(pid_t pid)
{
	char path[64], text[512];
	const char *at;
	int parent = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	text[f ? fread(text, 1, sizeof(text) - 1, f) : 0] = '\0';
	if (f)
		fclose(f);
	at = strrchr(text, ')');
	return at && sscanf(at, ") %*c %d", &parent) == 1 && parent == KTHREADD;
}

static long threads, wrong;

static void on_thread(pid_t pid)
{
	if (lived[pid] || !is_kernel_thread(pid))
		return;
	threads++;
	wrong += verdict.bytes[pid] != OF_KTHREADD;
}

/* A mount of ext4 starts kernel threads, for its journal and for writes without a wait. */
static void kernel_threads(void)
{
	char dir[] = "/tmp/skep-pids.XXXXXX", command[256];

	if (!mkdtemp(dir)) {
		check(false, "a folder", 0, 0);
		return;
	}
	snprintf(command, sizeof(command), "cd %s && truncate -s 32M image && mkfs.ext4 -q -F image && mkdir at", dir);
	if (system(command) != 0) {
		puts("# no mkfs.ext4: without kernel threads");
		goto out;
	}
	each_pid(on_lived);
	for (uint32_t pid = 1; pid < verdict.pids; pid++)
		if (!lived[pid])
			verdict.bytes[pid] = LEFT_BEHIND;
	verdict.bytes[KTHREADD] = OF_KTHREADD;
	snprintf(command, sizeof(command), "mount -o loop %s/image %s/at", dir, dir);
	if (system(command) == 0) {
		each_pid(on_thread);
		snprintf(command, sizeof(command), "umount %s/at", dir);
		check(system(command) == 0, "umount", 0, 0);
		check(wrong == 0, "new kernel threads, those with another verdict than kthreadd's", threads, wrong);
	} else {
		puts("# a file cannot be mounted here: without kernel threads");
	}
out:
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	check(system(command) == 0, "the folder is gone", 0, 0);
}

/* ---- skipped programs ------------------------------------------------------------------ */

static int seen_events(uint32_t pid, bool add)
{
	static const enum proc_type types[] = { PROC_FORK, PROC_EXEC, PROC_EXIT };
	int fd = bpf_map__fd(((struct proc_state *)m.state)->bpf->maps.seen_events), n = 0;
	const uint8_t one = 1;
	uint8_t value;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		uint64_t key = (uint64_t)types[i] << 32 | pid;

		if (add)
			bpf_map_update_elem(fd, &key, &one, BPF_ANY);
		n += bpf_map_lookup_elem(fd, &key, &value) == 0;
	}
	return n;
}

static void skipped(void)
{
	const char *factor = getenv("SKEP_TEST_PATIENCE");
	const long patience = factor ? strtol(factor, NULL, 10) : 1;
	pid_t pid = fork();
	int left = 0;

	if (pid == 0) {
		pause();
		_exit(0);
	}
	for (long i = 0; i < 1000 * patience && seen_events((uint32_t)pid, false); i++)
		nap();
	check(seen_events((uint32_t)pid, false) == 0, "no entry of a fork that both programs saw", pid, 0);
	check(seen_events((uint32_t)pid, true) == 3, "entries as of skipped programs", pid, 3);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* the kernel frees a task after an RCU grace period */
	for (long i = 0; i < 1000 * patience && (left = seen_events((uint32_t)pid, false)); i++)
		nap();
	check(left == 0, "entries of a task that is freed", pid, left);
}

/* ---- ends ------------------------------------------------------------------------------ */

static pid_t ended;
static uint64_t ended_cpu_ns;

static void on_emit(struct skep_instance *inst, unsigned stream, const struct skep_upid *who, uint64_t time_ns,
		    const void *data)
{
	(void)inst;
	(void)time_ns;
	if (stream == STREAM_EXIT && who->pid == (uint32_t)ended)
		ended_cpu_ns = ((const struct skep_process_exit *)data)->counters.cpu_ns;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Ends after the first thread, of which it waits to be a zombie. */
static void *outlives(void *arg)
{
	char state = ' ';

	(void)arg;
	while (state != 'Z') {
		FILE *f = fopen("/proc/self/stat", "re");

		if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			state = ' ';
		if (f)
			fclose(f);
		nap();
	}
	return NULL;
}

/* The record of an end has the CPU time of a first thread that ended before the last one. */
static void first_thread(void)
{
	pid_t pid = fork();
	pthread_t thread;

	if (pid == 0) {
		if (pthread_create(&thread, NULL, outlives, NULL))
			_exit(1);
		while (cpu_ns() < 100000000)
			;
		pthread_exit(NULL);
	}
	ended = pid;
	waitpid(pid, NULL, 0);
	skep_mock_flush(&m);
	check(ended_cpu_ns >= 99000000, "CPU time of an end, of which the first thread used 100 ms", pid,
	      (long)ended_cpu_ns);
}

int main(void)
{
	int err;

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
	m.host.verdict_fd = verdict.fd;
	m.host.verdict_pids = verdict.pids;
	err = skep_mock_start(&m);
	if (err || !verdict.bytes) {
		printf("%s: %s\n", err == -EPERM ? "skip" : "not ok - start", m.why);
		return err == -EPERM ? 77 : 1;
	}
	kernel_threads();
	skipped();
	first_thread();
	skep_mock_end(&m);
	verdict_close(&verdict);
	return failures ? 1 : 0;
}
