/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accepts connections on the loop thread, and answers requests on libmicrohttpd's thread.
 */
#include "sinks/prometheus/httpd.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sinks/prometheus/listen.h"
#include "sinks/prometheus/text.h"

/* Sends a body that malloc() returned, and takes ownership of it. */
static enum MHD_Result answer(struct MHD_Connection *c, unsigned status, const char *type, char *body, size_t len)
{
	struct MHD_Response *r = body ? MHD_create_response_from_buffer(len, body, MHD_RESPMEM_MUST_FREE) : NULL;
	enum MHD_Result ok;

	if (!r) {
		free(body);
		return MHD_NO;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	/* An idle connection would occupy one of HTTPD_CONNECTIONS. */
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	ok = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return ok;
}

static enum MHD_Result answer_text(struct MHD_Connection *c, unsigned status, const char *text)
{
	return answer(c, status, "text/plain; charset=utf-8", strdup(text), strlen(text));
}

static enum MHD_Result answer_metrics(struct httpd *h, struct MHD_Connection *c)
{
	const char *accept = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
	/* Weights do not matter: every client that names OpenMetrics prefers it. */
	bool openmetrics = accept && strcasestr(accept, "application/openmetrics-text");
	size_t len;
	char *body = h->page(h->arg, openmetrics, &len);

	if (!body)
		return answer_text(c, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory\n");
	return answer(c, MHD_HTTP_OK, openmetrics ? TEXT_TYPE_OPENMETRICS : TEXT_TYPE_PLAIN, body, len);
}

static enum MHD_Result request(void *arg, struct MHD_Connection *c, const char *path, const char *method,
			       const char *version, const char *upload, size_t *upload_size, void **of_request)
{
	(void)version, (void)upload, (void)upload_size, (void)of_request;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return answer_text(c, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD\n");
	if (strcmp(path, "/metrics") == 0)
		return answer_metrics(arg, c);
	if (strcmp(path, "/-/healthy") == 0)
		return answer_text(c, MHD_HTTP_OK, "skep is there\n");
	return answer_text(c, MHD_HTTP_NOT_FOUND, "there are /metrics and /-/healthy\n");
}

static void connection_changed(void *arg, struct MHD_Connection *c, void **of_connection,
			       enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	bool started = code == MHD_CONNECTION_NOTIFY_STARTED;
	struct httpd *h = arg;
	struct httpd_client *client = h->clients, *end = client + HTTPD_CONNECTIONS;

	(void)of_connection;
	pthread_mutex_lock(&h->lock);
	while (client < end && client->connection != (started ? NULL : c))
		client++;
	if (client < end)
		*client = (struct httpd_client){ started ? c : NULL, info->connect_fd, 0 };
	pthread_mutex_unlock(&h->lock);
	if (!started)
		h->connections--;
}

/*
 * libmicrohttpd's timeout begins anew with each byte: a client that sends a byte now and then would occupy one of
 * HTTPD_CONNECTIONS for ever.  libmicrohttpd closes a descriptor after connection_changed: those in `clients` are open.
 */
static void deadline_tick(struct skep_instance *i, void *arg)
{
	struct httpd *h = arg;

	(void)i;
	pthread_mutex_lock(&h->lock);
	for (struct httpd_client *client = h->clients; client < h->clients + HTTPD_CONNECTIONS; client++)
		if (client->connection && ++client->age_s >= HTTPD_TOTAL_S)
			shutdown(client->fd, SHUT_RDWR);
	pthread_mutex_unlock(&h->lock);
}

/* Adds a connection. Beyond its own limit libmicrohttpd 0.9.75 locks a mutex twice and its thread hangs for ever. */
static void connection_add(struct httpd *h, int fd, const struct sockaddr *from, socklen_t len)
{
	if (h->connections == HTTPD_CONNECTIONS) {
		close(fd);
		return;
	}
	h->connections++;
	if (MHD_add_connection(h->mhd, fd, from, len) != MHD_YES) /* on failure libmicrohttpd has closed fd */
		h->connections--;
}

static void accept_ready(struct skep_instance *i, void *arg, unsigned events);

static void accept_resume(struct skep_instance *i, void *arg)
{
	struct httpd *h = arg;

	h->host->timer_close(h->timer);
	h->timer = NULL;
	if (h->host->watch_fd(i, h->fd, SKEP_READABLE, accept_ready, h, &h->watch) != 0)
		(void)h->host->timer(i, 1000, 0, accept_resume, h, &h->timer);
}

/*
 * skep accepts connections itself.  While no descriptor is left and no connection is open, libmicrohttpd 0.9.75 retries
 * accept() at once: a waiting client cost 1.7 s of CPU in 3 s.
 */
static void accept_ready(struct skep_instance *i, void *arg, unsigned events)
{
	struct sockaddr_storage from;
	struct httpd *h = arg;

	(void)events;
	for (;;) {
		socklen_t len = sizeof(from);
		int fd = accept4(h->fd, (struct sockaddr *)&from, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0)
			break;
		connection_add(h, fd, (struct sockaddr *)&from, len);
	}
	/* When no descriptor is left, the watch would report the waiting client again and again. */
	if (errno != EAGAIN && h->host->timer(i, 1000, 0, accept_resume, h, &h->timer) == 0) {
		h->host->watch_close(h->watch);
		h->watch = NULL;
	}
}

int httpd_start(struct httpd *h, struct skep_instance *i, const struct skep_host *host, const char *listen,
		httpd_page_fn page, void *arg)
{
	int err;

	h->inst = i;
	h->host = host;
	h->page = page;
	h->arg = arg;
	h->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	h->fd = listen_open(i, host, listen, h->name, sizeof(h->name));
	if (h->fd < 0)
		return h->fd;
	/*
	 * poll(): 16 connections need no epoll.  With epoll, 0.9.75 left connections unserved until HTTPD_IDLE_S when
	 * 40 clients came at a time.
	 */
	h->mhd = MHD_start_daemon(MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC, 0, NULL, NULL,
				  request, h, MHD_OPTION_NOTIFY_CONNECTION, connection_changed, h,
				  MHD_OPTION_CONNECTION_LIMIT, 2 * HTTPD_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
				  HTTPD_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTPD_REQUEST_MAX,
				  MHD_OPTION_END);
	err = h->mhd ? host->watch_fd(i, h->fd, SKEP_READABLE, accept_ready, h, &h->watch) : -ENOMEM;
	if (!err)
		err = host->timer(i, 1000, 1000, deadline_tick, h, &h->deadline);
	if (!err)
		return 0;
	httpd_stop(h);
	return host->fail(i, err, "listen \"%s\": the server does not start: %s", listen, strerror(-err));
}

void httpd_stop(struct httpd *h)
{
	if (!h->host)
		return;
	h->host->timer_close(h->timer);
	h->timer = NULL;
	h->host->timer_close(h->deadline);
	h->deadline = NULL;
	h->host->watch_close(h->watch);
	h->watch = NULL;
	if (h->mhd)
		MHD_stop_daemon(h->mhd);
	h->mhd = NULL;
	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
}
