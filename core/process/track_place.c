/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_place.c - decides which run a process belongs to.  A process inherits its parent's run at the
 * fork, and keeps this run when the parent ends.  Outside of runs begun by name, and of engines' runs, each job of an
 * interactive shell is a run, and a session is a run if its leader is not init's child.
 */
#include <errno.h>
#include <skep/clock.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/counters.h"
#include "core/process/track_priv.h"

#define SUBSHELLS_DEEP 16u /* of a shell: how many forks without an exec below it track_job() looks through */

static uint64_t take_back(uint64_t from, uint64_t part)
{
	return from > part ? from - part : 0;
}

void track_join(struct track *t, struct proc *p, struct run *run)
{
	bool counted = p->flags & PROC_COUNTED;
	uint64_t rss = p->rss_bytes;
	struct skep_counters d;

	if (p->run == run)
		return;
	track_dirty(t, p);
	track_uncount(p);
	if (p->run && p->image_start_ns == p->upid.start_ns) /* its first image: no record of it has that run */
		p->run->seen = take_back(p->run->seen, 1);
	track_leave_run(p);
	track_enter_run(p, run);
	run->seen++;
	if (p->flags & PROC_ROOT)
		track_contained_live(t, p);
	track_recell(t, p);
	if (counted) {
		track_count_alive(p);
		track_set_rss(p, rss);
	}
	/* The run also gets what the image used before it joined, so that samples add up to records. */
	if (p->cell && !(p->approx & APPROX_START)) {
		counters_sub(&p->last, &p->base, &d);
		p->cell->cpu_ns += d.cpu_ns;
		p->cell->run_delay_ns += d.run_delay_ns;
		p->cell->read_bytes += d.read_bytes;
		p->cell->write_bytes += d.write_bytes;
	}
}

/* The run has this root, and is called like this process's program.  0 or -ENOMEM. */
static int describe(struct run *run, const struct proc *root, const struct proc *p)
{
	struct skep_str name = intern_str(p->program ? p->program->tool : NULL);
	int err = run_set(&run->name, &name);

	run->root = root->upid;
	run->root_pid = (pid_t)root->upid.pid;
	if (!err && p->program && p->program->argv_len > 0)
		err = run_argv(run, p->program->argv, p->program->argv_len);
	return err;
}

/* NULL: no memory. */
static struct run *new_run(struct track *t, const struct proc *root, const struct proc *p)
{
	char id[RUN_ID_SIZE];
	struct run_spec spec = {
		.id = id,
		.name = "",
		.cwd = p->cwd ? p->cwd->text : "",
		.root = (pid_t)root->upid.pid,
		.traceparent = p->traceparent ? p->traceparent->text : NULL,
		.parent = p->run && !p->run->ended ? p->run->id : NULL,
	};
	struct run *run = NULL;
	int err = -EEXIST;

	for (int tries = 0; tries < 8 && err == -EEXIST; tries++) {
		run_id_new(id);
		err = run_new(&t->runs, &spec, root->upid.start_ns, &run);
	}
	if (err < 0 || describe(run, root, p) < 0)
		t->stats.no_memory++;
	if (err < 0)
		return NULL;
	run->found = run->alone = true;
	run->uid = p->uid;
	run->payer = p->payer;
	return run;
}

void track_leader(struct track *t, struct proc *p)
{
	struct run *run;

	if (t->env.runs_only || p->run || p->session != p->upid.pid || p->parent.pid <= 1 ||
	    (p->flags & PROC_MUTED) || !(p->flags & PROC_CONFIRMED))
		return;
	run = new_run(t, p, p);
	if (!run)
		return;
	p->flags |= PROC_ROOT;
	track_join(t, p, run);
	t->env.run_found(t->env.arg, run);
}

/*
 * The process that executed the image in which this one was forked: of a child of a shell the shell, also below
 * subshells.  ret_first: the process itself, or the subshell that this image forked.  NULL: not known.
 */
static struct proc *image_above(struct track *t, struct proc *p, struct proc **ret_first)
{
	struct proc *first = p, *above = NULL;

	for (unsigned deep = 0; deep < SUBSHELLS_DEEP; deep++) {
		above = first->parent.pid ? proctab_find(t->table, &first->parent) : NULL;
		if (!above || above == first)
			return NULL;
		if (above->flags & PROC_EXECED)
			break;
		first = above;
	}
	*ret_first = first;
	return above->flags & PROC_EXECED ? above : NULL;
}

void track_job(struct track *t, struct proc *p)
{
	struct run *run = p->run && !p->run->ended ? p->run : NULL;
	const struct interned *tool;
	struct proc *shell, *first;
	bool began;

	if (t->env.runs_only || !(p->flags & PROC_TTY) || p->group == 0 || !(p->flags & PROC_CONFIRMED) ||
	    (p->flags & PROC_MUTED))
		return;
	/* The job's run has the process already, or a higher class's run has the shell, or `timeout` left the job. */
	if (run && (run->job_group == p->group ? !run->of_fork || !(p->flags & PROC_EXECED)
					       : !run->found || run->engine[0] || (p->flags & PROC_ROOT)))
		return;
	shell = image_above(t, p, &first);
	tool = shell && shell->program ? shell->program->tool : NULL;
	/*
	 * Only job control gives a shell's children a group of their own.  A script has another tool than its shell, so
	 * its children stay with it even under `set -m`.
	 */
	if (!tool || p->group == shell->upid.pid || p->group == shell->group ||
	    !tools_shell(t->env.tools, tool->text, tool->len))
		return;
	run = run_of_job(&t->runs, p->group, p->session);
	began = !run;
	if (began) {
		run = new_run(t, first, p);
		if (!run)
			return;
		run->peers = true;
		run->job_group = p->group;
		run->job_session = p->session;
		run->of_fork = !(p->flags & PROC_EXECED);
	} else if (!run->engine[0] && ((run->of_fork && (p->flags & PROC_EXECED)) ||
				       (first->upid.pid == p->group && run->root.pid != p->group))) {
		if (describe(run, first, p) < 0) /* of a pipeline the first program names the run */
			t->stats.no_memory++;
		run->of_fork = false;
		began = true;
	}
	first->flags |= PROC_ROOT;
	track_join(t, first, run);
	for (struct proc *q = p; q && q != first; q = proctab_find(t->table, &q->parent))
		track_join(t, q, run);
	if (began)
		t->env.run_found(t->env.arg, run);
}

static void place_under(struct track *t, struct proc *p, const struct proc *parent)
{
	struct run *run = parent ? parent->run : NULL;

	p->flags |= PROC_PLACED;
	if (parent && parent->traceparent && !p->traceparent)
		p->traceparent = intern_ref(parent->traceparent);
	/*
	 * With runs only, a process whose parent has left its run stays silent.  Any other belongs to the one run, even
	 * if its fork was lost.
	 */
	if (t->env.runs_only && parent && (parent->flags & PROC_MUTED)) {
		track_uncount(p);
		p->flags |= PROC_MUTED; /* the record of that run has left */
		return;
	}
	if (!run && t->env.runs_only)
		run = run_only(&t->runs);
	if (run)
		track_join(t, p, run);
	track_scope_fork(p, parent);
	if (!parent || p->program != parent->program) { /* a fork shares its parent's program */
		track_job(t, p);
		track_scope_exec(t, p, parent);
	}
	track_leader(t, p);
	track_task_place(t, p, parent);
}

void track_place(struct track *t, struct proc *p)
{
	struct proc *parent;

	if (p->flags & PROC_PLACED)
		return;
	parent = p->parent.pid != 0 ? track_find(t, &p->parent) : NULL;
	if (parent == p)
		parent = NULL;
	/*
	 * The parent has no entry yet (the sweep has not reached it, or its fork was lost) or no decided run: the end
	 * of the next sweep decides.
	 */
	if (!t->env.runs_only && p->parent.pid != 0 && (!parent || !(parent->flags & PROC_PLACED)))
		return;
	place_under(t, p, parent);
}

void track_place_last(struct track *t, struct proc *p)
{
	struct proc *parent;

	if (p->flags & PROC_PLACED)
		return;
	parent = p->parent.pid != 0 ? proctab_find(t->table, &p->parent) : NULL;
	if (parent && parent != p && (parent->flags & PROC_PLACED))
		place_under(t, p, parent);
}

void track_place_all(struct track *t)
{
	for (struct proc *p = proctab_first(t->table); p; p = p->next) {
		size_t n = 0;

		/* Climbs to the first ancestor with a decided run, then places the chain downwards. */
		for (struct proc *q = p; q && !(q->flags & PROC_PLACED) && (q->flags & PROC_CONFIRMED);) {
			if (n == t->chain_room) {
				size_t room = t->chain_room ? t->chain_room * 2 : 64;
				struct proc **chain = realloc(t->chain, room * sizeof(struct proc *));

				if (!chain) {
					t->stats.no_memory++;
					break;
				}
				t->chain = chain;
				t->chain_room = room;
			}
			t->chain[n++] = q;
			if (n > proctab_count(t->table))
				break; /* parents in a circle: only a broken probe reports them */
			q = q->parent.pid != 0 ? proctab_find(t->table, &q->parent) : NULL;
		}
		while (n-- > 0) {
			struct proc *q = t->chain[n];
			struct proc *parent = q->parent.pid != 0 ? proctab_find(t->table, &q->parent) : NULL;

			if (!(q->flags & PROC_PLACED))
				place_under(t, q, parent == q ? NULL : parent);
		}
	}
}

/* Reads the root's own program from /proc (it starts the run): no exec record names it. */
static void read_root(struct track *t, struct proc *p)
{
	char link[64], comm[64], *exe = NULL;
	size_t room = 256;
	ssize_t n = -1;
	struct skep_str none = { "", 0, 0 }, path = none;
	pid_t session = getsid((pid_t)p->upid.pid);
	FILE *f;

	p->session = session > 0 ? (uint32_t)session : 0;
	snprintf(link, sizeof(link), "/proc/%u/comm", p->upid.pid);
	f = fopen(link, "re");
	if (f) {
		size_t len = fread(comm, 1, sizeof(comm), f);
		struct skep_str name = { comm, (uint32_t)(len > 0 ? len - 1 : 0), 0 }; /* without the newline */

		intern_replace(t->intern, &p->comm, &name);
		fclose(f);
	}
	snprintf(link, sizeof(link), "/proc/%u/exe", p->upid.pid);
	for (;; room *= 2) {
		char *more = realloc(exe, room);

		if (!more)
			break;
		exe = more;
		n = readlink(link, exe, room);
		if (n < 0 || (size_t)n < room || room > (64u << 10))
			break;
	}
	if (n > 0)
		path = (struct skep_str){ exe, (uint32_t)n, (uint32_t)n };
	track_program(t, p, &path, &none, &none, &none);
	free(exe);
}

/*
 * Takes a process out of its parent's run, or ends the exclusion that it inherited, before it becomes another run's
 * root.
 */
static int leave_parents_run(struct track *t, struct proc *p)
{
	struct skep_counters used;

	if (p->run && !p->run->found && !p->run->ended)
		return -EBUSY;
	if (p->flags & (PROC_ROOT | PROC_EXITED | PROC_FINAL))
		return -EINVAL;
	if (p->flags & PROC_EXCLUDED) {
		track_include(t, p, &p->last);
		p->flags &= ~PROC_WRITTEN;
	}
	track_task_inner(t, p);
	track_task_leave(t, p);
	if (!p->run)
		return 0;
	if (p->cell) { /* the part that a sample has reported stays there: microseconds */
		counters_sub(&p->last, &p->base, &used);
		p->cell->cpu_ns = take_back(p->cell->cpu_ns, used.cpu_ns);
		p->cell->run_delay_ns = take_back(p->cell->run_delay_ns, used.run_delay_ns);
		p->cell->read_bytes = take_back(p->cell->read_bytes, used.read_bytes);
		p->cell->write_bytes = take_back(p->cell->write_bytes, used.write_bytes);
	}
	return 0;
}

/* Compares the start in clock ticks: /proc has no finer one. */
static bool started_at(const struct proc *p, uint64_t ticks)
{
	return ticks == 0 || p->upid.start_ns == 0 || skep_start_ticks(p->upid.start_ns) == ticks;
}

int track_run_root(struct track *t, struct run *run, uint64_t now_ns)
{
	struct proc *p = proctab_holder(t->table, (uint32_t)run->root_pid);
	struct skep_upid upid = { .pid = (uint32_t)run->root_pid };
	struct skep_str cwd = { run->cwd, (uint32_t)strlen(run->cwd), 0 };
	int err;

	t->now_ns = now_ns;
	if (p && !started_at(p, run->root_ticks))
		p = NULL; /* an earlier process had this pid, and its end was lost */
	err = p ? leave_parents_run(t, p) : 0;
	if (err < 0)
		return err;
	if (!p) {
		/*
		 * The process's fork was not recorded (excluded until now), and /proc has its start only in clock
		 * ticks.  The entry takes the identity of the first record about this pid.
		 */
		p = proctab_add(t->table, &upid);
		if (!p)
			return -ENOMEM;
		p->image_start_ns = now_ns;
		p->event_ns = now_ns;
		p->uid = run->uid;
		p->payer = run->payer;
		p->gid = run->gid;
		p->sweep = t->sweep;
	}
	if (!p->program)
		read_root(t, p);
	if (!p->cwd)
		intern_replace(t->intern, &p->cwd, &cwd);
	p->flags |= PROC_ROOT | PROC_PLACED | PROC_CONFIRMED;
	p->approx &= ~APPROX_START; /* the run has all of it from its first instruction on */
	run->root = p->upid.start_ns ? p->upid : (struct skep_upid){ 0 };
	run->uid = p->uid;
	run->payer = p->payer;
	/* The run of the job in which a user typed `skep run`, or of the engine that started it. */
	if (p->run && (p->run->job_group || p->run->engine[0]) && !p->run->ended) {
		struct skep_str around = text_str(p->run->id), job = text_str(p->run->job);
		struct skep_str account = text_str(p->run->account);

		if (run_set(&run->parent, &around) < 0 || run_set(&run->job, &job) < 0 ||
		    run_set(&run->account, &account) < 0)
			t->stats.no_memory++;
	}
	track_scope_outside(t, p);
	if (!(p->flags & PROC_COUNTED))
		track_count_alive(p);
	track_join(t, p, run);
	track_judge_by_name(t, p);
	return 0;
}
