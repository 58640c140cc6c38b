/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/instance_callback.c - the callbacks of an instance: watches and timers, the time that each callback
 * takes, and the end of the instance, which runs after the last callback.
 *
 * Plugins never see a libuv type. libuv frees nothing, and a handle's memory must stay valid until its close
 * callback. So a closed watch or timer exists until the loop's next turn, and instance->closing counts it.
 *
 * instance_end_if_due ends an instance: it calls stop() (where start() succeeded), closes what the plugin left
 * open, and calls close(). It waits until no work() is in progress and no callback of this instance is on the
 * stack. When stop() itself starts work(), the function runs twice: the second run calls close() after the work
 * has returned.
 */
#include "core/base/magic.h"
#include "core/plugin/plugin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/base/log.h"

#define WARN_EVERY_NS 60000000000ull
/* After this many errors in a row on one fd, skepd assumes that the plugin does not handle them. */
#define ERRORS_MAX    100u

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

/* ---- time in callbacks ------------------------------------------------------- */

static uint64_t cpu_ns(const struct rusage *ru)
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
	inst->entered_cpu_ns = cpu_ns(&ru);
	inst->entered_waits = ru.ru_nvcsw;
	return uv_hrtime();
}

/*
 * A callback overruns its budget when it computed for longer, or when it took longer and waited for something.
 * A callback that was only preempted does not overrun: on a machine with more work than CPUs every callback
 * takes long now and then.
 */
static bool is_overrun(const struct skep_instance *inst, uint64_t took)
{
	struct rusage ru;

	if (took <= inst->budget_ns)
		return false;
	getrusage(RUSAGE_THREAD, &ru);
	return cpu_ns(&ru) - inst->entered_cpu_ns > inst->budget_ns || ru.ru_nvcsw != inst->entered_waits;
}

static void overrun(struct skep_instance *inst, const char *what, uint64_t now, uint64_t took)
{
	inst->overruns++;
	if (inst->warned_ns != 0 && now - inst->warned_ns < WARN_EVERY_NS)
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
		if (is_overrun(inst, took))
			overrun(inst, what, now, took);
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

/* ---- watches ---------------------------------------------------------------------- */

static void watch_closed(uv_handle_t *handle)
{
	struct skep_watch *watch = MAGIC_OBJECT(skep_watch, handle->data);

	watch->inst->closing--;
	free(watch);
}

void instance_watch_close(struct skep_watch *watch)
{
	if (!watch || watch->closed)
		return;
	watch->closed = true;
	*watch->link = watch->next;
	if (watch->next)
		watch->next->link = watch->link;
	watch->inst->closing++;
	uv_close((uv_handle_t *)&watch->poll, watch_closed);
}

static void watch_event(uv_poll_t *poll, int status, int uv_events)
{
	struct skep_watch *watch = MAGIC_OBJECT(skep_watch, poll->data);
	struct skep_instance *inst = watch->inst;
	unsigned events = 0;
	uint64_t entered;

	if (status < 0) {
		/*
		 * libuv turns EPOLLERR into an error and stops the watch. The plugin gets its events instead,
		 * and meets the error in read or write (after a refused connect, for example). The fd may work
		 * afterwards, so the watch is armed again, up to ERRORS_MAX errors in a row.
		 */
		events = watch->events;
		if (++watch->errors > ERRORS_MAX || uv_poll_start(poll, watch->uv_events, watch_event) < 0) {
			log_at(SKEP_LOG_WARNING, inst->name,
			       "fd watch closed: %u errors in a row, and the plugin handles none of them (%s)",
			       watch->errors, uv_strerror(status));
			instance_watch_close(watch);
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

int instance_watch_fd(struct skep_instance *inst, int fd, unsigned events, skep_watch_cb cb, void *arg,
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
	err = uv_poll_start(&watch->poll, watch->uv_events, watch_event);
	if (err < 0) {
		instance_watch_close(watch);
		return err;
	}
	*ret = watch;
	return 0;
}

/* ---- timers ----------------------------------------------------------------------- */

static void timer_closed(uv_handle_t *handle)
{
	struct skep_timer *timer = MAGIC_OBJECT(skep_timer, handle->data);

	timer->inst->closing--;
	free(timer);
}

void instance_timer_close(struct skep_timer *timer)
{
	if (!timer || timer->closed)
		return;
	timer->closed = true;
	*timer->link = timer->next;
	if (timer->next)
		timer->next->link = timer->link;
	timer->inst->closing++;
	uv_close((uv_handle_t *)&timer->uv, timer_closed);
}

static void timer_event(uv_timer_t *uv)
{
	struct skep_timer *timer = MAGIC_OBJECT(skep_timer, uv->data);
	struct skep_instance *inst = timer->inst;
	uint64_t entered = instance_enter(inst);

	timer->cb(inst, timer->arg);
	instance_leave(inst, entered, "timer callback", true);
}

int instance_timer(struct skep_instance *inst, uint64_t first_ms, uint64_t repeat_ms, skep_timer_cb cb, void *arg,
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
	err = uv_timer_start(&timer->uv, timer_event, first_ms, repeat_ms);
	if (err < 0) {
		instance_timer_close(timer);
		return err;
	}
	*ret = timer;
	return 0;
}

/* ---- the end ----------------------------------------------------------------------- */

/* Closes the watches and timers that the plugin left open. Returns how many were still active. */
static unsigned close_leftovers(struct skep_instance *inst)
{
	unsigned n = 0;

	while (inst->watches) {
		instance_watch_close(inst->watches);
		n++;
	}
	while (inst->timers) {
		/* A one-shot timer that has fired is harmless and does not count. */
		n += uv_is_active((uv_handle_t *)&inst->timers->uv) ? 1 : 0;
		instance_timer_close(inst->timers);
	}
	return n;
}

/* Copies the mark after stop(): close() frees the memory that the mark points to. */
static void keep_mark(struct skep_instance *inst)
{
	struct skep_mark mark = { 0 };
	char *extra;

	if (!inst->host.settles || !inst->plugin->desc->mark)
		return;
	inst->plugin->desc->mark(inst, inst->data, &mark);
	extra = malloc(mark.extra_size ? mark.extra_size : 1);
	if (!extra)
		return;
	if (mark.extra_size)
		memcpy(extra, mark.extra, mark.extra_size);
	free(inst->mark_extra);
	inst->mark_extra = extra;
	inst->host.mark.extra = NULL;
	inst->host.mark.extra_size = 0;
	mark.extra = extra;
	inst->last_mark = mark;
}

static void warn_left(const struct skep_instance *inst, unsigned left)
{
	if (left > 0)
		log_at(SKEP_LOG_WARNING, inst->name,
		       "left %u watches or timers open when it stopped; skepd closed them (a bug in the plugin)",
		       left);
}

void instance_end_if_due(struct skep_instance *inst)
{
	const struct skep_plugin *desc = inst->plugin->desc;
	unsigned left = 0;
	uint64_t entered;

	if (!inst->ending || inst->in_end || inst->working > 0 || inst->depth > 0)
		return;
	inst->in_end = true;
	if (inst->started) {
		inst->started = false;
		entered = instance_enter(inst);
		inst->in_stop = true;
		desc->stop(inst, inst->data);
		inst->in_stop = false;
		keep_mark(inst);
		instance_leave(inst, entered, "stop", false);
		/*
		 * Closed before close() runs, so that no callback can use a freed state. Their memory stays
		 * until the loop's next turn, so a late watch_close() in close() is safe.
		 */
		left = close_leftovers(inst);
	}
	if (inst->ops->stopped)
		inst->ops->stopped(inst);
	if (inst->working > 0) { /* stop() started work(); this function runs again when that work has returned */
		warn_left(inst, left);
		inst->in_end = false;
		return;
	}
	if (inst->opened) {
		inst->opened = false;
		entered = instance_enter(inst);
		desc->close(inst, inst->data);
		instance_leave(inst, entered, "close", false);
	}
	left += close_leftovers(inst);
	inst->workers = workers_close(inst->workers);
	warn_left(inst, left);
	inst->in_end = false;
	inst->ending = false;
	inst->state = inst->stop_wanted ? INSTANCE_STOPPED : INSTANCE_FAILED;
}
