/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/daemon/notify.c - systemd's notify protocol: datagrams of NAME=value lines to a Unix
 * socket.  Only a timer of the loop pings the watchdog.  When the loop hangs, in a plugin's callback or in a write(2)
 * that does not return, the pings stop, and the manager restarts the service.
 */
#include "core/daemon/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/base/magic.h"
#include "core/base/log.h"

/* systemd reads 4096 bytes (PIPE_BUF) and drops a longer message: NOTIFY_BUFFER_MAX, v252. */
#define MESSAGE_MAX 2048u
#define STATUS_MAX  1024u
/* A lost READY=1 would cost the whole start, so skepd waits for a manager that is slow to read. */
#define SEND_WAIT_S 2

#define MAGIC_notify 0x207111f7u
struct notify {
	uint32_t magic;
	int fd;
	struct sockaddr_un to;
	socklen_t to_len;
	uint64_t ping_ms; /* 0: no watchdog */
	uv_timer_t timer;
	bool failed;      /* the last message; logged once */
};

/* ---- the environment ---------------------------------------------------------------- */

static int address(const char *text, struct notify *n, char *why, size_t why_size)
{
	size_t len = strlen(text);

	/* "vsock:" is for a manager outside of the virtual machine (v254); a service's own manager does not use it. */
	if ((text[0] != '/' && text[0] != '@') || len < 2) {
		snprintf(why, why_size, "NOTIFY_SOCKET=%s: neither a path nor an abstract socket (@name)", text);
		return -EAFNOSUPPORT;
	}
	if (len >= sizeof(n->to.sun_path)) {
		snprintf(why, why_size, "NOTIFY_SOCKET has %zu bytes, a socket's name at most %zu", len,
			 sizeof(n->to.sun_path) - 1);
		return -ENAMETOOLONG;
	}
	n->to.sun_family = AF_UNIX;
	memcpy(n->to.sun_path, text, len);
	n->to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	if (text[0] == '@')
		n->to.sun_path[0] = '\0'; /* abstract: to_len ends the name, not a NUL */
	else
		n->to_len++;
	return 0;
}

/* Digits only. */
static bool number(const char *text, uint64_t *ret)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0';
}

/* WATCHDOG_PID names the process that pings: a child that inherited the variables must not ping for its parent. */
static int watchdog(struct notify *n, char *why, size_t why_size)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t us, owner;

	if (!usec)
		return 0;
	if (pid && (!number(pid, &owner) || owner == 0)) {
		snprintf(why, why_size, "WATCHDOG_PID=%s is no process", pid);
		return -EINVAL;
	}
	if (pid && owner != (uint64_t)getpid())
		return 0;
	if (!number(usec, &us) || us == 0) {
		snprintf(why, why_size, "WATCHDOG_USEC=%s is no time in microseconds", usec);
		return -EINVAL;
	}
	/* Half of the time, as sd_watchdog_enabled(3) advises: one ping may be late. */
	n->ping_ms = us / 2000 > 0 ? us / 2000 : 1;
	return 0;
}

int notify_new(uv_loop_t *loop, struct notify **ret, char *why, size_t why_size)
{
	const struct timeval wait = { .tv_sec = SEND_WAIT_S };
	const char *name = getenv("NOTIFY_SOCKET");
	struct notify *n = NULL;
	int err = 0;

	if (!name || !*name) {
		*ret = NULL;
		goto out;
	}
	n = calloc(1, sizeof(*n));
	if (!n) {
		snprintf(why, why_size, "out of memory");
		err = -ENOMEM;
		goto out;
	}
	n->magic = MAGIC_notify;
	n->fd = -1;
	err = address(name, n, why, why_size);
	if (!err)
		err = watchdog(n, why, why_size);
	if (err)
		goto out;
	n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (n->fd < 0 || setsockopt(n->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0) {
		err = -errno;
		snprintf(why, why_size, "cannot make a socket: %s", strerror(-err));
		goto out;
	}
	uv_timer_init(loop, &n->timer); /* cannot fail */
	n->timer.data = n;
	*ret = n;
	n = NULL;
out:
	if (n) {
		if (n->fd >= 0)
			close(n->fd);
		free(n);
	}
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	return err;
}

static void on_closed(uv_handle_t *handle)
{
	struct notify *n = MAGIC_OBJECT(notify, handle->data);

	close(n->fd);
	free(n);
}

void notify_close(struct notify *n)
{
	if (n)
		uv_close((uv_handle_t *)&n->timer, on_closed);
}

/* ---- messages ------------------------------------------------------------------------- */

static void send_message(struct notify *n, const char *message, int flags)
{
	ssize_t done;

	do
		done = sendto(n->fd, message, strlen(message), flags | MSG_NOSIGNAL, (const struct sockaddr *)&n->to,
			      n->to_len);
	while (done < 0 && errno == EINTR);
	/* A manager that restarts has no socket for a moment: the next message may arrive. */
	if (done < 0 && !n->failed)
		log_warning("cannot tell the service manager: %s", strerror(errno));
	n->failed = done < 0;
}

/*
 * One line of printable ASCII: a new line would begin another assignment (READY=1 out of a
 * file's name), and systemd drops a STATUS that is not UTF-8 (v252, service_notify_message).
 */
static void one_line(char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c < ' ' || c == 0x7f)
			*s = ' ';
		else if (c > 0x7f)
			*s = '?';
	}
}

__attribute__((format(printf, 3, 0))) static void send_state(struct notify *n, const char *state, const char *fmt,
							     va_list ap)
{
	char status[STATUS_MAX], message[MESSAGE_MAX];

	vsnprintf(status, sizeof(status), fmt, ap); /* cut where it is longer */
	one_line(status);
	snprintf(message, sizeof(message), "%s\nSTATUS=%s", state, status);
	send_message(n, message, 0);
}

static void on_ping(uv_timer_t *timer)
{
	/* Does not wait: the next ping still comes in time. */
	send_message(timer->data, "WATCHDOG=1", MSG_DONTWAIT);
}

void notify_ready(struct notify *n, const char *fmt, ...)
{
	va_list ap;

	if (!n)
		return;
	va_start(ap, fmt);
	send_state(n, "READY=1", fmt, ap);
	va_end(ap);
	if (n->ping_ms > 0 && !uv_is_active((uv_handle_t *)&n->timer))
		uv_timer_start(&n->timer, on_ping, n->ping_ms, n->ping_ms); /* fails only without a callback */
}

/* State and time in one datagram: Type=notify-reload (v253) ignores a time that comes alone. */
void notify_reloading(struct notify *n)
{
	char message[MESSAGE_MAX];
	struct timespec now;

	if (!n)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(message, sizeof(message), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\nSTATUS=reloading",
		 (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
	send_message(n, message, 0);
}

void notify_stopping(struct notify *n, uint64_t us, const char *fmt, ...)
{
	char state[64];
	va_list ap;

	if (!n)
		return;
	va_start(ap, fmt);
	snprintf(state, sizeof(state), "STOPPING=1\nEXTEND_TIMEOUT_USEC=%llu", (unsigned long long)us);
	send_state(n, state, fmt, ap);
	va_end(ap);
}
