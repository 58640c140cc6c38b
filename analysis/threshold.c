/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/threshold.c - the names and values of thresholds, for the kinds of findings of tune and of sweep.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/finding.h"
#include "filters/suggest.h"

#define NAMES_MOST 256

static void name_of(const struct finding_kind *k, const struct finding_threshold *t, char buf[ANALYSIS_SETTING_NAME])
{
	snprintf(buf, ANALYSIS_SETTING_NAME, "%s%s%s", k ? k->id : "", k ? "." : "", t->name);
}

double finding_threshold_value(const struct finding_kind *k, const struct finding_threshold *t,
			       const struct analysis_setting *settings, size_t n)
{
	char name[ANALYSIS_SETTING_NAME];
	double value = t->value;

	name_of(k, t, name);
	for (size_t i = 0; i < n; i++)
		value = strcmp(settings[i].name, name) == 0 ? settings[i].value : value; /* the last one counts */
	return value;
}

bool finding_threshold_known(const struct finding_kind *const *kinds, const struct finding_threshold *gates,
			     const char *asked, char ret_near[ANALYSIS_SETTING_NAME])
{
	char names[NAMES_MOST][ANALYSIS_SETTING_NAME];
	const char *candidates[NAMES_MOST + 1] = { 0 }, *near;
	size_t n = 0;

	for (const struct finding_threshold *t = gates; t && t->name; t++)
		name_of(NULL, t, names[n++]);
	for (const struct finding_kind *const *k = kinds; *k; k++)
		for (size_t i = 0; i < FINDING_THRESHOLDS && (*k)->thresholds[i].name; i++)
			name_of(*k, &(*k)->thresholds[i], names[n++]);
	for (size_t i = 0; i < n; i++) {
		candidates[i] = names[i];
		if (strcmp(asked, names[i]) == 0)
			return true;
	}
	near = suggest_nearest(asked, candidates);
	snprintf(ret_near, ANALYSIS_SETTING_NAME, "%s", near ? near : "");
	return false;
}
