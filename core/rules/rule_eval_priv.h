/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/rules/rule_eval_priv.h - shared by the rule evaluation's files: rule_eval.c (sets, verdicts, counters)
 * and rule_eval_kernel.c (the kernel's maps).
 */
#ifndef SKEP_CORE_RULE_EVAL_PRIV_H
#define SKEP_CORE_RULE_EVAL_PRIV_H

#include "core/rules/rule_eval.h"
#include "core/rules/rule_fields.h"
#include "core/identify/users.h"
#include "filters/pushdown.h"

/* The counters of a rule. */
struct rule_eval_tally {
	uint64_t hits_user, hits_kernel, last_ns;
	uint64_t gone, gone_ns;
	uint64_t timed, timed_ns;         /* timed evaluations, and their time */
	uint64_t seen_gone, seen_gone_ns; /* the kernel's sums of the rule's byte that `gone` already includes */
	uint8_t byte;                     /* of the processes that the rule excludes */
	bool shared;                      /* other rules use the byte too */
	bool exact;                       /* all its clauses are exact */
};

struct rule_eval {
	struct rule_eval_env env;
	struct users *users;
	struct ruleset *set;
	struct rule_eval_tally *tallies; /* by the rule's index; the last entry is the default's */
	rule_subject_fn subject;
	void *subject_arg;
	uint32_t generation;
	uint8_t otherwise;           /* the default's byte */
	struct rule_eval_self self;
	/* rule_eval_kernel.c */
	int rules_fd, programs_fd, values_fd; /* -1: not open */
	struct skep_rules *shared;   /* the mapped value; NULL: the kernel decides nothing */
	char *why;                   /* why the kernel decides nothing */
	struct pushdown *plan;
	uint64_t seen_hits[SKEP_RULES_CLAUSES + 1]; /* of the set in use, already added to the tallies */
};

/* rule_eval_kernel.c */
void rule_eval_kernel_open(struct rule_eval *);
void rule_eval_kernel_close(struct rule_eval *);
extern const uint8_t rule_eval_dimensions[RULE_FIELDS];
/* Makes the kernel decide by the plan and the tallies' bytes. plan NULL: the kernel decides nothing. */
void rule_eval_kernel_use(struct rule_eval *);
void rule_eval_kernel_answer(struct rule_eval *, const struct rule_case *, const struct rule_subject *);
/* Adds the kernel's verdicts since the last call to the tallies. */
void rule_eval_kernel_count(struct rule_eval *, uint64_t now_ns);

static inline uint8_t rule_eval_first_byte(uint32_t generation)
{
	return (uint8_t)(SKEP_VERDICT_EXCLUDED + (generation & 1) * SKEP_RULES_SLOTS);
}

#endif
