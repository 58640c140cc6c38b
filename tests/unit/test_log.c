/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines as they arrive at stderr. Each test runs in a child of its own, because the log looks up the kind of stderr
 * once per process.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/log.h"

enum stream { NO_STREAM, OUR_STREAM, OTHER_STREAM };

/* The log of fn in a child whose stderr is a file. To be freed. */
static char *logged(void (*fn)(void), enum stream stream)
{
	char name[] = "/tmp/skep-test-log-XXXXXX";
	int fd = mkstemp(name), status;
	struct stat st;
	char *text;
	pid_t pid;

	assert_true(fd >= 0);
	unlink(name);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char value[64];

		dup2(fd, STDERR_FILENO);
		fstat(STDERR_FILENO, &st);
		snprintf(value, sizeof(value), "%llu:%llu", (unsigned long long)st.st_dev,
			 (unsigned long long)st.st_ino + (stream == OTHER_STREAM));
		if (stream == NO_STREAM)
			unsetenv("JOURNAL_STREAM");
		else
			setenv("JOURNAL_STREAM", value, 1);
		log_program("prog");
		fn();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(fstat(fd, &st), 0);
	text = calloc(1, (size_t)st.st_size + 1);
	assert_non_null(text);
	assert_int_equal(pread(fd, text, (size_t)st.st_size, 0), st.st_size);
	close(fd);
	return text;
}

static void assert_logged(void (*fn)(void), enum stream stream, const char *expected)
{
	char *text = logged(fn, stream);

	assert_string_equal(text, expected);
	free(text);
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

static void all_levels(void)
{
	log_level(SKEP_LOG_DEBUG);
	log_error("e %d", 1);
	log_warning("w");
	log_notice("n");
	log_info("i");
	log_debug("d");
	log_at(SKEP_LOG_WARNING, "proc", "ring full");
}

static void test_plain_style(void **state)
{
	static const char expected[] = "prog: error: e 1\nprog: warning: w\nprog: n\nprog: i\nprog: debug: d\n"
				       "prog: warning: proc: ring full\n";

	(void)state;
	assert_logged(all_levels, NO_STREAM, expected);
	/* JOURNAL_STREAM of another process's stderr, inherited. */
	assert_logged(all_levels, OTHER_STREAM, expected);
}

static void test_journal_style(void **state)
{
	(void)state;
	assert_logged(all_levels, OUR_STREAM, "<3>e 1\n<4>w\n<5>n\n<6>i\n<7>d\n<4>proc: ring full\n");
}

static void default_level(void)
{
	log_notice("shown");
	log_info("hidden");
	log_level(SKEP_LOG_ERROR);
	log_warning("hidden");
	log_error("shown too");
}

static void test_level(void **state)
{
	(void)state;
	assert_logged(default_level, NO_STREAM, "prog: shown\nprog: error: shown too\n");
}

static void odd_texts(void)
{
	log_notice("two\nlines\n");
	log_notice("tab\tescape\x1b[31m bell\a");
	log_at(SKEP_LOG_NOTICE, "ev\nil", "x");
	log_notice("%s", "");
	log_notice("%s", "100% \xc3\xa4");
	log_at(SKEP_LOG_NOTICE, "\xff", "/tmp/\xe2\x82 \xc2\x9b");
}

static void test_odd_texts(void **state)
{
	(void)state;
	assert_logged(odd_texts, NO_STREAM,
		      "prog: two\nprog: lines\nprog: tab\tescape\\x1b[31m bell\\x07\n"
		      "prog: ev\\x0ail: x\nprog: 100% \xc3\xa4\nprog: \\xff: /tmp/\\xe2\\x82 \\xc2\\x9b\n");
}

static void long_text(void)
{
	char text[100001];

	memset(text, '\x01', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	errno = ENOTTY;
	log_notice("%s", text);
	if (errno != ENOTTY)
		_exit(1);
}

static void test_long_text(void **state)
{
	char *text = logged(long_text, NO_STREAM);

	(void)state;
	assert_int_equal(strlen(text), strlen("prog: \n") + 4 * 100000);
	assert_int_equal(count(text, "\\x01"), 100000);
	free(text);
}

static void flood(void)
{
	log_rate(5, 10);
	log_level(SKEP_LOG_DEBUG);
	for (int i = 0; i < 100; i++)
		log_at(SKEP_LOG_WARNING, "a", "flood %d", i);
	for (int i = 0; i < 100; i++)
		log_debug("all");
	/* Its limit does not hold back another source, another level or another place. */
	log_at(SKEP_LOG_WARNING, "b", "calm");
	log_at(SKEP_LOG_ERROR, "a", "urgent");
	log_at(SKEP_LOG_WARNING, "a", "other place");
	usleep(250000); /* two tokens */
	log_at(SKEP_LOG_WARNING, "a", "flood %d", -1);
	log_flush();
}

/* stderr of this child is a pipe now; the reading end. Fills it, so that nobody can write until somebody reads. */
static int full_stderr(bool blocking)
{
	char filling[4096];
	int fds[2];

	memset(filling, 'x', sizeof(filling));
	if (pipe2(fds, O_NONBLOCK) != 0)
		_exit(1);
	while (write(fds[1], filling, sizeof(filling)) > 0)
		continue;
	if (fcntl(fds[1], F_SETFL, blocking ? 0 : O_NONBLOCK) != 0)
		_exit(1);
	dup2(fds[1], STDERR_FILENO);
	close(fds[1]);
	return fds[0];
}

/* Reads all that is in the pipe: its end must be the text. */
static void must_end(int fd, const char *expected)
{
	static char text[1 << 20];
	size_t used = 0;
	ssize_t n;

	while ((n = read(fd, text + used, sizeof(text) - used)) > 0)
		used += (size_t)n;
	if (used < strlen(expected) || memcmp(text + used - strlen(expected), expected, strlen(expected)) != 0) {
		printf("wanted '%s', the end of %zu bytes is '%.*s'\n", expected, used,
		       (int)(used < 200 ? used : 200), text + (used < 200 ? 0 : used - 200));
		fflush(stdout);
		_exit(1);
	}
}

static void nobody_reads(bool blocking)
{
	int fd = full_stderr(blocking);

	log_hurry();
	for (int i = 0; i < 3; i++)
		log_notice("lost");
	must_end(fd, "xxx");
	log_notice("first");
	log_notice("second");
	must_end(fd, "prog: warning: 3 earlier lines are lost: standard error did not accept them\n"
		     "prog: first\nprog: second\n");
	close(fd);
}

static void nobody_reads_either(void)
{
	nobody_reads(false);
	nobody_reads(true);
}

/* One page of the pipe has room: stderr accepts the first part of a long line. */
static void a_part_of_a_line(void)
{
	int fd = full_stderr(true);
	char page[4096];

	log_hurry();
	if (read(fd, page, sizeof(page)) != sizeof(page))
		_exit(1);
	memset(page, 'y', sizeof(page) - 1);
	page[sizeof(page) - 1] = '\0';
	log_notice("%s%s", page, page);
	must_end(fd, "yyy");
	log_notice("next");
	must_end(fd, "\nprog: warning: 1 earlier line is lost: standard error did not accept it\nprog: next\n");
}

static void test_nobody_reads_stderr(void **state)
{
	(void)state;
	free(logged(nobody_reads_either, NO_STREAM));
	free(logged(a_part_of_a_line, NO_STREAM));
}

static void test_rate(void **state)
{
	char *text = logged(flood, NO_STREAM);
	const char *summary;

	(void)state;
	assert_int_equal(count(text, "a: flood"), 6);
	assert_int_equal(count(text, "a: other place"), 1);
	assert_non_null(strstr(text, "a: flood 4\n"));
	assert_int_equal(count(text, "debug: all"), 100);
	assert_int_equal(count(text, "b: calm"), 1);
	assert_int_equal(count(text, "error: a: urgent"), 1);
	assert_int_equal(count(text, "more like this"), 1);
	summary = strstr(text, "prog: warning: a: 95 more like this: flood %d\n");
	assert_non_null(summary);
	/* The summary comes before the next line that passes. */
	assert_true(summary < strstr(text, "a: flood -1\n"));
	free(text);
}

static void flood_then_flush(void)
{
	log_rate(1, 1);
	for (int i = 0; i < 4; i++)
		log_notice("x");
	log_flush();
	log_flush();
}

static void test_flush(void **state)
{
	(void)state;
	assert_logged(flood_then_flush, NO_STREAM, "prog: x\nprog: 3 more like this: x\n");
}

static void many_sources(void)
{
	char name[32];

	log_rate(1, 0);
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		log_at(SKEP_LOG_NOTICE, name, "x");
	}
	log_flush();
}

static void test_many_sources(void **state)
{
	char *text = logged(many_sources, NO_STREAM);

	(void)state;
	/* 1,024 sources have a bucket of their own; the others share one, which holds lines back and reports that. */
	assert_int_equal(count(text, ": x\n"), 1024);
	assert_non_null(strstr(text, "others: 976 more like this"));
	free(text);
}

#define THREADS 4
#define LINES 2000

static void *one_thread(void *arg)
{
	for (int i = 0; i < LINES; i++)
		log_at(SKEP_LOG_NOTICE, arg, "line %d of this thread, long enough to be torn", i);
	return NULL;
}

static void threads(void)
{
	static char names[THREADS][8] = { "t0", "t1", "t2", "t3" };
	pthread_t thread[THREADS];

	log_rate(THREADS * LINES, 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, one_thread, names[i]))
			_exit(1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

static void test_threads(void **state)
{
	char *text = logged(threads, NO_STREAM);
	int next[THREADS] = { 0 }, n, length;
	unsigned thread;
	const char *p;

	(void)state;
	for (p = text; *p; p += length) {
		length = 0;
		assert_int_equal(
			sscanf(p, "prog: t%1u: line %d of this thread, long enough to be torn%n", &thread, &n, &length),
			2);
		assert_true(length > 0 && thread < THREADS);
		assert_int_equal(p[length], '\n');
		length++;
		assert_int_equal(n, next[thread]);
		next[thread]++;
	}
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(next[i], LINES);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_style),
		cmocka_unit_test(test_journal_style),
		cmocka_unit_test(test_level),
		cmocka_unit_test(test_odd_texts),
		cmocka_unit_test(test_long_text),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_nobody_reads_stderr),
		cmocka_unit_test(test_flush),
		cmocka_unit_test(test_many_sources),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
