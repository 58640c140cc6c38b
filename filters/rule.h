/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/rule.h - one rule of a set: the constructor and destructor, for filters/ruleset.c.
 */
#ifndef SKEP_FILTERS_RULE_H
#define SKEP_FILTERS_RULE_H

#include "filters/ruleset.h"

#define RULE_ID_MAX 64u

/* 0, or -EINVAL or -ENOMEM with *ret_error set, as for ruleset_add. */
int rule_new(const struct rule_spec *, const struct filter_schema *, struct rule **ret, struct filter_error *ret_error);
struct rule *rule_free(struct rule *);

#endif
