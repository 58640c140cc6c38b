/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/settings.h - reads the thresholds that skep.conf sets, and those of --set NAME=VALUE, which count more.
 */
#ifndef SKEP_CLI_BASE_SETTINGS_H
#define SKEP_CLI_BASE_SETTINGS_H

#include "analysis/analysis.h"

/* A zeroed one: nothing is set. */
struct settings {
	struct analysis_setting *list; /* its names point into texts */
	size_t n;
	char **texts;
};

/*
 * known: whether there is such a threshold, as analysis_setting_known().  The caller calls settings_free(), on failure
 * too.  SKEP_EXIT_OK, or another exit status after a message.
 */
int settings_read(const char *command, const char **set, bool (*known)(const char *, char near[ANALYSIS_SETTING_NAME]),
		  struct settings *ret);
void settings_free(struct settings *);

#endif
