/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/why.c - see why.h.  It reads what the tracker keeps, and evaluates no condition again: the facts of the
 * exec have gone by then.
 */
#include "core/process/why.h"

#include <stdio.h>
#include <string.h>

#include "core/scope/scope.h"

#define SAY(why_, rule_, ...) \
	do { \
		(why_)->rule = (rule_); \
		snprintf((why_)->text, sizeof((why_)->text), __VA_ARGS__); \
	} while (0)

/* The scope that opened the run; NULL: a user began it by name, or a session or a shell's job. */
static const struct scope *opener(const struct proc *p)
{
	const struct scope *s = p->scope;

	while (s && s->run != p->run)
		s = s->outer;
	return s;
}

static const char *name_of(const struct scope *s)
{
	return s->engine ? s->engine->text : "?";
}

/* The process's own exec made it a root of the engine's run. */
static void why_root(const struct proc *p, const struct scope *s, struct why *ret)
{
	const struct run *run = p->run;
	const struct scope *outer = s->outer, *around = outer;

	while (around && !around->run)
		around = around->outer;
	if (run->peers && !scope_leads(s, &run->root))
		SAY(ret, "R5", "its exec shows the key of this run of %s, and its user is the run's", name_of(s));
	else if (outer && scope_leads(outer, &s->root) && outer->class == RECOGNIZER_SCHEDULER)
		SAY(ret, "R4", "its exec begins %s in a job of %s: %s has the run, and the run has the job's id",
		    name_of(s), name_of(outer), name_of(s));
	else if (around && around->class == s->class)
		SAY(ret, "R3", "its exec begins %s in a task of %s: a run of its own within that one", name_of(s),
		    name_of(around));
	else if (outer)
		SAY(ret, "R2", "its exec begins %s, whose class (%s) is higher than the class of every engine around it",
		    name_of(s), recognizer_class_name(s->class));
	else
		SAY(ret, "R2", "its exec begins %s, and no engine is around it", name_of(s));
}

void why_run(const struct proc *p, struct why *ret)
{
	const struct run *run = p->run;
	const struct scope *s;

	if (!run) {
		SAY(ret, "R7", "init started it or a process above it: no engine, session or job of a shell is around it");
		return;
	}
	s = opener(p);
	if (!run->found)
		SAY(ret, "R2", "a user began this run by name, which is above every engine");
	else if (!run->engine[0])
		SAY(ret, "R7", "no engine began a run around it: the run is the %s", run->job_group ? "job of a shell" : "session");
	else if (s && scope_leads(s, &p->upid))
		why_root(p, s, ret);
	else
		SAY(ret, "R1", "it descends from process %u, whose exec %s", s ? s->root.pid : run->root.pid,
		    run->peers ? "begins or joins this run" : "begins this run");
}

/* Why no task: `lead` is the engine whose marks would begin one. */
static void why_none(const struct proc *p, const struct scope *lead, struct why *ret)
{
	const char *engine = name_of(lead);

	if (scope_leads(lead, &p->upid))
		SAY(ret, "R3", "it is the process of %s itself", engine);
	else if (!lead->entry)
		SAY(ret, "R3", "no table has a recognizer of %s any more", engine);
	else if (!recognizer_begins_tasks(lead->entry))
		SAY(ret, "R3", "the recognizer of %s has no mark of a task: no exec shows where one begins", engine);
	else if (!(p->flags & PROC_EXECED))
		SAY(ret, "R3", "it has executed nothing since its fork, and a task of %s begins with an exec", engine);
	else
		SAY(ret, "R3", "at its exec no mark of a task of %s held, or a condition of \"helpers\" did, and no process "
			       "above it is in a task", engine);
}

void why_task(const struct proc *p, struct why *ret)
{
	const struct scope *lead = scope_leading(p->scope);
	const struct task *task = p->task;

	if (task && !task_began_with(task, &p->upid))
		SAY(ret, "R1", "it descends from process %u, whose exec begins the task", task->root.pid);
	else if (task && !task->engine)
		SAY(ret, "R3", "a user named the task, which is above every recognizer");
	else if (task && task->mark)
		SAY(ret, "R3", "at its exec held task[%u] of %s", task->mark - 1, task->engine->text);
	else if (task)
		SAY(ret, "R3", "at its exec held a mark of %s", task->engine->text);
	else if (p->flags & PROC_TASK_NONE)
		SAY(ret, "R3", "SKEP_TASK in its environment is empty, or a process above it has an empty SKEP_TASK");
	else if (!lead)
		SAY(ret, "R7", "no engine is around it, and no user named a task");
	else
		why_none(p, lead, ret);
}
