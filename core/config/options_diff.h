/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/options_diff.h - two states of one plugin, filled in by options_apply: which options
 * differ, and how the values of a running one are replaced while nothing dangles.
 */
#ifndef SKEP_CORE_OPTIONS_DIFF_H
#define SKEP_CORE_OPTIONS_DIFF_H

#include "core/config/options.h"

enum options_change {
	OPTIONS_SAME,
	OPTIONS_RELOADABLE, /* all that differ may change in place */
	OPTIONS_OTHER,
};

/*
 * By value: what a file or a variable holds counts, not how it is written. names (may be NULL): "path, fsync", to be
 * freed.
 */
enum options_change options_diff(const struct skep_plugin *, const void *was, const void *next, char **ret_names);

/*
 * For reload(): texts that are the same in both become those of `was` in `next`, so that a
 * plugin that takes over all options of `next` keeps what stays valid.
 */
void options_share(const struct skep_plugin *, const void *was, void *next);
/* Options that differ between `was` and `next` get the value of `next` in `state`. */
void options_copy(const struct skep_plugin *, const void *was, const void *next, void *state);
/*
 * After options_share and options_copy, for good: `was` becomes what `next` is, and
 * `memory` owns what it points to; what that replaces is freed.  0 or -ENOMEM (nothing
 * has changed).  next_memory is still to be freed.
 */
int options_adopt(const struct skep_plugin *, void *was, const void *next, struct options_memory *memory,
		  struct options_memory *next_memory);

#endif
