/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/rules/rules_*: rules from texts, files, folders and packs; the errors of wrong rules, with their places.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/config/config.h"
#include "core/rules/rule_fields.h"
#include "core/rules/rules_file.h"

static char *printed(struct diag *diag)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	diag_print(diag, out);
	fclose(out);
	diag_clear(diag);
	return text;
}

static struct ruleset *parse(const char *text)
{
	struct ruleset *set = ruleset_new(&rule_fields_schema, RULE_INCLUDE);
	struct diag diag;
	char *said;

	assert_non_null(set);
	diag_init(&diag);
	if (rules_parse(text, strlen(text), "f", &diag, set)) {
		said = printed(&diag);
		fail_msg("%s", said);
	}
	diag_clear(&diag);
	return set;
}

static void assert_refused(const char *text, const char *expected)
{
	struct ruleset *set = ruleset_new(&rule_fields_schema, RULE_INCLUDE);
	struct diag diag;
	char *said;

	assert_non_null(set);
	diag_init(&diag);
	assert_int_equal(rules_parse(text, strlen(text), "f", &diag, set), -EINVAL);
	assert_true(diag.n_errors > 0);
	said = printed(&diag);
	assert_string_equal(said, expected);
	free(said);
	ruleset_unref(set);
}

static void everything(void **state)
{
	struct ruleset *set = parse(
		"// rules of a site\n"
		"{ \"rules\": [\n"
		"  { \"id\": \"site/root\", \"when\": \"user = 'root'\", \"verdict\": \"exclude\", \"inherit\": true,\n"
		"    \"why\": \"the system's own\" }, /* and */\n"
		"  { \"id\": \"b\", \"when\": [ \"tool in ('a',\", \"'b')\" ], \"verdict\": \"include\",\n"
		"    \"set\": { \"domain\": \"genomics\", \"tier\": \"\" } },\n"
		"  { \"id\": \"c\", \"when\": true, \"verdict\": { \"sample\": 100 } }\n"
		"] }\n");
	const struct rule *r = ruleset_rule(set, 0);

	(void)state;
	assert_int_equal(ruleset_count(set), 3);
	assert_string_equal(r->id, "site/root");
	assert_string_equal(r->text, "user = 'root'");
	assert_int_equal(r->verdict, RULE_EXCLUDE);
	assert_true(r->inherit);
	assert_string_equal(r->why, "the system's own");
	assert_string_equal(r->file, "f");
	assert_int_equal(r->line, 3);
	r = ruleset_rule(set, 1);
	assert_string_equal(r->text, "tool in ('a',\n'b')");
	assert_int_equal(r->verdict, RULE_INCLUDE);
	assert_false(r->inherit);
	assert_null(r->why);
	assert_int_equal(r->n_labels, 2);
	assert_string_equal(r->labels[0].name, "domain");
	assert_string_equal(r->labels[0].value, "genomics");
	assert_int_equal(r->line, 5);
	r = ruleset_rule(set, 2);
	assert_null(r->when);
	assert_int_equal(r->verdict, RULE_SAMPLE);
	assert_int_equal(r->sample, 100);
	ruleset_unref(set);
	set = parse("{ \"rules\": [ ] }");
	assert_int_equal(ruleset_count(set), 0);
	ruleset_unref(set);
}

/* The column is exact through escapes, tabs, characters of several bytes and lists of lines. */
static void places(void **state)
{
	(void)state;
	assert_refused(
		"{ \"rules\": [\n\t{ \"id\": \"x\", \"when\": \"uid = 0 and toll = 'a'\", \"verdict\": \"exclude\" }\n] }",
		"f:2:36: error: rules[0].when: there is no field \"toll\"; did you mean \"tool\"?\n"
		"\t{ \"id\": \"x\", \"when\": \"uid = 0 and toll = 'a'\", \"verdict\": \"exclude\" }\n"
		"\t                                  ^~~~\n");
	assert_refused("{ \"rules\": [ { \"id\": \"x\", \"verdict\": \"exclude\",\n"
		       "\"when\": \"tool = \\\"\\u00e9\\ud83d\\udc1d\\t\\\" and\\n uidd = 1\" } ] }",
		       "f:2:48: error: rules[0].when: there is no field \"uidd\"; did you mean \"uid\"?\n"
		       "\"when\": \"tool = \\\"\\u00e9\\ud83d\\udc1d\\t\\\" and\\n uidd = 1\" } ] }\n"
		       "                                               ^~~~\n");
	assert_refused("{ \"rules\": [ { \"id\": \"x\", \"verdict\": \"exclude\",\n"
		       "\"when\": \"cwd = 'd\xc3\xa9j\xc3\xa0' and uid = 'root'\" } ] }",
		       "f:2:33: error: rules[0].when: uid is a number, and this is none\n"
		       "\"when\": \"cwd = 'd\xc3\xa9j\xc3\xa0' and uid = 'root'\" } ] }\n"
		       "                                ^~~~~~\n");
	assert_refused("{ \"rules\": [ { \"id\": \"x\", \"verdict\": \"exclude\", \"when\": [\n"
		       "\t\"tool = 'a'\",\n"
		       "\t\"and user = root\" ] } ] }",
		       "f:3:14: error: rules[0].when: user is a text, and this is none; write a string in quotes\n"
		       "\t\"and user = root\" ] } ] }\n"
		       "\t            ^~~~\n");
	/* at the begin of a line of the list, and at the end of the text */
	assert_refused(
		"{ \"rules\": [ { \"id\": \"x\", \"verdict\": \"exclude\", \"when\": [\n\"tool =\",\n\"\\u0020and\" ] } ] }",
		"f:3:8: error: rules[0].when: tool is a text, and this is none; write a string in quotes\n"
		"\"\\u0020and\" ] } ] }\n"
		"       ^~~\n");
	assert_refused("{ \"rules\": [ { \"id\": \"x\", \"verdict\": \"exclude\", \"when\":\n\"tool =\" } ] }",
		       "f:2:8: error: rules[0].when: tool wants a value here: a text\n"
		       "\"tool =\" } ] }\n"
		       "       ^\n");
	assert_refused(
		"{ \"rules\": [ { \"id\": \"x\", \"verdict\": \"exclude\", \"when\":\n\"tool matches 'a('\" } ] }",
		"f:2:15: error: rules[0].when: invalid regular expression: missing closing parenthesis (after 2 bytes of it)\n"
		"\"tool matches 'a('\" } ] }\n"
		"              ^~~~\n");
}

/* All errors of a text, not only the first. */
static void wrong_ones(void **state)
{
	(void)state;
	assert_refused(
		"{ \"rules\": [\n"
		"{ \"id\": \"a\", \"when\": \"uid = 1\", \"verdict\": \"drop\" },\n"
		"{ \"id\": \"b\", \"when\": \"uid = 1\", \"verdict\": { \"sample\": 0 } },\n"
		"{ \"id\": \"c\", \"when\": \"uid = 1\", \"verdict\": { } },\n"
		"{ \"when\": true },\n"
		"{ \"id\": \"d d\", \"when\": \"uid = 1\", \"verdict\": \"include\", \"inherit\": 1 },\n"
		"{ \"id\": \"d d\", \"when\": \"uid = 1\", \"verdict\": \"include\" },\n"
		"{ \"id\": \"e\", \"wen\": \"uid = 1\", \"verdict\": \"include\" },\n"
		"{ \"id\": \"f\", \"when\": 5, \"verdict\": \"include\" },\n"
		"{ \"id\": \"g\", \"when\": [], \"verdict\": \"include\" },\n"
		"{ \"id\": \"h\", \"when\": \"uid = 1\", \"verdict\": \"exclude\", \"set\": { \"a\": \"b\" } },\n"
		"{ \"id\": \"i\", \"when\": \"uid = 1\", \"verdict\": \"include\", \"set\": { \"a\": 1 } },\n"
		"{ \"id\": \"j\", \"when\": \"uid = 'x'\", \"verdict\": \"exlude\" },\n"
		"\"k\"\n"
		"] }",
		"f:2:44: error: rules[0].verdict: is the string \"drop\": give \"include\", \"exclude\", or { \"sample\": 100 } for one "
		"process in 100\n"
		"{ \"id\": \"a\", \"when\": \"uid = 1\", \"verdict\": \"drop\" },\n"
		"                                           ^\n"
		"f:3:56: error: rules[1].verdict.sample: is the integer 0: give a whole number from 1 to 1000000\n"
		"{ \"id\": \"b\", \"when\": \"uid = 1\", \"verdict\": { \"sample\": 0 } },\n"
		"                                                       ^\n"
		"f:4:44: error: rules[2].verdict: \"sample\" is missing: { \"sample\": 100 } includes one process in 100\n"
		"{ \"id\": \"c\", \"when\": \"uid = 1\", \"verdict\": { } },\n"
		"                                           ^\n"
		"f:5:1: error: rules[3]: \"id\" is missing: a name for messages, counters and reports\n"
		"{ \"when\": true },\n"
		"^\n"
		"f:5:1: error: rules[3]: \"verdict\" is missing: \"include\", \"exclude\" or { \"sample\": 100 }\n"
		"{ \"when\": true },\n"
		"^\n"
		"f:6:68: error: rules[4].inherit: is the integer 1: give true or false\n"
		"{ \"id\": \"d d\", \"when\": \"uid = 1\", \"verdict\": \"include\", \"inherit\": 1 },\n"
		"                                                                   ^\n"
		"f:7:9: error: rules[5].id: \"d d\" is not an id: 1 to 64 letters, digits, '.', '_', '-', '/'\n"
		"{ \"id\": \"d d\", \"when\": \"uid = 1\", \"verdict\": \"include\" },\n"
		"        ^\n"
		"f:8:14: error: rules[6]: unknown key \"wen\": did you mean \"when\"?\n"
		"{ \"id\": \"e\", \"wen\": \"uid = 1\", \"verdict\": \"include\" },\n"
		"             ^\n"
		"f:8:1: error: rules[6]: \"when\" is missing: a condition such as \"user = 'root'\", or true for always\n"
		"{ \"id\": \"e\", \"wen\": \"uid = 1\", \"verdict\": \"include\" },\n"
		"^\n"
		"f:9:22: error: rules[7].when: is the integer 5: give a condition such as \"user = 'root'\", a list of its lines, or "
		"true for always\n"
		"{ \"id\": \"f\", \"when\": 5, \"verdict\": \"include\" },\n"
		"                     ^\n"
		"f:10:22: error: rules[8].when: is an empty list: write the condition, or true for always\n"
		"{ \"id\": \"g\", \"when\": [], \"verdict\": \"include\" },\n"
		"                     ^\n"
		"f:11:9: error: rules[9].id: an excluded process has no record that could carry labels\n"
		"{ \"id\": \"h\", \"when\": \"uid = 1\", \"verdict\": \"exclude\", \"set\": { \"a\": \"b\" } },\n"
		"        ^\n"
		"f:12:69: error: rules[10].set.a: is not a string: write the value of a label in quotes\n"
		"{ \"id\": \"i\", \"when\": \"uid = 1\", \"verdict\": \"include\", \"set\": { \"a\": 1 } },\n"
		"                                                                    ^\n"
		"f:13:46: error: rules[11].verdict: is the string \"exlude\": give \"include\", \"exclude\", or { \"sample\": 100 } for "
		"one process in 100\n"
		"{ \"id\": \"j\", \"when\": \"uid = 'x'\", \"verdict\": \"exlude\" },\n"
		"                                             ^\n"
		"f:13:29: error: rules[11].when: uid is a number, and this is none\n"
		"{ \"id\": \"j\", \"when\": \"uid = 'x'\", \"verdict\": \"exlude\" },\n"
		"                            ^~~\n"
		"f:14:1: error: rules[12]: is the string \"k\": give an object, { ... }\n"
		"\"k\"\n"
		"^\n");
	assert_refused("[]", "f:1:1: error: is an array: give an object, { ... }\n[]\n^\n");
	assert_refused("{ \"rule\": [] }",
		       "f:1:3: error: unknown key \"rule\": did you mean \"rules\"?\n{ \"rule\": [] }\n  ^\n"
		       "f:1:1: error: \"rules\" is missing: { \"rules\": [ ... ] }\n{ \"rule\": [] }\n^\n");
	assert_refused(
		"{ \"rules\": [\n{ \"id\": \"a\",\n\"id\": \"b\" } ] }",
		"f:3:1: error: key \"id\" stands here a second time, first in line 2: remove one\n\"id\": \"b\" } ] }\n^\n");
	assert_refused(
		"{ \"rules\": [\n{ \"id\": 'a' } ] }",
		"f:2:9: error: not valid JSON: invalid token near ''': strings stand in double quotes\n{ \"id\": 'a' } ] }\n        ^\n");
}

/* ---- folders and packs -------------------------------------------------------------- */

static char folder[] = "/tmp/skep-test-rules-XXXXXX";

static void file(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void sub_folder(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

static int tear_down(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	sub_folder("a");
	sub_folder("b");
	sub_folder("packs");
	file("b/10-first.json", "{ \"rules\": [ { \"id\": \"1\", \"when\": true, \"verdict\": \"include\" } ] }");
	file("a/20.json", "{ \"rules\": [ { \"id\": \"2\", \"when\": true, \"verdict\": \"include\" }, "
			  "{ \"id\": \"3\", \"when\": true, \"verdict\": \"include\" } ] }");
	file("b/20.json", "{ \"rules\": [ { \"id\": \"4\", \"when\": true, \"verdict\": \"include\" } ] }");
	file("a/B.json", "{ \"rules\": [ { \"id\": \"5\", \"when\": true, \"verdict\": \"include\" } ] }");
	file("a/a.json", "{ \"rules\": [ { \"id\": \"6\", \"when\": true, \"verdict\": \"include\" } ] }");
	file("a/.hidden.json", "no JSON");
	file("a/a.json~", "no JSON");
	file("a/README", "no JSON");
	file("packs/host.json", "{ \"rules\": [ { \"id\": \"host/x\", \"when\": true, \"verdict\": \"exclude\" } ] }");
	file("packs/build.json",
	     "{ \"rules\": [ { \"id\": \"build/x\", \"when\": true, \"verdict\": \"exclude\" } ] }");
	return 0;
}

/* Every `from` becomes `to`.  Frees the text. */
static char *with(char *text, const char *from, const char *to)
{
	char *out = NULL;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	assert_non_null(f);
	for (const char *p = text, *at; p; p = at ? at + strlen(from) : NULL) {
		at = strstr(p, from);
		fprintf(f, "%.*s%s", at ? (int)(at - p) : (int)strlen(p), p, at ? to : "");
	}
	fclose(f);
	free(text);
	return out;
}

static char *ids(struct ruleset *set)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	for (size_t i = 0; i < ruleset_count(set); i++)
		fprintf(f, "%s%s", i ? " " : "", ruleset_rule(set, i)->id);
	fprintf(f, "%s", ruleset_otherwise(set) == RULE_EXCLUDE ? " else exclude" : "");
	fclose(f);
	ruleset_unref(set);
	return text;
}

/* The ids of the rules, or the errors; "@" stands for the folder, whose name changes with each run. */
static void assert_loaded(const char *filters, const char *expected)
{
	struct ruleset *set = NULL;
	struct config *config;
	struct diag diag;
	char *text = NULL, *is;
	int err;

	assert_true(asprintf(&text, "{\n\"filters\": %s }", filters) > 0);
	text = with(text, "@", folder);
	diag_init(&diag);
	config = config_parse(text, strlen(text), "conf", &diag);
	free(text);
	assert_non_null(config);
	err = rules_load(config, &diag, &set);
	assert_int_equal(err, diag.n_errors ? -EINVAL : 0);
	assert_int_equal(set == NULL, err != 0);
	is = err ? with(printed(&diag), folder, "@") : ids(set);
	assert_string_equal(is, expected);
	free(is);
	config_free(config);
}

static void order(void **state)
{
	(void)state;
	assert_loaded("{ }", "");
	assert_loaded("{ \"default\": \"exclude\" }", " else exclude");
	/*
	 * sorted by the bytes of the name over all folders, then by folder; packs come last, in the configuration's
	 * order
	 */
	assert_loaded(
		"{ \"dirs\": [ \"@/a\", \"@/b\" ], \"packs\": [ \"host\", \"build\" ], \"pack_dirs\": [ \"/nonexistent\", \"@/packs\" ] }",
		"1 2 3 4 5 6 host/x build/x");
	assert_loaded("{ \"dirs\": [ \"@/b\", \"@/a\" ] }", "1 4 2 3 5 6");
	assert_loaded("{ \"packs\": [ \"build\", \"host\" ], \"pack_dirs\": [ \"@/packs\" ] }", "build/x host/x");
}

static void missing(void **state)
{
	(void)state;
	assert_loaded("{ \"dirs\": [ \"@/none\" ] }",
		      "@/none: error: cannot read this folder of rules: No such file or directory\n");
	assert_loaded("{ \"packs\": [ \"hots\",\n\"genomes\" ], \"pack_dirs\": [ \"@/packs\" ] }",
		      "conf:2:25: error: there is no pack \"hots\" in @/packs: did you mean \"host\"?\n"
		      "conf:3:1: error: there is no pack \"genomes\" in @/packs\n");
	assert_loaded("{ \"pack_dirs\": [ ], \"packs\": [ \"host\" ] }",
		      "conf:2:43: error: there is no pack \"host\" in filters.pack_dirs, which is empty\n");
}

static void files(void **state)
{
	const char *paths[3] = { NULL };
	struct ruleset *set = NULL;
	struct diag diag;
	char a[128], b[128], *is;

	(void)state;
	snprintf(a, sizeof(a), "%s/packs", folder);
	snprintf(b, sizeof(b), "%s/a/B.json", folder);
	diag_init(&diag);
	assert_int_equal(rules_load_files(paths, RULE_EXCLUDE, &diag, &set), 0);
	is = ids(set);
	assert_string_equal(is, " else exclude");
	free(is);
	paths[0] = b;
	paths[1] = a;
	assert_int_equal(rules_load_files(paths, RULE_INCLUDE, &diag, &set), 0);
	is = ids(set);
	assert_string_equal(is, "5 build/x host/x");
	free(is);
	paths[1] = "/nonexistent";
	assert_int_equal(rules_load_files(paths, RULE_INCLUDE, &diag, &set), -EINVAL);
	assert_int_equal(diag.n_errors, 1);
	diag_clear(&diag);
}

/* Errors of all files, both places of a repeated id, and no set of rules. */
static void wrong_files(void **state)
{
	(void)state;
	file("b/30.json", "{ \"rules\": [\n{ \"id\": \"2\", \"when\": true, \"verdict\": \"include\" },\n"
			  "{ \"id\": \"x\", \"when\": \"uidd = 1\", \"verdict\": \"include\" } ] }");
	file("b/40.json", "{ \"rules\": [\n{ \"id\": \"7\", \"when\": true, \"verdict\": 7 } ] }");
	assert_loaded(
		"{ \"dirs\": [ \"@/a\", \"@/b\" ] }",
		"@/b/30.json:2:9: error: rules[0].id: the id \"2\" is taken: @/a/20.json:1\n"
		"{ \"id\": \"2\", \"when\": true, \"verdict\": \"include\" },\n"
		"        ^\n"
		"@/b/30.json:3:23: error: rules[1].when: there is no field \"uidd\"; did you mean \"uid\"?\n"
		"{ \"id\": \"x\", \"when\": \"uidd = 1\", \"verdict\": \"include\" } ] }\n"
		"                      ^~~~\n"
		"@/b/40.json:2:39: error: rules[0].verdict: is the integer 7: give \"include\", \"exclude\", or { \"sample\": 100 } for one "
		"process in 100\n"
		"{ \"id\": \"7\", \"when\": true, \"verdict\": 7 } ] }\n"
		"                                      ^\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything),  cmocka_unit_test(places),  cmocka_unit_test(wrong_ones),
		cmocka_unit_test(order),       cmocka_unit_test(missing), cmocka_unit_test(files),
		cmocka_unit_test(wrong_files),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
