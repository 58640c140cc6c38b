/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/spawn.c - the gated start of a command.
 *
 * The child blocks on a pipe, the gate, and execs when the collector knows it.  A second pipe, which a successful exec
 * closes, carries the errno of a failed exec.  skep reads this pipe after it has reaped the child, so skep never waits
 * for an exec that hangs on a dead file server.  If skep dies while the child waits, the child reads end of file at the
 * gate and exits.  Once released, the child does not depend on skep.
 */
#include "cli/run/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/pidns.h"
#include "core/base/trust.h"

#define ROOT_MS 10000 /* the child has only to be scheduled */

int spawn_inherit(struct spawn_inherited *ret)
{
	signals_inherit(&ret->signals);
	limits_inherit(&ret->limits);
	limits_raise(&ret->limits);
	if (prctl(PR_GET_PDEATHSIG, &ret->death_signal) < 0)
		ret->death_signal = 0;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		/* open() takes the lowest free number, which is this one */
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
			return errno ? -errno : -EBADF;
	}
	return 0;
}

/* Reads a whole small file of /proc. */
static int read_whole(const char *path, char **ret_text, size_t *ret_len)
{
	size_t len = 0, room = 16384;
	char *text = malloc(room), *more;
	int fd, err = 0;
	ssize_t n;

	if (!text)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		goto out;
	}
	while ((n = read(fd, text + len, room - len)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err = -errno;
			goto out;
		}
		len += (size_t)n;
		if (len < room)
			continue;
		more = realloc(text, room * 2);
		if (!more) {
			err = -ENOMEM;
			goto out;
		}
		text = more;
		room *= 2;
	}
	*ret_text = text;
	*ret_len = len;
	text = NULL;
out:
	if (fd >= 0)
		close(fd);
	free(text);
	return err;
}

/*
 * A program with file capabilities runs in secure mode: ld.so removes LD_LIBRARY_PATH
 * and similar variables from environ, and the command would miss them.  The kernel still has
 * the original environment in /proc/self/environ, which only a dumpable process may
 * open.  skep sets the flag only for that moment; the kernel still refuses a ptrace by a caller
 * with fewer capabilities (cap_ptrace_access_check()).
 */
static int original_environment(char **ret_text, size_t *ret_len)
{
	int err;

	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	err = read_whole("/proc/self/environ", ret_text, ret_len);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return err;
}

static int flat_environment(char **ret_text, size_t *ret_len)
{
	size_t len = 0;
	char *text;

	for (char **entry = environ; entry && *entry; entry++)
		len += strlen(*entry) + 1;
	text = malloc(len ? len : 1);
	if (!text)
		return -ENOMEM;
	len = 0;
	for (char **entry = environ; entry && *entry; entry++) {
		size_t n = strlen(*entry) + 1;

		memcpy(text + len, *entry, n);
		len += n;
	}
	*ret_text = text;
	*ret_len = len;
	return 0;
}

static bool is_set(const char *const *set, const char *entry)
{
	for (; *set; set += 2) {
		size_t n = strlen(*set);

		if (strncmp(entry, *set, n) == 0 && entry[n] == '=')
			return true;
	}
	return false;
}

int spawn_environment(const char *const *set, char ***ret)
{
	size_t len = 0, count = 1, more = 0;
	char *text = NULL, *at, **array, **next;
	int err = 0;

	if (privileged_start() && original_environment(&text, &len) < 0)
		text = NULL; /* fall back to the environ that ld.so has left */
	if (!text)
		err = flat_environment(&text, &len);
	if (!text)
		return err;
	for (size_t i = 0; i < len; i++)
		count += text[i] == '\0';
	for (size_t i = 0; set[i]; i += 2) {
		more += strlen(set[i]) + 1 + strlen(set[i + 1]) + 1;
		count++;
	}
	array = malloc(count * sizeof(*array) + len + 1 + more);
	if (!array) {
		err = -ENOMEM;
		goto out;
	}
	at = (char *)(array + count);
	memcpy(at, text, len);
	if (len > 0 && at[len - 1] != '\0')
		at[len++] = '\0';
	next = array;
	for (char *end = at + len, *entry = at; entry < end; entry += strlen(entry) + 1)
		if (!is_set(set, entry))
			*next++ = entry;
	at += len;
	for (size_t i = 0; set[i]; i += 2) {
		*next++ = at;
		at = stpcpy(stpcpy(stpcpy(at, set[i]), "="), set[i + 1]) + 1;
	}
	*next = NULL;
	*ret = array;
out:
	free(text);
	return err;
}

/* The child's first report, in a pid namespace of our own. */
struct root {
	int err; /* 0 or -errno of pidns_self() */
	uint32_t pid;
};

/*
 * Between fork and exec of a process that may have threads: only system calls are safe.
 * execvpe is safe, too: glibc 2.24 and later builds its paths on the stack.
 */
static void __attribute__((noreturn))
child(const struct spawn_inherited *inherited, char *const argv[], char *const envp[], int gate, int report, int pidns)
{
	char id[64];
	ssize_t n;
	int err;

	if (pidns >= 0) {
		struct root root = { 0 };

		root.err = pidns_self(pidns, &root.pid);
		if (write(report, &root, sizeof(root)) != sizeof(root))
			_exit(EXIT_FAILURE);
	}
	do
		n = read(gate, id, sizeof(id)); /* all of it: a pipe write of up to PIPE_BUF bytes is atomic */
	while (n < 0 && errno == EINTR);
	if (n < 1)
		_exit(EXIT_FAILURE);
	for (char *const *entry = envp; n > 1 && *entry; entry++)
		if (strncmp(*entry, "SKEP_RUN=", 9) == 0 && strlen(*entry + 9) == (size_t)n)
			memcpy(*entry + 9, id, (size_t)n);
	limits_give_back(&inherited->limits);
	/* fork() clears it.  When skep gets SIGKILL because the caller has died, CMD must get it as well. */
	if (inherited->death_signal)
		(void)prctl(PR_SET_PDEATHSIG, inherited->death_signal);
	signals_give_back(&inherited->signals);
	execvpe(argv[0], argv, envp);
	err = errno;
	n = write(report, &err, sizeof(err));
	(void)n; /* the exit status also reports the failure */
	_exit(err == ENOENT ? 127 : 126);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int spawn_start(const struct spawn_inherited *inherited, char *const argv[], char *const envp[], int pidns,
		struct spawn *ret)
{
	struct spawn spawn = { .pidfd = -1, .gate = -1, .report = -1 };
	int gate[2] = { -1, -1 }, report[2] = { -1, -1 };
	int err = 0;

	if (pipe2(gate, O_CLOEXEC) < 0 || pipe2(report, O_CLOEXEC | O_NONBLOCK) < 0) {
		err = -errno;
		goto out;
	}
	spawn.pid = fork();
	if (spawn.pid < 0) {
		err = -errno;
		spawn.pid = 0;
		goto out;
	}
	if (spawn.pid == 0) {
		close(gate[1]); /* else the child would never read end of file */
		child(inherited, argv, envp, gate[0], report[1], pidns);
	}
	spawn.root = spawn.pid;
	spawn.gate = gate[1];
	spawn.report = report[0];
	gate[1] = report[0] = -1;
	spawn.pidfd = (int)syscall(SYS_pidfd_open, spawn.pid, 0); /* glibc 2.36 and later have a function */
	if (spawn.pidfd < 0) {
		err = -errno;
		goto out;
	}
	*ret = spawn;
out:
	for (int i = 0; i < 2; i++) {
		close_fd(&gate[i]);
		close_fd(&report[i]);
	}
	if (err)
		spawn_close(&spawn);
	return err;
}

int spawn_root(struct spawn *spawn)
{
	struct pollfd ready = { .fd = spawn->report, .events = POLLIN };
	struct root root;

	while (poll(&ready, 1, ROOT_MS) < 0 && errno == EINTR)
		continue;
	if (read(spawn->report, &root, sizeof(root)) != sizeof(root))
		return -ESRCH;
	if (root.err == 0)
		spawn->root = (pid_t)root.pid;
	return root.err;
}

int spawn_release(struct spawn *spawn, const char *run_id)
{
	ssize_t n;

	do
		n = write(spawn->gate, run_id ? run_id : "", run_id ? strlen(run_id) : 1);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	close_fd(&spawn->gate);
	return 0;
}

int spawn_wait(struct spawn *spawn, int *ret_status, struct rusage *ret_usage, int *ret_exec_error)
{
	struct rusage usage;
	int status, exec_error;
	pid_t pid;

	do
		pid = wait4(spawn->pid, &status, 0, &usage);
	while (pid < 0 && errno == EINTR);
	if (pid < 0)
		return -errno;
	spawn->pid = 0;
	/* An empty pipe: exec closed it, or a signal ended the child before the exec. */
	if (read(spawn->report, &exec_error, sizeof(exec_error)) != sizeof(exec_error))
		exec_error = 0;
	*ret_status = status;
	*ret_usage = usage;
	*ret_exec_error = exec_error;
	return 0;
}

void spawn_close(struct spawn *spawn)
{
	bool waits = spawn->gate >= 0;

	close_fd(&spawn->gate);
	close_fd(&spawn->report);
	close_fd(&spawn->pidfd);
	if (waits && spawn->pid > 0)
		while (waitpid(spawn->pid, NULL, 0) < 0 && errno == EINTR)
			continue;
	spawn->pid = 0;
}

int spawn_exit_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
