/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor/bundle_redact.h - keeps secrets out of a support bundle, in three steps; each alone finds most secrets.
 * It blanks the options that plugins declare as secrets.  It redacts every text by the redaction tables.  It searches
 * every text, byte by byte, for the known secrets (from the configuration, its files, its variables, its URLs), and for
 * their form in a JSON string.
 */
#ifndef SKEP_CLI_BUNDLE_REDACT_H
#define SKEP_CLI_BUNDLE_REDACT_H

#include <stddef.h>

struct bundle_redact;

/*
 * config_file: if NULL or unreadable, uses only the built-in tables.  pid: of the running skepd, whose variables the
 * configuration names; 0: none.  Returns NULL: no memory.
 */
struct bundle_redact *bundle_redact_new(const char *config_file, int pid);
void bundle_redact_free(struct bundle_redact *); /* NULL is fine */

/* The configuration as JSON without secrets, or why it is missing. The caller frees the text; NULL: no memory. */
char *bundle_redact_config(const struct bundle_redact *);
/* Redacts a text in place; it never grows. */
void bundle_redact_text(const struct bundle_redact *, char *text, size_t *len);
/* Number of known secrets of the configuration. */
size_t bundle_redact_known(const struct bundle_redact *);

#endif
