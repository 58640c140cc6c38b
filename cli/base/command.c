/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/command.c - parses a command line by the command's own table of options.
 */
#include "cli/base/command.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "cli/base/skep.h"
#include "filters/suggest.h"

int command_parse(const struct command *c, int argc, char **argv, void *options)
{
	char *why = NULL;
	int err = command_options_parse(c->options, c->passes_on, argc, argv, options, &why), status = -1;

	if (err > 0)
		status = command_help(c);
	else if (err == -EINVAL)
		status = skep_usage(c->name, "%s", why ? why : "wrong usage");
	else if (err < 0)
		status = skep_fail(c->name, err == -EPERM ? SKEP_EXIT_PRIVILEGE : SKEP_EXIT_RUNTIME, "%s",
				   why ? why : "out of memory");
	else if (c->most >= 0 && argc - optind > c->most)
		status = skep_usage(c->name, "unexpected argument '%s'", argv[optind + c->most]);
	free(why);
	return status;
}

int command_no_word(const struct command *c, const char *word)
{
	const char *names[COMMAND_OPTIONS_MOST] = { NULL }, *nearest;
	char list[256] = "";
	size_t at = 0;

	for (size_t i = 0; c->words[i].name; i++) {
		assert(i < COMMAND_OPTIONS_MOST - 1);
		names[i] = c->words[i].name;
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s", i ? ", " : "", names[i]);
		assert(at < sizeof(list));
	}
	nearest = word ? suggest_nearest(word, names) : NULL;
	if (!word)
		return skep_usage(c->name, "give one of: %s", list);
	return skep_usage(c->name, "'%s' is none of %s%s%s%s", word, list, nearest ? "; did you mean " : "",
			  nearest ? nearest : "", nearest ? "?" : "");
}
