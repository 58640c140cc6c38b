/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/rules/rule_eval.h - which processes are collected: the rules in use, evaluated in user space, and
 * pushed down into the kernel (skep/rules.h) as far as it can decide.
 *
 * The verdict on a process is written to its byte in the verdict map, which every probe's BPF
 * code reads before anything else.  All of it is for the loop thread.
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
/* The process of a case as rules see it, with its ancestors; valid until the next call. */
typedef const struct rule_subject *(*rule_subject_fn)(void *arg, const struct rule_case *);

struct rule_eval_env { /* all borrowed */
	struct verdict *verdict;
	const struct pins *pins;
	const struct tools *tools;
	struct cgroups *cgroups;
	uv_loop_t *loop;             /* names are looked up beside it; NULL: look-ups block */
	/* names of users or groups are known now that were not: rules may decide otherwise */
	void (*names)(void *arg);
	void *arg;
	bool kernel;                 /* push down; false: user space decides everything */
};

/* 0 or -ENOMEM. Without the privilege for its maps the kernel decides nothing; rule_eval_kernel() says why. */
int rule_eval_new(const struct rule_eval_env *, struct rule_eval **ret);
struct rule_eval *rule_eval_free(struct rule_eval *);
/* Before the loop ends: nothing is looked up any more. NULL is fine. */
void rule_eval_stop(struct rule_eval *);
/* For how long a look-up of a user's or a group's name has not returned; 0: none is under way. */
uint64_t rule_eval_names_late_ns(struct rule_eval *);
/* others from now on; with the next set, which must follow */
void rule_eval_tools(struct rule_eval *, const struct tools *);
/* before the first process; fn describes processes to rules */
void rule_eval_subjects(struct rule_eval *, rule_subject_fn, void *arg);
struct users *rule_eval_users(const struct rule_eval *); /* borrowed; for subjects */

/* What the plugins' host table gets: -1 where there is none. */
struct rule_eval_fds {
	int rules, programs, values;
};
struct rule_eval_fds rule_eval_fds(const struct rule_eval *);
/* NULL: the kernel decides what it can; else why it does not. Borrowed. */
const char *rule_eval_kernel(const struct rule_eval *);

/*
 * These rules from now on; the set is referenced.  NULL: none, everything is collected.  Whoever a rule
 * of the set before has excluded is collected again, until it is evaluated anew: a sweep must follow.
 * All or nothing: -ENOMEM changes nothing.
 */
int rule_eval_use(struct rule_eval *, struct ruleset *);
/* Once more, when a moment has passed: what forked while rule_eval_use was at work. */
void rule_eval_forget_old(struct rule_eval *);
struct ruleset *rule_eval_rules(const struct rule_eval *); /* borrowed; NULL: none */
uint32_t rule_eval_generation(const struct rule_eval *);

struct proc;

/* A process that has begun a program, or was found running one. */
struct rule_case {
	const struct proc *proc;     /* of the process table; what the other members do not say is from here */
	uint32_t pid;
	uint64_t start_ns;
	const struct program *program;
	struct skep_str comm, cwd;
	uint64_t cgroup_id;
	uint32_t uid, gid, session;
	uint32_t mount_ns, pid_ns;   /* 0: not known */
	uint32_t unknown;            /* the kernel's question: dimensions without an answer */
	bool decided;                /* the kernel has decided already that it is collected */
	struct skep_str task;        /* that its environment names; ptr NULL: the one that it is in */
	uint64_t now_ns;
};

struct rule_eval_verdict {
	bool include;
	bool settled;            /* descendants get it too */
	uint8_t byte;            /* for the verdict map, without a group */
	const struct rule *rule; /* borrowed; NULL: the default */
};

/* Counts it, answers the kernel; writes no byte. Without rules everything is included. */
void rule_eval_process(struct rule_eval *, const struct rule_case *, struct rule_eval_verdict *ret);
/* The byte of a process that is excluded. */
void rule_eval_write(struct rule_eval *, uint32_t pid, uint8_t byte);
/* It is collected, and so are its descendants; where the kernel has excluded it meanwhile, that stays. */
void rule_eval_keep(struct rule_eval *, uint32_t pid);
/* Takes rule_eval_write(byte) back, unless the kernel has evaluated it since. */
void rule_eval_unwrite(struct rule_eval *, uint32_t pid, uint8_t byte);
/* What its byte says now. */
bool rule_eval_excludes(const struct rule_eval *, uint32_t pid);

#define RULE_EVAL_TIMED 16u
/* What has been decided by each rule, in order; then by the default, with rule NULL. */
struct rule_eval_count {
	const struct rule *rule;
	/* verdicts, since that rule is there (it may have been in sets before this one) */
	uint64_t hits_user, hits_kernel;
	uint64_t last_ns;        /* of the last one in user space, or seen of the kernel's; 0: none */
	uint64_t gone,
		gone_ns; /* processes that it excluded and that have ended, with their CPU time; exact for the first
				    62 rules that exclude, together for all others of a set: then shared is set */
	/* tries by user space whose time was taken, one verdict in RULE_EVAL_TIMED; not of the default */
	uint64_t timed, timed_ns;
	bool shared;
	bool in_kernel;          /* the kernel can decide all of it */
};
void rule_eval_counts(struct rule_eval *, void (*cb)(void *arg, const struct rule_eval_count *), void *arg);

struct rule_eval_self {
	uint32_t generation;
	uint64_t evaluated_user, evaluated_kernel; /* verdicts */
	uint64_t asked;                      /* by the kernel, of user space */
	uint64_t lineages_lost;
	uint64_t answers;                    /* given to the kernel */
	uint64_t answers_failed;
	uint64_t busy_ns;                    /* judging in user space */
	uint64_t spent;                      /* included, as the rules took too long (FILTER_BUDGET_NS) */
};
void rule_eval_self(const struct rule_eval *, struct rule_eval_self *ret);

#endif
