/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The archive of a support bundle as tar and gzip read it, and texts without their secrets.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor/bundle_archive.h"
#include "cli/doctor/bundle_collect.h"
#include "cli/doctor/bundle_redact.h"

static char folder[] = "/tmp/skep-test-bundle-XXXXXX";

static char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void test_archive(void **state)
{
	char large[200000], command[512];
	struct bundle_file files[] = { { (char *)"a/small", (char *)"hello\n", 6 },
				       { (char *)"empty", (char *)"", 0 },
				       { (char *)"large", large, sizeof(large) } };
	FILE *file = fopen(path_of("x.tar.gz"), "w");

	(void)state;
	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = (char)('a' + i % 26 + i / 70000);
	assert_non_null(file);
	assert_int_equal(bundle_archive_write(fileno(file), "top", files, 3, 1700000000), 0);
	fclose(file);
	file = fopen(path_of("large"), "w");
	assert_non_null(file);
	assert_int_equal(fwrite(large, 1, sizeof(large), file), sizeof(large));
	fclose(file);
	/* gzip -t finds a wrong checksum, tar a wrong header. */
	snprintf(
		command, sizeof(command),
		"cd %s && gzip -t x.tar.gz && tar xzf x.tar.gz && cmp large top/large && test \"$(cat top/a/small)\" = hello && test -f top/empty && "
		"test ! -s top/empty && test $(tar tzf x.tar.gz | wc -l) = 3",
		folder);
	assert_int_equal(system(command), 0);
}

static void test_archive_name(void **state)
{
	char name[200];
	struct bundle_file file = { name, (char *)"", 0 };
	FILE *out = fopen("/dev/null", "w");

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_true(bundle_archive_write(fileno(out), "top", &file, 1, 0) < 0);
	fclose(out);
}

static void assert_redacted(const struct bundle_redact *r, const char *text, const char *expected)
{
	char *copy = strdup(text);
	size_t len = strlen(text);

	bundle_redact_text(r, copy, &len);
	copy[len] = '\0';
	assert_string_equal(copy, expected);
	free(copy);
}

static void test_redact(void **state)
{
	FILE *file = fopen(path_of("skepd.conf"), "w");
	struct bundle_redact *r;
	char *text;

	(void)state;
	fputs("{ // a comment\n\"probes\": [ { \"plugin\": \"nosuchplugin\", \"name\": \"mine\", \"key\": \"opaque-text-1\", \"n\": 5,\n"
	      "\"url\": \"https://joe:planted-url@example.com/x\" } ] }\n",
	      file);
	fclose(file);
	r = bundle_redact_new(path_of("skepd.conf"), 0);
	assert_non_null(r);
	text = bundle_redact_config(r);
	assert_non_null(text);
	assert_null(strstr(text, "opaque-text-1")); /* without a plugin skep cannot tell which option is a secret */
	assert_null(strstr(text, "planted-url"));
	assert_non_null(strstr(text, "\"mine\""));
	assert_non_null(strstr(text, "nosuchplugin"));
	free(text);
	assert_int_equal(bundle_redact_known(r), 1);
	assert_redacted(r, "seen planted-url twice: planted-url\n", "seen *** twice: ***\n");
	assert_redacted(r, "run --password hunter22 -x\nplain line\n", "run --password *** -x\nplain line\n");
	assert_redacted(r, "run --password=hunter22", "run --password=***");
	assert_redacted(r, "HQ_TOKEN=abcdefgh ./x", "HQ_TOKEN=***");
	assert_redacted(r, "get https://joe:hunter22@example.com/", "get https://joe:***@example.com/");
	assert_redacted(r, "\n\n  two  blanks stay\n", "\n\n  two  blanks stay\n");
	assert_redacted(r, "", "");
	bundle_redact_free(r);
}

static void test_references(void **state)
{
	FILE *file = fopen(path_of("key"), "w");
	struct bundle_redact *r;

	(void)state;
	fputs("planted-file\n", file);
	fclose(file);
	file = fopen(path_of("bearer"), "w");
	fputs("planted-bearer\n", file);
	fclose(file);
	file = fopen(path_of("references.conf"), "w");
	fprintf(file,
		"{ \"sinks\": [ { \"plugin\": \"nosuchplugin\", \"password_file\": \"env:SKEP_TEST_PASSWORD\",\n"
		"\"token_file\": \"%s/bearer\", \"headers\": [ \"X-A: env:SKEP_TEST_HEADER\", \"b=file:%s/key\" ] } ] }\n",
		folder, folder);
	fclose(file);
	setenv("SKEP_TEST_PASSWORD", "planted-password", 1);
	setenv("SKEP_TEST_HEADER", "planted-header", 1);
	r = bundle_redact_new(path_of("references.conf"), 0);
	assert_non_null(r);
	assert_int_equal(bundle_redact_known(r), 4);
	assert_redacted(r, "planted-password planted-header planted-file planted-bearer", "*** *** *** ***");
	bundle_redact_free(r);
}

static void test_in_json(void **state)
{
	FILE *file = fopen(path_of("quoted.conf"), "w");
	struct bundle_redact *r;

	(void)state;
	fputs("{ \"sinks\": [ { \"plugin\": \"nosuchplugin\", \"headers\": [ \"X-A: env:SKEP_TEST_QUOTE\", "
	      "\"X-B: env:SKEP_TEST_BACKSLASH\" ] } ] }\n",
	      file);
	fclose(file);
	setenv("SKEP_TEST_QUOTE", "pla\"nted\tone", 1);
	setenv("SKEP_TEST_BACKSLASH", "\\planted-two", 1);
	r = bundle_redact_new(path_of("quoted.conf"), 0);
	assert_non_null(r);
	assert_int_equal(bundle_redact_known(r), 2);
	assert_redacted(r, "pla\"nted\tone \\planted-two", "*** ***");
	assert_redacted(r, "{ \"a\": \"pla\\\"nted\\tone\", \"b\": \"\\\\planted-two\" }",
			"{ \"a\": \"***\", \"b\": \"***\" }");
	bundle_redact_free(r);
}

static void test_no_config(void **state)
{
	struct bundle_redact *r = bundle_redact_new(path_of("nosuchfile"), 0);
	char *text;

	(void)state;
	assert_non_null(r);
	text = bundle_redact_config(r);
	assert_non_null(strstr(text, "No such file"));
	free(text);
	bundle_redact_free(r);
}

static void test_output(void **state)
{
	struct bundle b = { 0 };

	(void)state;
	bundle_add_output(&b, "a", (const char *const[]){ "sh", "-c", "echo out; echo err >&2; exit 3", NULL });
	bundle_add_output(&b, "b", (const char *const[]){ "no-such-program-here", NULL });
	bundle_add_output(&b, "c", (const char *const[]){ "sh", "-c", "kill -9 $$", NULL });
	bundle_add_output(&b, "d", (const char *const[]){ "sh", "-c", "yes | head -c 9000000", NULL });
	bundle_add_file(&b, "e", "/no/such/file");
	assert_false(b.failed);
	assert_int_equal(b.n, 5);
	assert_string_equal(b.files[0].text, "out\nerr\n\n[exit status 3]\n");
	assert_non_null(strstr(b.files[1].text, "No such file"));
	assert_non_null(strstr(b.files[2].text, "signal 9"));
	assert_non_null(strstr(b.files[3].text, "[cut: "));
	assert_true(b.files[3].len < 5u << 20);
	assert_string_equal(b.files[4].text, "/no/such/file: No such file or directory\n");
	bundle_free(&b);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_archive),	  cmocka_unit_test(test_archive_name), cmocka_unit_test(test_redact),
		cmocka_unit_test(test_references), cmocka_unit_test(test_in_json), cmocka_unit_test(test_no_config),
		cmocka_unit_test(test_output),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
