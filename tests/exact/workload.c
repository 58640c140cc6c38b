/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/exact/workload.c - a process of known behaviour: tests compare skep's record of it with
 * the figures that the kernel gave its parent.
 *
 *   workload burn MS [THREADS]     burn MS of CPU in each of THREADS threads
 *   workload rss MIB               touch MIB of memory
 *   workload write FILE BYTES      buffered, 64 KiB a call
 *   workload direct FILE BYTES     O_DIRECT, synchronous, 64 KiB a call
 *   workload read FILE             buffered, after dropping the file's pages
 *   workload exit CODE             exit(CODE)
 *   workload kill SIGNAL           dies of SIGNAL, without a core
 *   workload leader MS CODE        the leader's thread ends at once; another burns MS, then exit_group(CODE)
 *   workload quiet MS              like leader, but the last thread ends by pthread_exit: status 0
 *   workload reexec MS N           burns MS, then execs itself, N times
 *   workload threadexec MS         a thread that is not the leader burns MS and execs "burn 1"
 *   workload fork MS N             N children that never exec, each burns MS; waits for all
 *   workload vfork MS              vfork + exec of "burn MS"; waits
 *   workload spawn MS              posix_spawn of "burn MS"; waits
 *   workload daemon MS FILE        double fork; the grandchild burns MS, then creates FILE
 *   workload zombie MS             a child burns MS and is never reaped by its parent
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static const char *self;

static void die(const char *what)
{
	perror(what);
	exit(99);
}

static void burn(long ms)
{
	struct timespec ts;
	long long end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	end = ts.tv_sec * 1000000000LL + ts.tv_nsec + ms * 1000000LL;
	do {
		for (volatile int i = 0; i < 20000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	} while (ts.tv_sec * 1000000000LL + ts.tv_nsec < end);
}

static void *burner(void *arg)
{
	burn(*(long *)arg);
	return NULL;
}

static void burn_threads(long ms, int threads)
{
	pthread_t t[256];

	for (int i = 1; i < threads && i < 256; i++)
		if (pthread_create(&t[i], NULL, burner, &ms))
			die("pthread_create");
	burn(ms);
	for (int i = 1; i < threads && i < 256; i++)
		pthread_join(t[i], NULL);
}

static void touch(long mib)
{
	size_t size = (size_t)mib << 20;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	madvise(p, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < size; i += 4096)
		p[i] = 1;
	if (munmap(p, size))
		die("munmap");
}

#define PIECE 65536

static void write_file(const char *path, long long bytes, int flags)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | flags, 0600);
	char *piece = aligned_alloc(4096, PIECE);

	if (fd < 0 || !piece)
		die(path);
	memset(piece, 'x', PIECE);
	for (; bytes > 0; bytes -= PIECE)
		if (write(fd, piece, bytes < PIECE ? (size_t)bytes : PIECE) < 0)
			die("write");
	close(fd);
}

static void read_file(const char *path)
{
	static char piece[PIECE];
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		die(path);
	fdatasync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	while (read(fd, piece, PIECE) > 0)
		;
	close(fd);
}

static void die_of(int sig)
{
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	signal(sig, SIG_DFL);
	raise(sig);
	pause();
}

static long late_ms;
static int late_code;

static void *late(void *arg)
{
	(void)arg;
	burn(late_ms);
	if (late_code >= 0)
		syscall(SYS_exit_group, late_code);
	return NULL;
}

static void leader_first(long ms, int code)
{
	pthread_t t;

	late_ms = ms;
	late_code = code;
	if (pthread_create(&t, NULL, late, NULL))
		die("pthread_create");
	pthread_detach(t);
	syscall(SYS_exit, 0); /* this thread only */
}

static void *thread_exec(void *arg)
{
	burn(*(long *)arg);
	execl(self, self, "burn", "1", (char *)NULL);
	die("exec");
	return NULL;
}

static void wait_ok(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		die("child");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long a = argc > 2 ? atol(argv[2]) : 0, b = argc > 3 ? atol(argv[3]) : 0;

	self = argv[0];
	if (!strcmp(what, "burn")) {
		burn_threads(a, argc > 3 ? (int)b : 1);
	} else if (!strcmp(what, "rss")) {
		touch(a);
	} else if (!strcmp(what, "write")) {
		write_file(argv[2], atoll(argv[3]), 0);
	} else if (!strcmp(what, "direct")) {
		write_file(argv[2], atoll(argv[3]), O_DIRECT | O_SYNC);
	} else if (!strcmp(what, "read")) {
		read_file(argv[2]);
	} else if (!strcmp(what, "exit")) {
		return (int)a;
	} else if (!strcmp(what, "kill")) {
		die_of((int)a);
	} else if (!strcmp(what, "leader")) {
		leader_first(a, (int)b);
	} else if (!strcmp(what, "quiet")) {
		leader_first(a, -1);
	} else if (!strcmp(what, "reexec")) {
		char ms[24], n[24];

		burn(a);
		if (b > 0) {
			snprintf(ms, sizeof(ms), "%ld", a);
			snprintf(n, sizeof(n), "%ld", b - 1);
			execl(self, self, "reexec", ms, n, (char *)NULL);
			die("exec");
		}
	} else if (!strcmp(what, "threadexec")) {
		pthread_t t;

		if (pthread_create(&t, NULL, thread_exec, &a))
			die("pthread_create");
		for (;;)
			pause();
	} else if (!strcmp(what, "fork")) {
		for (long i = 0; i < b; i++) {
			pid_t pid = fork();

			if (pid == 0) {
				burn(a);
				_exit(0);
			}
			wait_ok(pid);
		}
	} else if (!strcmp(what, "vfork")) {
		pid_t pid = vfork();

		if (pid == 0) {
			execl(self, self, "burn", argv[2], (char *)NULL);
			_exit(98);
		}
		wait_ok(pid);
	} else if (!strcmp(what, "spawn")) {
		char *child[] = { argv[0], (char *)"burn", argv[2], NULL };
		pid_t pid;

		errno = posix_spawn(&pid, self, NULL, NULL, child, environ);
		if (errno)
			die("posix_spawn");
		wait_ok(pid);
	} else if (!strcmp(what, "daemon")) {
		pid_t pid = fork();

		if (pid == 0) {
			if (fork() == 0) {
				setsid();
				burn(a);
				close(open(argv[3], O_CREAT | O_WRONLY, 0600));
			}
			_exit(0);
		}
		wait_ok(pid);
	} else if (!strcmp(what, "zombie")) {
		if (fork() == 0) {
			burn(a);
			_exit(7);
		}
		usleep((useconds_t)a * 3000 + 50000);
	} else {
		fprintf(stderr, "workload: unknown action '%s'\n", what);
		return 2;
	}
	return 0;
}
