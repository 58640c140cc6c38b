/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collector_end.c - runs that begin and end by name, and the collector's own end.
 * Ends wait, so they are small state machines on one fast timer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/carry.h"
#include "core/collector_priv.h"
#include "core/log.h"

#define FAST_MS 5u
#define MS_NS 1000000u
/*
 * The final record comes after a grace period of RCU, 12 to 30 ms after the reap: until
 * then a sweep would only say what is known.
 */
#define SWEEP_FIRST_NS (30u * MS_NS)
#define SWEEP_EVERY_NS (100u * MS_NS)
/* A zombie that its parent is about to reap is not worth calling one. */
#define ZOMBIES_NS (200u * MS_NS)
#define FINALS_NS (3500ull * MS_NS)
#define SINKS_NS (10000ull * MS_NS)
/* At the end: how long work() of an instance may still take, and the last commit to the spool. */
#define WORK_LAST_NS (2000ull * MS_NS)
#define SPOOL_LAST_NS (10000ull * MS_NS)

void collector_fast(struct collector *c)
{
	if (!uv_is_active((uv_handle_t *)&c->fast) && !uv_is_closing((uv_handle_t *)&c->fast))
		uv_timer_start(&c->fast, collector_on_fast, 0, FAST_MS);
}

int collector_run_begin(struct collector *c, const struct run_spec *spec)
{
	uint64_t now_ns = clock_boot_ns();
	struct run *run;
	int err;

	if (!c->track)
		return -EINVAL;
	err = run_new(&c->track->runs, spec, now_ns, &run);
	if (err < 0)
		return err;
	redact_argv(c->redact, spec->argv ? spec->argv[0] : NULL, run->argv, &run->argv_len);
	collector_lost_now(c, run->lost_begin);
	err = track_run_root(c->track, run, now_ns);
	if (err < 0) {
		run_free(&c->track->runs, run);
		return err;
	}
	/* Its books begin here; while nothing of it has run. */
	collector_sample_now(c);
	if (c->options.runs_only)
		verdict_set(&c->verdict, spec->root, VERDICT_COLLECT);
	collector_run_out(c, run);
	return 0;
}

void collector_run_end(struct collector *c, const char *id, int wait_status, const struct rusage *rusage, void (*done)(void *arg), void *arg)
{
	struct run *run = c->track ? run_find(&c->track->runs, id) : NULL;
	struct ending *e = calloc(1, sizeof(*e));

	if (run && run->ended)
		run = NULL;
	if (run) {
		run->status = wait_status;
		if (rusage)
			run->rusage_cpu_ns = ((uint64_t)rusage->ru_utime.tv_sec + (uint64_t)rusage->ru_stime.tv_sec) * 1000000000u +
					     ((uint64_t)rusage->ru_utime.tv_usec + (uint64_t)rusage->ru_stime.tv_usec) * 1000u;
	}
	if (!e) {
		log_error("no memory to wait for the end of run %s: its record is missing", id);
		done(arg);
		return;
	}
	*e = (struct ending){ .next = c->endings, .run = run_ref(run), .began_ns = clock_boot_ns(), .done = done, .arg = arg };
	e->closed = !run;
	if (run && run->end_ns == 0)
		run->end_ns = e->began_ns;
	c->endings = e;
	collector_fast(c);
}

/* Is there any process of the run whose figures are still to come? */
static bool run_settled(struct collector *c, struct ending *e, uint64_t now_ns)
{
	uint64_t elapsed = now_ns - e->began_ns;
	size_t pending;

	for (struct skep_instance *inst = c->instances; inst; inst = inst->next)
		if (((struct part *)inst->extra)->probe && inst->state == INSTANCE_RUNNING)
			instance_flush(inst);
	pending = track_run_pending(c->track, e->run, elapsed >= ZOMBIES_NS, e->began_ns);
	if (pending == 0 || elapsed >= FINALS_NS)
		return true;
	if (elapsed >= SWEEP_FIRST_NS && now_ns - e->asked_ns >= SWEEP_EVERY_NS && !collector_sweeping(c)) {
		e->asked_ns = now_ns;
		collector_sweep(c);
	}
	return false;
}

/* The last part of every probe, so that the run's books end with the run. */
static bool run_sampled_last(struct collector *c, struct ending *e)
{
	if (!e->sampled) {
		e->sampled = true;
		collector_sample_now(c);
	}
	return !c->sample_due || clock_boot_ns() - e->began_ns >= FINALS_NS;
}

static void run_close(struct collector *c, struct ending *e)
{
	struct run *run = e->run;

	track_run_close(c->track, run, clock_boot_ns());
	collector_run_sample_out(c, run);
	run_sampled(run);
	collector_loss_out(c);
	collector_details_end(c, run, "its run has ended");
	if (!run->ended) { /* a session's run may have ended by itself while this end waited */
		collector_run_ledger_out(c, run);
		run->ended = true;
		collector_run_out(c, run);
	}
	out_flush(c->out);
	e->last_id = out_last_id(c->out);
	e->run = NULL;
	run_unref(run);
	e->closed = true;
	e->began_ns = clock_boot_ns();
}

/* Has it been waited for long enough? */
static bool remote_late(const struct collector *c, const struct skep_instance *inst, uint64_t waited_ns)
{
	return c->options.remote_sink && strcmp(c->options.remote_sink, inst->name) == 0 && waited_ns >= c->options.remote_ns;
}

/* failing_too: false: one that fails is not waited for, as it will not be better for that. */
static bool sinks_settled(const struct collector *c, uint64_t id, bool failing_too, uint64_t waited_ns)
{
	for (const struct skep_instance *inst = c->instances; inst; inst = inst->next) {
		const struct part *part = inst->extra;

		if (remote_late(c, inst, waited_ns))
			continue;
		/* One that does not run now, or that is stuck, cannot be waited for; what it does not get is counted when all ends. */
		if (part->sink && inst->state == INSTANCE_RUNNING && inst->stuck_ns == 0 && (failing_too || !out_sink_failing(part->sink)) &&
		    !out_sink_settled(part->sink, id))
			return false;
	}
	return true;
}

static void on_closed(uv_handle_t *handle)
{
	struct collector *c = handle->data;

	if (--c->handles == 0)
		c->stop_done(c->stop_arg);
}

static void close_handles(struct collector *c)
{
	uv_timer_t *timers[] = { &c->pump, &c->tick, &c->sample, &c->fast };

	judge_stop(c->judge);
	for (size_t i = 0; i < sizeof(timers) / sizeof(timers[0]); i++)
		uv_close((uv_handle_t *)timers[i], on_closed);
	reader_close(c->reader); /* frees itself in the same turn of the loop */
	c->reader = NULL;
}

static void on_spool_ended(void *arg)
{
	struct collector *c = arg;

	for (struct skep_instance *inst = c->instances; inst; inst = inst->next) {
		struct part *part = inst->extra;

		if (part->sink)
			out_sink_abandon(part->sink);
	}
	c->stop = STOP_CLOSE;
	close_handles(c);
}

static void step_endings(struct collector *c, bool hurry)
{
	struct ending **at = &c->endings;

	while (*at) {
		struct ending *e = *at;
		uint64_t now_ns = clock_boot_ns();

		if (!e->closed && (hurry || (run_settled(c, e, now_ns) && run_sampled_last(c, e))))
			run_close(c, e);
		if (e->closed && now_ns < e->began_ns)
			now_ns = e->began_ns; /* closed just now: the sinks' time begins */
		if (e->closed && (hurry || sinks_settled(c, e->last_id, true, now_ns - e->began_ns) || now_ns - e->began_ns >= SINKS_NS)) {
			void (*done)(void *) = e->done;
			void *arg = e->arg;

			if (!hurry && !sinks_settled(c, e->last_id, true, now_ns - e->began_ns))
				log_warning("a run has ended, but some of its records have not been taken by every sink yet");
			if (now_ns - e->began_ns >= c->options.remote_ns)
				c->options.remote_ns = 0; /* it has had its time */
			*at = e->next;
			free(e);
			done(arg);
			at = &c->endings; /* it may have begun or ended others */
			continue;
		}
		at = &e->next;
	}
}

/* ---- the collector's own end ---------------------------------------------------- */

uint64_t collector_drain_ns(const struct collector *c)
{
	return c->config->drain_ns;
}

void collector_stop(struct collector *c, uint64_t drain_ns, void (*done)(void *arg), void *arg)
{
	if (c->stop != STOP_NOT)
		return;
	c->stop = STOP_PROBES;
	c->stop_ns = clock_boot_ns();
	c->running = false;
	c->drain_ns = drain_ns;
	c->stop_done = done;
	c->stop_arg = arg;
	collector_reload_abort(c);
	uv_timer_stop(&c->sample);
	collector_fast(c);
}

static bool stop_kind(struct collector *c, bool probes)
{
	bool all = true;

	for (struct skep_instance *inst = c->instances; inst; inst = inst->next) {
		if (((struct part *)inst->extra)->probe != probes)
			continue;
		instance_stop(inst);
		if (instance_waits_for_work(inst) && (inst->stuck_ns > 0 || clock_boot_ns() >= c->stop_ns + WORK_LAST_NS))
			collector_leave_behind(c, inst);
		all &= instance_stopped(inst) || ((const struct part *)inst->extra)->left_behind;
	}
	return all;
}

/* Does the next skepd learn what is known of live processes? */
static bool carries(const struct collector *c)
{
	return (c->options.carry_file || out_spooled(c->out)) && c->track->swept_ns != 0;
}

/* What live processes did up to now leaves with us; where each stands waits for the next skepd. */
static void carry_over(struct collector *c)
{
	int err;

	if (!carries(c))
		return;
	if (c->config->process_interval_ns)
		track_samples_out(c->track, c->config->process_interval_ns, clock_boot_ns());
	if (out_spooled(c->out)) { /* which is where the next one looks */
		c->whole_due = true;
		return;
	}
	err = carry_save(c->track, c->options.carry_file, c->boot_id);
	if (err < 0)
		log_warning("%s: %s; the next skepd begins anew: processes that are older than it are counted from their start again",
			    c->options.carry_file, strerror(-err));
}

static void step_stop(struct collector *c)
{
	uint64_t now_ns = clock_boot_ns();

	switch (c->stop) {
	case STOP_NOT:
	case STOP_CLOSE:
		return;
	case STOP_SPOOL:
		if (now_ns >= c->stop_ns + SPOOL_LAST_NS && out_spool_give_up(c->out)) {
			log_error("spool %s: its disk has not answered for %llu s: skep ends without the last commit",
				  c->options.spool->path, (unsigned long long)(SPOOL_LAST_NS / 1000000000u));
			c->spool_left_behind = true;
			on_spool_ended(c);
		}
		return;
	case STOP_PROBES:
		if (c->endings) { /* somebody waits for a run's end: now or never */
			step_endings(c, true);
			now_ns = clock_boot_ns();
		}
		collector_details_end(c, NULL, "skep stops");
		if (collector_leaving(c) || !stop_kind(c, true))
			return;
		if (c->track) {
			track_drained(c->track, UINT64_MAX, now_ns); /* nobody is left to wait for */
			if (!c->pins.dir || !carries(c)) /* else the next skepd reads those that come meanwhile */
				track_finals_over(c->track, now_ns);
			collector_sample_out(c);
			carry_over(c);
			out_flush(c->out);
		}
		c->stop_ns = clock_boot_ns();
		c->stop = STOP_DRAIN;
		/* fall through */
	case STOP_DRAIN:
		if (c->out)
			out_tick(c->out, now_ns);
		/* With a spool what a failing sink has not got is kept. */
		if (c->out && !sinks_settled(c, out_last_id(c->out), !out_spooled(c->out), now_ns - c->stop_ns) && now_ns < c->stop_ns + c->drain_ns)
			return;
		c->stop_ns = clock_boot_ns();
		c->stop = STOP_SINKS;
		/* fall through */
	case STOP_SINKS:
		if (!stop_kind(c, false))
			return;
		c->stop_ns = clock_boot_ns();
		c->stop = STOP_SPOOL;
		if (c->out)
			out_spool_end(c->out, on_spool_ended, c);
		else
			on_spool_ended(c);
		return;
	}
}

void collector_on_fast(uv_timer_t *timer)
{
	struct collector *c = timer->data;

	step_endings(c, false);
	collector_reload_step(c);
	if (c->stop != STOP_NOT)
		step_stop(c);
	else if (!collector_reloading(c) && !c->endings)
		uv_timer_stop(&c->fast);
}
