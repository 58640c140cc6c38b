/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/redact.h - blanks secrets in argument lists, by the rules of etc/redact.json (built in) and of
 * a site's files. For every record with arguments.
 */
#ifndef SKEP_CORE_REDACT_H
#define SKEP_CORE_REDACT_H

#include <stdint.h>

#include "core/base/diag.h"

struct redact;

struct redact *redact_new(const char *const *more, struct diag *); /* NULL after errors */
struct redact *redact_free(struct redact *);

/*
 * Blanks secrets in place. The list never grows: a secret becomes "***", or fewer stars when it is shorter.
 * exe: path or name of the program, may be NULL. Allocates no memory. Returns the number of blanked secrets.
 */
unsigned redact_argv(const struct redact *, const char *exe, char *argv, uint32_t *len);

#endif
