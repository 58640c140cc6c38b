/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/rules/rules_file.h - loads rules from files into a set: first the files of the configuration's folders
 * in byte order of their names, then the packs. The loader reports every error of every file with its position.
 * After any error there is no set.
 */
#ifndef SKEP_CORE_RULES_FILE_H
#define SKEP_CORE_RULES_FILE_H

#include <stddef.h>

#include "core/base/diag.h"
#include "filters/ruleset.h"

struct config;

/* Loads the rules that the configuration names. 0, or -EINVAL or -ENOMEM after adding errors. */
int rules_load(const struct config *, struct diag *, struct ruleset **ret);
/* Loads a NULL-terminated list of files or folders of *.json. The same results. */
int rules_load_files(const char *const *paths, enum rule_verdict otherwise, struct diag *, struct ruleset **ret);
/* Appends the rules of one text to a set. 0, -EINVAL (the set has the text's valid rules) or -ENOMEM. */
int rules_parse(const char *text, size_t len, const char *name, struct diag *, struct ruleset *);

#endif
