/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control.c - listens, accepts and disconnects clients.
 *
 * No function disconnects a client at once: it may run inside a probe's callback (a record of a detail whose client
 * does not read).  A disconnect detaches the detail, which calls the probe again.  Functions mark the client as doomed,
 * and a timer of 0 ms disconnects it.
 */
#include "core/control/control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/magic.h"
#include "core/control/control_priv.h"
#include "core/base/log.h"

#define TICK_MS 1000u

static void control_free(struct control *control)
{
	if (--control->handles > 0)
		return;
	for (unsigned i = 0; i < CONTROL_DOORS; i++)
		control_file_close(&control->doors[i].file);
	free(control);
}

static void on_handle_closed(uv_handle_t *handle)
{
	control_free(handle->data);
}

static void on_client_closed(uv_handle_t *handle)
{
	struct control_client *client = MAGIC_OBJECT(control_client, handle->data);
	struct control *control = client->control;

	client->magic = 0;
	free(client);
	control_free(control);
}

/* Removes the client from the list; the loop frees it after it has closed the pipe. */
static void disconnect(struct control_client *client)
{
	struct control_client **at = &client->control->clients;

	client->doomed = true;
	if (client->control->waits == client)
		client->control->waits = NULL; /* the reload continues */
	control_detach_all(client);
	control_run_leave(client);
	control_watch_leave(client);
	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	client->control->n_clients--;
	client->closing = true;
	uv_close((uv_handle_t *)&client->pipe, on_client_closed);
}

static void on_reap(uv_timer_t *timer)
{
	struct control *control = MAGIC_OBJECT(control, timer->data);
	struct control_client *next;

	for (struct control_client *client = control->clients; client; client = next) {
		next = client->next;
		if (client->doomed)
			disconnect(client);
	}
}

static void on_connection(uv_stream_t *listener, int status);

/* At a new second: resumes clients whose user had spent the share of the last second. */
static void resume_waiting(struct control *control)
{
	for (struct control_client *client = control->clients; client; client = client->next) {
		if (!client->waiting)
			continue;
		client->waiting = false;
		control_client_resume(client);
	}
}

static void on_tick(uv_timer_t *timer)
{
	struct control *control = MAGIC_OBJECT(control, timer->data);
	uint64_t now_ns = clock_boot_ns();

	control_share_renew(control);
	resume_waiting(control);
	control_runs_tick(control, now_ns);
	control_watch_tick(control);
	for (unsigned i = 0; i < control->n_doors; i++)
		if (control->doors[i].pending)
			on_connection((uv_stream_t *)&control->doors[i].listener, 0);
	for (struct control_client *client = control->clients; client; client = client->next) {
		uint64_t quiet_ns = now_ns > client->taken_ns ? now_ns - client->taken_ns : 0;

		if (client->writes > 0 && quiet_ns >= CONTROL_STALLED_NS) {
			log_notice("control: pid %d (uid %u) disconnected: it has not read its answers for %llu s",
				   client->peer.pid, client->peer.uid, (unsigned long long)(quiet_ns / 1000000000));
			control->dropped++;
			control_doom(client);
		} else if (client->writes == 0 && !client->attachments && !client->run && !client->watch &&
			   control->waits != client && quiet_ns >= CONTROL_IDLE_NS) {
			control_doom(client);
		}
	}
}

/* ---- connections ----------------------------------------------------------------- */

static void greet(struct control_client *client, const struct control_door *door)
{
	struct control *control = client->control;
	uv_os_fd_t fd = -1;
	unsigned most;
	int err = uv_fileno((uv_handle_t *)&client->pipe, &fd);

	if (err == 0)
		err = control_peer_check(fd, &control->doors[CONTROL_MEMBERS].file, &client->peer);
	if (err == 0 && !client->peer.member && !door->open)
		err = -EACCES;
	if (err == 0 && !control_share_room(client, &most)) {
		control->refused++;
		client->refused = true;
		if (most == CONTROL_CLIENTS_USER || most == CONTROL_STRANGERS_USER)
			control_refuse(
				client, "busy",
				"uid %u has %u connections, the limit for one user; close one of them",
				client->peer.uid, most);
		else
			control_refuse(client, "busy",
				       "%u clients are connected, the limit%s; try again later",
				       most, most == CONTROL_STRANGERS ? " for users who are not in group " CONTROL_GROUP
					     : most < CONTROL_CLIENTS_MAX ? " beside root" : "");
		log_because(SKEP_LOG_NOTICE, "control", "busy",
			    "pid %d (uid %u) refused: %u clients are connected, the limit", client->peer.pid,
			    client->peer.uid, most);
	} else if (err == -EACCES) {
		control->refused++;
		client->refused = true;
		log_notice("control: pid %d (uid %u) refused: not root, skepd's user or a member of group " CONTROL_GROUP,
			   client->peer.pid, client->peer.uid);
		control_refuse(
			client, "permission",
			"uid %u may not connect: only root, the user that skepd runs as (%u), and members of group "
			CONTROL_GROUP " may%s",
			client->peer.uid, (unsigned)geteuid(),
			control->doors[CONTROL_MEMBERS].file.group < 0 ? " (there is no such group here)" : "");
	} else if (err < 0) {
		control_doom(client);
	} else {
		control->served++;
		control_client_start(client);
	}
}

static void on_connection(uv_stream_t *listener, int status)
{
	struct control *control = MAGIC_OBJECT(control, listener->data);
	struct control_door *door = control->doors;
	struct control_client *client;

	while ((uv_stream_t *)&door->listener != listener)
		door++;
	if (status < 0) {
		log_warning("control: cannot accept a client: %s", uv_strerror(status));
		return;
	}
	if (door->accepts >= (door->open ? CONTROL_STRANGERS_ACCEPTS : CONTROL_ACCEPTS)) {
		door->pending = true; /* libuv would accept for ever from a client that connects fast enough */
		return;
	}
	door->accepts++;
	client = calloc(1, sizeof(*client));
	if (!client) {
		/* libuv calls on_connection no more until uv_accept: on_tick tries again */
		log_error("control: no memory for a client");
		door->pending = true;
		return;
	}
	client->magic = MAGIC_control_client;
	door->pending = false;
	client->control = control;
	uv_pipe_init(control->loop, &client->pipe, 0); /* cannot fail */
	client->pipe.data = client;
	client->taken_ns = clock_boot_ns();
	client->next = control->clients;
	control->clients = client;
	control->n_clients++;
	control->handles++;
	if (uv_accept(listener, (uv_stream_t *)&client->pipe) < 0)
		control_doom(client);
	else
		greet(client, door);
}

/* ---- made and closed --------------------------------------------------------------- */

/* Owns fd. 0 or -errno. */
static int listen_at(struct control *control, unsigned door, int fd)
{
	uv_pipe_t *listener = &control->doors[door].listener;
	int err;

	uv_pipe_init(control->loop, listener, 0);
	listener->data = control;
	control->handles++;
	control->n_doors = door + 1;
	err = uv_pipe_open(listener, fd);
	if (err < 0)
		close(fd);
	else
		err = uv_listen((uv_stream_t *)listener, (int)CONTROL_CLIENTS_MAX, on_connection);
	return err;
}

/* Without it skepd serves members all the same. */
static void open_to_all(struct control *control, const char *members)
{
	struct control_door *door = &control->doors[CONTROL_OPEN];
	char why[512] = "out of memory", *path = NULL;
	int fd = -1, err = asprintf(&path, "%s" CONTROL_OPEN_ENDING, members) < 0 ? -ENOMEM : 0;

	if (err < 0)
		path = NULL;
	else
		err = control_file_open(path, true, &door->file, &fd, why, sizeof(why));
	if (err == 0) {
		door->open = true;
		err = listen_at(control, CONTROL_OPEN, fd);
		if (err < 0)
			snprintf(why, sizeof(why), "cannot serve %s: %s", path, uv_strerror(err));
	}
	if (err < 0)
		log_warning("control: %s; users who are not in group " CONTROL_GROUP " cannot see their own runs", why);
	free(path);
}

int control_new(uv_loop_t *loop, const char *path, struct collector *collector, struct control **ret, char *why,
		size_t why_size)
{
	struct control *control = calloc(1, sizeof(*control));
	int err, fd = -1;

	if (!control) {
		snprintf(why, why_size, "out of memory");
		return -ENOMEM;
	}
	control->magic = MAGIC_control;
	control->loop = loop;
	control->on_reap = on_reap;
	control->serve = control_serve;
	control->collector = collector;
	control->start_ns = clock_boot_ns();
	err = clock_boot_id(control->boot_id);
	if (err < 0)
		snprintf(why, why_size, "cannot read the boot id: %s", strerror(-err));
	else
		err = control_file_open(path, false, &control->doors[CONTROL_MEMBERS].file, &fd, why, why_size);
	if (err < 0) {
		free(control);
		return err;
	}
	uv_timer_init(loop, &control->tick);
	uv_timer_init(loop, &control->reap);
	control->tick.data = control->reap.data = control;
	control->handles = 2;
	err = listen_at(control, CONTROL_MEMBERS, fd);
	if (err == 0)
		err = uv_timer_start(&control->tick, on_tick, TICK_MS, TICK_MS);
	if (err < 0) {
		snprintf(why, why_size, "cannot serve %s: %s", path, uv_strerror(err));
		control_close(control);
		return err;
	}
	open_to_all(control, path);
	*ret = control;
	return 0;
}

void control_copier(struct control *control, struct copier *copier)
{
	control->copier = copier;
}

void control_reloader(struct control *control, struct reloader *reloader)
{
	control->reloader = reloader;
}

void control_close(struct control *control)
{
	if (!control || control->closing)
		return;
	control->closing = true;
	while (control->clients)
		disconnect(control->clients);
	uv_close((uv_handle_t *)&control->tick, on_handle_closed);
	uv_close((uv_handle_t *)&control->reap, on_handle_closed);
	for (unsigned i = 0; i < control->n_doors; i++) {
		control_file_close(&control->doors[i].file);
		uv_close((uv_handle_t *)&control->doors[i].listener, on_handle_closed);
	}
}
