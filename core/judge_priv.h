/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/judge_priv.h - between the judge's files: judge.c (sets, verdicts, counts),
 * judge_case.c (a process as rules see it), judge_kernel.c (what the kernel decides by).
 */
#ifndef SKEP_CORE_JUDGE_PRIV_H
#define SKEP_CORE_JUDGE_PRIV_H

#include "core/judge.h"
#include "core/judge_fields.h"
#include "core/users.h"
#include "filters/pushdown.h"

/* What is counted for a rule. */
struct judge_tally {
	uint64_t hits_user, hits_kernel, last_ns;
	uint64_t gone, gone_ns;
	uint64_t timed, timed_ns;         /* times that it was tried and the time was taken */
	uint64_t seen_gone, seen_gone_ns; /* of its byte's sums in the kernel, added already */
	uint8_t byte;                     /* of what it excludes */
	bool shared;                      /* with other rules */
	bool exact;                       /* all its clauses are */
};

/* A process and its ancestors, as far as rules have asked. */
struct judge_chain {
	struct judge *judge;
	struct judge_subject subjects[FILTER_ANCESTORS + 1];
	const struct proc *procs[FILTER_ANCESTORS + 1];
	unsigned n;
	uint64_t now_ns;
	/* Copies, as the cache of cgroups lends its texts only until the next question. */
	char task[TASK_NAME_MOST];
	char cgroup[FILTER_ANCESTORS + 1][1024], container[FILTER_ANCESTORS + 1][72];
};

struct judge {
	struct judge_env env;
	struct users *users;
	struct ruleset *set;
	struct judge_tally *tallies; /* by rule's number; the last: the default */
	struct judge_chain chain;
	uint32_t generation;
	uint8_t otherwise;           /* byte of the default */
	struct judge_self self;
	/* judge_kernel.c */
	int rules_fd, programs_fd, values_fd; /* -1 */
	struct skep_rules *shared;   /* the mapped value; NULL: the kernel decides nothing */
	char *why;                   /* then */
	struct pushdown *plan;
	uint64_t seen_hits[SKEP_RULES_CLAUSES + 1]; /* of the set in use, added to tallies already */
};

/* judge_case.c */
/* The subject that judge_get answers for; valid until the next call. */
const struct judge_subject *judge_case_subject(struct judge *, const struct judge_case *);

/* judge_kernel.c */
void judge_kernel_open(struct judge *);
void judge_kernel_close(struct judge *);
extern const uint8_t judge_dimensions[JUDGE_FIELDS];
/* Begins to decide by judge->plan and the tallies' bytes; plan NULL: decides nothing. */
void judge_kernel_use(struct judge *);
void judge_kernel_answer(struct judge *, const struct judge_case *, const struct judge_subject *);
/* Adds what it has decided since the last time. */
void judge_kernel_count(struct judge *, uint64_t now_ns);

static inline uint8_t judge_first_byte(uint32_t generation)
{
	return (uint8_t)(SKEP_VERDICT_EXCLUDED + (generation & 1) * SKEP_RULES_SLOTS);
}

#endif
