/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/audit/audit_print.h - the forms of an audit: text, lines of JSON, a Workflow Run RO-Crate.
 */
#ifndef SKEP_CLI_AUDIT_PRINT_H
#define SKEP_CLI_AUDIT_PRINT_H

#include <stdio.h>

#include "cli/audit/entries.h"
#include "cli/base/paint.h"

/* Each: 0 or -errno. ret_head: the hash of the chain's end. */
int audit_json(const struct entries *, FILE *, char ret_head[CANON_HASH + 1]); /* the chain */
int audit_text(const struct entries *, FILE *, const struct paint_style *, char ret_head[CANON_HASH + 1]);
/* One entry in a line, without its number and time. */
void audit_text_entry(const struct entries *, const struct entry *, const struct paint *);
/*
 * Makes the folder, and in it the audit and its description, ro-crate-metadata.json.  why: names the file that failed.
 * -EEXIST: a file or a folder has that name.
 */
int audit_crate(const struct entries *, const char *folder, char *why, size_t why_size);

#endif
