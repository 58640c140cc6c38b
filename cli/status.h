/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/status.h - the answers of `skep status`, `skep plugins` and `skep doctor` as text.
 */
#ifndef SKEP_CLI_STATUS_H
#define SKEP_CLI_STATUS_H

#include <jansson.h>
#include <stdio.h>

#include "cli/paint.h"

/* answer: as docs/control.md has it. style: NULL for the defaults. 0 or -errno. */
int status_print(const json_t *answer, FILE *, const struct report_style *);
int plugins_print(const json_t *answer, FILE *, const struct report_style *);
/* One of them, with all that there is to tell. */
int plugin_print(const json_t *plugin, FILE *, const struct report_style *);
/* The streams' books: a row each. 0 or -errno. */
int streams_print(const json_t *streams, const struct paint *);
/* A plugin's signals: a line each, with a mark and in words. */
void signals_print(const json_t *signals, const struct paint *, size_t indent);
/* Details: name, what they can be limited to, help. */
void details_print(const json_t *details, const struct paint *, size_t indent);
/* Ink and mark of "ok", "partial", "missing", "off". */
enum ink signal_ink(const char *state);
const char *signal_mark(const struct paint *, const char *state);
enum ink state_ink(const char *state);

#endif
