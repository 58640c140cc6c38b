/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/kinds.h - lists kinds of findings with their thresholds, from their descriptors.
 */
#ifndef SKEP_CLI_BASE_KINDS_H
#define SKEP_CLI_BASE_KINDS_H

#include <jansson.h>

#include "analysis/analysis.h"

/*
 * Prints them on stdout, as text or as JSON: the option --list.  kinds: NULL-terminated; gates: of all of them, up to
 * the first without a name; NULL: none.  SKEP_EXIT_OK, or another exit status after a message.
 */
int kinds_list(const char *command, const struct finding_kind *const *kinds, const struct finding_threshold *gates,
	       bool json, unsigned width);
/* The same for the manual. A new reference; NULL: no memory. */
json_t *kinds_json(const struct finding_kind *const *kinds, const struct finding_threshold *gates);

#endif
