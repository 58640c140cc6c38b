/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/exact/filelat.c - reads, writes and syncs files in every way and prints how often:
 * tests/e2e/filelat.sh compares the counts of the detail "filelat" with that.
 *
 *   filelat DIRECTORY [FILES] < go    waits for a byte, then prints a line for each process,
 *                                     operation and file: PID OPERATION CALLS BYTES ERRORS NS PATH
 * NS is the time by this program's own clock, outside of the calls.  FILES: writes to so many
 * files instead, once to each.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define THREAD_CALLS 500
#define SYNC_BYTES (16u << 20)

static const char *dir;

struct sum {
	const char *op, *path;
	unsigned calls, errors;
	unsigned long long bytes, ns;
};
static struct sum sums[32];

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "filelat: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void add(const char *op, const char *path, ssize_t ret, uint64_t since, unsigned calls)
{
	struct sum *s = sums;

	while (s->op && (strcmp(s->op, op) != 0 || strcmp(s->path, path) != 0))
		s++;
	s->op = op;
	s->path = path;
	s->calls += calls;
	s->errors += ret < 0 ? calls : 0;
	s->bytes += ret > 0 ? (unsigned long long)ret * calls : 0;
	s->ns += now() - since;
}

/* One call and its result. */
#define DO(op_, path_, call_)                                   \
	do {                                                    \
		uint64_t since_ = now();                        \
		ssize_t ret_ = (call_);                         \
		add(op_, path_, ret_, since_, 1);               \
	} while (0)
#define GAVE(op_, path_, n_, call_)                             \
	do {                                                    \
		uint64_t since_ = now();                        \
		ssize_t ret_ = (call_);                         \
		must(ret_ == (n_), #call_);                     \
		add(op_, path_, ret_, since_, 1);               \
	} while (0)

static void print(void)
{
	for (const struct sum *s = sums; s->op; s++)
		printf("%d %s %u %llu %u %llu %s/%s\n", (int)getpid(), s->op, s->calls, s->bytes, s->errors, s->ns, dir,
		       s->path);
	fflush(stdout);
	memset(sums, 0, sizeof(sums));
}

static void *reader(void *arg)
{
	char buf[16];

	for (int i = 0; i < THREAD_CALLS; i++)
		must(pread(*(int *)arg, buf, 10, 0) == 10, "pread");
	return NULL;
}

static void threads(int fd)
{
	uint64_t since = now();
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&t[i], NULL, reader, &fd) == 0, "a thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	add("read", "a", 10, since, THREADS * THREAD_CALLS);
}

#if defined(__x86_64__)
/* read() by the 32-bit system call. A kernel without it kills the process. */
static void compat(int fd)
{
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, 0, 0);
	int status;
	pid_t pid;

	must(low != MAP_FAILED, "memory below 4 GiB");
	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		memset(sums, 0, sizeof(sums));
		must(lseek(fd, 0, SEEK_SET) == 0, "lseek");
		for (int i = 0; i < 7; i++) {
			long ret = 3; /* __NR_read */
			uint64_t since = now();

			__asm__ volatile("int $0x80"
					 : "+a"(ret)
					 : "b"(fd), "c"(low), "d"(100)
					 : "memory", "r8", "r9", "r10", "r11");
			if (ret != 100)
				_exit(1);
			add("read", "a", ret, since, 1);
		}
		print();
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid, "waitpid");
	if (status != 0)
		fprintf(stderr, "filelat: no 32-bit calls on this kernel (status 0x%x)\n", status);
	munmap(low, 4096);
}
#else
static void compat(int fd)
{
	(void)fd;
}
#endif

/* Neither of these files holds data. */
static void elsewhere(void)
{
	char buf[64] = { 0 };
	int p[2], zero = open("/dev/zero", O_RDONLY), proc = open("/proc/self/stat", O_RDONLY);

	must(pipe(p) == 0 && zero >= 0 && proc >= 0, "a pipe, /dev/zero, /proc/self/stat");
	must(write(p[1], buf, 10) == 10 && read(p[0], buf, 10) == 10 && read(zero, buf, 10) == 10 &&
		     read(proc, buf, 10) == 10,
	     "elsewhere");
	must(read(9999, buf, 1) < 0 && errno == EBADF, "no file");
	close(p[0]);
	close(p[1]);
	close(zero);
	close(proc);
}

static void all_ways(void)
{
	static char buf[65536];
	struct iovec two[2] = { { buf, 300 }, { buf, 200 } };
	int a = open("a", O_CREAT | O_RDWR, 0644), b = open("b", O_CREAT | O_RDWR, 0644), p[2], wo;
	char *large = mmap(NULL, SYNC_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, 0, 0);

	must(a >= 0 && b >= 0 && large != MAP_FAILED && pipe(p) == 0, "a and b");
	wo = open("a", O_WRONLY);
	must(wo >= 0, "a");
	for (int i = 0; i < 100; i++)
		GAVE("write", "a", 4096, write(a, buf, 4096));
	for (int i = 0; i < 10; i++)
		GAVE("write", "a", 100, pwrite(a, buf, 100, i));
	GAVE("write", "a", 500, writev(a, two, 2));
	GAVE("write", "a", 500, pwritev(a, two, 2, 7));
	GAVE("write", "a", 500, pwritev2(a, two, 2, 7, 0));
	for (int i = 0; i < 50; i++)
		GAVE("read", "a", 1000, pread(a, buf, 1000, i));
	must(lseek(a, 0, SEEK_SET) == 0, "lseek");
	for (int i = 0; i < 20; i++)
		GAVE("read", "a", 77, read(a, buf, 77));
	GAVE("read", "a", 500, readv(a, two, 2));
	GAVE("read", "a", 500, preadv(a, two, 2, 7));
	GAVE("read", "a", 500, preadv2(a, two, 2, 7, 0));
	GAVE("read", "a", 4096, sendfile(p[1], a, NULL, 4096));
	DO("read", "a", read(wo, buf, 1)); /* fails */
	/* the kernel chooses how much is read, on some file systems none */
	DO("write", "b", copy_file_range(a, &(off_t){ 0 }, b, NULL, 8192, 0));
	GAVE("sync", "a", 0, fsync(a));
	GAVE("sync", "a", 0, fdatasync(a));
	memset(large, 1, SYNC_BYTES);
	for (unsigned n = 0; n < SYNC_BYTES;) {
		uint64_t since = now();
		ssize_t ret = write(b, large + n, SYNC_BYTES - n);

		must(ret > 0, "write");
		add("write", "b", ret, since, 1);
		n += (unsigned)ret;
	}
	GAVE("sync", "b", 0, fsync(b));
	threads(a);
	elsewhere();
	print();
	compat(a);
	/* a child has rows of its own, also for a file that its parent opened */
	if (fork() == 0) {
		for (int i = 0; i < 5; i++)
			GAVE("read", "a", 10, pread(a, buf, 10, 0));
		must(rename("a", "c") == 0, "rename");
		GAVE("read", "a", 10, pread(a, buf, 10, 0)); /* the path of its first use */
		print();
		_exit(0);
	}
	must(wait(NULL) > 0, "a child");
}

static void many(int files)
{
	char name[32];

	for (int i = 0; i < files; i++) {
		int fd;

		snprintf(name, sizeof(name), "many%d", i);
		fd = open(name, O_CREAT | O_WRONLY, 0644);
		must(fd >= 0, name);
		must(write(fd, name, 3) == 3, name);
		close(fd);
	}
	printf("%d write %d %d 0 0 %s/many\n", (int)getpid(), files, 3 * files, dir);
}

int main(int argc, char **argv)
{
	char go;

	must((argc == 2 || argc == 3) && argv[1][0] == '/', "usage: filelat DIRECTORY [FILES]");
	dir = argv[1];
	must(chdir(dir) == 0, dir);
	must(read(0, &go, 1) == 1, "go");
	if (argc == 3)
		many(atoi(argv[2]));
	else
		all_ways();
	return 0;
}
