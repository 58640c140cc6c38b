/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/redact_text.h - finds secrets that a text itself reveals: in URLs, parameters, headers and
 * JSON, and by their shape. For core/identify/redact.c.
 *
 * redact_mark() marks a secret in place: up to three '*', then NULs, which an argument cannot contain. The
 * owner of the argument removes the NULs after all marks are made.
 */
#ifndef SKEP_CORE_REDACT_TEXT_H
#define SKEP_CORE_REDACT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/identify/redact_table.h"

/* Marks the text as a secret. false: it had only stars and NULs already. */
bool redact_mark(char *begin, char *end);
/* true: a user name in a URL looks like a token: 16 characters or more, with a digit. */
bool redact_token(const char *begin, const char *end);
/* Marks all secrets in the text; returns their number. */
unsigned redact_text(const struct redact *, char *begin, char *end);

static inline bool redact_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

#endif
