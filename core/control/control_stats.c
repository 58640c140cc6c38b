/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_stats.c - the request `stats`: what skepd measures of itself, as numbers.
 */
#include <dirent.h>
#include <unistd.h>

#include "core/control/control_plugins.h"
#include "core/control/control_priv.h"
#include "core/control/control_record.h"
#include "core/control/reloader.h"

/* -1 where /proc does not say. */
static int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = -3; /* ".", ".." and the descriptor of the folder */

	if (!dir)
		return -1;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static json_t *lost(const struct skep_instance *inst)
{
	uint64_t sums[DELIVERY_LOSSES];

	collector_instance_lost(inst, sums);
	return control_losses(sums);
}

static json_t *queue(const struct skep_instance *inst)
{
	struct delivery_queue q;

	if (!collector_instance_queue(inst, &q))
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o}", "batches", control_json_number(q.batches),
			 "bytes", control_json_number(q.bytes), "in_flight", control_json_number(q.in_flight),
			 "retries", control_json_number(q.retries), "sent_bytes", control_json_number(q.sent_bytes),
			 "held", q.held, "lag_records", control_json_number(q.lag_records), "lag_bytes",
			 control_json_number(q.lag_bytes), "lag_oldest_ns",
			 control_json_number((uint64_t)q.lag_oldest_ns));
}

static json_t *instance(const struct skep_instance *inst)
{
	json_t *o = control_instance(inst);
	json_t *more = json_pack("{s:b, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "up", inst->state == INSTANCE_RUNNING,
				 "retries", (int)collector_instance_retries(inst), "busy_ns",
				 control_json_number(inst->busy_ns), "worst_ns", control_json_number(inst->worst_ns),
				 "overruns", control_json_number(inst->overruns), "counters", control_counters(inst),
				 "lost", lost(inst), "queue", queue(inst));

	if (!o || !more || json_object_update(o, more) < 0) {
		json_decref(o);
		o = NULL;
	}
	json_decref(more);
	return o;
}

static json_t *instances(const struct collector *c)
{
	json_t *array = json_array();

	for (const struct skep_instance *inst = collector_instances(c); array && inst; inst = inst->next)
		if (json_array_append_new(array, instance(inst)) < 0) {
			json_decref(array);
			return NULL;
		}
	return array;
}

static json_t *reloads(const struct control *control)
{
	return control->reloader ? reloader_json(control->reloader) : json_null();
}

json_t *control_answer_stats(const struct control *control)
{
	const struct collector *c = control->collector;
	struct collector_self self;
	uint64_t all[DELIVERY_LOSSES];

	collector_lost(c, all);
	collector_self(c, &self);
	return json_pack(
		"{s:b, s:s, s:s, s:i, s:o, s:o, s:i, s:{s:o, s:o}, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "ok",
		1, "request", "stats", "version", SKEP_VERSION, "pid", (int)getpid(), "uptime_ns",
		control_json_number(clock_boot_ns() - control->start_ns), "cost", control_cost(), "fds", open_fds(),
		"loop", "lag_ns", control_json_number(self.lag_ns), "lag_worst_ns",
		control_json_number(self.lag_worst_ns), "processes", control_json_number(collector_processes(c)),
		"instances", instances(c), "streams", control_streams(c), "lost", control_losses(all), "self",
		control_self(c), "spool", control_spool(c), "reload", reloads(control), "rules", control_rules(control),
		"clients", control_clients(control));
}
