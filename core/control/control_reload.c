/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_reload.c - the request `reload`: skepd answers when the reload is done.  A removed sink drains
 * first, which takes time.  Until the answer, skepd reads no further request of this client.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/magic.h"
#include "core/control/control_priv.h"
#include "core/control/reloader.h"

static json_t *answer(const struct reload_outcome *o)
{
	json_t *object;
	char why[160];

	if (o->err == 0) {
		object = json_pack("{s:b, s:s}", "ok", 1, "request", "reload");
	} else {
		snprintf(why, sizeof(why), "%zu %s; the running configuration stays in use", o->diag.n_errors,
			 o->diag.n_errors == 1 ? "error" : "errors");
		object = control_error(o->err == -ESHUTDOWN ? "failed" : "config",
				       o->err == -ESHUTDOWN ? "skepd is stopping" : why);
	}
	if (!object || reload_outcome_json(o, object) < 0) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static void on_done(void *arg, const struct reload_outcome *o)
{
	struct control *control = MAGIC_OBJECT(control, arg);
	struct control_client *client = control->waits;

	control->waits = NULL;
	if (client)
		control_send(client, answer(o));
}

void control_reload(struct control_client *client, const struct control_request *request)
{
	struct control *control = client->control;
	char by[64];
	int err;

	if (!control->reloader) {
		control_send(client,
			     control_error("not_supported", "this program reads its configuration only at its start"));
		return;
	}
	snprintf(by, sizeof(by), "pid %d (uid %u)", client->peer.pid, client->peer.uid);
	err = reloader_begin(control->reloader, by, request->check, on_done, control);
	if (err == 0)
		control->waits = client; /* done comes from the loop */
	else if (err == -EBUSY)
		control_send(client, control_error("busy", "a reload is under way: try again when it is done"));
	else
		control_send(client, control_error("failed", err == -ESHUTDOWN ? "skepd is starting or stopping"
									       : strerror(-err)));
}
