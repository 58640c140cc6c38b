/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/recognizer.h - recognizers: which exec begins a run of a workflow engine, a scheduler or a launcher,
 * which exec begins a task of this run, and their names.  The table is data: etc/workflows.d (built in) and a site's
 * files; docs/reference/recognizers.md describes them.  Only recognizers_new() does I/O.
 */
#ifndef SKEP_CORE_RECOGNIZER_H
#define SKEP_CORE_RECOGNIZER_H

#include <skep/record.h>

#include "core/base/diag.h"
#include "core/identify/engine_file.h"
#include "core/identify/tool.h"
#include "filters/expr.h"

/* Which scope names the run: the outermost of the highest class.  A later one is higher. */
enum recognizer_class {
	RECOGNIZER_ORIGIN,    /* cron, at, a systemd unit */
	RECOGNIZER_LAUNCHER,  /* make, GNU parallel, xargs */
	RECOGNIZER_SCHEDULER, /* Slurm, PBS, LSF */
	RECOGNIZER_WORKFLOW,  /* Snakemake, Nextflow, cwltool */
	RECOGNIZER_CLASSES,
};

/* What a mark can say about its run or task. */
enum recognizer_fact {
	/* texts */
	FACT_NAME,
	FACT_SAMPLE,   /* the task's wildcard values, input or index */
	FACT_PIPELINE, /* of a run: the pipeline's name, the same in each run */
	FACT_JOB,      /* id of the scheduler's job */
	FACT_ACCOUNT,  /* of a run: the account that the scheduler charges for it */
	/* identity: a task's mark with the key of the task around it begins none; a run's joins the run of that key */
	FACT_KEY,
	FACT_AGAIN,    /* tasks of one run with the same text are attempts of one task; see by_failures */
	/* numbers */
	FACT_ATTEMPT,  /* from 1 */
	FACT_CPUS,     /* requested; thousandths of a CPU */
	FACT_MEMORY,   /* requested; bytes */
	FACT_WALLTIME, /* requested; ns */
	FACT_GPUS,     /* requested */
	FACTS,
};
#define FACT_TEXTS FACT_ATTEMPT /* number of texts */
#define FACT_TEXT_MOST 256u /* bytes; the rest of a longer text is cut off */

struct recognizer_facts {
	uint32_t known; /* bit 1u << fact */
	bool by_failures; /* other tasks may have the text of FACT_AGAIN: only after a failed one is it an attempt */
	uint32_t len[FACT_TEXTS];
	char text[FACT_TEXTS][FACT_TEXT_MOST]; /* not terminated */
	uint64_t number[FACTS - FACT_TEXTS];   /* index: fact - FACT_TEXTS */
	const char *source[FACTS]; /* where it came from: "argv", "environ", "cwd" ...; static */
};

/* The program that a process executes, borrowed.  ptr NULL: not known. */
struct recognizer_image {
	struct filter_text tool, exe, comm, filename, cwd, cgroup;
	struct filter_text argv;    /* "a\0b\0" */
	struct filter_text environ; /* "NAME=value\0...": the variables that skep read at this exec */
	bool wrapper;               /* the image only starts the tool that it is named after */
	uint32_t uid;
};

/* An exec, as recognizers see it. */
struct recognizer_subject {
	struct recognizer_image self, parent, run; /* run: the engine's own process, for marks of tasks */
	/* whether skep searched the environment, and the variables that it read the last time before */
	bool environ_read;
	struct filter_text environ_before;
	bool child; /* the parent runs the engine's own program: this exec is a direct child of the engine */
	bool root;  /* for marks of tasks: this exec begins the engine's run */
	/*
	 * CPU time of all conditions and patterns that are evaluated for this exec; the caller zeroes it.  When it is
	 * spent, no further condition holds and no pattern matches: the process stays where its parent is.
	 */
	struct filter_budget *budget;
};

struct recognizer;      /* an entry of the table */
struct recognizer_mark; /* a condition of an entry, and the facts where it holds */
struct recognizers;

/* Reads the built-in table, then each of `more` (files, or folders of *.json in byte order).  NULL after errors. */
struct recognizers *recognizers_new(const char *const *more, struct diag *);
struct recognizers *recognizers_ref(struct recognizers *);
struct recognizers *recognizers_unref(struct recognizers *); /* frees it with the last reference; NULL is fine */

size_t recognizers_count(const struct recognizers *);
const struct recognizer *recognizers_at(const struct recognizers *, size_t);
/* The last entry of that engine, borrowed; NULL: none. */
const struct recognizer *recognizers_find(const struct recognizers *, const char *engine);

const char *recognizer_engine(const struct recognizer *);
enum recognizer_class recognizer_class(const struct recognizer *);
const char *recognizer_class_name(enum recognizer_class);
/* Marks of a scope inside a scope of the same engine begin tasks too (make), instead of steps of a task. */
bool recognizer_nests(const struct recognizer *);
bool recognizer_begins_tasks(const struct recognizer *); /* it has marks of tasks */
/* The mark's number in its entry's list, from 1: 2 is run[1] of a run's mark, task[1] of a task's. */
uint32_t recognizer_mark_number(const struct recognizer_mark *);
const char *recognizer_file(const struct recognizer *, unsigned *ret_line); /* where the entry stands */
size_t recognizer_tests(const struct recognizer *); /* how many tests it has */
/* The path, with {field}s in it, of the n-th file that the entry's marks read; NULL: there are no more. */
enum recognizer_reads {
	RECOGNIZER_READS_FILE,
	RECOGNIZER_READS_FOLDER, /* its files */
	RECOGNIZER_READS_LOG,    /* the logs in it, and a script beside it: core/identify/engine_log.h */
	RECOGNIZER_READS_ERROR,  /* no path: the engine's standard error */
};
const char *recognizer_reads(const struct recognizer *, size_t n, enum recognizer_reads *ret);

/*
 * The environment variables that the table reads, and the programs in whose children it reads them: lists that end in
 * NULL, borrowed.
 */
const char *const *recognizers_environ(const struct recognizers *);
const char *const *recognizers_parents(const struct recognizers *);

/* A mark that holds, and its entry.  Borrowed. */
struct recognizer_found {
	const struct recognizer *entry;
	const struct recognizer_mark *mark;
};

/*
 * The marks of runs that hold at this exec: of each class the mark with the highest priority, then of the latest entry.
 * The outermost comes first: `srun snakemake` is Slurm's job and, in it, Snakemake.  Needs self, parent, environ_*.
 * Returns their number.
 */
size_t recognizers_run(struct recognizers *, const struct recognizer_subject *,
		       struct recognizer_found ret[RECOGNIZER_CLASSES]);
/* The first mark of a task of this engine that holds at this exec; NULL: none, or a helper of the engine. */
const struct recognizer_mark *recognizer_task(const struct recognizer *, const struct recognizer_subject *);
/* The first mark that holds at this exec below the engine and says more about the engine's run; NULL: none. */
const struct recognizer_mark *recognizer_learn(const struct recognizer *, const struct recognizer_subject *);
/* What the mark says about the exec. */
void recognizer_facts(const struct recognizer_mark *, const struct recognizer_subject *, struct recognizer_facts *ret);
/*
 * The file that says more about the task: its paths (in room), what to find in it, and the values.  Uids and times are
 * the caller's.  false: the mark reads none, or what names the file is not known.
 */
#define RECOGNIZER_PATH_SIZE 4096u
struct recognizer_paths {
	char path[RECOGNIZER_PATH_SIZE], log[RECOGNIZER_PATH_SIZE];
};
bool recognizer_mark_file(const struct recognizer_mark *, const struct recognizer_subject *,
			  struct recognizer_paths *room, struct engine_file *ret);
/* What that file says: the answer of engine_file_read() to the wanted text of this number. */
void recognizer_file_facts(const struct recognizer_mark *, const struct skep_str *answer, uint32_t wanted,
			   struct recognizer_facts *ret);
/* Facts of `from` take the place of those in `to`: a file that names the task is surer than its command. */
void recognizer_facts_replace(struct recognizer_facts *to, const struct recognizer_facts *from);
struct skep_str recognizer_fact_text(const struct recognizer_facts *, enum recognizer_fact); /* empty: not known */
uint64_t recognizer_fact_number(const struct recognizer_facts *, enum recognizer_fact);      /* 0: not known */

/*
 * Runs the tests of all entries; site_only: not those of built-in entries.  Adds an error for each test that fails;
 * returns the number of tests.
 */
size_t recognizers_test(struct recognizers *, const struct tools *, bool site_only, struct diag *);

#endif
