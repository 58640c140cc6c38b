/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/rules/rule_eval.h - decides which processes skepd collects: evaluates the rules in user space, and
 * pushes them down into the kernel (skep/rules.h) as far as the kernel can decide.
 *
 * The evaluation writes the verdict on a process to the process's byte in the verdict map, which every probe's
 * BPF code reads before anything else. Only the loop thread calls these functions.
 */
#ifndef SKEP_CORE_RULE_EVAL_H
#define SKEP_CORE_RULE_EVAL_H

#include <skep/rules.h>
#include <uv.h>

#include "core/identify/cgroup.h"
#include "core/rules/rule_fields.h"
#include "core/identify/program.h"
#include "core/identify/tool.h"
#include "core/plugin/verdict.h"
#include "filters/ruleset.h"

struct rule_eval;
struct rule_case;
/* Describes the process of a case, with its ancestors, for the rules. The result is valid until the next call. */
typedef const struct rule_subject *(*rule_subject_fn)(void *arg, const struct rule_case *);

struct rule_eval_env { /* all borrowed */
	struct verdict *verdict;
	const struct pins *pins;
	const struct tools *tools;
	struct cgroups *cgroups;
	uv_loop_t *loop;             /* for look-ups of names on a worker thread; NULL: look-ups block */
	/* Called when look-ups of users or groups have returned new names: rules may now decide otherwise. */
	void (*names)(void *arg);
	void *arg;
	bool kernel;                 /* push rules down; false: user space decides everything */
};

/*
 * 0 or -ENOMEM. Without the privilege for the maps the kernel decides nothing; rule_eval_kernel() returns the
 * cause.
 */
int rule_eval_new(const struct rule_eval_env *, struct rule_eval **ret);
struct rule_eval *rule_eval_free(struct rule_eval *);
/* Ends all look-ups of names. Call before the loop ends; NULL is fine. */
void rule_eval_stop(struct rule_eval *);
/* Age of the oldest look-up of a user's or group's name that has not returned; 0: none is in progress. */
uint64_t rule_eval_names_late_ns(struct rule_eval *);
/* Sets the tool table. The caller must call rule_eval_use() next. */
void rule_eval_tools(struct rule_eval *, const struct tools *);
/* Sets the function that describes processes to rules. Call before the first process. */
void rule_eval_subjects(struct rule_eval *, rule_subject_fn, void *arg);
struct users *rule_eval_users(const struct rule_eval *); /* borrowed; for subjects */

/* File descriptors of the maps for the plugin host table; -1: no map. */
struct rule_eval_fds {
	int rules, programs, values;
};
struct rule_eval_fds rule_eval_fds(const struct rule_eval *);
/* Why the kernel decides no process; NULL: it decides every process that it can. Borrowed. */
const char *rule_eval_kernel(const struct rule_eval *);

/*
 * Switches to this set and holds a reference on it. NULL: no rules, skepd collects every process. A process
 * that the previous set excluded is collected until skepd evaluates it again, so a sweep must follow. On
 * -ENOMEM the previous set stays.
 */
int rule_eval_use(struct rule_eval *, struct ruleset *);
/*
 * Clears the previous set's verdicts again, a moment after rule_eval_use: a fork during rule_eval_use may have
 * copied one.
 */
void rule_eval_forget_old(struct rule_eval *);
struct ruleset *rule_eval_rules(const struct rule_eval *); /* borrowed; NULL: none */
uint32_t rule_eval_generation(const struct rule_eval *);

struct proc;

/* A process that has executed a program, or that skepd found running. */
struct rule_case {
	const struct proc *proc;     /* its entry in the process table; source of all that the other members lack */
	uint32_t pid;
	uint64_t start_ns;
	const struct program *program;
	struct skep_str comm, cwd;
	uint64_t cgroup_id;
	uint32_t uid, gid, session;
	uint32_t mount_ns, pid_ns;   /* 0: unknown */
	uint32_t unknown;            /* dimensions whose answer the kernel lacks (bits) */
	bool decided;                /* the kernel has already decided to collect it */
	struct skep_str task;        /* the task that its environment names; ptr NULL: the task that it belongs to */
	uint64_t now_ns;
};

struct rule_eval_verdict {
	bool include;
	bool settled;            /* descendants get the same verdict */
	uint8_t byte;            /* for the verdict map, without a group's bits */
	const struct rule *rule; /* borrowed; NULL: the default */
};

/*
 * Evaluates the rules, counts the verdict, and answers the kernel's questions. Writes no byte to the verdict
 * map. Without rules every process is included.
 */
void rule_eval_process(struct rule_eval *, const struct rule_case *, struct rule_eval_verdict *ret);
/* Writes the byte of an excluded process. */
void rule_eval_write(struct rule_eval *, uint32_t pid, uint8_t byte);
/*
 * Marks the process as collected with all its descendants. A verdict of the kernel that excludes it in the
 * meantime stays.
 */
void rule_eval_keep(struct rule_eval *, uint32_t pid);
/* Clears the byte that rule_eval_write wrote, unless the kernel has changed the byte since. */
void rule_eval_unwrite(struct rule_eval *, uint32_t pid, uint8_t byte);
/* true: the process's byte excludes it now. */
bool rule_eval_excludes(const struct rule_eval *, uint32_t pid);

#define RULE_EVAL_TIMED 16u
/* Reports the counters of each rule in order, then of the default, with rule NULL. */
struct rule_eval_count {
	const struct rule *rule;
	/* Verdicts since a set first had the rule (earlier sets included). */
	uint64_t hits_user, hits_kernel;
	/* time of the last verdict in user space, or of the last read of the kernel's counts; 0: none */
	uint64_t last_ns;
	/*
	 * Excluded processes that have ended, and their CPU time. Exact for the first 62 rules that exclude; the
	 * remaining rules of a set share one sum, and `shared` is set.
	 */
	uint64_t gone,
		gone_ns;
	/* Evaluations that user space timed: one verdict in RULE_EVAL_TIMED. Not for the default. */
	uint64_t timed, timed_ns;
	bool shared;
	bool in_kernel;          /* the kernel can decide the rule completely */
};
void rule_eval_counts(struct rule_eval *, void (*cb)(void *arg, const struct rule_eval_count *), void *arg);

struct rule_eval_self {
	uint32_t generation;
	uint64_t evaluated_user, evaluated_kernel; /* verdicts */
	uint64_t asked;                      /* questions of the kernel to user space */
	uint64_t lineages_lost;
	uint64_t answers;                    /* answers to the kernel */
	uint64_t answers_failed;
	uint64_t busy_ns;                    /* time spent on evaluations in user space */
	uint64_t spent;                      /* included because the rules took too long (FILTER_BUDGET_NS) */
};
void rule_eval_self(const struct rule_eval *, struct rule_eval_self *ret);

#endif
