/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/options.h - a plugin's option table applied: validation, defaults, unknown keys
 * with a suggestion, help text.  One table serves them all.
 */
#ifndef SKEP_CORE_OPTIONS_H
#define SKEP_CORE_OPTIONS_H

#include <skep/plugin.h>
#include <stdio.h>

#include "core/config/config.h"
#include "core/base/diag.h"

/* What options_apply allocated for strings in a state. */
struct options_memory;

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
struct options_memory *options_memory_free(struct options_memory *);
/*
 * For options_diff.c. Room in `memory` for all that `next` has: 0 or -ENOMEM. Then a block of it can move there; NULL
 * is fine.
 */
int options_memory_reserve(struct options_memory *memory, const struct options_memory *next);
void options_memory_move(struct options_memory *from, const void *block, struct options_memory *to);
void options_memory_drop(struct options_memory *, const void *block); /* freed; NULL is fine */
/* A table for people: name, type, default, help. */
void options_print(const struct skep_plugin *, FILE *);

#endif
