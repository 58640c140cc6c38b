/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor/bundle_redact.h - keeps secrets out of a support bundle, in three steps, each of which would
 * do for most: it blanks the options that plugins declare as secrets; it redacts every text by the
 * redaction tables; and it searches everything, byte by byte, for the secrets known by then (from
 * the configuration, its files, its variables, its URLs).
 */
#ifndef SKEP_CLI_BUNDLE_REDACT_H
#define SKEP_CLI_BUNDLE_REDACT_H

#include <stddef.h>

struct bundle_redact;

/* config_file: NULL, or one that cannot be read: built-in tables alone. NULL: no memory. */
struct bundle_redact *bundle_redact_new(const char *config_file);
void bundle_redact_free(struct bundle_redact *); /* NULL is fine */

/* The configuration as JSON without its secrets, or why it is not there. To be freed; NULL: no memory. */
char *bundle_redact_config(const struct bundle_redact *);
/* In place; it never grows. */
void bundle_redact_text(const struct bundle_redact *, char *text, size_t *len);
/* How many secrets of the configuration are looked for. */
size_t bundle_redact_known(const struct bundle_redact *);

#endif
