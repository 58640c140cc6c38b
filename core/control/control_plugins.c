/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_plugins.c - the instances of plugins as JSON: state, signals, details, counters.
 */
#include "core/base/clock.h"
#include "core/collect/collector.h"
#include "core/control/control_plugins.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/control/control_record.h"
#include "core/control/control_request.h"
#include "core/plugin/note.h"

const char *control_state_name(enum instance_state state)
{
	static const char *const names[] = {
		[INSTANCE_NEW] = "new",       [INSTANCE_OPEN] = "open",       [INSTANCE_RUNNING] = "running",
		[INSTANCE_FAILED] = "failed", [INSTANCE_STOPPED] = "stopped",
	};

	return (size_t)state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

const char *control_signal_state_name(enum skep_signal_state state)
{
	switch (state) {
	case SKEP_SIGNAL_OK:
		return "ok";
	case SKEP_SIGNAL_PARTIAL:
		return "partial";
	case SKEP_SIGNAL_MISSING:
		return "missing";
	case SKEP_SIGNAL_OFF:
		return "off";
	}
	return "?"; /* the plugin is newer than this skepd */
}

/* The state of a sink's queue; null for a probe. */
static json_t *delivery(const struct skep_instance *inst)
{
	struct delivery_queue q;
	uint64_t age = 0;

	if (!collector_instance_queue(inst, &q))
		return json_null();
	if (q.lag_oldest_ns > 0) {
		int64_t now = (int64_t)clock_boot_ns() + clock_realtime_offset_ns();

		age = now > q.lag_oldest_ns ? (uint64_t)(now - q.lag_oldest_ns) : 0;
	}
	return json_pack("{s:b, s:o, s:o, s:o, s:o}", "held", q.held, "why", control_json_string(q.why),
			 "lag_records", control_json_number(q.lag_records), "lag_bytes",
			 control_json_number(q.lag_bytes), "lag_ns", control_json_number(age));
}

/* The text by which a sink describes its store, in its first signal; null: none. */
static json_t *store(const struct skep_instance *inst)
{
	const struct instance_signal *s = inst->plugin->note.kind == SKEP_KIND_SINK ? inst->signals : NULL;

	return s ? control_json_string_or_null(s->how) : json_null();
}

/* The value of a sink's option, of type; NULL: the sink has none of this name. */
static const void *option(const struct skep_instance *inst, const char *name, uint32_t type)
{
	const struct skep_option *o =
		inst->plugin->note.kind == SKEP_KIND_SINK && inst->data ? inst->plugin->desc->options : NULL;

	for (; o && o->name; o++)
		if (strcmp(o->name, name) == 0 && o->type == type)
			return (const char *)inst->data + o->offset;
	return NULL;
}

uint64_t control_min_free(const struct skep_instance *inst)
{
	const void *at = option(inst, "min_free", SKEP_O_SIZE);
	uint64_t bytes = 0;

	if (at)
		memcpy(&bytes, at, sizeof(bytes));
	return bytes;
}

json_t *control_location(const struct skep_instance *inst)
{
	const void *at = option(inst, "path", SKEP_O_STR);
	const char *path = NULL;
	char *whole;
	json_t *value;

	if (at)
		memcpy(&path, at, sizeof(path));
	if (!path || path[0] == '/')
		return control_json_string_or_null(path);
	whole = getcwd(NULL, 0); /* skepd's working directory; the client has another */
	value = whole ? json_pack("s++", whole, "/", path) : json_null();
	free(whole);
	return value;
}

const struct skep_instance *control_lake(const struct collector *c)
{
	for (const struct skep_instance *inst = collector_instances(c); inst; inst = inst->next)
		if (inst->plugin->note.kind == SKEP_KIND_SINK && strcmp(inst->plugin->note.name, "lake") == 0 &&
		    inst->state == INSTANCE_RUNNING && !inst->ending)
			return inst;
	return NULL;
}

json_t *control_instance(const struct skep_instance *inst)
{
	const struct skep_plugin_note *note = &inst->plugin->note;

	return json_pack("{s:s, s:s, s:s, s:o, s:s, s:o, s:b, s:o, s:o, s:o, s:o}", "name", inst->name, "plugin",
			 note->name, "kind", note_kind_name(note->kind), "version",
			 control_json_text(note->version, strnlen(note->version, sizeof(note->version))), "state",
			 inst->state == INSTANCE_RUNNING && inst->ending ? "stopping" : control_state_name(inst->state),
			 "reason", control_json_string_or_null(inst->reason), "required", inst->required, "stuck_ns",
			 control_json_number(inst->stuck_ns), "delivery", delivery(inst), "store", store(inst),
			 "location", control_location(inst));
}

static int append(json_t *array, json_t *value)
{
	return array ? json_array_append_new(array, value) : (json_decref(value), -1);
}

static json_t *signals(const struct skep_instance *inst)
{
	json_t *array = json_array();

	for (const struct instance_signal *s = inst->signals; s; s = s->next)
		if (append(array, json_pack("{s:o, s:s, s:o, s:o}", "name", control_json_string(s->name),
					    "state", control_signal_state_name(s->state), "how", control_json_string_or_null(s->how),
					    "why", control_json_string_or_null(s->why))) < 0)
			break;
	return array;
}

json_t *control_counters(const struct skep_instance *inst)
{
	json_t *object = json_object();

	/* The list begins with the newest counter. */
	for (const struct skep_counter *c = inst->counters; object && c; c = c->next) {
		json_t *one = json_pack("{s:o, s:o}", "value",
					control_json_number(atomic_load_explicit(&c->value, memory_order_relaxed)),
					"help", control_json_string(c->help));

		if (json_object_set_new(object, c->name, one) < 0)
			break;
	}
	return object;
}

static json_t *streams(const struct skep_instance *inst)
{
	const struct skep_plugin *desc = inst->plugin->desc;
	json_t *array = json_array();

	for (uint32_t i = 0; i < desc->n_streams; i++)
		if (append(array, json_string(desc->streams[i]->name)) < 0)
			break;
	return array;
}

json_t *control_details(const struct skep_instance *inst)
{
	const struct skep_plugin *desc = inst->plugin->desc;
	json_t *array = json_array();
	const struct skep_detail *d;

	for (unsigned i = 0; (d = instance_detail(inst, i)); i++) {
		json_t *scopes = json_array();

		for (int s = SKEP_SCOPE_HOST; s <= SKEP_SCOPE_PID; s++)
			if (d->scopes & 1u << s)
				append(scopes, json_string(control_scope_name((enum skep_scope)s)));
		if (append(array,
			   json_pack("{s:o, s:s, s:o, s:o, s:s}", "name", control_json_string(d->name),
				     "instance", inst->name, "help",
				     control_json_string(d->help), "scopes", scopes,
				     "stream", d->stream < desc->n_streams ? desc->streams[d->stream]->name : "")) < 0)
			break;
	}
	return array;
}

static json_t *whole(const struct skep_instance *inst)
{
	const struct skep_plugin_note *note = &inst->plugin->note;
	json_t *one = control_instance(inst);
	json_t *more = json_pack("{s:o, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "path",
				 control_json_string(inst->plugin->path), "abi_major",
				 (int)note->abi_major, "abi_minor", (int)note->abi_minor, "busy_ns",
				 control_json_number(inst->busy_ns), "worst_ns", control_json_number(inst->worst_ns),
				 "budget_ns", control_json_number(inst->budget_ns), "overruns",
				 control_json_number(inst->overruns), "signals", signals(inst), "streams",
				 streams(inst), "details", control_details(inst), "counters", control_counters(inst));

	if (!one || !more || json_object_update(one, more) < 0) {
		json_decref(one);
		one = NULL;
	}
	json_decref(more);
	return one;
}

json_t *control_plugins(const struct collector *c)
{
	json_t *array = json_array();

	for (const struct skep_instance *inst = collector_instances(c); inst; inst = inst->next)
		if (append(array, whole(inst)) < 0) {
			json_decref(array);
			return NULL;
		}
	return json_pack("{s:b, s:s, s:o, s:s}", "ok", 1, "request", "plugins", "plugins", array, "engine_files",
			 collector_engine_files(c));
}
