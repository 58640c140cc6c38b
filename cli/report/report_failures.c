/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/report_failures.c - prints the failures of a run, worst first: the process, the reason, the processes that
 * failed because of it, and a remedy if it ended the run.
 */
#include <errno.h>
#include <stdlib.h>

#include "cli/base/human.h"
#include "cli/base/text.h"
#include "cli/report/reason.h"
#include "cli/report/report_parts.h"

#define GROUPS_SHOWN 8
#define CHAIN_SHOWN  4

/* "then bash: exit 137, make: exit 2, and with it the run"; "" if no process failed because of it. */
static char *chain_text(const struct report *r, const struct failure *failure)
{
	char *text = NULL, *safe;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (size_t i = 0; i < failure->n_chain && i < CHAIN_SHOWN; i++) {
		const struct lake_process *p = &r->lake->processes[failure->chain[i]];
		char *end = reason_text(p, r->paint.unicode);

		fprintf(f, "%s%s: %s", i ? ", " : "then ", reason_name(p), end ? end : "failed");
		free(end);
	}
	if (failure->n_chain > CHAIN_SHOWN)
		fprintf(f, ", %zu more", failure->n_chain - CHAIN_SHOWN);
	if (failure->ended_run)
		fprintf(f, "%s", failure->n_chain ? ", and with it the run" : "this ended the run");
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	safe = text_safe(text, r->paint.unicode);
	free(text);
	return safe;
}

/* Prints the time and the command of a group's first process, on one line. */
static int print_command(const struct report *r, const struct lake_process *first)
{
	const struct paint *p = &r->paint;
	char after[HUMAN_SIZE], *argv, *line = NULL, *cut = NULL;
	int rc = -ENOMEM;

	human_time(first->end_ns > first->start_ns ? first->end_ns - first->start_ns : 0, paint_units(p), after);
	argv = text_argv(first->argv, first->argv_cut, p->unicode, 4096);
	if (argv)
		line = text_format("after %s: %s", after, *argv ? argv : "(a fork, it has no command of its own)");
	if (line)
		cut = text_cut(line, p->width - 4, p->unicode);
	if (cut) {
		fputs("    ", p->out);
		paint(p, INK_DIM, "%s", cut);
		fputc('\n', p->out);
		rc = 0;
	}
	free(argv);
	free(line);
	free(cut);
	return rc;
}

static const char *mark_of(const struct paint *p, enum failure_severity severity)
{
	switch (severity) {
	case FAILURE_ERROR:
		return paint_glyph(p, "  ✘ ", "  X ");
	case FAILURE_WARNING:
		return "  ! ";
	case FAILURE_INFO:
		break;
	}
	return paint_glyph(p, "  · ", "  - ");
}

static int print_failure(const struct report *r, const struct failure *failure)
{
	static const enum ink inks[] = {
		[FAILURE_INFO] = INK_NONE, [FAILURE_WARNING] = INK_YELLOW, [FAILURE_ERROR] = INK_RED
	};
	const struct lake_process *first = &r->lake->processes[failure->images[0]];
	const struct paint *p = &r->paint;
	char *subject = text_safe(failure->subject, p->unicode), *reason = reason_text(first, p->unicode);
	char *chain = chain_text(r, failure), *advice = reason_advice(first, p->unicode), *text = NULL,
	     count[HUMAN_SIZE];
	int rc = -ENOMEM;

	if (!subject || !reason || !chain || !advice)
		goto out;
	if (failure->n > 1)
		text = text_format("%s%s%s: %s", human_count(failure->n, count), paint_glyph(p, " × ", " x "), subject,
				   reason);
	else
		text = text_format("%s (pid %u): %s", subject, (unsigned)first->pid, reason);
	if (!text)
		goto out;
	paint_wrapped(p, inks[failure->severity], mark_of(p, failure->severity), 4, text);
	rc = 0;
	if (failure->severity == FAILURE_INFO) /* one line is enough */
		goto out;
	rc = print_command(r, first);
	if (*chain)
		paint_wrapped(p, INK_DIM, "    ", 4, chain);
	if (failure->severity == FAILURE_ERROR)
		paint_wrapped(p, INK_NONE, paint_glyph(p, "    → ", "    > "), 6, advice);
out:
	free(subject);
	free(reason);
	free(chain);
	free(advice);
	free(text);
	return rc;
}

int report_failures(const struct report *r)
{
	const struct failures *all = r->failures;
	bool succeeded = r->lake->run.exit_code == 0 && !r->lake->run.signal;
	uint64_t hidden = 0;
	char kinds[HUMAN_SIZE], count[HUMAN_SIZE];
	int rc = 0;

	if (all->n == 0)
		return 0;
	paint_title(&r->paint, "Failures", succeeded ? "the run succeeded all the same" : "");
	for (size_t i = 0; i < all->n && rc == 0; i++) {
		if (i < GROUPS_SHOWN)
			rc = print_failure(r, &all->list[i]);
		else
			hidden += all->list[i].n;
	}
	if (hidden) {
		fputs("    ", r->paint.out);
		paint(&r->paint, INK_DIM, "and %s more kinds, %s process%s in all: skep show --json lists them",
		      human_count(all->n - GROUPS_SHOWN, kinds), human_count(hidden, count), hidden == 1 ? "" : "es");
		fputc('\n', r->paint.out);
	}
	return rc;
}
