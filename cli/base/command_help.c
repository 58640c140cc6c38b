/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/command_help.c - the help of a command, and of a program, from their descriptors.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/command.h"
#include "cli/base/paint.h"
#include "cli/base/program.h"
#include "cli/base/skep.h"

#define WIDTH_MOST 100 /* longer lines are hard to read */

struct usage {
	FILE *out;
	size_t column, at, width;
};

/* Prints a unit of the usage, "[--limit N]", on one line. */
static void unit(struct usage *u, const char *before, const char *name, const char *value, const char *after)
{
	size_t len = strlen(before) + strlen(name) + (value ? 1 + strlen(value) : 0) + strlen(after);

	if (u->width && u->at > u->column && u->at + 1 + len > u->width) {
		fprintf(u->out, "\n%*s", (int)u->column, "");
		u->at = u->column;
	}
	fprintf(u->out, "%s%s%s%s%s%s", u->at > u->column ? " " : "", before, name, value ? " " : "",
		value ? value : "", after);
	u->at += len + (u->at > u->column);
}

static void operands(const struct command *c, struct usage *u)
{
	for (const struct command_option *w = c->words; w && w->name; w++)
		unit(u, w == c->words ? "" : "| ", w->name, w->value, "");
	if (c->operands)
		unit(u, "", c->operands, NULL, "");
}

void command_usage(const struct command *c, FILE *out, size_t column, size_t width)
{
	struct usage u = { out, column, column, width };

	if (!c->passes_on)
		operands(c, &u);
	for (const struct command_option *o = c->options; o && o->name; o++)
		unit(&u, "[--", o->name, o->value, "]");
	if (c->passes_on)
		operands(c, &u);
}

/* Prints a blank line, and the text wrapped to the terminal's width. */
static void lines(const struct paint *p, const char *text)
{
	putc('\n', p->out);
	while (*text) {
		size_t len = strcspn(text, "\n");
		char *line = strndup(text, len);

		paint_flow(p, INK_NONE, 0, 0, line ? line : "");
		free(line);
		text += len + (text[len] == '\n');
	}
}

int command_help(const struct command *c)
{
	struct paint p;
	int column;

	paint_init(&p, stdout, NULL);
	p.width = p.width > WIDTH_MOST ? WIDTH_MOST : p.width;
	column = printf("usage: %s %s ", program_name(), c->name);
	command_usage(c, stdout, (size_t)column, p.width);
	printf("\n\n%c%s.\n", toupper((unsigned char)c->summary[0]), c->summary + 1);
	if (c->about)
		lines(&p, c->about);
	if (c->words || c->options)
		putchar('\n');
	command_options_print(c->words, c->options, p.out, p.width);
	if (c->notes)
		lines(&p, c->notes);
	return SKEP_EXIT_OK;
}

void command_overview(const struct command_program *program, FILE *out)
{
	fprintf(out, "%s\n\nusage: %s COMMAND [OPTION...]\n\n", program->about, program->name);
	for (const struct command *const *c = program->commands; *c; c++)
		if ((*c)->summary)
			fprintf(out, "  %-14s %s\n", (*c)->name, (*c)->summary);
	fprintf(out,
		"  help           explain a command: %s help %s%s\n\n"
		"  -h, --help     this text\n"
		"  -V, --version  version and how it was built\n\n"
		"To begin: %s\n",
		program->name, *program->commands ? (*program->commands)->name : "COMMAND",
		program->concepts ? "; the words: skep help concepts" : "", program->begin);
}
