/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/rules/rules_priv.h - shared by core/rules/rules_*.c: a condition as it stands in a JSON text.
 */
#ifndef SKEP_CORE_RULES_PRIV_H
#define SKEP_CORE_RULES_PRIV_H

#include "core/config/datafile.h"
#include "filters/expr.h"

/* Every key of a rule, and every way to write a verdict, for messages, checks and the schema. */
extern const char *const rules_root_keys[], *const rules_rule_keys[], *const rules_sample_keys[];

/* "when": a string, or a list of strings that are its lines. */
struct when {
	char *text; /* what the expression is made of; NULL: `true`, always */
	size_t len;
};

/* false after an error.  To be freed by when_clear. */
bool when_read(const struct datanode *, struct when *ret);
void when_clear(struct when *);
/* Adds the error of an expression, at the very character of the file's text that it is about. */
void when_error(const struct datanode *, const struct filter_error *, const char *text, size_t len);
/* Those of the diag's entries from `from` on that have a place and do not show their line get it. */
void when_show(struct diag *, size_t from, const char *text, size_t len);

#endif
