/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/statvfs_thread.c and filesystem.c: file systems that answer, that do not, and that do again.
 * What hangs is a call of the test's own, which waits as long as the test wants.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/host_fixture.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static bool shut;   /* those whose path has "dead" in it hang */
static unsigned waiting, asked;
static int error;   /* of those whose path has "broken" in it */

static int fake(const char *path, struct statvfs *ret)
{
	int err = 0;

	pthread_mutex_lock(&gate);
	asked++;
	waiting++;
	while (shut && strstr(path, "dead"))
		pthread_cond_wait(&opened, &gate);
	waiting--;
	if (strstr(path, "broken"))
		err = error;
	pthread_mutex_unlock(&gate);
	if (err) {
		errno = err;
		return -1;
	}
	*ret = (struct statvfs) { .f_frsize = 4096,
				  .f_blocks = strstr(path, "pseudo") ? 0 : 1000,
				  .f_bfree = 400,
				  .f_bavail = 300,
				  .f_files = 50,
				  .f_ffree = 20 };
	return 0;
}

static void set_gate(bool is_shut)
{
	pthread_mutex_lock(&gate);
	shut = is_shut;
	pthread_cond_broadcast(&opened);
	pthread_mutex_unlock(&gate);
}

static unsigned hanging(void)
{
	unsigned n;

	pthread_mutex_lock(&gate);
	n = waiting;
	pthread_mutex_unlock(&gate);
	return n;
}

/* Samples until there are n records that match; false after five seconds. */
static bool step_until(struct host_fixture *f, const char *match, unsigned n)
{
	for (int i = 0; i < 500; i++) {
		host_step(f);
		if (host_count(f, STREAM_FILESYSTEM, match) >= n)
			return true;
		usleep(10000);
	}
	return false;
}

static void begin(struct host_fixture *f, const char *mountinfo)
{
	host_fixture_init(f);
	host_write(f, "proc/1/mountinfo", mountinfo);
	skep_mock_option(&f->m, "filesystems", "1ms");
	skep_mock_option(&f->m, "network_filesystems", "1ms");
	/* a thread of a machine that is busy may wait for a CPU */
	skep_mock_option(&f->m, "filesystem_timeout", "250ms");
	pthread_mutex_lock(&gate); /* one that hung in the test before may be on its way yet */
	error = 0;
	asked = 0;
	pthread_mutex_unlock(&gate);
}

/* start() makes the table and asks at once: the call is put in its place before. */
static void start(struct host_fixture *f)
{
	filesystem_call = fake;
	assert_int_equal(skep_mock_start(&f->m), 0);
}

#define LOCAL "27 1 254:0 / / rw - ext4 /dev/vda rw\n"
#define DEAD "28 27 0:40 / /dead ro - nfs4 srv:/a ro\n"
#define OTHER "29 27 0:41 / /other rw - nfs4 srv:/b rw\n"

static void answers(void **state)
{
	struct host_fixture f;

	(void)state;
	begin(&f, LOCAL "30 27 0:50 / /pseudo rw - strangefs none rw\n");
	start(&f);
	assert_true(step_until(&f, "system.filesystem.mountpoint=/", 1));
	assert_string_equal(host_get(&f, STREAM_FILESYSTEM, NULL, "system.device"), "/dev/vda");
	assert_string_equal(host_get(&f, STREAM_FILESYSTEM, NULL, "system.filesystem.mode"), "rw");
	assert_string_equal(host_get(&f, STREAM_FILESYSTEM, NULL, "stale"), "0");
	assert_string_equal(host_get(&f, STREAM_FILESYSTEM, NULL, "system.filesystem.limit"), "4096000");
	assert_string_equal(host_get(&f, STREAM_FILESYSTEM, NULL, "system.filesystem.usage.used"), "2457600");
	assert_string_equal(host_get(&f, STREAM_FILESYSTEM, NULL, "system.filesystem.usage.free"), "1228800");
	assert_string_equal(host_get(&f, STREAM_FILESYSTEM, NULL, "system.filesystem.usage.reserved"), "409600");
	assert_string_equal(host_get(&f, STREAM_FILESYSTEM, NULL, "system.filesystem.inode.usage.used"), "30");
	/* no blocks: no space */
	assert_int_equal(host_count(&f, STREAM_FILESYSTEM, "system.filesystem.type=strangefs"), 0);
	host_fixture_free(&f);
}

/* The others are reported all the time, the dead one as stale, and again when its server is back. */
static void dead_server(void **state)
{
	struct host_fixture f;

	(void)state;
	begin(&f, DEAD LOCAL OTHER);
	set_gate(true);
	start(&f);
	assert_true(step_until(&f, "system.filesystem.mountpoint=/other", 1));
	assert_true(step_until(&f, "stale=1", 1));
	assert_string_equal(host_get(&f, STREAM_FILESYSTEM, "stale=1", "system.filesystem.mountpoint"), "/dead");
	/* it never answered */
	assert_string_equal(host_get(&f, STREAM_FILESYSTEM, "stale=1", "system.filesystem.limit"), "0");
	assert_true(step_until(&f, "system.filesystem.mountpoint=/", 1));
	/* on a machine that stood still another one, too, for a moment */
	for (int i = 0; i < 20000 && f.st->space->n_stuck > 1; i++) {
		host_step(&f);
		usleep(1000);
	}
	assert_int_equal(f.st->space->n_stuck, 1); /* asked by one thread, not by one more each round */
	assert_true(skep_mock_counter(&f.m, "filesystems_stale") >= 1);
	assert_true(strstr(f.m.logged, "/dead") || skep_mock_counter(&f.m, "filesystems_stale") > 1);
	set_gate(false);
	for (int i = 0; i < 20000 && f.st->space->n_stuck; i++) {
		host_step(&f);
		usleep(1000);
	}
	assert_int_equal(f.st->space->n_stuck, 0);
	assert_true(step_until(&f, "system.filesystem.mountpoint=/dead", 1));
	assert_string_equal(host_get(&f, STREAM_FILESYSTEM, "system.filesystem.mountpoint=/dead", "stale"), "0");
	host_fixture_free(&f);
}

/* stop() and close() do not wait for a thread that hangs; the thread frees its memory when its call returns. */
static void stop_while_dead(void **state)
{
	struct host_fixture f;
	unsigned before = hanging();

	(void)state;
	begin(&f, DEAD);
	set_gate(true);
	start(&f);
	for (int i = 0; i < 20000 && hanging() == before; i++)
		usleep(1000);
	assert_int_equal(hanging(), before + 1);
	host_fixture_free(&f); /* in a round */

	begin(&f, DEAD LOCAL);
	start(&f);
	assert_true(step_until(&f, "stale=1", 1));
	host_fixture_free(&f); /* left behind */
	assert_int_equal(hanging(), before + 2);
	set_gate(false);
	for (int i = 0; i < 20000 && hanging() != before; i++)
		usleep(1000);
	assert_int_equal(hanging(), before);
	usleep(20000); /* their threads' ends */
}

/* The probe starts only a limited number of threads, even if all hang, and continues when their calls return. */
static void many_dead(void **state)
{
	struct host_fixture f;
	char mounts[4096] = "";

	(void)state;
	for (unsigned i = 0; i < 12; i++)
		snprintf(mounts + strlen(mounts), sizeof(mounts) - strlen(mounts),
			 "%u 1 0:%u / /dead%u rw - nfs4 srv:/%u rw\n", i, 100 + i, i, i);
	snprintf(mounts + strlen(mounts), sizeof(mounts) - strlen(mounts), LOCAL);
	begin(&f, mounts);
	set_gate(true);
	start(&f);
	for (int i = 0; i < 20000 && f.st->space->n_stuck < STUCK_MOST - 1; i++) {
		host_step(&f);
		usleep(10000);
	}
	/* network ones leave one thread to the local ones */
	for (int i = 0; i < 40; i++) {
		host_step(&f);
		usleep(10000);
	}
	assert_int_equal(f.st->space->n_stuck, STUCK_MOST - 1);
	assert_int_equal(hanging(), STUCK_MOST - 1);
	assert_true(step_until(&f, "system.filesystem.mountpoint=/", 1));
	set_gate(false);
	assert_true(step_until(&f, "system.filesystem.mountpoint=/dead11", 1));
	/* On a busy machine a thread that waits for a CPU counts as stuck for a moment. */
	for (int i = 0; i < 20000 && f.st->space->n_stuck; i++) {
		host_step(&f);
		usleep(10000);
	}
	assert_int_equal(f.st->space->n_stuck, 0);
	host_fixture_free(&f);
}

/* ESTALE is reported; what skepd may not see is not. */
static void errors(void **state)
{
	struct host_fixture f;

	(void)state;
	begin(&f, LOCAL "28 27 0:40 / /broken rw - nfs4 srv:/a rw\n");
	error = ESTALE;
	start(&f);
	assert_true(step_until(&f, "stale=1", 1));
	assert_string_equal(host_get(&f, STREAM_FILESYSTEM, "stale=1", "system.filesystem.mountpoint"), "/broken");
	pthread_mutex_lock(&gate);
	error = EACCES;
	pthread_mutex_unlock(&gate);
	assert_true(step_until(&f, "system.filesystem.mountpoint=/", 1));
	usleep(20000);
	assert_true(step_until(&f, "system.filesystem.mountpoint=/", 1));
	assert_int_equal(host_count(&f, STREAM_FILESYSTEM, "system.filesystem.mountpoint=/broken"), 0);
	host_fixture_free(&f);
}

static void options(void **state)
{
	struct host_fixture f;

	(void)state;
	begin(&f, LOCAL OTHER);
	skep_mock_option(&f.m, "network_filesystems", "0s");
	start(&f);
	assert_non_null(strstr(f.signals, "host.filesystem=partial"));
	assert_true(step_until(&f, "system.filesystem.mountpoint=/", 1));
	assert_true(step_until(&f, "system.filesystem.mountpoint=/", 1));
	assert_int_equal(host_count(&f, STREAM_FILESYSTEM, "system.filesystem.mountpoint=/other"), 0);
	host_fixture_free(&f);

	begin(&f, LOCAL);
	skep_mock_option(&f.m, "filesystems", "0s");
	start(&f);
	assert_non_null(strstr(f.signals, "host.filesystem=off"));
	host_step(&f);
	usleep(20000);
	host_step(&f);
	assert_int_equal(host_count(&f, STREAM_FILESYSTEM, NULL), 0);
	assert_int_equal(asked, 0);
	host_fixture_free(&f);
}

/* Unmounted and mounted between rounds. */
static void mounts_change(void **state)
{
	struct host_fixture f;

	(void)state;
	begin(&f, LOCAL OTHER);
	start(&f);
	assert_true(step_until(&f, "system.filesystem.mountpoint=/other", 1));
	host_write(&f, "proc/1/mountinfo", LOCAL "31 27 8:1 / /new rw - xfs /dev/sda1 rw\n");
	assert_true(step_until(&f, "system.filesystem.mountpoint=/new", 1));
	assert_int_equal(host_count(&f, STREAM_FILESYSTEM, "system.filesystem.mountpoint=/other"), 0);
	assert_int_equal(f.st->space->n_answers, 2);
	host_fixture_free(&f);
}

/* In the child: everything is read-only for this process alone, as ProtectSystem=strict of a service does it. */
static int mode_in_sandbox(struct host_fixture *f)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) || access("/", W_OK) == 0)
		return 77;
	filesystem_call = fake;
	if (skep_mock_start(&f->m) || !step_until(f, "system.filesystem.mountpoint=/", 1))
		return 2;
	return strcmp(host_get(f, STREAM_FILESYSTEM, "system.filesystem.mountpoint=/", "system.filesystem.mode"), "rw") != 0;
}

static void sandbox(void **state)
{
	struct host_fixture f;
	struct statvfs v;
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0 || statvfs("/", &v) || (v.f_flag & ST_RDONLY))
		skip();
	begin(&f, LOCAL);
	skep_mock_option(&f.m, "root", "/");
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(mode_in_sandbox(&f));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	host_fixture_free(&f);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers),       cmocka_unit_test(dead_server), cmocka_unit_test(stop_while_dead),
		cmocka_unit_test(many_dead),     cmocka_unit_test(errors),      cmocka_unit_test(options),
		cmocka_unit_test(mounts_change), cmocka_unit_test(sandbox),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
