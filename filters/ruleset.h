/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/ruleset.h - an ordered set of rules, of which the first that holds decides.
 *
 * A set is built once, rule by rule, and never changes afterwards: whoever evaluates by it holds a
 * reference, so that a reload swaps sets without anybody being evaluated by half of one.  Judging
 * allocates nothing.  Not thread-safe but for reading: one thread changes reference counts.
 */
#ifndef SKEP_FILTERS_RULESET_H
#define SKEP_FILTERS_RULESET_H

#include "filters/expr.h"

enum rule_verdict {
	RULE_INCLUDE,
	RULE_EXCLUDE,
	RULE_SAMPLE, /* one process in `sample` is included, by a hash of its identity */
};

struct rule_label {
	const char *name, *value;
};

/* What a rule is made of; all is copied. */
struct rule_spec {
	/* unique in the set: lower- and upper-case letters, digits, '.', '_', '-', '/'; 1 to 64 of them */
	const char *id;
	const char *when; /* filters/expr.h; NULL: always */
	size_t when_len;
	enum rule_verdict verdict;
	uint32_t sample;  /* RULE_SAMPLE: 1 of so many, 1 to 1,000,000 */
	bool inherit;     /* descendants get the same verdict, without being evaluated */
	const struct rule_label *labels; /* set on the records of what the rule includes */
	size_t n_labels;
	const char *why;  /* for people; NULL: none */
	const char *file; /* where it stands, for messages and reports; NULL: nowhere */
	uint32_t line;
};

struct rule {
	char *id, *text, *why, *file; /* text: `when` as written, "" for always; why, file: NULL for none */
	uint32_t line;
	uint32_t number;              /* its place in the set, from 0 */
	struct filter_expr *when;     /* NULL: always */
	enum rule_verdict verdict;
	uint32_t sample;
	bool inherit;
	struct rule_label *labels;
	size_t n_labels;
	char *label_text;             /* all of them, "name=value\0name=value\0"; NULL: none */
	uint32_t label_len;
};

struct ruleset;

/* An empty set. otherwise: the verdict on what no rule holds for, never RULE_SAMPLE. NULL: no memory. */
struct ruleset *ruleset_new(const struct filter_schema *, enum rule_verdict otherwise);
/*
 * One more rule at the end.  0; -EINVAL: *ret_error says what is wrong, its position being within
 * `when` (line 0: the error is in another part of the rule); -EEXIST: the id is taken; -ENOMEM.
 * Only before the first ruleset_ref or ruleset_evaluate.
 */
int ruleset_add(struct ruleset *, const struct rule_spec *, struct filter_error *ret_error);
struct ruleset *ruleset_ref(struct ruleset *);
struct ruleset *ruleset_unref(struct ruleset *); /* frees it with the last reference; NULL is fine; returns NULL */

size_t ruleset_count(const struct ruleset *);
const struct rule *ruleset_rule(const struct ruleset *, size_t number);
const struct rule *ruleset_find(const struct ruleset *, const char *id); /* NULL: there is none */
const struct filter_schema *ruleset_schema(const struct ruleset *);
enum rule_verdict ruleset_otherwise(const struct ruleset *);
/* The same rule in every respect but its place, file and line: its counters go on over a reload. */
bool rule_same(const struct rule *, const struct rule *);

struct rule_decision {
	const struct rule *rule; /* borrowed from the set; NULL: none holds, and the default decides */
	bool include;
	/* no rule decided within FILTER_BUDGET_NS: included, as an argument that takes long must not hide a process */
	bool spent;
};
/* key: of the process, rule_key(); sampling is decided by it alone, so that kernel and user space agree. */
void ruleset_evaluate(const struct ruleset *, filter_get, const void *subject, uint32_t key, struct rule_decision *ret);

/*
 * The same, and how long each rule that was tried has taken, by that clock; with what it was the first to ask for.
 * NULL: nobody asks.
 */
struct rule_watch {
	uint64_t (*now_ns)(void);
	void (*tried)(void *arg, const struct rule *, uint64_t ns);
	void *arg;
};
void ruleset_evaluate_watched(const struct ruleset *, filter_get, const void *subject, uint32_t key,
			      struct rule_decision *ret, const struct rule_watch *);
/* A hash of a process's identity, evenly spread; the kernel's, skep/rules.h. */
uint32_t rule_key(uint32_t pid, uint64_t start_ns);
/* Is a process of that key among the one in n? */
bool rule_sampled(uint32_t key, uint32_t n);

#endif
