/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/report_notes.c - prints the limits of the figures: lost records with their places, processes
 * that had not ended, and the accuracy of the rest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/human.h"
#include "cli/base/text.h"
#include "cli/report/reason.h"
#include "cli/report/report_parts.h"
#include "core/process/records.h"

#define NAMES_SHOWN    6
/* wait4 rounds down to microseconds for each process that it adds up; the sum may differ by this much. */
#define WAIT4_GRAIN_NS 20000

/* ---- losses --------------------------------------------------------------- */

static const char *where_words(const char *where)
{
	static const struct {
		const char *where, *words;
	} known[] = {
		{ "kernel", "in the kernel, where its buffer was full" },
		{ "queue", "in the collector's queue" },
		{ "spool", "in the spool" },
		{ "sink", "on the way to a sink" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (strcmp(known[i].where, where) == 0)
			return known[i].words;
	}
	return where;
}

/* A stream may have many loss records in one run: one line per stream. */
static int print_loss(const struct report *r, size_t which)
{
	const struct lake_loss *all = r->lake->losses, *l = &all[which];
	uint64_t count = 0;
	char number[HUMAN_SIZE];

	for (size_t i = 0; i < r->lake->n_losses; i++) {
		if (strcmp(all[i].stream, l->stream) || strcmp(all[i].where, l->where) ||
		    strcmp(all[i].instance, l->instance))
			continue;
		if (i < which)
			return 0;
		count += all[i].count;
	}
	if (!count)
		return 0;
	return paint_taken(&r->paint, INK_NONE, "    ", 6,
			   text_format("%s %s%srecord%s of %s, %s", human_count(count, number), l->stream,
				       *l->stream ? " " : "", count == 1 ? "" : "s",
				       *l->instance ? l->instance : "the collector", where_words(l->where)));
}

static int print_loss_totals(const struct report *r)
{
	const struct lake_run *run = &r->lake->run;
	const struct {
		uint64_t n;
		const char *where;
	} totals[] = {
		{ run->lost_kernel, "kernel" },
		{ run->lost_queue, "queue" },
		{ run->lost_spool, "spool" },
		{ run->lost_sink, "sink" },
	};
	char number[HUMAN_SIZE];
	int rc = 0;

	for (size_t i = 0; i < sizeof(totals) / sizeof(*totals) && rc == 0; i++) {
		if (totals[i].n)
			rc = paint_taken(&r->paint, INK_NONE, "    ", 6,
					 text_format("%s record%s, %s", human_count(totals[i].n, number),
						     totals[i].n == 1 ? "" : "s", where_words(totals[i].where)));
	}
	return rc;
}

/* "1,234 records lost, 3 processes without a record" */
static char *missing_text(const struct accuracy *a)
{
	char lost[HUMAN_SIZE], missing[HUMAN_SIZE];

	human_count(a->lost, lost);
	human_count(a->missing, missing);
	return text_format("%s%s%s%s%s", a->lost ? lost : "",
			   a->lost == 1 ? " record lost"
			   : a->lost    ? " records lost"
					: "",
			   a->lost && a->missing ? ", " : "", a->missing ? missing : "",
			   a->missing == 1 ? " process without a record"
			   : a->missing    ? " processes without a record"
					   : "");
}

int report_losses(const struct report *r)
{
	const struct paint *p = &r->paint;
	char *missing;
	int rc;

	if (!r->accuracy.lost && !r->accuracy.missing)
		return 0;
	missing = missing_text(&r->accuracy);
	if (!missing)
		return -ENOMEM;
	fputc('\n', p->out);
	rc = paint_taken(p, INK_RED, paint_glyph(p, "⚠ ", "! "), 2,
			 text_format("Not everything is here: %s. Figures below may be too small.", missing));
	free(missing);
	for (size_t i = 0; i < r->lake->n_losses && rc == 0; i++)
		rc = print_loss(r, i);
	if (rc == 0 && r->lake->n_losses == 0)
		rc = print_loss_totals(r);
	return rc;
}

int report_environ(const struct report *r)
{
	const struct paint *p = &r->paint;
	char number[HUMAN_SIZE];
	uint64_t n = 0;

	for (size_t i = 0; i < r->lake->n_processes; i++)
		n += (r->lake->processes[i].kind->approx & APPROX_ENVIRON) != 0;
	if (n == 0)
		return 0;
	fputc('\n', p->out);
	return paint_taken(p, INK_YELLOW, paint_glyph(p, "⚠ ", "! "), 2,
			   text_format("skep did not search the environment of %s program%s to its end (it reads 64 KiB), and sees no SKEP_TASK "
				       "behind that; pass fewer variables, or begin the task with \"skep run --task\"",
				       human_count(n, number), n == 1 ? "" : "s"));
}

/* ---- processes that had not ended ----------------------------------------- */

static int print_state(const struct report *r, const char *state, const char *one, const char *many)
{
	const struct family *f = r->family;
	char number[HUMAN_SIZE], *names = NULL, *text;
	size_t n = 0, size;
	FILE *stream = open_memstream(&names, &size);

	if (!stream)
		return -ENOMEM;
	for (size_t m = 0; m < f->n; m++) {
		const struct lake_process *last = family_last(f, m);

		if (strcmp(last->kind->state, state) != 0)
			continue;
		if (n++ < NAMES_SHOWN)
			fprintf(stream, "%s%s (pid %u)", n > 1 ? ", " : "", reason_name(last), (unsigned)last->pid);
	}
	if (n > NAMES_SHOWN)
		fprintf(stream, " and %zu more", n - NAMES_SHOWN);
	if (fclose(stream) != 0) {
		free(names);
		return -ENOMEM;
	}
	if (n == 0) {
		free(names);
		return 0;
	}
	text = text_format("%s %s: %s", human_count(n, number), n == 1 ? one : many, names);
	free(names);
	return paint_taken(&r->paint, INK_YELLOW, "  ", 4, text);
}

int report_unended(const struct report *r)
{
	static const struct {
		const char *state, *one, *many;
	} states[] = {
		{ "running", "process still running", "processes still running" },
		{ "zombie", "zombie (ended, its parent has not waited for it)", "zombies (ended, their parents have not waited for them)" },
		{ "lost", "process whose end was not seen", "processes whose end was not seen" },
	};
	bool any = false;
	int rc = 0;

	for (size_t m = 0; m < r->family->n && !any; m++) {
		for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
			any |= strcmp(family_last(r->family, m)->kind->state, states[i].state) == 0;
	}
	if (!any)
		return 0;
	paint_title(&r->paint, r->lake->run.end_ns ? "Not over when the run ended" : "Not over yet", "");
	for (size_t i = 0; i < sizeof(states) / sizeof(*states) && rc == 0; i++)
		rc = print_state(r, states[i].state, states[i].one, states[i].many);
	return rc;
}

/* ---- the last line -------------------------------------------------------- */

/* "; agrees with wait4 (12.34 s) to 0.01 %"; "" if wait4's figure is unknown. */
static char *wait4_text(const struct paint *p, const struct accuracy *a)
{
	bool agrees = a->wait4_difference_ns <= WAIT4_GRAIN_NS || a->wait4_difference_ns * 1000 <= a->wait4_cpu_ns;
	char cpu[HUMAN_SIZE], difference[HUMAN_SIZE];

	if (!a->wait4_known)
		return text_format("%s", "");
	human_time(a->wait4_cpu_ns, paint_units(p), cpu);
	/* Of a short run a percentage would be more precise than wait4's microseconds. */
	if (a->wait4_cpu_ns < 100000000)
		human_time(a->wait4_difference_ns, paint_units(p), difference);
	else
		human_percent((double)a->wait4_difference_ns / (double)a->wait4_cpu_ns, difference);
	if (a->wait4_difference_ns == 0)
		return text_format("; agrees with wait4 (%s) exactly", cpu);
	return text_format("; %s wait4 (%s) %s %s", agrees ? "agrees with" : "differs from", cpu, agrees ? "to" : "by",
			   difference);
}

int report_accuracy(const struct report *r)
{
	const struct accuracy *a = &r->accuracy;
	bool lost = a->lost || a->missing;
	char exact[HUMAN_SIZE], all[HUMAN_SIZE], *missing = lost ? missing_text(a) : text_format("nothing lost");
	char *wait4 = wait4_text(&r->paint, a), *text = NULL;

	if (missing && wait4)
		text = text_format("%s; CPU exact for %s of %s process%s%s%s", missing,
				   human_count(a->cpu_exact, exact), human_count(a->processes, all),
				   a->processes == 1 ? "" : "es",
				   a->cpu_exact < a->processes ? ", of the rest as last seen" : "", wait4);
	free(missing);
	free(wait4);
	fputc('\n', r->paint.out);
	return paint_taken(&r->paint,
			   lost                           ? INK_RED
			   : a->cpu_exact == a->processes ? INK_GREEN
							  : INK_YELLOW,
			   "", 2, text);
}
