/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_event.c - what each life-cycle record does to the table.  A record may come
 * first, late, twice or not at all: whichever comes first makes the entry, and what only a
 * lost one could have told is marked as missing (APPROX_*).
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

/* The first life-cycle record about it. Its program is known by now; started: an image began just now. */
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

/* What it runs is what its parent runs. */
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
	if (!p->cgroup && p->cgroup_id == parent->cgroup_id)
		p->cgroup = intern_ref(parent->cgroup);
	return true;
}

/* An entry that no record has begun properly: its fork, or more, was lost, or it is older than we are. */
static void stub(struct track *t, struct proc *p, const struct skep_upid *parent, const struct skep_counters *first)
{
	if (parent && parent->pid != 0)
		p->parent = *parent;
	p->approx |= APPROX_EXEC;
	/* One that was carried is not new: what it did while nobody looked is this interval's. */
	if (p->upid.start_ns < t->env.start_ns && !(p->flags & (PROC_ROOT | PROC_RESTORED))) {
		p->approx |= APPROX_START;
		if (first) /* what it used before is not this interval's */
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
		p->gid = rec->gid;
		p->session = rec->session;
		set_cgroup(t, p, rec->cgroup_id, NULL);
		intern_replace(t->intern, &p->comm, &rec->comm);
	}
	if (p->image == 0 && (first || (p->approx & APPROX_EXEC))) {
		if (inherit(t, p, &p->parent)) {
			p->approx &= ~APPROX_EXEC;
			p->flags &= ~PROC_EXECED; /* an iterator that was ahead of the ring guessed otherwise */
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
	/* Later records made the entry; now its parent is known, and with it perhaps the run. */
	if (!p->run && !(p->flags & PROC_MUTED)) {
		p->flags &= ~PROC_PLACED;
		track_place(t, p);
	}
	track_recell(t, p);
}

/* What an exec says, as rules ask for it. */
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

/* The image that ends, which goes on in nothing that is excluded. */
static void image_replaced(struct track *t, struct proc *p, const struct skep_counters *cut, uint64_t time_ns,
			   const struct skep_process_exec *rec)
{
	track_image_rss(p, rec->rss_peak_bytes, rec->maxrss_bytes);
	p->approx |= APPROX_SPLIT;
	/* Exec moves nobody: where the new image begins is where the old one ended, as with an exit. */
	set_cgroup(t, p, rec->cgroup_id, &rec->cgroup);
	if (!(p->flags & PROC_MUTED))
		track_image_out(t, p, "replaced", cut, time_ns, false);
}

/*
 * While a life-cycle probe is exchanged for another, both tell what happens.  Everything else about
 * a process can be told twice without harm, an exec begins an image.  Each exec has read its
 * program's first bytes and has faulted in its arguments, so one that has not done more
 * of either than the newest that is known is that one, or an older one.
 */
static bool told_already(const struct proc *p, const struct skep_process_exec *rec)
{
	if (p->exec_faults == 0 && p->exec_rchar_bytes == 0)
		return false;
	return rec->counters.minor_faults <= p->exec_faults && rec->counters.rchar_bytes <= p->exec_rchar_bytes;
}

static void event_exec(struct track *t, struct proc *p, uint64_t time_ns, const struct skep_process_exec *rec)
{
	struct skep_counters cut;
	struct skep_str argv = rec->argv;
	struct program *before, *after;
	const struct rule *rule;
	struct rule_case c;

	if (p->flags & (PROC_EXITED | PROC_FINAL)) {
		t->stats.late++;
		return;
	}
	if (told_already(p, rec)) {
		t->stats.late++;
		return;
	}
	p->exec_faults = rec->counters.minor_faults;
	p->exec_rchar_bytes = rec->counters.rchar_bytes;
	if ((p->flags & PROC_EXCLUDED) && (p->flags & PROC_SETTLED))
		return; /* it was in the ring already when user space excluded it */
	if (!(p->flags & PROC_CONFIRMED)) {
		if (rec->flags & SKEP_EXEC_WAS_EXCLUDED)
			p->flags |= PROC_MUTED | PROC_EXCLUDED;
		stub(t, p, &rec->parent, &rec->counters);
	}
	if (p->parent.pid == 0)
		p->parent = rec->parent;

	/*
	 * The image ends at the exec's reading even where an iterator, which is read by another
	 * way than the ring, has told a later one already: that belongs to the next image.
	 */
	cut = p->base;
	t->stats.clamped += counters_raise(&cut, &rec->counters);
	if (p->sampled) /* nor less than its samples have said */
		counters_raise(&cut, &p->sampled->counters);
	if (!(p->flags & PROC_EXCLUDED))
		track_advance(t, p, &rec->counters);

	before = p->program;
	p->program = NULL;
	/* Unreadable is not empty: "cut" says that there was more than what is shown. */
	if ((rec->flags & SKEP_EXEC_ARGV_UNREADABLE) && argv.total <= argv.len)
		argv.total = argv.len + 1;
	if (rec->cgroup.len > 0)
		cgroups_known(t->env.cgroups, rec->cgroup_id, &rec->cgroup);
	track_program(t, p, &rec->exe, &rec->filename, &argv, &rec->comm);
	exec_case(p, p->program, t->now_ns, rec, &c);
	if (!track_verdict(t, p, &c, &rule)) {
		program_unref(t->intern, p->program);
		p->program = before;
		if (!(p->flags & PROC_EXCLUDED)) {
			track_image_rss(p, rec->rss_peak_bytes, rec->maxrss_bytes);
			track_exclude(t, p, &cut, time_ns);
		}
		track_verdict_due(t, p);
		return;
	}
	after = p->program;
	p->program = before;
	if (p->flags & PROC_EXCLUDED) {
		track_include(t, p, &rec->counters);
		set_cgroup(t, p, rec->cgroup_id, &rec->cgroup);
		cut = rec->counters;
	} else {
		image_replaced(t, p, &cut, time_ns, rec);
	}
	p->program = after;
	program_unref(t->intern, before);
	if (!(p->flags & PROC_SETTLED) || rule)
		track_labels(t, p, rule);

	raise_u64(&p->image_start_ns, time_ns);
	p->image++;
	p->base = cut;
	raise_u64(&p->maxrss_base_bytes, rec->maxrss_bytes);
	raise_u64(&p->maxrss_bytes, rec->maxrss_bytes);
	p->rss_peak_bytes = 0;
	p->threads_peak = 0;
	p->approx = APPROX_SPLIT;
	p->flags = (p->flags | PROC_EXECED) & ~PROC_RSS_KNOWN;
	p->uid = rec->uid;
	p->gid = rec->gid;
	p->session = rec->session;
	intern_replace(t->intern, &p->comm, &rec->comm);
	intern_replace(t->intern, &p->cwd, &rec->cwd);
	track_set_rss(p, 0);
	track_environ(t, p, &rec->environ);
	if (p->flags & PROC_PLACED) {
		track_leader(t, p);
		track_task_place(t, p, p->parent.pid ? proctab_find(t->table, &p->parent) : NULL);
	} else {
		track_place(t, p);
	}
	if (p->run && (p->flags & PROC_ROOT))
		p->run->uid = p->uid;
	track_recell(t, p);
	if (p->cell && !(p->flags & PROC_MUTED))
		p->cell->started++;
}

/* The kernel has excluded it, and tells no more of it. */
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
	 * By rules that have changed since: its byte has been taken back, so it may yet end, or exec, before the
	 * sweep that evaluates it comes to it.  Else nothing more is under way, as the ring keeps the order.
	 */
	if (t->env.rule_eval && rec->generation == rule_eval_generation(t->env.rule_eval))
		track_remove(t, p);
}

/*
 * An end is the first that is heard of it, and it began before the rules changed: it was excluded
 * until then, and nobody knows what it was.  It stays excluded.
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
	track_advance(t, p, &rec->counters); /* until the final record replaces them */
	p->status = rec->status;
	p->end_ns = time_ns;
	if (rec->threads_peak > p->threads_peak)
		p->threads_peak = rec->threads_peak;
	raise_u64(&p->maxrss_bytes, rec->maxrss_bytes);
	if (rec->rss_peak_bytes > 0 || rec->maxrss_bytes > 0)
		track_image_rss(p, rec->rss_peak_bytes, rec->maxrss_bytes);
	p->flags |= PROC_EXITED;
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
		/* It ended before the kernel had user space's verdict: its sum does not have it. */
		t->reevaluated_ns += (int64_t)rec->counters.cpu_ns;
		proctab_close(t->table, &p->upid);
		track_remove(t, p);
		return;
	}
	set_cgroup(t, p, rec->cgroup_id, NULL);
	track_settle(t, p, &rec->counters, rec->flags & SKEP_FINAL_RUN_DELAY_PARTIAL);
	if (rec->flags & SKEP_FINAL_RUN_DELAY_PARTIAL)
		p->approx |= APPROX_RUN_DELAY;
	raise_u64(&p->maxrss_bytes, rec->maxrss_bytes);
	if (!(p->flags & PROC_RSS_KNOWN) && rec->maxrss_bytes > 0)
		track_image_rss(p, 0, rec->maxrss_bytes);
	/* Never sampled with several threads: as many as it had in all its life, which for most is their peak. */
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

/* exe, argv, cwd as an iterator read them; of a process whose exec nobody saw. */
static void take_details(struct track *t, struct proc *p, const struct skep_process_live *rec)
{
	const struct proc *parent;

	intern_replace(t->intern, &p->cwd, &rec->cwd);
	if (rec->exe.len == 0)
		return;
	track_program(t, p, &rec->exe, &nothing, &rec->argv, &rec->comm);
	/* It has execed if it does not run what its parent runs; that is all that can still be known. */
	if (p->flags & PROC_RESTORED) { /* that is known */
		p->approx &= ~APPROX_EXEC;
		return;
	}
	parent = p->parent.pid != 0 ? proctab_find(t->table, &p->parent) : NULL;
	if (!parent || !parent->program || !p->program || parent->program->exe != p->program->exe)
		p->flags |= PROC_EXECED;
	if (p->approx & APPROX_START)
		p->approx &= ~APPROX_EXEC;
}

/* It was excluded by the rules before these: what it used until now stays excluded, and no part of its record. */
static void let_in(struct track *t, struct proc *p, const struct skep_counters *now)
{
	if (t->swept_ns == 0 || !t->reevaluate_ns || p->upid.start_ns >= t->reevaluate_ns || (p->flags & PROC_RESTORED))
		return;
	t->reevaluated_ns += (int64_t)now->cpu_ns;
	p->base = p->last = *now;
	p->approx |= APPROX_START;
}

/* Found by a sweep; before it gets a place, as a run begins with its root. false: it is excluded, and gone. */
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
	 * The kernel's sum will have all of its life.  In the first sweep that is new; later it had it before
	 * the rules changed, and has it again from the next sweep on: until then it is here.
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

/* One that user space has excluded, alive: excluded still (NULL), or let back in by other rules. */
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

/* false: the entry is gone. */
static bool event_live(struct track *t, struct proc *p, uint64_t time_ns, const struct skep_process_live *rec)
{
	bool newest = time_ns >= p->event_ns, first = !(p->flags & PROC_CONFIRMED);

	p->sweep = t->sweep;
	if (p->flags & PROC_FINAL)
		return true;
	/* A pass tells of nobody that the kernel excludes: its exec has excluded it since. */
	if (first && t->env.rule_eval && rule_eval_excludes(t->env.rule_eval, p->upid.pid)) {
		track_remove(t, p);
		return false;
	}
	if (first) {
		if (!(p->flags & PROC_RESTORED))
			p->maxrss_base_bytes = rec->maxrss_bytes;
		intern_replace(t->intern, &p->comm, &rec->comm);
		track_environ(t, p, &rec->environ);
		p->session = rec->session;
		p->uid = rec->uid;
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
	/* Older than the exec that is known: about the image before. */
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
	p->gid = rec->gid;
	p->session = rec->session;
	intern_replace(t->intern, &p->comm, &rec->comm);
	set_cgroup(t, p, rec->cgroup_id, &rec->cgroup);
	if (p->flags & PROC_PLACED)
		track_leader(t, p);
	return true;
}

static void event_oom(struct track *t, struct proc *p, const struct skep_process_oom *rec)
{
	struct skep_str path = rec->cgroup;

	if (p->oom || (p->flags & PROC_MUTED))
		return; /* the kernel may mark one victim again and again until it is gone */
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
		/* The kernel named a pid only (mark_victim before 6.9): whoever has it. */
		p = proctab_holder(t->table, upid->pid);
		if (!p)
			t->stats.invalid++;
	} else {
		p = track_get(t, upid, &is_new);
	}
	if (!p)
		return;
	if (role != SKEP_ROLE_PROC_LIVE) /* event_live compares its time with the newest before */
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
		event_oom(t, p, rec);
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
	/* Its probe may be ahead of the one that tells of forks: then the entry begins with the facet. */
	p = track_get(t, upid, &is_new);
	if (!p || (p->flags & PROC_MUTED))
		return;
	if (is_new)
		p->event_ns = now_ns;
	track_dirty(t, p);
	if (facets_record(t->env.facets, stream, rec, &p->facets) == -ENOMEM)
		t->stats.no_memory++;
}
