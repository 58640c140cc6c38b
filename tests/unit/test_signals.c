/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_signals.c - cli/run/signals.c: restores inherited signal settings, sees the sender of a signal, and
 * passes signals on. Each test in a process of its own, because they change its settings.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/run/signals.h"

#define CHECK(condition)                           \
	do {                                       \
		if (!(condition))                  \
			_exit(__LINE__ % 200 + 1); \
	} while (0)

/* Runs a test in a child; a failed CHECK gives an exit status other than 0. */
static void isolated(void (*body)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(200);
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static bool next_signal(int fd, struct signalfd_siginfo *ret)
{
	struct pollfd readable = { .fd = fd, .events = POLLIN };

	return poll(&readable, 1, 5000) == 1 && read(fd, ret, sizeof(*ret)) == sizeof(*ret);
}

static void pause_ms(long ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

static void give_back_body(void)
{
	struct signals_inherited before, after;
	sigset_t mask;
	int fd;

	CHECK(signal(SIGHUP, SIG_IGN) != SIG_ERR);
	CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	signals_inherit(&before);
	CHECK(sigismember(&before.ignored, SIGHUP) == 1 && sigismember(&before.ignored, SIGTERM) == 0);

	CHECK(signals_take(&fd) == 0);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	CHECK(sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGTSTP) == 1 &&
	      sigismember(&mask, SIGRTMAX) == 1);
	CHECK(sigismember(&mask, SIGCONT) == 1 && sigismember(&mask, SIGCHLD) == 1);
	CHECK(sigismember(&mask, SIGTTOU) == 0 && sigismember(&mask, SIGSEGV) == 0);
	signals_inherit(&after);
	CHECK(sigismember(&after.ignored, SIGCHLD) == 0); /* else there would be no child to wait for */
	signal(SIGPIPE, SIG_IGN);

	signals_give_back(&before);
	signals_inherit(&after);
	for (int number = 1; number < NSIG; number++) {
		CHECK(sigismember(&before.ignored, number) == sigismember(&after.ignored, number));
		CHECK(sigismember(&before.mask, number) == sigismember(&after.mask, number));
	}
}

static void give_back(void **state)
{
	(void)state;
	isolated(give_back_body);
}

static void forward_body(void)
{
	struct signals_inherited inherited;
	struct signalfd_siginfo info;
	int fd, status, value = 0;
	pid_t command, other;
	sigset_t set;

	signals_inherit(&inherited);
	CHECK(signals_take(&fd) == 0);
	command = fork();
	CHECK(command >= 0);
	if (command == 0) { /* this command gets a queued SIGRTMIN, then dies of SIGTERM */
		siginfo_t got;

		sigemptyset(&set);
		sigaddset(&set, SIGRTMIN);
		CHECK(sigwaitinfo(&set, &got) == SIGRTMIN && got.si_value.sival_int == 4711);
		signals_give_back(&inherited);
		for (;;)
			pause();
	}
	other = fork();
	CHECK(other >= 0);
	if (other == 0) {
		sigqueue(getppid(), SIGRTMIN, (union sigval) { .sival_int = 4711 });
		pause_ms(200);
		kill(getppid(), SIGTERM);
		_exit(0);
	}
	CHECK(next_signal(fd, &info) && (int)info.ssi_signo == SIGRTMIN);
	CHECK(signals_concern(&info, command) == SIGNALS_TO_COMMAND);
	CHECK(signals_forward(&info, SIGNALS_TO_COMMAND, command) == 0);
	CHECK(next_signal(fd, &info) && info.ssi_signo == SIGTERM);
	CHECK(signals_concern(&info, command) == SIGNALS_TO_COMMAND);
	CHECK(signals_forward(&info, SIGNALS_TO_COMMAND, command) == 0);
	CHECK(waitpid(command, &status, 0) == command && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	CHECK(waitpid(other, &value, 0) == other && value == 0);
	CHECK(signals_forward(&info, SIGNALS_TO_COMMAND, command) == -ESRCH);
}

static void forwards_what_others_sent(void **state)
{
	(void)state;
	isolated(forward_body);
}

static void own_body(void)
{
	struct signalfd_siginfo info;
	pid_t command, self = getpid();
	int fd;

	CHECK(signals_take(&fd) == 0);
	command = fork();
	CHECK(command >= 0);
	if (command == 0) {
		if (fork() == 0) { /* a grandchild */
			kill(self, SIGUSR1);
			pause_ms(1500);
			_exit(0);
		}
		pause_ms(500);
		kill(self, SIGUSR2); /* the command itself, by then a zombie */
		_exit(0);
	}
	CHECK(next_signal(fd, &info) && info.ssi_signo == SIGUSR1);
	CHECK(!signals_concern(&info, command));
	CHECK(next_signal(fd, &info) && info.ssi_signo == SIGUSR2);
	pause_ms(100);
	CHECK(!signals_concern(&info, command));
	kill(self, SIGPIPE);
	CHECK(next_signal(fd, &info) && info.ssi_signo == SIGPIPE);
	CHECK(!signals_concern(&info, command));
	info.ssi_code = SI_KERNEL;
	info.ssi_pid = 0;
	CHECK(!signals_concern(&info, command));
	info.ssi_code = SI_USER; /* from a namespace above */
	CHECK(signals_concern(&info, command));
}

/* A command that has left our group gets what the terminal sends to our group; nothing else that the kernel sends. */
static void left_body(void)
{
	struct signalfd_siginfo info = { .ssi_signo = SIGINT, .ssi_code = SI_KERNEL };
	int status;
	pid_t command = fork();

	CHECK(command >= 0);
	if (command == 0)
		for (;;)
			pause();
	CHECK(signals_concern(&info, command) == SIGNALS_TO_NOBODY);
	CHECK(setpgid(command, command) == 0);
	CHECK(signals_concern(&info, command) == SIGNALS_TO_GROUP);
	info.ssi_signo = SIGXCPU;
	CHECK(signals_concern(&info, command) == SIGNALS_TO_NOBODY);
	info.ssi_signo = SIGTERM;
	CHECK(signals_forward(&info, SIGNALS_TO_GROUP, command) == 0);
	CHECK(waitpid(command, &status, 0) == command && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void a_command_that_left_the_group(void **state)
{
	(void)state;
	isolated(left_body);
}

static void dies(void **state)
{
	static const int numbers[] = { SIGINT, SIGKILL, SIGSEGV, SIGPIPE, 34 };
	int status, fd;
	pid_t child;

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			CHECK(signals_take(&fd) == 0);
			if (numbers[i] != SIGKILL)
				signal(numbers[i], SIG_IGN);
			signals_die(numbers[i]);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status) && !WCOREDUMP(status));
		assert_int_equal(WTERMSIG(status), numbers[i]);
	}
}

static void not_what_the_command_or_the_kernel_sent(void **state)
{
	(void)state;
	isolated(own_body);
}

static void waiting_body(void)
{
	struct signals_inherited inherited;
	int fd;

	signal(SIGHUP, SIG_IGN);
	signals_inherit(&inherited);
	CHECK(signals_take(&fd) == 0);
	CHECK(signals_waiting(&inherited) == 0);
	kill(getpid(), SIGHUP); /* queued, because it is blocked; nohup would have ignored it */
	kill(getpid(), SIGUSR1);
	CHECK(signals_waiting(&inherited) == 0);
	kill(getpid(), SIGINT);
	CHECK(signals_waiting(&inherited) == SIGINT);
}

static void waiting(void **state)
{
	(void)state;
	isolated(waiting_body);
}

static void stop_body(void)
{
	int fd, status;
	pid_t child;

	CHECK(signals_take(&fd) == 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		signals_stop(SIGTSTP);
		_exit(7);
	}
	/* in our group, whose parent is in another session or not: stopped unless orphaned */
	CHECK(waitpid(child, &status, WUNTRACED) == child);
	if (WIFSTOPPED(status)) {
		CHECK(WSTOPSIG(status) == SIGTSTP);
		kill(child, SIGCONT);
		CHECK(waitpid(child, &status, 0) == child);
	}
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void stops_and_continues(void **state)
{
	(void)state;
	isolated(stop_body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(give_back),
		cmocka_unit_test(forwards_what_others_sent),
		cmocka_unit_test(not_what_the_command_or_the_kernel_sent),
		cmocka_unit_test(a_command_that_left_the_group),
		cmocka_unit_test(dies),
		cmocka_unit_test(waiting),
		cmocka_unit_test(stops_and_continues),
	};

	/* A background job of a shell ignores SIGINT. */
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
