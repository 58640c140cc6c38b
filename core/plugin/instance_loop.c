/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/instance_loop.c - the functions of the host table that a plugin calls: watches, timers,
 * background work, log, counters, and the calls that forward records to the collector.
 *
 * Plugins never see a libuv type. libuv frees nothing, and a handle's memory must stay valid until its close
 * callback. So a closed watch or timer exists until the loop's next turn, and instance->closing counts it.
 */
#include "core/base/magic.h"
#include "core/plugin/plugin.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <string.h>

#include "core/base/log.h"

#define LOOP_WARN_EVERY_NS 60000000000ull
/* After this many errors in a row on one fd, skepd assumes that the plugin does not handle them. */
#define LOOP_ERRORS_MAX    100u

#define MAGIC_skep_watch 0x3a7c4000u
struct skep_watch {
	uint32_t magic;
	uv_poll_t poll;
	struct skep_instance *inst;
	skep_watch_cb cb;
	void *arg;
	int uv_events;
	unsigned events; /* SKEP_READABLE | SKEP_WRITABLE, as the plugin requested */
	unsigned errors; /* in a row */
	bool closed;
	struct skep_watch *next, **link;
};

#define MAGIC_skep_timer 0x713e4000u
struct skep_timer {
	uint32_t magic;
	uv_timer_t uv;
	struct skep_instance *inst;
	skep_timer_cb cb;
	void *arg;
	bool closed;
	struct skep_timer *next, **link;
};

struct loop_work {
	struct worker_job job;
	struct skep_instance *inst;
	skep_work_cb work;
	skep_done_cb done;
	void *arg;
};

/* ---- time in callbacks ------------------------------------------------------- */

static uint64_t loop_cpu_ns(const struct rusage *ru)
{
	return ((uint64_t)ru->ru_utime.tv_sec + (uint64_t)ru->ru_stime.tv_sec) * 1000000000u +
	       ((uint64_t)ru->ru_utime.tv_usec + (uint64_t)ru->ru_stime.tv_usec) * 1000u;
}

uint64_t instance_enter(struct skep_instance *inst)
{
	struct rusage ru;

	/*
	 * Measures only the outermost callback. Callbacks nest: batch_done inside submit may cause the next
	 * submit.
	 */
	if (inst->depth++ > 0)
		return 0;
	getrusage(RUSAGE_THREAD, &ru);
	inst->entered_cpu_ns = loop_cpu_ns(&ru);
	inst->entered_waits = ru.ru_nvcsw;
	return uv_hrtime();
}

/*
 * A callback overruns its budget when it computed for longer, or when it took longer and waited for something.
 * A callback that was only preempted does not overrun: on a machine with more work than CPUs every callback
 * takes long now and then.
 */
static bool loop_is_overrun(const struct skep_instance *inst, uint64_t took)
{
	struct rusage ru;

	if (took <= inst->budget_ns)
		return false;
	getrusage(RUSAGE_THREAD, &ru);
	return loop_cpu_ns(&ru) - inst->entered_cpu_ns > inst->budget_ns || ru.ru_nvcsw != inst->entered_waits;
}

static void loop_overrun(struct skep_instance *inst, const char *what, uint64_t now, uint64_t took)
{
	inst->overruns++;
	if (inst->warned_ns != 0 && now - inst->warned_ns < LOOP_WARN_EVERY_NS)
		return;
	log_at(SKEP_LOG_WARNING, inst->name,
	       "%s took %.1f ms, its budget is %.1f ms (%llu such callbacks since the last such line, "
	       "%llu in all): it delays everything else",
	       what, (double)took / 1e6, (double)inst->budget_ns / 1e6,
	       (unsigned long long)(inst->overruns - inst->warned_overruns), (unsigned long long)inst->overruns);
	inst->warned_ns = now;
	inst->warned_overruns = inst->overruns;
}

void instance_leave(struct skep_instance *inst, uint64_t entered, const char *what, bool has_budget)
{
	uint64_t now, took;

	if (--inst->depth > 0)
		return;
	now = uv_hrtime();
	took = now - entered;
	inst->busy_ns += took;
	if (has_budget) {
		if (took > inst->worst_ns)
			inst->worst_ns = took;
		if (loop_is_overrun(inst, took))
			loop_overrun(inst, what, now, took);
	} else {
		log_at(SKEP_LOG_DEBUG, inst->name, "%s took %.1f ms", what, (double)took / 1e6);
	}
	if (inst->failing) {
		/*
		 * Callbacks with an error result have taken the text already. This callback returns nothing, or
		 * has succeeded.
		 */
		log_at(SKEP_LOG_WARNING, inst->name, "%s: %s", what, inst->failing);
		free(inst->failing);
		inst->failing = NULL;
	}
	instance_end_if_due(inst);
}

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

/* ---- watches ---------------------------------------------------------------------- */

static void loop_watch_closed(uv_handle_t *handle)
{
	struct skep_watch *watch = MAGIC_OBJECT(skep_watch, handle->data);

	watch->inst->closing--;
	free(watch);
}

static void loop_watch_close(struct skep_watch *watch)
{
	if (!watch || watch->closed)
		return;
	watch->closed = true;
	*watch->link = watch->next;
	if (watch->next)
		watch->next->link = watch->link;
	watch->inst->closing++;
	uv_close((uv_handle_t *)&watch->poll, loop_watch_closed);
}

static void loop_watch_event(uv_poll_t *poll, int status, int uv_events)
{
	struct skep_watch *watch = MAGIC_OBJECT(skep_watch, poll->data);
	struct skep_instance *inst = watch->inst;
	unsigned events = 0;
	uint64_t entered;

	if (status < 0) {
		/*
		 * libuv turns EPOLLERR into an error and stops the watch. The plugin gets its events instead,
		 * and meets the error in read or write (after a refused connect, for example). The fd may work
		 * afterwards, so the watch is armed again, up to LOOP_ERRORS_MAX errors in a row.
		 */
		events = watch->events;
		if (++watch->errors > LOOP_ERRORS_MAX || uv_poll_start(poll, watch->uv_events, loop_watch_event) < 0) {
			log_at(SKEP_LOG_WARNING, inst->name,
			       "fd watch closed: %u errors in a row, and the plugin handles none of them (%s)",
			       watch->errors, uv_strerror(status));
			loop_watch_close(watch);
			return;
		}
	} else {
		watch->errors = 0;
		if (uv_events & UV_READABLE)
			events |= SKEP_READABLE;
		if (uv_events & UV_WRITABLE)
			events |= SKEP_WRITABLE;
	}
	entered = instance_enter(inst);
	watch->cb(inst, watch->arg, events);
	/* The callback may have closed the watch; its memory stays valid until the loop's next turn. */
	instance_leave(inst, entered, "watch callback", true);
}

static int loop_watch_fd(struct skep_instance *inst, int fd, unsigned events, skep_watch_cb cb, void *arg,
			 struct skep_watch **ret)
{
	struct skep_watch *watch;
	int err;

	if (fd < 0 || !cb || (events & (SKEP_READABLE | SKEP_WRITABLE)) == 0 ||
	    (events & ~(SKEP_READABLE | SKEP_WRITABLE)) != 0)
		return -EINVAL;
	watch = calloc(1, sizeof(*watch));
	if (!watch)
		return -ENOMEM;
	watch->magic = MAGIC_skep_watch;
	watch->inst = inst;
	watch->cb = cb;
	watch->arg = arg;
	watch->events = events;
	watch->uv_events = (events & SKEP_READABLE ? UV_READABLE : 0) | (events & SKEP_WRITABLE ? UV_WRITABLE : 0);
	/* libuv's errors are negative errno values on Linux. */
	err = uv_poll_init(inst->loop, &watch->poll, fd);
	if (err < 0) {
		free(watch); /* the loop never had the handle */
		return err;
	}
	watch->poll.data = watch;
	watch->next = inst->watches;
	watch->link = &inst->watches;
	if (watch->next)
		watch->next->link = &watch->next;
	inst->watches = watch;
	err = uv_poll_start(&watch->poll, watch->uv_events, loop_watch_event);
	if (err < 0) {
		loop_watch_close(watch);
		return err;
	}
	*ret = watch;
	return 0;
}

/* ---- timers ----------------------------------------------------------------------- */

static void loop_timer_closed(uv_handle_t *handle)
{
	struct skep_timer *timer = MAGIC_OBJECT(skep_timer, handle->data);

	timer->inst->closing--;
	free(timer);
}

static void loop_timer_close(struct skep_timer *timer)
{
	if (!timer || timer->closed)
		return;
	timer->closed = true;
	*timer->link = timer->next;
	if (timer->next)
		timer->next->link = timer->link;
	timer->inst->closing++;
	uv_close((uv_handle_t *)&timer->uv, loop_timer_closed);
}

static void loop_timer_event(uv_timer_t *uv)
{
	struct skep_timer *timer = MAGIC_OBJECT(skep_timer, uv->data);
	struct skep_instance *inst = timer->inst;
	uint64_t entered = instance_enter(inst);

	timer->cb(inst, timer->arg);
	instance_leave(inst, entered, "timer callback", true);
}

static int loop_timer(struct skep_instance *inst, uint64_t first_ms, uint64_t repeat_ms, skep_timer_cb cb, void *arg,
		      struct skep_timer **ret)
{
	struct skep_timer *timer;
	int err;

	if (!cb)
		return -EINVAL;
	timer = calloc(1, sizeof(*timer));
	if (!timer)
		return -ENOMEM;
	timer->magic = MAGIC_skep_timer;
	timer->inst = inst;
	timer->cb = cb;
	timer->arg = arg;
	err = uv_timer_init(inst->loop, &timer->uv);
	if (err < 0) {
		free(timer);
		return err;
	}
	timer->uv.data = timer;
	timer->next = inst->timers;
	timer->link = &inst->timers;
	if (timer->next)
		timer->next->link = &timer->next;
	inst->timers = timer;
	/*
	 * The loop's clock stands still during a callback. Without this update a timer set in a start() that
	 * loads BPF for 300 ms would fire early.
	 */
	uv_update_time(inst->loop);
	err = uv_timer_start(&timer->uv, loop_timer_event, first_ms, repeat_ms);
	if (err < 0) {
		loop_timer_close(timer);
		return err;
	}
	*ret = timer;
	return 0;
}

unsigned instance_close_leftovers(struct skep_instance *inst)
{
	unsigned n = 0;

	while (inst->watches) {
		loop_watch_close(inst->watches);
		n++;
	}
	while (inst->timers) {
		/* A one-shot timer that has fired is harmless and does not count. */
		n += uv_is_active((uv_handle_t *)&inst->timers->uv) ? 1 : 0;
		loop_timer_close(inst->timers);
	}
	return n;
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
			       "work has not returned for %llu s: a file system or a server that it uses may not answer; "
			       "its other work goes on as far as it can, and nothing else waits for it",
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

/* An older plugin's struct may be shorter: the missing members are 0. */
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

void instance_host_fill(struct skep_host *host)
{
	host->size = sizeof(*host);
	host->abi_minor = SKEP_ABI_MINOR;
	host->log = loop_log;
	host->fail = loop_fail;
	host->watch_fd = loop_watch_fd;
	host->watch_close = loop_watch_close;
	host->timer = loop_timer;
	host->timer_close = loop_timer_close;
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
}
