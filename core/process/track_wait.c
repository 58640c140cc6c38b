/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_wait.c - what the tracker waits for, and how long: ended processes wait for facets of slower
 * probes and for a sweep that may find their ancestors, processes that a sweep misses for their final record, and the
 * end of a run for both.
 */
#include "core/rules/rule_eval.h"
#include "core/process/track_priv.h"

/*
 * How long a run with a key waits for its next process after its last one.  Slurm's main scheduling loop tests pending
 * jobs at least every 60 s (slurm.conf(5), SchedulerParameters=sched_interval), so the next element of an array can
 * begin that long after a CPU has become free.
 */
#define RUN_GRACE_NS 60000000000u
/*
 * How long a run that a user began by name waits for its `skep run` after its end, if the previous skepd had the run:
 * skep run tries four times a second to reach the new skepd, and then reports the run's end itself.
 */
#define CLIENT_GRACE_NS 10000000000u

bool track_last_root(const struct proc *p)
{
	if (!p->run || !(p->flags & PROC_ROOT))
		return false;
	for (const struct proc *q = p->run->peers ? p->run->procs : NULL; q; q = q->run_next)
		if (q != p && (q->flags & PROC_ROOT))
			return false;
	return true;
}

void track_roots_over(struct track *t, struct run *run)
{
	if ((run->peers && !run->job_group) || (run->restored && !run->found && run->alone))
		run->quiet_ns = t->now_ns ? t->now_ns : 1;
	else
		t->env.run_over(t->env.arg, run);
}

/* Ends the runs for which nothing has come since their last root ended: that is when they ended. */
static void end_quiet_runs(struct track *t)
{
	for (struct run *run = t->runs.first; run; run = run->next)
		if (run->quiet_ns && !run->ended &&
		    t->now_ns >= run->quiet_ns + (run->found ? RUN_GRACE_NS : CLIENT_GRACE_NS))
			t->env.run_over(t->env.arg, run);
}

/*
 * Of several roots, as an array of jobs has, the first failure is the run's status.  A shell's pipeline has the status
 * of its last command, which the shell forks last: `zcat a | head` did not fail because zcat ended by SIGPIPE.
 */
static void take_status(struct run *run, const struct proc *p)
{
	const bool pipeline = run->job_group && !run->engine[0];

	if (pipeline ? p->upid.start_ns >= run->status_of_ns : run->status <= 0)
		run->status = (int)p->status;
	if (pipeline && p->upid.start_ns > run->status_of_ns)
		run->status_of_ns = p->upid.start_ns;
}

/* Emits the last image, remembers the identity as closed, and removes the entry. */
static void close_entry(struct track *t, struct proc *p, const char *state)
{
	struct run *over = NULL;

	/* A facet alone makes no process record; a life-cycle record must have named the process. */
	if ((p->flags & PROC_CONFIRMED) && !(p->flags & PROC_MUTED)) {
		track_place_last(t, p);
		track_image_out(t, p, state, &p->last, p->end_ns ? p->end_ns : p->event_ns, true);
	}
	if (p->run && (p->flags & PROC_ROOT) && !p->run->ended) {
		uint64_t end_ns = p->end_ns ? p->end_ns : p->event_ns;

		if (!p->run->peers || end_ns > p->run->end_ns)
			p->run->end_ns = end_ns;
		if (p->run->alone && (p->flags & PROC_EXITED))
			take_status(p->run, p);
		if (p->run->alone && track_last_root(p))
			over = p->run;
	}
	track_task_over(t, p, state, p->end_ns ? p->end_ns : p->event_ns,
			p->flags & PROC_EXITED ? (int64_t)p->status : -1);
	proctab_close(t->table, &p->upid);
	track_remove(t, p);
	if (over)
		track_roots_over(t, over);
}

/*
 * A sweep is still looking for the ancestors of the ended process.  Its entry stays, because its own children take
 * their run and task from it.
 */
static bool undecided(const struct track *t, const struct proc *p)
{
	return t->sweeping && !t->env.runs_only && !(p->flags & PROC_PLACED) && (p->flags & PROC_CONFIRMED);
}

void track_hold(struct track *t, struct proc *p)
{
	/*
	 * Every facet event of the process came before its end, so probes that have drained past this time have emitted
	 * all.
	 */
	if ((t->drained_ns == UINT64_MAX || t->drained_ns >= p->event_ns) && !undecided(t, p)) {
		close_entry(t, p, "exited");
		return;
	}
	p->held_ns = t->now_ns;
	p->held_prev = t->held_last;
	if (t->held_last)
		t->held_last->held_next = p;
	else
		t->held_first = p;
	t->held_last = p;
}

bool track_holds(const struct track *t)
{
	return t->held_first;
}

static void facet_late(struct track *t, struct proc *p)
{
	t->stats.facet_late++;
	p->approx |= APPROX_FACETS;
}

/*
 * patient: closes only what need not wait.  A probe that has drained may report a time of before the loop stood still,
 * and the next one has not drained yet: only the tick, which drains all of them first, knows that a probe is late.
 */
static void release(struct track *t, bool patient)
{
	/* left: the last entry that stays; in no run, so that the end of a run cannot close it */
	struct proc *p, *left = NULL;

	/*
	 * Ends come in the order of time, except between CPUs: the first entry that must wait for facets delays others
	 * only for moments.
	 */
	while ((p = left ? left->held_next : t->held_first)) {
		if (undecided(t, p) && t->now_ns < p->held_ns + TRACK_PATIENCE_MOST_NS) {
			left = p;
			continue;
		}
		if (t->drained_ns < p->event_ns) {
			if (patient || t->now_ns < p->held_ns + TRACK_PATIENCE_NS)
				return;
			facet_late(t, p);
		}
		close_entry(t, p, "exited");
	}
}

void track_drained(struct track *t, uint64_t time_ns, uint64_t now_ns)
{
	t->now_ns = now_ns;
	t->drained_ns = time_ns;
	release(t, true);
}

/* Closes an entry whose final record will not come any more. */
static void give_up(struct track *t, struct proc *p)
{
	/* The record that the kernel excludes it may have been lost in a full ring. */
	if (t->env.rule_eval && !(p->flags & (PROC_EXITED | PROC_MUTED)) &&
	    rule_eval_excludes(t->env.rule_eval, p->upid.pid))
		track_exclude(t, p, &p->last, p->event_ns);
	if (p->flags & PROC_EXCLUDED) {
		track_remove(t, p);
		return;
	}
	if ((p->flags & PROC_CONFIRMED) && !(p->flags & (PROC_ZOMBIE | PROC_MUTED)))
		t->stats.lost++;
	if (p->flags & PROC_ZOMBIE) { /* the sweep read a zombie's counters: they are final */
		p->approx |= p->flags & PROC_EXITED ? 0 : APPROX_END;
		close_entry(t, p, p->flags & PROC_EXITED ? "exited" : "lost");
	} else if (p->flags & PROC_EXITED) {
		p->approx |= APPROX_COUNTERS;
		close_entry(t, p, "exited");
	} else {
		p->approx |= APPROX_COUNTERS | APPROX_END;
		close_entry(t, p, "lost");
	}
}

void track_finals_over(struct track *t, uint64_t now_ns)
{
	struct proc *next;

	t->now_ns = now_ns;
	for (struct proc *p = proctab_first(t->table); p; p = next) {
		next = p->next;
		if (!(p->flags & PROC_FINAL) && ((p->flags & PROC_EXITED) || p->missing_ns))
			give_up(t, p);
	}
}

static void close_missing(struct track *t)
{
	struct proc *next;

	for (struct proc *p = proctab_first(t->table); p && t->missing > 0; p = next) {
		next = p->next;
		if (p->missing_ns && t->now_ns >= p->missing_ns + TRACK_FINAL_NS)
			give_up(t, p);
	}
}

void track_tick(struct track *t, uint64_t now_ns)
{
	t->now_ns = now_ns;
	release(t, false);
	if (t->missing > 0)
		close_missing(t);
	track_late_tick(t, now_ns);
	track_tasks_tick(t);
	end_quiet_runs(t);
}

void track_sweep_begin(struct track *t, uint64_t time_ns, uint64_t now_ns)
{
	t->now_ns = now_ns;
	t->sweep++;
	t->sweeping = true;
	t->sweep_begin_ns = time_ns ? time_ns : now_ns;
	t->reevaluated_ns -= t->reevaluated_back_ns;
	t->reevaluated_back_ns = 0;
}

void track_sweep_end(struct track *t, bool complete, uint64_t now_ns)
{
	t->now_ns = now_ns;
	if (!t->sweeping)
		return;
	t->sweeping = false;
	track_place_all(t);
	release(t, true);
	if (!complete)
		return;
	t->swept_ns = t->sweep_begin_ns;
	for (struct proc *p = proctab_first(t->table); p; p = p->next) {
		if (p->sweep == t->sweep || (p->flags & PROC_FINAL) || p->missing_ns ||
		    p->event_ns >= t->sweep_begin_ns)
			continue;
		/* The process has gone without an end record: its final record is under way, or was lost. */
		p->missing_ns = now_ns;
		t->missing++;
	}
	close_missing(t);
}

bool track_run_rooted(const struct run *run)
{
	for (const struct proc *p = run->procs; p; p = p->run_next)
		if (p->flags & PROC_ROOT)
			return true;
	return false;
}

size_t track_run_pending(const struct track *t, const struct run *run, bool zombies_ok, uint64_t since_ns)
{
	size_t n = 0;

	for (const struct proc *p = run->procs; p; p = p->run_next) {
		if (p->flags & PROC_EXCLUDED)
			continue;
		if (p->flags & PROC_FINAL)
			n++;
		else if (p->flags & PROC_ZOMBIE)
			n += !zombies_ok;
		else if (p->flags & PROC_EXITED)
			n++;
		else if (p->missing_ns || t->swept_ns < since_ns)
			n++; /* only a sweep that began after the root's end shows whether it lives */
	}
	return n;
}

static void let_go(struct track *t, struct proc *p, const char *state)
{
	track_image_out(t, p, state, &p->last, p->end_ns ? p->end_ns : t->now_ns, true);
	/* The process lives on.  Its entry stays, muted, so that a later record does not look like a new process. */
	track_uncount(p);
	sampler_unref(p->cell);
	p->cell = NULL;
	track_leave_run(p);
	p->flags |= PROC_MUTED;
	track_dirty(t, p);
}

void track_run_close(struct track *t, struct run *run, uint64_t now_ns)
{
	struct proc *next;

	t->now_ns = now_ns;
	for (struct proc *p = run->procs; p; p = next) {
		next = p->run_next;
		if (p->flags & PROC_EXCLUDED) {
			track_leave_run(p);
			continue;
		}
		if (!(p->flags & PROC_EXITED) && (p->flags & PROC_ROOT) && run->status >= 0) {
			/* The caller of collector_run_end() reported the root's end; its own record is missing. */
			p->flags |= PROC_EXITED;
			p->status = (uint32_t)run->status;
			p->end_ns = run->end_ns;
			p->approx |= APPROX_END;
			if (p->upid.start_ns == 0)
				p->approx |= APPROX_EXEC;
		}
		if (p->flags & PROC_FINAL) {
			facet_late(t, p);
			close_entry(t, p, "exited");
		} else if ((p->flags & PROC_ZOMBIE) && !(p->flags & PROC_ROOT)) {
			p->approx |= p->flags & PROC_EXITED ? 0 : APPROX_END;
			let_go(t, p, "zombie");
		} else if ((p->flags & PROC_EXITED) || p->missing_ns) {
			give_up(t, p);
		} else {
			p->approx |= APPROX_COUNTERS;
			let_go(t, p, "running");
		}
	}
	track_tasks_close(t, run, run->end_ns);
}
