/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/report_advice.c - the worst findings of the analysis, at the end of a report; `skep tune` has all of them.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "cli/base/settings.h"
#include "cli/base/skep.h"
#include "cli/base/text.h"
#include "cli/report/report_parts.h"

#define ADVICE_MOST 3

static int print_one(const struct paint *p, const struct finding *f)
{
	const bool warn = f->severity == FINDING_WARN;
	char *text = text_format("%s: %s: %s%s%s", *f->name ? f->name : "the run", f->kind->title, f->evidence,
				 paint_glyph(p, " → ", " > "), f->advice);

	return paint_taken(p, warn ? INK_YELLOW : INK_NONE,
			   warn ? paint_glyph(p, "  ▲ ", "  ! ") : paint_glyph(p, "  • ", "  - "), 4, text);
}

int report_advice(const struct report *r)
{
	const struct finding *findings;
	struct settings settings = { 0 };
	struct analysis *a = NULL;
	size_t n, shown = 0;
	int rc = 0;

	if (settings_read("show", NULL, analysis_setting_known, &settings) != SKEP_EXIT_OK) {
		settings_free(&settings); /* the message has been printed; the report needs no thresholds */
		return 0;
	}
	/* The report of a short run with many processes would sort all of them for nothing. */
	if (settings.n || !analysis_is_short(r->lake))
		rc = analysis_new_with(r->lake, r->family, NULL, settings.list, settings.n, &a);
	n = a ? analysis_findings(a, &findings) : 0;

	for (size_t i = 0; i < n && shown < ADVICE_MOST && rc == 0; i++) {
		if (findings[i].process && findings[i].process->kind->oom_killed)
			continue; /* the section of the failures has it, with the remedy */
		if (!shown++)
			paint_title(&r->paint, "To change", "skep tune has more");
		rc = print_one(&r->paint, &findings[i]);
	}
	analysis_free(a);
	settings_free(&settings);
	return rc;
}
