/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_verdict.c - applies a rule's verdict to an entry of the table.
 *
 * skep emits no records of an excluded process, but the ledger must have its CPU time.  So the kernel sums the CPU time
 * of excluded processes, each from its begin.  Time that skep recorded before the exclusion is then in both sums.  Time
 * of a process that user space excluded too late for the kernel is in neither.  reevaluated_ns is the difference, and
 * the ledger shows it.
 */
#include <stdlib.h>
#include <string.h>

#include "core/rules/rule_eval.h"
#include "core/process/track_priv.h"

void track_rule_case(const struct proc *p, uint64_t now_ns, struct rule_case *ret)
{
	*ret = (struct rule_case){
		.proc = p,
		.pid = p->upid.pid,
		.start_ns = p->upid.start_ns,
		.program = p->program,
		.comm = intern_str(p->comm),
		.cwd = intern_str(p->cwd),
		.cgroup_id = p->cgroup_id,
		.uid = p->uid,
		.gid = p->gid,
		.session = p->session,
		.now_ns = now_ns,
	};
}

void track_labels(struct track *t, struct proc *p, const struct rule *rule)
{
	struct skep_str text = { .ptr = rule ? rule->label_text : "", .len = rule ? rule->label_len : 0 };

	intern_unref(t->intern, p->labels);
	p->labels = text.len ? intern_get(t->intern, &text) : NULL;
}

bool track_judge_by_name(struct track *t, struct proc *p)
{
	if (!t->env.rule_eval || !p->run || p->run->found)
		return false;
	if (rule_eval_excludes(t->env.rule_eval, p->upid.pid))
		rule_eval_write(t->env.rule_eval, p->upid.pid, VERDICT_COLLECT);
	rule_eval_keep(t->env.rule_eval, p->upid.pid);
	p->flags |= PROC_SETTLED;
	return true;
}

bool track_verdict(struct track *t, struct proc *p, const struct rule_case *c, const struct rule **ret_rule)
{
	bool settled = p->flags & PROC_SETTLED, by_name = p->run && !p->run->found;
	struct rule_eval_verdict v;

	*ret_rule = NULL;
	if (!t->env.rule_eval)
		return true;
	if (settled && !by_name)
		return !(p->flags & PROC_EXCLUDED);
	rule_eval_process(t->env.rule_eval, c, &v);
	if (by_name) { /* the rules decide only the labels */
		*ret_rule = v.include && rule_eval_rules(t->env.rule_eval) ? v.rule : NULL;
		return settled || track_judge_by_name(t, p);
	}
	if (!rule_eval_rules(t->env.rule_eval))
		return true;
	p->flags = v.settled ? p->flags | PROC_SETTLED : p->flags & ~PROC_SETTLED;
	if (v.include) {
		*ret_rule = v.rule;
		if (p->flags & PROC_WRITTEN)
			rule_eval_unwrite(t->env.rule_eval, p->upid.pid, p->verdict);
		p->flags &= ~PROC_WRITTEN;
		if (v.settled)
			rule_eval_keep(t->env.rule_eval, p->upid.pid);
	} else {
		p->verdict = v.byte;
	}
	return v.include;
}

/*
 * Schedules the write of a verdict, because the ring may hold another exec of the same process, whose verdict the
 * kernel has already put into the map.  A write now would replace this verdict, and hide the process's end if it came
 * in that moment.
 */
void track_verdict_due(struct track *t, struct proc *p)
{
	if (t->n_due == t->room_due) {
		size_t room = t->room_due ? 2 * t->room_due : 256;
		struct skep_upid *due = realloc(t->due, room * sizeof(*due));

		if (!due) {
			/* records of it go on until a sweep finds the process and evaluates it again */
			t->stats.no_memory++;
			return;
		}
		t->due = due;
		t->room_due = room;
	}
	t->due[t->n_due++] = p->upid;
}

void track_verdicts_out(struct track *t)
{
	for (size_t i = 0; i < t->n_due; i++) {
		struct proc *p = proctab_find(t->table, &t->due[i]);

		if (!p || !(p->flags & PROC_EXCLUDED) || (p->flags & (PROC_EXITED | PROC_FINAL)))
			continue;
		rule_eval_write(t->env.rule_eval, p->upid.pid, p->verdict);
		p->flags |= PROC_WRITTEN;
	}
	t->n_due = 0;
}

void track_exclude(struct track *t, struct proc *p, const struct skep_counters *end, uint64_t time_ns)
{
	bool had = p->image > 0 || (p->flags & (PROC_EXECED | PROC_ROOT)) || (p->approx & APPROX_START);
	struct run *over = NULL;

	t->stats.excluded++;
	if (p->task)
		p->task->watch.hidden = true;
	if (p->run)
		p->run->watch.hidden = true;
	if (had && (p->flags & PROC_CONFIRMED)) {
		track_image_out(t, p, "excluded", end, time_ns, true);
		t->reevaluated_ns -= (int64_t)end->cpu_ns;
	} else {
		/* A fork that execs an excluded program: treated as excluded from its begin. */
		t->cpu_ns -= (int64_t)(p->last.cpu_ns - p->base.cpu_ns);
	}
	if ((p->flags & PROC_ROOT) && p->run && !p->run->ended) {
		if (p->run->alone && track_last_root(p)) {
			p->run->end_ns = time_ns;
			over = p->run;
		}
		p->flags &= ~PROC_ROOT;
	}
	track_task_over(t, p, "excluded", time_ns, -1);
	track_task_leave(t, p);
	track_uncount(p);
	sampler_unref(p->cell);
	p->cell = NULL;
	p->facets = facet_values_free(p->facets);
	free(p->sampled);
	p->sampled = NULL;
	p->base = p->last = *end;
	track_dirty(t, p);
	p->flags |= PROC_MUTED | PROC_EXCLUDED | PROC_PLACED;
	if (over)
		track_roots_over(t, over);
}

void track_include(struct track *t, struct proc *p, const struct skep_counters *begin)
{
	track_dirty(t, p);
	p->flags &= ~(PROC_MUTED | PROC_EXCLUDED);
	/* Its use until now leaves the kernel's sum with the exclusion, and stays excluded. */
	t->reevaluated_ns += (int64_t)begin->cpu_ns;
	p->base = p->last = *begin;
	p->maxrss_base_bytes = p->maxrss_bytes;
	p->rss_peak_bytes = 0;
	if (!(p->flags & (PROC_EXITED | PROC_FINAL)))
		track_count_alive(p);
	track_recell(t, p);
}

void track_verdict_fork(struct track *t, struct proc *p, const struct proc *parent)
{
	if (!t->env.rule_eval || !parent)
		return;
	if (parent->flags & PROC_EXCLUDED) {
		/* The kernel got the parent's verdict only after this fork. */
		p->verdict = parent->verdict;
		p->flags |= parent->flags & PROC_SETTLED;
		track_exclude(t, p, &p->last, p->event_ns);
		if (p->flags & PROC_SETTLED)
			track_verdict_due(t, p);
		return;
	}
	if (parent->flags & PROC_SETTLED)
		p->flags |= PROC_SETTLED;
	if (parent->labels && !p->labels)
		p->labels = intern_ref(parent->labels);
}

void track_reevaluate(struct track *t, uint64_t now_ns)
{
	const struct rule *rule;
	struct rule_case c;
	struct proc *next;

	t->now_ns = now_ns;
	t->reevaluate_ns = now_ns;
	for (struct proc *p = proctab_first(t->table); p; p = next) {
		next = p->next;
		if (!(p->flags & PROC_CONFIRMED) || (p->flags & (PROC_EXITED | PROC_FINAL | PROC_ZOMBIE)))
			continue;
		if (p->flags & PROC_EXCLUDED) { /* the next sweep shows whether it lives, and which program it runs */
			p->flags &= ~PROC_SETTLED;
			continue;
		}
		if (p->flags & PROC_MUTED)
			continue;
		p->flags &= ~PROC_SETTLED;
		track_rule_case(p, now_ns, &c);
		/* The root identifies the run, so it stays collected until the run is over. */
		if (track_verdict(t, p, &c, &rule))
			track_labels(t, p, rule);
		else if (!(p->flags & PROC_ROOT)) {
			track_exclude(t, p, &p->last, now_ns);
			track_verdict_due(t, p);
		}
	}
	track_verdicts_out(t);
}
