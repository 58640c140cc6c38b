/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages to a service manager, read from a real socket in its place.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/daemon/notify.h"

static char path[64];
static uv_loop_t loop;

/* Listens under that name (a path, or "@..." for an abstract one) and sets the environment variable. */
static int manager(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0 && strlen(name) < sizeof(at.sun_path));
	memcpy(at.sun_path, name, strlen(name));
	if (name[0] == '@')
		at.sun_path[0] = '\0';
	else
		unlink(name);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	setenv("NOTIFY_SOCKET", name, 1);
	return fd;
}

/* The next datagram, "" when there is none. */
static const char *received(int fd)
{
	static char text[8192];
	ssize_t n = recv(fd, text, sizeof(text) - 1, 0);

	assert_true(n >= 0 || errno == EAGAIN);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static struct notify *made(void)
{
	struct notify *n = NULL;
	char why[256] = "";

	assert_int_equal(notify_new(&loop, &n, why, sizeof(why)), 0);
	assert_string_equal(why, "");
	return n;
}

static void closed(struct notify *n, int fd)
{
	notify_close(n);
	uv_run(&loop, UV_RUN_DEFAULT);
	if (fd >= 0)
		close(fd);
	unlink(path);
}

static int setup(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/skep-test-notify-%d", (int)getpid());
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	return uv_loop_init(&loop);
}

static int teardown(void **state)
{
	(void)state;
	return uv_loop_close(&loop); /* UV_EBUSY: something was left open */
}

/* ---- when skepd reports ------------------------------------------------------------------------- */

static void nobody_asked(void **state)
{
	struct notify *n;

	(void)state;
	setenv("WATCHDOG_USEC", "1000000", 1);
	n = made();
	assert_null(n);
	assert_null(getenv("WATCHDOG_USEC"));
	notify_ready(n, "without a manager");
	notify_reloading(n);
	notify_stopping(n, 20000000, "without a manager");
	notify_close(n);
	setenv("NOTIFY_SOCKET", "", 1);
	assert_null(made());
}

static void path_and_environment(void **state)
{
	int fd = manager(path);
	struct notify *n;

	(void)state;
	setenv("WATCHDOG_USEC", "60000000", 1);
	setenv("WATCHDOG_PID", "1", 1);
	n = made();
	assert_non_null(n);
	assert_null(getenv("NOTIFY_SOCKET"));
	assert_null(getenv("WATCHDOG_USEC"));
	assert_null(getenv("WATCHDOG_PID"));
	assert_string_equal(received(fd), ""); /* no message before skepd is ready */
	notify_ready(n, "%d probes", 7);
	assert_string_equal(received(fd), "READY=1\nSTATUS=7 probes");
	notify_stopping(n, 20000000, "going");
	assert_string_equal(received(fd), "STOPPING=1\nEXTEND_TIMEOUT_USEC=20000000\nSTATUS=going");
	closed(n, fd);
}

static void abstract_name(void **state)
{
	char name[64];
	struct notify *n;
	int fd;

	(void)state;
	snprintf(name, sizeof(name), "@skep-test-notify-%d", (int)getpid());
	fd = manager(name);
	n = made();
	notify_ready(n, "ok");
	assert_string_equal(received(fd), "READY=1\nSTATUS=ok");
	closed(n, fd);
}

static void as_long_as_a_name_can_be(void **state)
{
	char name[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1];
	struct notify *n = NULL;
	char why[256] = "";
	int fd;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[0] = '@';
	name[sizeof(name) - 1] = '\0';
	setenv("NOTIFY_SOCKET", name, 1);
	assert_int_equal(notify_new(&loop, &n, why, sizeof(why)), -ENAMETOOLONG);
	assert_non_null(strstr(why, "107"));
	name[sizeof(name) - 2] = '\0';
	fd = manager(name);
	n = made();
	notify_ready(n, "ok");
	assert_string_equal(received(fd), "READY=1\nSTATUS=ok");
	closed(n, fd);
}

static void what_cannot_be_told(void **state)
{
	static const struct {
		const char *name, *usec, *pid, *why;
		int err;
	} cases[] = {
		{ "vsock:2:1234", NULL, NULL, "neither a path nor an abstract socket", -EAFNOSUPPORT },
		{ "@", NULL, NULL, "neither a path", -EAFNOSUPPORT },
		{ "relative", NULL, NULL, "relative", -EAFNOSUPPORT },
		{ "/x", "0", NULL, "WATCHDOG_USEC=0", -EINVAL },
		{ "/x", "-5", NULL, "WATCHDOG_USEC=-5", -EINVAL },
		{ "/x", "5s", NULL, "WATCHDOG_USEC=5s", -EINVAL },
		{ "/x", "99999999999999999999", NULL, "WATCHDOG_USEC=9999", -EINVAL },
		{ "/x", "5", "me", "WATCHDOG_PID=me", -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct notify *n = (void *)&loop;
		char why[256] = "";

		setenv("NOTIFY_SOCKET", cases[i].name, 1);
		if (cases[i].usec)
			setenv("WATCHDOG_USEC", cases[i].usec, 1);
		if (cases[i].pid)
			setenv("WATCHDOG_PID", cases[i].pid, 1);
		assert_int_equal(notify_new(&loop, &n, why, sizeof(why)), cases[i].err);
		assert_ptr_equal(n, &loop); /* outputs are untouched on failure */
		assert_non_null(strstr(why, cases[i].why));
		assert_null(getenv("NOTIFY_SOCKET"));
	}
}

/* ---- messages received -------------------------------------------------------------------- */

static void a_status_is_one_line(void **state)
{
	int fd = manager(path);
	struct notify *n = made();
	char *large = malloc(10000);
	const char *text;

	(void)state;
	notify_ready(n, "%s", "a\nREADY=0\r\t\x7f\xc3\xa4z");
	assert_string_equal(received(fd), "READY=1\nSTATUS=a READY=0   ??z");
	assert_non_null(large);
	memset(large, 'l', 9999);
	large[9999] = '\0';
	notify_ready(n, "%s", large);
	text = received(fd);
	assert_int_equal(strlen(text), strlen("READY=1\nSTATUS=") + 1023); /* systemd would drop 4096 */
	free(large);
	closed(n, fd);
}

static void reloading_has_its_time(void **state)
{
	int fd = manager(path);
	struct notify *n = made();
	struct timespec now;
	uint64_t us, now_us;

	(void)state;
	notify_reloading(n);
	clock_gettime(CLOCK_MONOTONIC, &now);
	now_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
	assert_int_equal(sscanf(received(fd), "RELOADING=1\nMONOTONIC_USEC=%" SCNu64 "\nSTATUS=reloading", &us), 1);
	assert_true(us <= now_us && now_us - us < 100000000);
	notify_ready(n, "again");
	assert_string_equal(received(fd), "READY=1\nSTATUS=again");
	closed(n, fd);
}

static void deaf_manager_is_said_once(void **state)
{
	int fd = manager(path), saved = dup(STDERR_FILENO), file;
	struct notify *n = made();
	char name[] = "/tmp/skep-test-notify-log-XXXXXX", text[512] = "";
	const char *first;

	(void)state;
	close(fd);
	file = mkstemp(name);
	assert_true(saved >= 0 && file >= 0);
	unlink(name);
	dup2(file, STDERR_FILENO);
	notify_ready(n, "unread");
	notify_ready(n, "unread");
	dup2(saved, STDERR_FILENO);
	assert_true(pread(file, text, sizeof(text) - 1, 0) > 0);
	first = strstr(text, "cannot tell the service manager");
	assert_non_null(first);
	assert_null(strstr(first + 1, "cannot tell"));
	fd = manager(path); /* the manager is back */
	notify_ready(n, "heard");
	assert_string_equal(received(fd), "READY=1\nSTATUS=heard");
	close(saved);
	close(file);
	closed(n, fd);
}

/* ---- the watchdog ----------------------------------------------------------------------- */

static void on_enough(uv_timer_t *timer)
{
	uv_stop(timer->loop);
}

static void run_for(unsigned ms)
{
	uv_timer_t enough;

	uv_timer_init(&loop, &enough);
	uv_update_time(&loop); /* a timer counts from the loop's time, which is the time of its last run */
	uv_timer_start(&enough, on_enough, ms, 0);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_close((uv_handle_t *)&enough, NULL);
	uv_run(&loop, UV_RUN_NOWAIT);
}

static unsigned pings(int fd)
{
	unsigned n = 0;

	for (const char *text = received(fd); *text; text = received(fd), n++)
		assert_string_equal(text, "WATCHDOG=1");
	return n;
}

static void pings_from_the_loop(void **state)
{
	const struct timespec hang = { .tv_nsec = 400000000 };
	int fd = manager(path);
	struct notify *n;
	char pid[32];
	unsigned count;

	(void)state;
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("WATCHDOG_USEC", "200000", 1); /* each 100 ms */
	setenv("WATCHDOG_PID", pid, 1);
	n = made();
	run_for(250);
	assert_int_equal(pings(fd), 0); /* not before skepd is ready */
	notify_ready(n, "ok");
	assert_string_equal(received(fd), "READY=1\nSTATUS=ok");
	uv_update_time(&loop);
	run_for(550);
	count = pings(fd);
	/* 5; fewer on a busy machine, never more; with the whole interval there would be 2 */
	assert_in_range(count, 3, 5);
	nanosleep(&hang, NULL);       /* a callback that does not return */
	assert_int_equal(pings(fd), 0);
	closed(n, fd);
}

static void pings_not_for_another_process(void **state)
{
	int fd = manager(path);
	struct notify *n;
	char pid[32];

	(void)state;
	snprintf(pid, sizeof(pid), "%d", (int)getppid());
	setenv("WATCHDOG_USEC", "20000", 1);
	setenv("WATCHDOG_PID", pid, 1);
	n = made();
	notify_ready(n, "ok");
	assert_string_equal(received(fd), "READY=1\nSTATUS=ok");
	run_for(100);
	assert_int_equal(pings(fd), 0);
	closed(n, fd);
}

/* How long this thread has waited for a CPU, in ms. */
static uint64_t waited_ms(void)
{
	FILE *f = fopen("/proc/thread-self/schedstat", "re");
	unsigned long long ns = 0;

	if (f && fscanf(f, "%*u %llu", &ns) != 1)
		ns = 0;
	if (f)
		fclose(f);
	return ns / 1000000;
}

static void pings_do_not_wait_for_a_full_queue(void **state)
{
	int fd = manager(path), copy = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct timespec begin, end;
	uint64_t took, busy;
	struct notify *n;

	(void)state;
	assert_true(copy >= 0 && null >= 0);
	setenv("WATCHDOG_USEC", "2000", 1); /* each ms; net.unix.max_dgram_qlen is 10 to 512 */
	n = made();
	notify_ready(n, "ok");
	dup2(null, STDERR_FILENO); /* skepd logs that the manager does not read */
	busy = waited_ms();
	clock_gettime(CLOCK_MONOTONIC, &begin);
	run_for(1200);
	clock_gettime(CLOCK_MONOTONIC, &end);
	busy = waited_ms() - busy;
	dup2(copy, STDERR_FILENO);
	took = (uint64_t)(end.tv_sec - begin.tv_sec) * 1000 + (uint64_t)end.tv_nsec / 1000000 -
	       (uint64_t)begin.tv_nsec / 1000000;
	assert_in_range(took, 1190, busy + 2900); /* one wait would be 2000 more */
	close(null);
	close(copy);
	closed(n, fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nobody_asked, setup, teardown),
		cmocka_unit_test_setup_teardown(path_and_environment, setup, teardown),
		cmocka_unit_test_setup_teardown(abstract_name, setup, teardown),
		cmocka_unit_test_setup_teardown(as_long_as_a_name_can_be, setup, teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_told, setup, teardown),
		cmocka_unit_test_setup_teardown(a_status_is_one_line, setup, teardown),
		cmocka_unit_test_setup_teardown(reloading_has_its_time, setup, teardown),
		cmocka_unit_test_setup_teardown(deaf_manager_is_said_once, setup, teardown),
		cmocka_unit_test_setup_teardown(pings_from_the_loop, setup, teardown),
		cmocka_unit_test_setup_teardown(pings_not_for_another_process, setup, teardown),
		cmocka_unit_test_setup_teardown(pings_do_not_wait_for_a_full_queue, setup, teardown),
	};

	log_program("test_notify");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
