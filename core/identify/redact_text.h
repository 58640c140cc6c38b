/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/redact_text.h - secrets that show by themselves wherever they stand in a text:
 * in URLs, parameters, headers, JSON, and by their shape.
 *
 * A secret is marked in place: up to three '*', then NULs, which cannot be in an
 * argument.  Whoever owns the argument takes the NULs out when all marks are made.
 */
#ifndef SKEP_CORE_REDACT_TEXT_H
#define SKEP_CORE_REDACT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/identify/redact_table.h"

/* True when that changed anything: what is only stars already stays as it is. */
bool redact_mark(char *begin, char *end);
/* A user name in a URL that is a token, with or without a password beside it: 16 characters or more, with a digit. */
bool redact_token(const char *begin, const char *end);
/* Marks all of them in the text; returns how many. */
unsigned redact_text(const struct redact *, char *begin, char *end);

static inline bool redact_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

#endif
