/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/reload.h - the answer of `skep reload` as text.
 */
#ifndef SKEP_CLI_RELOAD_H
#define SKEP_CLI_RELOAD_H

#include <jansson.h>
#include <stdio.h>

#include "cli/base/paint.h"

/* Prints an answer with "ok": true. style: NULL for the defaults. 0 or -errno. */
int reload_print(const json_t *answer, FILE *, const struct paint_style *);
/* Prints the "reload" of an answer to status in some lines; nothing if skepd has not reloaded yet. */
void reload_status_print(const json_t *reload, const struct paint *);

#endif
