/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_event.c - applies each life-cycle record to the process table.  A record may come first, late,
 * twice or not at all.  The first record of a process makes its entry, and APPROX_* marks the figures that only a lost
 * record had.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/base/counters.h"
#include "core/rules/rule_eval.h"
#include "core/process/track_priv.h"

static const struct skep_str nothing = { "", 0, 0 };

static void raise_u64(uint64_t *to, uint64_t x)
{
	if (x > *to)
		*to = x;
}

/* Applies the first life-cycle record of a process whose program is set.  started: an image began just now. */
static void confirm(struct track *t, struct proc *p, bool started)
{
	p->flags |= PROC_CONFIRMED;
	if (!(p->flags & (PROC_EXITED | PROC_FINAL)))
		track_count_alive(p);
	track_place(t, p);
	track_recell(t, p);
	if (started && p->cell)
		p->cell->started++;
}

/* Gives a process the program of its parent, after a fork.  false: the parent's program is not known. */
static bool inherit(struct track *t, struct proc *p, const struct skep_upid *parent_upid)
{
	struct proc *parent = parent_upid->pid != 0 ? track_find(t, parent_upid) : NULL;

	if (!parent || parent == p || !parent->program)
		return false;
	program_unref(t->intern, p->program);
	p->program = program_ref(parent->program);
	if (!p->comm)
		p->comm = intern_ref(parent->comm);
	if (!p->cwd)
		p->cwd = intern_ref(parent->cwd);
	if (!p->environ)
		p->environ = intern_ref(parent->environ);
	if (!p->container)
		p->container = intern_ref(parent->container);
	if (!p->cgroup && p->cgroup_id == parent->cgroup_id)
		p->cgroup = intern_ref(parent->cgroup);
	return true;
}

/*
 * Completes an entry whose first record is not its fork: earlier records were lost, or the process is older than skepd.
 */
static void stub(struct track *t, struct proc *p, const struct skep_upid *parent, const struct skep_counters *first)
{
	if (parent && parent->pid != 0)
		p->parent = *parent;
	p->approx |= APPROX_EXEC;
	/* A restored process is not new: its use between the two skepds belongs to this interval. */
	if (p->upid.start_ns < t->env.start_ns && !(p->flags & (PROC_ROOT | PROC_RESTORED))) {
		p->approx |= APPROX_START;
		if (first) /* its use before this record does not belong to this interval */
			p->last = *first;
	}
	if (!p->program && !inherit(t, p, &p->parent))
		track_program(t, p, &nothing, &nothing, &nothing, &nothing);
	confirm(t, p, false);
}

static void set_cgroup(struct track *t, struct proc *p, uint64_t id, const struct skep_str *path)
{
	if (id == 0)
		return;
	if (path && path->len > 0)
		cgroups_known(t->env.cgroups, id, path);
	if (id != p->cgroup_id) {
		intern_unref(t->intern, p->cgroup);
		p->cgroup = NULL;
		p->cgroup_id = id;
	}
	if (path)
		intern_replace(t->intern, &p->cgroup, path);
}

static void set_group(struct proc *p, uint32_t group, bool tty)
{
	p->group = group;
	p->flags = tty ? p->flags | PROC_TTY : p->flags & ~PROC_TTY;
}

static void event_fork(struct track *t, struct proc *p, uint64_t time_ns, const struct skep_process_fork *rec)
{
	bool first = !(p->flags & PROC_CONFIRMED);

	(void)time_ns;
	if (p->parent.pid == 0) {
		p->parent.pid = rec->parent.pid;
		p->parent.start_ns = rec->parent.start_ns;
	}
	if (first) {
		p->uid = rec->uid;
		p->payer = rec->payer;
		p->gid = rec->gid;
		p->session = rec->session;
		set_cgroup(t, p, rec->cgroup_id, NULL);
		intern_replace(t->intern, &p->comm, &rec->comm);
	}
	if (p->image == 0 && (first || (p->approx & APPROX_EXEC))) {
		if (inherit(t, p, &p->parent)) {
			p->approx &= ~APPROX_EXEC;
			/* the iterator, which may be ahead of the ring, took it for an exec */
			p->flags &= ~PROC_EXECED;
		} else if (first) {
			p->approx |= APPROX_EXEC;
			track_program(t, p, &nothing, &nothing, &nothing, &rec->comm);
		}
	}
	if (first) {
		confirm(t, p, true);
		track_verdict_fork(t, p, track_find(t, &p->parent));
		return;
	}
	/* Later records made the entry.  The fork adds the parent, and with it perhaps the run. */
	if (!p->run && !(p->flags & PROC_MUTED)) {
		p->flags &= ~PROC_PLACED;
		track_place(t, p);
	}
	track_recell(t, p);
}

/* Fills the case that rules evaluate from an exec record. */
static void exec_case(const struct proc *p, const struct program *program, uint64_t now_ns,
		      const struct skep_process_exec *rec, struct rule_case *ret)
{
	*ret = (struct rule_case){
		.proc = p,
		.pid = p->upid.pid,
		.start_ns = p->upid.start_ns,
		.program = program,
		.comm = rec->comm,
		.cwd = rec->cwd,
		.cgroup_id = rec->cgroup_id,
		.uid = rec->uid,
		.gid = rec->gid,
		.session = rec->session,
		.mount_ns = (uint32_t)rec->mount_ns,
		.pid_ns = (uint32_t)rec->pid_ns,
		.unknown = rec->flags >> SKEP_EXEC_UNKNOWN_SHIFT,
		.decided = rec->flags & SKEP_EXEC_JUDGED,
		.task = task_variable(&rec->environ, "SKEP_TASK"),
		.now_ns = now_ns,
	};
}

/*
 * Whether the process did so little between its fork and this, its first exec, that one record has both.  The bounds
 * are on what a reader would look for in a record of the fork: a shell's child needs some 0.5 ms, and has read up to
 * 2 KiB, the headers of the program, when the kernel reports the exec.
 */
#define FOLD_CPU_NS  5000000u
#define FOLD_LIFE_NS 1000000000u
#define FOLD_BYTES   16384u

static bool folds(const struct track *t, const struct proc *p, const struct skep_counters *cut, uint64_t time_ns)
{
	return t->env.fold_forks && p->image == 0 && !(p->flags & (PROC_EXECED | PROC_MUTED)) && !p->sampled &&
	       !(p->approx & APPROX_START) && time_ns - p->image_start_ns < FOLD_LIFE_NS &&
	       cut->cpu_ns - p->base.cpu_ns < FOLD_CPU_NS &&
	       cut->rchar_bytes - p->base.rchar_bytes < FOLD_BYTES &&
	       cut->wchar_bytes - p->base.wchar_bytes < FOLD_BYTES;
}

/* Emits the image that an exec ends, if the process stays collected. */
static void image_replaced(struct track *t, struct proc *p, const struct skep_counters *cut, uint64_t time_ns,
			   const struct skep_process_exec *rec)
{
	track_image_rss(p, rec->rss_peak_bytes, rec->maxrss_bytes);
	p->approx |= APPROX_SPLIT;
	/*
	 * An exec does not change the cgroup, so the old image ended in the cgroup where the new one begins; as at an
	 * exit.
	 */
	set_cgroup(t, p, rec->cgroup_id, &rec->cgroup);
	if (!(p->flags & PROC_MUTED))
		track_image_out(t, p, "replaced", cut, time_ns, false);
}

/*
 * During a reload that replaces a life-cycle probe, both instances report the same events.  Only an exec does harm when
 * it comes twice, because it begins an image.  Each exec reads its program's first bytes and faults in its arguments,
 * so both counters grow with each exec.  A record in which neither counter exceeds the newest exec's is that exec
 * again, or an older one.
 */
static bool already_reported(const struct proc *p, const struct skep_process_exec *rec)
{
	if (p->exec_faults == 0 && p->exec_rchar_bytes == 0)
		return false;
	return rec->counters.minor_faults <= p->exec_faults && rec->counters.rchar_bytes <= p->exec_rchar_bytes;
}

/* Decides the new image's run and task. */
static void executed(struct track *t, struct proc *p)
{
	const struct proc *parent;

	p->flags &= ~PROC_RECOGNIZED;
	if (!(p->flags & PROC_PLACED)) {
		track_place(t, p);
	} else {
		parent = p->parent.pid ? proctab_find(t->table, &p->parent) : NULL;
		track_job(t, p);
		track_scope_exec(t, p, parent);
		track_leader(t, p);
		track_task_place(t, p, parent);
	}
	track_task_limits(t, p);
	track_container_exec(t, p);
}

static void event_exec(struct track *t, struct proc *p, uint64_t time_ns, const struct skep_process_exec *rec)
{
	struct skep_counters cut;
	struct skep_str argv = rec->argv;
	struct program *before, *after;
	const struct rule *rule;
	struct rule_case c;
	bool folded = false;

	if (p->flags & (PROC_EXITED | PROC_FINAL)) {
		t->stats.late++;
		return;
	}
	if (already_reported(p, rec)) {
		t->stats.late++;
		return;
	}
	p->exec_faults = rec->counters.minor_faults;
	p->exec_rchar_bytes = rec->counters.rchar_bytes;
	if ((p->flags & PROC_EXCLUDED) && (p->flags & PROC_SETTLED))
		return; /* the record was in the ring before user space excluded the process */
	if (!(p->flags & PROC_CONFIRMED)) {
		if (rec->flags & SKEP_EXEC_WAS_EXCLUDED)
			p->flags |= PROC_MUTED | PROC_EXCLUDED;
		stub(t, p, &rec->parent, &rec->counters);
	}
	if (p->parent.pid == 0)
		p->parent = rec->parent;

	/*
	 * The image ends at the exec's reading.  An iterator, which skepd reads apart from the ring, may have reported
	 * later counters already: the difference belongs to the next image.
	 */
	cut = p->base;
	t->stats.clamped += counters_raise(&cut, &rec->counters);
	if (p->sampled) /* nor below the counters of its samples */
		counters_raise(&cut, &p->sampled->counters);
	if (!(p->flags & PROC_EXCLUDED))
		track_advance(t, p, &rec->counters);

	before = p->program;
	p->program = NULL;
	/* Unreadable arguments are not empty ones: a total above the length marks the text as cut. */
	if ((rec->flags & SKEP_EXEC_ARGV_UNREADABLE) && argv.total <= argv.len)
		argv.total = argv.len + 1;
	if (rec->cgroup.len > 0)
		cgroups_known(t->env.cgroups, rec->cgroup_id, &rec->cgroup);
	track_program(t, p, &rec->exe, &rec->filename, &argv, &rec->comm);
	if (p->program) {
		p->program->exe_size_bytes = rec->exe_size_bytes;
		p->program->exe_modified_ns = rec->exe_modified_ns;
	}
	exec_case(p, p->program, t->now_ns, rec, &c);
	if (!track_verdict(t, p, &c, &rule)) {
		program_unref(t->intern, p->program);
		p->program = before;
		if (!(p->flags & PROC_EXCLUDED)) {
			track_image_rss(p, rec->rss_peak_bytes, rec->maxrss_bytes);
			track_exclude(t, p, &cut, time_ns);
		}
		intern_replace(t->intern, &p->comm, &rec->comm); /* recognizers know its children by it */
		track_verdict_due(t, p);
		return;
	}
	after = p->program;
	p->program = before;
	if (p->flags & PROC_EXCLUDED) {
		track_include(t, p, &rec->counters);
		set_cgroup(t, p, rec->cgroup_id, &rec->cgroup);
		cut = rec->counters;
	} else if (folds(t, p, &cut, time_ns)) {
		set_cgroup(t, p, rec->cgroup_id, &rec->cgroup);
		folded = true;
	} else {
		image_replaced(t, p, &cut, time_ns, rec);
	}
	p->program = after;
	program_unref(t->intern, before);
	if (!(p->flags & PROC_SETTLED) || rule)
		track_labels(t, p, rule);

	if (!folded) {
		raise_u64(&p->image_start_ns, time_ns);
		p->base = cut;
	}
	p->image++;
	raise_u64(&p->maxrss_base_bytes, rec->maxrss_bytes);
	raise_u64(&p->maxrss_bytes, rec->maxrss_bytes);
	p->rss_peak_bytes = 0;
	p->threads_peak = 0;
	p->approx = folded ? 0 : APPROX_SPLIT;
	p->flags = (p->flags | PROC_EXECED) & ~PROC_RSS_KNOWN;
	p->uid = rec->uid;
	p->payer = rec->payer;
	p->gid = rec->gid;
	p->session = rec->session;
	set_group(p, rec->group_leader, rec->flags & SKEP_EXEC_TTY);
	intern_replace(t->intern, &p->comm, &rec->comm);
	intern_replace(t->intern, &p->cwd, &rec->cwd);
	intern_unref(t->intern, p->parent_comm);
	p->parent_comm = rec->parent_comm.len ? intern_get(t->intern, &rec->parent_comm) : NULL;
	track_set_rss(p, 0);
	track_environ(t, p, &rec->environ, rec->flags & SKEP_EXEC_BOUNDARY);
	executed(t, p);
	if (p->run && (p->flags & PROC_ROOT)) {
		p->run->uid = p->uid;
		p->run->payer = p->payer;
	}
	track_recell(t, p);
	if (p->cell && !(p->flags & PROC_MUTED))
		p->cell->started++;
}

/* The kernel has excluded the process, and sends no more records of it. */
static void event_excluded(struct track *t, struct proc *p, uint64_t time_ns, const struct skep_process_excluded *rec)
{
	struct skep_counters cut = p->base;

	if (p->flags & (PROC_EXITED | PROC_FINAL)) {
		t->stats.late++;
		return;
	}
	p->verdict = (uint8_t)rec->byte;
	if (!(p->flags & PROC_EXCLUDED) && (p->flags & PROC_CONFIRMED)) {
		t->stats.clamped += counters_raise(&cut, &rec->counters);
		if (p->sampled)
			counters_raise(&cut, &p->sampled->counters);
		track_advance(t, p, &rec->counters);
		track_image_rss(p, 0, rec->maxrss_bytes);
		track_exclude(t, p, &cut, time_ns);
	}
	/*
	 * If the rules have changed since, skepd has taken the kernel's byte back: the process may end or exec before
	 * the next sweep evaluates it, so its entry stays.  Else no more records are under way, as the ring keeps the
	 * order.
	 */
	if (t->env.rule_eval && rec->generation == rule_eval_generation(t->env.rule_eval))
		track_remove(t, p);
}

/*
 * Whether a process's first record is its end, and it began before the rules changed.  The old rules excluded it until
 * then, and skepd does not know its program.  It stays excluded.
 */
static bool unborn(struct track *t, struct proc *p)
{
	if ((p->flags & PROC_CONFIRMED) || !t->reevaluate_ns || p->upid.start_ns >= t->reevaluate_ns)
		return false;
	t->stats.unborn++;
	proctab_close(t->table, &p->upid);
	track_remove(t, p);
	return true;
}

static void event_exit(struct track *t, struct proc *p, uint64_t time_ns, const struct skep_process_exit *rec)
{
	/* Two threads that exit together can both see themselves as the last one (kernels before 6.16). */
	if (p->flags & (PROC_EXITED | PROC_FINAL)) {
		t->stats.late++;
		return;
	}
	if (unborn(t, p))
		return;
	if (!(p->flags & PROC_CONFIRMED))
		stub(t, p, NULL, NULL);
	if (p->flags & PROC_EXCLUDED) {
		p->flags |= PROC_EXITED;
		return;
	}
	set_cgroup(t, p, rec->cgroup_id, NULL);
	track_advance(t, p, &rec->counters); /* until the final record's counters replace these */
	p->status = rec->status;
	p->end_ns = time_ns;
	if (rec->threads_peak > p->threads_peak)
		p->threads_peak = rec->threads_peak;
	raise_u64(&p->maxrss_bytes, rec->maxrss_bytes);
	if (rec->rss_peak_bytes > 0 || rec->maxrss_bytes > 0)
		track_image_rss(p, rec->rss_peak_bytes, rec->maxrss_bytes);
	p->flags |= PROC_EXITED;
	track_finding_process_over(t, p);
	track_task_exited(t, p);
	track_task_dying(p);
	track_uncount(p);
}

static void event_final(struct track *t, struct proc *p, uint64_t time_ns, const struct skep_process_final *rec)
{
	if (p->flags & PROC_FINAL) {
		t->stats.late++;
		return;
	}
	if (unborn(t, p))
		return;
	if (!(p->flags & PROC_CONFIRMED))
		stub(t, p, NULL, &rec->counters);
	if (p->flags & PROC_EXCLUDED) {
		/*
		 * The process ended before user space's verdict reached the kernel, so the kernel's sum lacks its CPU
		 * time.
		 */
		t->reevaluated_ns += (int64_t)rec->counters.cpu_ns;
		proctab_close(t->table, &p->upid);
		track_remove(t, p);
		return;
	}
	set_cgroup(t, p, rec->cgroup_id, NULL);
	track_settle(t, p, &rec->counters, rec->flags & SKEP_FINAL_THREADS_PARTIAL);
	if (rec->flags & SKEP_FINAL_THREADS_PARTIAL)
		p->approx |= APPROX_THREADS;
	raise_u64(&p->maxrss_bytes, rec->maxrss_bytes);
	if (!(p->flags & PROC_RSS_KNOWN) && rec->maxrss_bytes > 0)
		track_image_rss(p, 0, rec->maxrss_bytes);
	/*
	 * No sweep saw several threads: takes the number of all threads in its life, which for most processes is the
	 * peak.
	 */
	if (p->threads_peak <= 1 && rec->threads > p->threads_peak)
		p->threads_peak = rec->threads < UINT32_MAX ? (uint32_t)rec->threads : UINT32_MAX;
	if (!(p->flags & PROC_EXITED)) {
		p->approx |= APPROX_END;
		p->status = rec->status;
		p->end_ns = time_ns;
	}
	track_uncount(p);
	p->flags |= PROC_EXITED | PROC_FINAL;
	track_task_dying(p);
	track_hold(t, p);
}

/* Sets exe, argv and cwd from an iterator's record, for a process whose exec record is missing. */
static void take_details(struct track *t, struct proc *p, const struct skep_process_live *rec)
{
	const struct proc *parent;

	intern_replace(t->intern, &p->cwd, &rec->cwd);
	if (rec->exe.len == 0)
		return;
	track_program(t, p, &rec->exe, &nothing, &rec->argv, &rec->comm);
	/* If it does not run its parent's program, it has execed.  Nothing more can be known by now. */
	if (p->flags & PROC_RESTORED) { /* the saved state says whether it has execed */
		p->approx &= ~APPROX_EXEC;
		return;
	}
	parent = p->parent.pid != 0 ? proctab_find(t->table, &p->parent) : NULL;
	if (!parent || !parent->program || !p->program || parent->program->exe != p->program->exe)
		p->flags |= PROC_EXECED;
	if (p->approx & APPROX_START)
		p->approx &= ~APPROX_EXEC;
}

/*
 * Collects a process that the rules excluded before they changed.  Its use until now stays excluded, and is no part of
 * its record.
 */
static void let_in(struct track *t, struct proc *p, const struct skep_counters *now)
{
	if (t->swept_ns == 0 || !t->reevaluate_ns || p->upid.start_ns >= t->reevaluate_ns || (p->flags & PROC_RESTORED))
		return;
	t->reevaluated_ns += (int64_t)now->cpu_ns;
	p->base = p->last = *now;
	p->approx |= APPROX_START;
}

/*
 * Evaluates a process that a sweep found, before track_place(), because a root begins a run.  false: excluded, and the
 * entry is gone.
 */
static bool evaluate_found(struct track *t, struct proc *p, const struct skep_process_live *rec)
{
	const struct rule *rule;
	struct rule_case c;

	if (!t->env.rule_eval || (p->flags & PROC_ROOT))
		return true;
	if (p->parent.pid == 0)
		p->parent = rec->parent;
	if (rec->exe.len > 0) {
		track_program(t, p, &rec->exe, &nothing, &rec->argv, &rec->comm);
		intern_replace(t->intern, &p->cwd, &rec->cwd);
	}
	track_rule_case(p, t->now_ns, &c);
	if (track_verdict(t, p, &c, &rule)) {
		track_labels(t, p, rule);
		return true;
	}
	rule_eval_write(t->env.rule_eval, p->upid.pid, p->verdict);
	t->stats.excluded++;
	/*
	 * The kernel's sum will have the CPU time of its whole life.  In the first sweep all of this time is new to the
	 * sum.  Later the sum had the process before the rules changed, and has it again from the next sweep on.  Until
	 * then reevaluated_ns has it.
	 */
	if (t->swept_ns == 0) {
		t->reevaluated_ns -= (int64_t)rec->counters.cpu_ns;
	} else {
		t->reevaluated_ns += (int64_t)rec->counters.cpu_ns;
		t->reevaluated_back_ns += (int64_t)rec->counters.cpu_ns;
	}
	track_remove(t, p);
	return false;
}

/*
 * A sweep sees a process that user space excluded.  NULL: it stays excluded.  Else changed rules may collect it: a new
 * entry.
 */
static struct proc *let_back(struct track *t, struct proc *p, const struct skep_upid *upid)
{
	bool is_new;

	if (!(p->flags & PROC_EXCLUDED))
		return p;
	p->sweep = t->sweep;
	if (!t->env.rule_eval || rule_eval_excludes(t->env.rule_eval, upid->pid))
		return NULL;
	track_remove(t, p);
	return track_get(t, upid, &is_new);
}

/* Applies a record of an iterator.  false: the entry is gone. */
static bool event_live(struct track *t, struct proc *p, uint64_t time_ns, const struct skep_process_live *rec)
{
	bool newest = time_ns >= p->event_ns, first = !(p->flags & PROC_CONFIRMED);

	p->sweep = t->sweep;
	if (p->flags & PROC_FINAL)
		return true;
	/* The iterator skips processes that the kernel excludes, so an exec has excluded this one since. */
	if (first && t->env.rule_eval && rule_eval_excludes(t->env.rule_eval, p->upid.pid)) {
		track_remove(t, p);
		return false;
	}
	if (first) {
		if (!(p->flags & PROC_RESTORED))
			p->maxrss_base_bytes = rec->maxrss_bytes;
		intern_replace(t->intern, &p->comm, &rec->comm);
		track_environ(t, p, &rec->environ, rec->flags & SKEP_LIVE_BOUNDARY);
		p->session = rec->session;
		set_group(p, rec->group_leader, rec->flags & SKEP_LIVE_TTY);
		p->uid = rec->uid;
		p->payer = rec->payer;
		p->gid = rec->gid;
		set_cgroup(t, p, rec->cgroup_id, &rec->cgroup);
		if (rec->exe.len == 0)
			track_program(t, p, &nothing, &nothing, &nothing, &rec->comm);
		if (!evaluate_found(t, p, rec))
			return false;
		stub(t, p, &rec->parent, &rec->counters);
		let_in(t, p, &rec->counters);
		if (!(p->approx & APPROX_START) && !(p->flags & PROC_RESTORED) && p->cell)
			p->cell->started++;
	} else if (p->parent.pid == 0) {
		p->parent = rec->parent;
	}
	if ((p->image == 0 || (p->flags & PROC_RESTORED)) && (p->approx & APPROX_EXEC)) {
		take_details(t, p, rec);
		if (p->flags & PROC_PLACED) {
			track_job(t, p);
			track_scope_exec(t, p, p->parent.pid ? proctab_find(t->table, &p->parent) : NULL);
		}
		track_recell(t, p);
	}
	if (track_advance(t, p, &rec->counters) && newest)
		t->stats.clamped++;
	if (rec->flags & SKEP_LIVE_ZOMBIE) {
		p->flags |= PROC_ZOMBIE;
		track_uncount(p);
	}
	if (p->flags & (PROC_EXITED | PROC_ZOMBIE))
		return true;
	/* The record is older than the newest known exec: it describes the image before. */
	if (time_ns < p->image_start_ns)
		return true;
	if (!(p->flags & PROC_MUTED)) {
		track_count_alive(p);
		track_set_rss(p, rec->rss_bytes);
	}
	raise_u64(&p->rss_peak_bytes, rec->rss_peak_bytes);
	raise_u64(&p->maxrss_bytes, rec->maxrss_bytes);
	if (rec->threads > p->threads_peak)
		p->threads_peak = rec->threads;
	if (!newest)
		return true;
	p->uid = rec->uid;
	p->payer = rec->payer;
	p->gid = rec->gid;
	p->session = rec->session;
	p->live = rec->flags & (SKEP_LIVE_STATE_RUNNING | SKEP_LIVE_STATE_BLOCKED);
	set_group(p, rec->group_leader, rec->flags & SKEP_LIVE_TTY);
	intern_replace(t->intern, &p->comm, &rec->comm);
	set_cgroup(t, p, rec->cgroup_id, &rec->cgroup);
	if (p->flags & PROC_PLACED) {
		if (!(p->flags & PROC_EXECED)) /* a subshell leaves the shell's group after its fork */
			track_job(t, p);
		track_leader(t, p);
	}
	return true;
}

static void event_oom(struct track *t, struct proc *p, uint64_t time_ns, const struct skep_process_oom *rec)
{
	struct skep_str path = rec->cgroup;

	if (p->oom || (p->flags & PROC_MUTED))
		return; /* the kernel may mark one victim many times until it is gone */
	if (!(p->flags & PROC_CONFIRMED))
		stub(t, p, NULL, NULL);
	p->flags |= PROC_OOM;
	p->oom = calloc(1, sizeof(*p->oom));
	if (!p->oom) {
		t->stats.no_memory++;
		return;
	}
	if (path.len == 0)
		path = cgroups_path(t->env.cgroups, rec->cgroup_id, t->now_ns);
	p->oom->cgroup = intern_get(t->intern, &path);
	p->oom->limit_bytes = rec->limit_bytes;
	p->oom->usage_bytes = rec->usage_bytes;
	p->oom->peak_bytes = rec->peak_bytes;
	track_finding_oom(t, p, time_ns);
}

void track_record(struct track *t, enum skep_role role, const struct skep_upid *upid, uint64_t time_ns, const void *rec,
		  uint64_t now_ns)
{
	struct proc *p;
	bool is_new;

	t->now_ns = now_ns;
	t->stats.records++;
	if (!upid || upid->pid == 0) {
		t->stats.invalid++;
		return;
	}
	if (time_ns == 0)
		time_ns = now_ns;
	if (role == SKEP_ROLE_PROC_OOM && upid->start_ns == 0) {
		/* The kernel named only a pid (mark_victim before 6.9): the live process with that pid. */
		p = proctab_holder(t->table, upid->pid);
		if (!p)
			t->stats.invalid++;
	} else {
		p = track_get(t, upid, &is_new);
	}
	if (!p)
		return;
	/* event_live() needs the time of the newest record before this one: track_touch() follows it below */
	if (role != SKEP_ROLE_PROC_LIVE)
		track_touch(t, p, time_ns);
	if (role != SKEP_ROLE_PROC_LIVE || !(p->flags & PROC_CONFIRMED))
		track_dirty(t, p);
	switch (role) {
	case SKEP_ROLE_PROC_FORK:
		event_fork(t, p, time_ns, rec);
		break;
	case SKEP_ROLE_PROC_EXEC:
		event_exec(t, p, time_ns, rec);
		break;
	case SKEP_ROLE_PROC_EXCLUDED:
		event_excluded(t, p, time_ns, rec); /* p may be gone */
		break;
	case SKEP_ROLE_PROC_EXIT:
		event_exit(t, p, time_ns, rec); /* p may be gone */
		break;
	case SKEP_ROLE_PROC_FINAL:
		event_final(t, p, time_ns, rec); /* p may be gone */
		break;
	case SKEP_ROLE_PROC_LIVE:
		p = let_back(t, p, upid);
		if (p && event_live(t, p, time_ns, rec))
			track_touch(t, p, time_ns);
		break;
	case SKEP_ROLE_PROC_OOM:
		event_oom(t, p, time_ns, rec);
		break;
	default: /* not about the life of a process */
		break;
	}
}

void track_facet(struct track *t, const struct skep_stream *stream, const struct skep_upid *upid, const void *rec,
		 uint64_t now_ns)
{
	struct proc *p;
	bool is_new;

	t->now_ns = now_ns;
	if (!upid || upid->pid == 0) {
		t->stats.invalid++;
		return;
	}
	/* The facet's probe may be ahead of the life-cycle probe: then the facet makes the entry. */
	p = track_get(t, upid, &is_new);
	if (!p || (p->flags & PROC_MUTED))
		return;
	if (is_new)
		p->event_ns = now_ns;
	if (is_new || !(stream->flags & SKEP_STREAM_SAMPLE)) /* see saved_facets.c */
		track_dirty(t, p);
	if (facets_record(t->env.facets, stream, rec, &p->facets) == -ENOMEM)
		t->stats.no_memory++;
}
