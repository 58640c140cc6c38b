/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/ruleset.h - an ordered set of rules: the first rule that holds decides. For core/rules and the cli.
 *
 * The caller builds a set rule by rule; the set never changes afterwards. Every user of a set holds a
 * reference, so a reload swaps whole sets and no evaluation mixes two of them. Evaluation allocates no memory.
 * Several threads may read a set, but only one thread may change its reference count.
 */
#ifndef SKEP_FILTERS_RULESET_H
#define SKEP_FILTERS_RULESET_H

#include "filters/expr.h"

enum rule_verdict {
	RULE_INCLUDE,
	RULE_EXCLUDE,
	RULE_SAMPLE, /* includes one process in `sample`, by a hash of its identity */
};

struct rule_label {
	const char *name, *value;
};

/* The input for a rule; ruleset_add copies all of it. */
struct rule_spec {
	/* unique in the set: lower- and upper-case letters, digits, '.', '_', '-', '/'; 1 to 64 of them */
	const char *id;
	const char *when; /* filters/expr.h; NULL: always */
	size_t when_len;
	enum rule_verdict verdict;
	uint32_t sample;  /* RULE_SAMPLE: includes 1 in this many, 1 to 1,000,000 */
	bool inherit;     /* descendants get the same verdict without an evaluation */
	/* skepd adds these labels to the records of processes that the rule includes */
	const struct rule_label *labels;
	size_t n_labels;
	const char *why;  /* a reason for readers; NULL: none */
	const char *file; /* the rule's file, for messages and reports; NULL: none */
	uint32_t line;
};

struct rule {
	char *id, *text, *why, *file; /* text: `when` as written, "" for always; why, file: NULL for none */
	uint32_t line;
	uint32_t number;              /* its index in the set, from 0 */
	struct filter_expr *when;     /* NULL: always */
	enum rule_verdict verdict;
	uint32_t sample;
	bool inherit;
	struct rule_label *labels;
	size_t n_labels;
	char *label_text;             /* all labels, "name=value\0name=value\0"; NULL: none */
	uint32_t label_len;
};

struct ruleset;

/* Creates an empty set. otherwise: the verdict when no rule holds, never RULE_SAMPLE. NULL: no memory. */
struct ruleset *ruleset_new(const struct filter_schema *, enum rule_verdict otherwise);
/*
 * Appends a rule. 0; -EINVAL: *ret_error holds the cause, with a position within `when` (line 0: the error is
 * in another part of the rule); -EEXIST: another rule has the id; -ENOMEM. Call only before the first
 * ruleset_ref or ruleset_evaluate.
 */
int ruleset_add(struct ruleset *, const struct rule_spec *, struct filter_error *ret_error);
struct ruleset *ruleset_ref(struct ruleset *);
struct ruleset *ruleset_unref(struct ruleset *); /* frees it with the last reference; NULL is fine; returns NULL */

size_t ruleset_count(const struct ruleset *);
const struct rule *ruleset_rule(const struct ruleset *, size_t number);
const struct rule *ruleset_find(const struct ruleset *, const char *id); /* NULL: no rule has the id */
const struct filter_schema *ruleset_schema(const struct ruleset *);
enum rule_verdict ruleset_otherwise(const struct ruleset *);
/* true: the rules differ at most in index, file and line; the rule's counters continue over a reload. */
bool rule_same(const struct rule *, const struct rule *);

struct rule_decision {
	const struct rule *rule; /* borrowed from the set; NULL: no rule holds, and the default decides */
	bool include;
	/*
	 * No rule decided within FILTER_BUDGET_NS. The process is included: a slow argument must not hide a
	 * process.
	 */
	bool spent;
};
/* key: the process's rule_key(). It alone decides samples, so that the kernel and user space agree. */
void ruleset_evaluate(const struct ruleset *, filter_get, const void *subject, uint32_t key, struct rule_decision *ret);

/*
 * Evaluates as ruleset_evaluate does, and reports for each evaluated rule how long it took by watch->now_ns.
 * The time of a rule includes the look-ups that it was the first to cause. watch NULL: no reports.
 */
struct rule_watch {
	uint64_t (*now_ns)(void);
	void (*tried)(void *arg, const struct rule *, uint64_t ns);
	void *arg;
};
void ruleset_evaluate_watched(const struct ruleset *, filter_get, const void *subject, uint32_t key,
			      struct rule_decision *ret, const struct rule_watch *);
/* A uniform hash of a process's identity; the kernel computes the same hash (skep/rules.h). */
uint32_t rule_key(uint32_t pid, uint64_t start_ns);
/* true: the process with this key is the one in n. */
bool rule_sampled(uint32_t key, uint32_t n);

#endif
