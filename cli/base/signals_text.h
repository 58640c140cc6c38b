/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/signals_text.h - the signals and details of a plugin as text.
 */
#ifndef SKEP_CLI_BASE_SIGNALS_TEXT_H
#define SKEP_CLI_BASE_SIGNALS_TEXT_H

#include <jansson.h>

#include "cli/base/paint.h"

/* Prints a plugin's signals: a line each, with a mark and a description. */
void signals_print(const json_t *signals, const struct paint *, size_t indent);
/* Prints details: name, possible scopes, help. */
void details_print(const json_t *details, const struct paint *, size_t indent);
/* Ink and mark of "ok", "partial", "missing", "off". */
enum ink signal_ink(const char *state);
const char *signal_mark(const struct paint *, const char *state);
/* Ink of a plugin's state: "running", "failed" ... */
enum ink state_ink(const char *state);

#endif
