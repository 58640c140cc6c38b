/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/collector_host.c - the functions of the plugin host that the collector serves: records, losses, sweeps,
 * secrets, cgroups, answers for batches.
 */
#include <string.h>

#include "core/base/magic.h"
#include "core/collect/collector_priv.h"
#include "core/base/log.h"

/*
 * Drains the old instance before its successor emits.  In its start() the successor may report the end of a process
 * whose begin is still in the old instance's ring.
 */
static void let_other_tell(struct instance_data *data)
{
	struct skep_instance *other = data->after;

	data->after = NULL; /* cleared first, as the old instance's records come through here too */
	if (other)
		instance_flush(other);
}

static void host_emit(struct skep_instance *inst, unsigned stream, const struct skep_upid *who, uint64_t time_ns,
		      const void *rec)
{
	struct collector *c = MAGIC_OBJECT(collector, inst->owner);
	struct instance_data *data = inst->extra;
	const struct skep_plugin *desc = inst->plugin->desc;
	uint64_t now_ns = clock_boot_ns();
	struct skep_context context;
	const struct skep_stream *s;
	uint64_t cgroup_id;

	if (stream >= desc->n_streams || !rec || !c->track) {
		log_at(SKEP_LOG_ERROR, inst->name,
		       "emitted a record of stream %u, but has only %u: a bug in the plugin", stream, desc->n_streams);
		return;
	}
	if (data->left_behind) /* its successor has replaced it */
		return;
	let_other_tell(data);
	s = desc->streams[stream];
	if (who && who->pid == 0)
		who = NULL;
	switch (s->role) {
	case SKEP_ROLE_PROC_FORK:
	case SKEP_ROLE_PROC_EXEC:
	case SKEP_ROLE_PROC_EXIT:
	case SKEP_ROLE_PROC_FINAL:
	case SKEP_ROLE_PROC_LIVE:
	case SKEP_ROLE_PROC_OOM:
	case SKEP_ROLE_PROC_EXCLUDED:
		track_record(c->track, (enum skep_role)s->role, who, time_ns, rec, now_ns);
		break;
	case SKEP_ROLE_FACET:
		track_facet(c->track, s, who, rec, now_ns);
		break;
	case SKEP_ROLE_LEDGER:
		collector_ledger_post(c, inst, rec);
		break;
	case SKEP_ROLE_CGROUP:
		memcpy(&cgroup_id, rec, sizeof(cgroup_id));
		track_cgroup_context(c->track, cgroup_id, &context);
		delivery_emit(c->delivery, data->streams[stream], who, time_ns ? time_ns : now_ns, rec, &context);
		break;
	case SKEP_ROLE_DETAIL:
		collector_detail_record(c, inst, s, data->streams[stream], who, time_ns ? time_ns : now_ns, rec);
		break;
	default:
		if (who)
			track_context(c->track, who, &context);
		delivery_emit(c->delivery, data->streams[stream], who, time_ns ? time_ns : now_ns, rec,
			      who ? &context : NULL);
		break;
	}
}

/*
 * Whether the record of an ended process waits until this probe has drained.  For facets it must.  While a detail is
 * attached, it waits so that records of the detail still find the process.  drained_ns 0: the probe never calls
 * drained().
 */
static bool is_waited_for(const struct instance_data *data)
{
	return data->facet || (data->attachments && data->drained_ns > 0);
}

void collector_facets_drained(struct collector *c)
{
	uint64_t least = UINT64_MAX;

	if (!c->track)
		return;
	for (struct skep_instance *inst = c->instances; inst; inst = inst->next) {
		const struct instance_data *data = inst->extra;

		/* A failed or stopped instance reports no more: the collector does not wait for it. */
		if (inst->state != INSTANCE_RUNNING)
			continue;
		if (is_waited_for(data) && data->drained_ns < least)
			least = data->drained_ns;
	}
	track_drained(c->track, least, clock_boot_ns());
}

static void host_drained(struct skep_instance *inst, uint64_t time_ns)
{
	struct instance_data *data = inst->extra;
	struct collector *c = MAGIC_OBJECT(collector, inst->owner);

	if (data->lifecycle && c->track)
		track_verdicts_out(c->track);
	if (time_ns <= data->drained_ns)
		return;
	data->drained_ns = time_ns;
	/* No record waits for a life-cycle probe without attachments. */
	if (is_waited_for(data))
		collector_facets_drained(inst->owner);
}

static void host_sweep_begin(struct skep_instance *inst, uint64_t time_ns)
{
	struct collector *c = MAGIC_OBJECT(collector, inst->owner);
	struct instance_data *data = inst->extra;

	if (!data->lifecycle || !c->track || data->left_behind)
		return;
	let_other_tell(data);
	data->sweeping = true;
	track_sweep_begin(c->track, time_ns, clock_boot_ns());
}

static void host_sweep_end(struct skep_instance *inst, bool complete)
{
	struct collector *c = MAGIC_OBJECT(collector, inst->owner);
	struct instance_data *data = inst->extra;

	if (!data->sweeping)
		return;
	data->sweeping = false;
	track_sweep_end(c->track, complete, clock_boot_ns());
	if (c->sample_due)
		collector_swept(c);
}

static void host_lost(struct skep_instance *inst, unsigned stream, enum skep_loss where, uint64_t n)
{
	struct collector *c = MAGIC_OBJECT(collector, inst->owner);
	struct instance_data *data = inst->extra;

	if (stream >= inst->plugin->desc->n_streams || where < SKEP_LOSS_KERNEL || where > SKEP_LOSS_SINK) {
		log_at(SKEP_LOG_ERROR, inst->name, "reported a loss of stream %u at place %d: a bug in the plugin",
		       stream, (int)where);
		return;
	}
	if (data->left_behind)
		return;
	data->lost[stream][where] += n;
	if (data->streams[stream] >= 0)
		delivery_lost(c->delivery, data->streams[stream], where, n);
}

static unsigned host_redact(struct skep_instance *inst, const char *exe, char *argv, uint32_t *len)
{
	const struct collector *c = MAGIC_OBJECT(collector, inst->owner);

	return redact_argv(c->redact, exe, argv, len);
}

static bool host_cgroup_known(struct skep_instance *inst, uint64_t cgroup_id, const struct skep_str *path)
{
	struct collector *c = MAGIC_OBJECT(collector, inst->owner);

	return cgroups_known(c->cgroups, cgroup_id, path);
}

static void log_held(struct skep_instance *inst, const char *why)
{
	log_because(SKEP_LOG_ERROR, inst->name, why, "refuses every batch: %s; skepd keeps its records until this is "
		"mended", why);
}

static void log_refused(struct skep_instance *inst, const struct delivery_sink *sink, uint64_t id, uint32_t n,
			const char *why)
{
	struct delivery_queue q = delivery_sink_queue(sink);

	if (q.held) /* the sink refuses everything, and the batch stays */
		log_held(inst, q.why);
	else
		log_because(SKEP_LOG_WARNING, inst->name, why,
			    "refused batch %llu for good, %u records are lost there: %s", (unsigned long long)id, n,
			    why);
}

static void host_batch_answer(struct skep_instance *inst, const struct skep_batch *batch,
			      const struct skep_batch_answer *answer)
{
	struct collector *c = MAGIC_OBJECT(collector, inst->owner);
	struct instance_data *data = inst->extra;
	const char *why = answer->why ? answer->why : "it gave no reason";
	unsigned long long id = batch->id;
	uint32_t n = batch->n;

	if (data->left_behind) /* the batch went to the successor, or counts as lost */
		return;
	if (answer->result < SKEP_BATCH_ACK || answer->result > SKEP_BATCH_SUSPECT)
		log_at(SKEP_LOG_ERROR, inst->name,
		       "answered %u, which is not a result, for batch %llu: a bug in the plugin; treated as \"not now\"",
		       answer->result, id);
	/* delivery_done() may free the batch. */
	if (!data->sink || delivery_done(c->delivery, data->sink, batch, answer, clock_boot_ns()) < 0) {
		log_at(SKEP_LOG_ERROR, inst->name, "answered for a batch that it does not have: a bug in the plugin");
		return;
	}
	switch (answer->result) {
	case SKEP_BATCH_ACK:
		if (answer->rejected > 0)
			log_because(SKEP_LOG_WARNING, inst->name, why,
				    "%u of %u records of batch %llu were refused for good: %s", answer->rejected, n, id,
				    why);
		break;
	case SKEP_BATCH_REJECT:
		log_refused(inst, data->sink, id, n, why);
		break;
	case SKEP_BATCH_HOLD:
		log_held(inst, why);
		break;
	case SKEP_BATCH_SPLIT:
		if (n == 1)
			log_refused(inst, data->sink, id, n, why);
		else
			log_because(SKEP_LOG_INFO, inst->name, why,
				    "batch %llu of %u records is too large: %s; sending it in halves", id, n, why);
		break;
	default:
		log_because(SKEP_LOG_INFO, inst->name, why, "cannot accept batch %llu now: %s", id, why);
	}
}

static bool host_process_known(struct skep_instance *inst, const struct skep_upid *who)
{
	const struct collector *c = MAGIC_OBJECT(collector, inst->owner);

	return c->track && track_known(c->track, who);
}

static bool host_cgroup_path(struct skep_instance *inst, uint64_t cgroup_id, struct skep_str *ret)
{
	struct collector *c = MAGIC_OBJECT(collector, inst->owner);

	*ret = cgroups_path(c->cgroups, cgroup_id, clock_boot_ns());
	return ret->len > 0;
}

static void host_cgroups_live(struct skep_instance *inst,
			      void (*cb)(void *arg, uint64_t cgroup_id, const struct skep_str *path), void *arg)
{
	struct collector *c = MAGIC_OBJECT(collector, inst->owner);

	if (c->track && track_cgroups_live(c->track, clock_boot_ns(), cb, arg) < 0)
		log_at(SKEP_LOG_WARNING, inst->name, "no memory to list cgroups; left out of this interval");
}

static bool host_process_by_pid(struct skep_instance *inst, uint32_t pid, struct skep_upid *ret)
{
	const struct collector *c = MAGIC_OBJECT(collector, inst->owner);
	const struct proc *p = c->track ? proctab_latest(track_table(c->track), pid) : NULL;

	if (!p)
		return false;
	*ret = p->upid;
	return true;
}

static void host_settle_soon(struct skep_instance *inst)
{
	struct collector *c = MAGIC_OBJECT(collector, inst->owner);

	delivery_commit_soon(c->delivery);
}

/*
 * Whether pinned state of the instance is to stay for the next skepd: not of an instance that a reload removes, even if
 * skepd stops meanwhile.
 */
static bool host_stays(struct skep_instance *inst)
{
	const struct collector *c = MAGIC_OBJECT(collector, inst->owner);
	const struct skep_instance *at = c->instances;

	while (at && at != inst)
		at = at->next;
	return at && c->stop != STOP_NOT && c->pins.dir;
}

static void host_detail_over(struct skep_instance *inst, uint64_t id, const char *why)
{
	collector_detail_over(inst->owner, id, why);
}

static int host_process_read(struct skep_instance *inst, const struct skep_upid *who, uint32_t uid, uint32_t what,
			     skep_process_cb cb, void *arg)
{
	const struct collector *c = MAGIC_OBJECT(collector, inst->owner);

	return c->reader ? reader_ask(c->reader, inst, who, uid, what, cb, arg) : -EPIPE;
}

static const struct skep_boundaries *host_boundaries(struct skep_instance *inst)
{
	const struct collector *c = MAGIC_OBJECT(collector, inst->owner);

	return &c->boundaries;
}

static const struct skep_kernel_types *host_kernel_types(struct skep_instance *inst)
{
	return collector_types(MAGIC_OBJECT(collector, inst->owner));
}

static void host_stopped(struct skep_instance *inst)
{
	const struct collector *c = MAGIC_OBJECT(collector, inst->owner);

	if (c->reader)
		reader_forget(c->reader, inst);
}

void collector_process_text(void *owner, skep_process_cb cb, void *arg, const struct skep_process_text *text)
{
	struct skep_instance *inst;
	uint64_t entered;

	if (*(const uint32_t *)owner == MAGIC_collector) { /* collector_pss.c */
		cb(NULL, arg, text);
		return;
	}
	inst = MAGIC_OBJECT(skep_instance, owner);
	entered = instance_enter(inst);
	cb(inst, arg, text);
	instance_leave(inst, entered, "process_read callback", true);
}

const struct instance_ops collector_ops = {
	.emit = host_emit,
	.drained = host_drained,
	.sweep_begin = host_sweep_begin,
	.sweep_end = host_sweep_end,
	.lost = host_lost,
	.redact = host_redact,
	.cgroup_known = host_cgroup_known,
	.batch_answer = host_batch_answer,
	.process_known = host_process_known,
	.cgroup_path = host_cgroup_path,
	.cgroups_live = host_cgroups_live,
	.process_by_pid = host_process_by_pid,
	.stays = host_stays,
	.settle_soon = host_settle_soon,
	.detail_over = host_detail_over,
	.process_read = host_process_read,
	.boundaries = host_boundaries,
	.kernel_types = host_kernel_types,
	.stopped = host_stopped,
};

int collector_submit(void *inst, const struct skep_batch *batch)
{
	return instance_submit(inst, batch);
}
