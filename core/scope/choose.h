/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/scope/choose.h - what an exec is to engines: does it begin some, a run, a task or a step?
 *
 * - A run begins at an engine of a higher class than the run around it, and at a workflow in a task of a workflow.
 *   Any other engine opens only a scope: a make in a rule of Snakemake is a step of the rule's task, and so is an
 *   xargs in a recipe of make, which may start thousands.
 * - One exec can begin several engines: `srun snakemake` is Slurm's job and Snakemake.  All open scopes; only the
 *   engine of the highest class begins a run.
 * - A task begins at a mark of the run's engine: the outermost scope of the highest class within the run.
 * - A scope's child is a process whose fork parent still executes the engine's program, so the helper processes that
 *   an engine's shell starts are no tasks.
 *
 * scope_choose() only reads: neither a clock, nor the process table, nor a file.  The tracker (core/process/
 * track_scope.c) does what it says.
 */
#ifndef SKEP_CORE_SCOPE_CHOOSE_H
#define SKEP_CORE_SCOPE_CHOOSE_H

#include "core/scope/scope.h"
#include "filters/expr.h"

/* The class of the run around an exec, with these beside enum recognizer_class. */
#define SCOPE_NO_RUN  (-2)
#define SCOPE_SESSION (-1)               /* of a session or of a shell's job */
#define SCOPE_NAMED   RECOGNIZER_CLASSES /* a user began it by name: nothing is higher */

/* The facts of one exec.  Texts are borrowed. */
struct scope_exec {
	struct recognizer_image self, parent;
	bool environ_read;                 /* skep searched its environment */
	struct filter_text environ_before; /* the variables that skep read the last time before */
	struct skep_upid upid;
	uint32_t uid;
	bool of_engine;   /* it executed the program of its innermost scope's engine until now, by its fork or itself */
	/* the run and the task around it */
	int rank;         /* the run's class */
	const char *run_engine, *run_key; /* "": none */
	bool root;        /* the process is a root of the run */
	bool last_root;   /* and the only one; the run has not ended */
	bool undescribed; /* a user began the run by name, and no engine has described it yet */
	bool only_run;    /* there is one run only: none begins within it */
	bool in_task;     /* in a task that an engine of this run began */
	bool named_task;  /* in a task that a user named: what engines mark are steps of it */
};

/* A mark that holds. */
struct scope_marked {
	const struct recognizer_mark *mark;
	bool step; /* of the task around; false: it begins a task */
	struct recognizer_subject subject;
	struct recognizer_facts facts;
};

enum scope_run {
	SCOPE_AROUND,    /* the process stays in the run around it */
	SCOPE_DESCRIBES, /* so it does, and the engine says what that run is */
	SCOPE_TAKES,     /* the run's only root executes the engine: the run is the engine's from now on */
	SCOPE_JOINS,     /* it joins the run of the facts' key, if there is one */
	SCOPE_BEGINS,    /* so it does, and begins a run if there is none */
};

/* An engine that begins. */
struct scope_opened {
	const struct recognizer *entry;
	const struct recognizer_mark *mark; /* of a run: it holds */
	enum scope_run run;
	struct recognizer_facts facts; /* of the run */
	struct scope_marked root;      /* the engine's process is a task as a whole; mark NULL: it is not */
};

struct scope_choice {
	/* the scope of the chain to which the exec is a task or a step; NULL: none */
	const struct scope *of;
	struct scope_marked marked;
	/* the scope of the chain about whose run the exec says more: its key, at least; NULL: none */
	struct scope *learner;
	struct recognizer_facts learned;
	/* the engines that begin, the outermost first; top: the one of the highest class */
	size_t n, top;
	struct scope_opened opened[RECOGNIZER_CLASSES];
	struct recognizer_facts outside; /* what those before top say about its task: the job that it runs in */
	struct filter_budget budget; /* of all conditions; the subjects refer to it */
};

/* Fills the image from a process's program.  Any text may be NULL. */
void scope_image(const struct program *, const struct interned *comm, const struct interned *cwd,
		 const struct interned *cgroup, uint32_t uid, struct recognizer_image *ret);
/* chain: the scopes of the process until now, from its parent or from its images before; NULL: none. */
void scope_choose(struct recognizers *, struct scope *chain, const struct scope_exec *, struct scope_choice *ret);

#endif
