/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/spool/spool.h - the parts of `skep spool`.
 */
#ifndef SKEP_CLI_SPOOL_H
#define SKEP_CLI_SPOOL_H

#include <stdbool.h>

#define SPOOL_PATH SKEP_STATE_DIR "/spool.db"

/* Each returns the exit status. */
int spool_exists(const char *path); /* of the spool that --spool names, or the default */
int spool_status(const char *path, bool json);
int spool_list_dead(const char *path, bool json);
int spool_check_all(const char *path);
int spool_recover(const char *from, const char *into);
/* dead: drops the dead letters of sink (NULL: of all); else the offset of a sink that is no longer configured. */
int spool_drop(const char *path, const char *sink, bool dead);

#endif
