/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/web/server.c - see cli/web/server.h.
 */
#include "cli/web/server.h"

#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
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
#include "cli/web/worker.h"

static struct {
	__typeof__(MHD_start_daemon) *start_daemon;
	__typeof__(MHD_stop_daemon) *stop_daemon;
	__typeof__(MHD_add_connection) *add_connection;
	__typeof__(MHD_get_connection_info) *get_connection_info;
	__typeof__(MHD_lookup_connection_value) *lookup;
	__typeof__(MHD_get_connection_values) *get_values;
	__typeof__(MHD_create_response_from_buffer) *response_of_buffer;
	__typeof__(MHD_create_response_from_fd64) *response_of_fd;
	__typeof__(MHD_add_response_header) *add_header;
	__typeof__(MHD_queue_response) *queue;
	__typeof__(MHD_destroy_response) *destroy;
} lib;

struct client {
	struct MHD_Connection *connection; /* NULL: this entry is free */
	int fd;
	time_t begun;
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

/* Of the answer's bytes: a browser asks whether the answer is another one. */
static void tag_of(int fd, off_t size, char tag[24])
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
	unsigned char buf[65536];
	ssize_t n;

	for (off_t at = 0; at < size && (n = pread(fd, buf, sizeof(buf), at)) > 0; at += n)
		for (ssize_t i = 0; i < n; i++)
			hash = (hash ^ buf[i]) * UINT64_C(0x100000001b3);
	snprintf(tag, 24, "\"%016" PRIx64 "\"", hash);
}

/* A file that no command could read makes an answer partial; the reason goes beside it. */
static void add_partial(struct MHD_Response *r, const struct worker_answer *a)
{
	char text[WORKER_WHY];
	size_t n = 0;

	if (a->status == 0)
		return;
	for (const char *s = a->why; *s; s++)
		text[n++] = (char)(*s >= 0x20 && *s < 0x7f ? *s : ' ');
	text[n] = '\0';
	lib.add_header(r, "Skep-Partial", text);
}

/* Is it an answer, although the command complained? Then it ends with a newline. */
static bool is_whole(const struct worker_answer *a)
{
	char last;

	return a->size > 0 && pread(a->fd, &last, 1, a->size - 1) == 1 && last == '\n' && a->status <= 1;
}

static enum MHD_Result send_answer(struct MHD_Connection *c, const struct worker_answer *a, unsigned failure)
{
	const char *had = lib.lookup(c, MHD_HEADER_KIND, "If-None-Match");
	struct MHD_Response *r;
	char tag[24];

	if (!is_whole(a)) {
		close(a->fd);
		return send_error(c, a->status == 2 ? MHD_HTTP_BAD_REQUEST :
				     a->status == 1 ? failure : MHD_HTTP_INTERNAL_SERVER_ERROR,
				  a->why[0] ? a->why : "the command ended without an answer");
	}
	tag_of(a->fd, a->size, tag);
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
	add_partial(r, a);
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

static enum MHD_Result answer_api(struct server *s, struct MHD_Connection *c, const char *path)
{
	const union MHD_ConnectionInfo *info = lib.get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct request_command command;
	struct worker_answer a = { 0 };
	struct values values = { 0 };
	char why[256];
	int err;

	lib.get_values(c, MHD_GET_ARGUMENT_KIND, add_value, &values);
	err = values.more ? -EINVAL
			  : request_route(path, values.list, values.n, s->o->lake, &command, why, sizeof(why));
	if (err == -ENOENT)
		return send_error(c, MHD_HTTP_NOT_FOUND, "skep web has no such answer");
	if (err)
		return send_error(c, MHD_HTTP_BAD_REQUEST, values.more ? "too many parameters" : why);
	err = worker_run(command.argv, info->connect_fd, &a);
	switch (err) {
	case 0:
		return send_answer(c, &a, (unsigned)command.status_of_failure);
	case -EBUSY:
		return send_error(c, MHD_HTTP_SERVICE_UNAVAILABLE, "skep web answers as many questions as it can; ask again");
	case -ETIMEDOUT:
		return send_error(c, MHD_HTTP_GATEWAY_TIMEOUT, "the answer took more than a minute; ask for less");
	case -EPIPE:
	case -ECANCELED:
		return MHD_NO;
	default:
		return send_error(c, MHD_HTTP_INTERNAL_SERVER_ERROR, strerror(-err));
	}
}

static enum MHD_Result answer_asset(struct server *s, struct MHD_Connection *c, const struct web_asset *asset,
				    bool give_cookie)
{
	struct MHD_Response *r =
		lib.response_of_buffer(asset->len, (void *)(uintptr_t)asset->data, MHD_RESPMEM_PERSISTENT);
	char cookie[256];

	if (r && give_cookie) {
		snprintf(cookie, sizeof(cookie), "%s=%s; Path=/; HttpOnly; SameSite=Strict%s", s->o->cookie, s->o->token,
			 s->o->key ? "; Secure" : "");
		lib.add_header(r, "Set-Cookie", cookie);
	}
	return send_response(c, MHD_HTTP_OK, r, asset->type);
}

/* ---- requests ------------------------------------------------------------- */

static enum MHD_Result request(void *arg, struct MHD_Connection *c, const char *path, const char *method,
			       const char *version, const char *upload, size_t *upload_size, void **of_request)
{
	struct server *s = arg;
	const struct web_asset *asset = web_asset(path);
	const char *host = lib.lookup(c, MHD_HEADER_KIND, "Host"), *given = lib.lookup(c, MHD_GET_ARGUMENT_KIND, "token");
	const bool page = strcmp(path, "/") == 0;
	bool brings;

	(void)version, (void)upload, (void)upload_size, (void)of_request;
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return send_text(c, MHD_HTTP_METHOD_NOT_ALLOWED, "skep web only answers GET and HEAD: it changes nothing\n");
	if (!request_host(host, s->o->names))
		return send_text(c, MHD_HTTP_MISDIRECTED_REQUEST, "this is not a name of this machine; remedy: skep web --host NAME\n");
	if (!request_origin(lib.lookup(c, MHD_HEADER_KIND, "Origin"), lib.lookup(c, MHD_HEADER_KIND, "Sec-Fetch-Site"), host,
			    s->o->key != NULL, page))
		return send_text(c, MHD_HTTP_FORBIDDEN, "skep web does not answer the pages of other sites\n");
	brings = page && request_token_equal(given, s->o->token);
	if (!brings && !request_token(lib.lookup(c, MHD_HEADER_KIND, "Cookie"), s->o->cookie,
				      lib.lookup(c, MHD_HEADER_KIND, "Authorization"), s->o->token))
		return send_text(c, MHD_HTTP_FORBIDDEN, "no token, or another one: open the address that skep web printed\n");
	if (asset)
		return answer_asset(s, c, asset, brings);
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
		*client = (struct client){ started ? c : NULL, info->connect_fd, now() };
	pthread_mutex_unlock(&s->lock);
	if (!started)
		s->connections--;
}

/* libmicrohttpd's timeout begins anew with each byte: a client that reads or sends a byte now and then would stay. */
static void end_old(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	for (struct client *client = s->clients; client < s->clients + SERVER_CONNECTIONS; client++)
		if (client->connection && now() - client->begun >= SERVER_TOTAL_S)
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
	struct pollfd fds[] = { { .fd = until, .events = POLLIN }, { .fd = o->fd, .events = POLLIN } };
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
		n = poll(fds, 2, 1000);
		if (n > 0 && fds[1].revents)
			accept_all(&s);
		/* With no descriptor or thread left, the waiting client would be reported again and again. */
		if (n > 0 && fds[1].revents && errno != EAGAIN)
			poll(fds, 1, 1000);
		end_old(&s);
	} while (!fds[0].revents && (n >= 0 || errno == EINTR));
	worker_cancel();
	lib.stop_daemon(s.mhd);
	return 0;
}
