/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/lakepath.h - the path of the lake where no option names one.  To write: $SKEP_LAKE, else for root the
 * service's lake, else the user's own, $XDG_DATA_HOME/skep/lake or ~/.local/share/skep/lake.  To read: the same, but a
 * user without a lake reads the service's lake where its mode allows it (group skep).
 */
#ifndef SKEP_CLI_LAKEPATH_H
#define SKEP_CLI_LAKEPATH_H

#include <stdbool.h>

#define LAKE_OF_SERVICE "/var/lib/skep/lake" /* as in etc/skepd.conf */

/* To write. 0 and a string to free(), or -ENOMEM, or -ENOENT: none of them is known (no HOME either). */
int lake_default_path(char **ret);
/* To read; the same. *ret_both: this user could read the service's lake as well. */
int lake_reading_path(char **ret, bool *ret_both);
/* The rule between the two, for a test. own NULL: not known. Returns one of its arguments. */
const char *lake_choose(const char *own, const char *service, bool *ret_both);

#endif
