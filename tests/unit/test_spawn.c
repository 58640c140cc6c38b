/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_spawn.c - cli/run/spawn.c: the gate, the command's inheritance, its status, and an exec that fails.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/spawn.h"

static struct spawn_inherited inherited;
static const char *const folder_variable = "TMPDIR";

static int setup(void **state)
{
	(void)state;
	return spawn_inherit(&inherited);
}

struct outcome {
	int status, exec_error;
	struct rusage usage;
};

static struct outcome run(char *const argv[])
{
	struct outcome outcome;
	struct spawn spawn;

	assert_int_equal(spawn_start(&inherited, argv, environ, -1, &spawn), 0);
	assert_int_equal(spawn_release(&spawn, NULL), 0);
	assert_int_equal(spawn_wait(&spawn, &outcome.status, &outcome.usage, &outcome.exec_error), 0);
	spawn_close(&spawn);
	return outcome;
}

static struct outcome shell(const char *script)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };

	return run(argv);
}

static char *temporary(const char *name)
{
	const char *folder = getenv(folder_variable);
	char *path;

	assert_true(asprintf(&path, "%s/skep-test-spawn.%d.%s", folder ? folder : "/tmp", (int)getpid(), name) > 0);
	return path;
}

static void gate_holds_until_released(void **state)
{
	char *file = temporary("gate"), *argv[] = { (char *)"touch", file, NULL };
	struct outcome outcome;
	struct pollfd ended;
	struct spawn spawn;
	char path[64], target[4096];
	ssize_t n;

	(void)state;
	assert_int_equal(spawn_start(&inherited, argv, environ, -1, &spawn), 0);
	ended = (struct pollfd) { .fd = spawn.pidfd, .events = POLLIN };
	assert_int_equal(poll(&ended, 1, 100), 0);
	assert_int_equal(access(file, F_OK), -1);
	/* the same group and session, still skep's program */
	assert_int_equal(getpgid(spawn.pid), getpgrp());
	assert_int_equal(getsid(spawn.pid), getsid(0));
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)spawn.pid);
	n = readlink(path, target, sizeof(target) - 1);
	assert_true(n > 0);
	target[n] = '\0';
	assert_non_null(strstr(target, "test_spawn"));

	assert_int_equal(spawn_release(&spawn, NULL), 0);
	assert_int_equal(poll(&ended, 1, 10000), 1);
	assert_int_equal(spawn_wait(&spawn, &outcome.status, &outcome.usage, &outcome.exec_error), 0);
	assert_int_equal(outcome.exec_error, 0);
	assert_int_equal(spawn_exit_code(outcome.status), 0);
	assert_true(outcome.usage.ru_maxrss > 0);
	assert_int_equal(access(file, F_OK), 0);
	spawn_close(&spawn);
	unlink(file);
	free(file);
}

/* A kernel that does not tell the pid: here since the descriptor is of no BPF program. */
static void a_pid_that_the_kernel_does_not_tell(void **state)
{
	char *file = temporary("untold"), *argv[] = { (char *)"touch", file, NULL };
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct spawn spawn;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(spawn_start(&inherited, argv, environ, fd, &spawn), 0);
	assert_in_range(-spawn_root(&spawn), 1, 4095);
	spawn_close(&spawn);
	assert_int_equal(access(file, F_OK), -1);
	/* a child that has ended before it could ask */
	assert_int_equal(spawn_start(&inherited, argv, environ, -1, &spawn), 0);
	kill(spawn.pid, SIGKILL);
	assert_int_equal(spawn_root(&spawn), -ESRCH);
	spawn_close(&spawn);
	assert_int_equal(access(file, F_OK), -1);
	close(fd);
	free(file);
}

static void closing_the_gate_sends_the_child_away(void **state)
{
	char *file = temporary("away"), *argv[] = { (char *)"touch", file, NULL };
	struct spawn spawn;
	pid_t pid;

	(void)state;
	assert_int_equal(spawn_start(&inherited, argv, environ, -1, &spawn), 0);
	pid = spawn.pid;
	spawn_close(&spawn);
	spawn_close(&spawn);                /* a second call does no harm */
	assert_int_equal(kill(pid, 0), -1); /* gone and reaped */
	assert_int_equal(errno, ESRCH);
	assert_int_equal(access(file, F_OK), -1);
	free(file);
}

static void status_comes_through(void **state)
{
	struct outcome outcome;
	char script[32];

	(void)state;
	for (int code = 0; code < 256; code++) {
		snprintf(script, sizeof(script), "exit %d", code);
		outcome = shell(script);
		assert_int_equal(outcome.exec_error, 0);
		assert_int_equal(spawn_exit_code(outcome.status), code);
	}
	outcome = shell("kill -KILL $$");
	assert_true(WIFSIGNALED(outcome.status));
	assert_int_equal(spawn_exit_code(outcome.status), 128 + SIGKILL);
	outcome = shell("kill -INT $$");
	assert_int_equal(spawn_exit_code(outcome.status), 130);
}

static void exec_that_fails_says_why(void **state)
{
	char *plain = temporary("plain"), *script = temporary("script");
	char *missing[] = { (char *)"no-such-command-of-skep", NULL };
	char *forbidden[] = { plain, NULL }, *no_interpreter[] = { script, NULL };
	struct outcome outcome;
	FILE *file;

	(void)state;
	outcome = run(missing);
	assert_int_equal(outcome.exec_error, ENOENT);
	assert_int_equal(spawn_exit_code(outcome.status), 127);

	file = fopen(plain, "w");
	assert_non_null(file);
	fclose(file);
	outcome = run(forbidden);
	assert_int_equal(outcome.exec_error, EACCES);
	assert_int_equal(spawn_exit_code(outcome.status), 126);

	file = fopen(script, "w");
	assert_non_null(file);
	fputs("#!/no/such/interpreter\n", file);
	fclose(file);
	chmod(script, 0755);
	outcome = run(no_interpreter);
	assert_int_equal(outcome.exec_error, ENOENT);
	assert_int_equal(spawn_exit_code(outcome.status), 127);
	unlink(plain);
	unlink(script);
	free(plain);
	free(script);
}

static void script_without_interpreter_line_runs_by_sh(void **state)
{
	char *script = temporary("bare"), *argv[] = { script, NULL };
	struct outcome outcome;
	FILE *file = fopen(script, "w");

	(void)state;
	assert_non_null(file);
	fputs("exit 7\n", file);
	fclose(file);
	chmod(script, 0755);
	outcome = run(argv);
	assert_int_equal(outcome.exec_error, 0);
	assert_int_equal(spawn_exit_code(outcome.status), 7);
	unlink(script);
	free(script);
}

/* The descriptors that a child of skep sees; one of them is meant for it. */
static void no_descriptor_leaks(void **state)
{
	char *file = temporary("fds"), *script;
	int fd = dup2(STDIN_FILENO, 9);
	bool nine = false, ours[1024];
	char line[64];
	FILE *list;

	(void)state;
	assert_int_equal(fd, 9);         /* without close-on-exec: passed to the command */
	for (int i = 0; i < 1024; i++) { /* the process that started this test may have left descriptors open */
		int flags = fcntl(i, F_GETFD);

		ours[i] = flags >= 0 && !(flags & FD_CLOEXEC);
	}
	assert_true(asprintf(&script, "ls /proc/self/fd > %s; exit 0", file) > 0);
	assert_int_equal(shell(script).status, 0);
	close(fd);
	list = fopen(file, "r");
	assert_non_null(list);
	while (fgets(line, sizeof(line), list)) {
		int number = atoi(line);
		bool folder = !ours[3] && number == 3; /* the folder that ls itself has opened */

		assert_in_range(number, 0, 1023);
		if (number > STDERR_FILENO && !folder && !ours[number])
			fail_msg("descriptor %d has leaked", number);
		nine |= number == 9;
	}
	assert_true(nine);
	fclose(list);
	unlink(file);
	free(file);
	free(script);
}

static void environment_is_the_callers_and_one_more(void **state)
{
	char **environment, **entry;
	size_t n = 0, had = 0, found = 0;

	(void)state;
	setenv("SKEP_TEST_RUN", "old", 1);
	setenv("SKEP_TEST_EMPTY", "", 1);
	for (entry = environ; *entry; entry++)
		had++;
	assert_int_equal(spawn_environment((const char *const[]){ "SKEP_TEST_RUN", "new", NULL }, &environment), 0);
	for (entry = environment; *entry; entry++) {
		n++;
		if (strncmp(*entry, "SKEP_TEST_RUN=", 14) == 0) {
			assert_string_equal(*entry, "SKEP_TEST_RUN=new");
			found++;
		}
		found += strcmp(*entry, "SKEP_TEST_EMPTY=") == 0;
	}
	assert_int_equal(n, had);
	assert_int_equal(found, 2);
	free(environment);
	unsetenv("SKEP_TEST_RUN");
	assert_int_equal(
		spawn_environment((const char *const[]) { "SKEP_TEST_RUN", "x=y", "SKEP_TEST_MORE", "z", NULL },
				  &environment),
		0);
	for (n = 0, entry = environment; *entry; entry++)
		n++;
	assert_int_equal(n, had + 1);
	assert_string_equal(environment[n - 2], "SKEP_TEST_RUN=x=y");
	assert_string_equal(environment[n - 1], "SKEP_TEST_MORE=z");
	free(environment);
	unsetenv("SKEP_TEST_EMPTY");
}

static void limits_are_the_callers(void **state)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)"test \"$(ulimit -l) $(ulimit -n) $(ulimit -c)\" = '1 20 0'",
			 NULL };
	struct spawn_inherited low = inherited;
	struct outcome outcome;
	struct rlimit files;
	struct spawn spawn;

	(void)state;
	low.limits.at[RLIMIT_MEMLOCK].rlim_cur = 1024;
	low.limits.at[RLIMIT_NOFILE].rlim_cur = 20;
	low.limits.at[RLIMIT_CORE].rlim_cur = 0;
	limits_raise(&low.limits);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	assert_true(files.rlim_cur > 20 || files.rlim_max <= 20); /* skep's own */
	assert_int_equal(spawn_start(&low, argv, environ, -1, &spawn), 0);
	assert_int_equal(spawn_release(&spawn, NULL), 0);
	assert_int_equal(spawn_wait(&spawn, &outcome.status, &outcome.usage, &outcome.exec_error), 0);
	spawn_close(&spawn);
	/* dash has no ulimit -l: Debian's does; any other answer is a failure */
	assert_int_equal(spawn_exit_code(outcome.status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gate_holds_until_released),
		cmocka_unit_test(closing_the_gate_sends_the_child_away),
		cmocka_unit_test(a_pid_that_the_kernel_does_not_tell),
		cmocka_unit_test(status_comes_through),
		cmocka_unit_test(exec_that_fails_says_why),
		cmocka_unit_test(script_without_interpreter_line_runs_by_sh),
		cmocka_unit_test(no_descriptor_leaks),
		cmocka_unit_test(environment_is_the_callers_and_one_more),
		cmocka_unit_test(limits_are_the_callers),
	};

	/* A background job of a shell ignores SIGINT. */
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	return cmocka_run_group_tests(tests, setup, NULL);
}
