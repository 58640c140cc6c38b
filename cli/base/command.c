/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/command.c - parses a command line by the command's own table of options.
 */
#include "cli/base/command.h"

#include <assert.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/skep.h"
#include "cli/base/text.h"
#include "core/base/trust.h"
#include "filters/suggest.h"

#define OPTIONS_MOST 24 /* of one command, and words */

static const struct command_option none;

/* What getopt_long takes, of the same table. Returns how many options there are. */
static size_t getopt_tables(const struct command *c, struct option *longs, char *shorts)
{
	const struct command_option *o = c->options ? c->options : &none;
	size_t n = 0;

	if (c->passes_on)
		*shorts++ = '+';
	*shorts++ = ':';
	*shorts++ = 'h';
	for (; o[n].name; n++) {
		assert(n < OPTIONS_MOST);
		longs[n] =
			(struct option) { o[n].name, o[n].value ? required_argument : no_argument, NULL, 256 + (int)n };
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
	const char *names[OPTIONS_MOST + 2] = { NULL }, *nearest = NULL;
	char *word;

	typed += strspn(typed, "-");
	word = strndup(typed, strcspn(typed, "="));
	for (size_t i = 0; longs[i].name; i++)
		names[i] = longs[i].name;
	if (word)
		nearest = suggest_nearest(word, names); /* one of the table's */
	free(word);
	return nearest;
}

/* getopt_long returned '?' or ':' for the option that stood at argv[optind - 1]. */
static int wrong_option(const struct command *c, int got, char **argv, const struct option *longs)
{
	const char *typed = argv[optind - 1], *nearest = NULL;

	if (got == ':')
		return skep_usage(c->name, "option %s needs a value", typed);
	if (strncmp(typed, "--", 2) == 0)
		nearest = nearest_option(typed, longs);
	/* getopt has not moved on while it is inside of "-abc". */
	else if (optopt)
		return skep_usage(c->name, "unknown option -%c", optopt);
	if (nearest && strncmp(typed + 2, nearest, strlen(nearest)) == 0 && typed[2 + strlen(nearest)] == '=')
		return skep_usage(c->name, "option --%s takes no value", nearest);
	if (nearest)
		return skep_usage(c->name, "unknown option %s; did you mean --%s?", typed, nearest);
	return skep_usage(c->name, "unknown option %s", typed);
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

static int set(const struct command *c, const struct command_option *o, const char *value, void *options)
{
	void *to = (char *)options + o->offset;

	if (o->chooses_code && privileged_start())
		return skep_fail(
			c->name, SKEP_EXIT_PRIVILEGE,
			"--%s %s: refused: the file of this program has capabilities, and its caller must not choose the code that "
			"gets them; use sudo",
			o->name, value);
	switch (o->type) {
	case COMMAND_FLAG:
		*(bool *)to = true;
		break;
	case COMMAND_TEXT:
		if (o->min > 0 && !*value)
			return skep_usage(c->name, "--%s: an empty %s", o->name, o->value);
		*(const char **)to = value;
		break;
	case COMMAND_NUMBER:
		if (text_number(value, o->min, o->max, to))
			return skep_usage(c->name, "--%s '%s' is not a number from %lu to %lu", o->name, value, o->min,
					  o->max);
		break;
	case COMMAND_LIST:
		if (add(to, value) < 0)
			return skep_fail(c->name, SKEP_EXIT_RUNTIME, "out of memory");
		break;
	}
	return -1;
}

int command_parse(const struct command *c, int argc, char **argv, void *options)
{
	struct option longs[OPTIONS_MOST + 2];
	char shorts[2 * OPTIONS_MOST + 4];
	size_t n = getopt_tables(c, longs, shorts);
	int got, status;

	optind = 0; /* GNU: begin anew */
	opterr = 0;
	while ((got = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		size_t i = got >= 256 ? (size_t)got - 256 : 0;

		if (got == 'h')
			return command_help(c);
		if (got == '?' || got == ':')
			return wrong_option(c, got, argv, longs);
		while (got < 256 && i < n && c->options[i].letter != got)
			i++;
		status = set(c, &c->options[i], optarg, options);
		if (status >= 0)
			return status;
	}
	if (c->most >= 0 && argc - optind > c->most)
		return skep_usage(c->name, "what is '%s'?", argv[optind + c->most]);
	return -1;
}

int command_no_word(const struct command *c, const char *word)
{
	const char *names[OPTIONS_MOST] = { NULL }, *nearest;
	char list[256] = "";
	size_t at = 0;

	for (size_t i = 0; c->words[i].name; i++) {
		assert(i < OPTIONS_MOST - 1);
		names[i] = c->words[i].name;
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s", i ? ", " : "", names[i]);
		assert(at < sizeof(list));
	}
	nearest = word ? suggest_nearest(word, names) : NULL;
	if (!word)
		return skep_usage(c->name, "which of %s?", list);
	return skep_usage(c->name, "'%s' is none of %s%s%s%s", word, list, nearest ? "; did you mean " : "",
			  nearest ? nearest : "", nearest ? "?" : "");
}
