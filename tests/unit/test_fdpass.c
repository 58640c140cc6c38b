/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_fdpass.c - a message has the number of descriptors that the receiver expects, or leaves none open.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/fdpass.h"

static int ends[2];

static int setup(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

static int teardown(void **state)
{
	(void)state;
	return close(ends[0]) | close(ends[1]);
}

/* The lowest free number grows with each descriptor that stays open. */
static int lowest(void)
{
	int fd = dup(ends[0]);

	close(fd);
	return fd;
}

static void as_many_as_expected(void **state)
{
	int pipe_ends[2], got[2];
	char text[8] = "";

	(void)state;
	assert_int_equal(pipe(pipe_ends), 0);
	assert_int_equal(fdpass_send(ends[0], "two", 4, pipe_ends, 2), 0);
	assert_int_equal(fdpass_receive(ends[1], text, sizeof(text), got, 2), 4);
	assert_string_equal(text, "two");
	assert_int_equal(write(got[1], "x", 1), 1);
	assert_int_equal(read(pipe_ends[0], text, sizeof(text)), 1);
	for (int i = 0; i < 2; i++) {
		close(got[i]);
		close(pipe_ends[i]);
	}
}

static void another_number(void **state)
{
	const int same[3] = { ends[0], ends[0], ends[0] };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(same))];
	} control = { .room = "" };
	char byte = 0;
	struct iovec part = { &byte, 1 };
	const struct msghdr three = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	int before = lowest(), got[2];

	(void)state;
	assert_int_equal(send(ends[0], &byte, 1, 0), 1);
	assert_int_equal(fdpass_receive(ends[1], &byte, 1, got, 1), -EBADMSG);
	assert_int_equal(fdpass_send(ends[0], &byte, 1, same, 2), 0);
	assert_int_equal(fdpass_receive(ends[1], &byte, 1, got, 1), -EBADMSG);
	assert_int_equal(fdpass_send(ends[0], &byte, 1, same, 1), 0);
	assert_int_equal(fdpass_receive(ends[1], &byte, 1, got, 2), -EBADMSG);
	assert_int_equal(fdpass_send(ends[0], &byte, 1, same, 3), -EINVAL);
	control.head.cmsg_len = CMSG_LEN(sizeof(same));
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	memcpy(CMSG_DATA(&control.head), same, sizeof(same));
	assert_int_equal(sendmsg(ends[0], &three, 0), 1);
	assert_int_equal(fdpass_receive(ends[1], &byte, 1, got, 2), -EBADMSG);
	assert_int_equal(lowest(), before);
}

static void nothing_to_receive(void **state)
{
	char byte;
	int got;

	(void)state;
	assert_int_equal(fdpass_receive(ends[1], &byte, 1, &got, 1), -EAGAIN);
	shutdown(ends[0], SHUT_WR);
	assert_int_equal(fdpass_receive(ends[1], &byte, 1, &got, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(as_many_as_expected, setup, teardown),
		cmocka_unit_test_setup_teardown(another_number, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_to_receive, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
