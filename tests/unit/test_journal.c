/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages as they arrive at the journal's socket. The test reads a socket of its own, and a child logs, because the
 * log looks up the kind of stderr once per process.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/journal.h"
#include "core/base/log.h"

static char folder[] = "/tmp/skep-test-journal-XXXXXX";
static char path[64];

static int listen_there(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	strcpy(at.sun_path, path);
	unlink(path);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

/* Runs fn in a child whose stderr claims to be the journal; returns what the child wrote to stderr. To be freed. */
static char *logged(void (*fn)(void))
{
	char name[] = "/tmp/skep-test-journal-err-XXXXXX", value[64];
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
		dup2(fd, STDERR_FILENO);
		fstat(STDERR_FILENO, &st);
		snprintf(value, sizeof(value), "%llu:%llu", (unsigned long long)st.st_dev,
			 (unsigned long long)st.st_ino);
		setenv("JOURNAL_STREAM", value, 1);
		log_program("prog");
		log_journal(path);
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

/* The next datagram, or the content of its memfd; sets the length. To be freed. */
static char *receive(int fd, size_t *ret_len, bool *ret_memfd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char *data = malloc(1 << 20);
	struct iovec vector = { data, 1 << 20 };
	struct msghdr message = {
		.msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	struct stat st;
	int memory;

	assert_true(n >= 0);
	*ret_len = (size_t)n;
	*ret_memfd = header != NULL;
	if (!header)
		return data;
	/* journald-native.c refuses a memfd that is not sealed or comes with a payload. */
	assert_int_equal(n, 0);
	memcpy(&memory, CMSG_DATA(header), sizeof(memory));
	assert_int_equal(fcntl(memory, F_GET_SEALS), F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	assert_int_equal(fstat(memory, &st), 0);
	free(data);
	data = malloc((size_t)st.st_size + 1);
	assert_int_equal(pread(memory, data, (size_t)st.st_size, 0), st.st_size);
	*ret_len = (size_t)st.st_size;
	close(memory);
	return data;
}

static bool nothing_more(int fd)
{
	char c;

	return recv(fd, &c, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/* The value of a field, as the journal reads it. NULL: no such field. To be freed. */
static char *field(const char *data, size_t len, const char *key)
{
	const char *p = data, *end = data + len;
	char *found = NULL;

	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p)), *value;
		const char *equals = newline ? memchr(p, '=', (size_t)(newline - p)) : NULL;
		size_t key_len, value_len;

		assert_non_null(newline);
		if (equals) {
			key_len = (size_t)(equals - p);
			value = equals + 1;
			value_len = (size_t)(newline - value);
		} else {
			uint64_t n;

			key_len = (size_t)(newline - p);
			assert_true(end - newline > 9);
			memcpy(&n, newline + 1, sizeof(n));
			value = newline + 9;
			value_len = le64toh(n);
			assert_true(value_len < (size_t)(end - value));
		}
		assert_int_equal(value[value_len], '\n');
		if (strlen(key) == key_len && memcmp(key, p, key_len) == 0) {
			assert_null(found);
			found = strndup(value, value_len);
		}
		p = value + value_len + 1;
	}
	return found;
}

static void assert_field(const char *data, size_t len, const char *key, const char *expected)
{
	char *value = field(data, len, key);

	if (!value != !expected || (value && strcmp(value, expected) != 0))
		fail_msg("%s is \"%s\", expected \"%s\"", key, value ? value : "(none)",
			 expected ? expected : "(none)");
	free(value);
}

static void assert_message(int fd, const char *message, const char *priority)
{
	bool memfd;
	size_t len;
	char *data = receive(fd, &len, &memfd);

	assert_field(data, len, "MESSAGE", message);
	assert_field(data, len, "PRIORITY", priority);
	free(data);
}

static int here;

static void one_message(void)
{
	log_because(SKEP_LOG_WARNING, "io", "no room", "cannot %s", "start");
	log_notice("x");
}

static void test_fields(void **state)
{
	int fd = listen_there();
	char *text = logged(one_message), *data, *value;
	bool memfd;
	size_t len;

	(void)state;
	assert_string_equal(text, "");
	data = receive(fd, &len, &memfd);
	assert_false(memfd);
	assert_field(data, len, "MESSAGE", "io: cannot start");
	assert_field(data, len, "PRIORITY", "4");
	assert_field(data, len, "SYSLOG_IDENTIFIER", "prog");
	assert_field(data, len, "SKEP_PLUGIN", "io");
	assert_field(data, len, "SKEP_REASON", "no room");
	assert_field(data, len, "CODE_FUNC", "one_message");
	value = field(data, len, "CODE_FILE");
	assert_non_null(value);
	assert_non_null(strstr(value, "test_journal.c"));
	free(value);
	value = field(data, len, "CODE_LINE");
	assert_non_null(value);
	assert_true(atoi(value) > 100);
	free(value);
	free(data);
	data = receive(fd, &len, &memfd);
	assert_field(data, len, "MESSAGE", "x");
	assert_field(data, len, "SKEP_PLUGIN", NULL);
	assert_field(data, len, "SKEP_REASON", NULL);
	free(data);
	assert_true(nothing_more(fd));
	close(fd);
	free(text);
}

static void odd_messages(void)
{
	log_notice("two\nPRIORITY=0\nlines\n");
	log_at(SKEP_LOG_NOTICE, "ev\nil", "tab\tescape\x1b[31m");
}

static void test_nothing_forged(void **state)
{
	int fd = listen_there();
	char *text = logged(odd_messages);

	(void)state;
	assert_message(fd, "two\nPRIORITY=0\nlines", "5"); /* a length, not a field of its own */
	assert_message(fd, "ev\\x0ail: tab\tescape\\x1b[31m", "5");
	assert_true(nothing_more(fd));
	close(fd);
	free(text);
}

#define LONG 4000000u

static void long_message(void)
{
	char *long_text = malloc(LONG + 1);

	memset(long_text, 'y', LONG);
	long_text[LONG] = '\0';
	log_notice("%s", long_text);
	free(long_text);
}

static void test_long(void **state)
{
	int fd = listen_there();
	char *text = logged(long_message), *data, *value;
	bool memfd;
	size_t len;

	(void)state;
	data = receive(fd, &len, &memfd);
	assert_true(memfd);
	value = field(data, len, "MESSAGE");
	assert_non_null(value);
	assert_int_equal(strlen(value), LONG);
	assert_int_equal(strspn(value, "y"), LONG);
	free(value);
	free(data);
	close(fd);
	free(text);
}

static void test_no_journal(void **state)
{
	char *text;

	(void)state;
	unlink(path);
	text = logged(one_message);
	assert_string_equal(text, "<4>io: cannot start\n<5>x\n");
	free(text);
}

static bool child_reads(const char *what)
{
	char data[512];
	ssize_t n = recv(here, data, sizeof(data) - 1, MSG_DONTWAIT);

	data[n < 0 ? 0 : n] = '\0';
	return strncmp(data, what, strlen(what)) == 0;
}

static void restart(void)
{
	log_notice("before");
	if (!child_reads("MESSAGE=before\n"))
		_exit(1);
	shutdown(here, SHUT_RD); /* the parent has it open as well */
	close(here);
	here = listen_there();
	log_notice("after");
	if (!child_reads("MESSAGE=after\n"))
		_exit(2);
}

static void test_journal_restarts(void **state)
{
	char *text;

	(void)state;
	here = listen_there();
	text = logged(restart);
	assert_string_equal(text, "");
	close(here);
	free(text);
}

/* The journal's queue (net.unix.max_dgram_qlen) is full and stays full until the journal reads. */
static void full(void)
{
	char c[64];
	int i;

	log_rate(100000, 1);
	for (i = 0; i < 5000; i++)
		log_at(SKEP_LOG_NOTICE, "a", "message %d", i);
	while (recv(here, c, sizeof(c), MSG_DONTWAIT) >= 0)
		;
	log_notice("last");
}

static void test_journal_takes_nothing(void **state)
{
	unsigned long long missing = 0;
	char *text, *data, *value;
	bool memfd;
	size_t len;

	(void)state;
	here = listen_there();
	text = logged(full);
	assert_string_equal(text, "");
	assert_message(here, "last", "5");
	data = receive(here, &len, &memfd);
	value = field(data, len, "MESSAGE");
	assert_non_null(value);
	assert_int_equal(sscanf(value, "%llu earlier messages are lost", &missing), 1);
	assert_true(missing > 1000 && missing < 5000);
	free(value);
	free(data);
	assert_true(nothing_more(here));
	close(here);
	free(text);
}

static void flood(void)
{
	log_rate(2, 1);
	for (int i = 0; i < 10; i++)
		log_at(SKEP_LOG_WARNING, "a", "flood %d", i);
	log_flush();
}

static void test_rate(void **state)
{
	int fd = listen_there();
	char *text = logged(flood);

	(void)state;
	assert_message(fd, "a: flood 0", "4");
	assert_message(fd, "a: flood 1", "4");
	assert_message(fd, "a: 8 more like this: flood %d", "4");
	assert_true(nothing_more(fd));
	close(fd);
	free(text);
}

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/socket", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_nothing_forged),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_no_journal),
		cmocka_unit_test(test_journal_restarts),
		cmocka_unit_test(test_journal_takes_nothing),
		cmocka_unit_test(test_rate),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
