/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_reader.c - the process that reads other processes' arguments: its answers, and the fate of a request
 * that blocks it. A stopped worker (SIGSTOP) stands for one that waits in the kernel.
 */
#include <errno.h>
#include <setjmp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "core/base/log.h"
#include "core/identify/reader.h"

#define MANY 200u

static struct {
	uv_loop_t loop;
	struct reader_process process;
	struct reader *reader;
} t;

/* The result of one request. */
struct result {
	int error; /* 1: not answered yet */
	char cmdline[256];
	bool has_environ;
};
static unsigned waiting;

static void deliver(void *owner, skep_process_cb cb, void *arg, const struct skep_process_text *text)
{
	cb(owner, arg, text);
}

static void on_text(struct skep_instance *inst, void *arg, const struct skep_process_text *text)
{
	struct result *r = arg;

	(void)inst;
	assert_int_equal(r->error, 1);
	r->error = text->error;
	if (text->cmdline.len > 0 && text->cmdline.len <= sizeof(r->cmdline))
		memcpy(r->cmdline, text->cmdline.ptr, text->cmdline.len);
	r->has_environ = text->environ.len > 0;
	waiting--;
}

static int setup(void **state)
{
	(void)state;
	waiting = 0;
	assert_int_equal(reader_fork("test", &t.process), 0);
	assert_int_equal(uv_loop_init(&t.loop), 0);
	assert_int_equal(reader_new(&t.loop, &t.process, deliver, &t.reader), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	reader_close(t.reader);
	uv_run(&t.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&t.loop), 0);
	reader_end(&t.process);
	return 0;
}

static bool is_worker(int pid)
{
	char path[64], name[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (f && !fgets(name, sizeof(name), f))
		name[0] = '\0';
	if (f)
		fclose(f);
	return strcmp(name, "test: reader\n") == 0;
}

/* The keeper's child once it has its name: from then on it ends with the keeper. */
static pid_t worker(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)t.process.pid, (int)t.process.pid);
	for (int i = 0; i < 1000; i++, usleep(5000)) {
		FILE *f = fopen(path, "re");
		int pid = 0;

		if (f && fscanf(f, "%d", &pid) != 1)
			pid = 0;
		if (f)
			fclose(f);
		if (pid > 0 && is_worker(pid))
			return pid;
	}
	fail_msg("there is no worker");
	return 0;
}

/* start 0: the process that has the pid now. */
static void ask(uint32_t pid, uint64_t start, uint32_t uid, struct result *ret)
{
	const struct skep_upid who = { .pid = pid, .start_ns = start };
	int err;

	*ret = (struct result){ .error = 1 };
	err = reader_ask(t.reader, &t, &who, uid, SKEP_READ_CMDLINE | SKEP_READ_ENVIRON, on_text, ret);
	if (err)
		ret->error = err;
	else
		waiting++;
}

static void run(void)
{
	for (int i = 0; waiting && i < 100000; i++)
		uv_run(&t.loop, UV_RUN_ONCE);
	assert_int_equal(waiting, 0);
}

static void test_reads(void **state)
{
	struct result mine, other, none;

	(void)state;
	ask((uint32_t)getpid(), 0, 1, &mine);
	ask((uint32_t)getpid(), 12345, 1, &other); /* another process: this one started at another time */
	ask(0x7fffffff, 0, 1, &none);
	run();
	assert_int_equal(mine.error, 0);
	assert_non_null(strstr(mine.cmdline, "test_reader"));
	assert_true(mine.has_environ);
	assert_int_equal(other.error, -ESRCH);
	assert_string_equal(other.cmdline, "");
	assert_int_equal(none.error, -ESRCH);
	assert_int_equal(reader_stats(t.reader).asked, 3);
}

static void test_refuses_what_makes_no_sense(void **state)
{
	const struct skep_upid who = { .pid = 1 }, nobody = { .pid = 0 };

	(void)state;
	assert_int_equal(reader_ask(t.reader, &t, &nobody, 0, SKEP_READ_CMDLINE, on_text, NULL), -EINVAL);
	assert_int_equal(reader_ask(t.reader, &t, &who, 0, 0, on_text, NULL), -EINVAL);
	assert_int_equal(reader_ask(t.reader, &t, &who, 0, 4, on_text, NULL), -EINVAL);
}

static void test_a_stuck_one_costs_only_itself(void **state)
{
	struct result *results = calloc(MANY, sizeof(*results)), again;
	unsigned stuck = 0, right = 0;

	(void)state;
	assert_non_null(results);
	kill(worker(), SIGSTOP);
	for (unsigned i = 0; i < MANY; i++)
		ask((uint32_t)getpid(), 0, i ? 1 : 2, &results[i]);
	run();
	for (unsigned i = 0; i < MANY; i++) {
		stuck += results[i].error == -ETIMEDOUT;
		right += results[i].error == 0 && strstr(results[i].cmdline, "test_reader");
	}
	assert_int_equal(results[0].error, -ETIMEDOUT);
	assert_int_equal(stuck, 1);
	assert_int_equal(right, MANY - 1);
	assert_int_equal(reader_stats(t.reader).stuck, 1);
	assert_int_equal(reader_stats(t.reader).replaced, 1);
	/* the reader never reads that process again */
	ask((uint32_t)getpid(), 0, 1, &again);
	assert_int_equal(again.error, -EBUSY);
	free(results);
}

static void test_a_user_who_goes_on(void **state)
{
	struct result bad, others;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		kill(worker(), SIGSTOP);
		ask((uint32_t)getpid(), i + 1, 1000, &bad);
		run();
		assert_int_equal(bad.error, -ETIMEDOUT);
	}
	ask((uint32_t)getpid(), 4, 1000, &bad);
	assert_int_equal(bad.error, -EBUSY);
	ask((uint32_t)getpid(), 0, 1001, &others);
	run();
	assert_int_equal(others.error, 0);
	assert_int_equal(reader_stats(t.reader).refused, 1);
}

static void test_suspects_come_last(void **state)
{
	struct result bad[3], good;

	(void)state;
	kill(worker(), SIGSTOP);
	ask((uint32_t)getpid(), 1, 1000, &bad[0]);
	run();
	kill(worker(), SIGSTOP);
	ask((uint32_t)getpid(), 2, 1000, &bad[1]);
	ask((uint32_t)getpid(), 3, 1000, &bad[2]);
	ask((uint32_t)getpid(), 0, 1001, &good);
	run();
	/* The stopped worker had the good request. The keeper can only blame the first request of the batch. */
	assert_int_equal(good.error, -ETIMEDOUT);
	assert_int_equal(bad[1].error, -ESRCH);
	assert_int_equal(bad[2].error, -ESRCH);
}

static void test_a_killed_worker_is_replaced(void **state)
{
	struct result results[MANY / 2];

	(void)state;
	for (unsigned i = 0; i < MANY / 2; i++)
		ask((uint32_t)getpid(), 0, 1, &results[i]);
	kill(worker(), SIGKILL);
	run();
	for (unsigned i = 0; i < MANY / 2; i++)
		assert_int_equal(results[i].error, 0);
	assert_int_equal(reader_stats(t.reader).stuck, 0);
	assert_true(reader_stats(t.reader).alive);
}

/* The loop orders a check, but another process kills the worker: the request is not to blame. */
static void test_a_worker_that_dies_while_it_is_checked(void **state)
{
	struct result result;

	(void)state;
	kill(worker(), SIGSTOP);
	kill(t.process.pid, SIGSTOP); /* so the order to check the worker waits */
	ask((uint32_t)getpid(), 0, 1, &result);
	for (uint64_t begin = uv_hrtime(); uv_hrtime() - begin < 600000000u;)
		uv_run(&t.loop, UV_RUN_ONCE);
	assert_int_equal(result.error, 1);
	kill(worker(), SIGKILL);
	kill(t.process.pid, SIGCONT);
	run();
	assert_int_equal(result.error, 0);
	assert_int_equal(reader_stats(t.reader).stuck, 0);
}

static void test_a_keeper_that_does_nothing(void **state)
{
	struct result results[3], later = { .error = -EBUSY };

	(void)state;
	kill(worker(), SIGSTOP);
	kill(t.process.pid, SIGSTOP);
	reader_silent_ticks = 40;
	log_level(2);
	for (unsigned i = 0; i < 3; i++)
		ask((uint32_t)getpid(), 0, 1, &results[i]);
	run();
	log_level(SKEP_LOG_NOTICE);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(results[i].error, -EBUSY);
	ask((uint32_t)getpid(), 0, 1, &later);
	assert_int_equal(later.error, -EBUSY);
	assert_true(reader_stats(t.reader).alive);
	/* The keeper obeys its orders, and reading continues. */
	kill(t.process.pid, SIGCONT);
	for (int i = 0; i < 5000 && later.error == -EBUSY; i++) {
		uv_run(&t.loop, UV_RUN_NOWAIT);
		usleep(1000);
		ask((uint32_t)getpid(), 0, 1, &later);
	}
	run();
	assert_int_equal(later.error, 0);
	assert_int_equal(reader_stats(t.reader).stuck, 0);
	reader_silent_ticks = READER_SILENT_TICKS;
}

/* Ctrl-Z stops the program's group; a SIGCONT to the program alone must leave no reader stopped. */
static void test_is_in_a_group_of_its_own(void **state)
{
	(void)state;
	assert_int_equal(getpgid(worker()), t.process.pid);
}

static void test_without_a_keeper(void **state)
{
	struct result before, after;

	(void)state;
	kill(worker(), SIGSTOP);
	ask((uint32_t)getpid(), 0, 1, &before);
	kill(t.process.pid, SIGKILL); /* ends the worker too */
	log_level(2);
	run();
	log_level(SKEP_LOG_NOTICE);
	ask((uint32_t)getpid(), 0, 1, &after);
	assert_int_equal(before.error, -EPIPE);
	assert_int_equal(after.error, -EPIPE);
	assert_false(reader_stats(t.reader).alive);
}

static void test_the_spare_takes_over(void **state)
{
	struct result before[MANY / 2], after;
	pid_t spare;

	(void)state;
	assert_int_equal(reader_fork_spare("test", &t.process), 0);
	spare = t.process.spare_pid;
	kill(worker(), SIGSTOP);
	for (unsigned i = 0; i < MANY / 2; i++)
		ask((uint32_t)getpid(), 0, 1, &before[i]);
	uv_run(&t.loop, UV_RUN_NOWAIT);
	kill(t.process.pid, SIGKILL);
	log_level(2);
	run();
	for (unsigned i = 0; i < MANY / 2; i++)
		assert_int_equal(before[i].error, 0);
	assert_int_equal(t.process.pid, spare);
	assert_int_equal(reader_stats(t.reader).stuck, 0);
	assert_true(reader_stats(t.reader).alive);
	/* The new keeper replaces workers as the first did, and is the last keeper. */
	kill(worker(), SIGKILL);
	ask((uint32_t)getpid(), 0, 1, &after);
	run();
	assert_int_equal(after.error, 0);
	kill(worker(), SIGSTOP);
	kill(t.process.pid, SIGKILL);
	ask((uint32_t)getpid(), 0, 1, &after);
	run();
	log_level(SKEP_LOG_NOTICE);
	assert_int_equal(after.error, -EPIPE);
}

/* A process in a user namespace of uid 1001, as in a rootless container; 0: this machine permits none. */
static pid_t rootless(void)
{
	int ready[2];
	char made = 0;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		made = setgid(1001) == 0 && setuid(1001) == 0 && unshare(CLONE_NEWUSER) == 0;
		_exit(write(ready[1], &made, 1) != 1 || pause());
	}
	assert_int_equal(read(ready[0], &made, 1), 1);
	close(ready[0]);
	close(ready[1]);
	if (!made) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return made ? pid : 0;
}

static void test_subordinate_uids_are_their_owner(void **state)
{
	pid_t pid = geteuid() == 0 ? rootless() : 0;
	struct result bad[8], good;

	(void)state;
	if (!pid)
		skip();
	/* the first requests are queued before any worker is stuck */
	kill(worker(), SIGSTOP);
	for (uint32_t i = 0; i < 4; i++)
		ask((uint32_t)pid, i + 1, 100000 + i, &bad[i]);
	for (unsigned i = 0; i < 3; i++) {
		if (i > 0) {
			kill(worker(), SIGSTOP);
			ask((uint32_t)pid, 10 + i, 200000 + i, &bad[4 + i]);
		}
		run();
	}
	assert_int_equal(bad[0].error, -ETIMEDOUT);
	assert_int_equal(bad[6].error, -ETIMEDOUT);
	ask((uint32_t)pid, 20, 300000, &bad[7]);
	assert_int_equal(bad[7].error, -EBUSY);
	ask((uint32_t)getpid(), 0, 300000, &good);
	run();
	assert_int_equal(good.error, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_forgotten(void **state)
{
	struct result result;

	(void)state;
	for (unsigned i = 0; i < MANY; i++)
		ask((uint32_t)getpid(), 0, 1, &result);
	reader_forget(t.reader, &t);
	waiting = 0;
	ask((uint32_t)getpid(), 0, 1, &result);
	run();
	assert_int_equal(result.error, 0);
}

static void test_without_a_loop(void **state)
{
	const struct skep_upid me = { .pid = (uint32_t)getpid() }, other = { .pid = (uint32_t)getpid(), .start_ns = 1 };
	struct reader_process process;
	struct skep_process_text text;

	(void)state;
	assert_int_equal(reader_fork("test", &process), 0);
	t.process.pid = process.pid;
	assert_int_equal(reader_sync_read(&process, &me, SKEP_READ_CMDLINE, &text), 0);
	assert_non_null(strstr(text.cmdline.ptr, "test_reader"));
	assert_int_equal(reader_sync_read(&process, &other, SKEP_READ_CMDLINE, &text), -ESRCH);
	kill(worker(), SIGKILL); /* not the request's fault: the batch goes to the next worker */
	assert_int_equal(reader_sync_read(&process, &me, SKEP_READ_CMDLINE, &text), 0);
	kill(worker(), SIGSTOP);
	assert_int_equal(reader_sync_read(&process, &me, SKEP_READ_CMDLINE, &text), -ETIMEDOUT);
	assert_int_equal(reader_sync_read(&process, &me, SKEP_READ_CMDLINE, &text), 0);
	reader_end(&process);
	assert_int_equal(reader_sync_read(&process, &me, SKEP_READ_CMDLINE, &text), -EPIPE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_reads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refuses_what_makes_no_sense, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_stuck_one_costs_only_itself, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_user_who_goes_on, setup, teardown),
		cmocka_unit_test_setup_teardown(test_suspects_come_last, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_killed_worker_is_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_worker_that_dies_while_it_is_checked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_keeper_that_does_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_is_in_a_group_of_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_a_keeper, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_spare_takes_over, setup, teardown),
		cmocka_unit_test_setup_teardown(test_subordinate_uids_are_their_owner, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forgotten, setup, teardown),
		cmocka_unit_test(test_without_a_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
