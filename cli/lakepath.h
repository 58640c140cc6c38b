/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lakepath.h - where the lake is when nobody says: $SKEP_LAKE, else as root
 * /var/lib/skep/lake, else $XDG_DATA_HOME/skep/lake or ~/.local/share/skep/lake.
 */
#ifndef SKEP_CLI_LAKEPATH_H
#define SKEP_CLI_LAKEPATH_H

/* 0 and a string to free(), or -ENOMEM, or -ENOENT: none of them is known (no HOME either). */
int lake_default_path(char **ret);

#endif
