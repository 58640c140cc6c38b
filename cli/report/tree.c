/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/tree.c - prints the process tree: figures in columns on the left, commands
 * on the right, where they may be as long as the line.
 *
 * A process has a line per image, but the moment between fork and exec is part of the line of
 * the next image: it is a copy of the parent, and nearly every process has
 * one.  No recursion: a chain of processes can be longer than a stack.
 */
#include "cli/report/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/human.h"
#include "cli/base/table.h"
#include "cli/base/text.h"
#include "cli/report/reason.h"

/* The tree draws this many levels; a deeper process gets the number of levels left out in front. */
#define DEPTH_DRAWN     12
#define FIGURES_COLUMNS 50

static size_t depth_drawn(const struct paint *p)
{
	size_t drawn = p->width > FIGURES_COLUMNS ? (p->width - FIGURES_COLUMNS) / 6 : 1;

	return drawn < 1 ? 1 : drawn > DEPTH_DRAWN ? DEPTH_DRAWN : drawn;
}

/* Draws the branches in front of a command. again: the process's second or later image. */
static char *branches(const struct paint *p, const struct family *f, size_t member, size_t depth, bool again)
{
	const struct family_member *m = &f->members[member];
	char *text = NULL;
	size_t size, drawn = depth_drawn(p), skipped = depth > drawn ? depth - drawn : 0;
	const char *levels[DEPTH_DRAWN + 1];
	size_t n = 0;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	/* Collect from the process up to the first drawn level, then print in reverse order. */
	if (m->parent != FAMILY_NONE) {
		bool last = m->sibling == FAMILY_NONE;

		levels[n++] = again ? (last ? "   " : paint_glyph(p, "│  ", "|  "))
				    : (last ? paint_glyph(p, "└─ ", "`- ") : paint_glyph(p, "├─ ", "|- "));
		for (size_t a = m->parent; f->members[a].parent != FAMILY_NONE && n < drawn; a = f->members[a].parent)
			levels[n++] = f->members[a].sibling == FAMILY_NONE ? "   " : paint_glyph(p, "│  ", "|  ");
	}
	if (skipped)
		fprintf(stream, "%s%-4zu", paint_glyph(p, "…", "+"), skipped);
	while (n)
		fputs(levels[--n], stream);
	if (again)
		fputs(paint_glyph(p, "↻ ", "= "), stream);
	if (ferror(stream)) {
		fclose(stream);
		free(text);
		return NULL;
	}
	if (fclose(stream) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static char *command(const struct paint *p, const struct lake_process *image)
{
	char *text;

	if (image->argv && image->argv[0] && image->kind->execed)
		return text_argv(image->argv, image->argv_cut, p->unicode, 4096);
	text = text_safe(reason_name(image), p->unicode);
	if (text && !image->kind->execed) {
		char *fork = NULL;

		if (asprintf(&fork, "(fork of %s)", text) < 0)
			fork = NULL;
		free(text);
		text = fork;
	}
	return text;
}

/* Adds the line of an image. fork: the image before, if this line includes it; else NULL. */
static int add_image(struct table *t, const struct paint *p, const struct family *f, size_t member, size_t depth,
		     size_t image, const struct lake_process *fork)
{
	const struct lake_process *i = &f->report->processes[image];
	uint64_t run_start = f->report->run.start_ns, start_ns = fork ? fork->start_ns : i->start_ns;
	unsigned units = paint_units(p) | HUMAN_SHORT;
	bool again = image != f->members[member].first && !fork, failed = reason_failed(i);
	char *lead = branches(p, f, member, depth, again), *argv = command(p, i), *end = reason_short(i);
	char start[HUMAN_SIZE], elapsed[HUMAN_SIZE], cpu[HUMAN_SIZE], rss[HUMAN_SIZE];
	int rc = -ENOMEM;

	if (!lead || !argv || !end)
		goto out;
	human_time(start_ns > run_start ? start_ns - run_start : 0, units, start);
	human_time(i->end_ns > start_ns ? i->end_ns - start_ns : 0, units, elapsed);
	human_time(i->totals.cpu_ns + (fork ? fork->totals.cpu_ns : 0), units, cpu);
	human_bytes(i->totals.rss_peak_bytes, units, rss);
	if (again)
		table_cell(t, INK_DIM, "%s", "");
	else
		table_cell(t, INK_NONE, "%llu", (unsigned long long)i->pid);
	table_cell(t, INK_DIM, "%s", start);
	table_cell(t, INK_NONE, "%s", i->end_ns ? elapsed : "-");
	table_cell(t, INK_NONE, "%s", cpu);
	table_cell(t, INK_NONE, "%s", rss);
	table_cell(t, failed ? INK_RED : INK_DIM, "%s", end);
	table_cell(t, i->kind->execed ? INK_NONE : INK_DIM, "%s%s", lead, argv);
	rc = 0;
out:
	free(lead);
	free(argv);
	free(end);
	return rc;
}

static int add_member(struct table *t, const struct paint *p, const struct family *f, size_t member, size_t depth)
{
	size_t image = f->members[member].first;
	const struct lake_process *first = &f->report->processes[image], *fork = NULL;
	int rc = 0;

	if (!first->kind->execed && f->next_image[image] != FAMILY_NONE) {
		fork = first;
		image = f->next_image[image];
	}
	for (; image != FAMILY_NONE && rc == 0; image = f->next_image[image]) {
		rc = add_image(t, p, f, member, depth, image, fork);
		fork = NULL;
	}
	return rc;
}

int tree_print(const struct paint *p, const struct family *f)
{
	static const struct table_column columns[] = {
		{ .title = "pid" },
		{ .title = "start" },
		{ .title = "elapsed" },
		{ .title = "CPU" },
		{ .title = "RSS peak" },
		{ .title = "end", .left = true },
		{ .title = "command", .left = true, .flex = true },
	};
	struct table *t = table_new(columns, sizeof(columns) / sizeof(*columns));
	int rc = 0;

	if (!t)
		return -ENOMEM;
	for (size_t top = 0; top < f->n && rc == 0; top++) {
		size_t m = top, depth = 0;

		if (f->members[top].parent != FAMILY_NONE)
			continue;
		/* Go to the first child, else to the next sibling of the nearest ancestor that has one. */
		while (m != FAMILY_NONE && rc == 0) {
			rc = add_member(t, p, f, m, depth);
			if (f->members[m].child != FAMILY_NONE) {
				m = f->members[m].child;
				depth++;
				continue;
			}
			while (m != FAMILY_NONE && m != top && f->members[m].sibling == FAMILY_NONE) {
				m = f->members[m].parent;
				depth--;
			}
			m = m == top ? FAMILY_NONE : f->members[m].sibling;
		}
	}
	if (rc == 0) {
		paint_title(p, "Processes", "");
		rc = table_print(t, p, 0, 2);
	}
	table_free(t);
	return rc;
}
