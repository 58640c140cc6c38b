/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/judge.h - which processes are collected: the rules in use, judged in user space, and
 * pushed down into the kernel (skep/rules.h) as far as it can decide.
 *
 * The verdict on a process is written to its byte in the verdict map, which every probe's BPF
 * code reads before anything else.  All of it is for the loop thread.
 */
#ifndef SKEP_CORE_JUDGE_H
#define SKEP_CORE_JUDGE_H

#include <skep/rules.h>
#include <uv.h>

#include "core/cgroup.h"
#include "core/proctab.h"
#include "core/tool.h"
#include "core/verdict.h"
#include "filters/ruleset.h"

struct judge;

struct judge_env { /* all borrowed */
	struct verdict *verdict;
	const struct pins *pins;
	const struct tools *tools;
	struct cgroups *cgroups;
	uv_loop_t *loop;             /* names are looked up beside it; NULL: look-ups block */
	void (*names)(void *arg);    /* names of users or groups are known now that were not: rules may decide otherwise */
	void *arg;
	bool kernel;                 /* push down; false: user space decides everything */
	const struct proctab *table; /* set later, by judge_table */
};

/* 0 or -ENOMEM. Without the privilege for its maps the kernel decides nothing; judge_kernel() says why. */
int judge_new(const struct judge_env *, struct judge **ret);
struct judge *judge_free(struct judge *);
/* Before the loop ends: nothing is looked up any more. NULL is fine. */
void judge_stop(struct judge *);
/* For how long a look-up of a user's or a group's name has not returned; 0: none is under way. */
uint64_t judge_names_late_ns(struct judge *);
void judge_tools(struct judge *, const struct tools *); /* others from now on; with the next set, which must follow */
void judge_table(struct judge *, const struct proctab *); /* where parents are */

/* What the plugins' host table gets: -1 where there is none. */
struct judge_fds {
	int rules, programs, values;
};
struct judge_fds judge_fds(const struct judge *);
/* NULL: the kernel decides what it can; else why it does not. Borrowed. */
const char *judge_kernel(const struct judge *);

/*
 * These rules from now on; the set is referenced.  NULL: none, everything is collected.  Whoever a rule
 * of the set before has excluded is collected again, until it is judged anew: a sweep must follow.
 * All or nothing: -ENOMEM changes nothing.
 */
int judge_use(struct judge *, struct ruleset *);
/* Once more, when a moment has passed: what forked while judge_use was at work. */
void judge_forget_old(struct judge *);
struct ruleset *judge_rules(const struct judge *); /* borrowed; NULL: none */
uint32_t judge_generation(const struct judge *);

/* A process that has begun a program, or was found running one. */
struct judge_case {
	const struct proc *proc;     /* what the others do not say is from here */
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

struct judge_verdict {
	bool include;
	bool settled;            /* descendants get it too */
	uint8_t byte;            /* for the verdict map, without a group */
	const struct rule *rule; /* borrowed; NULL: the default */
};

/* Counts it, answers the kernel; writes no byte. Without rules everything is included. */
void judge_process(struct judge *, const struct judge_case *, struct judge_verdict *ret);
/* The byte of a process that is excluded. */
void judge_write(struct judge *, uint32_t pid, uint8_t byte);
/* It is collected, and so are its descendants; where the kernel has excluded it meanwhile, that stays. */
void judge_keep(struct judge *, uint32_t pid);
/* Takes judge_write(byte) back, unless the kernel has judged it since. */
void judge_unwrite(struct judge *, uint32_t pid, uint8_t byte);
/* What its byte says now. */
bool judge_excludes(const struct judge *, uint32_t pid);

#define JUDGE_TIMED 16u
/* What has been decided by each rule, in order; then by the default, with rule NULL. */
struct judge_count {
	const struct rule *rule;
	uint64_t hits_user, hits_kernel; /* verdicts, since that rule is there (it may have been in sets before this one) */
	uint64_t last_ns;        /* of the last one in user space, or seen of the kernel's; 0: none */
	uint64_t gone, gone_ns;  /* processes that it excluded and that have ended, with their CPU time; exact for the first
				    62 rules that exclude, together for all others of a set: then shared is set */
	uint64_t timed, timed_ns; /* tries by user space whose time was taken, one verdict in JUDGE_TIMED; not of the default */
	bool shared;
	bool in_kernel;          /* the kernel can decide all of it */
};
void judge_counts(struct judge *, void (*cb)(void *arg, const struct judge_count *), void *arg);

struct judge_self {
	uint32_t generation;
	uint64_t judged_user, judged_kernel; /* verdicts */
	uint64_t asked;                      /* by the kernel, of user space */
	uint64_t lineages_lost;
	uint64_t answers;                    /* given to the kernel */
	uint64_t answers_failed;
	uint64_t busy_ns;                    /* judging in user space */
	uint64_t spent;                      /* included, as the rules took too long (FILTER_BUDGET_NS) */
};
void judge_self(const struct judge *, struct judge_self *ret);

#endif
