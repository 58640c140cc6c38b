/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/option_table.h - the types of keys, and a plugin's option table, entry by entry.  A table of another
 * minor may have shorter or longer entries: desc->option_size is the stride, and only option_get() walks it.
 * plugin_check_descriptor() has checked the table.
 */
#ifndef SKEP_CORE_OPTION_TABLE_H
#define SKEP_CORE_OPTION_TABLE_H

#include <skep/plugin.h>
#include <stdbool.h>

#include "core/config/config.h"
#include "core/config/config_table.h"

/* Entry i; members that this table does not have are zero. False: the end of the table. */
bool option_get(const struct skep_plugin *, size_t i, struct config_key *ret);

#define OPTION_WORDS_SIZE 96
size_t option_type_size(uint32_t type); /* of its place in the state; 0: no such type */
/* "size", "array of paths"; ret may hold the text. */
const char *option_type_name(const struct config_key *, char ret[OPTION_WORDS_SIZE]);
/* As the file would have it, or in words; ret may hold the text. NULL: none. */
const char *option_default_shown(const struct config_key *, char ret[OPTION_WORDS_SIZE]);
/* "a size such as ..."; ret may hold the text. */
const char *option_expected(const struct config_key *, char ret[OPTION_WORDS_SIZE]);
/* 0, -EINVAL: another text is expected, or -ENOMEM. */
int option_text_check(const struct config_text *, const char *value);

bool option_in_bounds(const struct config_key *, int64_t value);
bool option_in_bounds_unsigned(const struct config_key *, uint64_t value);
/* A bound in the option's own unit: "64MiB". */
void option_bound_format(const struct config_key *, int64_t bound, char ret[CONFIG_UNITS_SIZE]);
/* Both bounds, for a message: "from 4KiB to 1GiB", or "at least 1s" where INT64_MAX says that there is no upper one. */
void option_bounds_format(const struct config_key *, char ret[OPTION_WORDS_SIZE]);

/*
 * "token_file" for the secret string option "token", unless the plugin has an option
 * of that name itself.  NULL: none (or no memory).  To be freed.
 */
char *option_file_key(const struct skep_plugin *, const struct config_key *);

#endif
