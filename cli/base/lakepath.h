/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/lakepath.h - the path of the lake when no option names one.  To write: $SKEP_LAKE, else the lake that
 * skep.conf names, else for root the service's lake, else the user's own, $XDG_DATA_HOME/skep/lake or
 * ~/.local/share/skep/lake.  To read: the same, but a user without a lake reads the service's lake if its mode allows
 * this (group skep), else own_runs.h.  $SKEP_LAKE and skep.conf may have the address of a ClickHouse server (lake.h),
 * for reading: `skep run` writes to a folder.
 */
#ifndef SKEP_CLI_LAKEPATH_H
#define SKEP_CLI_LAKEPATH_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/analysis.h"

struct conf_threshold {
	char *name;
	double value;
};

#define LAKE_OF_SERVICE "/var/lib/skep/lake" /* as in etc/skepd.conf */

/*
 * The lake that skep.conf names: {"lake": "/path"}, or an address.  skep.conf is the file that $SKEP_CONF names; else
 * the user's, $XDG_CONFIG_HOME/skep/skep.conf or ~/.config/skep/skep.conf; else the site's in SKEP_SYSCONF_DIR.
 * 0: the caller frees *ret, NULL when no file names one; -EINVAL: the file has an error, which why has with its place;
 * -ENOMEM.
 */
int lake_configured(char **ret, char *why, size_t room);
/*
 * The thresholds of skep.conf: {"thresholds": {"gate.wall": 10}}.  known: whether there is one of that name, as
 * analysis_setting_known().  0: the caller frees *ret and each name; as lake_configured() otherwise.
 */
int thresholds_configured(bool (*known)(const char *name, char near[ANALYSIS_SETTING_NAME]),
			  struct conf_threshold **ret, size_t *ret_n, char *why, size_t room);
/* The file of prices that skep.conf names: {"prices": "/path"}. As lake_configured(). */
int prices_configured(char **ret, char *why, size_t room);
/*
 * The path to write to. 0, and the caller frees *ret; -ENOMEM; -EINVAL as lake_configured; -ENOENT: no variable is set,
 * not even HOME.
 */
int lake_default_path(char **ret);
/* The path to read from when nothing names one; returns as above. *ret_both: this user can read both lakes. */
int lake_reading_path(char **ret, bool *ret_both);
/* Chooses between the two lakes; public for a test. own NULL: not known. Returns own or service. */
const char *lake_choose(const char *own, const char *service, bool *ret_both);

#endif
