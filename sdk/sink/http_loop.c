/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs libcurl on the plugin host's loop: the host watches libcurl's sockets and keeps its one timer.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sdk/sink/http_priv.h"

/*
 * The layer watches a duplicate of libcurl's descriptor.  libcurl (7.88 at least) closes connecting sockets and those
 * of its name look-up before it reports the close.  It may reuse the number at once without a report.  A watch keeps
 * its events for life: when libcurl wants other events, the layer makes a new watch.
 */
struct http_socket {
	struct http *http;
	curl_socket_t fd;
	int watched; /* the duplicate; -1: none */
	ino_t inode; /* identifies the watched socket */
	unsigned events;
	struct skep_watch *watch;
	struct http_socket *next, **link;
};

static void on_socket(struct skep_instance *, void *, unsigned);

static void unwatch(struct http_socket *s)
{
	s->http->host->watch_close(s->watch);
	s->watch = NULL;
	if (s->watched >= 0)
		close(s->watched);
	s->watched = -1;
}

static int watch(struct http_socket *s)
{
	struct http *h = s->http;
	struct stat st;

	if (s->watched < 0) {
		s->watched = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
		if (s->watched < 0 || fstat(s->watched, &st) != 0)
			return -errno;
		s->inode = st.st_ino;
	}
	h->host->watch_close(s->watch);
	s->watch = NULL;
	return h->host->watch_fd(h->inst, s->watched, s->events, on_socket, s, &s->watch);
}

/* Finds sockets that libcurl has closed or replaced without a report, and watches them anew. */
static void look_after(struct http *h)
{
	struct stat st;

	for (struct http_socket *s = h->sockets; s; s = s->next) {
		if (s->watched < 0)
			continue;
		if (fstat(s->fd, &st) != 0) {
			unwatch(s);
		} else if (st.st_ino != s->inode) {
			unwatch(s);
			watch(s); /* on failure see set_socket() */
		}
	}
}

static void drain(struct http *h)
{
	CURLMsg *m;
	int left;

	while (h->multi && (m = curl_multi_info_read(h->multi, &left)))
		if (m->msg == CURLMSG_DONE)
			skep_http_over(h, m->easy_handle, m->data.result);
	look_after(h);
}

static void on_socket(struct skep_instance *inst, void *arg, unsigned events)
{
	struct http_socket *s = arg; /* freed by the call below when libcurl closes the socket */
	struct http *h = s->http;
	int mask = 0, running;

	(void)inst;
	if (events & SKEP_READABLE)
		mask |= CURL_CSELECT_IN;
	if (events & SKEP_WRITABLE)
		mask |= CURL_CSELECT_OUT;
	curl_multi_socket_action(h->multi, s->fd, mask, &running);
	drain(h);
}

static void on_timer(struct skep_instance *inst, void *arg)
{
	struct http *h = arg;
	int running;

	(void)inst;
	h->host->timer_close(h->timer);
	h->timer = NULL;
	curl_multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	drain(h);
}

/* libcurl calls this function, so it must not call libcurl. */
static int set_timer(CURLM *multi, long ms, void *arg)
{
	struct http *h = arg;

	(void)multi;
	h->host->timer_close(h->timer);
	h->timer = NULL;
	h->timer_err = 0;
	if (ms >= 0)
		h->timer_err = h->host->timer(h->inst, (uint64_t)ms, 0, on_timer, h, &h->timer);
	return 0;
}

static void socket_free(struct http_socket *s)
{
	unwatch(s);
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	free(s);
}

static int socket_watch(struct http *h, struct http_socket *s, curl_socket_t fd, unsigned events)
{
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return -ENOMEM;
		s->http = h;
		s->fd = fd;
		s->watched = -1;
		s->next = h->sockets;
		s->link = &h->sockets;
		if (s->next)
			s->next->link = &s->next;
		h->sockets = s;
		curl_multi_assign(h->multi, fd, s);
	}
	if (s->watch && s->events == events)
		return 0;
	s->events = events;
	return watch(s);
}

static int set_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket)
{
	struct http *h = arg;
	unsigned events = 0;
	int err;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (socket)
			socket_free(socket);
		return 0;
	}
	if (what & CURL_POLL_IN)
		events |= SKEP_READABLE;
	if (what & CURL_POLL_OUT)
		events |= SKEP_WRITABLE;
	err = events ? socket_watch(h, socket, fd, events) : 0;
	/*
	 * Do not return -1: libcurl would give up this multi handle for ever. The request runs into its time-out
	 * instead.
	 */
	if (err)
		h->host->log(h->inst, SKEP_LOG_WARNING, "cannot watch a connection: %s", strerror(-err));
	return 0;
}

int skep_http_loop_open(struct http *h)
{
	h->multi = curl_multi_init();
	if (!h->multi)
		return -ENOMEM;
	curl_multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, set_socket);
	curl_multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h);
	curl_multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, set_timer);
	curl_multi_setopt(h->multi, CURLMOPT_TIMERDATA, h);
	return 0;
}

void skep_http_loop_close(struct http *h)
{
	if (h->multi)
		curl_multi_cleanup(h->multi); /* closes connections, and calls set_socket() for each */
	h->multi = NULL;
	for (struct http_socket *s = h->sockets, *next; s; s = next) {
		next = s->next;
		socket_free(s);
	}
	if (h->host)
		h->host->timer_close(h->timer);
	h->timer = NULL;
}
