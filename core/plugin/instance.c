/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/instance.c - the life cycle of an instance, a configured use of a plugin. For the collector.
 *
 *   NEW --open--> OPEN --start--> RUNNING --stop--> STOPPED
 *    ^              \________________\_ fails _/
 *    |                                  v
 *    '------------- retry ---------- FAILED
 */
#include "core/plugin/plugin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/config/sink_terms.h"

/* 5 ms: a tenth of a noticeable delay. A ring of 4 MiB holds 20 times as much at 4,000 execs/s. */
#define INSTANCE_BUDGET_NS 5000000ull
/* skep's own slowest work, a request to a server, times out after 30 s. */
#define INSTANCE_STUCK_NS 35000000000ull

int instance_new(uv_loop_t *loop, struct plugin *plugin, const struct config *config, const struct config_plugin *entry,
		 const struct skep_host *host_proto, const struct instance_ops *ops, void *owner, struct diag *diag,
		 struct skep_instance **ret)
{
	const struct skep_plugin *desc = plugin->desc;
	/* calloc(0) may return NULL, which would look like missing memory. */
	size_t state_size = desc->state_size ? desc->state_size : 1;
	struct skep_instance *inst;
	int err;

	inst = calloc(1, sizeof(*inst));
	if (!inst) {
		err = -ENOMEM;
		goto out_memory;
	}
	inst->magic = MAGIC_skep_instance;
	inst->plugin = plugin;
	inst->loop = loop;
	inst->ops = ops;
	inst->owner = owner;
	inst->required = entry->required;
	inst->budget_ns = INSTANCE_BUDGET_NS;
	inst->stuck_after_ns = INSTANCE_STUCK_NS;
	inst->host = *host_proto;
	instance_host_fill(&inst->host);
	inst->name = strdup(entry->name ? entry->name : plugin->note.name);
	inst->data = calloc(1, state_size);
	inst->pristine = malloc(state_size);
	if (!inst->name || !inst->data || !inst->pristine) {
		err = -ENOMEM;
		goto out_memory;
	}
	err = options_apply(desc, config, entry, inst->data, &inst->memory, diag);
	if (sink_terms_read(desc, config, entry, &inst->terms, diag) < 0 && err == 0)
		err = -EINVAL;
	if (err < 0)
		goto out;
	memcpy(inst->pristine, inst->data, state_size);
	*ret = inst;
	return 0;
out_memory:
	diag_add(diag, DIAG_ERROR, NULL, 0, 0, "instance of plugin \"%s\": out of memory", plugin->note.name);
out:
	instance_free(inst);
	return err;
}

static void instance_reason(struct skep_instance *inst, int err)
{
	free(inst->reason);
	inst->reason = inst->failing ? inst->failing : strdup(strerror(-err));
	inst->failing = NULL;
}

bool instance_mark(struct skep_instance *inst, struct skep_mark *ret)
{
	uint64_t entered;

	*ret = inst->last_mark;
	if (!inst->host.settles || !inst->plugin->desc->mark || !inst->plugin->desc->settled)
		return false;
	if (inst->state != INSTANCE_RUNNING || inst->ending)
		return ret->source != 0;
	*ret = (struct skep_mark){ 0 };
	entered = instance_enter(inst);
	inst->plugin->desc->mark(inst, inst->data, ret);
	instance_leave(inst, entered, "mark", true);
	return ret->source != 0;
}

void instance_settled(struct skep_instance *inst, const struct skep_mark *mark)
{
	uint64_t entered;

	if (inst->state != INSTANCE_RUNNING || inst->ending)
		return;
	entered = instance_enter(inst);
	inst->plugin->desc->settled(inst, inst->data, mark);
	instance_leave(inst, entered, "settled", true);
}

/* open() or start() returned err: ends the instance, so that close() releases what the plugin has allocated. */
static void instance_failed(struct skep_instance *inst, int err)
{
	instance_reason(inst, err);
	inst->state = INSTANCE_FAILED;
	inst->ending = true;
	instance_end_if_due(inst);
}

/* A plugin that returns a value above 0 reports an error too; errno values end below 4096. */
static int instance_errno(int err)
{
	return err > 0 || err < -4095 ? -EINVAL : err;
}

int instance_open(struct skep_instance *inst)
{
	uint64_t entered;
	int err;

	if (inst->state != INSTANCE_NEW)
		return -EINVAL;
	inst->opened = true;
	entered = instance_enter(inst);
	err = instance_errno(inst->plugin->desc->open(inst, inst->data, &inst->host));
	if (err == 0)
		inst->state = INSTANCE_OPEN;
	else
		instance_failed(inst, err);
	instance_leave(inst, entered, "open", false);
	return err;
}

int instance_start(struct skep_instance *inst)
{
	uint64_t entered;
	int err;

	if (inst->state != INSTANCE_OPEN || inst->ending)
		return -EINVAL;
	entered = instance_enter(inst);
	err = instance_errno(inst->plugin->desc->start(inst, inst->data));
	if (err == 0) {
		inst->started = true;
		inst->state = INSTANCE_RUNNING;
	} else {
		instance_failed(inst, err);
	}
	instance_leave(inst, entered, "start", false);
	return err;
}

int instance_retry(struct skep_instance *inst)
{
	int err;

	if (inst->state != INSTANCE_FAILED || inst->stop_wanted)
		return -EINVAL;
	if (inst->ending || inst->working > 0 || inst->depth > 0)
		return -EBUSY;
	memcpy(inst->data, inst->pristine, inst->plugin->desc->state_size);
	inst->state = INSTANCE_NEW;
	err = instance_open(inst);
	if (err == 0)
		err = instance_start(inst);
	if (err == 0) {
		free(inst->reason);
		inst->reason = NULL;
	}
	return err;
}

int instance_restart(struct skep_instance *inst)
{
	if (!instance_stopped(inst))
		return -EBUSY;
	inst->stop_wanted = false;
	inst->state = INSTANCE_FAILED;
	return instance_retry(inst);
}

int instance_reload(struct skep_instance *inst, const void *next, char **ret_why)
{
	uint64_t entered;
	int err;

	*ret_why = NULL;
	if (inst->state != INSTANCE_RUNNING || inst->ending)
		return -ESHUTDOWN;
	if (!inst->plugin->desc->reload)
		return -ENOTSUP;
	/* A worker thread may be reading the options. */
	if (inst->working > 0 || inst->depth > 0)
		return -EBUSY;
	entered = instance_enter(inst);
	err = instance_errno(inst->plugin->desc->reload(inst, inst->data, next));
	if (err < 0) {
		*ret_why = inst->failing;
		inst->failing = NULL;
	}
	instance_leave(inst, entered, "reload", false);
	return err == -EBUSY ? -EAGAIN : err; /* instance_reload returns -EBUSY only for work() in progress */
}

static void instance_call(struct skep_instance *inst, void (*callback)(struct skep_instance *, void *state),
			  const char *name)
{
	uint64_t entered;

	if (inst->state != INSTANCE_RUNNING || inst->ending || !callback)
		return;
	entered = instance_enter(inst);
	callback(inst, inst->data);
	instance_leave(inst, entered, name, true);
}

void instance_sample(struct skep_instance *inst)
{
	instance_call(inst, inst->plugin->desc->sample, "sample");
}

void instance_flush(struct skep_instance *inst)
{
	instance_call(inst, inst->plugin->desc->flush, "flush");
}

void instance_drain(struct skep_instance *inst)
{
	instance_call(inst, inst->plugin->desc->drain, "drain");
}

const struct skep_detail *instance_detail(const struct skep_instance *inst, unsigned i)
{
	const struct skep_plugin *desc = inst->plugin->desc;

	if (!desc->details || i >= desc->n_details)
		return NULL;
	return (const void *)((const char *)desc->details + (size_t)i * desc->detail_size);
}

int instance_attach(struct skep_instance *inst, unsigned detail, const struct skep_detail_scope *scope, char **ret_why)
{
	uint64_t entered;
	int err;

	if (inst->state != INSTANCE_RUNNING || inst->ending)
		return -ESHUTDOWN;
	if (!instance_detail(inst, detail))
		return -EINVAL;
	entered = instance_enter(inst);
	err = instance_errno(inst->plugin->desc->attach(inst, inst->data, detail, scope));
	if (err < 0) {
		*ret_why = inst->failing ? inst->failing : strdup(strerror(-err));
		inst->failing = NULL;
	}
	/* no budget: the verifier alone may take long to load the programs */
	instance_leave(inst, entered, "attach", false);
	return err;
}

void instance_detach(struct skep_instance *inst, uint64_t id)
{
	uint64_t entered;

	if (inst->state != INSTANCE_RUNNING || !inst->plugin->desc->detach)
		return;
	entered = instance_enter(inst);
	inst->plugin->desc->detach(inst, inst->data, id);
	instance_leave(inst, entered, "detach", false);
}

int instance_submit(struct skep_instance *inst, const struct skep_batch *batch)
{
	uint64_t entered;
	int err;

	if (inst->state != INSTANCE_RUNNING || inst->ending || !inst->plugin->desc->sink)
		return -ESHUTDOWN;
	entered = instance_enter(inst);
	err = instance_errno(inst->plugin->desc->sink->submit(inst, inst->data, batch));
	if (err < 0) {
		instance_reason(inst, err);
	} else {
		free(inst->reason);
		inst->reason = NULL;
	}
	instance_leave(inst, entered, "submit", true);
	return err;
}

void instance_stop(struct skep_instance *inst)
{
	if (inst->stop_wanted)
		return;
	inst->stop_wanted = true;
	inst->ending = true;
	instance_end_if_due(inst);
}

bool instance_stopped(const struct skep_instance *inst)
{
	return inst->state == INSTANCE_STOPPED && inst->working == 0 && inst->closing == 0;
}

bool instance_waits_for_work(const struct skep_instance *inst)
{
	return inst->ending && inst->working > 0;
}

void instance_stop_recall(struct skep_instance *inst)
{
	if (inst->ending)
		inst->stop_wanted = false;
}

struct skep_instance *instance_free(struct skep_instance *inst)
{
	struct skep_counter *counter;

	if (!inst)
		return NULL;
	/* A check of the configuration opens an instance and never starts it: close() is still missing. */
	if (inst->opened)
		instance_stop(inst);
	if (inst->opened || inst->working > 0 || inst->closing > 0 || inst->depth > 0) {
		/*
		 * The caller's mistake. A leak is better than a use after free: callbacks still point to this
		 * memory.
		 */
		log_at(SKEP_LOG_ERROR, inst->name, "freed before it had stopped (%u at work, %u closing); not freed",
		       inst->working, inst->closing);
		return NULL;
	}
	instance_signals_free(inst);
	while ((counter = inst->counters)) {
		inst->counters = counter->next;
		free(counter);
	}
	options_memory_free(inst->memory);
	free(inst->pristine);
	free(inst->data);
	free(inst->failing);
	free(inst->reason);
	free(inst->pin_dir);
	free(inst->mark_extra);
	free(inst->name);
	inst->magic = 0;
	free(inst);
	return NULL;
}
