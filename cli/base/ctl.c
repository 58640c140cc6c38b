/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/ctl.c - connects to a skepd, sends requests, reads lines.  The calls block for a limited time: a daemon that
 * hangs must not hang the command by which an operator looks for the cause.
 */
#include "cli/base/ctl.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/skep.h"
#include "cli/base/text.h"
#include "core/config/config.h"
#include "core/control/control.h"

#define ANSWER_MS 30000
#define LINE_MOST (64u << 20) /* an answer about thousands of streams is far below */

struct ctl {
	int fd;
	char *path;
	char *buf;
	size_t len, room;
	size_t taken; /* bytes of the line that was returned last, at the beginning of buf */
};

/* ---- connected ------------------------------------------------------------------- */

static int connect_to(int fd, const char *path, const char *ending)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	if (strlen(path) + strlen(ending) >= sizeof(at.sun_path))
		return -ENAMETOOLONG;
	strcat(strcpy(at.sun_path, path), ending);
	return connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 ? -errno : 0;
}

/* all: where only members of group skep may connect, uses the socket for all users. */
static int ctl_new(const char *path, bool all, struct ctl **ret)
{
	struct ctl *ctl;
	int err = 0;

	if (!path)
		path = getenv("SKEP_SOCKET");
	if (!path || !*path)
		path = CONTROL_SOCKET_DEFAULT;
	ctl = calloc(1, sizeof(*ctl));
	if (!ctl)
		return -ENOMEM;
	ctl->path = strdup(path);
	ctl->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (!ctl->path)
		err = -ENOMEM;
	else if (ctl->fd < 0)
		err = -errno;
	if (err == 0)
		err = connect_to(ctl->fd, path, "");
	if (err == -EACCES && all && connect_to(ctl->fd, path, CONTROL_OPEN_ENDING) == 0)
		err = 0;
	*ret = ctl; /* also on failure, for its path */
	return err;
}

void ctl_close(struct ctl *ctl)
{
	if (!ctl)
		return;
	if (ctl->fd >= 0)
		close(ctl->fd);
	free(ctl->path);
	free(ctl->buf);
	free(ctl);
}

static int say_failure(const char *command, const char *path, int err)
{
	char *safe = text_safe(path, false);
	int status;

	switch (err) {
	case -ENOENT:
	case -ECONNREFUSED:
		status = skep_fail(
			command, SKEP_EXIT_RUNTIME,
			"no skepd listens at %s%s.\nStart one: systemctl start skepd, or in a shell: skepd -c FILE &\n"
			"Does it listen elsewhere (\"control\" in its configuration)? Then: "
			"--socket PATH, or SKEP_SOCKET=PATH",
			safe ? safe : "", err == -ECONNREFUSED ? " (its socket is left, but no process listens)" : "");
		break;
	case -EACCES:
	case -EPERM:
		status = skep_fail(
			command, SKEP_EXIT_PRIVILEGE,
			"uid %u may not connect to the skepd at %s: "
			"only root, its own user and members of group skep may.\nRun it as root, or: "
			"sudo usermod -a -G skep USER (and log in again)",
			(unsigned)geteuid(), safe ? safe : "");
		break;
	default:
		status = skep_fail(command, SKEP_EXIT_RUNTIME, "cannot talk to a skepd at %s: %s", safe ? safe : "",
				   strerror(-err));
		break;
	}
	free(safe);
	return status;
}

int ctl_open(const char *command, const char *path, struct ctl **ret)
{
	struct ctl *ctl = NULL;
	int err = ctl_new(path, true, &ctl), status;

	if (err == 0) {
		*ret = ctl;
		return SKEP_EXIT_OK;
	}
	status = ctl ? say_failure(command, ctl->path ? ctl->path : "", err)
		     : skep_fail(command, SKEP_EXIT_RUNTIME, "out of memory");
	ctl_close(ctl);
	return status;
}

static bool try(const char *path, bool all, struct ctl **ret)
{
	struct ctl *ctl = NULL;

	if (ctl_new(path, all, &ctl) < 0) {
		ctl_close(ctl);
		return false;
	}
	*ret = ctl;
	return true;
}

bool ctl_try(const char *path, struct ctl **ret)
{
	return try(path, false, ret);
}

bool ctl_try_own(const char *path, struct ctl **ret)
{
	return try(path, true, ret);
}

int ctl_peer_pid(const struct ctl *ctl)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);

	return getsockopt(ctl->fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) == 0 ? cred.pid : 0;
}

int ctl_fd(const struct ctl *ctl)
{
	return ctl->fd;
}

/* ---- lines ------------------------------------------------------------------------- */

int ctl_send(struct ctl *ctl, json_t *request)
{
	char *text = request ? json_dumps(request, JSON_COMPACT) : NULL, *line = NULL;
	size_t done = 0, len;
	int err = -ENOMEM;

	json_decref(request);
	if (!text || asprintf(&line, "%s\n", text) < 0)
		goto out;
	len = strlen(line);
	err = 0;
	while (done < len && err == 0) {
		ssize_t n = send(ctl->fd, line + done, len - done, MSG_NOSIGNAL);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			err = -errno;
	}
	free(line);
out:
	free(text);
	return err;
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int read_more(struct ctl *ctl, int timeout_ms)
{
	struct pollfd p = { .fd = ctl->fd, .events = POLLIN };
	ssize_t n;
	int ready;

	if (ctl->len == ctl->room) {
		size_t room = ctl->room ? ctl->room * 2 : 65536;
		char *buf = room <= LINE_MOST ? realloc(ctl->buf, room) : NULL;

		if (!buf)
			return room <= LINE_MOST ? -ENOMEM : -EMSGSIZE;
		ctl->buf = buf;
		ctl->room = room;
	}
	ready = poll(&p, 1, timeout_ms);
	if (ready < 0)
		return -errno;
	if (ready == 0)
		return -EAGAIN;
	n = recv(ctl->fd, ctl->buf + ctl->len, ctl->room - ctl->len, 0);
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	if (n == 0)
		return -EPIPE;
	ctl->len += (size_t)n;
	return 0;
}

int ctl_receive(struct ctl *ctl, int timeout_ms, json_t **ret)
{
	uint64_t until = now_ms() + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0);
	size_t seen = 0;
	json_t *value;
	char *end;

	ctl->len -= ctl->taken;
	if (ctl->taken > 0)
		memmove(ctl->buf, ctl->buf + ctl->taken, ctl->len);
	ctl->taken = 0;
	while (!(end = ctl->len > seen ? memchr(ctl->buf + seen, '\n', ctl->len - seen) : NULL)) {
		uint64_t now = now_ms();
		int err;

		seen = ctl->len;
		err = read_more(ctl, timeout_ms < 0 ? -1 : now < until ? (int)(until - now) : 0);
		if (err < 0)
			return err;
	}
	ctl->taken = (size_t)(end - ctl->buf) + 1;
	value = json_loadb(ctl->buf, ctl->taken - 1, JSON_ALLOW_NUL, NULL); /* a plugin's text field may hold one */
	if (!json_is_object(value)) {
		json_decref(value);
		return -EBADMSG;
	}
	*ret = value;
	return 0;
}

int ctl_receive_file(struct ctl *ctl, uint64_t n, int timeout_ms, int to)
{
	while (n > 0) {
		size_t have = ctl->len - ctl->taken;
		ssize_t done;
		int err;

		if (have > n)
			have = n;
		done = have > 0 ? write(to, ctl->buf + ctl->taken, have) : 0;
		if (done < 0 && errno != EINTR)
			return -errno;
		if (have > 0) {
			ctl->taken += done > 0 ? (size_t)done : 0;
			n -= done > 0 ? (uint64_t)done : 0;
			continue;
		}
		ctl->len = ctl->taken = 0;
		err = read_more(ctl, timeout_ms);
		if (err < 0 && err != -EINTR)
			return err;
	}
	return 0;
}

/* ---- questions ----------------------------------------------------------------------- */

int ctl_refused(const char *command, const json_t *answer)
{
	const char *why = json_string_value(json_object_get(answer, "error"));
	const char *code = json_string_value(json_object_get(answer, "code"));
	char *safe = text_safe(why ? why : "it gave no reason", false);
	bool permission = code && strcmp(code, "permission") == 0;
	int status = skep_fail(command, permission ? SKEP_EXIT_PRIVILEGE : SKEP_EXIT_RUNTIME, "%s", safe ? safe : "");

	free(safe);
	return status;
}

int ctl_ask(const char *command, struct ctl *ctl, json_t *request, json_t **ret)
{
	int err = ctl_send(ctl, request), got, status;
	json_t *answer = NULL;

	/* Read also when sending failed: a daemon that refuses this client sends the reason and closes. */
	do
		got = ctl_receive(ctl, ANSWER_MS, &answer);
	while (got == -EINTR);
	if (got < 0) {
		err = err < 0 ? err : got;
		if (err == -EAGAIN)
			return skep_fail(command, SKEP_EXIT_RUNTIME,
					 "skepd (pid %d) has not answered within %d s: see its log, and skep "
					 "status", ctl_peer_pid(ctl),
					 ANSWER_MS / 1000);
		if (err == -EPIPE)
			return skep_fail(command, SKEP_EXIT_RUNTIME,
					 "skepd closed the connection: it is stopping, or its limit of clients is "
					 "reached");
		return skep_fail(command, SKEP_EXIT_RUNTIME, "no answer from skepd: %s", strerror(-err));
	}
	if (json_is_true(json_object_get(answer, "ok"))) {
		*ret = answer;
		return SKEP_EXIT_OK;
	}
	status = ctl_refused(command, answer);
	json_decref(answer);
	return status;
}
