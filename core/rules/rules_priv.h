/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/rules/rules_priv.h - shared by core/rules/rules_*.c: the keys of a rule, and a condition in a JSON text.
 */
#ifndef SKEP_CORE_RULES_PRIV_H
#define SKEP_CORE_RULES_PRIV_H

#include "core/config/datafile.h"
#include "filters/expr.h"

/* The keys of a file, of a rule and of a sample verdict: for messages, checks and the schema. */
extern const char *const rules_root_keys[], *const rules_rule_keys[], *const rules_sample_keys[];

/* "when": a string, or a list of strings, each of them a line. */
struct when {
	char *text; /* text of the expression; NULL: `true`, always */
	size_t len;
};

/* false: it has added an error. The caller frees *ret by when_clear. */
bool when_read(const struct datanode *, struct when *ret);
void when_clear(struct when *);
/* Adds the error of an expression, with its exact position in the file. */
void when_error(const struct datanode *, const struct filter_error *, const char *text, size_t len);
/* Adds the source line to the diag's entries, from index `from` on, that have a position but no source line. */
void when_show(struct diag *, size_t from, const char *text, size_t len);

#endif
