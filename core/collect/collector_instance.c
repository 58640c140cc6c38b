/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/collector_instance.c - the collector's data about each instance: creates and frees it, connects it to
 * delivery, and starts a failed instance again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/collect/collector_priv.h"
#include "core/delivery/batch.h"
#include "core/plugin/note.h"

#define RETRY_FIRST_NS 1000000000ull
#define RETRY_MOST_NS 300000000000ull

void collector_retry_later(struct instance_data *data)
{
	uint64_t wait = RETRY_FIRST_NS;

	for (unsigned i = 0; i < data->retries && wait < RETRY_MOST_NS; i++)
		wait *= 2;
	data->retry_ns = clock_boot_ns() + (wait < RETRY_MOST_NS ? wait : RETRY_MOST_NS);
	data->retries++;
}

static bool is_lifecycle(uint32_t role)
{
	return (role >= SKEP_ROLE_PROC_FORK && role <= SKEP_ROLE_PROC_OOM) || role == SKEP_ROLE_PROC_EXCLUDED;
}

static int data_new(struct collector *c, struct skep_instance *inst)
{
	const struct skep_plugin *desc = inst->plugin->desc;
	struct instance_data *data = calloc(1, sizeof(*data));

	if (!data)
		return -ENOMEM;
	inst->extra = data;
	data->inst = inst;
	data->serial = ++c->parts;
	data->probe = desc->kind == SKEP_KIND_PROBE;
	data->streams = calloc(desc->n_streams + 1u, sizeof(*data->streams));
	data->lost = calloc(desc->n_streams + 1u, sizeof(*data->lost));
	data->reported = calloc(desc->n_streams + 1u, sizeof(*data->reported));
	if (!data->streams || !data->lost || !data->reported)
		return -ENOMEM;
	for (uint32_t i = 0; i < desc->n_streams; i++) {
		data->streams[i] = -1;
		data->facet |= desc->streams[i]->role == SKEP_ROLE_FACET;
		data->lifecycle |= is_lifecycle(desc->streams[i]->role);
	}
	return 0;
}

void collector_data_let_go(struct instance_data *data)
{
	for (size_t i = 0; i < data->n_held; i++)
		batch_unref(data->held[i]);
	free(data->held);
	data->held = NULL;
	data->n_held = 0;
}

void collector_instance_free(struct skep_instance *inst)
{
	struct instance_data *data = inst ? inst->extra : NULL;

	if (data) {
		collector_data_let_go(data);
		free(data->streams);
		free(data->lost);
		free(data->reported);
		free(data);
	}
	instance_free(inst);
}

int collector_instance_new(struct collector *c, const struct config *config, const struct config_plugin *entry,
			   uint32_t kind, struct diag *diag, struct skep_instance **ret)
{
	const struct rule_eval_fds fds =
		c->rule_eval ? rule_eval_fds(c->rule_eval) : (struct rule_eval_fds) { -1, -1, -1 };
	const struct skep_host proto = {
		.size = sizeof(proto),
		.abi_minor = SKEP_ABI_MINOR,
		.boot_id = c->boot_id,
		.interval_ns = collector_interval(config),
		.verdict_fd = c->verdict.fd,
		.verdict_pids = c->verdict.pids,
		.live_wants_details = 1,
		.pin_for_s = (uint32_t)((config->pin_for_ns + 999999999u) / 1000000000u),
		.rules_fd = fds.rules,
		.rules_programs_fd = fds.programs,
		.rules_values_fd = fds.values,
	};
	size_t n_before = diag->n;
	struct skep_instance *inst;
	struct plugin *plugin;
	int err, line, column;

	err = plugin_load(config->plugin_dirs, entry->plugin, kind, diag, &plugin);
	if (err < 0) {
		config_option_position(entry, "plugin", &line, &column);
		diag_place(diag, n_before, config->file, line, column);
		return err;
	}
	err = instance_new(c->loop, plugin, config, entry, &proto, &collector_ops, c, diag, &inst);
	if (err < 0)
		return err;
	err = data_new(c, inst);
	if (err < 0) {
		collector_instance_free(inst);
		diag_add(diag, DIAG_ERROR, config->file, entry->line, 0, "%s: out of memory", entry->name);
		return err;
	}
	err = pins_instance(&c->pins, inst->name, &inst->pin_dir);
	if (err < 0)
		log_warning("%s: cannot create its pin folder: %s; it runs without pinned "
			"state", inst->name, strerror(-err)); /* not fatal */
	inst->host.pin_dir = inst->pin_dir;
	inst->host.pin_adopts = !c->running;
	/* for the first instances, collector_spool_mark() sets it again before they start */
	inst->host.settles = c->delivery && delivery_spooled(c->delivery);
	*ret = inst;
	return 0;
}

int collector_streams_add(struct collector *c, struct skep_instance *inst, struct diag *diag)
{
	const struct skep_plugin *desc = inst->plugin->desc;
	struct instance_data *data = inst->extra;
	int err = 0;

	for (uint32_t i = 0; i < desc->n_streams && err >= 0; i++) {
		const struct skep_stream *s = desc->streams[i];

		if (s->role == SKEP_ROLE_FACET) {
			err = facets_add(c->facets, s);
			if (err == -EEXIST) {
				diag_add(
					diag, DIAG_WARNING, NULL, 0, 0,
					"%s: another plugin already has a stream \"%s\"; "
					"skepd ignores the figures of this one",
					inst->name, s->name);
				err = 0;
			}
		} else if (s->role == SKEP_ROLE_NONE || s->role == SKEP_ROLE_CGROUP || s->role == SKEP_ROLE_DETAIL) {
			err = delivery_stream_add(c->delivery, s);
			data->streams[i] = err;
		}
	}
	return err < 0 ? err : 0;
}

int collector_sink_add(struct collector *c, struct skep_instance *inst)
{
	const struct skep_sink_ops *ops = inst->plugin->desc->sink;
	struct instance_data *data = inst->extra;

	int err = delivery_sink_add(c->delivery, inst->name, ops ? ops->max_in_flight : 1, collector_submit, inst,
				    &data->sink);

	if (err == 0)
		delivery_sink_terms(data->sink, &inst->terms);
	return err;
}

static bool must_run(const struct collector *c, const struct skep_instance *inst)
{
	/* Without a life-cycle probe the report of a run would be empty, and look like a quiet run. */
	return inst->required || (c->options.runs_only && ((struct instance_data *)inst->extra)->lifecycle);
}

int collector_failed(struct collector *c, struct skep_instance *inst, const char *doing, int err, struct diag *diag)
{
	struct instance_data *data = inst->extra;
	bool fatal = must_run(c, inst);

	diag_add(diag, fatal ? DIAG_ERROR : DIAG_WARNING, NULL, 0, 0, "%s %s does not %s: %s%s",
		 collector_instance_kind(inst), inst->name, doing, inst->reason ? inst->reason : strerror(-err),
		 fatal ? "" : "; going on without it, trying again later");
	collector_retry_later(data);
	return fatal ? err : 0;
}

void collector_retry(struct collector *c, struct instance_data *data)
{
	int err = instance_retry(data->inst);

	if (err == -EBUSY)
		return; /* the next tick tries again */
	if (err < 0) {
		collector_retry_later(data);
		log_because(SKEP_LOG_WARNING, data->inst->name, data->inst->reason, "still fails: %s",
			    data->inst->reason ? data->inst->reason : strerror(-err));
		return;
	}
	data->retries = 0;
	log_at(SKEP_LOG_NOTICE, data->inst->name, "runs again");
	if (data->sink)
		delivery_sink_kick(data->sink);
	collector_facets_drained(c);
}

const char *collector_instance_kind(const struct skep_instance *inst)
{
	return note_kind_name(inst->plugin->note.kind);
}
