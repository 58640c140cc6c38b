/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/scope/scope.h - scopes: the engines whose work a process is part of, from the outside in.
 *
 * A process that a recognizer takes for an engine (snakemake, make, a Slurm job) opens a scope.  Its descendants keep
 * the scope for life, even when another process adopts them.  The outermost scope of the highest class names the run.
 * Its marks begin tasks, and marks of inner scopes begin steps (choose.h).
 */
#ifndef SKEP_CORE_SCOPE_SCOPE_H
#define SKEP_CORE_SCOPE_SCOPE_H

#include "core/base/intern.h"
#include "core/base/saved_as.h"
#include "core/identify/program.h"
#include "core/identify/recognizer.h"

struct run; /* core/process/run.h */

struct scope {
	struct scope *prev, *next;       /* all scopes */
	struct scope *outer;             /* a reference; NULL: the outermost */
	uint32_t refs;
	struct saved_as saved;
	const struct interned *engine;
	const struct interned *names;    /* of its engine and those further out, "cron > make"; NULL: no memory */
	enum recognizer_class class;
	bool nests;                      /* see recognizer_nests() */
	bool whole;                      /* its root is a task: what its marks find below are steps */
	bool keyed;                      /* its run has a key: no exec below has to say one */
	const struct recognizer *entry;  /* in the table in use; NULL: a reload has removed the engine */
	uint32_t mark;                   /* recognizer_mark_number() of the mark that held at the root's exec */
	struct run *run;                 /* the run that it opened, a reference; NULL: none */
	struct skep_upid root;           /* the engine's process */
	uint32_t uid, payer;             /* of the root */
	const struct interned *cwd;      /* of the root */
	struct program *program;         /* of the root */
};

struct scopes {
	struct scope *first, *last; /* the youngest, the oldest */
	size_t n;
	void (*run_unref)(struct run *);
};

/* A new scope with one reference; takes a reference of outer.  NULL: no memory. */
struct scope *scope_new(struct scopes *, struct scope *outer);
struct scope *scope_ref(struct scope *); /* NULL is fine; returns its argument */
/* Frees the scope with its last reference, and then those further out that nothing else refers to.  NULL is fine. */
void scope_unref(struct scopes *, struct intern *, struct scope *);
void scope_set_names(struct scope *, struct intern *); /* from its engine and its outer scope */
/* The scope whose marks begin tasks of the run: the outermost of the highest class that belongs to the run. */
const struct scope *scope_leading(const struct scope *chain);
bool scope_leads(const struct scope *, const struct skep_upid *); /* this process opened it; NULL: false */

#endif
