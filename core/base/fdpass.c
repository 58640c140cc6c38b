/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/fdpass.c - one SCM_RIGHTS control message per message.
 */
#include "core/base/fdpass.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(FDPASS_MOST * sizeof(int))];
};

int fdpass_send(int to, const void *data, size_t size, const int *fds, size_t n)
{
	union control control = { .room = { 0 } };
	struct iovec part = { (void *)(uintptr_t)data, size };
	const struct msghdr message = { .msg_iov = &part,
					.msg_iovlen = 1,
					.msg_control = control.room,
					.msg_controllen = CMSG_SPACE(n * sizeof(int)) };

	if (n > FDPASS_MOST)
		return -EINVAL;
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(&control.head), fds, n * sizeof(int));
	return sendmsg(to, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* How many descriptors came; ret: the first ones. */
static size_t received(struct msghdr *message, int ret[FDPASS_MOST])
{
	const struct cmsghdr *head = CMSG_FIRSTHDR(message);
	size_t n;

	if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
		return 0;
	n = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(ret, CMSG_DATA(head), n * sizeof(int));
	return n;
}

ssize_t fdpass_receive(int from, void *ret_data, size_t size, int *ret_fds, size_t n)
{
	union control control = { .room = { 0 } };
	struct iovec part = { ret_data, size };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.room,
				  .msg_controllen = sizeof(control.room) };
	ssize_t len = recvmsg(from, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int fds[FDPASS_MOST];
	size_t came;

	if (len <= 0)
		return len < 0 ? -errno : 0;
	came = received(&message, fds);
	if (came == n && !(message.msg_flags & MSG_CTRUNC)) {
		memcpy(ret_fds, fds, n * sizeof(int));
		return len;
	}
	while (came > 0)
		close(fds[--came]);
	return -EBADMSG;
}
