/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/rules.h - the answer of `skep rules` as text.
 */
#ifndef SKEP_CLI_RULES_H
#define SKEP_CLI_RULES_H

#include <jansson.h>
#include <stdio.h>

#include "cli/base/paint.h"

/* answer: as docs/reference/control.md has it. style: NULL for the defaults. 0 or -errno. */
int rules_print(const json_t *answer, FILE *, const struct paint_style *);

#endif
