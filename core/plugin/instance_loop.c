/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/instance_loop.c - the functions of the host table that a plugin calls: background work, log, counters,
 * and the calls that forward records to the collector. Watches and timers: instance_callback.c.
 */
#include "core/plugin/plugin.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"

struct loop_work {
	struct worker_job job;
	struct skep_instance *inst;
	skep_work_cb work;
	skep_done_cb done;
	void *arg;
};

/* ---- log, fail, counters ------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void loop_log(struct skep_instance *inst, int level, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_vat(level, inst->name, fmt, args);
	va_end(args);
}

__attribute__((format(printf, 3, 4))) static int loop_fail(struct skep_instance *inst, int err, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL; /* out of memory: strerror(err) must suffice */
	va_end(args);
	free(inst->failing);
	inst->failing = text;
	return err < 0 ? err : -EINVAL;
}

static struct skep_counter *loop_counter(struct skep_instance *inst, const char *name, const char *help)
{
	struct skep_counter *counter;
	size_t name_size, help_size;
	char *text;

	/* Returns the existing counter of the same name: open() asks again in a retry. */
	for (counter = inst->counters; counter; counter = counter->next)
		if (strcmp(counter->name, name) == 0)
			return counter;
	name_size = strlen(name) + 1;
	help_size = strlen(help ? help : "") + 1;
	/*
	 * Copies the texts: a plugin may build the name at run time, and the counter outlives the plugin's
	 * state.
	 */
	counter = calloc(1, sizeof(*counter) + name_size + help_size);
	if (!counter)
		return NULL;
	text = (char *)(counter + 1);
	counter->name = memcpy(text, name, name_size);
	counter->help = memcpy(text + name_size, help ? help : "", help_size);
	counter->next = inst->counters;
	inst->counters = counter;
	return counter;
}

/* Accepts NULL: plugins need not check whether counter() found memory. */
static void loop_counter_add(struct skep_counter *counter, uint64_t n)
{
	if (counter)
		atomic_fetch_add_explicit(&counter->value, n, memory_order_relaxed);
}

static void loop_counter_set(struct skep_counter *counter, uint64_t n)
{
	if (counter)
		atomic_store_explicit(&counter->value, n, memory_order_relaxed);
}

/* ---- background work ----------------------------------------------------------------- */

static void loop_work_run(struct worker_job *job)
{
	const struct loop_work *work = (const struct loop_work *)job;

	work->work(work->arg);
}

static void loop_work_done(struct worker_job *job)
{
	struct loop_work *work = (struct loop_work *)job;
	struct skep_instance *inst = work->inst;
	uint64_t entered;

	entered = instance_enter(inst);
	/* Decrements before the callback, which may start the next work. The end waits for depth as well. */
	inst->working--;
	if (work->done)
		work->done(inst, work->arg);
	free(work);
	instance_leave(inst, entered, "done callback", true);
}

static int loop_work(struct skep_instance *inst, skep_work_cb run, skep_done_cb done, void *arg)
{
	struct loop_work *work;
	int err;

	if (!run)
		return -EINVAL;
	if (inst->ending && !inst->in_stop)
		return -ESHUTDOWN;
	err = inst->workers ? 0 : workers_new(inst->loop, inst->name, &inst->workers);
	if (err < 0)
		return err;
	work = calloc(1, sizeof(*work));
	if (!work)
		return -ENOMEM;
	work->job.work = loop_work_run;
	work->job.done = loop_work_done;
	work->inst = inst;
	work->work = run;
	work->done = done;
	work->arg = arg;
	err = workers_post(inst->workers, &work->job);
	if (err < 0) {
		free(work);
		return err;
	}
	inst->working++;
	return 0;
}

void instance_look_at_work(struct skep_instance *inst)
{
	uint64_t age = inst->working > 0 ? workers_oldest_ns(inst->workers) : 0;

	if (age >= inst->stuck_after_ns) {
		if (inst->stuck_ns == 0)
			log_at(SKEP_LOG_WARNING, inst->name,
			       "work has not returned for %llu s: "
			       "a file system or a server that it uses may not answer; "
			       "the rest of the plugin continues, and no other plugin waits",
			       (unsigned long long)(age / 1000000000u));
		inst->stuck_ns = age;
	} else if (inst->stuck_ns > 0) {
		log_at(SKEP_LOG_NOTICE, inst->name, "the work that did not return for %llu s has returned",
		       (unsigned long long)(inst->stuck_ns / 1000000000u));
		inst->stuck_ns = 0;
	}
}

/* ---- to the collector ----------------------------------------------------------------- */

static bool loop_stream_ok(struct skep_instance *inst, unsigned stream)
{
	if (stream < inst->plugin->desc->n_streams)
		return true;
	loop_log(inst, SKEP_LOG_ERROR, "a record of stream number %u, of which there are %u (a bug in the plugin)",
		 stream, inst->plugin->desc->n_streams);
	return false;
}

static void loop_emit(struct skep_instance *inst, unsigned stream, const struct skep_upid *who, uint64_t time_ns,
		      const void *rec)
{
	if (loop_stream_ok(inst, stream) && rec && inst->ops->emit)
		inst->ops->emit(inst, stream, who, time_ns, rec);
}

static void loop_drained(struct skep_instance *inst, uint64_t time_ns)
{
	if (inst->ops->drained)
		inst->ops->drained(inst, time_ns);
}

static void loop_sweep_begin(struct skep_instance *inst, uint64_t time_ns)
{
	if (inst->ops->sweep_begin)
		inst->ops->sweep_begin(inst, time_ns);
}

static void loop_sweep_end(struct skep_instance *inst, bool complete)
{
	if (inst->ops->sweep_end)
		inst->ops->sweep_end(inst, complete);
}

static void loop_lost(struct skep_instance *inst, unsigned stream, enum skep_loss where, uint64_t n)
{
	if (loop_stream_ok(inst, stream) && where >= SKEP_LOSS_KERNEL && where <= SKEP_LOSS_SINK && n > 0 &&
	    inst->ops->lost)
		inst->ops->lost(inst, stream, where, n);
}

static unsigned loop_redact(struct skep_instance *inst, const char *exe, char *argv, uint32_t *len)
{
	if (inst->ops->redact)
		return inst->ops->redact(inst, exe, argv, len);
	/* The collector has no redaction: drop all arguments rather than leak a secret. */
	*len = 0;
	return 0;
}

static bool loop_cgroup_known(struct skep_instance *inst, uint64_t cgroup_id, const struct skep_str *path)
{
	return inst->ops->cgroup_known && inst->ops->cgroup_known(inst, cgroup_id, path);
}

/* The struct of a plugin of an earlier minor may be shorter: the missing members are 0. */
static void loop_batch_answer(struct skep_instance *inst, const struct skep_batch *batch,
			      const struct skep_batch_answer *answer)
{
	struct skep_batch_answer whole = { 0 };

	if (!inst->ops->batch_answer)
		return;
	memcpy(&whole, answer, answer->size < sizeof(whole) ? answer->size : sizeof(whole));
	inst->ops->batch_answer(inst, batch, &whole);
}

static void loop_batch_done(struct skep_instance *inst, const struct skep_batch *batch, enum skep_batch_result result,
			    const char *why)
{
	struct skep_batch_answer answer = { .size = sizeof(answer), .result = result, .why = why };

	loop_batch_answer(inst, batch, &answer);
}

static bool loop_process_known(struct skep_instance *inst, const struct skep_upid *who)
{
	return inst->ops->process_known && inst->ops->process_known(inst, who);
}

static bool loop_cgroup_path(struct skep_instance *inst, uint64_t cgroup_id, struct skep_str *ret)
{
	return inst->ops->cgroup_path && inst->ops->cgroup_path(inst, cgroup_id, ret);
}

static void loop_cgroups_live(struct skep_instance *inst,
			      void (*cb)(void *arg, uint64_t cgroup_id, const struct skep_str *path), void *arg)
{
	if (inst->ops->cgroups_live)
		inst->ops->cgroups_live(inst, cb, arg);
}

static bool loop_process_by_pid(struct skep_instance *inst, uint32_t pid, struct skep_upid *ret)
{
	return inst->ops->process_by_pid && inst->ops->process_by_pid(inst, pid, ret);
}

static void loop_detail_over(struct skep_instance *inst, uint64_t id, const char *why)
{
	if (inst->ops->detail_over)
		inst->ops->detail_over(inst, id, why);
}

static bool loop_stays(struct skep_instance *inst)
{
	return inst->ops->stays && inst->ops->stays(inst);
}

static void loop_settle_soon(struct skep_instance *inst)
{
	if (inst->ops->settle_soon)
		inst->ops->settle_soon(inst);
}

static int loop_process_read(struct skep_instance *inst, const struct skep_upid *who, uint32_t uid, uint32_t what,
			     skep_process_cb cb, void *arg)
{
	return inst->ops->process_read && !inst->ending ? inst->ops->process_read(inst, who, uid, what, cb, arg)
							: -EPIPE;
}

static const struct skep_boundaries *loop_boundaries(struct skep_instance *inst)
{
	static const char *const nothing[] = { NULL };
	static const struct skep_boundaries none = {
		.size = sizeof(none),
		.generation = 1,
		.names = nothing,
		.programs = nothing,
	};

	return inst->ops->boundaries ? inst->ops->boundaries(inst) : &none;
}

static const struct skep_kernel_types *loop_kernel_types(struct skep_instance *inst)
{
	return inst->ops->kernel_types ? inst->ops->kernel_types(inst) : NULL;
}

void instance_host_fill(struct skep_host *host)
{
	host->size = sizeof(*host);
	host->abi_minor = SKEP_ABI_MINOR;
	host->log = loop_log;
	host->fail = loop_fail;
	host->watch_fd = instance_watch_fd;
	host->watch_close = instance_watch_close;
	host->timer = instance_timer;
	host->timer_close = instance_timer_close;
	host->work = loop_work;
	host->emit = loop_emit;
	host->drained = loop_drained;
	host->sweep_begin = loop_sweep_begin;
	host->sweep_end = loop_sweep_end;
	host->lost = loop_lost;
	host->counter = loop_counter;
	host->counter_add = loop_counter_add;
	host->counter_set = loop_counter_set;
	host->redact = loop_redact;
	host->cgroup_known = loop_cgroup_known;
	host->batch_done = loop_batch_done;
	host->batch_answer = loop_batch_answer;
	host->process_known = loop_process_known;
	host->signal = instance_signal;
	host->cgroup_path = loop_cgroup_path;
	host->cgroups_live = loop_cgroups_live;
	host->process_by_pid = loop_process_by_pid;
	host->detail_over = loop_detail_over;
	host->stays = loop_stays;
	host->settle_soon = loop_settle_soon;
	host->process_read = loop_process_read;
	host->boundaries = loop_boundaries;
	host->kernel_types = loop_kernel_types;
}
