/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/collector_end.c - runs that begin and end by name, and the collector's own end.  An end must wait, so
 * each is a small state machine on one fast timer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/magic.h"
#include "core/collect/collector_priv.h"
#include "core/base/log.h"
#include "core/identify/pods.h"

/*
 * The kernel frees a process after a grace period of RCU, 12 to 30 ms after the reap, and only then sends the final
 * record.  A scan before that time finds nothing new.
 */
#define SWEEP_FIRST_NS (30u * MS_NS)
#define SWEEP_EVERY_NS (100u * MS_NS)
#define SWEEP_HOST_NS (1000u * MS_NS) /* the same for a whole host */
/* Before this time a zombie counts as pending: its parent may be about to reap it. */
#define ZOMBIES_NS (200u * MS_NS)
#define FINALS_NS (3500ull * MS_NS)
#define SINKS_NS (10000ull * MS_NS)
/* At the end: the longest wait for work() of an instance, and for the last commit to the spool. */
#define WORK_LAST_NS (2000ull * MS_NS)
#define SPOOL_LAST_NS (10000ull * MS_NS)

int collector_run_begin(struct collector *c, const struct run_spec *spec)
{
	uint64_t now_ns = clock_boot_ns();
	struct run *run;
	int err;

	if (!c->track)
		return -EINVAL;
	if (!c->options.runs_only)
		collector_flush_lifecycle(c); /* reads the root's fork, which places it in its parent's run */
	err = run_new(track_runs(c->track), spec, now_ns, &run);
	if (err < 0)
		return err;
	redact_argv(c->redact, spec->argv ? spec->argv[0] : NULL, run->argv, &run->argv_len);
	collector_lost(c, run->lost_begin);
	err = track_run_root(c->track, run, now_ns);
	if (err < 0) {
		run_free(track_runs(c->track), run);
		return err;
	}
	if (c->options.runs_only) {
		/*
		 * The run's ledger begins here, before the run uses anything.  skepd does not sweep a whole host for
		 * each run: there the run's ledger begins at the next sample.
		 */
		/* records about the host get the offset of the run, too */
		delivery_realtime_offset(c->delivery, run->realtime_offset_ns);
		collector_sample_now(c);
		verdict_set(&c->verdict, spec->root, VERDICT_COLLECT);
	}
	collector_run_out(c, run);
	return 0;
}

int collector_task_begin(struct collector *c, uint32_t pid, uint32_t uid, const struct skep_str *name)
{
	if (!c->track)
		return -ESRCH;
	collector_flush_lifecycle(c); /* reads the process's fork, which places it in its parent's run and task */
	return track_task_named(c->track, pid, uid, name, clock_boot_ns());
}

void collector_run_leave(struct collector *c, const char *id)
{
	struct run *run = c->track ? run_find(track_runs(c->track), id) : NULL;

	if (!run || run->found || run->ended)
		return;
	run->alone = true;
	if (!track_run_rooted(run) && c->stop == STOP_NOT) /* the root has ended already */
		collector_run_over(c, run);
}

int collector_run_resume(struct collector *c, const char *id, pid_t root, uint32_t owner, bool any_owner)
{
	struct run *run = c->track ? run_find(track_runs(c->track), id) : NULL;

	if (!run || run->found || run->ended || !run->alone || run->root_pid != root ||
	    (!any_owner && run->owner != owner))
		return -ENOENT;
	run->alone = false;
	run->quiet_ns = 0;
	return 0;
}

void collector_run_end(struct collector *c, const char *id, int wait_status, const struct rusage *rusage,
		       const char *sink, void (*done)(void *arg), void *arg)
{
	struct run *run = c->track ? run_find(track_runs(c->track), id) : NULL;
	struct ending *e = calloc(1, sizeof(*e));

	if (run && run->ended)
		run = NULL;
	if (run) {
		run->status = wait_status;
		if (rusage)
			run->rusage_cpu_ns =
				((uint64_t)rusage->ru_utime.tv_sec + (uint64_t)rusage->ru_stime.tv_sec) * 1000000000u +
				((uint64_t)rusage->ru_utime.tv_usec + (uint64_t)rusage->ru_stime.tv_usec) * 1000u;
	}
	if (!e) {
		log_error("no memory to wait for the end of run %s: its record is missing", id);
		done(arg);
		return;
	}
	*e = (struct ending) {
		.next = c->endings, .run = run_ref(run), .began_ns = clock_boot_ns(), .done = done, .arg = arg
	};
	e->sink = sink ? strdup(sink) : NULL; /* NULL without memory: waits for all sinks */
	e->closed = !run;
	/* a session's run ended with its root: its record may still be on its way */
	if (!run && !c->options.runs_only && c->delivery) {
		delivery_flush(c->delivery);
		e->last_id = delivery_last_id(c->delivery);
	}
	if (run && run->end_ns == 0)
		run->end_ns = e->began_ns;
	c->endings = e;
	collector_fast(c);
}

/*
 * Reads what the probes have about all runs that are ending.  A flush may be a pass over all sockets and cgroups of the
 * host: each end causes one at its begin, one with each sweep for which it asks, and one when all figures have arrived.
 * In every other turn the life-cycle probes read their rings, and each other probe emits its figures of processes that
 * have ended.
 * Returns whether it has flushed all probes.
 */
static bool read_for_endings(struct collector *c)
{
	bool waits = false, flush = false;

	for (struct ending *e = c->endings; e; e = e->next) {
		if (e->closed)
			continue;
		waits = true;
		flush |= !e->flushed;
		e->flushed = true;
	}
	if (flush) {
		collector_flush_probes(c);
	} else if (waits) {
		collector_flush_lifecycle(c);
		collector_drain(c);
	}
	return flush;
}

static bool wants_sweep(const struct collector *c, const struct ending *e, uint64_t now_ns)
{
	const bool alone = c->options.runs_only;

	return !e->closed && now_ns - e->began_ns >= (alone ? SWEEP_FIRST_NS : ZOMBIES_NS) &&
	       now_ns - e->asked_ns >= (alone ? SWEEP_EVERY_NS : SWEEP_HOST_NS);
}

/* Whether all processes of the run have reported their figures, or the collector has waited long enough. */
static bool run_settled(struct collector *c, struct ending *e, uint64_t now_ns, bool flushed)
{
	uint64_t elapsed = now_ns - e->began_ns;
	size_t pending;

	/* On a whole host a live member keeps its run, so it makes no difference whether a sweep has seen it. */
	pending = track_run_pending(c->track, e->run, elapsed >= ZOMBIES_NS, c->options.runs_only ? e->began_ns : 0);
	if (pending == 0 || elapsed >= FINALS_NS) {
		/* else the next turn flushes; a run alone has a last sample instead */
		e->flushed = c->options.runs_only || (flushed && e->flushed);
		return e->flushed;
	}
	if (!wants_sweep(c, e, now_ns) || collector_sweeping(c))
		return false;
	for (struct ending *other = c->endings; other; other = other->next)
		if (wants_sweep(c, other, now_ns)) { /* one sweep for all of them */
			other->asked_ns = now_ns;
			other->flushed = false;
		}
	collector_sweep(c);
	return false;
}

/* Takes a last sample of every probe, so that the run's ledger ends with the run. */
static bool run_sampled_last(struct collector *c, struct ending *e)
{
	if (!c->options.runs_only)
		return true;
	if (!e->sampled) {
		e->sampled = true;
		collector_sample_now(c);
	}
	return !c->sample_due || clock_boot_ns() - e->began_ns >= FINALS_NS;
}

static void run_close(struct collector *c, struct ending *e)
{
	struct run *run = e->run;

	if (c->options.runs_only)
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
	delivery_flush(c->delivery);
	e->last_id = delivery_last_id(c->delivery);
	e->run = NULL;
	run_unref(run);
	e->closed = true;
	e->began_ns = clock_boot_ns();
}

/* Whether the collector has waited long enough for the remote sink of `skep run`. */
static bool remote_late(const struct collector *c, const struct skep_instance *inst, uint64_t waited_ns)
{
	return c->options.remote_sink && strcmp(c->options.remote_sink, inst->name) == 0 &&
	       waited_ns >= c->options.remote_ns;
}

/*
 * Whether the sinks have acknowledged all batches up to id.  only: the sink of that name; NULL: all.  failing_too:
 * false: does not wait for a failing sink, since waiting does not mend it.
 */
static bool sinks_settled(const struct collector *c, const char *only, uint64_t id, bool failing_too,
			  uint64_t waited_ns)
{
	for (const struct skep_instance *inst = c->instances; inst; inst = inst->next) {
		const struct instance_data *data = inst->extra;

		if (remote_late(c, inst, waited_ns) || (only && strcmp(only, inst->name) != 0))
			continue;
		/* A sink that does not run, or is stuck, cannot answer: at the end its batches count as lost. */
		if (data->sink && inst->state == INSTANCE_RUNNING && inst->stuck_ns == 0 &&
		    (failing_too || !delivery_sink_failing(data->sink)) && !delivery_sink_settled(data->sink, id))
			return false;
	}
	return true;
}

bool collector_emitted(const struct collector *c, uint64_t before_ns, uint64_t *ret)
{
	if (!delivery_closed_before(c->delivery, before_ns))
		return false;
	*ret = delivery_last_id(c->delivery);
	return true;
}

bool collector_acknowledged(const struct collector *c, const char *sink, uint64_t number)
{
	for (const struct skep_instance *inst = c->instances; inst; inst = inst->next) {
		const struct instance_data *data = inst->extra;

		if (data->sink && strcmp(sink, inst->name) == 0)
			return delivery_sink_settled(data->sink, number);
	}
	return false;
}

static void on_closed(uv_handle_t *handle)
{
	struct collector *c = MAGIC_OBJECT(collector, handle->data);

	if (--c->handles == 0)
		c->stop_done(c->stop_arg);
}

static void close_handles(struct collector *c)
{
	uv_timer_t *timers[] = { &c->pump, &c->tick, &c->sample, &c->late, &c->fast };

	rule_eval_stop(c->rule_eval);
	for (size_t i = 0; i < sizeof(timers) / sizeof(timers[0]); i++)
		uv_close((uv_handle_t *)timers[i], on_closed);
	collector_pss_end(c);
	reader_close(c->reader); /* the reader frees itself in the same turn of the loop */
	c->reader = NULL;
	reader_close(c->file_reader);
	c->file_reader = NULL;
	pods_stop(c->pods);
}

static void on_spool_ended(void *arg)
{
	struct collector *c = MAGIC_OBJECT(collector, arg);

	for (struct skep_instance *inst = c->instances; inst; inst = inst->next) {
		struct instance_data *data = inst->extra;

		if (data->sink)
			delivery_sink_abandon(data->sink);
	}
	c->stop = STOP_CLOSE;
	close_handles(c);
}

static void step_endings(struct collector *c, bool hurry)
{
	struct ending **at = &c->endings;
	bool flushed = !hurry && read_for_endings(c);

	while (*at) {
		struct ending *e = *at;
		uint64_t now_ns = clock_boot_ns();

		if (!e->closed && (hurry || (run_settled(c, e, now_ns, flushed) && run_sampled_last(c, e))))
			run_close(c, e);
		if (e->closed && now_ns < e->began_ns)
			now_ns = e->began_ns; /* closed just now: the time of the sinks begins */
		if (e->closed && (hurry || sinks_settled(c, e->sink, e->last_id, true, now_ns - e->began_ns) ||
				  now_ns - e->began_ns >= SINKS_NS)) {
			void (*done)(void *) = e->done;
			void *arg = e->arg;

			if (!hurry && !sinks_settled(c, e->sink, e->last_id, true, now_ns - e->began_ns))
				log_warning(
					"a run has ended, but a sink has not yet acknowledged all of its records");
			if (now_ns - e->began_ns >= c->options.remote_ns)
				c->options.remote_ns = 0; /* the remote sink has had its time */
			*at = e->next;
			free(e->sink);
			free(e);
			done(arg);
			at = &c->endings; /* done() may have begun or ended others */
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
		if (((struct instance_data *)inst->extra)->probe != probes)
			continue;
		instance_stop(inst);
		if (instance_waits_for_work(inst) &&
		    (inst->stuck_ns > 0 || clock_boot_ns() >= c->stop_ns + WORK_LAST_NS))
			collector_leave_behind(c, inst);
		all &= instance_stopped(inst) || ((const struct instance_data *)inst->extra)->left_behind;
	}
	return all;
}

/* Whether this skepd saves the state of live processes for the next one. */
static bool saves_state(const struct collector *c)
{
	return delivery_spooled(c->delivery) && track_swept_ns(c->track) != 0;
}

/* Emits what live processes have used up to now, and requests a last commit with their state for the next skepd. */
static void save_state(struct collector *c)
{
	if (!saves_state(c))
		return;
	if (c->config->process_interval_ns)
		track_samples_out(c->track, c->config->process_interval_ns, clock_boot_ns());
	c->whole_due = true; /* the spool's last commit, which the next skepd reads, stores all */
}

static void step_stop(struct collector *c)
{
	uint64_t now_ns = clock_boot_ns();

	switch (c->stop) {
	case STOP_NOT:
	case STOP_CLOSE:
		return;
	case STOP_SPOOL:
		if (now_ns >= c->stop_ns + SPOOL_LAST_NS && delivery_spool_give_up(c->delivery)) {
			log_error("spool %s: its disk has not answered for %llu s; skep ends without the last commit",
				  c->options.spool->path, (unsigned long long)(SPOOL_LAST_NS / 1000000000u));
			c->spool_left_behind = true;
			on_spool_ended(c);
		}
		return;
	case STOP_PROBES:
		if (c->endings) { /* a client waits for a run's end: the last chance to answer */
			step_endings(c, true);
			now_ns = clock_boot_ns();
		}
		collector_details_end(c, NULL, "skep stops");
		if (collector_leaving(c) || !stop_kind(c, true))
			return;
		if (c->track) {
			track_drained(c->track, UINT64_MAX, now_ns); /* all probes have stopped */
			track_late_over(c->track);
			/* else the next skepd reads the final records from the pinned ring */
			if (!c->pins.dir || !saves_state(c))
				track_finals_over(c->track, now_ns);
			collector_sample_out(c);
			save_state(c);
			delivery_flush(c->delivery);
		}
		c->stop_ns = clock_boot_ns();
		c->stop = STOP_DRAIN;
		/* fall through */
	case STOP_DRAIN:
		if (c->delivery)
			delivery_tick(c->delivery, now_ns);
		/* With a spool, batches for a failing sink stay there, so the collector does not wait for it. */
		if (c->delivery &&
		    !sinks_settled(c, NULL, delivery_last_id(c->delivery), !delivery_spooled(c->delivery),
				   now_ns - c->stop_ns) &&
		    now_ns < c->stop_ns + c->drain_ns)
			return;
		c->stop_ns = clock_boot_ns();
		c->stop = STOP_SINKS;
		/* fall through */
	case STOP_SINKS:
		if (!stop_kind(c, false))
			return;
		c->stop_ns = clock_boot_ns();
		c->stop = STOP_SPOOL;
		if (c->delivery)
			delivery_spool_end(c->delivery, on_spool_ended, c);
		else
			on_spool_ended(c);
		return;
	}
}

void collector_on_fast(uv_timer_t *timer)
{
	struct collector *c = MAGIC_OBJECT(collector, timer->data);

	step_endings(c, false);
	collector_reload_step(c);
	if (c->stop != STOP_NOT)
		step_stop(c);
	else if (!collector_reloading(c) && !c->endings)
		uv_timer_stop(&c->fast);
}
