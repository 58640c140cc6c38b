/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/web/server.c - see cli/web/server.h.
 */
#include "cli/web/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/json_out.h"
#include "cli/base/library.h"
#include "cli/web/assets.h"
#include "cli/web/request.h"
#include "cli/web/stream.h"
#include "cli/web/worker.h"

#define COOKIE "skep" /* its name; each server's has a path of its own */

static struct {
	__typeof__(MHD_start_daemon) *start_daemon;
	__typeof__(MHD_stop_daemon) *stop_daemon;
	__typeof__(MHD_add_connection) *add_connection;
	__typeof__(MHD_get_connection_info) *get_connection_info;
	__typeof__(MHD_lookup_connection_value) *lookup;
	__typeof__(MHD_get_connection_values) *get_values;
	__typeof__(MHD_create_response_from_buffer) *response_of_buffer;
	__typeof__(MHD_create_response_from_fd64) *response_of_fd;
	__typeof__(MHD_create_response_from_callback) *response_of_callback;
	__typeof__(MHD_set_connection_option) *set_option;
	__typeof__(MHD_add_response_header) *add_header;
	__typeof__(MHD_queue_response) *queue;
	__typeof__(MHD_destroy_response) *destroy;
} lib;

struct client {
	struct MHD_Connection *connection; /* NULL: this entry is free */
	int fd;
	time_t begun;
	bool has_token;
};

struct server {
	const struct server_options *o;
	struct MHD_Daemon *mhd;
	pthread_mutex_t lock;
	struct client clients[SERVER_CONNECTIONS]; /* `lock` protects them */
	_Atomic unsigned connections;
};

static int library(char *why, size_t room)
{
	static const char *const names[] = { "libmicrohttpd.so.12", "libmicrohttpd.so", NULL };
	static const struct library_symbol symbols[] = {
		{ "MHD_start_daemon", &lib.start_daemon },
		{ "MHD_stop_daemon", &lib.stop_daemon },
		{ "MHD_add_connection", &lib.add_connection },
		{ "MHD_get_connection_info", &lib.get_connection_info },
		{ "MHD_lookup_connection_value", &lib.lookup },
		{ "MHD_get_connection_values", &lib.get_values },
		{ "MHD_create_response_from_buffer", &lib.response_of_buffer },
		{ "MHD_create_response_from_fd64", &lib.response_of_fd },
		{ "MHD_create_response_from_callback", &lib.response_of_callback },
		{ "MHD_set_connection_option", &lib.set_option },
		{ "MHD_add_response_header", &lib.add_header },
		{ "MHD_queue_response", &lib.queue },
		{ "MHD_destroy_response", &lib.destroy },
		{ 0 },
	};

	return library_load(names, "libmicrohttpd12", symbols, why, room);
}

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* ---- answers -------------------------------------------------------------- */

/*
 * The headers of every answer: nothing is loaded from elsewhere or run inline, no other site may frame or read the
 * pages.  libmicrohttpd closes the connection: an idle one would occupy one of SERVER_CONNECTIONS.
 */
static enum MHD_Result send_response(struct MHD_Connection *c, unsigned status, struct MHD_Response *r,
				     const char *type)
{
	static const char *const headers[][2] = {
		{ "Content-Security-Policy", "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
					     "frame-ancestors 'none'" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "X-Frame-Options", "DENY" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Cross-Origin-Opener-Policy", "same-origin" },
		{ "Cache-Control", "no-store" },
		{ "Connection", "close" },
	};
	enum MHD_Result ok;

	if (!r)
		return MHD_NO;
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		lib.add_header(r, headers[i][0], headers[i][1]);
	lib.add_header(r, "Content-Type", type);
	ok = lib.queue(c, status, r);
	lib.destroy(r);
	return ok;
}

static enum MHD_Result send_text(struct MHD_Connection *c, unsigned status, const char *text)
{
	struct MHD_Response *r = lib.response_of_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);

	if (r && status == MHD_HTTP_METHOD_NOT_ALLOWED)
		lib.add_header(r, "Allow", "GET, HEAD");
	return send_response(c, status, r, "text/plain; charset=utf-8");
}

/* {"error": "..."} */
static enum MHD_Result send_error(struct MHD_Connection *c, unsigned status, const char *why)
{
	json_t *o = json_pack("{s:o}", "error", json_out_string(why));
	char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	struct MHD_Response *r = text ? lib.response_of_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE) : NULL;

	json_decref(o);
	if (!r)
		free(text);
	return send_response(c, status, r, "application/json");
}

static enum MHD_Result send_answer(struct MHD_Connection *c, struct worker_answer *a, unsigned failure)
{
	const char *had = lib.lookup(c, MHD_HEADER_KIND, "If-None-Match");
	struct MHD_Response *r;
	char tag[WORKER_TAG];

	if (!worker_whole(a)) {
		close(a->fd);
		return send_error(c, a->status == 2 ? MHD_HTTP_BAD_REQUEST :
				     a->status == 1 ? failure : MHD_HTTP_INTERNAL_SERVER_ERROR,
				  worker_reason(a));
	}
	worker_tag(a, tag);
	if (had && strcmp(had, tag) == 0) {
		close(a->fd);
		r = lib.response_of_buffer(0, (void *)(uintptr_t)"", MHD_RESPMEM_PERSISTENT);
		if (r)
			lib.add_header(r, "ETag", tag);
		return send_response(c, MHD_HTTP_NOT_MODIFIED, r, "application/json");
	}
	r = lib.response_of_fd((uint64_t)a->size, a->fd);
	if (!r) {
		close(a->fd);
		return MHD_NO;
	}
	lib.add_header(r, "ETag", tag);
	/* A file that no command could read makes an answer partial; the reason goes beside it. */
	worker_one_line(a->why);
	if (a->status)
		lib.add_header(r, "Skep-Partial", a->why);
	return send_response(c, MHD_HTTP_OK, r, "application/json");
}

struct values {
	struct request_value list[16];
	size_t n;
	bool more;
};

static enum MHD_Result add_value(void *arg, enum MHD_ValueKind kind, const char *key, const char *value)
{
	struct values *v = arg;

	(void)kind;
	if (v->n == sizeof(v->list) / sizeof(v->list[0])) {
		v->more = true;
		return MHD_NO;
	}
	v->list[v->n++] = (struct request_value){ key, value };
	return MHD_YES;
}

/* Takes a value out of the list. NULL: there is none. */
static const char *take(struct values *v, const char *key)
{
	for (size_t i = 0; i < v->n; i++) {
		const struct request_value found = v->list[i];

		if (strcmp(found.key, key) != 0)
			continue;
		v->list[i] = v->list[--v->n];
		return found.value ? found.value : "";
	}
	return NULL;
}

static enum MHD_Result send_refusal(struct MHD_Connection *c, int err, const char *why)
{
	return send_error(c, err == -ENOENT ? MHD_HTTP_NOT_FOUND : MHD_HTTP_BAD_REQUEST,
			  err == -ENOENT ? "skep web has no such answer" : why);
}

static ssize_t next_bytes(void *arg, uint64_t at, char *buf, size_t room)
{
	ssize_t n = stream_read(arg, buf, room);

	(void)at;
	return n < 0 ? MHD_CONTENT_READER_END_OF_STREAM : n;
}

static void free_stream(void *arg)
{
	stream_free(arg);
}

/*
 * Browsers accept zstd over TLS, and from an address of their own machine, such as the end of ssh -L.  No browser gives
 * zstd a weight ("zstd;q=0.5"), so such a header does not count.
 */
static bool takes_zstd(const char *accept)
{
	const char *at = accept ? strstr(accept, "zstd") : NULL;

	return at && (at[4] == ',' || !at[4]);
}

/* every: of the request, "2": seconds; had: NULL, or the tag of the answer that the page has. */
static enum MHD_Result answer_stream(struct server *s, struct MHD_Connection *c, const char *path,
				     const struct values *values, const char *every, const char *had)
{
	const union MHD_ConnectionInfo *info = lib.get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	const char *last = lib.lookup(c, MHD_HEADER_KIND, "Last-Event-ID");
	struct stream_options o = { .folder = s->o->lake_folder, .client = info->connect_fd, .had = last ? last : had,
				    .packed = takes_zstd(lib.lookup(c, MHD_HEADER_KIND, "Accept-Encoding")) };
	struct MHD_Response *r;
	struct stream *stream;
	char why[256], *end;
	int err;

	o.every_s = (unsigned)strtoul(every, &end, 10);
	if (*every < '0' || *every > '9' || *end || !o.every_s || o.every_s > STREAM_EVERY_MOST)
		return send_error(c, MHD_HTTP_BAD_REQUEST, "live is a number of seconds, from 1 to 3600");
	err = stream_new(path, values->list, values->n, s->o->lake, &o, &stream, why, sizeof(why));
	if (err == -ENOMEM)
		return MHD_NO;
	if (err)
		return send_refusal(c, err, why);
	/* An answer may take longer than SERVER_IDLE_S. */
	lib.set_option(c, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)SERVER_TOTAL_S);
	r = lib.response_of_callback(MHD_SIZE_UNKNOWN, 32768, next_bytes, stream, free_stream);
	if (!r)
		stream_free(stream);
	if (r && o.packed)
		lib.add_header(r, "Content-Encoding", "zstd");
	return send_response(c, MHD_HTTP_OK, r, "text/event-stream");
}

static enum MHD_Result answer_api(struct server *s, struct MHD_Connection *c, const char *path)
{
	const union MHD_ConnectionInfo *info = lib.get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct request_command command;
	struct worker_answer a = { 0 };
	struct values values = { 0 };
	const char *live, *had;
	char why[256];
	int err;

	lib.get_values(c, MHD_GET_ARGUMENT_KIND, add_value, &values);
	if (values.more)
		return send_refusal(c, -EINVAL, "too many parameters");
	live = take(&values, "live");
	had = live ? take(&values, "had") : NULL;
	if (live)
		return answer_stream(s, c, path, &values, live, had);
	err = request_route(path, values.list, values.n, s->o->lake, &command, why, sizeof(why));
	if (err)
		return send_refusal(c, err, why);
	/* An answer may take longer than SERVER_IDLE_S. */
	lib.set_option(c, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)SERVER_TOTAL_S);
	err = worker_run(command.argv, info->connect_fd, &a);
	switch (err) {
	case 0:
		return send_answer(c, &a, (unsigned)command.status_of_failure);
	case -EPIPE:
	case -ECANCELED:
		return MHD_NO;
	default:
		return send_error(c, err == -EBUSY ? MHD_HTTP_SERVICE_UNAVAILABLE :
				     err == -ETIMEDOUT ? MHD_HTTP_GATEWAY_TIMEOUT : MHD_HTTP_INTERNAL_SERVER_ERROR,
				  worker_error(err));
	}
}

static enum MHD_Result answer_asset(struct MHD_Connection *c, const struct web_asset *asset)
{
	struct MHD_Response *r =
		lib.response_of_buffer(asset->len, (void *)(uintptr_t)asset->data, MHD_RESPMEM_PERSISTENT);

	return send_response(c, MHD_HTTP_OK, r, asset->type);
}

/*
 * Sends the browser to the folder of the pages, with a cookie that it sends only below this folder: a browser takes all
 * ports of a host for one site, and would send a cookie for "/" to each server of this host.  Lax, not Strict: from a
 * link on another site (a terminal in a browser) it would follow this redirect without a Strict cookie.
 */
static enum MHD_Result send_cookie(struct server *s, struct MHD_Connection *c)
{
	struct MHD_Response *r = lib.response_of_buffer(0, (void *)(uintptr_t)"", MHD_RESPMEM_PERSISTENT);
	char cookie[256], folder[REQUEST_TOKEN + 3];

	snprintf(folder, sizeof(folder), "/%s/", s->o->folder);
	snprintf(cookie, sizeof(cookie), COOKIE "=%s; Path=%s; HttpOnly; SameSite=Lax%s", s->o->token, folder,
		 s->o->key ? "; Secure" : "");
	if (r) {
		lib.add_header(r, "Set-Cookie", cookie);
		lib.add_header(r, "Location", folder);
	}
	return send_response(c, MHD_HTTP_SEE_OTHER, r, "text/plain; charset=utf-8");
}

/* ---- requests ------------------------------------------------------------- */

/*
 * A large answer takes longer than SERVER_TOTAL_S over a slow link.  So a client with the token may stay while it takes
 * bytes; libmicrohttpd sees only what the kernel accepts, and the kernel ends a peer that acknowledges nothing.
 */
static void mark_token(struct server *s, struct MHD_Connection *c)
{
	const unsigned silence_ms = SERVER_TOTAL_S * 1000u;

	pthread_mutex_lock(&s->lock);
	for (struct client *client = s->clients; client < s->clients + SERVER_CONNECTIONS; client++) {
		if (client->connection != c)
			continue;
		client->has_token = true;
		(void)setsockopt(client->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_ms, sizeof(silence_ms));
	}
	pthread_mutex_unlock(&s->lock);
}

static enum MHD_Result request(void *arg, struct MHD_Connection *c, const char *asked, const char *method,
			       const char *version, const char *upload, size_t *upload_size, void **of_request)
{
	struct server *s = arg;
	const char *below = request_below(asked, s->o->folder), *path = below ? below : asked;
	const struct web_asset *asset = web_asset(path);
	const char *host = lib.lookup(c, MHD_HEADER_KIND, "Host"), *given = lib.lookup(c, MHD_GET_ARGUMENT_KIND, "token");
	const bool page = strcmp(path, "/") == 0;

	(void)version, (void)upload, (void)upload_size, (void)of_request;
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return send_text(c, MHD_HTTP_METHOD_NOT_ALLOWED, "skep web only answers GET and HEAD: it changes nothing\n");
	if (!request_host(host, s->o->names))
		return send_text(c, MHD_HTTP_MISDIRECTED_REQUEST, "this is not a name of this machine; remedy: skep web --host NAME\n");
	if (!request_origin(lib.lookup(c, MHD_HEADER_KIND, "Origin"), lib.lookup(c, MHD_HEADER_KIND, "Sec-Fetch-Site"), host,
			    s->o->key != NULL, page))
		return send_text(c, MHD_HTTP_FORBIDDEN, "skep web does not answer the pages of other sites\n");
	if (page && !below && request_token_equal(given, s->o->token))
		return send_cookie(s, c);
	if (!request_token(below ? lib.lookup(c, MHD_HEADER_KIND, "Cookie") : NULL, COOKIE,
			   lib.lookup(c, MHD_HEADER_KIND, "Authorization"), s->o->token))
		return send_text(c, MHD_HTTP_FORBIDDEN, "no token, or another one: open the address that skep web printed\n");
	mark_token(s, c);
	if (asset)
		return answer_asset(c, asset);
	return answer_api(s, c, path);
}

static void connection_changed(void *arg, struct MHD_Connection *c, void **of_connection,
			       enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info = lib.get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	const bool started = code == MHD_CONNECTION_NOTIFY_STARTED;
	struct server *s = arg;
	struct client *client = s->clients, *end = client + SERVER_CONNECTIONS;

	(void)of_connection;
	pthread_mutex_lock(&s->lock);
	while (client < end && client->connection != (started ? NULL : c))
		client++;
	if (client < end)
		*client = (struct client){ started ? c : NULL, info->connect_fd, now(), false };
	pthread_mutex_unlock(&s->lock);
	if (!started)
		s->connections--;
}

/*
 * libmicrohttpd's timeout begins anew with each byte: a client without the token that reads or sends a byte now and
 * then would stay.
 */
static void end_old(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	for (struct client *client = s->clients; client < s->clients + SERVER_CONNECTIONS; client++)
		if (client->connection && !client->has_token && now() - client->begun >= SERVER_TOTAL_S)
			shutdown(client->fd, SHUT_RDWR);
	pthread_mutex_unlock(&s->lock);
}

/* Beyond its own limit libmicrohttpd 0.9.75 locks a mutex twice, and hangs for ever: skep counts connections itself. */
static void accept_all(struct server *s)
{
	for (;;) {
		struct sockaddr_storage from;
		socklen_t len = sizeof(from);
		int fd = accept4(s->o->fd, (struct sockaddr *)&from, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0)
			break;
		if (s->connections >= SERVER_CONNECTIONS) {
			close(fd);
			continue;
		}
		s->connections++;
		if (lib.add_connection(s->mhd, fd, (struct sockaddr *)&from, len) != MHD_YES) /* it has closed fd */
			s->connections--;
	}
}

int server_run(const struct server_options *o, int until, char *why, size_t room)
{
	struct server s = { .o = o, .lock = PTHREAD_MUTEX_INITIALIZER };
	struct pollfd fds[] = {
		{ .fd = until, .events = POLLIN },
		{ .fd = o->reader }, /* POLLHUP and POLLERR need no events */
		{ .fd = o->fd, .events = POLLIN },
	};
	unsigned flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_NO_LISTEN_SOCKET |
			 MHD_USE_ITC | (o->key ? MHD_USE_TLS : 0);
	int n, err = library(why, room);

	if (err)
		return err;
	s.mhd = lib.start_daemon(flags, 0, NULL, NULL, request, &s, MHD_OPTION_NOTIFY_CONNECTION, connection_changed,
				 &s, MHD_OPTION_CONNECTION_LIMIT, 2u * SERVER_CONNECTIONS,
				 MHD_OPTION_CONNECTION_TIMEOUT, SERVER_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				 (size_t)SERVER_REQUEST_MAX, MHD_OPTION_THREAD_STACK_SIZE, (size_t)256 * 1024,
				 o->key ? MHD_OPTION_HTTPS_MEM_KEY : MHD_OPTION_END, o->key, MHD_OPTION_HTTPS_MEM_CERT,
				 o->certificate, MHD_OPTION_END);
	if (!s.mhd) {
		snprintf(why, room, o->key ? "the server does not start: does the key belong to the certificate, and are both PEM?" :
					     "the server does not start");
		return -EINVAL;
	}
	do {
		n = poll(fds, 3, 1000);
		if (n > 0 && fds[2].revents)
			accept_all(&s);
		/* With no descriptor or thread left, the waiting client would be reported again and again. */
		if (n > 0 && fds[2].revents && errno != EAGAIN)
			poll(fds, 2, 1000);
		end_old(&s);
	} while (!fds[0].revents && !fds[1].revents && (n >= 0 || errno == EINTR));
	worker_cancel();
	lib.stop_daemon(s.mhd);
	return 0;
}
