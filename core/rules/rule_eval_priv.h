/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/rules/rule_eval_priv.h - between the rule evaluation's files: rule_eval.c (sets, verdicts, counts),
 * rule_eval_kernel.c (what the kernel decides by).
 */
#ifndef SKEP_CORE_RULE_EVAL_PRIV_H
#define SKEP_CORE_RULE_EVAL_PRIV_H

#include "core/rules/rule_eval.h"
#include "core/rules/rule_fields.h"
#include "core/identify/users.h"
#include "filters/pushdown.h"

/* What is counted for a rule. */
struct rule_eval_tally {
	uint64_t hits_user, hits_kernel, last_ns;
	uint64_t gone, gone_ns;
	uint64_t timed, timed_ns;         /* times that it was tried and the time was taken */
	uint64_t seen_gone, seen_gone_ns; /* of its byte's sums in the kernel, added already */
	uint8_t byte;                     /* of what it excludes */
	bool shared;                      /* with other rules */
	bool exact;                       /* all its clauses are */
};

struct rule_eval {
	struct rule_eval_env env;
	struct users *users;
	struct ruleset *set;
	struct rule_eval_tally *tallies; /* by rule's number; the last: the default */
	rule_subject_fn subject;
	void *subject_arg;
	uint32_t generation;
	uint8_t otherwise;           /* byte of the default */
	struct rule_eval_self self;
	/* rule_eval_kernel.c */
	int rules_fd, programs_fd, values_fd; /* -1 */
	struct skep_rules *shared;   /* the mapped value; NULL: the kernel decides nothing */
	char *why;                   /* then */
	struct pushdown *plan;
	uint64_t seen_hits[SKEP_RULES_CLAUSES + 1]; /* of the set in use, added to tallies already */
};

/* rule_eval_kernel.c */
void rule_eval_kernel_open(struct rule_eval *);
void rule_eval_kernel_close(struct rule_eval *);
extern const uint8_t rule_eval_dimensions[RULE_FIELDS];
/* Begins to decide by judge->plan and the tallies' bytes; plan NULL: decides nothing. */
void rule_eval_kernel_use(struct rule_eval *);
void rule_eval_kernel_answer(struct rule_eval *, const struct rule_case *, const struct rule_subject *);
/* Adds what it has decided since the last time. */
void rule_eval_kernel_count(struct rule_eval *, uint64_t now_ns);

static inline uint8_t rule_eval_first_byte(uint32_t generation)
{
	return (uint8_t)(SKEP_VERDICT_EXCLUDED + (generation & 1) * SKEP_RULES_SLOTS);
}

#endif
