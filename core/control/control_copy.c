/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_copy.c - the request `lake_copy`: the client's own runs, for a user who may not read the lake.
 *
 * The loop gives the connection itself to the copier and forgets the client: neither a large copy nor a client that
 * does not read it costs the loop anything.
 */
#include <errno.h>
#include <string.h>

#include "core/control/control_plugins.h"
#include "core/control/control_priv.h"
#include "core/control/copier.h"

/* 0; -ENOENT: no sink writes a lake; -errno. */
static int order_of(const struct control_client *client, const struct control_request *request,
		    struct copier_order *ret)
{
	const struct skep_instance *lake = control_lake(client->control->collector);
	json_t *location = lake ? control_location(lake) : NULL;
	const char *path = json_string_value(location);
	int err = path ? 0 : -ENOENT;

	memset(ret, 0, sizeof(*ret));
	ret->uid = client->peer.uid;
	ret->since_ns = request->since_ns;
	ret->keep_free = lake ? control_min_free(lake) : 0;
	if (path && strlen(path) >= sizeof(ret->lake))
		err = -ENAMETOOLONG;
	if (err == 0) {
		memcpy(ret->lake, path, strlen(path) + 1);
		if (request->run) /* the parser has checked its length */
			memcpy(ret->run, request->run, strlen(request->run) + 1);
	}
	json_decref(location);
	return err;
}

void control_lake_copy(struct control_client *client, const struct control_request *request)
{
	struct copier_order order;
	uv_os_fd_t fd = -1;
	int err = order_of(client, request, &order);

	if (!client->control->copier || err == -ENOENT) {
		control_send(client, control_error("not_supported", err == -ENOENT
							? "this skepd writes no lake: no sink \"lake\" runs"
							: "this program makes no copies of its lake"));
		return;
	}
	if (client->run || client->attachments) {
		control_send(client, control_error("bad_request", "a copy takes the whole connection: ask on one that has "
						   "begun no run and attached no detail"));
		return;
	}
	if (err == 0)
		err = uv_fileno((uv_handle_t *)&client->pipe, &fd);
	if (err == 0)
		err = copier_send(client->control->copier, &order, fd);
	if (err == 0)
		control_doom(client); /* closes the loop's descriptor; the copier has the connection */
	else if (err == -EAGAIN)
		control_send(client, control_error("busy", "too many users ask for copies at once; try again"));
	else
		control_send(client, control_error("failed", err == -EPIPE
							? "skepd's process that makes copies has ended; restart skepd"
							: strerror(-err)));
}
