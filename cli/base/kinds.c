/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/kinds.c - lists kinds of findings.
 */
#include "cli/base/kinds.h"

#include <errno.h>
#include <string.h>

#include "cli/base/json_out.h"
#include "cli/base/paint.h"
#include "cli/base/skep.h"
#include "cli/base/text.h"

static int print_threshold(const struct paint *p, const char *prefix, const struct finding_threshold *t)
{
	return paint_taken(p, INK_NONE, "    ", 6,
			   text_format("%s%s%s = %g%s%s  %s", prefix, *prefix ? "." : "", t->name, t->value,
				       strcmp(t->unit, "1") ? " " : "", strcmp(t->unit, "1") ? t->unit : "", t->why));
}

static int kinds_text(const struct finding_kind *const *k, const struct finding_threshold *gates, FILE *out,
	       const struct paint_style *style)
{
	struct paint p;
	int rc = 0;

	paint_init(&p, out, style);
	for (; *k && rc == 0; k++) {
		paint(&p, INK_BOLD, "%s", (*k)->id);
		fprintf(out, "  %s (%s)\n", (*k)->title, analysis_source_text((*k)->source));
		rc = paint_taken(&p, INK_NONE, "  ", 4, text_format("measures: %s", (*k)->measures));
		if (rc == 0)
			rc = paint_taken(&p, INK_NONE, "  ", 4, text_format("not for: %s", (*k)->guards));
		if (rc == 0)
			rc = paint_taken(&p, INK_NONE, "  ", 4, text_format("helps: %s", (*k)->advice));
		if (rc == 0 && (*k)->saving)
			rc = paint_taken(&p, INK_NONE, "  ", 4, text_format("saves: %s", (*k)->saving));
		for (size_t i = 0; i < FINDING_THRESHOLDS && (*k)->thresholds[i].name && rc == 0; i++)
			rc = print_threshold(&p, (*k)->id, &(*k)->thresholds[i]);
	}
	if (rc == 0 && gates)
		fprintf(out, "For all of them:\n");
	for (const struct finding_threshold *t = gates; t && t->name && rc == 0; t++)
		rc = print_threshold(&p, "", t);
	if (rc == 0 && (fflush(out) != 0 || ferror(out)))
		rc = errno ? -errno : -EIO;
	return rc;
}

/* Owns the value. */
static int append(json_t *array, json_t *value)
{
	return value && json_array_append_new(array, value) == 0 ? 0 : -ENOMEM;
}

static json_t *threshold_json(const struct finding_threshold *t)
{
	return json_pack("{s:s, s:f, s:s, s:s}", "name", t->name, "value", t->value, "unit", t->unit, "why", t->why);
}

static json_t *kind_json(const struct finding_kind *k)
{
	json_t *thresholds = json_array();
	int rc = thresholds ? 0 : -ENOMEM;

	for (size_t i = 0; i < FINDING_THRESHOLDS && k->thresholds[i].name && rc == 0; i++)
		rc = append(thresholds, threshold_json(&k->thresholds[i]));
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s?, s:o}", "id", k->id, "title", k->title, "measures", k->measures,
			 "unit", k->unit, "source", analysis_source_text(k->source), "not_for", k->guards, "helps", k->advice, "saves", k->saving,
			 "thresholds", thresholds);
}

json_t *kinds_json(const struct finding_kind *const *k, const struct finding_threshold *gates)
{
	json_t *kinds = json_array(), *all = json_array();
	int rc = kinds && all ? 0 : -ENOMEM;

	for (; *k && rc == 0; k++)
		rc = append(kinds, kind_json(*k));
	for (const struct finding_threshold *t = gates; t && t->name && rc == 0; t++)
		rc = append(all, threshold_json(t));
	if (rc) {
		json_decref(kinds);
		json_decref(all);
		return NULL;
	}
	return json_pack("{s:o, s:o}", "kinds", kinds, "gates", all);
}

int kinds_list(const char *command, const struct finding_kind *const *kinds, const struct finding_threshold *gates,
	       bool json, unsigned width)
{
	const struct paint_style style = { .width = width };
	int rc = json ? json_out_write(kinds_json(kinds, gates), stdout) : kinds_text(kinds, gates, stdout, &style);

	return rc ? skep_fail(command, SKEP_EXIT_RUNTIME, "cannot write the list: %s", strerror(-rc)) : SKEP_EXIT_OK;
}
