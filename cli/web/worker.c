/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/web/worker.c - see cli/web/worker.h.
 */
#include "cli/web/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/program.h"

#define STEP_MS 500 /* how soon a command ends after worker_cancel() */

extern char **environ;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t one_ended = PTHREAD_COND_INITIALIZER;
static unsigned running;
static bool cancelled;

static int begin(void)
{
	struct timespec until;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += WORKER_SECONDS / 2;
	pthread_mutex_lock(&lock);
	while (running == WORKER_MOST && !cancelled && err == 0)
		err = pthread_cond_timedwait(&one_ended, &lock, &until);
	err = cancelled ? -ECANCELED : err ? -EBUSY : 0;
	running += err == 0;
	pthread_mutex_unlock(&lock);
	return err;
}

static void end(void)
{
	pthread_mutex_lock(&lock);
	running--;
	pthread_cond_signal(&one_ended);
	pthread_mutex_unlock(&lock);
}

void worker_cancel(void)
{
	pthread_mutex_lock(&lock);
	cancelled = true;
	pthread_cond_broadcast(&one_ended);
	pthread_mutex_unlock(&lock);
}

bool worker_cancelled(void)
{
	bool is;

	pthread_mutex_lock(&lock);
	is = cancelled;
	pthread_mutex_unlock(&lock);
	return is;
}

/*
 * Becomes the command; its answer and its messages go into two files in memory.  The child of a process with threads
 * calls only what a signal handler may call.
 */
static _Noreturn void become(const char *const *line, pid_t parent, int out, int messages)
{
	static const char failed[] = "this program does not start again: end skep web, and start it anew";
	const int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setpgid(0, 0);
	/* SIGKILL of skep web ends the command, too.  If skep web ended before the prctl, no signal comes. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent && in >= 0 && dup2(in, 0) == 0 &&
	    dup2(out, 1) == 1 && dup2(messages, 2) == 2)
		execve(program_path(), (char *const *)(uintptr_t)line, environ); /* it does not change the strings */
	(void)!write(messages, failed, sizeof(failed) - 1);
	_exit(127);
}

static int start(const char *const *argv, int out, int messages, pid_t *ret)
{
	const char *line[64] = { program_name() };
	const pid_t parent = getpid();
	size_t n = 0;
	pid_t pid;

	while (n < sizeof(line) / sizeof(line[0]) - 2 && argv[n]) {
		line[n + 1] = argv[n];
		n++;
	}
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		become(line, parent, out, messages);
	setpgid(pid, pid); /* both do it: wait_for() may end the group before the child has run */
	*ret = pid;
	return 0;
}

int64_t worker_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits until the command has ended; ends it if the client leaves, or after WORKER_SECONDS. */
static int wait_for(pid_t pid, int client, int *ret_status)
{
	const int64_t until = worker_now_ms() + WORKER_SECONDS * 1000;
	struct pollfd fds[] = {
		{ .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN },
		{ .fd = client, .events = POLLRDHUP },
	};
	int status = 0, err = fds[0].fd < 0 ? -errno : 0;

	while (!err) {
		const int n = poll(fds, 2, STEP_MS);

		if (n < 0 && errno != EINTR)
			err = -errno;
		else if (n > 0 && fds[0].revents)
			break;
		else if (n > 0 && fds[1].revents)
			err = -EPIPE;
		else if (worker_cancelled())
			err = -ECANCELED;
		else if (worker_now_ms() > until)
			err = -ETIMEDOUT;
	}
	if (err)
		kill(-pid, SIGKILL);
	if (fds[0].fd >= 0)
		close(fds[0].fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return err;
}

/* The last lines are the cause: "skep show: no run 'x' ..."; the rest is for a terminal. */
static void read_why(int fd, const char *command, char why[WORKER_WHY])
{
	const off_t size = lseek(fd, 0, SEEK_END);
	const off_t from = size >= WORKER_WHY ? size - WORKER_WHY + 1 : 0;
	ssize_t n = pread(fd, why, WORKER_WHY - 1, from);
	char prefix[64];
	int length = snprintf(prefix, sizeof(prefix), "%s %s: ", program_name(), command);

	why[n > 0 ? n : 0] = '\0';
	for (char *at = strstr(why, prefix); at && length > 0; at = strstr(at, prefix))
		memmove(at, at + length, strlen(at + length) + 1);
	n = (ssize_t)strlen(why);
	while (n > 0 && why[n - 1] == '\n')
		why[--n] = '\0';
}

int worker_run(const char *const *argv, int client, struct worker_answer *ret)
{
	int out, messages, err = begin();
	int64_t begun;
	pid_t pid = 0;

	if (err)
		return err;
	begun = worker_now_ms();
	out = memfd_create("skep-answer", MFD_CLOEXEC);
	messages = memfd_create("skep-messages", MFD_CLOEXEC);
	err = out < 0 || messages < 0 ? -errno : start(argv, out, messages, &pid);
	if (!err)
		err = wait_for(pid, client, &ret->status);
	ret->took_ms = worker_now_ms() - begun;
	if (!err) {
		read_why(messages, argv[0], ret->why);
		ret->fd = out;
		ret->size = lseek(out, 0, SEEK_END);
	} else if (out >= 0) {
		close(out);
	}
	if (messages >= 0)
		close(messages);
	end();
	return err;
}

/* ---- what a command said --------------------------------------------------- */

/* An answer ends with a newline. */
bool worker_whole(const struct worker_answer *a)
{
	char last;

	return a->size > 0 && pread(a->fd, &last, 1, a->size - 1) == 1 && last == '\n' && a->status <= 1;
}

const char *worker_reason(const struct worker_answer *a)
{
	return a->why[0] ? a->why : "the command ended without an answer";
}

const char *worker_error(int err)
{
	switch (err) {
	case -EBUSY:
		return "skep web answers as many questions as it can; ask again";
	case -ETIMEDOUT:
		return "the answer took more than a minute; ask for less";
	default:
		return strerror(-err);
	}
}

uint64_t worker_hash(uint64_t hash, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
	return hash;
}

void worker_tag(const struct worker_answer *a, char tag[WORKER_TAG])
{
	uint64_t hash = WORKER_HASH;
	unsigned char buf[65536];
	ssize_t n;

	for (off_t at = 0; at < a->size && (n = pread(a->fd, buf, sizeof(buf), at)) > 0; at += n)
		hash = worker_hash(hash, buf, (size_t)n);
	snprintf(tag, WORKER_TAG, "\"%016" PRIx64 "\"", hash);
}

void worker_one_line(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7f)
			*text = ' ';
}
