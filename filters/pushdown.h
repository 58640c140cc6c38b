/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/pushdown.h - a set of rules as clauses, for one who cannot evaluate expressions but
 * remembers answers (include/skep/rules.h: the kernel).
 *
 * Each rule's condition is brought into disjunctive form; each conjunction is a clause, in the
 * order of the rules.  Fields belong to dimensions: what a clause wants of one dimension is a
 * question about that dimension's value alone.  A clause with a condition on a field without a
 * dimension is one that only the whole expression can decide; the rest of its conditions still
 * say when it cannot hold.  Rules that would take too many clauses become one of that kind
 * without conditions, and so do all rules for which no clause is left.
 */
#ifndef SKEP_FILTERS_PUSHDOWN_H
#define SKEP_FILTERS_PUSHDOWN_H

#include "filters/ruleset.h"

#define PUSHDOWN_CLAUSES 64u
#define PUSHDOWN_OF_RULE 16u     /* clauses that one rule may take */
#define PUSHDOWN_DIMENSIONS 8u
#define PUSHDOWN_NONE 255u       /* the dimension of a field that has none */

struct pushdown;

struct pushdown_clause {
	const struct rule *rule; /* borrowed from the set; NULL: of several, all further ones */
	bool exact;              /* its conditions are all that the rule wants */
};

/*
 * dimension_of: for each field of the set's schema, below PUSHDOWN_DIMENSIONS or PUSHDOWN_NONE. Holds a reference on
 * the set. NULL: no memory.
 */
struct pushdown *pushdown_new(struct ruleset *, const uint8_t *dimension_of);
struct pushdown *pushdown_free(struct pushdown *);

size_t pushdown_clauses(const struct pushdown *, const struct pushdown_clause **ret);
/* Bits: the clauses that have a condition on that dimension. */
uint64_t pushdown_of(const struct pushdown *, unsigned dimension);

/*
 * Which clauses hold as far as that dimension goes (yes), and of which it cannot be told because a field
 * is not known (maybe); both only of pushdown_of().  `get` is asked for that dimension's fields only.
 */
void pushdown_ask(const struct pushdown *, unsigned dimension, filter_get, const void *subject, uint64_t *ret_yes,
		  uint64_t *ret_maybe);

#endif
