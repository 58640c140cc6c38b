/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/exact/opens.c - opens files in every way and prints how often: tests/e2e/opens.sh compares
 * the counts of the detail "opens" with that.
 *
 *   opens DIRECTORY < go     prints "ready", waits for a byte, opens, then prints a line for each path and way:
 *                            WAY PID OPENS WRITES CREATED FAILED ERROR PATH
 * WAY is "call", or "uring" for an open by io_uring.  ERROR is "-" for opens that succeeded.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define THREAD_OPENS 250

static const char *dir;

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "opens: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void did(const char *way, int opens, int writes, int created, int failed, const char *error, const char *path)
{
	printf("%s %d %d %d %d %d %s %s%s%s\n", way, (int)getpid(), opens, writes, created, failed, error,
	       *path == '/' ? "" : dir, *path == '/' ? "" : "/", path);
	fflush(stdout);
}

static void done(int fd, const char *what)
{
	must(fd >= 0, what);
	close(fd);
}

static void times(int n, const char *path, int flags)
{
	while (n-- > 0)
		done(open(path, flags, 0644), path);
}

static void fails(int n, const char *path, int flags, int error)
{
	while (n-- > 0) {
		int fd = open(path, flags, 0644);

		must(fd < 0 && errno == error, path);
	}
}

static void *opener(void *arg)
{
	times(THREAD_OPENS, arg, O_RDONLY);
	return NULL;
}

static void threads(void)
{
	static char own[] = "own", shared[] = "shared";
	pthread_t t[THREADS];

	times(1, "own", O_CREAT | O_WRONLY);
	times(1, "shared", O_CREAT | O_WRONLY);
	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&t[i], NULL, opener, i == 0 ? own : shared) == 0, "a thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	did("call", 1 + THREAD_OPENS, 1, 1, 0, "-", "own");
	did("call", 1 + (THREADS - 1) * THREAD_OPENS, 1, 1, 0, "-", "shared");
}

#if defined(__x86_64__)
/* open() by the 32-bit system call. A kernel without it kills the process. */
static long open32(const char *path)
{
	long ret = 5; /* __NR_open */

	__asm__ volatile("int $0x80"
			 : "+a"(ret)
			 : "b"(path), "c"(O_RDONLY), "d"(0)
			 : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

static void compat(void)
{
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, 0, 0);
	int status;
	pid_t pid;

	must(low != MAP_FAILED, "memory below 4 GiB");
	strcpy(low, "compat");
	times(1, "compat", O_CREAT | O_WRONLY);
	did("call", 1, 1, 1, 0, "-", "compat");
	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		for (int i = 0; i < 6; i++) {
			long fd = open32(low);

			if (fd < 0)
				_exit(1);
			close((int)fd);
			strcpy(low, "none32");
			if (open32(low) != -ENOENT)
				_exit(2);
			strcpy(low, "compat");
		}
		did("call", 6, 0, 0, 0, "-", "compat");
		did("call", 0, 0, 0, 6, "ENOENT", "none32");
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid, "waitpid");
	if (status != 0)
		fprintf(stderr, "opens: no 32-bit calls on this kernel (status 0x%x)\n", status);
	munmap(low, 4096);
}
#else
static void compat(void)
{
}
#endif

/* openat by io_uring, without liburing. */
static void uring(void)
{
	struct io_uring_params p = { 0 };
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqe;
	char *sq, *cq;
	int fd = (int)syscall(SYS_io_uring_setup, 4, &p), ok = 0;

	if (fd < 0) {
		fprintf(stderr, "opens: no io_uring here: %s\n", strerror(errno));
		return;
	}
	times(1, "uring", O_CREAT | O_WRONLY);
	did("call", 1, 1, 1, 0, "-", "uring");
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * sizeof(uint32_t), PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_CQ_RING);
	sqes = mmap(NULL, p.sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
		    IORING_OFF_SQES);
	must(sq != MAP_FAILED && cq != MAP_FAILED && sqes != MAP_FAILED, "mmap of io_uring");
	for (int i = 0; i < 3; i++) {
		uint32_t tail = *(uint32_t *)(sq + p.sq_off.tail), mask = *(uint32_t *)(sq + p.sq_off.ring_mask);
		uint32_t head;

		memset(&sqes[tail & mask], 0, sizeof(*sqes));
		sqes[tail & mask].opcode = IORING_OP_OPENAT;
		sqes[tail & mask].fd = AT_FDCWD;
		sqes[tail & mask].addr = (uint64_t)(uintptr_t)"uring";
		sqes[tail & mask].open_flags = O_RDONLY;
		((uint32_t *)(sq + p.sq_off.array))[tail & mask] = tail & mask;
		__atomic_store_n((uint32_t *)(sq + p.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
		must(syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1, "io_uring_enter");
		head = *(uint32_t *)(cq + p.cq_off.head);
		cqe = (struct io_uring_cqe *)(cq + p.cq_off.cqes) + (head & *(uint32_t *)(cq + p.cq_off.ring_mask));
		if (cqe->res >= 0) {
			close(cqe->res);
			ok++;
		}
		__atomic_store_n((uint32_t *)(cq + p.cq_off.head), head + 1, __ATOMIC_RELEASE);
	}
	close(fd);
	if (ok)
		did("uring", ok, 0, 0, 0, "-", "uring");
}

static void child(void)
{
	int d = open(dir, O_RDONLY | O_DIRECTORY); /* no file that holds data: not counted */
	struct {
		uint64_t flags, mode, resolve;
	} how = { .flags = O_RDWR | O_CREAT, .mode = 0644 };

	must(d >= 0, dir);
	times(11, "a", O_RDONLY);
	did("call", 11, 0, 0, 0, "-", "a");
	for (int i = 0; i < 4; i++)
		done((int)syscall(SYS_openat2, d, "d", &how, sizeof(how)), "openat2");
	did("call", 4, 4, 1, 0, "-", "d");
	for (int i = 0; i < 2; i++)
		done(creat("e", 0600), "creat");
	did("call", 2, 2, 1, 0, "-", "e");
	must(chdir("/") == 0, "/");
	for (int i = 0; i < 3; i++) {
		int fd = openat(d, "gone/too", O_RDONLY);

		must(fd < 0 && errno == ENOENT, "gone/too");
	}
	did("call", 0, 0, 0, 3, "ENOENT", "gone/too");
	/* neither call opens a file that holds data */
	done(openat(d, "a", O_PATH), "O_PATH");
	done(open("/dev/null", O_RDWR), "/dev/null");
	done(open("/proc/self/stat", O_RDONLY), "/proc/self/stat");
	close(d);
}

static void fails_at(const char *folder, int n)
{
	int fd = open(folder, O_PATH | O_DIRECTORY);
	char path[64];

	must(fd >= 0, folder);
	for (int i = 0; i < n; i++)
		must(openat(fd, "none", O_RDONLY) < 0, "none");
	close(fd);
	snprintf(path, sizeof(path), "%s/none", folder);
	did("call", 0, 0, 0, n, "ENOENT", path);
}

/* Records have the paths that the process sees: through a mount, below its root. */
static void elsewhere(void)
{
	must(unshare(CLONE_NEWNS) == 0, "a mount namespace");
	must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "private mounts");
	must(mkdir("src", 0755) == 0 && mkdir("src/sub", 0755) == 0 && mkdir("mnt", 0755) == 0, "mkdir");
	must(mount("src", "mnt", NULL, MS_BIND, NULL) == 0, "a bind mount");
	times(1, "src/sub/f", O_CREAT | O_WRONLY);
	did("call", 1, 1, 1, 0, "-", "src/sub/f");
	times(1, "mnt/sub/g", O_CREAT | O_WRONLY);
	times(2, "mnt/sub/g", O_RDONLY);
	did("call", 3, 1, 1, 0, "-", "mnt/sub/g");
	fails_at("src/sub", 2);
	fails_at("mnt/sub", 3); /* the same directory through another mount */
	must(chroot("mnt") == 0 && chdir("/sub") == 0, "chroot");
	times(5, "h", O_CREAT | O_RDWR);
	did("call", 5, 5, 1, 0, "-", "/sub/h");
	fails(2, "../none", O_RDONLY, ENOENT);
	did("call", 0, 0, 0, 2, "ENOENT", "/sub/../none");
}

static uint64_t mixed(uint64_t h, const char word[8])
{
	uint64_t w;

	memcpy(&w, word, sizeof(w));
	h = (h ^ w) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

/*
 * Names that collide in a hash without a secret: the first eight bytes differ, and the next eight cancel the difference
 * in h = (h ^ word) * K; h ^= h >> 29. Others differ only far behind the beginning, where a hash may have stopped.
 */
static void look_alikes(void)
{
	char one[] = "/0000000xxxxxxxx", other[] = "/0000000xxxxxxxx", far[700];
	bool found = false;

	for (unsigned i = 1; i < 10000000 && !found; i++) {
		uint64_t differs;
		char digits[9];

		snprintf(digits, sizeof(digits), "%07u", i);
		memcpy(other + 1, digits, 7);
		differs = mixed(0, one) ^ mixed(0, other);
		found = true;
		for (int k = 0; k < 8; k++) {
			other[8 + k] = (char)('x' ^ (char)(differs >> 8 * k));
			found = found && ((other[8 + k] >= 'a' && other[8 + k] <= 'z') ||
					  (other[8 + k] >= '0' && other[8 + k] <= '9'));
		}
	}
	must(found, "no two such names");
	fails(2, one, O_RDONLY, ENOENT);
	fails(3, other, O_RDONLY, ENOENT);
	did("call", 0, 0, 0, 2, "ENOENT", one);
	did("call", 0, 0, 0, 3, "ENOENT", other);
	snprintf(far, sizeof(far), "/%0199d/%0199d/%0199d/x", 0, 0, 0);
	fails(4, far, O_RDONLY, ENOENT);
	did("call", 0, 0, 0, 4, "ENOENT", far);
	far[strlen(far) - 1] = 'y';
	fails(5, far, O_RDONLY, ENOENT);
	did("call", 0, 0, 0, 5, "ENOENT", far);
}

static void as_child(void (*what)(void))
{
	pid_t pid = fork();
	int status;

	must(pid >= 0, "fork");
	if (pid == 0) {
		what();
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid && status == 0, "a child");
}

int main(int argc, char **argv)
{
	char go;

	must(argc == 2 && argv[1][0] == '/', "usage: opens DIRECTORY");
	dir = argv[1];
	must(chdir(dir) == 0, dir);
	puts("ready"); /* the dynamic loader has opened its files */
	fflush(stdout);
	must(read(0, &go, 1) == 1, "go");

	times(1, "a", O_CREAT | O_WRONLY);
	times(100, "a", O_RDONLY);
	fails(2, "a", O_CREAT | O_EXCL | O_WRONLY, EEXIST);
	fails(3, "a/below", O_RDONLY, ENOTDIR);
	did("call", 101, 1, 1, 0, "-", "a");
	did("call", 0, 0, 0, 2, "EEXIST", "a");
	did("call", 0, 0, 0, 3, "ENOTDIR", "a/below");
	fails(5, "missing", O_RDONLY, ENOENT);
	fails(4, "./missing", O_WRONLY, ENOENT); /* another form of the path: reported as the same path */
	did("call", 0, 0, 0, 9, "ENOENT", "missing");
	times(1, "r", O_CREAT | O_RDWR);
	must(rename("r", "s") == 0, "rename");
	times(2, "s", O_RDONLY);
	did("call", 3, 1, 1, 0, "-", "r"); /* the path of its first open */
	times(1, "t", O_CREAT | O_RDWR);
	must(unlink("t") == 0, "unlink");
	times(1, "u", O_CREAT | O_RDWR); /* may get t's inode: still another file */
	did("call", 1, 1, 1, 0, "-", "t");
	did("call", 1, 1, 1, 0, "-", "u");
	look_alikes();
	threads();
	compat();
	uring();
	as_child(child);
	as_child(elsewhere);
	return 0;
}
