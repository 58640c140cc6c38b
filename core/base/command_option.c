/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/command_option.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/trust.h"
#include "filters/suggest.h"

/* ---- parsing ------------------------------------------------------------------------------- */

static const struct command_option none;

/* Fills the tables for getopt_long().  Returns the number of options. */
static size_t getopt_tables(const struct command_option *o, bool passes_on, struct option *longs, char *shorts)
{
	size_t n = 0;

	if (passes_on)
		*shorts++ = '+';
	*shorts++ = ':';
	*shorts++ = 'h';
	for (; o[n].name; n++) {
		assert(n < COMMAND_OPTIONS_MOST);
		longs[n] = (struct option) { o[n].name, o[n].value ? required_argument : no_argument, NULL,
					     o[n].letter == 'h' ? 'h' : 256 + (int)n };
		if (o[n].letter) {
			*shorts++ = o[n].letter;
			if (o[n].value)
				*shorts++ = ':';
		}
	}
	*shorts = '\0';
	longs[n] = (struct option){ "help", no_argument, NULL, 'h' };
	longs[n + 1] = (struct option){ 0 };
	return n;
}

/* The option nearest to the typed one, without its dashes and its value; NULL: none is near. */
static const char *nearest_option(const char *typed, const struct option *longs)
{
	const char *names[COMMAND_OPTIONS_MOST + 2] = { NULL }, *nearest = NULL;
	char *word;

	typed += strspn(typed, "-");
	word = strndup(typed, strcspn(typed, "="));
	for (size_t i = 0; longs[i].name; i++)
		names[i] = longs[i].name;
	if (word)
		nearest = suggest_nearest(word, names); /* points to a name of the table */
	free(word);
	return nearest;
}

__attribute__((format(printf, 3, 4))) static int wrong(int err, char **ret_why, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	*ret_why = vasprintf(&text, fmt, ap) < 0 ? NULL : text;
	va_end(ap);
	return err;
}

/* getopt_long returned '?' or ':' for the option at argv[optind - 1]. */
static int wrong_option(int got, char **argv, const struct option *longs, char **ret_why)
{
	const char *typed = argv[optind - 1], *nearest = NULL;

	if (got == ':')
		return wrong(-EINVAL, ret_why, "option %s needs a value", typed);
	if (strncmp(typed, "--", 2) == 0)
		nearest = nearest_option(typed, longs);
	/* getopt_long() does not advance optind inside of "-abc". */
	else if (optopt)
		return wrong(-EINVAL, ret_why, "unknown option -%c", optopt);
	if (nearest && strncmp(typed + 2, nearest, strlen(nearest)) == 0 && typed[2 + strlen(nearest)] == '=')
		return wrong(-EINVAL, ret_why, "option --%s takes no value", nearest);
	if (nearest)
		return wrong(-EINVAL, ret_why, "unknown option %s; did you mean --%s?", typed, nearest);
	return wrong(-EINVAL, ret_why, "unknown option %s", typed);
}

int command_number(const char *text, unsigned long min, unsigned long max, unsigned long *ret)
{
	unsigned long n;
	char *end;

	if (!*text || text[strspn(text, "0123456789")]) /* strtoul takes signs and blanks */
		return -EINVAL;
	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || n < min || n > max)
		return -EINVAL;
	*ret = n;
	return 0;
}

static int add(const char ***list, const char *value)
{
	size_t n = 0;
	const char **more;

	while (*list && (*list)[n])
		n++;
	more = realloc(*list, (n + 2) * sizeof(*more));
	if (!more)
		return -1;
	more[n] = value;
	more[n + 1] = NULL;
	*list = more;
	return 0;
}

static int set(const struct command_option *o, const char *value, void *options, char **ret_why)
{
	void *to = (char *)options + o->offset;

	if (o->chooses_code && privileged_start())
		return wrong(
			-EPERM, ret_why,
			"--%s %s: refused: the file of this program has capabilities, and its caller must not choose the code that "
			"gets them; use sudo",
			o->name, value);
	switch (o->type) {
	case COMMAND_FLAG:
		*(bool *)to = true;
		break;
	case COMMAND_COUNT:
		++*(int *)to;
		break;
	case COMMAND_TEXT:
		if (o->min > 0 && !*value)
			return wrong(-EINVAL, ret_why, "--%s: an empty %s", o->name, o->value);
		*(const char **)to = value;
		break;
	case COMMAND_NUMBER:
		if (command_number(value, o->min, o->max, to))
			return wrong(-EINVAL, ret_why, "--%s '%s' is not a number from %lu to %lu", o->name, value, o->min,
				     o->max);
		break;
	case COMMAND_LIST:
		if (add(to, value) < 0)
			return wrong(-ENOMEM, ret_why, "out of memory");
		break;
	}
	return 0;
}

int command_options_parse(const struct command_option *table, bool passes_on, int argc, char **argv, void *options,
			  char **ret_why)
{
	struct option longs[COMMAND_OPTIONS_MOST + 2];
	char shorts[2 * COMMAND_OPTIONS_MOST + 4];
	int got, err;
	size_t n;

	if (!table)
		table = &none;
	n = getopt_tables(table, passes_on, longs, shorts);
	optind = 0; /* GNU: begin anew */
	opterr = 0;
	while ((got = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		size_t i = got >= 256 ? (size_t)got - 256 : 0;

		if (got == 'h')
			return 1;
		if (got == '?' || got == ':')
			return wrong_option(got, argv, longs, ret_why);
		while (got < 256 && i < n && table[i].letter != got)
			i++;
		err = set(&table[i], optarg, options, ret_why);
		if (err)
			return err;
	}
	return 0;
}

/* ---- help ---------------------------------------------------------------------------------- */

/* Prints words behind `column`, in lines of at most `width` columns. */
static void flow(FILE *out, const char *text, size_t column, size_t width)
{
	size_t room = width > column + 20 ? width - column : 20;

	while (strlen(text) > room) {
		size_t n = room;

		while (n > 0 && text[n] != ' ')
			n--;
		n = n ? n : strcspn(text, " ");
		fprintf(out, "%.*s\n%*s", (int)n, text, (int)column, "");
		text += n;
		text += strspn(text, " ");
	}
	fprintf(out, "%s\n", text);
}

/* "-o, --output FILE" or, of a word, "recover FILE"; fits into `left`. Returns its length. */
static size_t left_of(const struct command_option *o, bool word, bool letters, char *left, size_t size)
{
	char letter[5] = "";

	if (letters && !word)
		snprintf(letter, sizeof(letter), o->letter ? "-%c, " : "    ", o->letter);
	return (size_t)snprintf(left, size, "  %s%s%s%s%s", letter, word ? "" : "--", o->name, o->value ? " " : "",
				o->value ? o->value : "");
}

void command_options_print(const struct command_option *words, const struct command_option *options, FILE *out,
			   size_t width)
{
	const struct command_option *const tables[] = { words, options };
	size_t column = 0, n;
	bool letters = false;
	char left[80];

	for (const struct command_option *o = options; o && o->name; o++)
		letters |= o->letter != 0;
	for (int print = 0; print < 2; print++) /* the first pass only measures */
		for (int t = 0; t < 2; t++)
			for (const struct command_option *o = tables[t]; o && o->name; o++) {
				n = left_of(o, t == 0, letters, left, sizeof(left)) + 2;
				if (print) {
					fprintf(out, "%-*s", (int)column, left);
					flow(out, o->help, column, width);
				}
				column = n > column ? n : column;
			}
}
