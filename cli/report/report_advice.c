/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/report_advice.c - the worst findings of the analysis, at the end of a report; `skep tune` has all of them.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/analysis.h"
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
	struct analysis *a = NULL;
	/* The report of a short run with many processes would sort all of them for nothing. */
	int rc = analysis_is_short(r->lake) ? 0 : analysis_new(r->lake, NULL, 0, &a);
	const size_t n = a ? analysis_findings(a, &findings) : 0;
	size_t shown = 0;

	for (size_t i = 0; i < n && shown < ADVICE_MOST && rc == 0; i++) {
		if (findings[i].process && findings[i].process->oom_killed)
			continue; /* the section of the failures has it, with the remedy */
		if (!shown++)
			paint_title(&r->paint, "To change", "skep tune has more");
		rc = print_one(&r->paint, &findings[i]);
	}
	analysis_free(a);
	return rc;
}
