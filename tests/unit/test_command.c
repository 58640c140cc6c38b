/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_command.c - cli/base/command.c parses a command line by a table of options; every descriptor of skep
 * and skep-dev is complete.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/base/command.h"
#include "cli/base/skep.h"

struct options {
	bool flag;
	const char *text;
	unsigned long number;
	const char **list;
};

static const struct command_option table[] = {
	{ "flag", 'f', .help = "a flag", COMMAND_AT(struct options, flag) },
	{ "text", .value = "PATH", .help = "a text that is not empty", .min = 1, COMMAND_AT(struct options, text) },
	{ "number", 'n', "N", "a number", .min = 1, .max = 10, COMMAND_AT(struct options, number) },
	{ "list", .value = "X", .help = "a list", COMMAND_AT(struct options, list) },
	{ 0 },
};
static const struct command_option words[] = { { "check", .value = "FILE", .help = "a word" },
					       { "drop", .help = "another" },
					       { 0 } };
static const struct command one = { .name = "one", .options = table, .most = 1 },
			    beginning = { .name = "b", .options = table, .most = -1, .passes_on = true },
			    worded = { .name = "w", .words = words, .options = table };

static int parse(const struct command *c, struct options *o, const char *line)
{
	static char text[256];
	char *argv[16] = { NULL }, *rest = text;
	int argc = 0;

	snprintf(text, sizeof(text), "%s", line);
	for (char *word; (word = strsep(&rest, " "));)
		argv[argc++] = word;
	memset(o, 0, sizeof(*o));
	return command_parse(c, argc, argv, o);
}

static void test_values(void **state)
{
	struct options o;

	(void)state;
	assert_int_equal(parse(&one, &o, "one x -f --text a --number=10 --list p --list q"), -1);
	assert_int_equal(optind, 9); /* x is the first word after the options */
	assert_true(o.flag);
	assert_string_equal(o.text, "a");
	assert_int_equal(o.number, 10);
	assert_string_equal(o.list[0], "p");
	assert_string_equal(o.list[1], "q");
	assert_null(o.list[2]);
	free(o.list);
	assert_int_equal(parse(&one, &o, "one -fn3"), -1);
	assert_true(o.flag);
	assert_int_equal(o.number, 3);
	assert_null(o.list);
}

static void test_wrong(void **state)
{
	static const char *const lines[] = {
		"one --nosuch",    "one --number", "one --number 0", "one --number 11", "one --number -1",
		"one --number 3x", "one --text=",  "one -x",         "one --flag=yes",  "one a b",
	};
	struct options o;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(parse(&one, &o, lines[i]), SKEP_EXIT_USAGE);
}

/* What follows the first operand belongs to another program. */
static void test_passes_on(void **state)
{
	struct options o;

	(void)state;
	assert_int_equal(parse(&beginning, &o, "b -f make -n --nosuch"), -1);
	assert_int_equal(optind, 2);
	assert_int_equal(parse(&beginning, &o, "b -- -f"), -1);
	assert_int_equal(optind, 2);
	assert_false(o.flag);
}

static void test_usage(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	assert_non_null(f);
	command_usage(&worded, f, 0, 0);
	fputc('\n', f);
	command_usage(&worded, f, 4, 24);
	assert_int_equal(fclose(f), 0);
	assert_string_equal(text,
			    "check FILE | drop [--flag] [--text PATH] [--number N] [--list X]\n"
			    "check FILE | drop\n    [--flag]\n    [--text PATH]\n    [--number N]\n    [--list X]");
	free(text);
	assert_int_equal(command_no_word(&worded, "chekc"), SKEP_EXIT_USAGE);
	assert_int_equal(command_no_word(&worded, NULL), SKEP_EXIT_USAGE);
}

static void whole(const struct command *c)
{
	assert_non_null(c->run);
	if (!c->summary)
		return;
	assert_true(islower((unsigned char)c->summary[0]));
	assert_true(c->summary[strlen(c->summary) - 1] != '.');
	assert_true(!c->about || c->about[strlen(c->about) - 1] == '\n');
	assert_true(!c->notes || c->notes[strlen(c->notes) - 1] == '\n');
	for (const struct command_option *o = c->options; o && o->name; o++) {
		assert_true((o->value == NULL) == (o->type == COMMAND_FLAG));
		assert_true(o->help && *o->help);
		assert_true(o->type != COMMAND_NUMBER || o->max > o->min);
		for (const struct command_option *other = o + 1; other->name; other++) {
			assert_string_not_equal(o->name, other->name);
			assert_true(!o->letter || o->letter != other->letter);
		}
	}
	for (const struct command_option *w = c->words; w && w->name; w++)
		assert_true(w->help && *w->help);
}

static void test_descriptors(void **state)
{
	static const struct command_program *const programs[] = { &skep_program, &skep_dev_program };

	(void)state;
	for (size_t i = 0; i < 2; i++)
		for (const struct command *const *c = programs[i]->commands; *c; c++) {
			whole(*c);
			for (const struct command *const *other = c + 1; *other; other++)
				assert_string_not_equal((*c)->name, (*other)->name);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),	   cmocka_unit_test(test_wrong),       cmocka_unit_test(test_passes_on),
		cmocka_unit_test(test_usage),	   cmocka_unit_test(test_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
