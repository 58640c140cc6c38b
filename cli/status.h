/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/status.h - the answers of `skep status` and `skep plugins` as text.
 */
#ifndef SKEP_CLI_STATUS_H
#define SKEP_CLI_STATUS_H

#include <jansson.h>
#include <stdio.h>

#include "cli/base/paint.h"

/* answer: as docs/reference/control.md has it. style: NULL for the defaults. 0 or -errno. */
int status_print(const json_t *answer, FILE *, const struct paint_style *);
int plugins_print(const json_t *answer, FILE *, const struct paint_style *);
/* Prints one plugin with all its details. */
int plugin_print(const json_t *plugin, FILE *, const struct paint_style *);
/* Prints the ledger of the streams, a row for each. 0 or -errno. */
int streams_print(const json_t *streams, const struct paint *);

#endif
