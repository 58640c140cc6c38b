/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_attach.c - attaches a detail for a client, sends the client its records, and detaches the detail
 * when the client disconnects.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/magic.h"
#include "core/control/control_plugins.h"
#include "core/control/control_priv.h"
#include "core/control/control_record.h"

static void on_record(void *arg, uint64_t id, const struct skep_record *rec)
{
	struct control_attachment *a = MAGIC_OBJECT(control_attachment, arg);
	struct control_client *client = a->client;
	json_t *line;

	if (client->doomed || client->closing)
		return;
	if (uv_stream_get_write_queue_size((const uv_stream_t *)&client->pipe) > CONTROL_RECORDS_MAX) {
		a->dropped++;
		return;
	}
	line = control_record(rec, client->control->boot_id, clock_realtime_offset_ns());
	if (!line || json_object_set_new(line, "id", control_json_number(id)) < 0) {
		json_decref(line);
		a->dropped++; /* on_over reports the number */
		return;
	}
	control_send(client, line);
}

static void unlink_attachment(struct control_attachment *a)
{
	struct control_attachment **at = &a->client->attachments;

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	a->client->n_attachments--;
}

static void on_over(void *arg, uint64_t id, const char *why)
{
	struct control_attachment *a = MAGIC_OBJECT(control_attachment, arg);
	struct control_client *client = a->client;

	unlink_attachment(a);
	client->taken_ns = clock_boot_ns(); /* its idle time begins now */
	control_send(client,
		     json_pack("{s:o, s:o, s:o}", "end", control_json_string(why), "id",
			       control_json_number(id), "dropped", control_json_number(a->dropped)));
	free(a);
}

struct find {
	uint64_t id;
	const char *instance, *detail, *scope;
	uint64_t left_ns;
};

static void on_find(void *arg, uint64_t id, const char *detail, const char *instance, const char *scope,
		    uint64_t left_ns)
{
	struct find *find = arg;

	if (id == find->id)
		*find = (struct find){ id, instance, detail, scope, left_ns };
}

/* The stream of the detail's records: the answer describes its fields to the client. */
static const struct skep_stream *stream_of(const struct collector *c, const struct find *find)
{
	const struct skep_detail *d;

	for (const struct skep_instance *inst = collector_instances(c); inst; inst = inst->next) {
		if (!find->instance || strcmp(inst->name, find->instance) != 0)
			continue;
		for (unsigned i = 0; (d = instance_detail(inst, i)); i++)
			if (strcmp(d->name, find->detail) == 0 && d->stream < inst->plugin->desc->n_streams)
				return inst->plugin->desc->streams[d->stream];
	}
	return NULL;
}

static const char *code_of(int err)
{
	switch (err) {
	case -ENOENT:
	case -ESRCH:
		return "not_found";
	case -EBUSY:
	case -ENOSPC:
		return "busy";
	case -EINVAL:
		return "bad_request";
	case -ENOTSUP:
		return "not_supported";
	default:
		return "failed";
	}
}

void control_attach(struct control_client *client, const struct control_request *request)
{
	struct collector *c = client->control->collector;
	struct control_attachment *a = NULL;
	struct detail_spec spec = {
		.detail = request->detail,
		.for_ns = request->for_ns,
		.scope = request->scope,
		.run = request->run,
		.cgroup = request->cgroup,
		.pid = request->pid,
		.on_record = on_record,
		.on_over = on_over,
	};
	const struct skep_stream *stream;
	struct find find = { 0 };
	char *why = NULL;
	int err;

	if (client->n_attachments >= CONTROL_ATTACHED_MAX) {
		control_send(client,
			     control_error("busy",
					   "this connection has 16 details attached, the limit for one connection; "
					   "detach one"));
		return;
	}
	a = calloc(1, sizeof(*a));
	err = a ? 0 : -ENOMEM;
	if (a) {
		a->magic = MAGIC_control_attachment;
		a->client = client;
		spec.arg = a;
		err = collector_attach(c, &spec, &a->id, &why);
	}
	if (err < 0) {
		control_send(client, control_error(code_of(err), why ? why : strerror(-err)));
		free(why);
		free(a);
		return;
	}
	a->next = client->attachments;
	client->attachments = a;
	client->n_attachments++;
	find.id = a->id;
	collector_attached(c, on_find, &find);
	stream = stream_of(c, &find);
	control_send(client,
		     json_pack("{s:b, s:s, s:o, s:o, s:s, s:o, s:o, s:o}", "ok", 1, "request", "attach", "id",
			       control_json_number(a->id), "detail", control_json_string(find.detail ? find.detail : request->detail),
			       "instance", find.instance ? find.instance : "", "scope",
			       control_json_string(find.scope ? find.scope : ""), "for_ns", control_json_number(request->for_ns),
			       "stream", stream ? control_stream(stream) : json_null()));
}

/* Any client may detach any detail: this is how an operator removes a load. */
void control_detach(struct control_client *client, const struct control_request *request)
{
	char why[CONTROL_WHY_SIZE];
	int err = collector_detach(client->control->collector, request->id);

	if (err < 0) {
		snprintf(why, sizeof(why), "no detail is attached with id %llu; `skep status` lists the attached ones",
			 (unsigned long long)request->id);
		control_send(client, control_error(code_of(err), err == -ENOENT ? why : strerror(-err)));
		return;
	}
	control_send(client, json_pack("{s:b, s:s, s:o}", "ok", 1, "request", "detach", "id",
				       control_json_number(request->id)));
}

void control_detach_all(struct control_client *client)
{
	while (client->attachments) {
		struct control_attachment *a = client->attachments;

		/* on_over removes `a` from the list, unless the collector does not know its id */
		if (collector_detach(client->control->collector, a->id) < 0) {
			client->attachments = a->next;
			client->n_attachments--;
			free(a);
		}
	}
}

static void on_attached(void *arg, uint64_t id, const char *detail, const char *instance, const char *scope,
			uint64_t left_ns)
{
	json_t *array = arg;

	json_array_append_new(array, json_pack("{s:o, s:o, s:s, s:o, s:o}", "id", control_json_number(id), "detail",
					       control_json_string(detail), "instance", instance, "scope", control_json_string(scope), "left_ns",
					       left_ns ? control_json_number(left_ns) : json_null()));
}

json_t *control_attached(const struct control *control)
{
	json_t *array = json_array();

	if (array)
		collector_attached(control->collector, on_attached, array);
	return array;
}
