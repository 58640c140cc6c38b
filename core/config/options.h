/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/options.h - applies a plugin's option table: validation, defaults, unknown keys with a suggestion.  The
 * help text comes from the same table.
 */
#ifndef SKEP_CORE_OPTIONS_H
#define SKEP_CORE_OPTIONS_H

#include <skep/plugin.h>
#include <stdio.h>

#include "core/base/diag.h"
#include "core/config/config.h"
#include "core/config/option_memory.h"
#include "core/config/option_read.h"

/*
 * Fill `state` from defaults and from the entry's options.  The table has passed
 * plugin_check_descriptor().  Defaults are as written in a config: "64MiB", "true", a
 * list as JSON ("[ \"a\" ]") or as its only element.  Secret strings: "env:NAME", or
 * <option>_file beside them; nothing of a secret gets into a message.  Adds an error per
 * unknown key, wrong type or value out of bounds ("probes[0] (proc): ...").
 * 0, or -EINVAL after adding errors; the state's options are zero then.
 * *ret_memory is to be freed when the state goes.
 */
int options_apply(const struct skep_plugin *, const struct config *, const struct config_plugin *, void *state,
		  struct options_memory **ret_memory, struct diag *);
/*
 * The keys that an entry of this plugin may have, in `memory`: its options, a secret's NAME_file behind NAME, and those
 * of skepd (CONFIG_OWN). Ends with a NULL name. NULL: no memory.
 */
struct config_key *options_keys(const struct skep_plugin *, struct options_memory *memory);
/* A reader for keys of the entry, still without memory; its messages begin with `where`. */
struct option_reader options_reader(const struct config *, const struct config_plugin *, char where[CONFIG_WHERE_SIZE],
				    void *state, struct diag *);
/* A table for people: name, type, default, help. */
void options_print(const struct skep_plugin *, FILE *);

#endif
