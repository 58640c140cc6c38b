/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/option_table.h - a plugin's option table, entry by entry.  It may be of an older
 * ABI than ours (shorter entries) or of a newer one (longer): desc->option_size is the
 * stride, and nobody but these functions walks it.  That the table is sound has been
 * checked by plugin_check_descriptor().
 */
#ifndef SKEP_CORE_OPTION_TABLE_H
#define SKEP_CORE_OPTION_TABLE_H

#include <skep/plugin.h>

#include "core/config/config.h"

/* Entry i, fields that it does not have yet zero; false: the end of the table. */
bool option_get(const struct skep_plugin *, size_t i, struct skep_option *ret);

const char *option_type_name(uint32_t type);     /* "size" */
const char *option_type_expected(uint32_t type); /* "a size such as ..." */
size_t option_type_size(uint32_t type);          /* of its place in the state */

bool option_in_bounds(const struct skep_option *, int64_t value);
bool option_in_bounds_unsigned(const struct skep_option *, uint64_t value);
/* A bound in the option's own unit: "64MiB". */
void option_bound_format(const struct skep_option *, int64_t bound, char ret[CONFIG_UNITS_SIZE]);

/*
 * "token_file" for the secret string option "token", unless the plugin has an option
 * of that name itself.  NULL: none (or no memory).  To be freed.
 */
char *option_file_key(const struct skep_plugin *, const struct skep_option *);

#endif
