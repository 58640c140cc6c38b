/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_client.c - one connection: reads lines of requests, writes lines of answers.
 *
 * While an answer is not written, skepd reads no further request of that client: a client that does not read its
 * answers delays only itself.  Its queue of detail records is bounded.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/magic.h"
#include "core/control/control_priv.h"
#include "core/control/control_record.h"
#include "core/base/log.h"

struct line_out {
	uv_write_t uv;
	struct control_client *client;
	char *text;
};

/* ---- in ------------------------------------------------------------------------ */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	struct control_client *client = MAGIC_OBJECT(control_client, handle->data);

	(void)suggested;
	*buf = uv_buf_init(client->line + client->len, (unsigned)(sizeof(client->line) - client->len));
}

/* Has the user spent its share of this second?  Then the client waits for the next second. */
static bool must_wait(struct control_client *client)
{
	if (!client->waiting && control_share_spent(client)) {
		client->waiting = true;
		client->control->waited++;
	}
	return client->waiting;
}

/* Does the client wait for the end of a reload or of its run? */
static bool held(const struct control_client *client)
{
	return client->control->waits == client || client->run_ends;
}

/* Handles whole lines of the input while no answer waits to be written. */
static void serve(struct control_client *client)
{
	size_t from = 0;
	char *end;

	while (client->writes == 0 && !held(client) && !client->ending && !client->doomed &&
	       (end = memchr(client->line + from, '\n', client->len - from)) && !must_wait(client)) {
		size_t len = (size_t)(end - client->line) - from;

		if (len > 0 && client->line[from + len - 1] == '\r')
			len--;
		if (len > 0) { /* empty lines mean nothing */
			client->taken_ns = clock_boot_ns();
			client->control->serve(client, client->line + from, len);
			control_share_spend(client, clock_boot_ns() - client->taken_ns);
		}
		from = (size_t)(end - client->line) + 1;
	}
	client->len -= from;
	memmove(client->line, client->line + from, client->len);
	if (client->len == sizeof(client->line) && !memchr(client->line, '\n', client->len))
		control_refuse(client, "bad_request", "a request is one line of less than %u bytes", CONTROL_LINE_MAX);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf);

static void read_or_wait(struct control_client *client)
{
	bool want = client->writes == 0 && !held(client) && !client->ending && !client->doomed && !client->waiting &&
		    client->len < sizeof(client->line);

	if (client->closing || want == client->reading)
		return;
	client->reading = want;
	if (!want)
		uv_read_stop((uv_stream_t *)&client->pipe);
	else if (uv_read_start((uv_stream_t *)&client->pipe, on_alloc, on_read) < 0)
		control_doom(client);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct control_client *client = MAGIC_OBJECT(control_client, stream->data);

	(void)buf;
	if (n < 0) {
		/* The client sends no more requests: skepd writes the pending answers, then disconnects it. */
		client->ending = true;
		if (client->writes == 0 || n != UV_EOF)
			control_doom(client);
		read_or_wait(client);
		return;
	}
	client->len += (size_t)n;
	serve(client);
	read_or_wait(client);
}

void control_client_resume(struct control_client *client)
{
	serve(client);
	read_or_wait(client);
}

void control_client_start(struct control_client *client)
{
	client->taken_ns = clock_boot_ns();
	read_or_wait(client);
}

/* ---- out ----------------------------------------------------------------------- */

static void on_written(uv_write_t *uv, int status)
{
	struct line_out *out = uv->data;
	struct control_client *client = out->client;

	free(out->text);
	free(out);
	client->writes--;
	client->taken_ns = clock_boot_ns();
	if (status < 0 || (client->ending && client->writes == 0))
		control_doom(client); /* the client has gone, or has its last answer */
	if (client->closing || client->writes > 0)
		return;
	serve(client);
	if (client->watch)
		control_watch_more(client);
	read_or_wait(client);
}

void control_send(struct control_client *client, json_t *value)
{
	struct line_out *out = NULL;
	uv_buf_t bufs[2];
	size_t len;

	if (client->doomed || client->closing) {
		json_decref(value);
		return;
	}
	out = value ? calloc(1, sizeof(*out)) : NULL;
	if (out)
		out->text = json_dumps(value, JSON_COMPACT);
	json_decref(value);
	if (!out || !out->text)
		goto no_memory;
	len = strlen(out->text);
	if (client->writes > 0 &&
	    uv_stream_get_write_queue_size((const uv_stream_t *)&client->pipe) + len > CONTROL_WAITING_MAX) {
		log_notice("control: pid %d (uid %u) disconnected: it does not read its answers", client->peer.pid,
			   client->peer.uid);
		client->control->dropped++;
		control_doom(client);
		goto out;
	}
	out->client = client;
	out->uv.data = out;
	bufs[0] = uv_buf_init(out->text, (unsigned)len);
	bufs[1] = uv_buf_init((char *)(uintptr_t)"\n", 1);
	if (uv_write(&out->uv, (uv_stream_t *)&client->pipe, bufs, 2, on_written) == 0) {
		client->writes++;
		return;
	}
	control_doom(client);
	goto out;
no_memory:
	log_error("control: no memory for an answer to pid %d: disconnected", client->peer.pid);
	control_doom(client);
out:
	if (out)
		free(out->text);
	free(out);
}

json_t *control_error(const char *code, const char *why)
{
	return json_pack("{s:b, s:s, s:o}", "ok", 0, "code", code, "error", control_json_string(why));
}

void control_refuse(struct control_client *client, const char *code, const char *fmt, ...)
{
	char why[CONTROL_WHY_SIZE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	client->ending = true; /* on_written disconnects the client after the error is written */
	control_send(client, control_error(code, why));
}

void control_doom(struct control_client *client)
{
	if (client->doomed)
		return;
	client->doomed = true;
	if (!client->control->closing)
		uv_timer_start(&client->control->reap, client->control->on_reap, 0, 0);
}
