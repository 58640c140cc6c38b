/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/lakepath.h - the path of the lake when no option names one.  To write: $SKEP_LAKE, else for root the
 * service's lake, else the user's own, $XDG_DATA_HOME/skep/lake or ~/.local/share/skep/lake.  To read: the same, but a
 * user without a lake reads the service's lake if its mode allows this (group skep).
 */
#ifndef SKEP_CLI_LAKEPATH_H
#define SKEP_CLI_LAKEPATH_H

#include <stdbool.h>

#define LAKE_OF_SERVICE "/var/lib/skep/lake" /* as in etc/skepd.conf */

/* The path to write to. 0, and the caller frees *ret; -ENOMEM; -ENOENT: no variable is set, not even HOME. */
int lake_default_path(char **ret);
/* The path to read from; returns as above. *ret_both: this user can read both lakes. */
int lake_reading_path(char **ret, bool *ret_both);
/* Chooses between the two lakes; public for a test. own NULL: not known. Returns own or service. */
const char *lake_choose(const char *own, const char *service, bool *ret_both);

#endif
