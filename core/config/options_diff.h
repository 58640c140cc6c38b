/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/options_diff.h - compares two states that options_apply filled in, and moves changed options into the
 * state of a running plugin so that no pointer dangles.
 */
#ifndef SKEP_CORE_OPTIONS_DIFF_H
#define SKEP_CORE_OPTIONS_DIFF_H

#include "core/config/options.h"

enum options_change {
	OPTIONS_SAME,
	OPTIONS_RELOADABLE, /* every option that differs may change in place */
	OPTIONS_OTHER,
};

/*
 * Compares values: the content of a secret's file or variable, not its name. names (may be NULL): "path, fsync"; the
 * caller frees it.
 */
enum options_change options_diff(const struct skep_plugin *, const void *was, const void *next, char **ret_names);

/* Does this key have the same value in both states? */
bool option_same(const struct config_key *, const void *a, const void *b);

/*
 * For reload(): `next` gets the pointers of `was` for texts that are the same in both.  A plugin that copies all
 * options of `next` then keeps pointers that stay valid.
 */
void options_share(const struct skep_plugin *, const void *was, void *next);
/* Copies into `state` each option of `next` that differs from `was`. */
void options_copy(const struct skep_plugin *, const void *was, const void *next, void *state);
/*
 * After options_share and options_copy: `was` gets the values of `next`, `memory` takes over their blocks, and the
 * replaced ones are freed.  0 or -ENOMEM (nothing has changed).  The caller still frees next_memory.
 */
int options_adopt(const struct skep_plugin *, void *was, const void *next, struct options_memory *memory,
		  struct options_memory *next_memory);

#endif
