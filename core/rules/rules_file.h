/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/rules/rules_file.h - rules from files into a set: those of the configuration's folders in byte
 * order of the files' names, then those of its packs.  All or nothing: every error of every
 * file is told, with its place, and then there is no set.
 */
#ifndef SKEP_CORE_RULES_FILE_H
#define SKEP_CORE_RULES_FILE_H

#include <stddef.h>

#include "core/base/diag.h"
#include "filters/ruleset.h"

struct config;

/* What the configuration says.  0, -EINVAL or -ENOMEM after adding errors. */
int rules_load(const struct config *, struct diag *, struct ruleset **ret);
/* NULL-terminated: files, or folders of *.json. The same results. */
int rules_load_files(const char *const *paths, enum rule_verdict otherwise, struct diag *, struct ruleset **ret);
/* The rules of one text to the end of a set.  0, -EINVAL (what was right of it is in the set) or -ENOMEM. */
int rules_parse(const char *text, size_t len, const char *name, struct diag *, struct ruleset *);

#endif
