/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/sweep/sweep_text.c - prints a sweep as text.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/human.h"
#include "cli/base/text.h"
#include "cli/sweep/sweep_print.h"

/* "12.3", "4,567" */
static const char *amount(double x, char buf[HUMAN_SIZE])
{
	if (x >= 1000)
		return human_count((uint64_t)(x + 0.5), buf);
	snprintf(buf, HUMAN_SIZE, x >= 100 ? "%.0f" : x >= 1 ? "%.1f" : "%.2g", x);
	return buf;
}

/* "2,304 core-h, 9,216 GiB-h, 12 GPU-h"; the caller frees it. */
static char *wasted(const struct sweep_finding *f)
{
	const double gib_h = f->amount.byte_s / (1024.0 * 1024 * 1024) / 3600;
	char core[HUMAN_SIZE], gib[HUMAN_SIZE], gpu[HUMAN_SIZE];
	const bool cores = f->amount.core_s >= 1, memory = gib_h >= 0.001, gpus = f->amount.gpu_s >= 1;

	return text_format("%s%s%s%s%s%s%s%s", cores ? amount(f->amount.core_s / 3600, core) : "",
			   cores ? " core-h" : "", cores && memory ? ", " : "", memory ? amount(gib_h, gib) : "",
			   memory ? " GiB-h" : "", gpus && (cores || memory) ? ", " : "",
			   gpus ? amount(f->amount.gpu_s / 3600, gpu) : "", gpus ? " GPU-h" : "");
}

static int print_line(const struct paint *p, const char *mark, enum ink ink, const struct sweep_finding *f,
		      const char *unit)
{
	char *host = text_safe(f->host->name, p->unicode), *subject = text_safe(f->subject, p->unicode),
	     buf[HUMAN_SIZE];

	if (!host || !subject) {
		free(host);
		free(subject);
		return -ENOMEM;
	}
	paint(p, INK_BOLD, "%s%s", mark, *host ? host : "a host without a name");
	if (*subject)
		fprintf(p->out, "  %s", subject);
	fputs("  ", p->out);
	paint(p, ink, "%s", f->kind->id);
	if (f->unpriced)
		fputs("  no price\n", p->out);
	else
		fprintf(p->out, "  %s %s\n", amount(f->worth, buf), unit);
	free(host);
	free(subject);
	return 0;
}

static int print_last(const struct paint *p, const struct sweep_finding *f)
{
	char date[HUMAN_SIZE];

	if (!f->last_tool && !f->run)
		return paint_taken(p, INK_DIM, "    ", 4, text_format("%s", "last useful process: none in this time"));
	return paint_taken(p, INK_DIM, "    ", 4,
			   text_format("last useful process: %s%s%s, %s", f->last_tool ? f->last_tool : "not known",
				       f->run ? " of run " : "", f->run ? f->run->id : "",
				       human_date(f->last_ns ? f->last_ns
						  : f->run   ? f->run->end_ns
							     : 0,
						  HUMAN_DATE | HUMAN_CLOCK, date)));
}

static int print_finding(const struct paint *p, const char *mark, const struct sweep_finding *f,
			 const char *unit)
{
	char *waste = wasted(f), from[HUMAN_SIZE], to[HUMAN_SIZE], n[HUMAN_SIZE];
	int rc = waste ? print_line(p, mark, f->severity == FINDING_WARN ? INK_RED : INK_YELLOW, f, unit) : -ENOMEM;

	if (rc == 0)
		rc = paint_taken(p, INK_NONE, "    ", 4, text_format("%s", f->evidence));
	if (rc == 0)
		rc = paint_taken(p, INK_DIM, "    ", 4,
				 text_format("%s to %s%s%s%s%s%s",
					     human_date(f->from_ns, HUMAN_DATE | HUMAN_CLOCK, from),
					     human_date(f->to_ns, HUMAN_DATE | HUMAN_CLOCK, to),
					     f->n > 1 ? ", the longest of " : "", f->n > 1 ? human_count(f->n, n) : "",
					     f->n > 1 ? " windows" : "", *waste ? "; held for nothing: " : "", waste));
	if (rc == 0)
		rc = print_last(p, f);
	if (rc == 0)
		rc = paint_taken(p, INK_GREEN, paint_glyph(p, "  → ", "  > "), 4, text_format("%s", f->advice));
	free(waste);
	return rc;
}

static int finish(FILE *out, int rc)
{
	if (rc == 0 && (fflush(out) != 0 || ferror(out)))
		rc = errno ? -errno : -EIO;
	return rc;
}

int sweep_text(const struct sweep_look *look, size_t limit, FILE *out, const struct paint_style *style)
{
	const struct sweep_finding *findings;
	const size_t n = sweep_findings(look->sweep, &findings);
	char a[HUMAN_SIZE], b[HUMAN_SIZE], c[HUMAN_SIZE], worth[HUMAN_SIZE];
	struct paint p;
	size_t kinds = 0;
	double total = 0;
	int rc;

	paint_init(&p, out, style);
	while (sweep_kinds[kinds])
		kinds++;
	for (size_t i = 0; i < n; i++)
		total += findings[i].worth;
	rc = paint_taken(&p, INK_DIM, "", 0,
			 text_format("%s host%s, %s to %s", human_count(look->usage->n_hosts, c),
				     look->usage->n_hosts == 1 ? "" : "s",
				     human_date(look->since_ns, HUMAN_DATE | HUMAN_CLOCK, a),
				     human_date(look->until_ns, HUMAN_DATE | HUMAN_CLOCK, b)));
	if (rc == 0 && !n)
		rc = paint_taken(&p, INK_GREEN, "", 0,
				 text_format("Nothing is wasted: none of %zu kinds of findings applies.", kinds));
	for (size_t i = 0; i < n && (!limit || i < limit) && rc == 0; i++)
		rc = print_finding(&p, "", &findings[i], look->unit);
	if (rc == 0 && limit && n > limit)
		rc = paint_taken(
			&p, INK_DIM, "", 0,
			text_format("%s more are worth less; --limit 0 prints all of them", human_count(n - limit, a)));
	if (rc == 0 && n)
		rc = paint_taken(&p, INK_BOLD, "", 0,
				 text_format("%s finding%s, worth %s %s", human_count(n, a), n == 1 ? "" : "s",
					     amount(total, worth), look->unit));
	return finish(out, rc);
}

static bool is_same(const struct sweep_finding *a, const struct sweep_finding *b)
{
	return a->kind == b->kind && strcmp(a->host->name, b->host->name) == 0 && strcmp(a->subject, b->subject) == 0 &&
	       strcmp(a->run ? a->run->id : "", b->run ? b->run->id : "") == 0;
}

static bool is_in(const struct sweep_finding *f, const struct sweep_finding *findings, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_same(f, &findings[i]))
			return true;
	return false;
}

int sweep_changes(const struct sweep_look *before, const struct sweep_look *now, FILE *out,
		  const struct paint_style *style)
{
	const struct sweep_finding *old, *new;
	const size_t n_old = sweep_findings(before->sweep, &old), n_new = sweep_findings(now->sweep, &new);
	char date[HUMAN_SIZE];
	struct paint p;
	int rc = 0;

	paint_init(&p, out, style);
	human_date(now->until_ns, HUMAN_DATE | HUMAN_CLOCK, date);
	for (size_t i = 0; i < n_new && rc == 0; i++) {
		if (is_in(&new[i], old, n_old))
			continue;
		paint(&p, INK_DIM, "%s ", date);
		rc = print_finding(&p, "new: ", &new[i], now->unit);
	}
	for (size_t i = 0; i < n_old && rc == 0; i++) {
		if (is_in(&old[i], new, n_new))
			continue;
		paint(&p, INK_DIM, "%s ", date);
		rc = print_line(&p, "gone: ", INK_GREEN, &old[i], now->unit);
	}
	return finish(out, rc);
}
