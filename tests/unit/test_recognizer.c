/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_recognizer.c - the built-in recognizers by their own tests, a site's table, the errors of a wrong
 * one, and what a hostile process can do to a pattern.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <time.h>
#include <unistd.h>

#include "core/identify/recognizer.h"
#include "filters/pattern.h"

static char path[64];

static int write_table(void **state)
{
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/test_recognizer.XXXXXX");
	fd = mkstemp(path);
	return fd < 0 || close(fd);
}

static int remove_table(void **state)
{
	(void)state;
	return unlink(path);
}

static struct recognizers *with(const char *text, struct diag *diag)
{
	const char *more[] = { path, NULL };
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	diag_init(diag);
	return recognizers_new(more, diag);
}

static void built_in(void **state)
{
	struct recognizers *r;
	struct tools *tools;
	struct diag diag;
	size_t n;

	(void)state;
	diag_init(&diag);
	tools = tools_new(NULL, &diag);
	r = recognizers_new(NULL, &diag);
	diag_print(&diag, stderr);
	assert_non_null(r);
	n = recognizers_test(r, tools, false, &diag);
	diag_print(&diag, stderr);
	assert_int_equal(diag.n_errors, 0);
	assert_true(n >= recognizers_count(r)); /* each entry has a test */
	for (n = 0; recognizers_environ(r)[n]; n++)
		;
	printf("the built-in tables read %zu of 64 variables\n", n);
	assert_true(n <= 60); /* a site's tables need some, too */
	for (size_t i = 0; i < recognizers_count(r); i++)
		assert_ptr_equal(recognizers_find(r, recognizer_engine(recognizers_at(r, i))), recognizers_at(r, i));
	recognizers_unref(r);
	tools_free(tools);
	diag_clear(&diag);
}

#define ENTRY(text_) "{ \"recognizers\": [ { " text_ " } ] }"
#define HEAD "\"engine\": \"x\", \"class\": \"workflow\", "

/* A test that an entry fails is an error that says what differs. */
static void tests_of_an_entry(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ ENTRY(HEAD "\"run\": [ { \"programs\": [\"xx\"] } ], \"tests\": [ { \"argv\": [\"/bin/xx\"], \"run\": {} } ]"),
		  NULL },
		{ ENTRY(HEAD "\"run\": [ { \"programs\": [\"xx\"] } ], \"tests\": [ { \"argv\": [\"/bin/xy\"], \"run\": {} } ]"),
		  "tests[0]: it should begin a run, but does not" },
		{ ENTRY(HEAD "\"run\": [ { \"programs\": [\"x?\"] } ], \"tests\": [ { \"argv\": [\"/bin/xy\"], \"run\": false } ]"),
		  "tests[0]: it begins a run, but should not" },
		{ ENTRY(HEAD "\"run\": [ { \"programs\": [\"xx\"], \"facts\": [ { \"option\": [\"-n\"], \"as\": \"name\" } ] } ], "
			     "\"tests\": [ { \"argv\": [\"/bin/xx\", \"-n=a\"], \"run\": { \"name\": \"b\" } } ]"),
		  "tests[0]: run.name is \"a\", not \"b\"" },
		{ ENTRY(HEAD "\"task\": [ { \"child\": true, \"facts\": [ { \"option\": [\"-m\"], \"as\": \"memory_mib\" } ] } ], "
			     "\"tests\": [ { \"argv\": [\"/bin/xx\", \"-m\", \"2G\"], \"child\": true, "
			     "\"task\": { \"memory_bytes\": 2147483648 } } ]"),
		  NULL },
		{ ENTRY(HEAD "\"task\": [ { \"facts\": [ { \"option\": [\"-t\"], \"as\": \"walltime\" } ] } ], "
			     "\"tests\": [ { \"argv\": [\"/bin/xx\", \"-t\", \"1-02:00:03\"], \"task\": { \"walltime_s\": 93603 } }, "
			     "{ \"argv\": [\"/bin/xx\", \"-t\", \"1-12\"], \"task\": { \"walltime_s\": 129600 } }, "
			     "{ \"argv\": [\"/bin/xx\", \"-t\", \"0-12:30\"], \"task\": { \"walltime_s\": 45000 } }, "
			     "{ \"argv\": [\"/bin/xx\", \"-t\", \"0-1-2\"], \"task\": { \"walltime_s\": null } }, "
			     "{ \"argv\": [\"/bin/xx\", \"-t\", \"12:30\"], \"task\": { \"walltime_s\": 750 } }, "
			     "{ \"argv\": [\"/bin/xx\", \"-t\", \"90\"], \"task\": { \"walltime_s\": 90 } } ]"),
		  NULL },
		/* A text has facts of the items above it, and nothing if one of them is not known. */
		{ ENTRY(HEAD "\"task\": [ { \"facts\": [ { \"text\": \"{name}/{job}\", \"as\": \"again\" }, "
			     "{ \"option\": [\"-n\"], \"as\": \"name\" }, { \"option\": [\"-j\"], \"as\": \"job\" }, "
			     "{ \"text\": \"{name}/{job}\", \"as\": \"key\" } ] } ], "
			     "\"tests\": [ { \"argv\": [\"/bin/xx\", \"-n\", \"a\", \"-j\", \"b\"], "
			     "\"task\": { \"key\": \"a/b\", \"again\": null } }, "
			     "{ \"argv\": [\"/bin/xx\", \"-n\", \"a\"], \"task\": { \"key\": null } } ]"),
		  NULL },
		{ ENTRY(HEAD "\"task\": [ { \"facts\": [ { \"from\": \"argv.1\", \"as\": \"walltime_between\" } ] } ], "
			     "\"tests\": [ { \"argv\": [\"/bin/xx\", \"100 160\"], \"task\": { \"walltime_s\": 60 } }, "
			     "{ \"argv\": [\"/bin/xx\", \"160 100\"], \"task\": { \"walltime_s\": null } }, "
			     "{ \"argv\": [\"/bin/xx\", \"100 100\"], \"task\": { \"walltime_s\": null } }, "
			     "{ \"argv\": [\"/bin/xx\", \"100\"], \"task\": { \"walltime_s\": null } }, "
			     "{ \"argv\": [\"/bin/xx\", \"100 \"], \"task\": { \"walltime_s\": null } }, "
			     "{ \"argv\": [\"/bin/xx\", \"100 160m\"], \"task\": { \"walltime_s\": null } }, "
			     "{ \"argv\": [\"/bin/xx\", \"0 31536000\"], \"task\": { \"walltime_s\": null } }, "
			     "{ \"argv\": [\"/bin/xx\", \"0 31535999\"], \"task\": { \"walltime_s\": 31535999 } } ]"),
		  NULL },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"path\": \"{cwd}/run.json\" }, \"facts\": [ { \"value\": \"/steps/1\", \"as\": \"name\" }, "
			     "{ \"value\": \"/mem\", \"as\": \"memory_mib\" }, { \"from\": \"tool\", \"as\": \"name\" } ] } ], "
			     "\"tests\": [ { \"argv\": [\"/bin/xx\"], \"cwd\": \"/d\", \"task\": { \"name\": \"xx\" } }, "
			     "{ \"argv\": [\"/bin/xx\"], \"cwd\": \"/d\", \"files\": { \"/d/run.json\": { \"steps\": [ 1, \"sort\" ], \"mem\": 2 } }, "
			     "\"task\": { \"name\": \"sort\", \"memory_bytes\": 2097152 } } ]"),
		  NULL },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"path\": \"{cwd}/head\" }, \"facts\": [ { \"lines\": 2, \"re\": \"# (?<name>.*)$\" } ] } ], "
			     "\"tests\": [ { \"argv\": [\"/bin/xx\"], \"cwd\": \"/d\", \"files\": { \"/d/head\": \"a\\nb\\n# c\\n\" }, "
			     "\"task\": { \"name\": \"c\" } } ]"),
		  "tests[0]: task.name is not known, not \"c\"" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"path\": \"{parent.argv.1}\" }, \"facts\": [ { \"lines\": 1, \"re\": \"# (?<name>.*)$\" } ] } ], "
			     "\"tests\": [ { \"argv\": [\"/bin/xx\"], \"parent\": { \"argv\": [\"sh\", \"/d/job\"] }, "
			     "\"files\": { \"/d/job\": \"# a\\n\" }, \"task\": { \"name\": \"a\" } } ]"),
		  NULL },
		{ ENTRY(HEAD "\"tests\": [ { \"argv\": [\"x\"], \"rum\": {} } ]"), "unknown key \"rum\"" },
		{ ENTRY(HEAD "\"tests\": [ { \"argv\": [\"x\"] } ]"), "expects nothing" },
	};
	struct tools *tools;
	struct diag diag;

	(void)state;
	diag_init(&diag);
	tools = tools_new(NULL, &diag);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct recognizers *r = with(cases[i].text, &diag);

		diag_print(&diag, stderr);
		assert_non_null(r);
		recognizers_test(r, tools, true, &diag);
		if (!cases[i].error) {
			diag_print(&diag, stderr);
			assert_int_equal(diag.n_errors, 0);
		} else {
			assert_true(diag.n_errors >= 1);
			if (!strstr(diag.entries[0].text, cases[i].error) &&
			    !(diag.n_errors > 1 && strstr(diag.entries[1].text, cases[i].error)))
				fail_msg("case %zu: %s", i, diag.entries[0].text);
		}
		recognizers_unref(r);
		diag_clear(&diag);
	}
	tools_free(tools);
}

/* Each error names the file, line and column, the value and the remedy.  at: the text at that column. */
static void errors(void **state)
{
	static const struct {
		const char *text, *error, *at;
	} cases[] = {
		{ "{ \"recogniser\": [] }", "did you mean \"recognizers\"?", "\"recogniser\"" },
		{ ENTRY("\"class\": \"workflow\""), "has no \"engine\"", "{ \"class\": \"workflow\" }" },
		{ ENTRY("\"engine\": \"x\""), "has no \"class\"", "{ \"engine\": \"x\" }" },
		{ ENTRY("\"engine\": \"x\", \"class\": \"workflows\""), "did you mean \"workflow\"?", "\"workflows\"" },
		{ ENTRY("\"engine\": \"0123456789012345678901234567890123\", \"class\": \"origin\""), "has 34 bytes: at most 32", "\"0123456789012345678901234567890123\"" },
		{ ENTRY(HEAD "\"run\": [ { \"when\": \"tool = 'x'\" } ]"), "would be evaluated at every exec", "{ \"engine\": \"x\"" },
		{ ENTRY(HEAD "\"run\": [ { \"programs\": [\"x\"], \"when\": \"tols = 'x'\" } ]"),
		  "run[0].when: at column 1 of the condition: there is no field \"tols\"", "\"tols = 'x'\"" },
		{ ENTRY(HEAD "\"run\": [ { \"programs\": [\"x\"], \"when\": \"parent.child\" } ]"), "child is unknown for a parent", "\"parent.child\"" },
		{ ENTRY(HEAD "\"run\": [ { \"programs\": [\"[x\"] } ]"), "run[0].programs[0]", "\"[x\"" },
		{ ENTRY(HEAD "\"run\": [ { \"programs\": [] } ]"), "has 0 texts: give 1 to 64", "[]" },
		{ ENTRY(HEAD "\"task\": [ { \"facts\": [ { \"from\": \"cvd\", \"as\": \"name\" } ] } ]"),
		  "there is no text \"cvd\": did you mean \"cwd\"?", "\"cvd\"" },
		{ ENTRY(HEAD "\"task\": [ { \"facts\": [ { \"from\": \"cwd\", \"as\": \"nam\" } ] } ]"), "did you mean \"name\"?", "\"nam\"" },
		{ ENTRY(HEAD "\"task\": [ { \"facts\": [ { \"from\": \"cwd\" } ] } ]"), "does not say which fact it is", "{ \"from\": \"cwd\" }" },
		{ ENTRY(HEAD "\"task\": [ { \"facts\": [ { \"from\": \"cwd\", \"text\": \"x\", \"as\": \"name\" } ] } ]"), "has 2 sources", "{ \"from\": \"cwd\", \"text\"" },
		{ ENTRY(HEAD "\"task\": [ { \"facts\": [ { \"from\": \"cwd\", \"re\": \"(\" } ] } ]"), "invalid regular expression", "\"(\"" },
		{ ENTRY(HEAD "\"task\": [ { \"facts\": [ { \"from\": \"cwd\", \"re\": \"(.)\" } ] } ]"), "has no named group", "\"(.)\"" },
		{ ENTRY(HEAD "\"task\": [ { \"facts\": [ { \"from\": \"cwd\", \"re\": \"(?<nam>.)\" } ] } ]"), "there is no fact \"nam\"", "\"(?<nam>.)\"" },
		{ ENTRY(HEAD "\"task\": [ { \"facts\": [ { \"text\": \"{cvd}\", \"as\": \"name\" } ] } ]"), "{cvd} is no text of a process", "\"{cvd}\"" },
		{ ENTRY(HEAD "\"task\": [ { \"facts\": [ { \"text\": \"{parent.child}\", \"as\": \"name\" } ] } ]"), "{parent.child} is no text of a process", "\"{parent.child}\"" },
		{ ENTRY(HEAD "\"task\": [ { \"facts\": [ { \"text\": \"{cwd\", \"as\": \"name\" } ] } ]"), "is no text of a process", "\"{cwd\"" },
		{ ENTRY(HEAD "\"task\": [ { \"facts\": [ { \"text\": \"{cpus}\", \"as\": \"name\" } ] } ]"), "{cpus} is no text of a process", "\"{cpus}\"" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"path\": \"/{name}\" } } ]"), "{name} is no text of a process", "\"/{name}\"" },
		{ ENTRY(HEAD "\"task\": { }"), "give a list", "{ } }" },
		{ ENTRY(HEAD "\"run\": [ { \"programs\": [\"x\"], \"root\": true } ]"), "run[0].root: has a meaning for marks of tasks", "true" },
		{ ENTRY(HEAD "\"task\": [ { \"child\": true, \"root\": true } ]"), "task[0].root: has a meaning for marks of tasks", "true" },
		{ ENTRY(HEAD "\"learn\": [ { \"wen\": \"child\" } ]"), "did you mean \"when\"?", "\"wen\"" },
		{ ENTRY(HEAD "\"learn\": [ { \"file\": { \"path\": \"/x\" } } ]"),
		  "learn[0].file: has a meaning for marks of tasks only", "{ \"path\": \"/x\" }" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"pat\": \"/x\" } } ]"), "did you mean \"path\"?", "\"pat\"" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { } } ]"), "task[0].file: has no \"path\"", "{ } }" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"path\": \"x\" } } ]"), "is no absolute path", "\"x\"" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"path\": \"{cvd}/x\" } } ]"), "{cvd} is no text of a process", "\"{cvd}/x\"" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"path\": \"/x\", \"where\": \"/a\" } } ]"),
		  "only one of \"where\" and \"equals\"", "{ \"path\": \"/x\", \"where\"" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"path\": \"/x\", \"behind\": \"a\" } } ]"),
		  "behind: has a meaning beside \"equals\" only", "\"a\"" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"path\": \"/x\", \"where\": \"a\", \"equals\": \"argv.1\" } } ]"),
		  "\"a\" is no JSON pointer: begin it with", "\"a\", \"equals\"" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"path\": \"/x\" }, \"facts\": [ { \"value\": \"/~2\", \"as\": \"name\" } ] } ]"),
		  "facts[0].value: \"/~2\" is no JSON pointer", "\"/~2\"" },
		{ ENTRY(HEAD "\"task\": [ { \"facts\": [ { \"value\": \"/a\", \"as\": \"name\" } ] } ]"),
		  "reads a file that the mark does not name", "{ \"value\": \"/a\"" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"path\": \"/x\" }, \"facts\": [ { \"lines\": 41, \"re\": \"(?<name>.)\" } ] } ]"),
		  "facts[0].lines", "41" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"path\": \"/x\" }, \"facts\": [ { \"lines\": 4, \"as\": \"name\" } ] } ]"),
		  "does not say what a line looks like", "{ \"lines\": 4" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"path\": \"/x\" }, \"facts\": [ { \"value\": \"/a\", \"when\": \"child\", "
			     "\"as\": \"name\" } ] } ]"),
		  "facts[0].when: has no meaning beside", "\"child\"" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"path\": \"/x\" }, \"facts\": [ { \"value\": \"/a\", \"as\": \"name\" }, "
			     "{ \"lines\": 4, \"re\": \"(?<name>.)\" } ] } ]"),
		  "a mark reads lines, or at most 8 values", "{ \"lines\": 4" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"log\": \"x\", \"equals\": \"argv.1\" } } ]"), "file.log: is no absolute path", "\"x\"" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"log\": \"/x\" } } ]"), "only one of \"log\" and \"equals\"", "{ \"log\": \"/x\" }" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"path\": \"/y\", \"log\": \"/x\", \"equals\": \"argv.1\" } } ]"),
		  "has a \"path\" without \"where\", and a \"log\"", "{ \"path\": \"/y\"" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"log\": \"/x\", \"where\": \"/a\", \"equals\": \"argv.1\" } } ]"),
		  "where: has a meaning beside \"path\" only", "\"/a\", \"equals\"" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"path\": \"/x\" }, \"facts\": [ { \"log\": \"rule\", \"as\": \"name\" } ] } ]"),
		  "facts[0].log: the mark's file has no \"log\"", "\"rule\"" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"log\": \"/x\", \"equals\": \"argv.1\" }, \"facts\": [ { \"log\": \"/rule\", "
			     "\"as\": \"name\" } ] } ]"),
		  "facts[0].log: is no key of a log", "\"/rule\"" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"log\": \"/x\", \"equals\": \"argv.1\" }, \"facts\": [ { \"value\": \"/rule\", "
			     "\"as\": \"name\" } ] } ]"),
		  "facts[0].value: the mark's file is no JSON: give \"log\"", "\"/rule\"" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"stderr\": \"{cwd}\", \"path\": \"/x\" } } ]"), "file.stderr: stands alone", "\"{cwd}\"" },
		{ ENTRY(HEAD "\"task\": [ { \"file\": { \"stderr\": \"{cvd}\" } } ]"), "{cvd} is no text of a process", "\"{cvd}\"" },
	};
	struct diag diag;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct recognizers *r = with(cases[i].text, &diag);

		assert_null(r);
		assert_true(diag.n_errors >= 1);
		if (!strstr(diag.entries[0].text, cases[i].error))
			fail_msg("case %zu: %s", i, diag.entries[0].text);
		assert_string_equal(diag.entries[0].file, path);
		assert_int_equal(diag.entries[0].line, 1);
		assert_in_range(diag.entries[0].column, 1, strlen(cases[i].text));
		if (strncmp(cases[i].text + diag.entries[0].column - 1, cases[i].at, strlen(cases[i].at)) != 0)
			fail_msg("case %zu: column %d, but %s is in another one", i, diag.entries[0].column, cases[i].at);
		diag_clear(&diag);
	}
}

/* A table may name 64 variables in all; of the 65th the error says so. */
static void too_many_variables(void **state)
{
	char text[8192] = "{ \"recognizers\": [ { " HEAD "\"task\": [ { \"facts\": [ ";
	struct recognizers *r;
	struct diag diag;

	(void)state;
	for (unsigned i = 0; i < 65; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s{ \"from\": \"environ.V%u\", \"as\": \"name\" }",
			 i ? ", " : "", i);
	strcat(text, " ] } ] } ] }");
	r = with(text, &diag);
	assert_null(r);
	assert_non_null(strstr(diag.entries[0].text, "one variable too many: recognizers read at most 64"));
	diag_clear(&diag);
}

/* Who sorts later wins: a site's entry for an engine that is built in. */
static void a_site_overrides(void **state)
{
	static const char argv[] = "/usr/bin/snakemake";
	struct filter_budget budget = { 0 };
	struct recognizer_subject s = { .budget = &budget,
					.self = { .tool = { "snakemake", 9 }, .exe = { argv, sizeof(argv) - 1 },
						  .argv = { argv, sizeof(argv) } } };
	struct recognizer_found found[RECOGNIZER_CLASSES];
	struct recognizers *r;
	struct tools *tools;
	struct diag diag;

	(void)state;
	r = with(ENTRY("\"engine\": \"snakemake\", \"class\": \"workflow\", \"run\": [ { \"programs\": [\"snakemake\"], "
		       "\"facts\": [ { \"text\": \"ours\", \"as\": \"pipeline\" } ] } ]"), &diag);
	diag_print(&diag, stderr);
	assert_non_null(r);
	assert_int_equal(recognizers_run(r, &s, found), 1);
	assert_ptr_equal(found[0].entry, recognizers_find(r, "snakemake"));
	assert_ptr_equal(found[0].entry, recognizers_at(r, recognizers_count(r) - 1));
	tools = tools_new(NULL, &diag);
	recognizers_test(r, tools, false, &diag); /* tests of the built-in entry would fail */
	diag_print(&diag, stderr);
	assert_int_equal(diag.n_errors, 0);
	tools_free(tools);
	recognizers_unref(r);
	diag_clear(&diag);
}

/* A text that makes a pattern backtrack costs milliseconds (not years), and then counts as no match. */
static void bounded_patterns(void **state)
{
	char *text = malloc(1u << 20), why[PATTERN_ERROR_SIZE];
	struct filter_text t = { text, 1u << 20 }, groups[PATTERN_GROUPS];
	struct pattern *p;
	struct timespec a, b;

	(void)state;
	memset(text, 'a', 1u << 20);
	assert_int_equal(pattern_new("(?<name>(a+)+)$|b", &p, why), 0);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	pattern_match(p, &t, groups, NULL);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	assert_true((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < 30000);
	pattern_free(p);
	assert_int_equal(pattern_new("(?<name>(a|aa)+)c", &p, why), 0);
	assert_false(pattern_match(p, &t, groups, NULL));
	pattern_free(p);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(built_in),
		cmocka_unit_test_setup_teardown(tests_of_an_entry, write_table, remove_table),
		cmocka_unit_test_setup_teardown(errors, write_table, remove_table),
		cmocka_unit_test_setup_teardown(too_many_variables, write_table, remove_table),
		cmocka_unit_test_setup_teardown(a_site_overrides, write_table, remove_table),
		cmocka_unit_test(bounded_patterns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
