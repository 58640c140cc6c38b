/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/hostile/stuck_mmap.c - processes that hold the lock of their address space (mmap_lock) for ever, as any local
 * user can make them with a FUSE server of his own, and a dead NFS server makes them by accident.
 *
 *     stuck_mmap N UID FOLDER
 *
 * Serves a FUSE file system at FOLDER, in a mount namespace of its own, by /dev/fuse itself.  Each of N children
 * dirties a page of a mapped file and maps something else over it: munmap writes the page back under the lock
 * (fuse_vma_close, fs/fuse/file.c of 6.18), and the server never answers FUSE_WRITE.  Prints the children's pids, in
 * one line, when all of them are stuck.  With N 0 the server answers nothing at all, as if it were gone: prints its own
 * pid once the file system is mounted.  Ends by a signal, with its parent, or after a minute: then its descriptor of
 * /dev/fuse closes, the kernel aborts the connection, and nothing stays stuck.  Exit 77: no FUSE here.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u
/* the first file's node; each child has a file of its own: opening one waits for the pages of another child */
#define FIRST_FILE 2u

static int fuse = -1;

__attribute__((noreturn)) static void skip(const char *what)
{
	printf("skipped: %s: %s\n", what, strerror(errno));
	exit(77);
}

static void answer(const struct fuse_in_header *in, int error, const void *data, size_t size)
{
	struct fuse_out_header out = { .len = (uint32_t)(sizeof(out) + size), .error = error, .unique = in->unique };
	const struct iovec parts[2] = { { &out, sizeof(out) }, { (void *)(uintptr_t)data, size } };

	if (writev(fuse, parts, size ? 2 : 1) < 0 && errno != ENOENT) /* ENOENT: the requesting process is gone */
		perror("answer");
}

static struct fuse_attr attr_of(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = node >= FIRST_FILE ? PAGE : 0,
		.blocks = 8,
		.mode = node >= FIRST_FILE ? S_IFREG | 0666 : S_IFDIR | 0755,
		.nlink = 1,
		.blksize = PAGE,
	};
}

static void serve_one(const struct fuse_in_header *in)
{
	static const char zeroes[PAGE];
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = PAGE, .max_readahead = PAGE
	};
	/* A name is a number. */
	uint64_t node = in->opcode == FUSE_LOOKUP ? FIRST_FILE + strtoul((const char *)(in + 1), NULL, 10) : in->nodeid;
	struct fuse_entry_out entry = {
		.nodeid = node, .attr_valid = 3600, .entry_valid = 3600, .attr = attr_of(node)
	};
	struct fuse_attr_out attr = { .attr_valid = 3600, .attr = attr_of(in->nodeid) };
	struct fuse_open_out open_out = { .fh = 1 };

	switch (in->opcode) {
	case FUSE_INIT:
		answer(in, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		answer(in, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		answer(in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		answer(in, 0, &open_out, sizeof(open_out));
		break;
	case FUSE_READ:
		answer(in, 0, zeroes, sizeof(zeroes));
		break;
	case FUSE_WRITE: /* the request that never gets an answer */
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(in, -ENOSYS, NULL, 0);
	}
}

static void child(const char *folder, size_t number, unsigned uid, pid_t parent)
{
	char path[512];
	char *at;
	int fd;

	close(fuse);
	if (setgid(uid) || setuid(uid))
		_exit(1);
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	snprintf(path, sizeof(path), "%s/%zu", folder, number);
	fd = open(path, O_RDWR | O_CLOEXEC);
	at = fd < 0 ? MAP_FAILED : mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		_exit(1);
	at[0] = 'x';
	(void)mmap(at, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	_exit(2); /* the call did not block: this kernel writes pages back elsewhere */
}

/* Whether it sleeps uninterruptibly; /proc/PID/stat does not take the lock of the address space. */
static bool is_stuck(pid_t pid)
{
	char path[64], text[512], *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	at = strrchr(text, ')');
	return at && at[2] == 'D';
}

static void mount_here(const char *folder)
{
	char options[128];

	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fuse < 0)
		skip("/dev/fuse");
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		skip("a mount namespace");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fuse);
	if (mount("stuck", folder, "fuse.stuck", MS_NOSUID | MS_NODEV, options))
		skip("mounting FUSE");
}

int main(int argc, char **argv)
{
	static char request[FUSE_MIN_READ_BUFFER * 4];
	size_t n = argc == 4 ? strtoul(argv[1], NULL, 10) : 0, stuck = 0;
	unsigned uid = argc == 4 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	pid_t *children, parent = getpid();

	if (argc != 4) {
		fputs("usage: stuck_mmap N UID FOLDER\n", stderr);
		return 2;
	}
	children = calloc(n ? n : 1, sizeof(*children));
	if (!children)
		return 1;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	alarm(60); /* a bound for all users: ps and pgrep -f of every user hang as long as this lasts */
	mount_here(argv[3]);
	if (n == 0) {
		printf("%d\n", (int)parent);
		fflush(stdout);
		for (;;)
			pause();
	}
	for (size_t i = 0; i < n; i++) {
		children[i] = fork();
		if (children[i] == 0)
			child(argv[3], i, uid, parent);
	}
	for (;;) {
		struct pollfd wait = { .fd = fuse, .events = POLLIN };
		ssize_t got;

		if (poll(&wait, 1, stuck < n ? 20 : -1) < 0 && errno != EINTR)
			return 1;
		if (wait.revents) {
			got = read(fuse, request, sizeof(request));
			if (got < 0 && errno != EINTR && errno != ENOENT)
				return 1;
			if (got >= (ssize_t)sizeof(struct fuse_in_header))
				serve_one((const void *)request);
			continue;
		}
		if (stuck == n)
			continue;
		for (stuck = 0; stuck < n && is_stuck(children[stuck]);)
			stuck++;
		if (stuck < n && waitpid(-1, NULL, WNOHANG) > 0)
			skip("a process that should have been stuck ended");
		for (size_t i = 0; stuck == n && i < n; i++)
			printf("%d%c", (int)children[i], i + 1 < n ? ' ' : '\n');
		fflush(stdout);
	}
}
