/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/pushdown.h - a set of rules as clauses, for the kernel (include/skep/rules.h), which cannot evaluate
 * expressions but caches answers.
 *
 * The compiler brings each rule's condition into disjunctive normal form. Each conjunction becomes a clause, in
 * the order of the rules. Every field belongs to a dimension or to none. A clause's conditions on one dimension
 * depend on that dimension's value alone. A clause with a condition on a field without a dimension is inexact:
 * only the whole expression can decide it. Its other conditions still tell when the clause cannot hold. A rule
 * that needs too many clauses becomes one inexact clause without conditions. So do all rules for which no
 * clause is left.
 */
#ifndef SKEP_FILTERS_PUSHDOWN_H
#define SKEP_FILTERS_PUSHDOWN_H

#include "filters/ruleset.h"

#define PUSHDOWN_CLAUSES 64u
#define PUSHDOWN_OF_RULE 16u     /* clauses that one rule may take */
#define PUSHDOWN_DIMENSIONS 8u
#define PUSHDOWN_NONE 255u       /* the field belongs to no dimension */

struct pushdown;

struct pushdown_clause {
	const struct rule *rule; /* borrowed from the set; NULL: all remaining rules share this clause */
	bool exact;              /* the clause's conditions decide the rule completely */
};

/*
 * Compiles the set and holds a reference on it. dimension_of: for each field of the set's schema a number below
 * PUSHDOWN_DIMENSIONS, or PUSHDOWN_NONE. NULL: no memory.
 */
struct pushdown *pushdown_new(struct ruleset *, const uint8_t *dimension_of);
struct pushdown *pushdown_free(struct pushdown *);

size_t pushdown_clauses(const struct pushdown *, const struct pushdown_clause **ret);
/* A bit for each clause that has a condition on the dimension. */
uint64_t pushdown_of(const struct pushdown *, unsigned dimension);

/*
 * Evaluates the clauses' conditions on one dimension. *ret_yes: the clauses whose conditions on it all hold.
 * *ret_maybe: the other clauses of which no condition fails, because a field is unknown. Both are subsets of
 * pushdown_of(). Calls `get` only for fields of that dimension.
 */
void pushdown_ask(const struct pushdown *, unsigned dimension, filter_get, const void *subject, uint64_t *ret_yes,
		  uint64_t *ret_maybe);

#endif
