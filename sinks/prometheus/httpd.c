/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server for scrapes, on the loop thread.
 */
#include "sinks/prometheus/httpd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sinks/prometheus/listen.h"
#include "sinks/prometheus/request.h"

struct httpd_page {
	unsigned refs;
	size_t len;
	char *body;
};

static void conn_ready(struct skep_instance *i, void *arg, unsigned events);

static void page_unref(struct httpd_page *p)
{
	if (!p || --p->refs)
		return;
	free(p->body);
	free(p);
}

static void timer_stop(struct httpd *h)
{
	h->host->timer_close(h->timer);
	h->timer = NULL;
}

static void conn_close(struct httpd_conn *c)
{
	struct httpd *h = c->server;

	h->host->watch_close(c->watch);
	c->watch = NULL;
	close(c->fd);
	page_unref(c->page);
	c->page = NULL;
	c->state = CONN_FREE;
	if (--h->n == 0 && h->watch)
		timer_stop(h);
}

/* What remains of head and page; false: the connection is gone. */
static bool conn_write(struct httpd_conn *c)
{
	size_t body = c->page && !c->head_only ? c->page->len : 0;

	while (c->sent < c->head_len + body) {
		bool in_head = c->sent < c->head_len;
		const char *at = in_head ? c->head + c->sent : c->page->body + (c->sent - c->head_len);
		size_t n = in_head ? c->head_len - c->sent : c->head_len + body - c->sent;
		ssize_t part = send(c->fd, at, n, MSG_NOSIGNAL | (in_head && body ? MSG_MORE : 0));

		if (part < 0 && errno == EINTR)
			continue;
		if (part < 0 && errno == EAGAIN)
			return true;
		if (part < 0)
			break;
		c->sent += (size_t)part;
	}
	shutdown(c->fd, SHUT_WR);
	conn_close(c);
	return false;
}

static void conn_answer(struct httpd_conn *c, int status, const char *reason, const char *type, struct httpd_page *page)
{
	struct httpd *h = c->server;

	c->head_len = (size_t)snprintf(
		c->head, sizeof(c->head),
		"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%sConnection: close\r\n\r\n", status,
		reason, type, page ? page->len : 0, status == 405 ? "Allow: GET, HEAD\r\n" : "");
	c->page = page;
	c->sent = 0;
	c->state = CONN_WRITE;
	c->ticks = HTTPD_WRITE_S;
	h->host->watch_close(c->watch);
	c->watch = NULL;
	if (conn_write(c) && h->host->watch_fd(h->inst, c->fd, SKEP_WRITABLE, conn_ready, c, &c->watch) != 0)
		conn_close(c);
}

static void conn_say(struct httpd_conn *c, int status, const char *reason, const char *text)
{
	struct httpd_page *p = malloc(sizeof(*p));

	if (p) {
		*p = (struct httpd_page){ .refs = 1, .len = strlen(text), .body = strdup(text) };
		if (!p->body) {
			free(p);
			p = NULL;
		}
	}
	conn_answer(c, status, reason, "text/plain; charset=utf-8", p);
}

static void conn_route(struct httpd_conn *c, const struct request *r)
{
	struct httpd *h = c->server;

	c->head_only = r->head;
	c->openmetrics = r->openmetrics;
	if (r->path_len == 8 && memcmp(r->path, "/metrics", 8) == 0) {
		h->host->watch_close(c->watch);
		c->watch = NULL;
		c->state = CONN_WAIT;
		c->ticks = HTTPD_WRITE_S;
		h->wanted(h->arg);
	} else if (r->path_len == 10 && memcmp(r->path, "/-/healthy", 10) == 0) {
		conn_say(c, 200, "OK", "skep is there\n");
	} else {
		conn_say(c, 404, "Not Found", "there are /metrics and /-/healthy\n");
	}
}

static void conn_read(struct httpd_conn *c)
{
	ssize_t n = recv(c->fd, c->request + c->got, sizeof(c->request) - c->got, 0);
	struct request r;
	int status;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		conn_close(c);
		return;
	}
	c->got += (size_t)n;
	status = request_parse(c->request, c->got, &r);
	if (status == 200)
		conn_route(c, &r);
	else if (status == 405)
		conn_say(c, 405, "Method Not Allowed", "GET and HEAD\n");
	else if (status)
		conn_say(c, 400, "Bad Request", "this is not an HTTP/1 request\n");
	else if (c->got == sizeof(c->request))
		conn_say(c, 431, "Request Header Fields Too Large", "at most 8192 bytes\n");
}

static void conn_ready(struct skep_instance *i, void *arg, unsigned events)
{
	struct httpd_conn *c = arg;

	(void)i;
	(void)events;
	if (c->state == CONN_READ)
		conn_read(c);
	else if (c->state == CONN_WRITE)
		conn_write(c);
}

static void accept_ready(struct skep_instance *i, void *arg, unsigned events);

static void tick(struct skep_instance *i, void *arg)
{
	struct httpd *h = arg;

	if (!h->watch)
		(void)h->host->watch_fd(i, h->fd, SKEP_READABLE, accept_ready, h, &h->watch);
	for (unsigned k = 0; k < HTTPD_CONNECTIONS; k++) {
		struct httpd_conn *c = &h->conns[k];

		/* one that is in a job is given its page, and looked at then */
		if (c->state == CONN_FREE || c->state == CONN_JOB || --c->ticks > 0)
			continue;
		h->timeouts++;
		conn_close(c);
	}
	if (h->n == 0 && h->watch && h->timer)
		timer_stop(h);
}

static int timer_start(struct httpd *h)
{
	return h->timer ? 0 : h->host->timer(h->inst, 1000, 1000, tick, h, &h->timer);
}

static int conn_open(struct httpd *h, int fd)
{
	struct httpd_conn *c = h->conns;
	int err;

	if (h->n == HTTPD_CONNECTIONS)
		return -EBUSY;
	while (c->state != CONN_FREE)
		c++;
	err = timer_start(h);
	if (err)
		return err;
	c->server = h;
	c->fd = fd;
	c->got = 0;
	c->ticks = HTTPD_READ_S;
	c->page = NULL;
	c->state = CONN_READ;
	h->n++;
	err = h->host->watch_fd(h->inst, fd, SKEP_READABLE, conn_ready, c, &c->watch);
	if (err)
		conn_close(c);
	return 0; /* the fd is taken care of */
}

static void accept_ready(struct skep_instance *i, void *arg, unsigned events)
{
	struct httpd *h = arg;

	(void)i;
	(void)events;
	for (;;) {
		int fd = accept4(h->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0) {
			/*
			 * no descriptor to be had: what waits would be reported again and again. Only with a timer that
			 * looks again.
			 */
			if ((errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) &&
			    timer_start(h) == 0) {
				h->host->watch_close(h->watch);
				h->watch = NULL;
			}
			return;
		}
		if (conn_open(h, fd) != 0) {
			h->refused++;
			close(fd);
		}
	}
}

int httpd_start(struct httpd *h, struct skep_instance *i, const struct skep_host *host, const char *listen,
		void (*wanted)(void *arg), void *arg)
{
	int err;

	h->inst = i;
	h->host = host;
	h->wanted = wanted;
	h->arg = arg;
	h->fd = listen_open(i, host, listen, h->name, sizeof(h->name));
	if (h->fd < 0)
		return h->fd;
	err = host->watch_fd(i, h->fd, SKEP_READABLE, accept_ready, h, &h->watch);
	if (err) {
		close(h->fd);
		h->fd = -1;
		return host->fail(i, err, "listen \"%s\": cannot be watched", listen);
	}
	return 0;
}

void httpd_stop(struct httpd *h)
{
	if (!h->host)
		return;
	for (unsigned k = 0; k < HTTPD_CONNECTIONS; k++)
		if (h->conns[k].state != CONN_FREE)
			conn_close(&h->conns[k]);
	timer_stop(h);
	h->host->watch_close(h->watch);
	h->watch = NULL;
	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
}

bool httpd_take(struct httpd *h, bool *ret_openmetrics)
{
	bool any = false;

	for (unsigned k = 0; k < HTTPD_CONNECTIONS; k++) {
		struct httpd_conn *c = &h->conns[k];

		if (c->state != CONN_WAIT || (any && c->openmetrics != *ret_openmetrics))
			continue;
		any = true;
		*ret_openmetrics = c->openmetrics;
		c->state = CONN_JOB;
	}
	return any;
}

void httpd_give(struct httpd *h, const char *type, char *body, size_t len)
{
	struct httpd_page *page = body ? malloc(sizeof(*page)) : NULL;

	if (page)
		*page = (struct httpd_page){ .refs = 1, .len = len, .body = body };
	else
		free(body);
	for (unsigned k = 0; k < HTTPD_CONNECTIONS; k++) {
		struct httpd_conn *c = &h->conns[k];

		if (c->state != CONN_JOB)
			continue;
		if (page) {
			page->refs++; /* NOLINT(clang-analyzer-unix.Malloc): one of them is ours until the end */
			conn_answer(c, 200, "OK", type, page);
		} else {
			conn_say(c, 503, "Service Unavailable", "out of memory, or about to stop\n");
		}
	}
	page_unref(page);
}
