/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/settings.c - reads thresholds.
 */
#include "cli/base/settings.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/sweep.h"
#include "cli/base/lakepath.h"
#include "cli/base/skep.h"

/* Reads one "NAME=VALUE"; the name stays in `text`, cut at the "=". SKEP_EXIT_OK or SKEP_EXIT_USAGE after a message. */
static int setting_read(const char *command, char *text, bool (*known)(const char *, char near[ANALYSIS_SETTING_NAME]),
			struct analysis_setting *ret)
{
	char *equals = strchr(text, '='), *end, near[ANALYSIS_SETTING_NAME];

	if (!equals)
		return skep_usage(command, "--set %s: no value; write NAME=VALUE, with a name of skep %s --list", text, command);
	*equals = '\0';
	ret->name = text;
	errno = 0;
	ret->value = strtod(equals + 1, &end);
	if (!equals[1] || *end || errno || !isfinite(ret->value) || ret->value < 0)
		return skep_usage(command, "--set %s: '%s' is no number of 0 or more", text, equals + 1);
	if (!known(text, near))
		return skep_usage(command, "--set: there is no threshold '%s'%s%s%s; skep %s --list has all of them", text,
				  *near ? "; did you mean '" : "", near, *near ? "'?" : "", command);
	return SKEP_EXIT_OK;
}

/* One skep.conf has the thresholds of tune and of sweep: a name is wrong only if neither command knows it. */
static bool any_known(const char *name, char near[ANALYSIS_SETTING_NAME])
{
	return sweep_setting_known(name, near) || analysis_setting_known(name, near);
}

int settings_read(const char *command, const char **set, bool (*known)(const char *, char near[ANALYSIS_SETTING_NAME]),
		  struct settings *ret)
{
	struct conf_threshold *configured = NULL;
	int status = SKEP_EXIT_OK;
	size_t n = 0, n_configured = 0;
	char why[1024] = "";

	if (thresholds_configured(any_known, &configured, &n_configured, why, sizeof(why)) != 0)
		return skep_fail(command, SKEP_EXIT_CONFIG, "%s", why);
	while (set && set[n])
		n++;
	ret->list = calloc(n_configured + n + 1, sizeof(*ret->list));
	ret->texts = calloc(n_configured + n + 1, sizeof(*ret->texts));
	for (size_t i = 0; i < n_configured; i++) {
		if (ret->list && ret->texts) {
			ret->texts[ret->n] = configured[i].name;
			ret->list[ret->n++] = (struct analysis_setting){ configured[i].name, configured[i].value };
		} else {
			free(configured[i].name);
		}
	}
	free(configured);
	for (size_t i = 0; ret->list && ret->texts && i < n && status == SKEP_EXIT_OK; i++) {
		ret->texts[ret->n] = strdup(set[i]);
		if (!ret->texts[ret->n])
			return skep_fail(command, SKEP_EXIT_RUNTIME, "out of memory");
		status = setting_read(command, ret->texts[ret->n], known, &ret->list[ret->n]);
		ret->n++;
	}
	return ret->list && ret->texts ? status : skep_fail(command, SKEP_EXIT_RUNTIME, "out of memory");
}

void settings_free(struct settings *s)
{
	for (size_t i = 0; s->texts && s->texts[i]; i++)
		free(s->texts[i]);
	free(s->texts);
	free(s->list);
	*s = (struct settings){ 0 };
}
